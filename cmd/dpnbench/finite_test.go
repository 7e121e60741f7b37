package main

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/safetensors"
	"dpnbench/engine"
	"dpnbench/internal/longtest"
)

// notFinite matches what is printed for a number that is not finite.
var notFinite = regexp.MustCompile(`(?i)\bnan\b|[-+ ]inf\b`)

// TestNotFinite runs all commands that read a model on models with a bad number in each tensor. A number
// that is not finite is refused with the name of the tensor. Numbers so large that the network overflows
// give an error that names the model file and an output; where the network does not overflow, results
// are finite.
func TestNotFinite(t *testing.T) {
	long(t)
	dir := t.TempDir()
	data := filepath.Join(dir, "idx")
	if err := os.Mkdir(data, 0o755); err != nil {
		t.Fatal(err)
	}
	idx(t, data, 120)
	overflows := map[string]int{}
	for name, flags := range map[string][]string{
		"pixels": {"--preset", "raw", "--components", "4", "--rank", "2", "--steps", "2", "--init", "kmeans"},
		"linear": small,
		"mlp":    with(small, "--extractor", "mlp", "--hidden", "6"),
	} {
		out := filepath.Join(dir, name)
		succeed(t, with(append([]string{"train"}, flags...), "--epochs", "1", "--batch", "16", "--data",
			data, "--out", out,
			"--quiet")...)
		f, err := safetensors.ReadFile(filepath.Join(out, dpn.ModelFile))
		if err != nil {
			t.Fatal(err)
		}
		for i := range f.Tensors {
			for _, bad := range []float64{math.NaN(), math.Inf(-1), 1e30, 3e38} {
				damaged := *f
				damaged.Tensors = append([]safetensors.Tensor(nil), f.Tensors...)
				tensor := &damaged.Tensors[i]
				tensor.Data = make([]float32, len(tensor.Data))
				copy(tensor.Data, f.Tensors[i].Data)
				if bad > 0 {
					for j := range tensor.Data {
						tensor.Data[j] = float32(bad)
						if bad == 3e38 && j%2 == 1 { // both signs, so that a ReLU meets -Inf and NaN
							tensor.Data[j] *= -1
						}
					}
				} else {
					tensor.Data[len(tensor.Data)-1] = float32(bad)
				}
				path := filepath.Join(dir, "damaged.safetensors")
				if err := safetensors.WriteFile(path, &damaged); err != nil {
					t.Fatal(err)
				}
				refused := ""
				if !(bad > 0) {
					refused = `tensor "` + tensor.Name + `"`
				}
				failed := evaluateDamaged(t, path, dir, name == "pixels", refused)
				if failed {
					overflows[name]++
				}
				if !failed && bad == 3e38 && tensor.Name == "extractor.0.weight" {
					t.Errorf("%s: no error with weights of +-3e38 before the first ReLU", name)
				}
			}
		}
	}
	for name, n := range overflows {
		t.Logf("%s: %d damages with an error", name, n)
	}
	if len(overflows) != 3 {
		t.Errorf("overflows in %v", overflows)
	}
}

// evaluateDamaged runs the commands on a model. With refused, each must fail with that text; otherwise
// one that fails must name the model. It returns whether eval failed.
func evaluateDamaged(t *testing.T, model, dir string, pixels bool, refused string) (failed bool) {
	t.Helper()
	out := filepath.Join(dir, "out")
	figures := longtest.Asked() || refused != "" // drawing takes most of the time
	commands := [][]string{{"eval"}, {"eval", "--corrupt", "gaussian:0.5"}, {"eval", "--json", "-"},
		{"eval", "--split", "validation"}, {"predict", "--quiet"}}
	if figures {
		commands = append(commands, []string{"sample", "--n", "4", "--out", out})
	}
	if pixels && figures {
		commands = append(commands, []string{"denoise", "--corrupt", "gaussian:0.5", "--out", out},
			[]string{"uncertainty", "--out", out}, []string{"analyze", "--draws", "0", "--subsets", "0", "--out", out})
	}
	for i, args := range commands {
		os.RemoveAll(out)
		args = with(args, "--model", model)
		stdout, stderr, status := dpnbench(t, args...)
		if status == exitDone {
			if text := stdout + stderr; refused != "" || notFinite.MatchString(text) || failed && i < 3 {
				t.Errorf("%q: status 0, printed %s", args, text)
			}
			continue
		}
		failed = failed || i == 0
		last := stderr[strings.LastIndex(strings.TrimSuffix(stderr, "\n"), "\n")+1:]
		if status != exitUsage || !strings.Contains(last, model) || !strings.Contains(last, refused) {
			t.Errorf("%q: status %d, printed %s", args, status, stderr)
		}
		if _, err := os.Stat(filepath.Join(out, pageFile)); err == nil {
			t.Errorf("%q: wrote a page", args)
		}
	}
	return failed
}

// TestNotFiniteInMemory does the same with a network in memory, where no file was refused before.
func TestNotFiniteInMemory(t *testing.T) {
	long(t)
	ctx := context.Background()
	data, err := source.Open("digits", source.Options{TrainSize: 40, TestSize: 20, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c, err := dpn.Preset("compact")
	if err != nil {
		t.Fatal(err)
	}
	c.Dim, c.Components = 8, 4
	m, err := dpn.New(c, data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Init(ctx, e, data.Train); err != nil {
		t.Fatal(err)
	}
	x := engine.NewMatrix(3, m.Dim())
	for _, p := range m.Params() {
		old := p.Data[0]
		p.Data[0] = float32(math.NaN())
		m.Potential().Changed()
		_, err1 := m.Predict(ctx, e, data.Test)
		_, err2 := m.Score(ctx, e, data.Test)
		_, err3 := m.ScoreCorrupted(ctx, e, data.Test, dataset.Corruption{Name: "gaussian", Severity: 0.1}, 1)
		_, err4 := m.PredictFeatures(ctx, e, x)
		for i, err := range []error{err1, err2, err3, err4} {
			var bad *dpn.OutputError
			if i == 3 && err == nil && strings.HasPrefix(p.Name, "feature_extractor") {
				continue
			}
			if !errors.As(err, &bad) || bad.Tensor != p.Name || !strings.Contains(err.Error(), p.Name) {
				t.Errorf("%s, call %d: error %v", p.Name, i, err)
			}
		}
		p.Data[0] = old
	}
	m.Potential().Changed()
	if _, err := m.Score(ctx, e, data.Test); err != nil {
		t.Error(err)
	}
}
