package main

import (
	"strings"
	"testing"
)

// TestFolded breaks lines for a terminal.
func TestFolded(t *testing.T) {
	for _, c := range []struct {
		text    string
		columns int
		want    string
	}{
		{"one two three\n", 0, "one two three\n"},
		{"one two three\n", 13, "one two three\n"},
		{"one two three\n", 12, "one two\n  three\n"},
		{"  - one two three", 11, "  - one two\n    three"},
		{"val   loss 1   acc 2\nok\n", 12, "val   loss 1\n  acc 2\nok\n"},
		{"see /a/very/long/path now\n", 8, "see\n  /a/very/long/path\n  now\n"},
		{"repeat with: dpnbench check --tier avx2\nand so on\n", 20,
			"repeat with:\n  dpnbench check --tier avx2\nand so on\n"},
		{"手書き 数字 文字\n", 11, "手書き 数字\n  文字\n"},
		{strings.Repeat(" ", 9) + "a b c\n", 12, strings.Repeat(" ", 9) + "a b\nc\n"},
	} {
		if got := folded(c.text, c.columns); got != c.want {
			t.Errorf("%q in %d columns: %q, want %q", c.text, c.columns, got, c.want)
		}
	}
}

// TestTable lays out tables: also with wide characters, and on narrow terminals.
func TestTable(t *testing.T) {
	rows := [][]string{{"class", "accuracy", "verdict"},
		{"手", "91.5%", "faster (marked)"},
		{"e\u0301", "8%", "slower"}}
	for _, c := range []struct {
		columns int
		colour  bool
		want    string
	}{
		{0, false, "  class  accuracy          verdict\n" +
			"     手     91.5%  faster (marked)\n      é        8%           slower\n"},
		{30, false, "  class  accuracy\n     手     91.5%\n      é        8%\n\n" +
			"  class          verdict\n     手  faster (marked)\n      é           slower\n"},
		{20, false, "class  手\n  accuracy  91.5%\n  verdict  faster\n    (marked)\n" +
			"class  é\n  accuracy  8%\n  verdict  slower\n"},
		{34, true, "  class  accuracy          verdict\n     手     91.5%  \x1b[32mfaster (marked)\x1b[0m\n" +
			"      é        8%           \x1b[31mslower\x1b[0m\n"},
	} {
		got := table{rows, 1, c.colour}.text(c.columns)
		if want := strings.ReplaceAll(c.want, "é", "e\u0301"); got != want {
			t.Errorf("%d columns:\n%s\nwant\n%s", c.columns, got, want)
		}
	}
	suite := [][]string{{"accuracy", "mild", "", "hard", ""}, {"blur", "99%", "(1)", "80%", "(9)"}, {"one"}}
	want := "  accuracy  mild     \n      blur   99%  (1)\n       one\n\n" +
		"  accuracy  hard     \n" +
		"      blur   80%  (9)\n       one\n"
	if got := (table{suite, 1, false}).text(24); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestTones checks which words have a colour.
func TestTones(t *testing.T) {
	for _, c := range []struct {
		title, cell string
		want        tone
	}{
		{"bits equal", "NO", bad}, {"bits equal", "yes", good}, {"failed", "0", plain}, {"failed", "3", bad},
		{"hash", "NOT as committed: 12", bad}, {"class", "NO", plain}, {"note", "!", doubtful},
		{"law follows", "no", plain},
	} {
		if got := (table{[][]string{{c.title}, {c.cell}}, 0, true}).tone(1, 0); got != c.want {
			t.Errorf("%s %s: tone %q, want %q", c.title, c.cell, got, c.want)
		}
	}
	if got := bad.paint("a\n"); got != "\x1b[31ma\x1b[0m\n" {
		t.Errorf("%q", got)
	}
}
