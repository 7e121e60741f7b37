package source

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dataset"
)

// besideCases are data of which each part fits into the memory, but not beside what is read or unpacked before.
func besideCases(t *testing.T) (cases []besideCase) {
	add := func(memory float64, file string, files map[string][]byte) {
		c := besideCase{t.TempDir(), memory, file, "that are read or unpacked"}
		for name, b := range files {
			if path := write(t, c.path, name, b); len(files) == 1 {
				c.path = path
			}
		}
		cases = append(cases, c)
	}
	pixels := make([]byte, 160)
	x := npy("|u1", "(10, 4, 4)", pixels)
	add(300, "x_test.npy", map[string][]byte{"x_train.npy": x, "x_test.npy": x})
	add(300, "x.npz:x", map[string][]byte{"x.npz": npz(t, map[string][]byte{"x": x})})
	add(300, "train-images.idx", map[string][]byte{"train-images.idx": idxBytes(pixels, 10, 4, 4)})
	grey := pngOf(t, pixels, 40, 4)
	add(450, string(filepath.Separator)+"test", map[string][]byte{"train/1.png": grey, "test/1.png": grey})
	batch := make([]byte, 1+cifarPixels)
	add(5000, "test_batch.bin", map[string][]byte{"data_batch_1.bin": batch, "test_batch.bin": batch})
	table := []byte("a,b,c,class\n" + strings.Repeat("1,2,3,u\n", 20))
	add(1100, "test.csv", map[string][]byte{"train.csv": table, "test.csv": table})
	cases[len(cases)-1].want = "more numbers than there is memory for"
	return cases
}

type besideCase struct {
	path   string
	memory float64
	file   string // the one that the error names
	want   string // what the error says
}

// TestMemory asks for more images than there is memory: refused before any are drawn or read.
func TestMemory(t *testing.T) {
	var size *SizeError
	for _, c := range []struct {
		opt   Options
		split string // "" if there is enough
	}{
		{Options{TrainSize: 9_000_000, Memory: 1e9}, "train"},
		{Options{TestSize: 8_000_000, Memory: 1e9, TestOnly: true}, "test"},
		{Options{TrainSize: 9_000_000, TestSize: 10, Memory: 1e6, TestOnly: true}, ""},
		{Options{TrainSize: 10, TestSize: 10, Memory: 1e5}, ""},
		{Options{TrainSize: 100, TestSize: 100, Memory: 1e5}, "train"},
		{Options{TrainSize: 10, TestSize: 20, Memory: 1e7, Rows: 1024, Cols: 1024}, "test"},
		{Options{TrainSize: 9, TestSize: 1, Memory: 1e7, Rows: 1024, Cols: 1024}, "train"},
		{Options{TrainSize: 8, TestSize: 1, Memory: 11e6, Rows: 1024, Cols: 1024}, ""},
		{Options{TrainSize: 10, TestSize: 30, Memory: 1e5, Channels: 3}, "test"},
		{Options{TrainSize: 50, TestSize: 50, Memory: 1e5, Rows: dataset.DigitSide, Cols: dataset.DigitSide}, ""},
	} {
		_, err := Open("digits", c.opt)
		if c.split == "" {
			if err != nil {
				t.Errorf("%+v: %v", c.opt, err)
			}
		} else if !errors.As(err, &size) || size.Split != c.split || !strings.Contains(err.Error(), "are available") {
			t.Errorf("%+v: error %v, want one about %s", c.opt, err, c.split)
		}
	}
	dir, x := t.TempDir(), npy("|u1", "(10, 4, 4)", make([]byte, 160))
	for _, name := range []string{"x_train.npy", "x_test.npy"} {
		write(t, dir, name, x)
	}
	levels := write(t, t.TempDir(), "x.csv", []byte("a,b,c,d,k\n1,2,3,4,u\n5,6,7,8,v\n"))
	one := write(t, t.TempDir(), "one.npy", x)
	fractions := write(t, t.TempDir(), "x.npy", npy("<f4", "(10, 4, 4)", make([]float32, 160)))
	mixed := filepath.Join(t.TempDir(), "mixed")
	for i := range 9 {
		write(t, mixed, fmt.Sprintf("%d.png", i), pngOf(t, make([]byte, 40), 10, 4))
	}
	colour := image.NewRGBA(image.Rect(0, 0, 4, 10))
	colour.Set(0, 0, color.RGBA{R: 255, A: 255})
	var out bytes.Buffer
	if err := png.Encode(&out, colour); err != nil {
		t.Fatal(err)
	}
	write(t, mixed, "9.png", out.Bytes())
	for _, c := range []struct {
		path string
		opt  Options
		file string // the one that the error names; "" if there is enough
	}{
		{dir, Options{Memory: 1e5, Rows: 1024, Cols: 1024}, "x_train.npy"},
		{dir, Options{Memory: 1e5, Rows: 70, Cols: 70}, "x_test.npy"},
		{dir, Options{Memory: 1e5, Rows: 40, Cols: 40}, ""},
		{dir, Options{Memory: 1000, Channels: 3}, "x_test.npy"},
		{dir, Options{Memory: 1500, Channels: 3}, ""},
		{levels, Options{Memory: 100, Rows: 2, Cols: 2}, ""},
		{one, Options{Memory: 200}, ""},
		{one, Options{Memory: 200, TestShare: 0.5}, "one.npy"},
		{one, Options{Memory: 300, TestShare: 0.5}, ""},
		{one, Options{Memory: 200, TestShare: 1, AnySplit: true}, ""},
		{fractions, Options{Memory: 720}, "x.npy"}, // beside the images that they become
		{fractions, Options{Memory: 900}, ""},
		{mixed, Options{Memory: 1400}, "mixed"}, // the grey image becomes one in colour
		{mixed, Options{Memory: 1900}, ""},
	} {
		_, err := Open(c.path, c.opt)
		if (err == nil) != (c.file == "") || err != nil && !strings.Contains(err.Error(), c.file+": the samples take") {
			t.Errorf("%s, %+v: error %v, want one about %q", c.path, c.opt, err, c.file)
		}
	}
	for _, c := range besideCases(t) {
		_, err := Open(c.path, Options{Memory: c.memory})
		if err == nil || !strings.Contains(err.Error(), c.file) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s, %v bytes: error %v, want one about %s with %q", c.path, c.memory, err, c.file, c.want)
		}
		if _, err := Open(c.path, Options{Memory: 3 * c.memory}); err != nil {
			t.Errorf("%s, %v bytes: %v", c.path, 3*c.memory, err)
		}
	}
	header := []byte{0, 0, 8, 1, 0, 0, 1, 0}
	path := filepath.Join(t.TempDir(), "labels")
	if err := os.WriteFile(path, append(header, make([]byte, 256)...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := loadIDX(path, 1, 0, Options{Memory: 100}); err == nil ||
		!strings.Contains(err.Error(), "are available") {
		t.Errorf("error %v", err)
	}
	if _, err := loadIDX(path, 1, 50, Options{Memory: 100}); err != nil {
		t.Error(err)
	}
}
