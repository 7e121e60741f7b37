package main

import (
	"encoding/json"
	"math"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"dpnbench/internal/fuzzlimit"

	"github.com/spf13/pflag"
)

// FuzzDecimal gives a text to flags of each type of number. What they take, they read as strconv does
// in base 10.
func FuzzDecimal(f *testing.F) {
	for _, s := range []string{"010", "-0", "+7", "0x10", "1_0", "1e3", "0x1p3", "inf", "nan", "", "٣", "1e999",
		"99999999999999999999", strings.Repeat("0", 1000) + "1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var i int
		var u uint64
		var x float64
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.IntVar(&i, "int", 0, "")
		flags.Uint64Var(&u, "uint", 0, "")
		flags.Float64Var(&x, "float", 0, "")
		var failed [3]error
		fuzzlimit.Check(t, 64*len(s)+1<<20, func() {
			for n, name := range []string{"int", "uint", "float"} {
				failed[n] = decimal{flags.Lookup(name).Value}.Set(s)
			}
		})
		if want, err := strconv.Atoi(s); failed[0] == nil && (err != nil || i != want) {
			t.Errorf("%q: int %d, expected %d, %v", s, i, want, err)
		}
		digits := strings.TrimPrefix(s, "+")
		if want, err := strconv.ParseUint(digits, 10, 64); failed[1] == nil && s != "-0" && (err != nil || u != want) {
			t.Errorf("%q: uint64 %d, expected %d, %v", s, u, want, err)
		}
		want, err := strconv.ParseFloat(s, 64)
		if failed[2] == nil && (err != nil || math.Float64bits(x) != math.Float64bits(want)) {
			t.Errorf("%q: float64 %v, expected %v, %v", s, x, want, err)
		}
	})
}

// FuzzOldDenoise reads a denoise.json of an earlier run, whose files the next one removes: only files
// of its kind in its own folder.
func FuzzOldDenoise(f *testing.F) {
	f.Add([]byte(`{"corruptions": [{"file": "denoised/gaussian-0.5.npy"}, {"file": "../../x.npy"}]}`))
	f.Add([]byte(`{"corruptions": [{"file": ".npy"}, {"file": "/"}, {"file": null}, null]}`))
	f.Add([]byte(`[]`))
	f.Fuzz(func(t *testing.T, b []byte) {
		dir := filepath.Join("a", "denoised")
		var list []string
		fuzzlimit.Check(t, 64*len(b)+1<<20, func() { list, _ = oldDenoised(dir, b) })
		for _, path := range list {
			if filepath.Dir(path) != dir {
				t.Errorf("%s: would remove %q", b, path)
			}
		}
	})
}

// FuzzOldResults reads a train.json, which may be of another program.
func FuzzOldResults(f *testing.F) {
	f.Add([]byte(`{"weights_sha256": "ab", "epochs": [{"epoch": 1, "val_loss": null}]}`))
	f.Add([]byte(`{"epochs": [null, {"val_loss": 1e400}], "init": {}}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzlimit.Check(t, 256*len(b)+1<<20, func() {
			var r trainResult
			_ = json.Unmarshal(b, &r)
		})
	})
}
