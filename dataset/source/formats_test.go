package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/longtest"
)

// digits returns a small data set: 40 training and 20 test digits.
func digitsData(t testing.TB) *dataset.Data {
	t.Helper()
	d, err := Open("digits", Options{TrainSize: 60, TestSize: 40, Seed: 3})
	if err != nil {
		t.Fatal(err)
	}
	d.Norm = dataset.NormalizationOf(d.Train)
	return d
}

// write writes a file below dir.
func write(t testing.TB, dir, name string, b []byte) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// npy returns an NPY file.
func npy(descr, shape string, data any) []byte {
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': %s, }\n", descr, shape)
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	var out bytes.Buffer
	order := binary.ByteOrder(binary.LittleEndian)
	if descr[0] == '>' {
		order = binary.BigEndian
	}
	binary.Write(&out, order, data)
	return append(append(b, header...), out.Bytes()...)
}

// pngOf returns a grey image as PNG.
func pngOf(t testing.TB, x []byte, rows, cols int) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := png.Encode(&out, &image.Gray{Pix: x, Stride: cols, Rect: image.Rect(0, 0, cols, rows)}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// splits calls f for both splits.
func splits(d *dataset.Data, f func(name string, s *dataset.Set)) {
	f("train", d.Train)
	f("test", d.Test)
}

// bytesOf returns the labels as bytes.
func bytesOf(s *dataset.Set) []byte {
	b := make([]byte, s.Len())
	for i, y := range s.Labels {
		b[i] = byte(y)
	}
	return b
}

// writers writes a data set of grey images in every format that holds it, and returns what Open gets.
var writers = map[string]func(t testing.TB, d *dataset.Data) (spec string, opt Options){
	"idx": func(t testing.TB, d *dataset.Data) (string, Options) {
		dir := t.TempDir()
		splits(d, func(name string, s *dataset.Set) {
			n, r, c := uint32(s.Len()), uint32(s.Rows), uint32(s.Cols)
			write(t, dir, "kmnist-"+name+"-images-idx3-ubyte.gz", gzipped(t, idxBytes(s.Pixels, n, r, c)))
			write(t, dir, "kmnist-"+name+"-labels-idx1-ubyte", idxBytes(bytesOf(s), n))
		})
		return dir, Options{}
	},
	"idx of shorts": func(t testing.TB, d *dataset.Data) (string, Options) {
		dir := t.TempDir()
		splits(d, func(name string, s *dataset.Set) {
			b := []byte{0, 0, 0x0b, 4}
			for _, n := range []int{s.Len(), 1, s.Rows, s.Cols} {
				b = binary.BigEndian.AppendUint32(b, uint32(n))
			}
			for _, v := range s.Pixels {
				b = append(b, 0, v)
			}
			write(t, dir, "set-a-"+name+"-images.idx", b)
			write(t, dir, "set-a-"+name+"-labels.idx", idxBytes(bytesOf(s), uint32(s.Len())))
			write(t, dir, "set-b-"+name+"-labels.idx", nil)
		})
		return filepath.Join(dir, "set-a"), Options{}
	},
	"npz": func(t testing.TB, d *dataset.Data) (string, Options) {
		var out bytes.Buffer
		if err := WriteNPZ(&out, d); err != nil {
			t.Fatal(err)
		}
		return write(t, t.TempDir(), "d.npz", out.Bytes()), Options{}
	},
	"npz of fractions": func(t testing.TB, d *dataset.Data) (string, Options) { // as of Keras, divided by 255
		members := map[string][]byte{}
		splits(d, func(name string, s *dataset.Set) {
			x := make([]float32, len(s.Pixels))
			for i, v := range s.Pixels {
				x[i] = float32(v) / 255
			}
			members["x_"+name] = npy("<f4", fmt.Sprintf("(%d, 28, 28, 1)", s.Len()), x)
			members["y_"+name] = npy("|u1", fmt.Sprintf("(%d,)", s.Len()), bytesOf(s))
		})
		return write(t, t.TempDir(), "d.npz", npz(t, members)), Options{}
	},
	"npy": func(t testing.TB, d *dataset.Data) (string, Options) {
		dir := t.TempDir()
		splits(d, func(name string, s *dataset.Set) {
			wide := make([]int64, s.Len()) // one-hot
			hot := make([]int64, 10*s.Len())
			for i, y := range s.Labels {
				wide[i], hot[10*i+int(y)] = int64(y), 1
			}
			write(t, dir, "X_"+name+".npy", npy("|u1", fmt.Sprintf("(%d, 28, 28, 1)", s.Len()), s.Pixels))
			if name == "train" {
				write(t, dir, "y_"+name+".npy", npy(">i8", fmt.Sprintf("(%d, 1)", s.Len()), wide))
			} else {
				write(t, dir, "y_"+name+".npy", npy("<i8", fmt.Sprintf("(%d, 10)", s.Len()), hot))
			}
		})
		return dir, Options{}
	},
	"csv": func(t testing.TB, d *dataset.Data) (string, Options) {
		dir := t.TempDir()
		splits(d, func(name string, s *dataset.Set) {
			text := "label"
			for j := range s.Shape.Len() {
				text += fmt.Sprint(",pixel", j)
			}
			for i, y := range s.Labels {
				text += fmt.Sprintf("\n%d", y)
				for _, v := range s.Image(i) {
					text += fmt.Sprint(",", v)
				}
			}
			write(t, dir, name+".csv", []byte(text))
		})
		return dir, Options{Rows: 28, Cols: 28}
	},
	"images": func(t testing.TB, d *dataset.Data) (string, Options) {
		dir := t.TempDir()
		splits(d, func(name string, s *dataset.Set) {
			for i, y := range s.Labels {
				write(t, dir, fmt.Sprintf("%s/%d/%d.png", name, y, i), pngOf(t, s.Image(i), 28, 28))
			}
			write(t, dir, name+"/.DS_Store", nil)
		})
		return dir, Options{}
	},
}

// The same data set comes out of every format.
func TestFormats(t *testing.T) {
	longtest.Native(t)
	d := digitsData(t)
	for name, writer := range writers {
		spec, opt := writer(t, d)
		got, err := Open(spec, opt)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if err := got.Check(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if !equal(got.Train, d.Train) || !equal(got.Test, d.Test) || !slices.Equal(got.Classes, d.Classes) ||
			!got.Norm.Equal(d.Norm) {
			t.Errorf("%s: other data: %v and %v images, classes %q", name, got.Train.Len(), got.Test.Len(), got.Classes)
		}
		opt.TestOnly, opt.Classes = true, d.Classes
		if got, err = Open(spec, opt); err != nil || got.Train != nil || !equal(got.Test, d.Test) {
			t.Errorf("%s: only the test images: %v", name, err)
		}
		opt = Options{Rows: opt.Rows, Cols: opt.Cols, TrainSize: 7, TestSize: 41}
		if _, err := Open(spec, opt); err == nil || !strings.Contains(err.Error(), "test size 41") {
			t.Errorf("%s: more than there are: %v", name, err)
		}
		opt.TestSize = 5
		if got, err = Open(spec, opt); err != nil || !equal(got.Train, d.Train.Slice(0, 7)) ||
			!equal(got.Test, d.Test.Slice(0, 5)) {
			t.Errorf("%s: the first images: %v", name, err)
		}
		set, err := OpenTraining(t.Context(), spec, Options{Rows: opt.Rows, Cols: opt.Cols})
		if err != nil || !equal(set, d.Train) {
			t.Errorf("%s: training images: %v", name, err)
		}
		if files := InputFiles(spec); len(files) < 1 {
			t.Errorf("%s: no input files", name)
		}
		want := ""
		if name == "images" {
			want = spec
		}
		if got := ImageFolder(spec); got != want {
			t.Errorf("%s: folder of images %q, want %q", name, got, want)
		}
	}
	if err := WriteNPZ(io.Discard, nil); err == nil || !strings.Contains(err.Error(), "the data set is nil") {
		t.Errorf("no data: %v", err)
	}
}

// Colours come out of CIFAR batches, arrays of either order of the channels, and PNG files alike.
func TestColours(t *testing.T) {
	grey := digitsData(t)
	d := &dataset.Data{Classes: []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}}
	splits(grey, func(name string, s *dataset.Set) {
		large, err := s.Resize(32, 32)
		if err != nil {
			t.Fatal(err)
		}
		out := &dataset.Set{Shape: dataset.RGB(32, 32), Labels: s.Labels}
		for i := range s.Len() {
			x := large.Image(i)
			for c := range 3 {
				for _, v := range x {
					out.Pixels = append(out.Pixels, v/byte(c+1))
				}
			}
		}
		if name == "train" {
			d.Train = out
		} else {
			d.Test = out
		}
	})
	cifar, planes, last, images := t.TempDir(), t.TempDir(), t.TempDir(), t.TempDir()
	splits(d, func(name string, s *dataset.Set) {
		var batch []byte
		for i, y := range s.Labels {
			batch = append(append(batch, byte(y)), s.Image(i)...)
			x := image.NewRGBA(image.Rect(0, 0, 32, 32))
			for j := range 1024 {
				x.Set(j%32, j/32, color.RGBA{s.Image(i)[j], s.Image(i)[1024+j], s.Image(i)[2048+j], 255})
			}
			var out bytes.Buffer
			if err := png.Encode(&out, x); err != nil {
				t.Fatal(err)
			}
			write(t, images, fmt.Sprintf("%s/%d/%d.png", name, y, i), out.Bytes())
		}
		write(t, cifar, map[string]string{"train": "data_batch_1.bin", "test": "test_batch.bin"}[name], batch)
		write(t, planes, "x_"+name+".npy", npy("|u1", fmt.Sprintf("(%d, 3, 32, 32)", s.Len()), s.Pixels))
		write(t, planes, "y_"+name+".npy", npy("<i4", fmt.Sprintf("(%d,)", s.Len()), int32s(s.Labels)))
	})
	var out bytes.Buffer
	if err := WriteNPZ(&out, d); err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{cifar, planes, write(t, last, "x.npz", out.Bytes()), images} {
		got, err := Open(spec, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if !equal(got.Train, d.Train) || !equal(got.Test, d.Test) || !slices.Equal(got.Classes, d.Classes) {
			t.Errorf("%s: other data", spec)
		}
		small, err := Open(spec, Options{Rows: 8, Cols: 16, Channels: 1})
		if err != nil || small.Train.Shape != dataset.Grey(8, 16) {
			t.Fatalf("%s: %v", spec, err)
		}
	}
}

func int32s(labels []uint16) []int32 {
	out := make([]int32, len(labels))
	for i, y := range labels {
		out[i] = int32(y)
	}
	return out
}

// A network has the same weights after training on the same data in any format.
func TestWeights(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: trains for every format, slow under emulation; TestFormats compares data")
	}
	d := digitsData(t)
	want := weights(t, d)
	for name, writer := range writers {
		spec, opt := writer(t, d)
		got, err := Open(spec, opt)
		if err != nil {
			t.Fatal(err)
		}
		if hash := weights(t, got); hash != want {
			t.Errorf("%s: weights %s, want %s", name, hash, want)
		}
	}
}

// weights returns the hash of the weights after two updates.
func weights(t *testing.T, d *dataset.Data) string {
	t.Helper()
	e, err := engine.New()
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	c, err := dpn.Preset("compact")
	if err != nil {
		t.Fatal(err)
	}
	c.MaxUpdates, c.Batch = 2, 20
	m, err := dpn.New(c, d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fit(t.Context(), e, d.Train, dpn.FitOptions{}); err != nil {
		t.Fatal(err)
	}
	return m.WeightsSHA256()
}

// Digits, too, are scaled; a share of all is all.
func TestDigitsConverted(t *testing.T) {
	d, err := Open("digits", Options{TrainSize: 20, TestSize: 10, Rows: 14, Cols: 7, Channels: 3})
	if err != nil || d.Train.Shape != (dataset.Shape{Rows: 14, Cols: 7, Channels: 3}) || d.Check() != nil {
		t.Errorf("%v, %v", d, err)
	}
	d, _, err = OpenSamples(t.Context(), []string{"digits"}, nil, dataset.Grey(14, 14), Options{TestSize: 10})
	if err != nil || d.Test.Shape != dataset.Grey(14, 14) || d.Test.Len() != 10 || d.Check() != nil {
		t.Errorf("for a model of 14 x 14 pixels: %v, %v", d, err)
	}
	if want := "images converted from 28 x 28 grey to 14 x 14 grey"; !slices.Equal(d.Notes, []string{want}) {
		t.Errorf("notes %q, want %q", d.Notes, want)
	}
	same := dataset.Grey(28, 28)
	d, _, err = OpenSamples(t.Context(), []string{"digits"}, nil, same, Options{TestSize: 10})
	other, before, otherErr := OpenOther(t.Context(), "digits", same, Options{TestSize: 10, TrainSize: 10})
	if err != nil || otherErr != nil || len(d.Notes)+len(other.Notes)+len(before) > 0 {
		t.Errorf("digits as they were drawn: %v, %v, %v, %q, %v", d, err, other, before, otherErr)
	}
	path := write(t, t.TempDir(), "x.csv", []byte("a,k\n1,x\n2,z\n"))
	d, err = Open(path, Options{TestShare: 1, TestOnly: true, Classes: []string{"x", "y", "z"}})
	if err != nil || d.Test.Len() != 2 || !slices.Equal(d.Test.Labels, []uint16{0, 2}) {
		t.Errorf("%v, %v", d, err)
	}
	only := Options{TestShare: 1, TestOnly: true, Classes: []string{"x"}}
	for _, opt := range []Options{{TestShare: 1}, {TestOnly: true}, only} {
		if _, err := Open(path, opt); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%+v: %v", opt, err)
		}
	}
}
