// Package examples has short programs that use the packages of this module. Its tests run them.
package examples

import (
	"context"
	"fmt"
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// mostLines is the length of a program, which has to be read in one go.
const mostLines = 80

// TestExamples runs every program on data that the test makes.
func TestExamples(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: builds five programs")
	}
	dir := t.TempDir()
	build := exec.Command("go", "build", "-o", dir+string(filepath.Separator), "./...")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	args := map[string][]string{
		"csv":        {table(t, dir), filepath.Join(dir, "table.safetensors")},
		"png":        digit(t, dir),
		"separation": features(t, dir),
		"kernel":     nil,
		"trainer":    nil,
	}
	// What each program prints at the end, in order. The figures are the same on every machine.
	want := map[string]string{
		"csv":        `(?s)240 \+ 60 rows of 4 features, classes \["setosa" .*test accuracy (9[5-9]|100)\.\d%\n`,
		"png":        `^\S+: eight \(\d+\.\d%\)\n$`,
		"separation": `(?s)width 2, D .*CKA with the layer before.*multiplies D by 0\.2[45]\d \(r = -1\.000\)`,
		"kernel":     `(?s)y\[0\]\[0\] is -2\.96382\n.*is 849\.30585\n.*\(20\.0, 5\.0\) of 1000 points`,
		"trainer":    `(?s)update 50: loss .*test accuracy (8[5-9]|9\d)\.\d%`,
	}
	programs, err := filepath.Glob("*/main.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range programs {
		name := filepath.Base(filepath.Dir(file))
		out, err := exec.Command(filepath.Join(dir, name), args[name]...).CombinedOutput()
		if err != nil || want[name] == "" || !regexp.MustCompile(want[name]).Match(out) {
			t.Errorf("%s: %v, want %q: %s", name, err, want[name], out)
		}
		delete(want, name)
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := strings.Count(string(text), "\n"); n > mostLines {
			t.Errorf("%s: %d lines, want at most %d", file, n, mostLines)
		}
	}
	for name := range want {
		t.Errorf("there is no program %s", name)
	}
	// What a message about a column names is a flag of the program.
	fractions := write(t, filepath.Join(dir, "fractions.csv"), []byte("k,a,b\nu,2,0.5\nv,1,1.5\nu,4,0.25\n"))
	for _, name := range []string{"csv", "separation"} {
		program := func(args ...string) string {
			args = append(args, fractions)
			if name == "csv" {
				args = append(args, filepath.Join(dir, "k.safetensors"))
			}
			out, _ := exec.Command(filepath.Join(dir, name), args...).CombinedOutput()
			return string(out)
		}
		if out := program("--drop", "k"); !strings.Contains(out, "--label COLUMN takes another column") {
			t.Errorf("%s: %s", name, out)
		}
		if out := program("--label", "nose"); !strings.Contains(out, `--label: no column "nose"`) {
			t.Errorf("%s: %s", name, out)
		}
	}
}

func write(t *testing.T, name string, data []byte) string {
	t.Helper()
	if err := os.WriteFile(name, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// table writes three clouds of points with names.
func table(t *testing.T, dir string) string {
	var b strings.Builder
	random := num.NewRand(1, 0)
	x := make([]float32, 4)
	for i := range 300 {
		random.Normal(x)
		for j, v := range x {
			fmt.Fprintf(&b, "%.3f,", v+float32(3*((i+j)%3)))
		}
		b.WriteString([]string{"setosa", "versicolor", "virginica"}[i%3] + "\n")
	}
	return write(t, filepath.Join(dir, "table.csv"), []byte(b.String()))
}

// digit writes a model of named digits, and the image of an eight that it has learnt, twice as large.
func digit(t *testing.T, dir string) []string {
	names := []string{"zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine"}
	data, err := dataset.New("digits", dataset.Digits(1, 0, 1000), nil, names)
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	config, err := dpn.Preset("compact")
	if err != nil {
		t.Fatal(err)
	}
	config.Dim, config.Batch, config.Epochs = 32, 32, 4
	model, err := dpn.New(config, data)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := model.Fit(context.Background(), e, data.Train, dpn.FitOptions{}); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "digits.safetensors")
	if err := model.Save(file); err != nil {
		t.Fatal(err)
	}
	classes, err := model.Predict(context.Background(), e, data.Train)
	if err != nil {
		t.Fatal(err)
	}
	for i, y := range data.Train.Labels {
		if y != 8 || classes[i] != 8 {
			continue
		}
		large, err := data.Train.Slice(i, i+1).Resize(56, 56)
		if err != nil {
			t.Fatal(err)
		}
		f, err := os.Create(filepath.Join(dir, "eight.png"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		grey := &image.Gray{Pix: large.Pixels, Stride: 56, Rect: image.Rect(0, 0, 56, 56)}
		if err := png.Encode(f, grey); err != nil {
			t.Fatal(err)
		}
		return []string{file, f.Name()}
	}
	t.Fatal("the model knows no eight")
	return nil
}

// features writes three layers of two classes around 0 and 8, whose deviations are halved from layer
// to layer.
func features(t *testing.T, dir string) (names []string) {
	const n = 200
	noise := make([]float32, 2*n)
	num.NewRand(2, 0).Normal(noise)
	for layer := range 3 {
		var b strings.Builder
		b.WriteString("first,second,label\n")
		for i := range n {
			at := func(j int) float32 { return float32(8*(i%2)) + noise[2*i+j]/float32(int(1)<<layer) }
			fmt.Fprintf(&b, "%v,%v,%s\n", at(0), at(1), []string{"even", "odd"}[i%2])
		}
		names = append(names, write(t, filepath.Join(dir, fmt.Sprintf("layer%d.csv", layer)), []byte(b.String())))
	}
	return names
}
