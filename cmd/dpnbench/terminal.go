package main

import (
	"os"
	"runtime"
	"strings"

	"github.com/rivo/uniseg"
	"golang.org/x/term"
)

// columnsOf returns the number of columns that a terminal gives a text without control characters: two for each
// ideograph, none for a combining mark.
func columnsOf(s string) int { return uniseg.StringWidth(s) }

// firstColumns returns the beginning of a text that fits into so many columns. The iterators of uniseg would keep
// the tables of words, sentences and lines in the program, 230 KB.
func firstColumns(s string, columns int) string {
	for at, state := 0, -1; at < len(s); {
		cluster, _, w, next := uniseg.FirstGraphemeClusterInString(s[at:], state)
		if columns -= w; columns < 0 {
			return s[:at]
		}
		at, state = at+len(cluster), next
	}
	return s
}

// isTerminal says whether a file is a terminal that can move its cursor.
func isTerminal(f *os.File) bool { return os.Getenv("TERM") != "dumb" && term.IsTerminal(int(f.Fd())) }

// width returns the columns of a terminal, 80 if it does not say, or 0 for another file.
func width(f *os.File) int {
	if !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	if w, _, err := term.GetSize(int(f.Fd())); err == nil && w > 0 {
		return w
	}
	return 80
}

// coloured says whether a file shows colours: a terminal, unless its user wants none (https://no-color.org).
func coloured(f *os.File) bool {
	old := runtime.GOOS == "windows" && os.Getenv("WT_SESSION") == "" // a console that may print the codes
	return os.Getenv("NO_COLOR") == "" && !old && isTerminal(f)
}

// tone is the colour of a text: is it good or bad?
type tone string

const (
	plain    tone = ""
	good     tone = "\x1b[32m" // green
	doubtful tone = "\x1b[33m" // yellow
	bad      tone = "\x1b[31m" // red
)

// paint returns text in its colour. The end of the last line stays outside.
func (c tone) paint(text string) string {
	inner := strings.TrimSuffix(text, "\n")
	if c == plain || inner == "" {
		return text
	}
	return string(c) + inner + "\x1b[0m" + text[len(inner):]
}

// folded breaks lines that are longer than so many columns between words; 0: none. A word that is longer stays
// whole, for it may be a path, and so does a command at the end of a line. The parts of a line are indented further
// than its beginning.
func folded(text string, columns int) string {
	if columns <= 0 {
		return text
	}
	var b strings.Builder
	for line := range strings.Lines(text) {
		if columnsOf(strings.TrimRight(line, " \n")) <= columns {
			b.WriteString(line)
			continue
		}
		rest := strings.TrimLeft(line, " ")
		indent := line[:len(line)-len(rest)]
		at := len(indent)
		b.WriteString(indent)
		if at > columns/2 {
			indent = ""
		} else {
			indent += "  "
		}
		for gap := ""; rest != ""; {
			word, after, _ := strings.Cut(rest, " ")
			if word == "dpnbench" && strings.HasSuffix(b.String(), ":") {
				word, after = rest, "" // a command to copy
			}
			next := strings.TrimLeft(after, " ")
			n := columnsOf(strings.TrimRight(word, "\n"))
			if gap != "" && at+len(gap)+n > columns {
				b.WriteString("\n" + indent + word)
				at = len(indent) + n
			} else {
				b.WriteString(gap + word)
				at += len(gap) + n
			}
			gap, rest = rest[len(word):len(rest)-len(next)], next
		}
	}
	return b.String()
}
