package bench

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"strconv"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/engine"
	"dpnbench/internal/output"
)

// fileFormats are the ways in which openFormat writes images: the data set and how it is opened.
var fileFormats = map[string]func(dir string, d *dataset.Data) (spec string, err error){
	"npz": func(dir string, d *dataset.Data) (string, error) {
		path := filepath.Join(dir, "x.npz")
		return path, output.Write(path, func(w io.Writer) error { return source.WriteNPZ(w, d) })
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
	if format == "csv" {
		return 2.29 * pixels * float64(n) // bytes of text for a pixel of the built-in digits
	}
	return pixels * float64(n)
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
