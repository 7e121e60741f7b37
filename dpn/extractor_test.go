package dpn

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/safetensors"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"
)

// extractorConfigs are networks with hidden layers before the potential, for the images of
// imageModel: convolutions leave a row and a column out.
func extractorConfigs() []Config {
	small := Config{Extractor: "mlp", Dim: 5, Components: 3, Steps: 3, Scale: 0.5, Alpha: 0.4}
	deep, conv := small, small
	deep.Hidden, deep.LayerNorm = "7-6", true
	conv.Extractor, conv.LayerNorm = "conv", true
	conv3 := small
	conv3.Extractor = "conv3"
	narrow := conv
	narrow.Hidden = "3-5"
	return []Config{completed(small), completed(deep), completed(conv), completed(conv3), completed(narrow)}
}

// imageModel is a network for random images of 5 x 6 pixels, of 7 x 8 for conv3.
func imageModel(t *testing.T, c Config) (*Model, *dataset.Set) {
	t.Helper()
	r := num.NewRand(6, 0)
	shape := dataset.Grey(5, 6)
	if c.Extractor == "conv3" {
		shape = dataset.Grey(7, 8)
	}
	set := &dataset.Set{Shape: shape, Pixels: make([]byte, 4*shape.Len()), Labels: []uint16{2, 0, 1, 2}}
	for i := range set.Pixels {
		set.Pixels[i] = byte(r.Intn(256))
	}
	c.Batch = 4
	m, err := New(c, &dataset.Data{Train: set, Test: set, Classes: dataset.Numbered(3), Norm: dataset.Uniform(0.4,
		0.3)})
	if err != nil {
		t.Fatal(err)
	}
	r.Normal(m.potential.Centres().Data)
	return m, set
}

// features64 computes the features of n rows of pixels in float64, in the first pass of training.
func features64(c Config, params map[string][]float64, x []float64, n int) []float64 {
	linear := func(name string, x []float64) []float64 {
		w, b := params[name+".weight"], params[name+".bias"]
		in := len(x) / n
		return affine(blas(x, n, in), w, b, len(b)).Data
	}
	relu := func(x []float64) []float64 {
		for i, v := range x {
			x[i] = max(v, 0)
		}
		return x
	}
	if c.Extractor == "mlp" {
		widths, _ := parseWidths(c.Hidden)
		for i := range widths {
			x = relu(linear(fmt.Sprintf("feature_extractor.%d", 2*i), x))
		}
		return linear(fmt.Sprintf("feature_extractor.%d", 2*len(widths)), x)
	}
	if c.Extractor == "conv3" {
		image := reference.Image{Channels: 1, Rows: 7, Cols: 8}
		for _, name := range []string{"feature_extractor.0", "feature_extractor.2"} {
			conv := reference.Conv2D{In: image, Weight: params[name+".weight"], Bias: params[name+".bias"], Kernel: 3}
			image = conv.Out()
			x = relu(conv.Apply(x, n))
		}
		seeds := num.NewRand(num.NewRand(c.Seed, stream.Dropout).Uint64(), 0)
		drop := func(x []float64, p float64) []float64 {
			r := num.NewRand(seeds.Uint64(), 0)
			for i := range x {
				if x[i] /= 1 - p; float64(r.Float32()) < p {
					x[i] = 0
				}
			}
			return x
		}
		x = drop(reference.MaxPool(image, x, n), 0.25)
		return drop(relu(linear("feature_extractor.7", x)), 0.5)
	}
	image := reference.Image{Channels: 1, Rows: 5, Cols: 6}
	for _, name := range []string{"feature_extractor.0", "feature_extractor.3"} {
		conv := reference.Conv2D{
			In:      image,
			Weight:  params[name+".weight"],
			Bias:    params[name+".bias"],
			Kernel:  5,
			Padding: 2,
		}
		image = conv.Out()
		x = reference.MaxPool(image, relu(conv.Apply(x, n)), n)
		image.Rows, image.Cols = image.Rows/2, image.Cols/2
	}
	return linear("feature_extractor.7", x)
}

// TestExtractorGradients holds the gradient that reaches the layers of an extractor through
// classifier, ascent and normalisation against central differences in float64.
func TestExtractorGradients(t *testing.T) {
	e := newEngine(t)
	most := 40 // parameters of a tensor
	if testing.Short() {
		most = 3
	}
	for _, c := range extractorConfigs() {
		t.Run(c.Extractor+c.Hidden, func(t *testing.T) {
			m, set := imageModel(t, c)
			s := NewTrainer(m, e)
			loss := s.exact(whole(set, []int32{0, 1, 2, 3}))
			params := map[string][]float64{}
			for _, p := range m.Params() {
				params[p.Name] = reference.Vector(p.Data)
			}
			x := reference.Vector(s.x.Data)
			loss64 := func() float64 {
				o := &oracle{t: t, in: c.Dim, d: c.Dim, k: c.Components, classes: 3, steps: c.Steps, norm: c.LayerNorm,
					form: c.Form, scale: float64(float32(c.Scale)), eps: c.Eps,
					params: params, x: blas(features64(c, params, x, 4), 4, c.Dim), labels: set.Labels}
				_, _, _, _, l := o.forward()
				return l
			}
			if want := loss64(); !(math.Abs(loss-want) <= 1e-5*want) {
				t.Errorf("loss %v, in float64 %v", loss, want)
			}
			for _, p := range m.extractor.Params() {
				v := params[p.Name]
				step := max(len(v)/most, 1)
				largest := 0.0
				for _, g := range p.Grad {
					largest = max(largest, math.Abs(float64(g)))
				}
				if largest == 0 {
					t.Errorf("no gradient reaches %s", p.Name)
				}
				for i := 0; i < len(v); i += step {
					const h = 1e-6
					old := v[i]
					v[i] = old + h
					up := loss64()
					v[i] = old - h
					diff := (up - loss64()) / (2 * h)
					v[i] = old
					if got := float64(p.Grad[i]); !(math.Abs(got-diff) <= 1e-4*largest) {
						t.Errorf("%s[%d]: gradient %.9g, central difference %.9g", p.Name, i, got, diff)
					}
				}
			}
		})
	}
}

// TestExtractorFiles writes models with every extractor and reads them back, with their
// settings, and without them as PyTorch would write a state dictionary.
func TestExtractorFiles(t *testing.T) {
	e := newEngine(t)
	keys := map[string][]string{
		"mlp":    {"0.weight [5 30]", "0.bias [5]"},
		"mlp7-6": {"0.weight [7 30]", "0.bias [7]", "2.weight [6 7]", "2.bias [6]", "4.weight [5 6]", "4.bias [5]"},
		"conv": {
			"0.weight [8 1 5 5]",
			"0.bias [8]",
			"3.weight [16 8 5 5]",
			"3.bias [16]",
			"7.weight [5 16]",
			"7.bias [5]",
		},
		"conv3-5": {"0.weight [3 1 5 5]", "0.bias [3]", "3.weight [5 3 5 5]", "3.bias [5]", "7.weight [5 5]",
			"7.bias [5]"},
		"conv3": {"0.weight [32 1 3 3]", "0.bias [32]", "2.weight [64 32 3 3]", "2.bias [64]", "7.weight [5 128]",
			"7.bias [5]"},
	}
	for _, c := range extractorConfigs() {
		m, set := imageModel(t, c)
		var have []string
		for _, p := range m.extractor.Params() {
			have = append(have, strings.TrimPrefix(p.Name, "feature_extractor.")+" "+fmt.Sprint(p.Shape))
		}
		if want := keys[c.Extractor+c.Hidden]; !slices.Equal(have, want) {
			t.Errorf("tensors %q, want %q", have, want)
		}
		path := filepath.Join(t.TempDir(), "m.safetensors")
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
		got, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		if got.Config != m.Config || got.WeightsSHA256() != m.WeightsSHA256() {
			t.Errorf("read %+v, wrote %+v", got.Config, m.Config)
		}
		a, err := m.Features(t.Context(), e, set)
		if err != nil {
			t.Fatal(err)
		}
		if b, err := got.Features(t.Context(), e, set); err != nil || !slices.Equal(a.Data, b.Data) {
			t.Errorf("other features after reading, %v", err)
		}
		f := m.file(formatModel)
		f.Metadata = map[string]string{metaRows: strconv.Itoa(m.Shape.Rows), metaCols: strconv.Itoa(m.Shape.Cols)}
		bare, err := FromTensors(f, "", Published)
		if err != nil {
			t.Fatal(err)
		}
		if bare.Config.Extractor != c.Extractor || bare.Config.Hidden != c.Hidden || bare.Shape != m.Shape ||
			bare.WeightsSHA256() != m.WeightsSHA256() {
			t.Errorf("without settings: samples of %v, %+v", bare.Shape, bare.Config)
		}
		for i := range f.Tensors { // corrupt the shape of one tensor after the other
			old := f.Tensors[i]
			f.Tensors[i] = safetensors.Tensor{
				Name:  old.Name,
				Shape: []int{len(old.Data) + 1},
				Data:  make([]float32, len(old.Data)+1),
			}
			if _, err := FromTensors(f, "", Published); err == nil || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s of another shape: error %v, want one line", old.Name, err)
			}
			f.Tensors[i] = old
		}
	}
	c := extractorConfigs()[2]
	m, _ := imageModel(t, c)
	f := m.file(formatModel)
	f.Metadata[metaRows] = "8"
	if _, err := FromTensors(f, "", Published); err == nil || !strings.Contains(err.Error(), "images of 8 x 6") {
		t.Errorf("error %v, want one about the size of images", err)
	}
}

// TestExtractorSettings checks that settings that do not fit are refused by name.
func TestExtractorSettings(t *testing.T) {
	for want, change := range map[string]func(*Config){
		`hidden "7-0"`:    func(c *Config) { c.Extractor, c.Hidden = "mlp", "7-0" },
		`hidden "7--1"`:   func(c *Config) { c.Extractor, c.Hidden = "mlp", "7--1" },
		`hidden "99999"`:  func(c *Config) { c.Extractor, c.Hidden = "mlp", "99999" },
		`hidden "9"`:      func(c *Config) { c.Extractor, c.Hidden = "conv", "9" },
		`hidden "9-9-9"`:  func(c *Config) { c.Extractor, c.Hidden = "conv", "9-9-9" },
		`hidden "9-1025"`: func(c *Config) { c.Extractor, c.Hidden = "conv", "9-1025" },
		`hidden "30"`:     func(c *Config) { c.Extractor, c.Hidden = "linear", "30" },
		"dim 0":           func(c *Config) { c.Extractor, c.Dim = "conv", 0 },
		`extractor "cnn"`: func(c *Config) { c.Extractor = "cnn" },
		`optimiser "sgd"`: func(c *Config) { c.Optimiser = "sgd" },
	} {
		c, _ := Preset("compact")
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want one that begins with %q", err, want)
		}
	}
	c, _ := Preset("clean")
	set := &dataset.Set{Shape: dataset.Grey(3, 30), Pixels: make([]byte, 90), Labels: []uint16{0}}
	if _, err := New(c, &dataset.Data{Train: set, Test: set, Classes: dataset.Numbered(1),
		Norm: dataset.MNISTNorm}); err == nil ||
		!strings.Contains(err.Error(), "3 x 30") {
		t.Errorf("error %v, want one about images of 3 x 30", err)
	}
}

// TestMNISTCNN holds the size of the preset mnistc-cnn against that of PyTorch's example, also for a state
// dictionary that does not say the size of the images.
func TestMNISTCNN(t *testing.T) {
	c, _ := Preset("mnistc-cnn")
	m := newModel(t, c, digits(t, 20, 1))
	if got, want := m.MACs(), 26*26*32*9+24*24*64*288+9216*128+1280; got != want {
		t.Errorf("%d multiply-adds, want %d", got, want)
	}
	if b := c.TrainingBytes(dataset.Grey(28, 28), 10, 60000); b < 100e6 || b > 400e6 {
		t.Errorf("%g bytes", b)
	}
	// All initial weights in the order of torch.nn.Module.parameters, of PyTorch 1.13 after torch.manual_seed(1).
	h := sha256.New()
	for _, p := range append(m.extractor.Params(), m.head.Params()...) {
		binary.Write(h, binary.LittleEndian, p.Data)
	}
	const want = "8591166fbdf30a1dc910e4c9ae48d47c21743798a0ace9c8eff730539a9fc4de"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("initial weights have the hash %s, those of PyTorch %s", got, want)
	}
	c.Form = potential.FormFull // as a state dictionary has it
	f := newModel(t, c, digits(t, 20, 1)).file(formatModel)
	f.Metadata = nil
	bare, err := FromTensors(f, "", Published)
	if err != nil {
		t.Fatal(err)
	}
	if bare.Shape != dataset.Grey(28, 28) || bare.Config.Extractor != "conv3" {
		t.Errorf("images of %v by %s, want 28 x 28 by conv3", bare.Shape, bare.Config.Extractor)
	}
}

// TestCleanMACs holds the size of the preset clean against what it was designed for: 1.05 million
// multiply-adds an image.
func TestCleanMACs(t *testing.T) {
	c, _ := Preset("clean")
	m := newModel(t, c, digits(t, 20, 1))
	if got, want := m.MACs(), 784*25*8+196*200*16+784*64+5*10*64*64+640; got != want {
		t.Errorf("%d multiply-adds, want %d", got, want)
	}
	if b := c.TrainingBytes(dataset.Grey(28, 28), 10, 60000); b < 50e6 || b > 400e6 {
		t.Errorf("%g bytes for the preset clean", b)
	}
}
