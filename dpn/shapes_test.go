package dpn

import (
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/engine/num"
	"dpnbench/internal/longtest"
)

// blobs are samples of a shape around a centre for each class: levels of images, or features with
// scales from 1 to 1000, the last one constant.
func blobs(shape dataset.Shape, n, classes int) *dataset.Set {
	d := shape.Len()
	r := num.NewRand(3, 0)
	centres, z := make([]float32, classes*d), make([]float32, d)
	r.Normal(centres)
	s := &dataset.Set{Shape: shape, Labels: make([]uint16, n)}
	for i := range n {
		y := i % classes
		s.Labels[i] = uint16(y)
		r.Normal(z)
		for j, v := range z {
			v = centres[y*d+j] + 0.3*v
			switch {
			case shape.IsImage():
				s.Pixels = append(s.Pixels, byte(min(max(128+40*v, 0), 255)))
			case j == d-1:
				s.Values = append(s.Values, 0.1)
			default:
				s.Values = append(s.Values, []float32{1, 30, 1000}[j%3]*(v+2))
			}
		}
	}
	return s
}

// dataOf is a data set with names and the normalisation of its training samples.
func dataOf(train *dataset.Set, classes int) *dataset.Data {
	d := &dataset.Data{Name: "blobs", Train: train, Norm: dataset.NormalizationOf(train)}
	for _, name := range dataset.Numbered(classes) {
		d.Classes = append(d.Classes, "class \""+name+"\"\n")
	}
	for _, name := range dataset.Numbered(train.Features) {
		d.Features = append(d.Features, "feature, "+name)
	}
	return d
}

// TestShapes trains on vectors and on colour images with every extractor that can take them, and reads
// the models back with shape, normalisation and names.
func TestShapes(t *testing.T) {
	longtest.Native(t)
	e := newEngine(t)
	shapes := []dataset.Shape{dataset.Vector(9), dataset.RGB(6, 5), dataset.Grey(9, 4)}
	extractors := []string{"conv", "identity", "linear", "mlp"}
	if testing.Short() { // minutes under emulation, which TestTrainedBits runs with the others
		shapes, extractors = shapes[:2], extractors[:1]
	}
	for _, shape := range shapes {
		for _, extractor := range extractors {
			if !shape.IsImage() && extractor == "conv" {
				continue
			}
			c, _ := Preset("compact")
			c.Extractor, c.Dim, c.Batch, c.Epochs, c.Components = extractor, 6, 16, 12, 4
			c.LR, c.PotentialLR = 1e-2, 1e-3
			d := dataOf(blobs(shape, 300, 4), 4)
			m, err := New(c, d)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := m.Fit(t.Context(), e, d.Train, FitOptions{}); err != nil {
				t.Fatal(err)
			}
			score, err := m.Score(t.Context(), e, d.Train)
			if err != nil || !(score.Accuracy >= 0.95) {
				t.Errorf("%v, %s: accuracy %v, %v", shape, extractor, score.Accuracy, err)
			}
			path := filepath.Join(t.TempDir(), "m.safetensors")
			if err := m.Save(path); err != nil {
				t.Fatal(err)
			}
			got, err := Load(path)
			if err != nil {
				t.Fatal(err)
			}
			if got.Shape != shape || !got.Norm.Equal(m.Norm) || !slices.Equal(got.Classes, d.Classes) ||
				!slices.Equal(got.FeatureNames, d.Features) || got.WeightsSHA256() != m.WeightsSHA256() {
				t.Errorf("%v, %s: read %v %+v %q %q", shape, extractor, got.Shape, got.Norm, got.Classes,
					got.FeatureNames)
			}
			plain := *d.Train
			plain.Labels = nil
			a, err := m.Predict(t.Context(), e, d.Train)
			if err != nil {
				t.Fatal(err)
			}
			if b, err := got.Predict(t.Context(), e, &plain); err != nil || !slices.Equal(a, b) || len(a) != 300 {
				t.Errorf("%v, %s: other predictions without labels, %v", shape, extractor, err)
			}
		}
	}
}

// TestPlainTensors reads tensors without settings: of so many inputs as no square image has they are of vectors.
func TestPlainTensors(t *testing.T) {
	for _, inputs := range []int{2, 13, 16} {
		for _, extractor := range []string{"identity", "linear", "mlp"} {
			c, _ := Preset("compact")
			c.Extractor, c.Dim, c.Components = extractor, 6, 2
			m, err := New(c, dataOf(blobs(dataset.Vector(inputs), 40, 2), 2))
			if err != nil {
				t.Fatal(err)
			}
			f := m.file(formatModel)
			f.Metadata = map[string]string{"format": "pt"} // as PyTorch writes it
			got, err := FromTensors(f, "", Published)
			want := dataset.Vector(inputs)
			if inputs == 16 {
				want = dataset.Grey(4, 4)
			}
			if err != nil || got.Shape != want || got.WeightsSHA256() != m.WeightsSHA256() {
				t.Errorf("%d inputs, %s: %v", inputs, extractor, err)
			}
		}
	}
}

// TestLabels holds that no set without labels, or with too few, passes in silence.
func TestLabels(t *testing.T) {
	e := newEngine(t)
	c, _ := Preset("compact")
	c.Batch, c.Epochs, c.Dim, c.Components = 16, 1, 4, 3
	full := blobs(dataset.Vector(5), 60, 3)
	fresh := func() *Model {
		m, err := New(c, dataOf(full, 3))
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for want, labels := range map[string][]uint16{
		"have no labels":           nil,
		"20 labels for 60 samples": full.Labels[:20],
		"label 7 of sample 59":     append(slices.Clone(full.Labels[:59]), 7),
	} {
		s := &dataset.Set{Shape: full.Shape, Values: full.Values, Labels: labels}
		check := func(what string, err error) {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: error %v, want one line with %q", what, err, want)
			}
		}
		if len(labels) < 60 {
			_, err := New(c, dataOf(s, 3))
			check("New", err)
			_, _, err = c.Split(s)
			check("Split", err)
		}
		m := fresh()
		_, err := m.Fit(t.Context(), e, s, FitOptions{})
		check("Fit", err)
		_, err = m.Score(t.Context(), e, s)
		check("Score", err)
		_, _, err = m.ScoreClasses(t.Context(), e, s)
		check("ScoreClasses", err)
		if labels != nil {
			_, err = m.Predict(t.Context(), e, s)
			check("Predict", err)
		}
	}
	if _, err := New(c, &dataset.Data{Name: "none"}); err == nil || !strings.Contains(err.Error(),
		"no training samples") {
		t.Errorf("error %v", err)
	}
	m, none := fresh(), full.Slice(0, 0)
	_, errScore := m.Score(t.Context(), e, none)
	_, _, errClasses := m.ScoreClasses(t.Context(), e, none)
	_, errEnsemble := Ensemble{m, m}.Score(t.Context(), e, none)
	_, errFinal := m.FinalScores(t.Context(), e, none, none)
	for i, err := range []error{errScore, errClasses, errEnsemble, errFinal} {
		want := i < 3 // FinalScores leaves out what is not there
		if (err != nil) != want || want && !strings.Contains(err.Error(), "no samples, expected one or more") {
			t.Errorf("score %d of no samples: %v", i, err)
		}
	}
	if _, err := New(c, nil); err == nil || !strings.Contains(err.Error(), "the data set is nil") {
		t.Errorf("error %v", err)
	}
}

// TestVectorsAreNoImages checks what needs images.
func TestVectorsAreNoImages(t *testing.T) {
	d := dataOf(blobs(dataset.Vector(5), 60, 3), 3)
	c, _ := Preset("compact")
	c.Batch, c.Components = 16, 3
	convolves := func(c *Config) { c.Extractor = "conv" }
	contrasts, centres := func(c *Config) { c.Contrast = true }, func(c *Config) { c.Centre = "mass" }
	normalises := func(c *Config) { c.RMS = true }
	for want, change := range map[string]func(*Config){
		`extractor "conv": expected images of at least 4 x 4 pixels with it, not vectors of 5 features`: convolves,
		`contrast true: expected images with it, not vectors of 5 features`:                             contrasts,
		`centre "mass": expected images with it, not vectors of 5 features`:                             centres,
		`rms true: expected images with it, not vectors of 5 features`:                                  normalises,
	} {
		changed := c
		change(&changed)
		if _, err := New(changed, d); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	wide, centred := dataOf(blobs(dataset.Grey(1, 5000), 60, 3), 3), c
	centres(&centred)
	const want = `centre "mass": images of 1 x 5000 grey, expected at most 4096 pixels a side with it`
	if _, err := New(centred, wide); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	m, err := New(c, d)
	if err != nil {
		t.Fatal(err)
	}
	_, err = m.CorruptedInput(d.Train, dataset.Corruption{Name: "blur", Severity: 1}, 1)
	if err == nil || !strings.Contains(err.Error(), "corruption blur:1: expected images, the samples are vectors") {
		t.Errorf("error %v", err)
	}
	if _, err := m.Features(t.Context(), newEngine(t), blobs(dataset.Vector(6), 3, 3)); err == nil ||
		!strings.Contains(err.Error(), "vectors of 6 features, the model expects 5 features") {
		t.Errorf("error %v", err)
	}
}

// TestManyClasses trains on more classes than a byte counts.
func TestManyClasses(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes minutes under emulation, which changes nothing of it")
	}
	const classes = 300
	c, _ := Preset("compact")
	c.Batch, c.Epochs, c.Dim, c.Components, c.LR = 32, 30, 32, 8, 1e-2
	d := dataOf(blobs(dataset.Vector(40), 4*classes, classes), classes)
	e := newEngine(t)
	m, err := New(c, d)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fit(t.Context(), e, d.Train, FitOptions{}); err != nil {
		t.Fatal(err)
	}
	predicted, err := m.Predict(t.Context(), e, d.Train)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, y := range predicted {
		if y == d.Train.Labels[i] && y > 255 {
			right++
		}
	}
	if right < 4*(classes-256)*8/10 {
		t.Errorf("%d of %d samples of classes above 255 right", right, 4*(classes-256))
	}
}

// TestOverflowNamesTheSample evaluates a network of vectors whose classifier overflows: the error speaks of a vector.
func TestOverflowNamesTheSample(t *testing.T) {
	e := newEngine(t)
	d := dataOf(blobs(dataset.Vector(5), 40, 2), 2)
	c, _ := Preset("compact")
	c.Extractor, c.Components = "identity", 2
	m := newModel(t, c, d)
	for _, p := range m.head.Params() {
		for i := range p.Data {
			p.Data[i] = math.MaxFloat32
		}
	}
	_, predicted := m.Predict(t.Context(), e, d.Train)
	_, scored := m.Score(t.Context(), e, d.Train)
	for _, err := range []error{predicted, scored} {
		if err == nil || !strings.Contains(err.Error(), "of vector ") {
			t.Errorf("error %v, expected one about a vector", err)
		}
	}
}
