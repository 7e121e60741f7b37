package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/safetensors"
	"dpnbench/engine/num"
	"dpnbench/internal/longtest"
)

// flowers writes a table of n rows of two features, with three classes whose names are not easy, if it is labelled. The
// rows of another n are others.
func flowers(t *testing.T, path string, n int, labelled bool) {
	t.Helper()
	text, z := "width,height", make([]float32, 2*n)
	num.NewRand(uint64(n), 0).Normal(z)
	if labelled {
		text += ",class"
	}
	for i := range n {
		y := i % 3
		text += fmt.Sprintf("\n%.4f,%.4f", 3*float32(y)+z[2*i], z[2*i+1]-2*float32(y%2))
		if labelled {
			text += "," + []string{"=SUM(A1)", "-7", `"a ""rose"""`}[y]
		}
	}
	write(t, path, []byte(text+"\n"))
}

// rowsOf parses a table.
func rowsOf(t *testing.T, text string) [][]string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// column returns a column without its head.
func column(t *testing.T, rows [][]string, name string) []string {
	t.Helper()
	at := slices.Index(rows[0], name)
	if at < 0 {
		t.Fatalf("no column %q in %q", name, rows[0])
	}
	var cells []string
	for _, r := range rows[1:] {
		cells = append(cells, r[at])
	}
	return cells
}

// withInput runs a command line that must succeed with a file as its standard input, and returns its output.
func withInput(t *testing.T, path string, args ...string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	old := os.Stdin
	defer func() { os.Stdin = old }()
	os.Stdin = f
	return succeed(t, with(args, "--quiet")...)
}

// TestPredictTable classifies the rows of tables with and without labels.
func TestPredictTable(t *testing.T) {
	longtest.Native(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	flowers(t, in("train.csv"), 300, true)
	flowers(t, in("new.csv"), 90, true)
	flowers(t, in("plain.csv"), 90, false)
	model := filepath.Join(in("run"), dpn.ModelFile)
	succeed(t, "train", "--preset", "compact", "--extractor", "identity", "--components", "3", "--epochs", "20",
		"--batch", "16", "--lr", "0.01", "--val-size", "60", "--data", in("train.csv"), "--out", in("run"), "--quiet")
	predict := func(args ...string) string {
		t.Helper()
		return succeed(t, with([]string{"predict", "--model", model, "--quiet"}, args...)...)
	}

	out, text := in("p.csv"), ""
	summary := predict("--data", in("new.csv"), "--out", out, "--json", in("p.json"))
	if b, err := os.ReadFile(out); err != nil {
		t.Fatal(err)
	} else {
		text = string(b)
	}
	rows := rowsOf(t, text)
	if want := `sample class label unknown potential p_-7 p_=SUM(A1) p_a "rose"`; strings.Join(rows[0], " ") != want {
		t.Errorf("columns %q, want %s", rows[0], want)
	}
	classes, labels, unknown := column(t, rows, "class"), column(t, rows, "label"), column(t, rows, "unknown")
	var r predictResult
	load(t, in("p.json"), &r)
	right, refused := 0, 0
	for i, p := range r.Predictions {
		if classes[i] == labels[i] {
			right++
		}
		if *p.Unknown {
			refused++
		}
		sum := 0.0
		for y, v := range p.Probabilities {
			sum += float64(v)
			if cell := rows[i+1][5+y]; cell != shortest(v) {
				t.Fatalf("row %d: probability %s, in the JSON %v", i, cell, v)
			}
		}
		if p.Index != i || classes[i] != sheetText(p.Class) || labels[i] != sheetText(*p.Label) ||
			unknown[i] != strconv.FormatBool(*p.Unknown) || !(sum > 0.99999 && sum < 1.00001) {
			t.Fatalf("row %d: %q, in the JSON %+v", i, rows[i+1], p)
		}
	}
	if len(classes) != 90 || r.Samples != 90 || right < 50 || *r.Accuracy != float64(right)/90 ||
		*r.Unknown != refused || refused > 15 {
		t.Errorf("%d rows, %d right, %d unknown; JSON: %d, %v, %d", len(classes), right, refused, r.Samples,
			*r.Accuracy, *r.Unknown)
	}
	want := fmt.Sprintf(": 90   accuracy %.2f%%   %d look unknown", 100*float64(right)/90, refused)
	if !strings.Contains(summary, want) {
		t.Errorf("printed %q, want %s", summary, want)
	}
	if !slices.Contains(classes, "'=SUM(A1)") || !slices.Contains(classes, "-7") {
		t.Errorf("classes %q", classes)
	}

	plain := predict(in("plain.csv"))
	for i, row := range rowsOf(t, plain) {
		if !slices.Equal(row, slices.Delete(slices.Clone(rows[i]), 2, 3)) {
			t.Fatalf("without labels row %d is %q, with them %q", i, row, rows[i])
		}
	}
	succeed(t, "train", "--preset", "compact", "--extractor", "identity", "--components", "3", "--epochs", "1",
		"--data", in("train.csv"), "--out", in("other"), "--quiet")
	other := filepath.Join(in("other"), dpn.ModelFile)
	if got := predict(in("plain.csv"), "--with", model, "--with", other); got == plain ||
		!slices.Equal(column(t, rowsOf(t, got), "potential"), column(t, rowsOf(t, plain), "potential")) {
		t.Errorf("with another model:\n%s\nwithout:\n%s", got, plain)
	}
	twin, err := dpn.Load(model) // the same network with another number of steps
	if err != nil {
		t.Fatal(err)
	}
	twin.Config.Steps++
	if err := twin.Save(in("twin.safetensors")); err != nil {
		t.Fatal(err)
	}
	if predict(in("plain.csv"), "--steps", "2", "--with", in("twin.safetensors")) !=
		predict(in("plain.csv"), "--steps", "2", "--with", model) {
		t.Error("--steps does not reach the model of --with")
	}
	if got := predict(in("plain.csv"), "--threads", "1"); got != plain {
		t.Error("one thread predicts other numbers")
	}
	if got := withInput(t, in("plain.csv"), "predict", "--model", model, "--data", "-"); got != plain {
		t.Errorf("standard input: %q", got)
	}
	func() { // what it reads is not replaced
		f, err := os.Open(in("plain.csv"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		defer func(old *os.File) { os.Stdin = old }(os.Stdin)
		os.Stdin = f
		fails(t, []string{"predict", "--model", model, "--data", "-", "--out", in("plain.csv")},
			"--out "+in("plain.csv"), "standard input")
	}()
	for i, row := range rowsOf(t, predict(in("plain.csv"), "--top", "2"))[1:] {
		p := slices.Clone(r.Predictions[i].Probabilities)
		slices.Sort(p)
		if row[1] != classes[i] || row[4] != classes[i] || row[5] != shortest(p[2]) || row[7] != shortest(p[1]) {
			t.Fatalf("row %d of the top 2: %q, probabilities %v", i, row, p)
		}
	}
	predictWrong(t, dir, model)
	predictOld(t, dir, model, rows)
}

// predictWrong gives predict what cannot be classified.
func predictWrong(t *testing.T, dir, model string) {
	in := func(name string) string { return filepath.Join(dir, name) }
	flowers(t, in("precious.csv"), 6, true)
	before, err := os.ReadFile(in("precious.csv"))
	if err != nil {
		t.Fatal(err)
	}
	write(t, in("bad.csv"), []byte("width,height\n1,2\n1,x\n"))
	write(t, in("nan.csv"), []byte("width,height\n1,nan\n"))
	write(t, in("wide.csv"), []byte("1,2,3,4\n"))
	write(t, in("other.csv"), []byte("height,length\n1,2\n"))
	write(t, in("class.csv"), []byte("1,2,iris\n"))
	write(t, in("empty.csv"), nil)
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"--data", in("bad.csv")}, []string{"--data", in("bad.csv"), "line 3, column 2"}},
		{[]string{"--data", in("nan.csv")}, []string{"--data", in("nan.csv"), "line 2, column 2"}},
		{[]string{"--data", in("wide.csv")}, []string{"--data", in("wide.csv"), "4 columns, expected the 2 numbers"}},
		{[]string{"--data", in("other.csv")}, []string{"--data", `no column "width", a feature of the model`}},
		{[]string{"--data", in("class.csv")}, []string{"--data", in("class.csv"), `label "iris" of line 1`,
			"label none"}},
		{[]string{"--data", in("empty.csv")}, []string{"--data", in("empty.csv")}},
		{[]string{"--data", in("none.csv")}, []string{"--data", in("none.csv")}},
		{[]string{"--data", "digits"}, []string{"--data digits", "2 features"}},
		{[]string{in("bad.csv"), in("wide.csv")}, []string{in("bad.csv"), "expected images"}},
		// No error names a flag that was not given, or a file twice.
		{[]string{in("wide.csv")}, []string{"dpnbench: " + in("wide.csv") + ": 4 columns"}},
		{[]string{in("none.csv")}, []string{"dpnbench: no file or folder " + in("none.csv")}},
		{[]string{"digits"}, []string{"dpnbench: digits", "2 features"}},
		{[]string{in("precious.csv"), "--label", "x"}, []string{"dpnbench: " + in("precious.csv") + ": --label"}},
		{[]string{in("precious.csv"), "--out", in("precious.csv")}, []string{": is the input " + in("precious.csv") +
			";"}},
		{[]string{"--data", in("precious.csv"), "--out", in("precious.csv")}, []string{": is the input of --data " +
			in("precious.csv") + ";"}},
		{[]string{in("precious.csv"), "--out", in("precious.csv")}, []string{"--out " + in("precious.csv"), "input"}},
		{[]string{in("precious.csv"), "--out", model}, []string{"--out " + model, "is the input --model"}},
		{[]string{in("precious.csv"), "--out", in("x"), "--json", in("x")}, []string{"--out"}},
		{[]string{"--out", in("train.csv")}, []string{"--out " + in("train.csv"), "input"}},
		{[]string{in("precious.csv"), "--top", "4"}, []string{"--top 4: expected 1 to 3"}},
		{[]string{in("precious.csv"), "--top", "-1"}, []string{"--top -1"}},
		{[]string{in("precious.csv"), "--format", "xls"}, []string{"xls"}},
		{[]string{in("precious.csv"), "--label", "4"}, []string{"no column"}},
		{[]string{"--label", "none"}, []string{"--label none: only with --data or files"}},
		{[]string{""}, []string{"dpnbench: predict: expected files"}},
	} {
		fails(t, with([]string{"predict", "--model", model}, c.args...), c.want...)
	}
	if after, err := os.ReadFile(in("precious.csv")); err != nil || string(after) != string(before) {
		t.Errorf("the input has changed (%v)", err)
	}
}

// predictOld classifies by a model without a threshold: it is measured on the validation samples, if they can be had.
// Otherwise a line says why the column is empty.
func predictOld(t *testing.T, dir, model string, rows [][]string) {
	f, err := safetensors.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	if f.Metadata["unknown_below"] == "" {
		t.Fatal("the model has no threshold")
	}
	delete(f.Metadata, "unknown_below")
	old := filepath.Join(dir, "run", "old.safetensors")
	if err := safetensors.WriteFile(old, f); err != nil {
		t.Fatal(err)
	}
	data, train := filepath.Join(dir, "new.csv"), filepath.Join(dir, "train.csv")
	if got := rowsOf(t, succeed(t, "predict", "--model", old, "--quiet", data)); !slices.EqualFunc(got, rows,
		slices.Equal[[]string]) {
		t.Errorf("a threshold that was measured again gives other rows: %q", got[:3])
	}
	empty := func(reason string) {
		t.Helper()
		out, errs, status := dpnbench(t, "predict", "--model", old, "--quiet", data)
		if status != exitDone || !strings.HasPrefix(errs, "unknown: left empty, because "+old) ||
			!strings.Contains(errs, reason) || strings.Count(errs, "\n") != 1 {
			t.Errorf("status %d, standard error %q, want %s", status, errs, reason)
		}
		for _, cell := range column(t, rowsOf(t, out), "unknown") {
			if cell != "" {
				t.Errorf("%s: column unknown %q", reason, cell)
			}
		}
	}
	content, err := os.ReadFile(train)
	if err != nil {
		t.Fatal(err)
	}
	first := bytes.Index(content, []byte("\n")) + 1
	write(t, train, slices.Insert(content, first, []byte("0,0,-7\n")...))
	empty("other samples")
	if err := os.Remove(train); err != nil {
		t.Fatal(err)
	}
	empty("cannot be had")
}

// TestPredictImages classifies image files: those of a data set like the data set itself.
func TestPredictImages(t *testing.T) {
	dir := t.TempDir()
	data, out := filepath.Join(dir, "data"), filepath.Join(dir, "out")
	for _, d := range []string{data, filepath.Join(dir, "x")} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	idx(t, data, 120)
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--quiet")...)
	predict := []string{"predict", "--model", filepath.Join(out, dpn.ModelFile), "--quiet"}
	want := rowsOf(t, succeed(t, predict...))
	if len(want) != 121 || want[0][2] != "label" {
		t.Fatalf("%d rows, %q", len(want), want[0])
	}
	d, err := source.Open(data, source.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for i := range 3 {
		x := image.NewGray(image.Rect(0, 0, 4, 4))
		for p, v := range d.Test.Image(i) {
			x.SetGray(p%4, p/4, color.Gray{Y: v})
		}
		name := filepath.Join(dir, "x", fmt.Sprintf("%d\x1b[31m.png", i))
		f, err := os.Create(name)
		if err != nil && runtime.GOOS == "windows" {
			t.Skip("Windows has no names with control characters")
		}
		if err != nil {
			t.Fatal(err)
		}
		if err := png.Encode(f, x); err != nil {
			t.Fatal(err)
		}
		f.Close()
		names = append(names, name)
	}
	check := func(text string, quoted bool, names ...string) {
		t.Helper()
		rows := rowsOf(t, text)
		for i, name := range names {
			if quoted {
				name = strings.ReplaceAll(name, "\x1b", `\x1b`)
			}
			expected := slices.Delete(slices.Clone(want[i+1]), 2, 3)
			if expected[0] = name; !slices.Equal(rows[i+1], expected) {
				t.Errorf("image %d: %q, want %q", i, rows[i+1], expected)
			}
		}
		if len(rows) != len(names)+1 {
			t.Errorf("%d rows for %d images", len(rows), len(names))
		}
	}
	check(succeed(t, with(predict, names[0])...), true, names[0])
	check(succeed(t, with(predict, "--data", names[0], "--data", names[1], names[2])...), true, names...)
	file := filepath.Join(dir, "p.csv")
	printed := succeed(t, with(predict, "--data", filepath.Join(dir, "x"), "--out", file)...)
	if !strings.Contains(printed, ": 3   ") {
		t.Errorf("printed %q", printed)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	check(string(b), false, names...)
	broken := filepath.Join(dir, "broken.png")
	write(t, broken, []byte("no image"))
	fails(t, with(predict, broken), "dpnbench: "+broken, "expected an image in PNG")
	fails(t, with(predict, "--data", broken), "dpnbench: --data: "+broken)
	fails(t, with(predict, names[1], broken), broken, "1 of 2 files")
	fails(t, with(predict, "--data", names[1], "--label", "3"), "dpnbench: --label: ")
}

// TestSheetText checks which names get an apostrophe.
func TestSheetText(t *testing.T) {
	for name, want := range map[string]string{"": "", "a": "a", "-7": "-7", "+1.5": "+1.5", "=1": "'=1", "-a": "'-a",
		"@x": "'@x", "\tx": "'\tx", "＝1": "'＝1", "a=b": "a=b", "'=1": "'=1", "-1+2": "'-1+2"} {
		if got := sheetText(name); got != want {
			t.Errorf("%q becomes %q, want %q", name, got, want)
		}
	}
}
