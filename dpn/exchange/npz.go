package exchange

import (
	"archive/zip"
	"io"

	"dpnbench/dataset"
	"dpnbench/dpn"
)

// WriteNPZ writes m as an archive of arrays that numpy.load reads: all tensors by their names, and what
// else the network computes with as arrays of one number: steps, rows, cols, mean, std, layer_norm (1 or
// 0), scale (s0) and eps. They are float32.
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
	for _, s := range []struct {
		name  string
		value float32
	}{
		{"steps", float32(c.Steps)}, {"rows", float32(m.Rows)}, {"cols", float32(m.Cols)}, {"mean", m.Norm.Mean},
		{"std", m.Norm.Std}, {"layer_norm", norm}, {"scale", float32(c.Scale)}, {"eps", float32(c.Eps)},
	} {
		if err := add(s.name, []float32{s.value}); err != nil {
			return err
		}
	}
	return z.Close()
}
