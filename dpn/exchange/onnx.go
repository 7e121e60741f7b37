package exchange

import (
	"io"
	"strconv"
	"strings"

	"dpnbench/dpn"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/internal/sysinfo"
)

// Versions of the format: ONNX 1.12, the first with LayerNormalization.
const (
	irVersion    = 8
	opsetVersion = 17
)

// Names of the inputs and outputs of an ONNX graph.
const (
	ImagesName   = "images"   // N x channels x rows x cols, levels in [0, 1]
	VectorsName  = "vectors"  // N x features, of a network of vectors
	LogitsName   = "logits"   // N x classes
	DenoisedName = "denoised" // N x d, where the ascent ends
)

// WriteONNX writes m as an ONNX graph of opset 17 from ImagesName or VectorsName to LogitsName and DenoisedName, for
// any number N of samples. The ascent is a Loop. Precisions are stored as they enter the products: P_i for the
// forms full and tied, weights and factors for the others.
func WriteONNX(w io.Writer, e *engine.Engine, m *dpn.Model) error {
	o := &onnx{graph: &graph{}, m: m, tensors: map[string]*layer.Param{}}
	for _, p := range m.Params() {
		o.tensors[p.Name] = p
	}
	g := o.graph
	g.body.text(2, "denoising potential network")
	content := "levels in [0, 1]"
	if s := m.Shape; s.IsImage() {
		g.value(graphInput, o.input(), onnxFloat, "N", s.Channels, s.Rows, s.Cols)
	} else {
		g.value(graphInput, o.input(), onnxFloat, "N", s.Features)
		content = "features as measured"
	}
	if m.Shape.Channels == 1 {
		content = "grey levels in [0, 1]"
	}
	g.value(graphOutput, LogitsName, onnxFloat, "N", len(m.Classes))
	g.value(graphOutput, DenoisedName, onnxFloat, "N", m.Dim())
	x, err := o.ascend(e, o.extract())
	if err != nil {
		return err
	}
	o.rename(x, DenoisedName)
	o.rename(o.linear(x, classifier), LogitsName)

	var head, opset message
	head.int(1, irVersion)
	head.text(2, "dpnbench")
	head.text(3, sysinfo.Version())
	opset.int(2, opsetVersion)
	head.bytes(8, opset)
	for _, p := range [][2]string{{"settings", m.Config.TOML()}, {"input", content}} {
		var entry message
		entry.text(1, p[0])
		entry.text(2, p[1])
		head.bytes(14, entry)
	}
	return g.write(w, head)
}

// onnx is the graph of a network.
type onnx struct {
	*graph
	m       *dpn.Model
	tensors map[string]*layer.Param
}

// Names of tensors, or what they begin with.
const (
	extractorKey = "feature_extractor"
	potentialKey = "denoising_potential."
	classifier   = "classifier"
)

// rename gives a value a name that the graph declares.
func (o *onnx) rename(value, name string) {
	var m message
	m.text(1, value)
	m.text(2, name)
	m.text(3, name)
	m.text(4, "Identity")
	o.body.bytes(1, m)
}

// tensor adds a tensor of the model by its name.
func (o *onnx) tensor(name string) string {
	p := o.tensors[name]
	return o.constant(name, p.Data, p.Shape...)
}

// scalar adds a constant of one number.
func (o *onnx) scalar(name string, v float32) string { return o.constant(name, []float32{v}) }

// input is the name of the samples.
func (o *onnx) input() string {
	if o.m.Shape.IsImage() {
		return ImagesName
	}
	return VectorsName
}

// norm adds the means or the deviations of a normalisation.
func (o *onnx) norm(name string, v []float32) string {
	switch {
	case len(v) == 1:
		return o.scalar(name, v[0])
	case o.m.Shape.IsImage():
		return o.constant(name, v, len(v), 1, 1)
	}
	return o.constant(name, v, len(v))
}

// linear is a linear layer with tensors name.weight and name.bias.
func (o *onnx) linear(x, name string) string {
	return o.node("Gemm", []string{x, o.tensor(name + ".weight"), o.tensor(name + ".bias")}, intOf("transB", 1))
}

// extract returns the features.
func (o *onnx) extract() string {
	c, key := o.m.Config, extractorKey
	x := o.node("Sub", []string{o.preprocess(o.input()), o.norm("mean", o.m.Norm.Mean)})
	x = o.node("Div", []string{x, o.norm("std", o.m.Norm.Std)})
	if c.Extractor != "conv" && c.Extractor != "conv3" {
		x = o.node("Flatten", []string{x})
	}
	switch c.Extractor {
	case "linear":
		x = o.linear(x, key)
	case "mlp":
		last := 2 * strings.Count(c.Hidden, "-")
		if c.Hidden != "" {
			last += 2
		}
		for i := 0; i <= last; i += 2 {
			if i > 0 {
				x = o.node("Relu", []string{x})
			}
			x = o.linear(x, key+"."+strconv.Itoa(i))
		}
	case "conv":
		for _, layer := range []string{key + ".0", key + ".3"} {
			x = o.node("Conv", []string{x, o.tensor(layer + ".weight"), o.tensor(layer + ".bias")},
				intsOf("pads", 2, 2, 2, 2))
			x = o.node("Relu", []string{x})
			x = o.node("MaxPool", []string{x}, intsOf("kernel_shape", 2, 2), intsOf("strides", 2, 2))
		}
		x = o.linear(o.node("Flatten", []string{x}), key+".7")
	case "conv3": // dropout is the identity
		for _, layer := range []string{key + ".0", key + ".2"} {
			x = o.node("Conv", []string{x, o.tensor(layer + ".weight"), o.tensor(layer + ".bias")})
			x = o.node("Relu", []string{x})
		}
		x = o.node("MaxPool", []string{x}, intsOf("kernel_shape", 2, 2), intsOf("strides", 2, 2))
		x = o.node("Relu", []string{o.linear(o.node("Flatten", []string{x}), key+".7")})
	}
	if c.LayerNorm {
		ones := make([]float32, o.m.Dim())
		for i := range ones {
			ones[i] = 1
		}
		x = o.node("LayerNormalization", []string{x, o.constant("ones", ones, len(ones))},
			floatOf("epsilon", layer.Eps))
	}
	return x
}

// ascend returns the features after all steps.
func (o *onnx) ascend(e *engine.Engine, x string) (string, error) {
	body := &onnx{graph: &graph{outer: o.graph}, m: o.m, tensors: o.tensors}
	in, d := body.name("x"), o.m.Dim()
	iteration, running := body.name("iteration"), body.name("running")
	body.body.text(2, "step")
	body.value(graphInput, iteration, onnxInt64)
	body.value(graphInput, running, onnxBool)
	body.value(graphInput, in, onnxFloat, "N", d)
	body.constantsOfSteps()
	var down, middle string
	if potential.FormOf(o.m.Config.Form).Dense {
		down = body.denseStep(in, o.precisions(e))
	} else {
		t, err := o.lowRank()
		if err != nil {
			return "", err
		}
		middle = o.constant("middle", t.middle, d)
		x = o.node("Sub", []string{x, middle})
		down = body.lowRankStep(in, t)
	}
	down = body.node("Mul", []string{down, "alpha"})
	next := body.node("Sub", []string{in, down})
	on := body.node("Identity", []string{running})
	body.value(graphOutput, on, onnxBool)
	body.value(graphOutput, next, onnxFloat, "N", d)
	x = o.node("Loop", []string{o.integer("steps", o.m.Config.Steps), o.truth("true"), x},
		graphOf("body", body.graph.body))
	if middle != "" {
		x = o.node("Add", []string{x, middle})
	}
	return x, nil
}

// constantsOfSteps adds what the steps of all forms use.
func (o *onnx) constantsOfSteps() {
	o.scalar("alpha", o.m.Potential().Alpha())
	o.scalar("half", 0.5)
	for axis, name := range []string{"axis 0", "axis 1", "axis 2"} {
		o.integers(name, axis)
	}
}

// precisions adds all P_i, k x d x d, or the only one.
func (o *onnx) precisions(e *engine.Engine) string {
	d, n := o.m.Dim(), o.m.Potential().Distinct()
	a := o.tensors[potentialKey+"A"].Data
	all := make([]float32, n*d*d)
	for i := range n {
		at := engine.View(a[i*d*d:(i+1)*d*d], d, d)
		e.MatMul(engine.View(all[i*d*d:(i+1)*d*d], d, d), at.T(), at, false)
	}
	return o.constant("P", all, n, d, d)
}

// denseStep returns -grad phi at x for P_i that are k x d x d:
//
//	D_i = x - mu_i,  G_i = D_i P_i,  r = softmax(c_i - rowsum(D_i * G_i) / 2),  sum_i r_i G_i
func (o *onnx) denseStep(x, precisions string) string {
	k, d := o.m.Potential().K, o.m.Dim()
	mu := o.constant("mu", o.m.Potential().Centres().Data, k, 1, d)
	c := o.constant("c", o.m.Potential().LogWeights(), k, 1, 1)
	delta := o.node("Sub", []string{o.node("Unsqueeze", []string{x, "axis 0"}), mu})
	g := o.node("MatMul", []string{delta, precisions})
	q := o.node("ReduceSum", []string{o.node("Mul", []string{delta, g}), "axis 2"}) // k x N x 1
	r := o.node("Softmax", []string{o.node("Sub", []string{c, o.node("Mul", []string{q, "half"})})}, intOf("axis", 0))
	return o.node("ReduceSum", []string{o.node("Mul", []string{r, g}), "axis 0"}, intOf("keepdims", 0))
}
