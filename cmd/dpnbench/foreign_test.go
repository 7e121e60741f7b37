package main

import (
	"encoding/binary"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/dpn/safetensors"

	"github.com/spf13/pflag"
)

// TestForeignText has names and texts with control characters in every kind of input: none may
// reach the terminal or a page as it is.
func TestForeignText(t *testing.T) {
	long(t)
	const bad = "x\x1b[31mRED\x07\u009b31m\u202e"
	dir := t.TempDir()
	data, out := filepath.Join(dir, bad), filepath.Join(dir, "out "+bad)
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Log("no such names here: ", err)
		return
	}
	idx(t, data, 120)
	clean := func(args ...string) string {
		t.Helper()
		stdout, stderr, _ := dpnbench(t, args...)
		for _, c := range "\x1b\x07\u009b\u202e\r" {
			if strings.ContainsRune(stdout+stderr, c) {
				t.Errorf("%q: %q on the terminal: %q", args, c, stdout+stderr)
			}
		}
		return stdout + stderr
	}
	clean(with(append([]string{"train"}, small...), "--data", data, "--out", out)...)
	model := filepath.Join(out, dpn.ModelFile)

	f, err := safetensors.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	f.Metadata["config"] = strings.Replace(f.Metadata["config"], `"compact"`, `"\u001b[31m\u009b\u202e"`, 1)
	preset := filepath.Join(dir, "preset.safetensors")
	if err := safetensors.WriteFile(preset, f); err != nil {
		t.Fatal(err)
	}
	f.Metadata["rows"] = bad
	rows := filepath.Join(dir, "rows.safetensors")
	if err := safetensors.WriteFile(rows, f); err != nil {
		t.Fatal(err)
	}
	header, err := json.Marshal(map[string]any{bad: map[string]any{"dtype": bad, "shape": []int{1},
		"data_offsets": []int{0, 4}}})
	if err != nil {
		t.Fatal(err)
	}
	tensor := filepath.Join(dir, "tensor.safetensors")
	write(t, tensor, append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), 0, 0, 0, 0))
	config := filepath.Join(dir, "c.toml")
	write(t, config, []byte("data = \"./x\\u001b]0;owned\\u0007\"\n"))
	setting := filepath.Join(dir, "d.toml")
	write(t, setting, []byte("\"x\\u001b[31m\" = 1\n"))
	jsonFile := filepath.Join(dir, "reproduce.json")
	write(t, jsonFile, []byte(`{"format":2,"settings":{"experiment":"robust"},"robust":{"data":"\u001b",`+
		`"networks":[{"name":"\u001b[31m\u009b","kind":"\u001b"}]}}`))

	for _, m := range []string{model, preset, rows, tensor} {
		for _, args := range [][]string{{"eval"}, {"eval", "--explain"}, {"eval", "--json", "-"}, {"predict"},
			{"uncertainty"},
			{"analyze", "--draws", "0", "--subsets", "0"}, {"sample", "--n", "4"},
			{"export"}, {"eval", "--data", filepath.Join(dir, bad, "none")}} {
			if args[0] == "uncertainty" && m != preset { // slow
				continue
			}
			args = with(args, "--model", m)
			if args[0] != "eval" {
				args = append(args, "--out", filepath.Join(dir, args[0]))
			}
			clean(args...)
		}
		clean("import", m, "--out", filepath.Join(dir, "imported"))
	}
	for _, page := range []string{"analyze", "uncertainty"} {
		b, err := os.ReadFile(filepath.Join(dir, page, pageFile))
		if err != nil {
			t.Error(err)
		}
		if strings.ContainsAny(string(b), "\x1b\x07\u009b\u202e") {
			t.Errorf("%s: control characters in the page", page)
		}
	}
	for _, args := range [][]string{{"train", "--config", config}, {"train", "--config", setting}, {"eval", bad}, {bad},
		{"train", "--" + bad}, {"train", "--seed", bad}, {"train", "--threads", bad}, {"train", "--tier", bad},
		{"train", "--preset", bad}, {"eval", "--model", bad}, {"eval", "--model", model, "--corrupt", bad + ":1"},
		{"check", "--case", bad}, {"check", "--kernel", bad}, {"bench", "--suite", bad}, {"bench", "compare", bad, bad},
		{"reproduce", bad}, {"reproduce", "robust", "--data", data, "--resume", "--out", dir},
		{"data", "fetch", "mnist", "--mirror", bad}, {"import", bad, "--out", "x"}, {"export", "--format", bad}} {
		if text := clean(args...); !strings.HasPrefix(text, "dpnbench: ") {
			t.Errorf("%q: %q", args, text)
		}
	}
}

// TestNotUTF8 refuses names that a file of settings could not hold.
func TestNotUTF8(t *testing.T) {
	fails(t, []string{"train", "--data", "x\xff"}, `--data "x\xff": expected a text in UTF-8`)
}

// TestHint checks that the command that an interrupted training suggests can be pasted.
func TestHint(t *testing.T) {
	for json, want := range map[string]string{"": "", "-": " --json -", "a b": " --json 'a b'"} {
		r := &training{app: &app{json: json}, out: "my run's", minutes: defaultMinutes}
		if got, want := r.again(), `dpnbench train --out 'my run'\''s' --resume`+want; got != want {
			t.Errorf("%s, want %s", got, want)
		}
	}
	r := &training{app: &app{}, out: "r", every: 20, minutes: 0.5}
	if got, want := r.again(),
		"dpnbench train --out r --resume --checkpoint-every 20 --checkpoint-minutes 0.5"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	flags := pflag.NewFlagSet("reproduce", pflag.ContinueOnError)
	flags.Bool("quiet", false, "")
	flags.Bool("verbose", false, "")
	flags.Int("seeds", 3, "")
	if err := flags.Parse([]string{"--quiet=false", "--verbose", "--seeds=2"}); err != nil {
		t.Fatal(err)
	}
	p := &reproduction{what: "poster", flags: flags}
	if got, want := p.command("--resume"),
		"dpnbench reproduce poster --quiet=false --seeds 2 --verbose --resume"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
