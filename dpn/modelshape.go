package dpn

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn/safetensors"
	"dpnbench/internal/format"
	"dpnbench/internal/linalg"
)

// writeShape adds the shape of the samples, their normalisation and the names of classes and features
// to the metadata of a file.
func (m *Model) writeShape(meta map[string]string) {
	if s := m.Shape; s.IsImage() {
		meta[metaRows], meta[metaCols] = strconv.Itoa(s.Rows), strconv.Itoa(s.Cols)
		if s.Channels != 1 {
			meta[metaChannels] = strconv.Itoa(s.Channels)
		}
	} else {
		meta[metaFeatures] = strconv.Itoa(s.Features)
	}
	meta[metaMean], meta[metaStd] = formatNumbers(m.Norm.Mean), formatNumbers(m.Norm.Std)
	if !slices.Equal(m.Classes, dataset.Numbered(len(m.Classes))) {
		meta[metaClasses] = formatNames(m.Classes)
	}
	if m.FeatureNames != nil {
		meta[metaNames] = formatNames(m.FeatureNames)
	}
}

func formatNames(names []string) string {
	b, err := json.Marshal(names)
	if err != nil {
		panic(err) // they are texts
	}
	return string(b)
}

func formatNumbers(x []float32) string {
	parts := make([]string, len(x))
	for i, v := range x {
		parts[i] = strconv.FormatFloat(float64(v), 'g', -1, 32)
	}
	return strings.Join(parts, ",")
}

// readShape takes the shape of the samples and their normalisation from the metadata. What is not there follows
// from the number of inputs: images are square and grey, or if nothing there says that they are images and the
// number is no square, samples are vectors. The inputs behind convolutions are what these make of an image,
// whose channels are those of their weights.
func (m *Model) readShape(f *safetensors.File, c Config, inputs int) error {
	const mostSide, mostFeatures = 1 << 16, 1 << 26
	size := func(key string, or, most int) (int, error) {
		s, ok := f.Metadata[key]
		if !ok {
			return or, nil
		}
		v, err := strconv.Atoi(s)
		if err != nil || v < 1 || v > most {
			return 0, fmt.Errorf("metadata %s is %q, expected 1 to %d", key, s, most)
		}
		return v, nil
	}
	if _, ok := f.Metadata[metaFeatures]; ok {
		n, err := size(metaFeatures, 0, mostFeatures)
		if err != nil {
			return err
		}
		m.Shape = dataset.Vector(n)
		if c.convolves() || n != inputs {
			return fmt.Errorf("%d inputs of the extractor %s, samples of %v", inputs, c.Extractor, m.Shape)
		}
		return m.readNorm(f.Metadata)
	}
	images := c.convolves()
	for _, key := range []string{metaConfig, metaRows, metaCols, metaChannels} {
		_, ok := f.Metadata[key]
		images = images || ok
	}
	if side := int(math.Sqrt(float64(inputs))); !images && side*side != inputs && inputs <= mostFeatures {
		m.Shape = dataset.Vector(inputs)
		return m.readNorm(f.Metadata)
	}
	first := 1
	if t := f.Tensor(extractorKey + ".0.weight"); c.convolves() && t != nil {
		if len(t.Shape) < 2 || t.Shape[1] < 1 || t.Shape[1] > mostSide {
			return fmt.Errorf("tensor %q has shape %v, expected 1 to %d channels", t.Name, t.Shape, mostSide)
		}
		first = t.Shape[1]
	}
	channels, err := size(metaChannels, first, mostSide)
	if err != nil {
		return err
	}
	if c.convolves() && channels != first { // before memory is made for so many
		return fmt.Errorf("metadata %s is %d, expected the %d of tensor %q", metaChannels, channels, first,
			extractorKey+".0.weight")
	}
	side := int(math.Sqrt(float64(inputs / channels)))
	switch c.Extractor {
	case "conv":
		side = 4 * int(math.Sqrt(float64(inputs)/float64(c.convolved(4, 4))))
	case "conv3":
		side = 2*int(math.Sqrt(float64(inputs)/64)) + 4
	}
	rows, err := size(metaRows, side, mostSide)
	if err != nil {
		return err
	}
	cols, err := size(metaCols, side, mostSide)
	if err != nil {
		return err
	}
	m.Shape = dataset.Shape{Rows: rows, Cols: cols, Channels: channels}
	have := m.Shape.Len()
	if c.convolves() {
		have = c.convolved(rows, cols)
	}
	if inputs < 1 || have != inputs {
		return fmt.Errorf("%d pixels, images of %v", inputs, m.Shape)
	}
	return m.readNorm(f.Metadata)
}

// readNorm takes the normalisation from the metadata, as far as it is there.
func (m *Model) readNorm(meta map[string]string) error {
	for _, n := range []struct {
		key string
		to  *[]float32
	}{{metaMean, &m.Norm.Mean}, {metaStd, &m.Norm.Std}} {
		s, ok := meta[n.key]
		if !ok {
			m.Assumed = append(m.Assumed, n.key)
			continue
		}
		var list []float32
		for part := range strings.SplitSeq(s, ",") {
			v, err := strconv.ParseFloat(part, 32)
			if err != nil || !linalg.IsFinite(v) {
				return fmt.Errorf("metadata %s is %q, expected a number", n.key, part)
			}
			if n.key == metaStd && v <= 0 {
				return fmt.Errorf("metadata %s is %q, expected a number above 0", n.key, part)
			}
			list = append(list, float32(v))
		}
		*n.to = list
	}
	if err := m.Norm.Check(m.Shape); err != nil {
		return fmt.Errorf("metadata %s and %s: %w", metaMean, metaStd, err)
	}
	return nil
}

// readNames takes the names of classes and features from the metadata, as far as they are there.
func (m *Model) readNames(meta map[string]string, classes int) error {
	m.Classes = dataset.Numbered(classes)
	for _, n := range []struct {
		key, what string
		to        *[]string
		count     int
	}{{metaClasses, "class", &m.Classes, classes}, {metaNames, "feature", &m.FeatureNames, m.Shape.Features}} {
		text, ok := meta[n.key]
		if !ok {
			continue
		}
		var names []string
		if err := json.Unmarshal([]byte(text), &names); err != nil {
			return fmt.Errorf("metadata %s: %w", n.key, format.JSONError(err))
		}
		if len(names) != n.count {
			return fmt.Errorf("metadata %s: %d names, expected %d", n.key, len(names), n.count)
		}
		if err := dataset.CheckNames(n.what, names); err != nil {
			return fmt.Errorf("metadata %s: %w", n.key, err)
		}
		*n.to = names
	}
	return nil
}
