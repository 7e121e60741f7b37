package bench

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/output"
)

// loadSuite reads data sets, and writes and reads model files.
func loadSuite() []benchmark {
	var all []benchmark
	for _, row := range []struct {
		format string
		extent Extent
		images int
	}{
		{"idx", Quick, 2000}, {"npz", Usual, 10000}, {"npy", Usual, 10000}, {"csv", Usual, 10000},
		{"png", Usual, 2000}, // a file each
	} {
		all = append(all, benchmark{
			suite: "load", name: row.format, extent: row.extent, params: params("images", row.images),
			bytes: formatBytes(row.format, row.images), items: float64(row.images), host: true, serial: true,
			setup: func() (setupFunc, error) { return openFormat(row.format, row.images) },
		})
	}
	for _, name := range []string{"write", "read"} {
		for _, preset := range []string{"compact", "paper"} {
			c, err := dpn.Preset(preset)
			if err != nil {
				panic(err) // a name from the list
			}
			x := Usual
			if preset == "compact" {
				x = Quick
			}
			n := presetParameters(preset)
			all = append(all, benchmark{
				suite: "load", name: "checkpoint " + name, extent: x, params: params("parameters", n),
				bytes: 4 * float64(n), // the float32 numbers
				host:  true, serial: true, setup: func() (setupFunc, error) { return openCheckpoint(c, name) },
			})
		}
	}
	return all
}

// presetParameters counts the parameters of a preset with full precisions whose features are
// the pixels, or linear in them. To list rows no network is made: that of preset paper takes
// a tenth of a gigabyte.
func presetParameters(name string) int {
	c, err := dpn.Preset(name)
	if err != nil {
		panic(err) // a name from the list
	}
	const pixels, classes = 28 * 28, 10
	d, extractor := pixels, 0
	if c.Extractor == "linear" {
		d = c.Dim
		extractor = (pixels + 1) * d
	}
	return extractor + c.Components*(d*d+d+1) + 1 + classes*(d+1) // A_i, mu_i and c_i; alpha; classifier
}

// fileFormats are the ways in which openFormat writes images: the data set and how it is opened.
var fileFormats = map[string]func(dir string, d *dataset.Data) (spec string, err error){
	"idx": func(dir string, d *dataset.Data) (string, error) {
		if err := writeIDX(filepath.Join(dir, "train"), d.Train); err != nil {
			return "", err
		}
		return dir, writeIDX(filepath.Join(dir, "t10k"), d.Test)
	},
	"npz": func(dir string, d *dataset.Data) (string, error) {
		path := filepath.Join(dir, "x.npz")
		return path, output.Write(path, func(w io.Writer) error { return source.WriteNPZ(w, d) })
	},
	"npy": func(dir string, d *dataset.Data) (string, error) {
		var x, y []float32
		for i := range d.Train.Len() {
			for _, v := range d.Train.Image(i) {
				x = append(x, float32(v))
			}
			y = append(y, float32(d.Train.Labels[i]))
		}
		n, labels := d.Train.Len(), filepath.Join(dir, "y.npy")
		err := output.Write(labels, func(w io.Writer) error { return dataset.WriteNPY(w, y, n) })
		if err != nil {
			return "", err
		}
		path := filepath.Join(dir, "x.npy")
		err = output.Write(path, func(w io.Writer) error { return dataset.WriteNPY(w, x, n, d.Train.Shape.Len()) })
		return path + "," + labels, err
	},
	"csv": func(dir string, d *dataset.Data) (string, error) {
		text := []byte("label")
		for j := range d.Train.Shape.Len() {
			text = fmt.Appendf(text, ",pixel%d", j)
		}
		for i, y := range d.Train.Labels {
			text = strconv.AppendInt(append(text, '\n'), int64(y), 10)
			for _, v := range d.Train.Image(i) {
				text = strconv.AppendInt(append(text, ','), int64(v), 10)
			}
		}
		path := filepath.Join(dir, "x.csv")
		return path, os.WriteFile(path, text, 0o600)
	},
	"png": func(dir string, d *dataset.Data) (string, error) {
		s := d.Train
		for i, y := range s.Labels {
			folder := filepath.Join(dir, fmt.Sprint(y))
			if err := os.MkdirAll(folder, 0o700); err != nil {
				return "", err
			}
			var b bytes.Buffer
			x := &image.Gray{Pix: s.Image(i), Stride: s.Cols, Rect: image.Rect(0, 0, s.Cols, s.Rows)}
			if err := png.Encode(&b, x); err != nil {
				return "", err
			}
			if err := os.WriteFile(filepath.Join(folder, fmt.Sprintf("%d.png", i)), b.Bytes(), 0o600); err != nil {
				return "", err
			}
		}
		return dir, nil
	},
}

// formatBytes returns how many bytes of files n images take, as the row counts them: those of the numbers, of CSV
// those of the text.
func formatBytes(format string, n int) float64 {
	const pixels = 28 * 28
	perPixel := 1.0
	switch format {
	case "npy":
		perPixel = 4
	case "csv":
		perPixel = 2.29 // bytes of text for a pixel of the built-in digits
	}
	return perPixel * pixels * float64(n)
}

// openFormat writes built-in digits in a format and opens them.
func openFormat(format string, n int) (setupFunc, error) {
	data, err := digits(n, 10)
	if err != nil {
		return nil, err
	}
	return func(*engine.Engine) (*fixture, error) {
		dir, remove, err := output.TempDir("dpnbench-bench-")
		if err != nil {
			return nil, err
		}
		spec, err := fileFormats[format](dir, data)
		if err != nil {
			remove()
			return nil, err
		}
		var got *dataset.Data
		return &fixture{
			op: func() (err error) {
				got, err = source.Open(spec, source.Options{})
				return err
			},
			check: func() (string, error) {
				if got.Train.Len() != n {
					return "", differs("%d samples, wrote %d", got.Train.Len(), n)
				}
				var a, b []byte
				for i := range n {
					if a, b = levelsOf(got.Train, a[:0], i), levelsOf(data.Train, b[:0], i); !bytes.Equal(a, b) ||
						got.Train.Labels[i] != data.Train.Labels[i] {
						return "", differs("sample %d differs from what was written", i)
					}
				}
				return "the same samples and labels", nil
			},
			close: remove,
		}, nil
	}, nil
}

// levelsOf appends the levels of a sample, which may be a vector of them.
func levelsOf(s *dataset.Set, b []byte, i int) []byte {
	if s.IsImage() {
		return append(b, s.Image(i)...)
	}
	for _, v := range s.Vector(i) {
		b = append(b, byte(v))
	}
	return b
}

// writeIDX writes compressed files of MNIST's names.
func writeIDX(prefix string, s *dataset.Set) error {
	write := func(path string, header []uint32, body []byte) error {
		f, err := os.Create(path)
		if err != nil {
			return err
		}
		defer f.Close()
		z := gzip.NewWriter(f)
		for _, h := range header {
			if err := binary.Write(z, binary.BigEndian, h); err != nil {
				return err
			}
		}
		if _, err := z.Write(body); err != nil {
			return err
		}
		if err := z.Close(); err != nil {
			return err
		}
		return f.Close()
	}
	n := s.Len()
	var images, labels []byte
	for i := range n {
		images, labels = s.AppendSample(images, i), s.AppendLabel(labels, i)
	}
	if err := write(prefix+"-images-idx3-ubyte.gz", []uint32{0x803, uint32(n), 28, 28}, images); err != nil {
		return err
	}
	return write(prefix+"-labels-idx1-ubyte.gz", []uint32{0x801, uint32(n)}, labels)
}

// openCheckpoint writes, or reads, the model file of a fresh network.
func openCheckpoint(c dpn.Config, name string) (setupFunc, error) {
	data, err := digits(200, 10)
	if err != nil {
		return nil, err
	}
	return func(e *engine.Engine) (*fixture, error) {
		m, err := dpn.New(c, data)
		if err != nil {
			return nil, err
		}
		if _, err := m.Init(context.Background(), e, data.Train); err != nil {
			return nil, err
		}
		dir, remove, err := output.TempDir("dpnbench-bench-")
		if err != nil {
			return nil, err
		}
		path := filepath.Join(dir, dpn.ModelFile)
		var back *dpn.Model
		load := func() (err error) { back, err = dpn.Load(path); return err }
		w := &fixture{close: remove, op: func() error { return m.Save(path) }}
		if name == "read" {
			if err := m.Save(path); err != nil {
				w.close()
				return nil, err
			}
			w.op = load
		}
		w.check = func() (string, error) {
			if name == "write" {
				if err := load(); err != nil {
					return "", err
				}
			}
			if back.WeightsSHA256() != m.WeightsSHA256() {
				return "", differs("the weights that were read are not those that were written")
			}
			return "the same weights back", nil
		}
		return w, nil
	}, nil
}
