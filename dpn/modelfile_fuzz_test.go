package dpn

import (
	"maps"
	"strings"
	"testing"

	"dpnbench/dpn/safetensors"
	"dpnbench/internal/fuzzlimit"
)

// FuzzModelMetadata builds a model from changed metadata. What is accepted must have what is needed
// to be saved.
func FuzzModelMetadata(f *testing.F) {
	m, _ := smallModel(f, completed(gradientConfigs[3]))
	file := m.file(formatModel)
	meta := file.Metadata
	f.Add(meta[metaFormat], meta[metaConfig], meta[metaRows], meta[metaCols], meta[metaMean], meta[metaStd])
	f.Add("pt", "", "3", "4", "0x1p-2", "1e-400")
	f.Add(formatModel, "form = \"flat\"\nrank = 9223372036854775807", "-1", "65536", "NaN", "0")
	f.Add(formatModel, "steps = 100000\nextractor = \"conv\"", "1e1", "", "Inf", "-0")
	f.Fuzz(func(t *testing.T, format, config, rows, cols, mean, std string) {
		g := &safetensors.File{Tensors: file.Tensors, Metadata: maps.Clone(meta)}
		maps.Copy(g.Metadata, map[string]string{metaFormat: format, metaConfig: config, metaRows: rows,
			metaCols: cols, metaMean: mean, metaStd: std})
		var m *Model
		var err error
		size := len(format) + len(config) + len(rows) + len(cols) + len(mean) + len(std)
		fuzzlimit.Check(t, 64*size+16<<20, func() { m, err = FromTensors(g, "", Published) })
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
			return
		}
		back, err := FromTensors(m.file(formatModel), "", Published)
		if err != nil || back.Config != m.Config || !back.Norm.Equal(m.Norm) {
			t.Errorf("saved %+v, read %+v, %v", m.Config, back, err)
		}
	})
}

// FuzzWidths reads widths of hidden layers, and what formatWidths makes of them.
func FuzzWidths(f *testing.F) {
	for _, s := range []string{"", "512-256", "0", "1-", "-1", "0x10", "65537", "007-8", strings.Repeat("1-", 200)} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var w []int
		var err error
		fuzzlimit.Check(t, 64*len(text)+1<<20, func() { w, err = parseWidths(text) })
		if err != nil {
			return
		}
		back, err := parseWidths(formatWidths(w))
		if err != nil || formatWidths(back) != formatWidths(w) || len(w) > maxHidden {
			t.Errorf("%q: %v, then %v, %v", text, w, back, err)
		}
	})
}
