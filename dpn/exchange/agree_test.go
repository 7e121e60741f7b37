package exchange

import (
	"encoding/binary"
	"flag"
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
)

// tolerance is the largest difference of logits, as a share of their range.
const tolerance = 1e-4

var (
	modelFiles = flag.String("models", "", "model `FILES`, comma-separated, for TestTrained")
	images     = flag.String("data", "mnist", "images for TestTrained: mnist, digits or a folder")
	firstTest  = flag.Int("first", 0, "the first `N` test images only, for networks that are slow in PyTorch; 0: all")
)

// network is an exported model, and images to compare it on.
type network struct {
	name string
	m    *dpn.Model
	s    *dataset.Set
	dir  string
}

// exportAll exports networks to folders of their own, with the images.
func exportAll(t testing.TB, e *engine.Engine, list []network) {
	t.Helper()
	for i := range list {
		n := &list[i]
		n.dir = export(t, e, n.m)
		samples := n.s.Pixels
		for _, v := range n.s.Values {
			samples = binary.NativeEndian.AppendUint32(samples, math.Float32bits(v))
		}
		write(t, filepath.Join(n.dir, "images"), samples)
		var labels []byte
		for i := range n.s.Len() {
			labels = n.s.AppendLabel(labels, i)
		}
		write(t, filepath.Join(n.dir, "labels"), labels)
	}
}

// inPyTorch compares exported networks with PyTorch.
func inPyTorch(t *testing.T, e *engine.Engine, list []network) {
	var tasks []task
	for _, n := range list {
		tasks = append(tasks, task{n.dir, "logits"})
	}
	results := modules(t, python(t), tasks)
	for i, n := range list {
		t.Run(n.name, func(t *testing.T) {
			agree(t, e, n, floats(t, filepath.Join(n.dir, "logits")), nil)
			x, err := n.m.Features(t.Context(), e, n.s.Slice(0, 10))
			if err != nil {
				t.Fatal(err)
			}
			phi := make([]float32, 10)
			n.m.Potential().Evaluate(e, x, phi, engine.Matrix{})
			for b, got := range results[i].Potential {
				if want := float64(phi[b]); !(math.Abs(got-want) <= 1e-4*(1+math.Abs(want))) {
					t.Errorf("phi of image %d is %v, want %v", b, got, want)
				}
			}
		})
	}
}

// inONNX compares exported networks with onnxruntime.
func inONNX(t *testing.T, e *engine.Engine, list []network) {
	node := node(t)
	for _, n := range list {
		t.Run(n.name, func(t *testing.T) {
			path := func(name string) string { return filepath.Join(n.dir, name) }
			var r reply
			if err := ask(t, &r, node, "testdata/graph.cjs", path("model.onnx"), path("images"), shapeText(n.s.Shape),
				path("logits"), path("denoised")); err != nil {
				t.Fatal(err)
			}
			want := "[images] [logits denoised]"
			if !n.s.IsImage() {
				want = "[vectors] [logits denoised]"
			}
			if got := fmt.Sprint(r.Inputs, r.Outputs); got != want {
				t.Errorf("inputs and outputs %s, want %s", got, want)
			}
			agree(t, e, n, floats(t, path("logits")), floats(t, path("denoised")))
		})
	}
}

// shapeText is the shape of samples for graph.cjs.
func shapeText(s dataset.Shape) string {
	if s.IsImage() {
		return fmt.Sprintf("%d,%d,%d", s.Channels, s.Rows, s.Cols)
	}
	return fmt.Sprint(s.Features)
}

// agree compares logits, and denoised features if there are any, with ours.
func agree(t *testing.T, e *engine.Engine, n network, y, moved []float32) {
	t.Helper()
	logits, denoised := ours(t, e, n.m, n.s)
	d, other := largest(t, logits.Data, y), classes(logits, y)
	text := ""
	if moved != nil {
		x := largest(t, denoised.Data, moved)
		text = fmt.Sprintf(", of denoised features %.1e", x)
		if !(x <= 10*tolerance) {
			t.Errorf("denoised features differ by %.2e of their range", x)
		}
	}
	t.Logf("%d images: largest difference of logits %.1e of their range%s, %d other classes", n.s.Len(), d, text, other)
	if !(d <= tolerance) || other > 0 {
		t.Errorf("logits differ by %.2e of their range, expected at most %.0e; %d other classes", d, tolerance, other)
	}
}

// small makes a network of a preset that has learned a little, and images to compare it on. Networks on pixels
// with dense precisions get small images: other programs have no sparse route.
func small(t testing.TB, e *engine.Engine, name string) (*dpn.Model, *dataset.Set) {
	c := preset(t, name)
	d := digits(t, 600, 1000)
	if c.Extractor == "identity" && potential.FormOf(c.Form).Dense {
		resize(t, d, 12, 12)
	}
	c.Batch = 32
	return trained(t, e, c, d, 8), d.Test
}

// variants are networks of forms, extractors and sizes that no preset has.
func variants(t testing.TB) map[string]dpn.Config {
	all := map[string]dpn.Config{}
	for _, form := range potential.Forms() {
		c := preset(t, "compact")
		c.Form, c.Rank, c.Dim, c.Components = form, 3, 16, 7
		all["form "+form] = c
	}
	c := preset(t, "compact")
	c.Extractor, c.Hidden, c.Dim = "mlp", "40-30", 12
	all["mlp"] = c
	c.Hidden, c.LayerNorm = "", false
	all["mlp without hidden layers"] = c
	c = preset(t, "clean")
	c.Dim, c.Steps = 8, 0
	all["no steps"] = c
	c.Hidden, c.Contrast, c.Centre = "3-5", true, dataset.CentreMass
	all["centred by mass"] = c
	c.RMS = true
	all["root mean square"] = c
	c = preset(t, "robust-small")
	c.Rank, c.Form = 2, potential.FormLowRank
	all["wide low-rank"] = c
	c.Components, c.Init = 1, dpn.InitKMeans
	all["one component"] = c
	return all
}

// networks are those of all presets, and the variants.
func networks(t testing.TB, e *engine.Engine) (list []network) {
	if testing.Short() {
		t.Skip("left out by -short: trains networks of all presets")
	}
	for _, name := range dpn.Presets() {
		m, s := small(t, e, name)
		list = append(list, network{name: name, m: m, s: s})
	}
	for name, c := range variants(t) {
		d := digits(t, 300, 250)
		resize(t, d, 13, 18)
		c.Batch = 32
		list = append(list, network{name: name, m: trained(t, e, c, d, 6), s: d.Test})
	}
	for name, vectors := range map[string]bool{"colours": false, "vectors": true} {
		c := preset(t, "clean")
		if vectors {
			c.Extractor, c.Hidden = "mlp", "20"
		}
		c.Batch = 32
		d := recast(t, digits(t, 300, 250), vectors)
		list = append(list, network{name: name, m: trained(t, e, c, d, 6), s: d.Test})
	}
	exportAll(t, e, list)
	return list
}

// recast makes colour images of 16 x 16, or vectors of 36 features, of grey images.
func recast(t testing.TB, d *dataset.Data, vectors bool) *dataset.Data {
	t.Helper()
	side := 16
	if vectors {
		side = 6
	}
	resize(t, d, side, side)
	var sets [2]*dataset.Set
	for i, s := range []*dataset.Set{d.Train, d.Test} {
		sets[i] = &dataset.Set{Shape: dataset.Shape{Rows: side, Cols: side, Channels: 3}, Labels: s.Labels}
		if vectors {
			sets[i].Shape = dataset.Vector(side * side)
		}
		for n := range s.Len() {
			for j, v := range s.Image(n) {
				if vectors {
					sets[i].Values = append(sets[i].Values, float32(j)*float32(v)/50-3)
				}
			}
			for channel := 1; channel <= 3 && !vectors; channel++ {
				for _, v := range s.Image(n) {
					sets[i].Pixels = append(sets[i].Pixels, byte(int(v)*channel/4+20*channel))
				}
			}
		}
	}
	out, err := dataset.New("recast", sets[0], sets[1], d.Classes)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func resize(t testing.TB, d *dataset.Data, rows, cols int) {
	t.Helper()
	for _, s := range []**dataset.Set{&d.Train, &d.Test} {
		small, err := (*s).Resize(rows, cols)
		if err != nil {
			t.Fatal(err)
		}
		*s = small
	}
}

// TestAgree compares exports of networks of all presets, forms and extractors with PyTorch and onnxruntime.
func TestAgree(t *testing.T) {
	e := newEngine(t)
	list := networks(t, e)
	t.Run("PyTorch", func(t *testing.T) { inPyTorch(t, e, list) })
	t.Run("ONNX", func(t *testing.T) { inONNX(t, e, list) })
}

// TestTrained compares the models of -models on all test images of -data.
func TestTrained(t *testing.T) {
	if *modelFiles == "" {
		t.Skip("without -models: by hand, on trained models")
	}
	e := newEngine(t)
	d, err := source.Open(*images, source.Options{TestOnly: true, Seed: 1, TestSize: *firstTest})
	if err != nil {
		t.Fatal(err)
	}
	var list []network
	for _, path := range strings.Split(*modelFiles, ",") {
		m, err := dpn.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, network{name: path, m: m, s: d.Test})
	}
	exportAll(t, e, list)
	t.Run("PyTorch", func(t *testing.T) { inPyTorch(t, e, list) })
	t.Run("ONNX", func(t *testing.T) { inONNX(t, e, list) })
}
