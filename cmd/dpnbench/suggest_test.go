package main

import (
	"strings"
	"testing"
)

// TestDidYouMean mistypes commands and flags.
func TestDidYouMean(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"trian", `no subcommand "trian"; did you mean "train"? (see "dpnbench --help")`},
		{"predit --model x", `no subcommand "predit"; did you mean "predict"? (see "dpnbench --help")`},
		{"help analyse", `no subcommand "analyse"; did you mean "analyze"? (see "dpnbench --help")`},
		{"bench compar old new",
			`bench: no subcommand "compar"; did you mean "compare"? (see "dpnbench bench --help")`},
		{"bench compar --all old new",
			`bench: no subcommand "compar"; did you mean "compare"? (see "dpnbench bench --help")`},
		{"bench foo", `bench: no subcommand "foo", expected one of compare, scale`},
		{"data ftech mnist", `data: no subcommand "ftech"; did you mean "fetch"? (see "dpnbench data --help")`},
		{"help preset", `no subcommand "preset"; did you mean "presets"? (see "dpnbench --help")`},
		{"nothing --model x", `no subcommand "nothing", expected one of analyze, bench,`},
		{"train --epoch 3", `unknown flag: --epoch; did you mean --epochs? (see "dpnbench train --help")`},
		{"train -epochs 3",
			`unknown shorthand flag: 'e' in -epochs; did you mean --epochs? (see "dpnbench train --help")`},
		{"eval --corupt x", `unknown flag: --corupt; did you mean --corrupt? (see "dpnbench eval --help")`},
		{"bench --slw 2", `unknown flag: --slw (see "dpnbench bench --help")`}, // not that of a hidden flag
		{"train --xyzzy", `unknown flag: --xyzzy (see "dpnbench train --help")`},
		{"train -x", `unknown shorthand flag: 'x' in -x (see "dpnbench train --help")`},
	} {
		fails(t, strings.Fields(c.args), "dpnbench: "+c.want)
	}
}

// TestEdits counts letters to change.
func TestEdits(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "ab", 2}, {"trian", "train", 1}, {"epochs", "epoch", 1}, {"kitten", "sitting", 3},
		{"ab", "ba", 1},
	} {
		if got, back := edits(c.a, c.b), edits(c.b, c.a); got != c.want || back != c.want {
			t.Errorf("%q to %q: %d, back %d, want %d", c.a, c.b, got, back, c.want)
		}
	}
}
