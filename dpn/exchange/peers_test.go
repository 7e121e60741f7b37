package exchange

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/output"
)

func newEngine(t testing.TB) *engine.Engine {
	t.Helper()
	e, err := engine.New()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

// trained makes a network that has learned for some updates from built-in digits.
func trained(t testing.TB, e *engine.Engine, c dpn.Config, d *dataset.Data, updates int) *dpn.Model {
	t.Helper()
	c.MaxUpdates, c.Epochs, c.ValSize = updates, 1, 0
	m, err := dpn.New(c, d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fit(context.Background(), e, d.Train, dpn.FitOptions{}); err != nil {
		t.Fatal(err)
	}
	return m
}

func digits(t testing.TB, train, test int) *dataset.Data {
	t.Helper()
	d, err := source.Open("digits", source.Options{TrainSize: train, TestSize: test, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func preset(t testing.TB, name string) dpn.Config {
	t.Helper()
	c, err := dpn.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// export writes m in all formats to a folder.
func export(t testing.TB, e *engine.Engine, m *dpn.Model) (dir string) {
	t.Helper()
	dir = t.TempDir()
	var files output.Batch
	defer files.Discard()
	if err := WritePyTorch(&files, func(name string) string { return filepath.Join(dir, name) }, m); err != nil {
		t.Fatal(err)
	}
	if err := files.Commit(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if err := WriteONNX(&b, e, m); err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "model.onnx"), b.Bytes())
	return dir
}

func write(t testing.TB, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

// ask runs a program that prints JSON, and decodes it.
func ask(t testing.TB, to any, program string, args ...string) error {
	t.Helper()
	c := exec.Command(program, args...)
	c.Env = append(os.Environ(), "OMP_NUM_THREADS=1") // threads that wait for each other lose more on a busy machine
	var errs bytes.Buffer
	c.Stderr = &errs
	out, err := c.Output()
	if err != nil {
		return errors.New(err.Error() + ": " + errs.String())
	}
	return json.Unmarshal(out, to)
}

// reply is what the programs in testdata print.
type reply struct {
	Missing, Version string
	Inputs, Outputs  []string
}

// task is what module.py does with the files of a folder.
type task struct {
	Folder string `json:"folder"`
	Do     string `json:"do"` // logits, train, inputs or presets
}

// result is what module.py prints of a task.
type result struct {
	Potential []float64 // at the first images
	Losses    []float64
	Presets   map[string][]float64
	Inputs    map[string]string
}

// modules does tasks in one process: PyTorch takes seconds to start.
func modules(t testing.TB, python string, tasks []task) (results []result) {
	t.Helper()
	b, err := json.Marshal(tasks)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "tasks")
	write(t, path, b)
	if err := ask(t, &results, python, "testdata/module.py", path); err != nil {
		t.Fatal(err)
	}
	return results
}

// python returns a Python with PyTorch. The test is skipped if there is none.
func python(t testing.TB) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		var r reply
		if err := ask(t, &r, name, "testdata/module.py"); err == nil && r.Missing == "" {
			t.Log("PyTorch ", r.Version)
			return name
		}
	}
	t.Skip("no Python with PyTorch (Debian: apt-get install python3-torch)")
	return ""
}

// node returns Node.js with onnxruntime. The test is skipped if there is none.
func node(t testing.TB) string {
	t.Helper()
	var r reply
	if err := ask(t, &r, "node", "testdata/graph.cjs"); err != nil || r.Missing != "" {
		t.Skip("no Node.js that finds onnxruntime-node (npm install onnxruntime-node, and NODE_PATH=.../node_modules)")
	}
	t.Log("onnxruntime ", r.Version)
	return "node"
}

// floats reads a file of float32.
func floats(t testing.TB, path string) []float32 {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, len(b)/4)
	for i := range x {
		x[i] = math.Float32frombits(binary.NativeEndian.Uint32(b[4*i:]))
	}
	return x
}

// ours returns logits and denoised features of images.
func ours(t testing.TB, e *engine.Engine, m *dpn.Model, s *dataset.Set) (logits, denoised engine.Matrix) {
	t.Helper()
	denoised, err := m.Denoised(context.Background(), e, s)
	if err != nil {
		t.Fatal(err)
	}
	return m.Logits(e, denoised), denoised
}

// largest returns the largest difference of x and y, as a share of the range of x.
func largest(t testing.TB, x, y []float32) float64 {
	t.Helper()
	if len(x) != len(y) {
		t.Fatalf("%d numbers, want %d", len(y), len(x))
	}
	lo, hi, most := math.Inf(1), math.Inf(-1), 0.0
	for i, v := range x {
		lo, hi = min(lo, float64(v)), max(hi, float64(v))
		d := math.Abs(float64(v) - float64(y[i]))
		if !(d <= most) { // also NaN
			most = d
		}
	}
	return most / (hi - lo)
}

// classes counts the rows whose largest element is another one in y, except where x has it twice.
func classes(x engine.Matrix, y []float32) (other int) {
	for i := range x.Rows {
		row, peer := x.Row(i), y[i*x.Cols:(i+1)*x.Cols]
		a, b := 0, 0
		for j := range row {
			if row[j] > row[a] {
				a = j
			}
			if peer[j] > peer[b] {
				b = j
			}
		}
		if row[a] != row[b] {
			other++
		}
	}
	return other
}
