package source

import (
	"cmp"
	"context"
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
		shape  dataset.Shape
		labels string // "" without
		names  string
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
		{specs: "one.png two.png", shape: square, names: "one.png two.png"},
		{specs: "two.png", shape: dataset.Shape{Rows: 3, Cols: 3, Channels: 3}, names: "two.png"},
		{specs: "photos", shape: square, labels: "[0 1]", names: "photos/x/1.png photos/z/2.png"},
		{specs: "photos", label: "none", shape: square, names: "photos/x/1.png photos/z/2.png"},
		{specs: "photos one.png", shape: square, names: "photos/x/1.png photos/z/2.png one.png"},
		{specs: "splits", shape: square, labels: "[1 0]", names: "splits/test/z/1.png splits/test/x/2.png"},

		{specs: "wide.csv", shape: vector, err: "wide.csv: 4 columns, expected the 2 numbers of a sample of the model"},
		{specs: "class.csv", shape: vector, err: "class.csv: 3 columns of numbers, expected the 2 of a sample"},
		{specs: "class.csv", shape: square, err: `class.csv: line 2, column 4 ("class")`},
		{specs: "bad.csv", shape: vector, err: "bad.csv: line 2, column 2"},
		{specs: "other.csv", shape: vector, err: `label "o" of sample 0 is none of the 2 classes ("x", "z")`},
		{specs: "none.csv", shape: vector, err: "none.csv"},
		{specs: "one.png plain.csv", shape: square, err: "plain.csv: format csv: expected images"},
		{specs: "one.png none.png", shape: square, err: "none.png"},
		{specs: "one.png -", shape: square, err: "standard input: expected no other data"},
		{specs: "-", in: "\x89PNG\r\n", shape: square, err: "standard input: expected a table, not an image"},
		{specs: "-", in: "PK\x03\x04", shape: vector, err: "standard input: expected a table, not an image or arrays"},
		{specs: "wide.csv", shape: dataset.Grey(3, 3), err: "4 columns, expected the 9 numbers"},
	} {
		var specs []string
		for _, s := range strings.Fields(c.specs) {
			if s != Standard {
				s = in(s)
			}
			specs = append(specs, s)
		}
		in := strings.NewReader(cmp.Or(c.in, "1,2,z\n3,4,x\n"))
		d, names, err := OpenSamples(context.Background(), specs, in, c.shape,
			Options{Classes: []string{"x", "z"}, Label: c.label})
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n") {
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
		if c.shape == vector && !slices.Equal(d.Test.Values, []float32{1, 2, 3, 4}) {
			t.Errorf("%s: values %v", c.specs, d.Test.Values)
		}
		if c.shape == square && (d.Test.Pixels[0] != 1 || d.Test.Pixels[4] != 2) {
			t.Errorf("%s: levels %v", c.specs, d.Test.Pixels)
		}
	}
}
