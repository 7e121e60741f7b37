package source

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"dpnbench/dataset"
	"dpnbench/internal/longtest"
)

// Columns of a table that are left out, and those of a model, which are chosen by their names or else by their place.
func TestColumns(t *testing.T) {
	model := Options{Classes: []string{"u", "v"}, Features: []string{"a", "b"}, Shape: dataset.Vector(2)}
	plain := Options{Classes: model.Classes, Shape: model.Shape} // trained on a table without a header
	nameless := Options{Classes: model.Classes, Features: []string{"", "b", ""}, Shape: dataset.Vector(3)}
	spectrum := Options{Classes: model.Classes, Features: []string{"1100.5", "1102.5"}, Shape: dataset.Vector(2)}
	drop := func(opt Options, columns ...string) Options { opt.Drop = columns; return opt }
	ifThere := func(opt Options) Options { opt.DropIfThere = true; return opt }
	numbered := Options{Classes: []string{"7", "8"}, Shape: model.Shape}
	own := func(opt Options, column string) Options { opt.Label, opt.LabelIfThere = column, true; return opt }
	label := func(opt Options, column string) Options { opt.Label = column; return opt }
	for _, c := range []struct {
		name, text string
		opt        Options
		want       string // features, values and labels
		notes, err string
	}{
		// Without a model.
		{"by name", "when,a,id2,b,k\n2024-01-05,1,A7,2,u\n2024-02-06,3,B8,4,v\n", drop(Options{}, "when", "id2"),
			"[a b] [1 2 3 4] [0 1]", "", ""},
		{"by number", "2024-01-05,1,A7,2,u\n2024-02-06,3,B8,4,v\n", drop(Options{}, "1", "3"),
			"[] [1 2 3 4] [0 1]", "", ""},
		{"quoted cells", "a,b,note,k\n1,2,\"x, \"\"y\"\"\nz\",u\n3,4,,v\n", drop(Options{}, "note"),
			"[a b] [1 2 3 4] [0 1]", "", ""},
		{"the last one", "a,b,k,note\n1,2,u,x\n3,4,v,y\n", drop(Options{}, "note"), "[a b] [1 2 3 4] [0 1]", "", ""},
		{"a usual label", "class,a,b,k\n7,1,2,u\n8,3,4,v\n", drop(Options{}, "class"), "[a b] [1 2 3 4] [0 1]", "", ""},
		{"the most usual label", "x,y,label\n1,2,u\n3,4,v\n", Options{}, "[x y] [1 2 3 4] [0 1]", "", ""},
		{"numbers of rows", "id,a,b,k\n7,1,2,u\n8,3,4,v\n", Options{}, "[a b] [1 2 3 4] [0 1]",
			`left out: column "id": by its name it numbers the rows`, ""},
		{"numbers of rows behind a date", "when,id,a,b,k\nx,7,1,2,u\ny,8,3,4,v\n", drop(Options{}, "when"),
			"[a b] [1 2 3 4] [0 1]", `left out: column "id": by its name it numbers the rows`, ""},
		{"unknown", "a,b,k\n1,2,u\n", drop(Options{}, "c"), "", "",
			`--drop: no column "c": expected "a", "b", "k" or 1 to 3`},
		{"beyond", "a,b,k\n1,2,u\n", drop(Options{}, "4"), "", "", `--drop: no column "4"`},
		{"the label", "a,b,k\n1,2,u\n", drop(label(Options{}, "k"), "k"), "", "", `--label: column "k" is dropped`},
		{"a hint for dates", "when,a,k\n2024-01-05,1,u\n", Options{}, "", "",
			`line 2, column 1 ("when"): "2024-01-05": expected a number, as in all columns but "k" (--label COLUMN ` +
				"if another one holds the labels; --drop COLUMN leaves one out)"},
		{"a hint for a label", "species,a,b\nx,1,2\n", Options{}, "", "",
			`line 2, column 1 ("species"): "x": expected a number, as in all columns but "b" (--label COLUMN`},
		{"no hint for a label that was named", "when,a,k\n2024-01-05,1,u\n", label(Options{}, "k"), "", "",
			`as in all columns but "k" (--drop COLUMN`},
		{"a hint for empty cells", "a,b,k\n1,,u\n", Options{}, "", "",
			"an empty cell: expected a number (--drop COLUMN"},
		{"a cell, no name, to drop", "7.5,0,3,0\n6.5,2,2,1\n", drop(Options{}, "0"), "", "",
			`--drop: no column "0": expected 1 to 4`},
		{"a first cell to drop", "7.5,0,3,0\n6.5,2,2,1\n", drop(Options{}, "7.5"), "", "",
			`--drop: no column "7.5": expected 1 to 4`},
		{"a cell, no name, of labels", "7.5,0,3,0\n6.5,2,2,1\n", label(Options{}, "0"), "", "",
			`--label: no column "0": expected 1 to 4`},
		{"a class, no name, of labels", "1.5,2,y\n7,8,n\n", label(Options{}, "y"), "", "",
			`--label: no column "y": expected 1 to 3`},
		{"no header to list", "7.5,0,3,0\n6.5,2,2,1\n", drop(Options{}, "9"), "", "",
			`--drop: no column "9": expected 1 to 4`},
		{"no header to list, classes", "7,0,3,u\n6,2,2,v\n", label(Options{}, "9"), "", "",
			`--label: no column "9": expected 1 to 4`},
		{"counted names", "0,1,2,3\n9,1,2,7\n9,3,4,8\n", label(Options{}, "4"), "[0 1 2] [9 1 2 9 3 4] [0 1]", "", ""},
		{"a number and another name", "0,1,2,3\n9,1,2,7\n", label(Options{}, "3"), "", "",
			`--label: column 3 may be number 3 or the one called "3", for the first line counts from 0: expected`},
		{"names that are numbers", "0,5.5,7,label\n9,1,2,u\n9,3,4,v\n", drop(Options{}, "0"),
			"[5.5 7] [1 2 3 4] [0 1]", "", ""},
		{"names that are numbers, to drop and of labels", "0,5,7,k,9\n7,1,2,0,9\n8,3,4,0,9\n",
			drop(label(Options{}, "0"), "k", "9"), "[5 7] [1 2 3 4] [0 1]", "", ""},

		// For a model.
		{"another order", "b,k,a\n2,u,1\n4,v,3\n", model, "[a b] [1 2 3 4] [0 1]", "", ""},
		{"no labels", "b,a\n2,1\n4,3\n", model, "[a b] [1 2 3 4] []", "", ""},
		{"more columns", "when,b,id2,label,a\nx,2,7,u,1\ny,4,8,v,3\n", model, "[a b] [1 2 3 4] [0 1]",
			`left out: columns "when", "id2": the model has no feature of that name`, ""},
		{"the most usual label of a model", "b,y,a,label\n2,7,1,u\n4,8,3,v\n", model, "[a b] [1 2 3 4] [0 1]",
			`left out: column "y"`, ""},
		{"none of them labels", "when,b,a,note\nx,2,1,u\ny,4,3,v\n", model, "[a b] [1 2 3 4] []",
			`left out: columns "when", "note"`, ""},
		{"one that holds no labels", "when,b,a\nx,2,1\ny,4,3\n", model, "[a b] [1 2 3 4] []",
			`left out: column "when": the model`, ""},
		{"one that holds notes, some empty, one not in UTF-8", "note,b,a\nx,2,1\n,4,3\n\xff,4,3\n", model,
			"[a b] [1 2 3 4 3 4] []", `left out: column "note": the model`, ""},
		{"labels, one empty", "k,b,a\nu,2,1\n,4,3\n", model, "", "",
			`line 3, column "k": an empty cell: expected a label`},
		{"a dropped one", "when,b,a,k\nx,2,1,u\ny,4,3,v\n", drop(model, "when"), "[a b] [1 2 3 4] [0 1]", "", ""},
		{"without the dropped one", "b,a,k\n2,1,u\n4,3,v\n", ifThere(drop(model, "when")), "[a b] [1 2 3 4] [0 1]", "",
			""},
		{"no such column to drop", "b,a,k\n2,1,u\n4,3,v\n", drop(model, "when"), "", "", `--drop: no column "when"`},
		{"labels by name", "when,b,a,k\nx,2,1,u\ny,4,3,v\n", label(model, "k"), "[a b] [1 2 3 4] [0 1]",
			`left out: column "when"`, ""},
		{"labels none", "b,a,k\n2,1,u\n4,3,v\n", label(model, noLabel), "[a b] [1 2 3 4] []",
			`left out: column "k"`, ""},
		{"no header", "1,2,u\n3,4,v\n", model, "[] [1 2 3 4] [0 1]", "", ""},
		{"no header, dropped", "x,1,2,u\ny,3,4,v\n", drop(plain, "1"), "[] [1 2 3 4] [0 1]", "", ""},
		{"no header, no labels, dropped", "x,1,2\ny,3,4\n", drop(plain, "1"), "[] [1 2 3 4] []", "", ""},
		{"no header, the label of the model", "7,1,2\n8,3,4\n", own(numbered, "1"), "[] [1 2 3 4] [0 1]", "", ""},
		{"no header, the label of the model, a dropped one", "9,7,1,2\n9,8,3,4\n",
			ifThere(drop(own(numbered, "2"), "1")), "[] [1 2 3 4] [0 1]", "", ""},
		{"no header, without the label of the model", "1,2\n3,4\n", own(numbered, "1"), "[] [1 2 3 4] []", "", ""},
		{"no header, the name of a label", "1,2,7\n3,4,8\n", own(numbered, "k"), "[] [1 2 3 4] [0 1]", "", ""},
		{"no header, a cell like the label of the model", "9,1,7\n3,4,8\n", own(numbered, "9"),
			"[] [9 1 3 4] [0 1]", "", ""},
		{"no header, a cell like the dropped one", "9,2,7\n3,4,8\n", ifThere(drop(numbered, "9")),
			"[] [9 2 3 4] [0 1]", "", ""},
		{"a usual label, not where that of the model was", "a,b,label\n1,2,7\n3,4,8\n", own(numbered, "1"),
			"[a b] [1 2 3 4] [0 1]", "", ""},
		{"the name of the label of the model", "x,a,m,b\n7,1,u,2\n8,3,v,4\n", own(model, "m"), "[a b] [1 2 3 4] [0 1]",
			`left out: column "x"`, ""},
		{"the label of the model is now a feature", "a,b,x\n1,2,u\n3,4,v\n", own(model, "b"), "[a b] [1 2 3 4] [0 1]",
			"", ""},
		{"no header, a label or the dropped one", "1,2,7\n3,4,8\n", ifThere(drop(numbered, "1")), "", "",
			`3 columns are the 2 features of the model and either a label or what its training dropped ("1"): ` +
				"expected --drop none for the first, --label none for the second"},
		{"a header that names the dropped one", "k,p,q\n5,1,2\n6,3,4\n", ifThere(drop(numbered, "k")),
			"[p q] [1 2 3 4] []", "", ""},
		{"the label of the model without the dropped ones before it", "7,1,2\n8,3,4\n",
			ifThere(drop(own(numbered, "3"), "1", "2")), "[] [1 2 3 4] [0 1]", "", ""},
		{"no header, a label and no dropped one", "1,2,7\n3,4,8\n", ifThere(drop(label(numbered, "3"), "1")),
			"[] [1 2 3 4] [0 1]", "", ""},
		{"no header, the dropped one and no label", "7,1,2\n8,3,4\n", ifThere(drop(label(numbered, noLabel), "1")),
			"[] [1 2 3 4] []", "", ""},
		{"names with fractions", "1102.5,1100.5\n2,1\n4,3\n", spectrum, "[1100.5 1102.5] [1 2 3 4] []", "", ""},
		{"names with fractions, labels", "k,1102.5,1100.5\nu,2,1\nv,4,3\n", spectrum,
			"[1100.5 1102.5] [1 2 3 4] [0 1]", "", ""},
		{"names with fractions, usual labels", "1100.5,label,1102.5\n1,u,2\n3,v,4\n", spectrum,
			"[1100.5 1102.5] [1 2 3 4] [0 1]", "", ""},
		{"a name with a fraction, a text", "b,1.5\n2,1\n4,3\n", Options{Features: []string{"1.5", "b"},
			Shape: dataset.Vector(2)}, "[1.5 b] [1 2 3 4] []", "", ""},
		{"a sample with a name that is a number", "1100.5,2,u\n3,4,v\n", spectrum, "[] [1100.5 2 3 4] [0 1]", "", ""},
		{"a feature is missing", "a,c,k\n1,2,u\n", model, "", "",
			`no column "b", a feature of the model: found "a", "c", "k"`},
		{"columns without names", "k,,b,,\nu,0.5,2,1.5,7\nv,2.5,4,3.5,8\n", label(nameless, "k"),
			"[ b ] [0.5 2 1.5 2.5 4 3.5] [0 1]", `left out: column "5"`, ""},
		{"columns without names, in another order", "b,,k,\n2,0.5,u,1.5\n4,2.5,v,3.5\n", nameless,
			"[ b ] [0.5 2 1.5 2.5 4 3.5] [0 1]", "", ""},
		{"a column without a name is missing", "b,,k\n2,0.5,u\n", nameless, "", "",
			`no column "", a feature of the model: found "b", "", "k"`},
		{"other names", "c,d,k\n1,2,u\n", model, "", "", `feature 0 (counted from 0) is called "c", expected "a"`},
		{"a feature as labels", "a,b\n1,2\n", label(model, "b"), "", "",
			`--label: column "b" is a feature of the model`},
		{"a feature to drop", "b,a,k\n2,1,u\n", drop(model, "b"), "", "",
			`--drop: column "b" is a feature of the model`},
		{"a feature by the number of one that training dropped", "b,a,k\n2,1,u\n4,3,v\n", ifThere(drop(model, "1")),
			"[a b] [1 2 3 4] [0 1]", "", ""},
		{"a feature that is a text", "a,b,k\n1,x,u\n", model, "", "",
			`"x": expected a number, as in all columns but "k" (--label COLUMN if another one holds the labels)`},
		{"too many", "1,2,3,4,u\n", model, "", "", "5 columns, expected the 2 numbers of a sample of the model"},
		{"other labels", "a,b,k\n1,2,u\n3,4,w\n", model, "", "", `label "w" of line 3 is none of the 2 classes`},
	} {
		path := write(t, t.TempDir(), "x.csv", []byte(c.text))
		open := map[string]func() (*dataset.Data, error){
			"Open": func() (*dataset.Data, error) { return Open(path, c.opt) },
			"OpenSamples": func() (*dataset.Data, error) {
				d, _, err := OpenSamples(context.Background(), []string{path}, nil, c.opt.Shape, c.opt)
				return d, err
			},
		}
		if c.opt.Shape.Len() == 0 {
			delete(open, "OpenSamples")
		}
		for name, f := range open {
			d, err := f()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) || strings.Contains(err.Error(), "\n") {
					t.Errorf("%s, %s: %v, want %s", c.name, name, err, c.err)
				}
				continue
			}
			if err != nil {
				t.Errorf("%s, %s: %v", c.name, name, err)
				continue
			}
			s := d.Train
			if s == nil {
				s = d.Test
			}
			if got := text(d.Features) + " " + text(s.Values) + " " + text(s.Labels); got != c.want {
				t.Errorf("%s, %s: %s, want %s", c.name, name, got, c.want)
			}
			notes := strings.Join(d.Notes, "; ")
			if !strings.HasPrefix(notes, c.notes) || c.notes == "" && notes != "" {
				t.Errorf("%s, %s: notes %q, want %s", c.name, name, notes, c.notes)
			}
		}
	}
	if _, err := Open("digits", Options{Drop: []string{"1"}}); err == nil ||
		!strings.Contains(err.Error(), "no columns") {
		t.Errorf("columns of digits: %v", err)
	}
	x := write(t, t.TempDir(), "x.npy", npy("<f4", "(1, 2)", []float32{1, 2}))
	if _, _, err := OpenSamples(context.Background(), []string{x}, nil, dataset.Vector(2), Options{Label: "k"}); err ==
		nil || !strings.Contains(err.Error(), "--label: "+x+" has no columns") {
		t.Errorf("a column of an array: %v", err)
	}
	if names, err := Columns(`id, "a,b",3`); err != nil || text(names) != "[id a,b 3]" {
		t.Errorf("%q, %v", names, err)
	}
	for _, list := range []string{",", "a,", `"a`} {
		if names, err := Columns(list); err == nil {
			t.Errorf("%q: %q", list, names)
		}
	}
}

// A table with many columns that a model does not know is read in the time that its cells take.
func TestManyColumns(t *testing.T) {
	longtest.Native(t)
	const n = 1 << 18
	var text strings.Builder
	for i := range n {
		fmt.Fprintf(&text, "c%d,", i)
	}
	text.WriteString("a\n" + strings.Repeat("1,", n) + "2\n")
	path := write(t, t.TempDir(), "x.csv", []byte(text.String()))
	start := time.Now()
	d, _, err := OpenSamples(context.Background(), []string{path}, nil, dataset.Vector(1),
		Options{Features: []string{"a"}, Shape: dataset.Vector(1)})
	if err != nil || d.Test.Values[0] != 2 {
		t.Fatalf("%v, %v", d, err)
	}
	if took := time.Since(start); took > 10*time.Second {
		t.Errorf("%v for %d columns", took, n)
	}
}

// What is left out of files is said.
func TestNotes(t *testing.T) {
	x, y := npy("<f4", "(2, 2)", []float32{1, 2, 3, 4}), npy("<i8", "(2,)", []int64{0, 1})
	odd := npy("<f4", "(2, 1, 2)", []float32{0.1, 0.2, 0.3, 0.4})
	for name, c := range map[string]struct {
		files map[string][]byte
		want  string
	}{
		"x.npz": {map[string][]byte{"x.npz": npz(t, map[string][]byte{"X": x, "y": y, "groups": y, "x_val": x})},
			`left out: arrays `},
		"arrays": {map[string][]byte{"arrays/x_train.npy": x, "arrays/y_train.npy": y, "arrays/weights.npy": x},
			`left out: file "weights.npy": no name of training or test samples or labels`},
		"tables": {map[string][]byte{"tables/train.csv": []byte("1,u\n2,v\n"), "tables/test.csv": []byte("1,u\n"),
			"tables/valid.csv": []byte("1,u\n")}, `left out: file "valid.csv": no name`},
		"photos": {map[string][]byte{"photos/train/a/1.png": pngOf(t, []byte{1, 2}, 1, 2),
			"photos/test/a/1.png": pngOf(t, []byte{1, 2}, 1, 2), "photos/val/a/1.png": nil},
			`left out: folder "val": `},
		"all.npz": {map[string][]byte{"all.npz": npz(t, map[string][]byte{"X": x, "y": y})}, ""},
		"x.npy":   {map[string][]byte{"x.npy": odd}, "read as vectors of 2 features: "},
		"times.csv": {map[string][]byte{"times.csv": []byte("t,b,y\n1000000000.5,1,u\n1000000003,2,v\n")},
			`feature "t": near 1e+09 float32 keeps only multiples of 64`},
		"missing.csv": {map[string][]byte{"missing.csv": []byte("a,y\n1,NA\n2,0\n3,1\n4,NA\n5,n/a\n6,Null\n")},
			`class "NA": 2 samples, perhaps of missing labels: leave them out if so; class "Null": 1 sample, perhaps ` +
				`of missing labels: leave them out if so; class "n/a": 1 sample, perhaps`},
		"split": {map[string][]byte{"split/train.csv": []byte("1,u\n2,NaN\n"),
			"split/test.csv": []byte("1,u\n2,NaN\n")},
			`class "NaN": 2 samples, perhaps`},
		"named.csv": {map[string][]byte{"named.csv": []byte("a,y\n1,nano\n2,none\n")}, ""},
		"gaps.npz": {map[string][]byte{"gaps.npz": npz(t, map[string][]byte{"X": x, "y": npy("|S1", "(2,)",
			[]byte("a\x00"))})}, `class "": 1 sample, perhaps`},
		"regions": {map[string][]byte{"regions/EU/1.png": pngOf(t, []byte{1, 2}, 1, 2),
			"regions/NA/1.png": pngOf(t, []byte{1, 2}, 1, 2)}, ""},
		"far.npz": {map[string][]byte{"far.npz": npz(t, map[string][]byte{"y": y,
			"X": npy("<f8", "(2, 2)", []float64{-5e7, 5, -5e7 - 1, 6})})},
			"feature 0 (counted from 0): near 5e+07 float32 keeps only"},
		"wide.npz": {map[string][]byte{"wide.npz": npz(t, map[string][]byte{"y": y,
			"X": npy("<f8", "(2, 2)", []float64{5e7, 5, 1e8, 6})})}, ""},
		"deep.npy": {map[string][]byte{"deep.npy": npy("<u2", "(2, 1, 2)", []uint16{0, 300, 65535, 1})},
			"read as vectors of 2 features: "},
		"signed.npy": {map[string][]byte{"signed.npy": npy("<i8", "(2, 1, 2)", []int64{0, 3, -1, 1})},
			"read as vectors of 2 features: "},
	} {
		dir := t.TempDir()
		for file, b := range c.files {
			write(t, dir, file, b)
		}
		d, err := Open(dir+"/"+name, Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		all := []*dataset.Data{d}
		if name == "tables" {
			d, _, err := OpenSamples(context.Background(), []string{dir + "/tables"}, nil, dataset.Vector(1), Options{})
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, d)
		}
		for _, d := range all {
			notes := strings.Join(d.Notes, "; ")
			if !strings.Contains(notes, c.want) || (notes == "") != (c.want == "") {
				t.Errorf("%s: notes %q, want %s", name, notes, c.want)
			}
		}
	}
	path := write(t, t.TempDir(), "x.npz", npz(t, map[string][]byte{"a": x, "b": y}))
	if _, err := Open(path, Options{}); err == nil || !strings.Contains(err.Error(), `expected x_train and y_train`) ||
		!strings.Contains(err.Error(), `"a"`) {
		t.Errorf("no known array: %v", err)
	}
}

// Samples of another shape than those of a model are refused before their labels are looked at.
func TestOtherShape(t *testing.T) {
	y := npy("<i8", "(1,)", []int64{77})
	grey, rgb := npy("|u1", "(1, 2, 2)", make([]byte, 4)), npy("|u1", "(1, 2, 2, 3)", make([]byte, 12))
	for _, c := range []struct {
		x     []byte
		shape dataset.Shape
		want  string
	}{
		{npy("<f4", "(1, 3)", make([]float32, 3)), dataset.Vector(2),
			"vectors of 3 features, the model expects 2 features"},
		{npy("<f4", "(1, 4)", make([]float32, 4)), dataset.Grey(2, 2),
			"expects 2 x 2 grey (--size 2x2 --channels grey con"},
		{grey, dataset.Grey(3, 3), "images of 2 x 2 grey, the model expects 3 x 3 grey (--size 3x3 converts them)"},
		{rgb, dataset.Grey(2, 2), "images of 2 x 2 RGB, the model expects 2 x 2 grey (--size 2x2 --channels grey"},
		{grey, dataset.Vector(4), "images of 2 x 2 grey, the model expects 4 features"},
	} {
		path := write(t, t.TempDir(), "x.npz", npz(t, map[string][]byte{"x_test": c.x, "y_test": y}))
		_, err := Open(path, Options{TestOnly: true, Shape: c.shape, Classes: []string{"0", "1"}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v: %v, want %s", c.shape, err, c.want)
		}
	}
	photo := write(t, t.TempDir(), "1.png", pngOf(t, []byte{1}, 1, 1))
	opt := Options{Shape: dataset.Vector(4)}
	_, first := Open(photo, opt)
	_, _, second := OpenSamples(context.Background(), []string{photo}, nil, opt.Shape, opt)
	for _, err := range []error{first, second} {
		if err == nil || !strings.Contains(err.Error(), "1.png: images, the model expects vectors of 4 features") {
			t.Errorf("an image for a model of vectors: %v", err)
		}
	}
}
