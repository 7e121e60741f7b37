package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/dpn/safetensors"
)

// TestSample draws from a network on pixels and from one on features, with every method.
func TestSample(t *testing.T) {
	long(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 120)
	models := map[string]string{}
	for name, flags := range map[string][]string{
		"pixels": {"--preset", "raw", "--components", "10", "--rank", "2", "--steps", "2", "--epochs", "1",
			"--batch", "16"},
		"features": small,
	} {
		out := filepath.Join(dir, name)
		succeed(t, with(append([]string{"train"}, flags...), "--data", data, "--out", out, "--quiet")...)
		models[name] = filepath.Join(out, dpn.ModelFile)
	}
	for name, model := range models {
		for _, method := range []string{"exact", "mala", "ula"} {
			steps := map[string]int{"mala": 600, "ula": 20}[method] // few steps of MALA give a warning
			out, js := filepath.Join(dir, name, method), filepath.Join(dir, "sample.json")
			base := []string{"sample", "--model", model, "--method", method, "--n", "9", "--json", js, "--out", out}
			if method != "exact" {
				base = with(base, "--steps", fmt.Sprint(steps))
			}
			text := succeed(t, base...)
			var r sampleResult
			load(t, js, &r)
			dim := map[string]int{"pixels": 16, "features": 8}[name]
			if r.Method != method || r.Samples != 9 || r.Dim != dim || r.Pixels != (name == "pixels") ||
				len(r.Classes) != 9 || len(r.Phi) != 9 || r.Temperature != 1 || r.Seed != 1 {
				t.Errorf("%s, %s: %+v", name, method, r)
			}
			if c := r.Chains; method == "exact" {
				if r.Exact == nil || len(r.Exact.Components) != 9 || r.Exact.Proposals != 9 || c != nil {
					t.Errorf("%s, exact: %+v", name, r)
				}
			} else if c == nil || r.Exact != nil || c.Steps != steps || c.Burn != 0 ||
				!(c.StepSize > 0 && c.Acceptance > 0.3 && c.Acceptance <= 1) || c.States != 9*steps ||
				!(c.LeastESS > 1) {
				t.Errorf("%s, %s: %+v", name, method, c)
			}
			if method != "exact" && (strings.Contains(text, "acceptance") != (method == "mala") ||
				!strings.Contains(text, "effective sample size")) {
				t.Errorf("printed %q", text)
			}
			first, err := os.ReadFile(filepath.Join(out, "samples.npy"))
			if err != nil || len(first) != 128+4*9*dim {
				t.Errorf("%s, %s: %d bytes of samples, %v", name, method, len(first), err)
			}
			for _, f := range []string{"samples.png", "samples.svg"} {
				if _, err := os.Stat(filepath.Join(out, f)); (err == nil) != r.Pixels {
					t.Errorf("%s, %s: %s: %v", name, method, f, err)
				}
			}
			if strings.Contains(text, "not pixels") == r.Pixels {
				t.Errorf("%s: printed %q", name, text)
			}
			succeed(t, with(base, "--threads", "3", "--tier", "generic")...)
			if again, err := os.ReadFile(filepath.Join(out, "samples.npy")); err != nil ||
				string(again) != string(first) {
				t.Errorf("%s, %s: other samples on another tier (%v)", name, method, err)
			}
		}
	}

	// A run that cannot write a file is refused, and the files of the earlier run stay.
	used := filepath.Join(dir, "pixels", "exact")
	numbers := filepath.Join(used, "samples.npy")
	if err := os.Remove(numbers); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(numbers, 0o755); err != nil {
		t.Fatal(err)
	}
	fails(t, []string{"sample", "--model", models["features"], "--out", used}, "--out "+used, "samples.npy")
	if left, err := os.ReadDir(used); err != nil || len(left) != 4 {
		t.Errorf("left in the folder: %v (%v)", left, err)
	}

	var r sampleResult
	js := filepath.Join(dir, "data.json")
	succeed(t, "sample", "--model", models["features"], "--method", "mala", "--start", "data", "--test-size", "5",
		"--steps", "200", "--quiet") // fewer than the default of --n
	succeed(t, "sample", "--model", models["features"], "--method", "mala", "--start", "data", "--n", "7",
		"--steps", "200", "--json", js, "--quiet")
	load(t, js, &r)
	if r.Chains == nil || r.Chains.Start != "data" || r.Chains.Burn != 100 || r.Chains.States != 7*100 {
		t.Errorf("started from images: %+v", r.Chains)
	}
	if _, err := os.Stat(filepath.Join(filepath.Dir(models["features"]), "samples", "samples.npy")); err != nil {
		t.Error(err)
	}

	// Chains that are refused at every step say so and propose a step size that works.
	for _, start := range []string{"exact", "data"} {
		var r sampleResult
		args := []string{"sample", "--model", models["features"], "--method", "mala", "--start", start, "--n", "8",
			"--json", js, "--quiet"}
		_, errs, status := dpnbench(t, with(args, "--step-size", "1e6")...)
		load(t, js, &r)
		if status != 0 || !strings.Contains(errs, "every proposal was refused") ||
			!strings.Contains(errs, "; --step-size ") || r.Chains.Tuned == 0 || r.Chains.Warning == "" {
			t.Fatalf("status %d, %q, %+v", status, errs, r.Chains)
		}
		tuned := fmt.Sprintf("%.3g", r.Chains.Tuned)
		_, errs, status = dpnbench(t, with(args, "--step-size", tuned, "--steps", "3000")...)
		r = sampleResult{}
		load(t, js, &r)
		if status != 0 || errs != "" || r.Chains.Warning != "" || !(r.Chains.Acceptance > 0.3) {
			t.Errorf("the proposed step size %s: status %d, %q, %+v", tuned, status, errs, r.Chains)
		}
		_, errs, _ = dpnbench(t, with(args, "--step-size", tuned, "--steps", "10")...)
		if !strings.Contains(errs, "effective sample size is") || !strings.Contains(errs, "--steps") {
			t.Errorf("few steps: %q", errs)
		}
	}

	f, err := safetensors.ReadFile(models["features"])
	if err != nil {
		t.Fatal(err)
	}
	clear(f.Tensor("denoising_potential.A").Data[:64])
	singular := filepath.Join(dir, "singular.safetensors")
	if err := safetensors.WriteFile(singular, f); err != nil {
		t.Fatal(err)
	}
	fails(t, []string{"sample", "--model", singular}, "component 0: the precision has no inverse")
	fails(t, []string{"sample"}, "--model: expected a model file")
	model := models["features"]
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--method", "gibbs"}, `--method "gibbs": expected exact, mala or ula`},
		{[]string{"--start", "noise"}, `--start "noise"`},
		{[]string{"--n", "0"}, "--n 0"},
		{[]string{"--n", "1000000000"}, "1000000000 samples"},
		{[]string{"--temperature", "0"}, "--temperature 0"},
		{[]string{"--temperature", "NaN"}, "--temperature NaN"},
		{[]string{"--temperature", "0.01"}, "take a higher temperature"},
		{[]string{"--step-size", "-1"}, "--step-size -1"},
		{[]string{"--method", "ula", "--step-size", "1e6"}, "take a smaller step size"},
		{[]string{"--method", "ula", "--steps", "0"}, "--steps 0"},
		{[]string{"--method", "ula", "--steps", "10000000"}, "chains of 10000000 steps"},
		{[]string{"--method", "mala", "--burn", "1000"}, "--burn 1000: expected 0 to 999"},
		{[]string{"--method", "mala", "--start", "data", "--n", "121"}, "--n 121: expected 1 to 120"},
		{[]string{"--ascent-steps", "-3"}, "--ascent-steps -3: "},
		{[]string{"--ascent-steps", "-1"}, "--ascent-steps -1: expected 0 to"},
		{[]string{"--steps", "5"}, "--steps 5: only with --method mala or ula"},
		{[]string{"--start", "data"}, "--start data: only with --method mala or ula"},
		{[]string{"--method", "ula", "--test-size", "9"}, "--test-size 9: only with --start data"},
		{[]string{"--format", "csv"}, "--format csv: only with --start data"},
		{[]string{"--method", "mala", "--label", "a"}, "--label a: only with --start data"},
		{[]string{"--drop", "a"}, "--drop a: only with --start data"},
		{[]string{"--test-share", "0.5"}, "--test-share 0.5: only with --start data"},
		{[]string{"--size", "8x8"}, "--size 8x8: only with --start data"},
		{[]string{"--channels", "rgb"}, "--channels rgb: only with --start data"},
		{[]string{"--out", model}, "--out " + model},
		{[]string{"--json", model}, "is the input"},
	} {
		fails(t, with([]string{"sample", "--model", model, "--out", filepath.Join(dir, "bad")}, c.args...), c.want)
	}
}
