package exchange

import (
	"archive/zip"
	"io"
	"slices"

	"dpnbench/dataset"
	"dpnbench/dpn"
)

// WriteNPZ writes m as an archive of arrays that numpy.load reads: all tensors by their names, and what
// else the network computes with as arrays of one number: steps, rows and cols (and channels, unless
// there is one) of images or the number of features of vectors, mean and std (or one for each channel or
// feature), layer_norm (1 or 0), scale (s0) and eps; of networks that preprocess images contrast (1), centre
// (1 for mass, 2 for moments) and rms (1). They are float32.
func WriteNPZ(w io.Writer, m *dpn.Model) error {
	z := zip.NewWriter(w)
	add := func(name string, data []float32, shape ...int) error {
		f, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
		if err != nil {
			return err
		}
		return dataset.WriteNPY(f, data, shape...)
	}
	for _, p := range m.Params() {
		if err := add(p.Name, p.Data, p.Shape...); err != nil {
			return err
		}
	}
	type array struct {
		name   string
		values []float32
	}
	one := func(name string, v float64) array { return array{name, []float32{float32(v)}} }
	c, norm := m.Config, 0.0
	if c.LayerNorm {
		norm = 1
	}
	all := []array{one("steps", float64(c.Steps))}
	if shape := m.Shape; shape.IsImage() {
		all = append(all, one("rows", float64(shape.Rows)), one("cols", float64(shape.Cols)))
		if shape.Channels > 1 {
			all = append(all, one("channels", float64(shape.Channels)))
		}
	} else {
		all = append(all, one("features", float64(shape.Features)))
	}
	if c.Contrast {
		all = append(all, one("contrast", 1))
	}
	if kind := slices.Index(dataset.Centrings(), c.Centre); kind >= 0 {
		all = append(all, one("centre", float64(kind+1)))
	}
	if c.RMS {
		all = append(all, one("rms", 1))
	}
	all = append(all, array{"mean", m.Norm.Mean}, array{"std", m.Norm.Std}, one("layer_norm", norm),
		one("scale", c.Scale), one("eps", c.Eps))
	for _, s := range all {
		var shape []int
		if len(s.values) > 1 {
			shape = []int{len(s.values)}
		}
		if err := add(s.name, s.values, shape...); err != nil {
			return err
		}
	}
	return z.Close()
}
