package source

import (
	"archive/zip"
	"bytes"
	"fmt"
	"math"
	"strings"
	"testing"
)

// npz returns an NPZ file.
func npz(t testing.TB, members map[string][]byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	for name, b := range members {
		w, err := z.Create(name + ".npy")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// Wrong files give one line that names the file, and the row or offset.
func TestWrongData(t *testing.T) {
	x := npy("<f4", "(3, 2)", []float32{1, 2, 3, 4, 5, 6})
	y := npy("<i8", "(3,)", []int64{0, 1, 0})
	nan := npy("<f4", "(3, 2)", []float32{1, 2, 3, 0, 5, 6})
	nan[len(nan)-9], nan[len(nan)-10] = 0x7f, 0xc0
	big := idxBytes(nil, 1<<30, 1<<20)
	for _, c := range []struct {
		name string
		file []byte
		want string
		opt  Options
	}{
		{"empty.npz", nil, "expected an NPZ file", Options{}},
		{"cut.npz", npz(t, map[string][]byte{"X": x, "y": y})[:200], "expected an NPZ file", Options{}},
		{"names.npz", npz(t, map[string][]byte{"a": x, "b": y}), "expected x_train and y_train", Options{}},
		{"only.npz", npz(t, map[string][]byte{"y": y}), "expected x_train and y_train", Options{}},
		{"two.npz", npz(t, map[string][]byte{"X": x, "data": x, "y": y}), "may both be the samples", Options{}},
		{"labels.npz", npz(t, map[string][]byte{"X": x, "y": y[:len(y)-8]}), "16 bytes of numbers", Options{}},
		{"ragged.npz", npz(t, map[string][]byte{"X": x, "y": npy("<i8", "(2,)", []int64{0, 1})}),
			"3 vectors, expected 2 as there are labels", Options{}},
		{"half.npz", npz(t, map[string][]byte{"X": x, "y": npy("<f8", "(3,)", []float64{0, 0.5, 1})}),
			"row 1 (counted from 0): label 0.5", Options{}},
		{"texts.npz", npz(t, map[string][]byte{"X": x, "y": npy("|S3", "(3,)", []byte("1.02.5abc"))}),
			`row 1 (counted from 0): label "2.5"`, Options{}},
		{"hot.npz", npz(t, map[string][]byte{"X": x, "y": x}), "row 0 (counted from 0): expected one label a row",
			Options{}},
		{"nan.npz", npz(t, map[string][]byte{"X": nan, "y": y}), "row 1, feature 1 (both counted from 0): NaN",
			Options{}},
		{"large.npz", npz(t, map[string][]byte{"X": npy("<f8", "(1, 1)", []float64{1e39})}),
			"feature 0 (both counted from 0): 1e+39: expected", Options{}},
		{"far.npz", npz(t, map[string][]byte{"X": npy("<f8", "(2, 2)", []float64{1, 2, 3, -1e300}), "y": y}),
			"row 1, feature 1 (both counted from 0): -1e+300: expected a finite number of float32", Options{}},
		{"inf.npz", npz(t, map[string][]byte{"X": npy("<f8", "(1, 2)", []float64{1, math.Inf(1)})}),
			"row 0, feature 1 (both counted from 0): +Inf: expected", Options{}},
		{"levels.npz", npz(t, map[string][]byte{"x_train": npy("<i2", "(1, 1, 2)", []int16{0, 255}),
			"x_test": npy("<i2", "(2, 1, 2)", []int16{0, 255, 3, 300})}),
			"row 1 (counted from 0): 300: expected levels", Options{}},
		{"twice.npz", npz(t, map[string][]byte{"X": npy("<f4", "(1, 3)", []float32{1, 2, 3}),
			"feature_names": npy("<U1", "(3,)", []uint32{'a', 'b', 'a'})}),
			`features 0 and 2 (counted from 0) are both called "a"`, Options{}},
		{"object.npz", npz(t, map[string][]byte{"X": npy("|O", "(3,)", []byte{1, 2, 3})}), `"|O"`, Options{}},
		{"huge.npy", npy("<f4", "(1000000000, 1000000)", []byte{}), "expected 4000000000000000", Options{}},
		{"channels.npy", npy("|u1", "(1, 2, 2, 2)", make([]byte, 8)), "1 or 3 channels", Options{}},
		{"below.npy", npy("<f4", "(1, 1, 2)", []float32{-1, 0.5}), "0 to 255 or, of all, a fraction",
			Options{Channels: 1}},
		{"memory.npy", x, "are available", Options{Memory: 10}},
		{"x.csv", []byte("a,b,k\n1,2,x\n3,4\n"), "line 3: 2 cells", Options{}},
		{"x.csv", []byte("a,a,k\n1,2,x\n"), `both called "a"`, Options{}},
		{"x.csv", []byte("a,b,k\n1,nan,x\n"), `line 2, column 2 ("b"): "nan"`, Options{}},
		{"x.csv", []byte("a,b,k\n1,2,x\n"), `no column "c"`, Options{Label: "c"}},
		{"x.csv", []byte("a,b,k\n1,2,0.5\n"), `line 2: label "0.5" in column "k"`, Options{}},
		{"x.csv", []byte("a,b,k\n1,2,0\n\n1,2,NaN\n1,2,1\n"), `line 4: label "NaN" in column "k"`, Options{}},
		{"x.npy", x, "--label: ", Options{Label: "k"}},
		{"x.csv", []byte("k\nx\n"), "expected columns of features", Options{}},
		{"x.csv", []byte("a,k\n1,x\n"), "expected a size", Options{Channels: 3}},
		{"x.csv", []byte("a,k\n1.5,x\n"), "line 2, feature 0 (counted from 0): 1.5", Options{Rows: 1, Cols: 1}},
		{"x.idx", []byte{0, 0, 0x0d, 2, 0, 0, 0, 1}, "ends within the header", Options{}},
		{"x.idx", big, "promise more than", Options{}},
		{"x.idx", idxBytes(counting(5), 3, 2), "ends after 5 of the 6", Options{}},
		{"x.png", []byte("\x89PNG\r\n\x1a\n"), "x.png: cannot be read as an image: unexpected EOF", Options{}},
		{"x.bin", []byte{1, 2, 3}, "an unknown format, expected one of idx", Options{}},
		{"x.bin", []byte{1, 2, 3}, `format "zip": expected one of idx`, Options{Format: "zip"}},
		{"data_batch_1.bin", make([]byte, 3072), "offset 3072: ends within image 0", Options{Format: "cifar"}},
		{"x.parquet", []byte("PAR1"), "x.parquet", Options{}},
	} {
		dir := t.TempDir()
		path := write(t, dir, c.name, c.file)
		if c.opt.Format == "cifar" {
			path = dir
		}
		_, err := Open(path, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") ||
			c.opt.Format != "zip" && !strings.Contains(err.Error(), dir) {
			t.Errorf("%s (%.20q): %v, want one line with %q", c.name, c.file, err, c.want)
		}
	}
	dir := t.TempDir()
	for _, name := range []string{"emnist-letters-train-images-idx3-ubyte", "emnist-digits-train-images-idx3-ubyte"} {
		write(t, dir, name, idxBytes(counting(4), 1, 2, 2))
	}
	if _, err := Open(dir, Options{}); err == nil || !strings.Contains(err.Error(), "may both be the train samples") {
		t.Errorf("two data sets in a folder: %v", err)
	}
	if _, err := Open(t.TempDir(), Options{}); err == nil || !strings.Contains(err.Error(), "found nothing") {
		t.Errorf("an empty folder: %v", err)
	}
}

// A wrong label of CIFAR's batches is that of an image of the batch that holds it.
func TestCIFARLabels(t *testing.T) {
	dir := t.TempDir()
	batch := func(labels ...byte) []byte {
		var b []byte
		for _, y := range labels {
			b = append(append(b, y), make([]byte, cifarPixels)...)
		}
		return b
	}
	write(t, dir, "batches.meta.txt", []byte("a\nb\n"))
	write(t, dir, "data_batch_1.bin", batch(0, 1, 0))
	path := write(t, dir, "data_batch_2.bin", batch(1, 9, 0))
	want := path + ": label 9 of sample 1 (counted from 0), expected 0 to 1"
	if _, err := Open(dir, Options{}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	write(t, dir, "data_batch_2.bin", batch(1))
	want = "train size 5: " + dir + " (train) holds 4 images"
	if _, err := Open(dir, Options{TrainSize: 5}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// Labels and columns of tables.
func TestTableData(t *testing.T) {
	for _, c := range []struct {
		text, label string
		classes     string
		features    string
		values      string
	}{
		{"a,b,kind\n1,2,x\n3,4,w\n", "", "[w x]", "[a b]", "[1 2 3 4]"},
		{"a,Label,b\n1,2,x\n3,4,w\n", "b", "[w x]", "[a Label]", "[1 2 3 4]"},
		{"a,Label,b\n1,7,2\n3,9,4\n", "", "[7 9]", "[a b]", "[1 2 3 4]"},
		{"2,7,1\n3,9,4\n", "2", "[7 9]", "[]", "[2 1 3 4]"}, // no name, though a cell is 2
		{"2020,2021,b\nx,3,4\nw,5,6\n", "2020", "[w x]", "[2021 b]", "[3 4 5 6]"},
		{"a,y,b\n1,3,2\n3,0,4\n", "", "[0 1 2 3]", "[a b]", "[1 2 3 4]"},
		{"1100.5,1102.5,label\n1,2,x\n3,4,w\n", "", "[w x]", "[1100.5 1102.5]", "[1 2 3 4]"},
		{"1100.5,kind,1102.5\n1,x,2\n3,w,4\n", "kind", "[w x]", "[1100.5 1102.5]", "[1 2 3 4]"},
		{"1100.5,1102.5,class\n1,2,5\n3,4,6\n", "none", "[]", "[1100.5 1102.5 class]", "[1 2 5 3 4 6]"},
		{"1,2,9007199254740992\n3,4,9007199254740993\n", "", "[9007199254740992 9007199254740993]", "[]", "[1 2 3 4]"},
		{"1,2,-1\n3,4,1\n", "", "[-1 1]", "[]", "[1 2 3 4]"},
		{"1,2\n3,4\n", "none", "[]", "[]", "[1 2 3 4]"},
		{",a,kind\n0,1,x\n1,3,x\n", "", "[x]", "[a]", "[1 3]"},
		{",a,kind\n7,1,x\n5,3,x\n", "", "[x]", "[a]", "[1 3]"}, // rows that pandas has shuffled
		{"Id,a,kind\n71,1,x\n72,3,x\n", "", "[x]", "[a]", "[1 3]"},
		{",a,kind\n0.5,1,x\n1,3,x\n", "", "[x]", "[ a]", "[0.5 1 1 3]"},
		{"k;a\nx;1\n", "k", "[x]", "[a]", "[1]"},
	} {
		d, err := Open(write(t, t.TempDir(), "x.csv", []byte(c.text)), Options{Label: c.label})
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		if got := []string{text(d.Classes), text(d.Features), text(d.Train.Values)}; got[0] != c.classes ||
			got[1] != c.features || got[2] != c.values {
			t.Errorf("%q: %v", c.text, got)
		}
	}
}

func text(v any) string { return fmt.Sprint(v) }
