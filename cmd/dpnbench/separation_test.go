package main

import (
	archive "archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/internal/longtest"
	"dpnbench/plot"
)

// python returns a Python that has NumPy and PyTorch, or skips the test.
func python(t *testing.T) string {
	t.Helper()
	for _, name := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(name, "-c", "import numpy, torch").Run() == nil {
			return name
		}
	}
	t.Skip("no python3 with numpy and torch (Debian: python3-numpy python3-torch)")
	return ""
}

// runPython runs a program, and returns its standard output.
func runPython(t *testing.T, name string, args ...string) []byte {
	t.Helper()
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "OMP_NUM_THREADS=1") // the matrices are small
	c.Stderr = os.Stderr
	out, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// heAndSu is a network of He and Su (PNAS 2023): 100 images of 10 x 10 of each class, 6 hidden layers of width
// 100 with BatchNorm and ReLU, the learning rate divided by 10 after 1/3 and 2/3 of the epochs. The recipe of the
// documentation comes before it.
const heAndSu = `
import collections, sys
folder, epochs = sys.argv[1], int(sys.argv[2])
torch.manual_seed(1)
load = lambda name: torch.from_numpy(np.load(f"{folder}/{name}.npy"))
x, y, test_x, test_y = load("x"), load("y").long(), load("test_x"), load("test_y").long()
layers, width = collections.OrderedDict(), x.shape[1]
for i in range(1, 7):
    layers[f"linear{i}"] = torch.nn.Linear(width, 100)
    layers[f"norm{i}"], layers[f"relu{i}"], width = torch.nn.BatchNorm1d(100), torch.nn.ReLU(), 100
layers["logits"] = torch.nn.Linear(100, 10)
model = torch.nn.Sequential(layers)
names = [f"relu{i}" for i in range(1, 7)] + ["logits"]
optimiser = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
schedule = torch.optim.lr_scheduler.MultiStepLR(optimiser, [epochs // 3, 2 * epochs // 3], 0.1)
def save(name):
    dump(f"{folder}/{name}/acts.npz", model, names, x, y)
    dump(f"{folder}/{name}/test.npz", model, names, test_x, test_y)
    np.save(f"{folder}/{name}/w.npy", model.logits.weight.detach().numpy())
    np.save(f"{folder}/{name}/b.npy", model.logits.bias.detach().numpy())
for epoch in range(epochs):
    if epoch == epochs // 10:
        save("early")
    model.train()
    for at in torch.randperm(len(x)).split(100):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(model(x[at]), y[at]).backward()
        optimiser.step()
    schedule.step()
save("late")
`

// TestSeparationOfPyTorch runs the recipe of docs/separation.md in PyTorch, and compares every figure of its
// features with a program that computes them by NumPy from their definitions.
func TestSeparationOfPyTorch(t *testing.T) {
	longtest.Need(t)
	python := python(t)
	page, err := os.ReadFile("../../docs/separation.md")
	if err != nil {
		t.Fatal(err)
	}
	recipe := regexp.MustCompile("(?s)```python\n(.*?)```").FindSubmatch(page)
	if recipe == nil {
		t.Fatal("docs/separation.md has no recipe")
	}
	if n := len(strings.Split(strings.TrimSpace(string(recipe[1])), "\n")); n > 15 {
		t.Errorf("the recipe has %d lines, want at most 15", n)
	}
	folder := t.TempDir()
	for _, name := range []string{"early", "late"} {
		if err := os.Mkdir(filepath.Join(folder, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	digits(t, folder)
	program := filepath.Join(folder, "train.py")
	write(t, program, append(recipe[1], heAndSu...))
	runPython(t, python, program, folder, "600")

	in := func(name string) string { return filepath.Join(folder, name) }
	numbers := in("out.json")
	text := succeed(t, "separation", "--features", "acts.npz", "--epochs", in("early")+","+in("late"), "--labels",
		in("late/acts.npz")+":y", "--test-features", "test.npz", "--test-labels", in("late/test.npz")+":y",
		"--classifier", "w.npy,b.npy", "--draws", "40", "--json", numbers, "--out", in("out"))
	t.Log("\n" + text)
	var got, want map[string]any
	decode(t, numbers, &got)
	out := runPython(t, python, "testdata/separation_oracle.py", in("late/acts.npz"), in("late/test.npz"),
		in("late/w.npy"), in("late/b.npy"))
	if err := json.Unmarshal(out, &want); err != nil {
		t.Fatal(err)
	}
	agree(t, got, want)
	for _, name := range []string{"layers", "loads", "curve", "accuracy", "compression", "discrimination", "epochs",
		"pca"} {
		for _, f := range plot.Files(in("out/" + name)) {
			if st, err := os.Stat(f); err != nil || st.Size() == 0 {
				t.Errorf("no figure %s", f)
			}
		}
	}
	for _, line := range strings.Split(text, "\n") {
		if len(line) > 110 && !strings.HasPrefix(line, "!") && !strings.HasPrefix(line, "page") {
			t.Errorf("%d columns: %q", len(line), line)
		}
	}
}

// Classes that are texts are in alphabetical order, and the command says which row of the classifier is whose.
func TestSeparationOfTexts(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	write(t, in("y.csv"), []byte("label\n"+strings.Repeat("zebra\nant\n", 20)))
	x := make([]float32, 80)
	for i := range 40 {
		x[2*i+i%2] = 5 + float32(i%7) // zebras on the first axis
		x[2*i+1-i%2] = float32(i % 5)
	}
	saveNPY(t, in("x.npy"), x, 40, 2)
	saveNPY(t, in("w.npy"), []float32{0, 1, 1, 0}, 2, 2)
	text := succeed(t, "separation", "--features", in("x.npy"), "--labels", in("y.csv"), "--classifier", in("w.npy"))
	for _, want := range []string{"classifier of x: accuracy on the training samples 100.00%",
		`row 0 of --classifier is taken as that of "ant", row 1 as that of "zebra"`} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	write(t, in("numbers.csv"), []byte("label\n"+strings.Repeat("1\n0\n", 20)))
	for _, c := range [][3]string{
		{"y.csv", "numbers.csv", "whole numbers, expected texts as in --labels " + in("y.csv")},
		{"numbers.csv", "y.csv", `texts such as "ant", expected whole numbers as in --labels ` + in("numbers.csv")},
	} {
		fails(t, []string{"separation", "--features", in("x.npy"), "--labels", in(c[0]), "--test-features", in("x.npy"),
			"--test-labels", in(c[1])}, "--test-labels "+in(c[1])+": "+c[2])
	}
}

// Labels that are texts can lie beside the features in one NPZ file, and are none of these.
func TestSeparationTextsBeside(t *testing.T) {
	var x, y, file bytes.Buffer
	features := make([]float32, 80)
	header := "{'descr': '<U1', 'fortran_order': False, 'shape': (40,), }\n"
	y.WriteString("\x93NUMPY\x01\x00" + string([]byte{byte(len(header)), 0}) + header)
	for i := range 40 {
		features[2*i+i%2] = 5 + float32(i%7)
		features[2*i+1-i%2] = float32(i % 5)
		y.Write([]byte{"za"[i%2], 0, 0, 0})
	}
	if err := dataset.WriteNPY(&x, features, 40, 2); err != nil {
		t.Fatal(err)
	}
	z := archive.NewWriter(&file)
	for name, b := range map[string][]byte{"x.npy": x.Bytes(), "y.npy": y.Bytes()} {
		w, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		w.Write(b)
	}
	z.Close()
	path := filepath.Join(t.TempDir(), "xy.npz")
	write(t, path, file.Bytes())
	for _, spec := range []string{path, path + ":x"} {
		text := succeed(t, "separation", "--features", spec, "--labels", path+":y", "--draws", "0", "--subsets", "0")
		if !strings.Contains(text, "40 samples of 2 classes, 1 layer") {
			t.Errorf("%s: output\n%s", spec, text)
		}
	}
}

// A first column of row numbers, as pandas writes it, is no feature.
func TestSeparationOfNumberedRows(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	var plain, numbered, labels strings.Builder
	plain.WriteString("a,b\n")
	numbered.WriteString(",a,b\n")
	labels.WriteString("class\n")
	for i := range 40 {
		features := fmt.Sprintf("%d.5,%d\n", 5*(i%2)+i%7, i%5)
		plain.WriteString(features)
		fmt.Fprintf(&numbered, "%d,%s", i, features)
		fmt.Fprintln(&labels, i%2)
	}
	write(t, in("plain.csv"), []byte(plain.String()))
	write(t, in("numbered.csv"), []byte(numbered.String()))
	write(t, in("y.csv"), []byte(labels.String()))
	measure := func(name string) (text, d string) {
		text = succeed(t, "separation", "--features", in(name), "--labels", in("y.csv"), "--json", in("s.json"))
		b, err := os.ReadFile(in("s.json"))
		if err != nil {
			t.Fatal(err)
		}
		var s struct {
			Layers []struct {
				D float64 `json:"fuzziness"`
			}
		}
		if err := json.Unmarshal(b, &s); err != nil || len(s.Layers) != 1 || !(s.Layers[0].D > 0) {
			t.Fatalf("%v: %s", err, b)
		}
		return text, fmt.Sprint(s.Layers)
	}
	_, want := measure("plain.csv")
	text, got := measure("numbered.csv")
	if got != want || !strings.Contains(text, "column 1 holds the numbers of the rows and is left out") {
		t.Errorf("%s, want %s; output:\n%s", got, want, text)
	}
}

// Labels are in the column of a table in which train would find them, which is no feature, and a line says so.
func TestSeparationColumns(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	texts := map[string]*strings.Builder{}
	add := func(name, format string, args ...any) {
		if texts[name] == nil {
			texts[name] = &strings.Builder{}
		}
		fmt.Fprintf(texts[name], format+"\n", args...)
	}
	add("plain.csv", "a,b")
	add("full.csv", "a,label,b")
	add("files.csv", "file,label")
	add("kinds.csv", "file,kind")
	add("y.csv", "label")
	for i := range 40 {
		a, b := 5*float64(i%2)+float64(i%7)+0.5, float64(i%5)+0.25
		add("plain.csv", "%v,%v", a, b)
		add("full.csv", "%v,%d,%v", a, i%2, b)
		add("last.csv", "%v,%v,%d", a, b, i%2)
		add("files.csv", "img%d.png,%d", i, i%2)
		add("kinds.csv", "img%d.png,%d", i, i%2)
		add("y.csv", "%d", i%2)
		add("missing.csv", "%s", []string{"NA", "u"}[i%2])
		add("fractions.csv", "%v,%v", a, b)
	}
	for name, text := range texts {
		write(t, in(name), []byte(text.String()))
	}
	measure := func(features, labels string) (text, layer string) {
		text = succeed(t, "separation", "--features", in(features), "--labels", in(labels), "--json", in("s.json"),
			"--draws", "0", "--subsets", "0")
		var s struct {
			Layers []struct {
				D   float64 `json:"fuzziness"`
				Dim int
			}
		}
		decode(t, in("s.json"), &s)
		return text, fmt.Sprint(s.Layers)
	}
	_, want := measure("plain.csv", "y.csv")
	for _, c := range []struct{ features, labels, line string }{
		{"plain.csv", "full.csv", `full.csv: column "label" holds the labels`},
		{"plain.csv", "files.csv", `files.csv: column "label" holds the labels`},
		{"plain.csv", "last.csv", "last.csv: column 3 holds the labels"},
		{"plain.csv", "kinds.csv:kind", ""},
		{"plain.csv", "missing.csv", `missing.csv: class "NA": `},
		{"full.csv", "y.csv", `full.csv: column "label" holds labels and is left out`},
		{"full.csv", "full.csv", `full.csv: column "label" holds the labels`},
		{"full.csv", "full.csv:label", ""},
		{"last.csv", "last.csv", "last.csv: column 3 holds the labels"},
	} {
		text, got := measure(c.features, c.labels)
		if got != want || !strings.Contains(text, c.line) || c.line == "" && strings.Contains(text, "column") {
			t.Errorf("%s, labels of %s: %s, want %s and %q; output:\n%s", c.features, c.labels, got, want,
				c.line, text)
		}
	}
	for labels, want := range map[string]string{
		"fractions.csv": "fractions.csv:COLUMN takes another column",
		"kinds.csv":     "kinds.csv:COLUMN takes labels from the column of that name",
	} {
		fails(t, []string{"separation", "--features", in("plain.csv"), "--labels", in(labels)},
			"--labels "+in(labels), want)
	}
}

// What is wrong with numbers is said of the file, by the flag that names it.
func TestSeparationNamesFiles(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	x, bad := make([]float32, 40), make([]float32, 40)
	for i := range x {
		x[i] = float32(3*(i/2%2)+i%7) + float32(i%3)/4
		bad[i] = x[i]
	}
	bad[11] = float32(math.NaN())
	saveNPY(t, in("x.npy"), x, 20, 2)
	saveNPY(t, in("bad.npy"), bad, 20, 2)
	saveNPY(t, in("w.npy"), []float32{1, 0, 0, 1}, 2, 2)
	saveNPY(t, in("badw.npy"), []float32{1, 0, 0, float32(math.Inf(1))}, 2, 2)
	saveNPY(t, in("badb.npy"), []float32{0, float32(math.NaN())}, 2)
	write(t, in("y.csv"), []byte("label\n"+strings.Repeat("0\n1\n", 10)))
	args := []string{"separation", "--labels", in("y.csv"), "--draws", "0", "--subsets", "0"}
	for _, c := range []struct {
		more []string
		want string
	}{
		{[]string{"--features", in("x.npy") + "," + in("bad.npy")}, "--features " + in("bad.npy") + ": separation: " +
			"feature at row 5, column 1 is NaN: every feature must be finite (rows and columns count from 0)"},
		{[]string{"--features", in("x.npy"), "--test-features", in("bad.npy"), "--test-labels", in("y.csv")},
			"--test-features " + in("bad.npy") + ": separation: feature at row 5"},
		{[]string{"--features", in("x.npy"), "--classifier", in("badw.npy")}, "--classifier " + in("badw.npy") + ": "},
		{[]string{"--features", in("x.npy"), "--classifier", in("w.npy") + "," + in("badb.npy")}, in("badb.npy") +
			": separation: a bias of the classifier is NaN"},
	} {
		fails(t, slices.Concat(args, c.more), c.want)
	}
}

// Epochs are named by their folders: by the last part of each if these differ.
func TestSeparationEpochNames(t *testing.T) {
	folder := t.TempDir()
	in := func(name string) string { return filepath.Join(folder, name) }
	write(t, in("y.csv"), []byte("label\n"+strings.Repeat("0\n1\n", 10)))
	x := make([]float32, 40)
	for i := range x {
		x[i] = float32(3*(i/2%2)+i%7) + float32(i%3)/4
	}
	for _, epoch := range []string{"1/acts", "2/acts"} {
		if err := os.MkdirAll(in(epoch), 0o755); err != nil {
			t.Fatal(err)
		}
		saveNPY(t, in(epoch+"/x.npy"), x, 20, 2)
	}
	saveNPY(t, in("1/x.npy"), x, 20, 2)
	for _, c := range [][2][]string{
		{{in("1/acts"), in("2/acts")}, {in("1/acts"), in("2/acts")}},
		{{in("1"), in("2/acts")}, {"1", "acts"}},
	} {
		succeed(t, "separation", "--features", "x.npy", "--labels", in("y.csv"), "--epochs", strings.Join(c[0], ","),
			"--draws", "0", "--subsets", "0", "--json", in("s.json"))
		var s struct{ Epochs []struct{ Name string } }
		decode(t, in("s.json"), &s)
		if len(s.Epochs) != 2 || s.Epochs[0].Name != c[1][0] || s.Epochs[1].Name != c[1][1] {
			t.Errorf("epochs %v, want %q", s.Epochs, c[1])
		}
	}
}

// digits writes images of 10 x 10, 100 of each class, as NPY files.
func digits(t *testing.T, folder string) {
	t.Helper()
	data, err := source.Open("digits", source.Options{Seed: 1, TrainSize: 3000, TestSize: 1000})
	if err != nil {
		t.Fatal(err)
	}
	few, err := data.Train.PerClass(len(data.Classes), 100)
	if err != nil {
		t.Fatal(err)
	}
	for name, set := range map[string]*dataset.Set{"": few, "test_": data.Test} {
		small, err := set.Resize(10, 10)
		if err != nil {
			t.Fatal(err)
		}
		x, y := make([]float32, len(small.Pixels)), make([]float32, small.Len())
		for i, v := range small.Pixels {
			x[i] = float32(v)/127.5 - 1
		}
		for i, v := range small.Labels {
			y[i] = float32(v)
		}
		saveNPY(t, filepath.Join(folder, name+"x.npy"), x, small.Len(), 100)
		saveNPY(t, filepath.Join(folder, name+"y.npy"), y, small.Len())
	}
}

func saveNPY(t *testing.T, path string, x []float32, shape ...int) {
	t.Helper()
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := dataset.WriteNPY(f, x, shape...); err != nil {
		t.Fatal(err)
	}
}

func decode(t *testing.T, path string, to any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, to); err != nil {
		t.Fatal(err)
	}
}

// agree compares the JSON of separation with that of the oracle. Figures that are computed in float64 agree
// to 1e-9; those whose products are in float32 to what that allows.
func agree(t *testing.T, got, want map[string]any) {
	t.Helper()
	relative := func(name string, a, b any, tolerance float64) {
		t.Helper()
		x, y := a.(float64), b.(float64)
		if !(math.Abs(x-y) <= tolerance*math.Max(math.Abs(y), 1e-12)) {
			t.Errorf("%s is %v, the oracle has %v", name, x, y)
		}
	}
	layers := got["layers"].([]any)
	for i, l := range want["layers"].([]any) {
		layer := layers[i].(map[string]any)
		name := layer["name"].(string)
		for key, v := range l.(map[string]any) {
			switch key {
			case "variability_collapse":
				relative(name+" "+key, layer[key], v, 1e-3)
			case "probe_loss": // at most where the probe ends, by the size of its gradient
				if d := layer[key].(float64) - v.(float64); !(d >= -1e-6 && d <= 1e-3) {
					t.Errorf("%s %s is %v, the oracle has %v", name, key, layer[key], v)
				}
			case "probe_accuracy":
				if !(math.Abs(layer[key].(float64)-v.(float64)) <= 0.005) {
					t.Errorf("%s %s is %v, the oracle has %v", name, key, layer[key], v)
				}
			case "test":
				relative(name+" "+key, layer[key].(map[string]any)["nearest_mean_accuracy"], v, 1e-9)
			default:
				relative(name+" "+key, layer[key], v, 1e-9)
			}
		}
		if c, ok := layer["classifier"].(map[string]any); ok {
			for key, v := range want["classifier"].(map[string]any) {
				relative(key, c[key], v, 1e-9)
			}
		}
	}
	law := got["law"].(map[string]any)
	relative("rho", law["rho"], want["rho"], 1e-9)
	relative("r", law["pearson"], want["r"], 1e-9)
	for i, v := range want["loads"].([]any) {
		relative("load", got["loads"].([]any)[i].(map[string]any)["share"], v, 1e-9)
	}
	for i, row := range want["cka"].([]any) {
		for j, v := range row.([]any) {
			relative("CKA", got["cka"].([]any)[i].([]any)[j], v, 1e-5)
		}
	}
}
