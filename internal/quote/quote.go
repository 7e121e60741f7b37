// Package quote makes text of foreign origin (a path, a file, a model, a server) safe to show and to
// paste: a terminal obeys some control characters, and a shell splits words.
package quote

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

const hex = "0123456789abcdef"

// Text returns s with everything escaped that a terminal would not print but obey, hide or
// reorder: control and format characters become \n, \x1b or \u202e, bytes that are not UTF-8 \xff.
// Text that can be printed stays as it is, so that Text(Text(s)) is Text(s).
func Text(s string) string { return escape(s, "") }

// Lines is Text that leaves the ends of lines and tabs as they are, for text of several lines.
func Lines(s string) string { return escape(s, "\n\t") }

// escape is Text but for the characters in kept.
func escape(s, kept string) string {
	var b strings.Builder
	done := 0 // bytes of s that are in b
	for at := 0; at < len(s); {
		r, n := utf8.DecodeRuneInString(s[at:])
		bad := r == utf8.RuneError && n == 1
		if !bad && (printable(r) || strings.ContainsRune(kept, r)) {
			at += n
			continue
		}
		b.WriteString(s[done:at])
		switch {
		case bad:
			b.Write([]byte{'\\', 'x', hex[s[at]>>4], hex[s[at]&15]})
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80:
			b.Write([]byte{'\\', 'x', hex[r>>4], hex[r&15]})
		case r < 0x10000:
			b.Write([]byte{'\\', 'u', hex[r>>12], hex[r>>8&15], hex[r>>4&15], hex[r&15]})
		default:
			b.Write([]byte{'\\', 'U', '0', '0', hex[r>>20&15], hex[r>>16&15], hex[r>>12&15], hex[r>>8&15], hex[r>>4&15],
				hex[r&15]})
		}
		at += n
		done = at
	}
	if done == 0 {
		return s
	}
	b.WriteString(s[done:])
	return b.String()
}

// printable says whether r shows as itself: letters, marks, digits, symbols and spaces of any width.
func printable(r rune) bool { return unicode.IsPrint(r) || unicode.Is(unicode.Zs, r) }

// JSON returns the text of a JSON document with all characters that Text would escape within its
// strings as \u escapes, which mean the same. encoding/json leaves some of them.
func JSON(text []byte) []byte {
	var out []byte
	for at := 0; at < len(text); {
		r, n := utf8.DecodeRune(text[at:])
		switch {
		case printable(r) || r == '\n':
			out = append(out, text[at:at+n]...)
		default:
			for _, u := range utf16.AppendRune(nil, r) {
				out = fmt.Appendf(out, `\u%04x`, u)
			}
		}
		at += n
	}
	return out
}

// Shell returns s as one word of a POSIX shell: as it is if that is safe, otherwise in single
// quotes, and with bytes that cannot be printed in $'...' (bash, zsh, and sh by POSIX 2024).
func Shell(s string) string {
	plain := s != "" && s[0] != '~'
	for i := 0; plain && i < len(s); i++ {
		c := s[i]
		plain = c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' ||
			strings.IndexByte("_-./:=,+@%~", c) >= 0
	}
	if plain {
		return s
	}
	if Text(s) == s {
		return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
	}
	var b strings.Builder
	b.WriteString("$'")
	for at := 0; at < len(s); {
		r, n := utf8.DecodeRuneInString(s[at:])
		switch {
		case r == '\'' || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(s[at])
		case printable(r) && (r != utf8.RuneError || n > 1):
			b.WriteString(s[at : at+n])
		default:
			for _, c := range []byte(s[at : at+n]) { // three octal digits end by themselves
				b.Write([]byte{'\\', '0' + c>>6, '0' + c>>3&7, '0' + c&7})
			}
		}
		at += n
	}
	b.WriteByte('\'')
	return b.String()
}

// Command returns a command line of the program that can be pasted into a shell.
func Command(args ...string) string {
	words := []string{"dpnbench"}
	for _, a := range args {
		words = append(words, Shell(a))
	}
	return strings.Join(words, " ")
}
