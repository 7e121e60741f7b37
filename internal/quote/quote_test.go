package quote

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"dpnbench/internal/fuzzlimit"
)

func TestText(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"runs/first ä 手写 \\x1b", "runs/first ä 手写 \\x1b"},
		{"a\x1b[31mRED\x07", `a\x1b[31mRED\x07`},
		{"a\nb\rc\td\x00\x7f", `a\nb\rc\td\x00\x7f`},
		{"C1 \u009b31m", `C1 \u009b31m`},
		{"\u202ereversed", `\u202ereversed`},
		{"zero\u200bwidth\ufeff", `zero\u200bwidth\ufeff`},
		{"\xff\xfe", `\xff\xfe`},
		{"\ufffd", "\ufffd"},
		{"\U000e0041", `\U000e0041`},
	} {
		if got := Text(c.in); got != c.want {
			t.Errorf("%q: %q, want %q", c.in, got, c.want)
		}
	}
	if got := Lines("a\n\tb\x1b"); got != "a\n\tb\\x1b" {
		t.Errorf("lines: %q", got)
	}
}

func TestShell(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"runs/first", "runs/first"}, {"", "''"}, {"my run", "'my run'"}, {"it's", `'it'\''s'`}, {"~a", "'~a'"},
		{"$(rm)", "'$(rm)'"}, {"a\x1b'\\", `$'a\033\'\\'`}, {"ä", "'ä'"}, {"\xff", `$'\377'`},
	} {
		if got := Shell(c.in); got != c.want {
			t.Errorf("%q: %s, want %s", c.in, got, c.want)
		}
	}
	if got, want := Command("train", "--out", "my run"), "dpnbench train --out 'my run'"; got != want {
		t.Errorf("command %s, want %s", got, want)
	}
}

// TestShellReadsBack has bash read what Shell wrote.
func TestShellReadsBack(t *testing.T) {
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Log("no bash here")
		return
	}
	for _, s := range []string{"a b", "it's", "$x `y` \"z\"", "a\nb\x1b'\\1", "\xff\x80", "!*?[]{}#&|;<>", "-n",
		"手\u202e"} {
		out, err := exec.Command(bash, "-c", "printf %s "+Shell(s)).Output()
		if err != nil || string(out) != s {
			t.Errorf("%q: bash reads %q, %v", s, out, err)
		}
	}
}

func TestJSON(t *testing.T) {
	for _, s := range []string{"a\u009b31m", "\u202e", "\U000e0041", "ä 手", "a\x1bb\n"} {
		b, err := json.MarshalIndent([]string{s}, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		var back []string
		if got := JSON(b); Lines(string(got)) != string(got) || json.Unmarshal(got, &back) != nil || back[0] != s {
			t.Errorf("%q: %s", s, got)
		}
	}
}

func FuzzText(f *testing.F) {
	for _, s := range []string{"a\x1b[31m", "\xff", "\u202e", "ä", "\n", "'"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var got string
		fuzzlimit.Check(t, 64*len(s)+1<<20, func() { got = Text(s) })
		if !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool { return !printable(r) }) ||
			Text(got) != got {
			t.Errorf("%q: %q", s, got)
		}
		if w := Shell(s); Text(w) != w {
			t.Errorf("%q: shell word %q", s, w)
		}
	})
}
