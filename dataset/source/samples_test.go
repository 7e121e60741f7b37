package source

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
)

// writeGrey writes a grey image of which every level is v.
func writeGrey(t *testing.T, path string, rows, cols int, v byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	x := image.NewGray(image.Rect(0, 0, cols, rows))
	for r := range rows {
		for c := range cols {
			x.SetGray(c, r, color.Gray{Y: v})
		}
	}
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, x); err != nil {
		t.Fatal(err)
	}
}

// TestOpenSamples opens everything that a model may be asked about.
func TestOpenSamples(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"plain.csv": "1,2\n3,4\n", "named.csv": "a,b\n1,2\n3,4\n", "labels.csv": "a,class,b\n1,x,2\n3,z,4\n",
		"last.csv": "1,2,z\n3,4,x\n", "index.csv": ",a,b\n0,1,2\n1,3,4\n", "classes.csv": "class,b\n1,2\n3,4\n",
		"wide.csv": "1,2,3,4\n", "class.csv": "a,b,c,class\n1,2,3,x\n",
		"bad.csv": "1,2\n3,x\n", "other.csv": "1,2,o\n", "pair/train.csv": "9,9,x\n",
		"pair/test.csv": "1,2,x\n3,4,z\n", "levels.csv": "1,1,1,1\n2,2,2,2\n",
	} {
		if err := os.MkdirAll(filepath.Dir(in(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	writeGrey(t, in("one.png"), 2, 2, 1)
	writeGrey(t, in("two.png"), 6, 4, 2)
	writeGrey(t, in("photos/x/1.png"), 2, 2, 1)
	writeGrey(t, in("photos/z/2.png"), 4, 4, 2)
	writeGrey(t, in("splits/train/x/9.png"), 2, 2, 9)
	writeGrey(t, in("splits/test/z/1.png"), 2, 2, 1)
	writeGrey(t, in("splits/test/x/2.png"), 2, 2, 2)
	vector, square := dataset.Vector(2), dataset.Grey(2, 2)
	for _, c := range []struct {
		specs  string
		in     string // standard input, if not two rows
		label  string
		format string
		shape  dataset.Shape
		labels string // "" without
		names  string
		before string // what a note says that images were converted from
		err    string
	}{
		{specs: "plain.csv", shape: vector},
		{specs: "named.csv", shape: vector},
		{specs: "index.csv", shape: vector},
		{specs: "classes.csv", shape: vector}, // of two columns none is a label
		{specs: "labels.csv", shape: vector, labels: "[0 1]"},
		{specs: "labels.csv", label: "2", shape: vector, labels: "[0 1]"},
		{specs: "last.csv", shape: vector, labels: "[1 0]"},
		{specs: "pair", shape: vector, labels: "[0 1]"},
		{specs: "-", shape: vector, labels: "[1 0]"},
		{specs: "levels.csv", shape: square},
		{specs: "one.png two.png", shape: square, names: "one.png two.png", before: "various shapes"},
		{specs: "two.png", shape: dataset.Shape{Rows: 3, Cols: 3, Channels: 3}, names: "two.png", before: "6 x 4 grey"},
		{specs: "one.png", shape: square, names: "one.png"},
		{specs: "photos", shape: square, labels: "[0 1]", names: "photos/x/1.png photos/z/2.png",
			before: "various shapes"},
		{specs: "photos", label: "none", shape: square, names: "photos/x/1.png photos/z/2.png",
			before: "various shapes"},
		{specs: "photos one.png", shape: square, names: "photos/x/1.png photos/z/2.png one.png",
			before: "various shapes"},
		{specs: "splits", shape: square, labels: "[1 0]", names: "splits/test/z/1.png splits/test/x/2.png"},

		{specs: "wide.csv", shape: vector, err: "wide.csv: 4 columns, expected the 2 numbers of a sample of the model"},
		{specs: "class.csv", shape: vector, err: "class.csv: 3 columns of numbers, expected the 2 of a sample"},
		{specs: "class.csv", shape: square, err: `class.csv: line 2, column 4 ("class")`},
		{specs: "bad.csv", shape: vector, err: "bad.csv: line 2, column 2"},
		{specs: "other.csv", shape: vector, err: `label "o" of line 1 is none of the 2 classes ("x", "z")`},
		{specs: "none.csv", shape: vector, err: "none.csv"},
		{specs: "none.csv one.png", shape: square, err: "none.csv: no such file"},
		{specs: "one.png plain.csv", shape: square, err: "plain.csv: format csv: expected images"},
		{specs: "one.png none.png", shape: square, err: "none.png: no such file"},
		{specs: "one.png -", shape: square, err: "standard input: expected no other data"},
		{specs: "digits mnist", shape: square, err: "digits: a data set with a name, expected no other data beside it"},
		{specs: "one.png fashion-mnist", shape: square,
			err: "fashion-mnist: a data set with a name, expected no other"},
		{specs: "mnist-c:x one.png", shape: square, err: "mnist-c:x: a data set with a name, expected no other data"},
		{specs: "-", in: "\x89PNG\r\n", shape: square, err: "standard input: expected a table, not an image"},
		{specs: "-", in: "PK\x03\x04", shape: vector, err: "standard input: expected a table, not an image or arrays"},
		{specs: "-", format: "npz", shape: vector, err: "--format npz: standard input is a table, expected csv"},
		{specs: "-", format: "csv", shape: vector, labels: "[1 0]"},
		{specs: "wide.csv", shape: dataset.Grey(3, 3), err: "4 columns, expected the 9 numbers"},
	} {
		var specs []string
		for _, s := range strings.Fields(c.specs) {
			if s != Standard && !hasName(s) {
				s = in(s)
			}
			specs = append(specs, s)
		}
		in := strings.NewReader(cmp.Or(c.in, "1,2,z\n3,4,x\n"))
		d, names, err := OpenSamples(context.Background(), specs, in, c.shape,
			Options{Classes: []string{"x", "z"}, Label: c.label, Format: c.format})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n") ||
				strings.HasPrefix(err.Error(), "stat ") {
				t.Errorf("%s: error %v, want %s", c.specs, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.specs, err)
			continue
		}
		for i := range names {
			names[i] = filepath.ToSlash(strings.TrimPrefix(names[i], dir+string(filepath.Separator)))
		}
		labels := ""
		if d.Test.Labelled() {
			labels = fmt.Sprint(d.Test.Labels)
		}
		if d.Test.Shape != c.shape || labels != c.labels || strings.Join(names, " ") != c.names {
			t.Errorf("%s: %v, labels %q, names %q", c.specs, d.Test.Shape, labels, names)
		}
		want := ""
		if c.before != "" {
			want = fmt.Sprintf("images converted from %s to %v", c.before, c.shape)
		}
		if got := strings.Join(d.Notes, "; "); got != want && c.shape.IsImage() {
			t.Errorf("%s: notes %q, want %q", c.specs, got, want)
		}
		if c.shape == vector && !slices.Equal(d.Test.Values, []float32{1, 2, 3, 4}) {
			t.Errorf("%s: values %v", c.specs, d.Test.Values)
		}
		if c.shape == square && (d.Test.Pixels[0] != 1 || d.Test.Len() > 1 && d.Test.Pixels[4] != 2) {
			t.Errorf("%s: levels %v", c.specs, d.Test.Pixels)
		}
	}
}

// TestOpenOther opens samples of another kind: whole, unless they have test samples, converted as for predict, and
// whatever their labels are.
func TestOpenOther(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	for name, text := range map[string]string{
		"plain.csv": "1,2\n3,4\n", "regression.csv": "1,2,0.5\n3,4,1.5\n", "empty.csv": "b,class,a\n2,,1\n4,,3\n",
		"guessed.csv": "b,a,kind\n2,1,0.5\n4,3,\n", "pair/train.csv": "9,9,x\n8,8,x\n7,7,z\n",
		"pair/test.csv": "1,2,x\n3,4,o\n5,6,o\n", "wide.csv": "1,2,3,4\n", "part.csv": "a,class\n1,x\n",
	} {
		if err := os.MkdirAll(filepath.Dir(in(name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(in(name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"flat/1.png", "only/test/1.png", "splits/test/o/1.png"} {
		writeGrey(t, in(file), 2, 2, 1)
		writeGrey(t, in(strings.Replace(file, "1.png", "2.png", 1)), 4, 6, 2)
	}
	for _, file := range []string{"same/1.png", "splits/train/x/9.png"} {
		writeGrey(t, in(file), 6, 4, 9)
	}
	square, vector := dataset.Grey(2, 2), dataset.Vector(2)
	for _, c := range []struct {
		spec   string
		shape  dataset.Shape
		train  int
		values string
		before string
		err    string
	}{
		{spec: "plain.csv", shape: vector, values: "[1 2 3 4]"},
		{spec: "regression.csv", shape: vector, values: "[1 2 3 4]"},
		{spec: "empty.csv", shape: vector, values: "[1 2 3 4]"},
		{spec: "guessed.csv", shape: vector, values: "[1 2 3 4]"},
		{spec: "pair", shape: vector, train: 1, values: "[1 2 3 4]"},
		{spec: "flat", shape: square, values: "[1 1 1 1 2 2 2 2]", before: "various shapes"},
		{spec: "only", shape: square, values: "[1 1 1 1 2 2 2 2]", before: "various shapes"},
		{spec: "splits", shape: square, train: 1, values: "[1 1 1 1 2 2 2 2]", before: "various shapes"},
		{spec: "same", shape: square, values: "[9 9 9 9]", before: "6 x 4 grey"},
		{spec: "same", shape: dataset.Grey(6, 4), values: "[9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9 9]"},
		{spec: "same", shape: dataset.RGB(1, 1), values: "[9 9 9]", before: "6 x 4 grey"},
		{spec: "wide.csv", shape: vector, err: "wide.csv: 4 columns, expected the 2 numbers"},
		{spec: "part.csv", shape: vector, err: `no column "b", a feature of the model`},
		{spec: "flat", shape: vector, err: "images, the model expects vectors"},
		{spec: "none", shape: vector, err: "none"},
	} {
		d, before, err := OpenOther(context.Background(), in(c.spec), c.shape,
			Options{Classes: []string{"x", "z"}, Features: []string{"a", "b"}, TrainSize: 1, TestSize: 2})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "--size") {
				t.Errorf("%s: error %v, want %s", c.spec, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", c.spec, err)
			continue
		}
		got, train := fmt.Sprint(d.Test.Values), 0
		if c.shape.IsImage() {
			got = fmt.Sprint(d.Test.Pixels)
		}
		if d.Train != nil {
			train = d.Train.Len()
		}
		if got != c.values || train != c.train || before != c.before || d.Test.Labelled() || d.Check() != nil {
			t.Errorf("%s: %s, %d training samples, before %q, labelled %v, %v", c.spec, got, train, before,
				d.Test.Labelled(), d.Check())
		}
	}
	d, before, err := OpenOther(context.Background(), "digits", dataset.Grey(7, 7), Options{TrainSize: 5, TestSize: 3})
	if err != nil || d.Train.Len() != 5 || d.Test.Len() != 3 || d.Test.Shape != dataset.Grey(7, 7) ||
		d.Test.Labelled() || before != "28 x 28 grey" {
		t.Errorf("digits: %+v, before %q, %v", d, before, err)
	}
}

// TestAnySplit opens what has only one split, also MNIST's files, of which some are missing.
func TestAnySplit(t *testing.T) {
	dir := t.TempDir()
	images := []byte{0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 5, 6}
	write(t, dir, "t10k-images-idx3-ubyte", images)
	writeGrey(t, filepath.Join(dir, "photos/test/1.png"), 1, 1, 5)
	writeGrey(t, filepath.Join(dir, "photos/test/2.png"), 1, 1, 6)
	for _, spec := range []string{dir, filepath.Join(dir, "photos")} {
		if _, err := Open(spec, Options{}); err == nil {
			t.Errorf("%s: no error without AnySplit", spec)
		}
		d, err := Open(spec, Options{AnySplit: true})
		if err != nil || d.Train != nil || !slices.Equal(d.Test.Pixels, []byte{5, 6}) {
			t.Errorf("%s: %+v, %v", spec, d, err)
		}
		d, _, err = OpenSamples(context.Background(), []string{spec}, nil, dataset.Grey(1, 1), Options{})
		if err != nil || !slices.Equal(d.Test.Pixels, []byte{5, 6}) {
			t.Errorf("%s for a model: %+v, %v", spec, d, err)
		}
	}
	write(t, dir, "train-images-idx3-ubyte", []byte("broken: not read beside test samples"))
	d, _, err := OpenSamples(context.Background(), []string{dir}, nil, dataset.Grey(1, 1), Options{})
	if err != nil || !slices.Equal(d.Test.Pixels, []byte{5, 6}) {
		t.Errorf("test samples beside broken training samples: %+v, %v", d, err)
	}
	d, err = Open(filepath.Join(dir, "photos/test"), Options{AnySplit: true, TestShare: 1})
	if err != nil || d.Train != nil || d.Test.Len() != 2 {
		t.Errorf("a share of 1: %+v, %v", d, err)
	}
	if _, err := Open(filepath.Join(dir, "photos/test"), Options{TestOnly: true}); !errors.As(err, new(*NoTestError)) {
		t.Errorf("no test samples: %v", err)
	}
	labels := t.TempDir()
	write(t, labels, "t10k-labels-idx1-ubyte", []byte{0, 0, 8, 1, 0, 0, 0, 2, 5, 6})
	for _, label := range []string{"", noLabel} {
		if _, _, err := OpenSamples(context.Background(), []string{labels}, nil, dataset.Grey(1, 1),
			Options{Label: label}); err == nil {
			t.Errorf("label %q: samples of a folder with labels only", label)
		}
	}
}

// TestIsIDX checks which names are those of IDX files.
func TestIsIDX(t *testing.T) {
	for name, want := range map[string]bool{"train-images-idx3-ubyte": true, "train-images.idx3-ubyte.gz": true,
		"x.idx": true, "Y-IDX1": true, "w.idx2-float32": true, "labels.ubyte": true, "sample-idx.csv": false,
		"scan-idx7.png": false, "class-idx.json": false, "y.idx.npy": false, "idx3": false} {
		if isIDX(name) != want {
			t.Errorf("%s: %v, want %v", name, !want, want)
		}
	}
}

// TestSwappedPair reads images as labels: it ends at the first row, whatever the size of the array.
func TestSwappedPair(t *testing.T) {
	dir := t.TempDir()
	x := write(t, dir, "images.npy", npy("<u1", "(2, 2, 2)", []byte{1, 2, 3, 4, 5, 6, 7, 8}))
	y := write(t, dir, "y.npy", npy("<i4", "(2,)", []int32{0, 1}))
	want := "images.npy: row 0 (counted from 0): expected one label a row, or a 1 among zeros"
	if _, err := Open(y+","+x, Options{}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
