package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/bench"
)

// TestBench runs a row as a user would, and compares runs: with itself nothing changed,
// with one whose times are a hundred times as long it is slower, and the exit status 1.
func TestBench(t *testing.T) {
	if testing.Short() {
		t.Skip("takes some seconds; package bench has tests that take less")
	}
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	args := []string{"bench", "--quick", "--suite", "gemm", "--filter", "packed/m=128,k=64,n=64", "--threads", "1"}
	out := succeed(t, with(args, "--json", path("a.json"), "--html", path("a.html"), "--go-bench", path("a.txt"))...)
	for _, want := range []string{"packed", "m=128,k=64,n=64", "clock", "L2", "compared with the reference"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	b, err := os.ReadFile(path("a.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r bench.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.html", "a.txt"} {
		if b, err := os.ReadFile(path(name)); err != nil || !bytes.Contains(b, []byte("m=128,k=64,n=64")) {
			t.Errorf("%s: %v, %d bytes", name, err, len(b))
		}
	}
	for i := range r.Results {
		for j := range r.Results[i].Samples {
			r.Results[i].Samples[j] *= 100
		}
	}
	if b, err = json.Marshal(&r); err != nil {
		t.Fatal(err)
	}
	write(t, path("b.json"), b)
	out = succeed(t, "bench", "compare", path("a.json"), path("a.json"))
	if !strings.Contains(out, "1 rows: 0 slower, 0 faster") {
		t.Errorf("a run compared with itself:\n%s", out)
	}
	if _, message, status := dpnbench(t, "bench", "compare", path("a.json"), path("b.json")); status != exitFailed || !strings.Contains(message, "1 of 1 rows are slower") {
		t.Errorf("exit status %d, %q", status, message)
	}
}

func TestBenchBadInput(t *testing.T) {
	dir := t.TempDir()
	other := filepath.Join(dir, "other.json")
	write(t, other, []byte(`{"format": 99, "results": []}`))
	broken := filepath.Join(dir, "broken.json")
	write(t, broken, []byte(`{"format"`))
	fails(t, []string{"bench", "--suite", "gemms"}, `--suite "gemms"`, "expected one of peak, gemm")
	fails(t, []string{"bench", "--filter", "("}, "--filter", "missing closing )")
	fails(t, []string{"bench", "--filter", "nothing"}, "--filter", "no row")
	fails(t, []string{"bench", "--quick", "--full"}, "--quick and --full")
	fails(t, []string{"bench", "--threads", "1,1"}, "--threads 1,1")
	fails(t, []string{"bench", "--html", filepath.Join(dir, "none", "a.html")}, "--html", "no such file")
	fails(t, []string{"bench", "quick"}, `"quick"`)
	fails(t, []string{"bench", "compare", other}, "1 files, expected two")
	fails(t, []string{"bench", "compare", other, broken}, "other.json", "format 99, expected 1")
	fails(t, []string{"bench", "compare", broken, other}, "broken.json", "no JSON of dpnbench bench")
	fails(t, []string{"bench", "compare", filepath.Join(dir, "none.json"), other}, "none.json", "no such file")
	fails(t, []string{"bench", "compare", "--threshold", "-1", other, other}, "--threshold -1")
}
