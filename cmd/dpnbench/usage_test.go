package main

import (
	"math"
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

	"stringSlice": {""},
	"stringArray": {""},
}

// TestWrongUsage runs more than two hundred wrong command lines: every flag of every command with
// values that are none, flags and arguments that do not exist, and files that are not files.
func TestWrongUsage(t *testing.T) {
	long(t)
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
		case "convert":
			path = with(path, "digits")
		case "compare":
			path = with(path, "a", "b")
		case "import":
			path = with(path, "a")
		case "info":
			if n > 1 { // data info
				path = with(path, "digits")
			}
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
		"bench", "separation", "export"} {
		u.wrong([]string{c, "extra"}, `"extra"`)
	}
	for _, args := range [][]string{{"nothing"}, {"trian"}, {"help", "nothing"}, {"reproduce"}, {"reproduce", "x"},
		{"reproduce", "law", "field"}, {"data", "fetch"}, {"data", "fetch", "cifar"}, {"data", "x"},
		{"bench", "compare"},
		{"bench", "compare", "a"}, {"bench", "compare", "a", "b", "c"}, {"import"}, {"import", "a", "b"},
		{"import", "a"}, {"export"}, {"export", "--format", "keras"}} {
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
		for _, c := range []string{"eval", "predict", "analyze", "uncertainty", "sample", "denoise", "export"} {
			u.wrong([]string{c, "--model", path}, "--model", path)
		}
		u.wrong([]string{"import", path, "--out", filepath.Join(dir, "new")}, "import "+path)
		u.wrong([]string{"bench", "compare", path, path}, path)
		u.wrong([]string{"train", "--data", path}, "--data", path)
		for _, c := range []string{"eval", "predict"} {
			u.wrong([]string{c, "--model", filepath.Join(out, dpn.ModelFile), "--data", path}, "--data", path)
		}
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
	u.features(dir, text)
	u.exchange(dir, filepath.Join(out, dpn.ModelFile), text)
	train("--batch 121", "--batch", "121")
	train("--components 109", "--components", "109")
}

// features are files of separation that are not right, or do not fit together.
func (u *usage) features(dir, text string) {
	t := u.t
	path := func(name string, rows, width int) string {
		x := make([]float32, rows*width)
		for i := range x {
			x[i] = float32(i * i % 7)
		}
		name = filepath.Join(dir, name)
		saveNPY(t, name, x, rows, width)
		return name
	}
	x, y, short := path("x.npy", 30, 4), path("y.npy", 30, 1), path("short.npy", 29, 4)
	wide, nan, one := path("wide.npy", 30, 5), path("nan.npy", 30, 4), filepath.Join(dir, "one.csv")
	values := make([]float32, 120)
	values[9] = float32(math.NaN())
	saveNPY(t, nan, values, 30, 4)
	write(t, one, []byte(strings.Repeat("1\n", 30)))
	cut := filepath.Join(dir, "cut.npy")
	b, err := os.ReadFile(x)
	if err != nil {
		t.Fatal(err)
	}
	write(t, cut, b[:len(b)-4])
	measure := func(want []string, features, labels string, args ...string) {
		t.Helper()
		u.wrong(with([]string{"separation", "--features", features, "--labels", labels}, args...), want...)
	}
	u.wrong([]string{"separation"}, "--features")
	u.wrong([]string{"separation", "--features", x}, "--labels")
	for _, p := range []string{filepath.Join(dir, "none.npy"), dir, text, os.DevNull} {
		measure([]string{"--features", p}, p, y)
		measure([]string{"--labels", p}, x, p)
		measure([]string{"--test-labels", p}, x, y, "--test-features", x, "--test-labels", p)
		measure([]string{"--test-features", p}, x, y, "--test-features", p, "--test-labels", y)
		measure([]string{"--classifier", p}, x, y, "--classifier", p)
	}
	measure([]string{"--features", cut, "476 bytes", "expected 480"}, cut, y)
	measure([]string{"--features", short, "29 rows", "expected 30", y}, x+","+short, y)
	measure([]string{"--features", "nan", "row 2, column 1"}, x+","+nan, y)
	measure([]string{"--labels", x, "one label a row"}, x, x)
	measure([]string{"all 30 rows belong to class 1"}, x, one)
	measure([]string{"--test-features and --test-labels"}, x, y, "--test-features", x)
	measure([]string{"--test-features", "2 layers", "expected 1"}, x, y, "--test-features", x+","+x, "--test-labels", y)
	measure([]string{"width 5: expected 4"}, x, y, "--test-features", wide, "--test-labels", y)
	measure([]string{"--classifier", wide, "5 features"}, x, y, "--classifier", wide)
	measure([]string{"30 x 4 weights"}, x, y, "--classifier", x)
	measure([]string{"--draws 3"}, x, y, "--draws", "3")
	measure([]string{"--features", filepath.Join(dir, "none")}, "x.npy", y, "--epochs", filepath.Join(dir, "none"))
	measure([]string{"--json", x, "--features"}, x, y, "--json", x)
}

// exchange gives export and import settings and outputs that cannot work.
func (u *usage) exchange(dir, model, text string) {
	for flag, values := range map[string][]string{"steps": {"-1", "100001"}, "mean": {"NaN", "Inf", "1e300"},
		"std": {"0", "-1", "NaN", "1e-300"}} {
		for _, v := range values {
			u.wrong([]string{"import", model, "--out", filepath.Join(dir, "new"), "--" + flag, v}, "--"+flag)
		}
	}
	u.wrong([]string{"import", model, "--out", filepath.Join(dir, "new"), "--steps", "3"}, "--steps 3: only with")
	u.wrong([]string{"import", model, "--out", model}, "--out "+model, "is the input")
	for _, format := range []string{"onnx", "npz"} {
		u.wrong([]string{"export", "--model", model, "--format", format, "--out", model}, "--out "+model,
			"is the input")
		u.wrong([]string{"export", "--model", model, "--format", format, "--out", dir}, "--out "+dir)
	}
	u.wrong([]string{"export", "--model", model, "--out", filepath.Dir(model)}, "--out", "would replace the input")
	u.wrong([]string{"export", "--model", model, "--out", text}, "--out "+text)
}
