package dpn

import (
	"bytes"
	"fmt"
)

// scan refuses what would cost the TOML parser time or memory out of proportion to the size of
// the text (long texts, many values, deep nesting), and numbers that are not decimal. It knows as much of TOML
// as that takes: comments, the four kinds of strings, brackets and dots. What else is wrong the
// parser finds.
func scan(text []byte) error {
	if len(text) > maxConfig {
		return fmt.Errorf("%d bytes of settings, expected at most %d", len(text), maxConfig)
	}
	line, depth, dots, values := 1, 0, 0, 0
	value := false // after the = of a line
	for at := 0; at < len(text); {
		switch c := text[at]; c {
		case '\n':
			line++
			if dots = 0; depth == 0 {
				value = false
			}
		case '#':
			for at+1 < len(text) && text[at+1] != '\n' {
				at++
			}
		case '"', '\'':
			length := stringLength(text[at:])
			line += bytes.Count(text[at:at+length], []byte{'\n'})
			at += length
			continue
		case '[', '{':
			depth++
			values++
			dots = 0
		case ']', '}':
			depth = max(depth-1, 0)
			dots = 0
		case '=':
			dots, value = 0, true
			values++
		case ',':
			dots = 0
			values++
		case '.':
			dots++
		default:
			if value && bare(c) && !bare(before(text, at)) {
				if number := bareWord(text[at:]); otherBase(number) {
					return fmt.Errorf("line %d: number %s, expected a decimal one", line, number)
				}
			}
		}
		if depth > maxNesting || dots >= maxNesting {
			return fmt.Errorf("line %d: nested more than %d deep", line, maxNesting)
		}
		if values > maxValues {
			return fmt.Errorf("line %d: more than %d values", line, maxValues)
		}
		at++
	}
	return nil
}

// stringLength returns the length in bytes of the string that begins text, with its quotes. A
// string on one line that has no end ends with the line.
func stringLength(text []byte) int {
	quote := text[0]
	long := bytes.Repeat([]byte{quote}, 3)
	escapes := quote == '"'
	if bytes.HasPrefix(text, long) {
		for at := 3; at < len(text); at++ {
			switch {
			case escapes && text[at] == '\\':
				at++
			case bytes.HasPrefix(text[at:], long):
				return at + 3
			}
		}
		return len(text)
	}
	for at := 1; at < len(text); at++ {
		switch {
		case text[at] == '\n':
			return at
		case escapes && text[at] == '\\':
			at++
		case text[at] == quote:
			return at + 1
		}
	}
	return len(text)
}

// bare says whether c can be part of a number or a bare word.
func bare(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c == '+' || c == '-'
}

// before returns the byte before text[at], or 0.
func before(text []byte, at int) byte {
	if at == 0 {
		return 0
	}
	return text[at-1]
}

// bareWord returns the first bytes of text that are bare, of which there are 40 at most.
func bareWord(text []byte) []byte {
	n := 0
	for n < min(len(text), 40) && bare(text[n]) {
		n++
	}
	return text[:n]
}

// otherBase says whether a number is hexadecimal, octal or binary.
func otherBase(number []byte) bool {
	number = bytes.TrimLeft(number, "+-")
	return len(number) > 1 && number[0] == '0' && bytes.IndexByte([]byte("xXoObB"), number[1]) >= 0
}
