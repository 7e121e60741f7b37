package order

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/internal/array"
	"dpnbench/internal/fuzzlimit"
)

// answer writes the results of f to a folder of probes.
func answer(t *testing.T, dir string, n int, f Func) {
	t.Helper()
	var operands [2][]float32
	for i, name := range []string{AFile, BFile} {
		x, err := array.Open(filepath.Join(dir, name), array.Options{})
		if err != nil {
			t.Fatal(err)
		}
		operands[i] = make([]float32, x.Arrays[0].Len()*n)
		if err := x.Arrays[0].ReadFloats(operands[i], 0); err != nil {
			t.Fatal(err)
		}
		x.Close()
	}
	rows := len(operands[0]) / n
	b, err := array.Header("<f4", rows)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		v := f(operands[0][i*n:(i+1)*n], operands[1][i*n:(i+1)*n])
		b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
	}
	if err := os.WriteFile(filepath.Join(dir, ResultsFile), b, 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFiles finds orders by files: chain, lanes of float64, a tree of bfloat16.
func TestFiles(t *testing.T) {
	const n = 19
	dir := t.TempDir()
	probes, err := Dump(dir, n)
	if err != nil {
		t.Fatal(err)
	}
	exact := sum(leaf(0), leaf(1), leaf(2))
	exact.Exact = true
	for _, want := range []*Order{
		chained(n),
		contract("dot", n),
		{N: n, Root: neighbours(n), Bits: 8, Verified: true},
		{N: n, Root: sum(exact, chain(3, 1, n)), Bits: 24, Verified: true},
	} {
		answer(t, dir, n, want.Eval)
		if got, err := Judge(dir); err != nil || !got.Equal(want) {
			t.Errorf("%d probes: %+v, %v, want %+v", probes, got, err, want)
		}
	}
	for _, c := range []struct{ file, text, want string }{
		{ResultsFile, "text", "results.npy: offset 0: expected an NPY file"},
		{ManifestFile, "{}", `manifest.json: format "", expected "dpnbench order 1"`},
		{ManifestFile, `{"format": "dpnbench order 1", "terms": 129}`, "manifest.json: 129 terms, expected 3 to 128"},
		{ManifestFile, "-", "manifest.json: expected the JSON"},
	} {
		if err := os.WriteFile(filepath.Join(dir, c.file), []byte(c.text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Judge(dir); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want an error with %q", err, c.want)
		}
	}
	if _, err := Dump(dir, 129); err == nil {
		t.Error("129 terms")
	}
	if _, err := Dump(dir, 5); err != nil {
		t.Fatal(err)
	}
	if _, err := Judge(dir); err == nil || !strings.Contains(err.Error(), "missing: expected the sum") {
		t.Error(err)
	}
	answer(t, dir, 5, func(a, b []float32) float32 { return float32(math.NaN()) })
	if _, err := Judge(dir); err == nil || !strings.Contains(err.Error(), "not a sum") {
		t.Error(err)
	}
}

// FuzzManifest reads manifests.
func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"format": "dpnbench order 1", "terms": 64, "result": {"file": "results.npy"}}`))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var err error
		fuzzlimit.Check(t, 200*len(b)+1<<20, func() { _, err = parseManifest(b) })
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %v", err)
		}
	})
}
