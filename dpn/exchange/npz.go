package exchange

import (
	"archive/zip"
	"io"

	"dpnbench/dataset"
	"dpnbench/dpn"
)

// WriteNPZ writes m as an archive of arrays that numpy.load reads: all tensors by their names, and what
// else the network computes with as arrays of one number: steps, rows and cols (and channels, unless
// there is one) of images or the number of features of vectors, mean and std (or one for each channel or
// feature), layer_norm (1 or 0), scale (s0) and eps. They are float32.
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
	c, norm := m.Config, float32(0)
	if c.LayerNorm {
		norm = 1
	}
	one := func(v float32) []float32 { return []float32{v} }
	for _, s := range []struct {
		name   string
		values []float32
	}{
		{"steps", one(float32(c.Steps))}, {"rows", one(float32(m.Shape.Rows))}, {"cols", one(float32(m.Shape.Cols))},
		{"channels", one(float32(m.Shape.Channels))}, {"features", one(float32(m.Shape.Features))},
		{"mean", m.Norm.Mean}, {"std", m.Norm.Std}, {"layer_norm", one(norm)}, {"scale", one(float32(c.Scale))},
		{"eps", one(float32(c.Eps))},
	} {
		image, grey := m.Shape.IsImage(), m.Shape.Channels == 1
		if s.name == "features" && image || (s.name == "rows" || s.name == "cols") && !image ||
			s.name == "channels" && (!image || grey) {
			continue
		}
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
