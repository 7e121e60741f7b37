package source

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
)

// Files of arrays are known by what they hold, or by the format that is asked for, whatever their names.
func TestArraysByContent(t *testing.T) {
	x := npy("<f4", "(1, 2)", []float32{1, 2})
	header := `{"x":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`
	tensors := append([]byte{byte(len(header)), 0, 0, 0, 0, 0, 0, 0}, header...)
	tensors = append(tensors, 0, 0, 0x80, 0x3f, 0, 0, 0, 0x40)
	zipped := npz(t, map[string][]byte{"X": x})
	for _, c := range []struct {
		name   string
		file   []byte
		format string
	}{
		{"x", x, ""}, {"x.dat", x, "npy"}, {"x.dat", zipped, ""}, {"x.dat", zipped, "npz"}, {"x.npy", zipped, "npz"},
		{"x.dat", tensors, "safetensors"}, {"x.npz", tensors, "safetensors"},
	} {
		d, err := Open(write(t, t.TempDir(), c.name, c.file), Options{Format: c.format})
		if err != nil || fmt.Sprint(d.Train.Values) != "[1 2]" {
			t.Errorf("%s, format %q: %v, %v", c.name, c.format, d, err)
		}
	}
}

// Arrays of the dimensions of images are images if all numbers are levels, or where size or channels are asked for; for
// a model they are what its samples are.
func TestFractions(t *testing.T) {
	x := []float32{0, 0.2, 0.4, 0.6, 0.8, 1, 0, 0.2, 0.4, 0.6, 0.8, 1} // 255ths
	odd := []float32{0, 0.1, 0.4, 0.6, 0.8, 1}
	whole := []float32{0, 1, 2, 3, 254, 255}
	vectors, images := Options{Shape: dataset.Vector(6)}, Options{Shape: dataset.Grey(2, 3)}
	for _, c := range []struct {
		shape string
		x     []float32
		opt   Options
		want  dataset.Shape
		first string // pixels of the first image, channel by channel
	}{
		{"(2, 2, 3)", x, Options{}, dataset.Grey(2, 3), "[0 51 102 153 204 255]"},
		{"(1, 2, 3)", odd, Options{}, dataset.Vector(6), ""},
		{"(2, 6)", x, Options{}, dataset.Vector(6), ""},
		{"(1, 2, 3)", whole, Options{}, dataset.Grey(2, 3), "[0 1 2 3 254 255]"},
		{"(1, 2, 3)", []float32{0, 1, 2, 3, 4, 5.5}, Options{}, dataset.Vector(6), ""},
		{"(1, 2, 3)", []float32{0, 1, 2, 3, 4, 256}, Options{}, dataset.Vector(6), ""},
		{"(1, 2, 3)", []float32{-1, 1, 2, 3, 4, 5}, Options{}, dataset.Vector(6), ""},
		{"(1, 2, 3)", []float32{0, 1, 0, 1, 0, 1}, Options{}, dataset.Grey(2, 3), "[0 255 0 255 0 255]"},
		{"(2, 1, 2, 3)", x, Options{}, dataset.RGB(1, 2), "[0 153 51 204 102 255]"},
		{"(2, 2, 3)", x, vectors, dataset.Vector(6), ""},
		{"(1, 2, 3)", odd, images, dataset.Grey(2, 3), "[0 26 102 153 204 255]"},
		{"(1, 2, 3)", odd, Options{Channels: 1}, dataset.Grey(2, 3), "[0 26 102 153 204 255]"},
		{"(2, 2, 3)", x, Options{Channels: 1}, dataset.Grey(2, 3), "[0 51 102 153 204 255]"},
		{"(2, 1, 2, 3)", x, Options{Channels: 3}, dataset.RGB(1, 2), "[0 153 51 204 102 255]"},
		{"(2, 3, 1, 2)", x, Options{Channels: 3}, dataset.RGB(1, 2), "[0 51 102 153 204 255]"},
		{"(2, 2, 3, 1)", x, Options{Rows: 2, Cols: 3}, dataset.Grey(2, 3), "[0 51 102 153 204 255]"},
		{"(2, 6)", x, Options{Rows: 3, Cols: 2}, dataset.Grey(3, 2), "[0 51 102 153 204 255]"},
		{"(1, 1, 2)", []float32{0, 1}, Options{Channels: 1}, dataset.Grey(1, 2), "[0 255]"},
		{"(1, 2)", []float32{0, 1}, Options{Rows: 1, Cols: 2}, dataset.Grey(1, 2), "[0 1]"},
		{"(1, 1, 2)", []float32{0, 200}, Options{Channels: 1}, dataset.Grey(1, 2), "[0 200]"},
	} {
		file := write(t, t.TempDir(), "x.npy", npy("<f4", c.shape, c.x))
		d, err := Open(file, c.opt)
		if err != nil {
			t.Errorf("%s: %v", c.shape, err)
			continue
		}
		rounded := c.first != "" && slices.Equal(c.x, odd)
		if note := slices.Contains(d.Notes, "fractions are rounded to the 256 levels of images"); note != rounded {
			t.Errorf("%s, %v: notes %q", c.shape, c.opt, d.Notes)
		}
		if d.Shape() != c.want || c.first != "" && fmt.Sprint(d.Train.Image(0)) != c.first {
			t.Errorf("%s, %v: %v, want %v %s", c.shape, c.opt, d.Shape(), c.want, c.first)
		}
	}
}

// Whole numbers 0 and 1 are nearly black images; a note says so, without the name that is printed with it.
func TestBinaryLevels(t *testing.T) {
	const note = "images of levels 0 and 1 of 255"
	for levels, want := range map[[2]byte]int{{0, 1}: 1, {0, 0}: 0, {1, 2}: 0} {
		d, err := Open(write(t, t.TempDir(), "x.npy", npy("|u1", "(1, 1, 2)", levels)), Options{})
		if err != nil || len(d.Notes) != want || want > 0 && !strings.HasPrefix(d.Notes[0], note) {
			t.Errorf("%v: %+v, %v", levels, d, err)
		}
	}
}
