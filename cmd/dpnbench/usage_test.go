package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpnbench/dpn"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// usage counts the wrong command lines of TestWrongUsage.
type usage struct {
	t *testing.T
	n int
}

// wrong runs a command line that must fail at once with status 2 and one line with all of want.
func (u *usage) wrong(args []string, want ...string) {
	u.t.Helper()
	u.n++
	start := time.Now()
	fails(u.t, args, want...)
	if d := time.Since(start); d > 5*time.Second {
		u.t.Errorf("dpnbench %s: took %v", strings.Join(args, " "), d)
	}
}

// wrongValues are values that no flag of a type takes.
var wrongValues = map[string][]string{
	"int":     {"x", "", "0x10", "1_000", "1.5", "99999999999999999999"},
	"uint64":  {"x", "", "0x10", "-1", "1.5", "99999999999999999999"},
	"float64": {"x", "", "0x1p4", "1,5", "1e999"},
	"bool":    {"x", "", "2"},
	"string":  {""},
}

// TestWrongUsage runs more than two hundred wrong command lines: every flag of every command with
// values that are none, flags and arguments that do not exist, and files that are not files.
func TestWrongUsage(t *testing.T) {
	u := &usage{t: t}
	var walk func(c *cobra.Command, path []string)
	walk = func(c *cobra.Command, path []string) {
		c.InitDefaultHelpFlag()
		c.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) { u.flag(path, f) })
		u.wrong(with(path, "--no-such-flag"), "no-such-flag")
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() && sub.Name() != "help" && sub.Name() != "completion" {
				walk(sub, with(path, sub.Name()))
			}
		}
	}
	root := (&app{}).command()
	walk(root, nil)
	for _, name := range []string{"json", "tier", "threads", "quiet", "verbose"} {
		u.flag([]string{"info"}, root.PersistentFlags().Lookup(name))
	}
	flags := u.n
	u.arguments()
	u.inputs()
	t.Logf("%d wrong command lines, %d of them values of flags", u.n, flags)
	if u.n < 200 {
		t.Errorf("%d wrong command lines, expected at least 200", u.n)
	}
}

// flag gives a flag of a command every wrong value of its type.
func (u *usage) flag(path []string, f *pflag.Flag) {
	if f.Name == "help" || f.Name == "version" {
		return
	}
	if n := len(path); n > 0 {
		switch path[n-1] {
		case "reproduce":
			path = with(path, "table1")
		case "fetch":
			path = with(path, "mnist")
		case "compare":
			path = with(path, "a", "b")
		}
	}
	for _, v := range wrongValues[f.Value.Type()] {
		if _, allowed := f.Annotations[emptyAllowed]; allowed && v == "" {
			continue
		}
		u.wrong(with(path, "--"+f.Name+"="+v), "--"+f.Name)
	}
}

// arguments are words that no command takes.
func (u *usage) arguments() {
	for _, c := range []string{"demo", "info", "train", "eval", "analyze", "uncertainty", "sample", "denoise", "check",
		"bench"} {
		u.wrong([]string{c, "extra"}, `"extra"`)
	}
	for _, args := range [][]string{{"nothing"}, {"trian"}, {"help", "nothing"}, {"reproduce"}, {"reproduce", "x"},
		{"reproduce", "law", "field"}, {"data", "fetch"}, {"data", "fetch", "cifar"}, {"data", "x"},
		{"bench", "compare"},
		{"bench", "compare", "a"}, {"bench", "compare", "a", "b", "c"}} {
		u.wrong(args)
	}
}

// inputs are files that are not what a command reads, and settings that cannot work.
func (u *usage) inputs() {
	t, dir := u.t, u.t.TempDir()
	data, out, text := filepath.Join(dir, "data"), filepath.Join(dir, "out"), filepath.Join(dir, "text")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	idx(t, data, 120)
	write(t, text, []byte("= neither TOML nor JSON nor tensors\n"))
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--quiet")...)
	use := []string{"--model", filepath.Join(out, dpn.ModelFile), "--data", data}
	for c, args := range map[string][]string{"eval": use, "analyze": use, "uncertainty": use, "info": nil, "check": nil,
		"bench": nil, "demo": nil, "train": nil} {
		u.wrong(with([]string{c, "--tier", "sse"}, args...), "--tier")
		u.wrong(with([]string{c, "--threads", "0"}, args...), "--threads")
	}
	for _, path := range []string{filepath.Join(dir, "none"), dir, text, os.DevNull} {
		u.wrong([]string{"train", "--config", path}, "--config", path)
		for _, c := range []string{"eval", "analyze", "uncertainty", "sample", "denoise"} {
			u.wrong([]string{c, "--model", path}, "--model", path)
		}
		u.wrong([]string{"bench", "compare", path, path}, path)
		u.wrong([]string{"train", "--data", path}, "--data", path)
		u.wrong([]string{"eval", "--model", filepath.Join(out, dpn.ModelFile), "--data", path}, "--data", path)
	}
	train := func(want string, args ...string) {
		t.Helper()
		u.wrong(with([]string{"train", "--data", data, "--out", filepath.Join(dir, "new")}, args...), want)
	}
	for _, v := range []string{"0", "-1", "NaN", "Inf", "1e-300", "1e300"} {
		train("--alpha", "--alpha", v)
		train("--scale", "--scale", v)
		train("--lr", "--lr", v)
		train("--potential-lr", "--potential-lr", v)
	}
	for _, name := range []string{"nll", "score-matching", "denoising", "clip", "extractor-lr", "alpha-lr", "warmup",
		"noise-max", "em-ridge", "eps"} {
		for _, v := range []string{"-1", "NaN"} {
			train("--"+name, "--"+name, v, "--form", "flat", "--init", "em")
		}
	}
	train("--batch 121", "--batch", "121")
	train("--components 109", "--components", "109")
}
