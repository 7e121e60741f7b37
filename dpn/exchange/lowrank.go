package exchange

import (
	"fmt"
	"math"

	"dpnbench/dpn/potential"
	"dpnbench/engine/num"
)

// lowRank are precisions P_i = diag(w_i) + sign F_i^T F_i, and the centres, as the steps of an ONNX graph use
// them. Products of points near the origin lose fewer digits, so the steps work on x minus the mean of the
// centres.
type lowRank struct {
	k, d, r int
	sign    float32
	w       []float32 // k x d
	f       []float32 // k r x d
	uniform bool      // all w are the same number

	middle   []float32 // d, the mean of the centres
	nu       []float32 // k x d, mu_i minus it
	weighted []float32 // k x d, w_i nu_i, column by column
	l0       []float32 // k, c_i - nu_i w_i nu_i / 2
	offset   []float32 // k r, -F_i nu_i
}

// lowRank returns the precisions of a form that is not dense.
func (o *onnx) lowRank() (*lowRank, error) {
	p, c := o.m.Potential(), o.m.Config
	t := &lowRank{k: p.K, d: p.D, sign: 1, w: make([]float32, p.K*p.D)}
	scale := float32(c.Scale)
	factors := func(name string, by float32) {
		t.r = c.Rank
		for _, v := range o.tensors[potentialKey+name].Data {
			t.f = append(t.f, by*v)
		}
	}
	switch c.Form {
	case potential.FormDiag, potential.FormLowRank:
		for i, l := range o.tensors[potentialKey+"l"].Data {
			t.w[i] = scale * scale * num.Exp32(2*l)
		}
		if c.Form == potential.FormLowRank {
			factors("R", scale)
		}
	case potential.FormFlat:
		t.sign, t.uniform = -1, true
		for i := range t.w {
			t.w[i] = scale * scale
		}
		factors("U", float32(c.Scale*math.Sqrt(1-c.Eps)))
	default:
		return nil, fmt.Errorf("form %q: expected one of %v", c.Form, potential.Forms())
	}
	t.centre(p)
	return t, nil
}

// centre computes what depends on the centres, in float64.
func (t *lowRank) centre(p *potential.Potential) {
	mu := p.Centres()
	t.middle, t.l0 = make([]float32, t.d), make([]float32, t.k)
	t.nu, t.weighted = make([]float32, t.k*t.d), make([]float32, t.k*t.d)
	for j := range t.middle {
		var sum float64
		for i := range t.k {
			sum += float64(mu.At(i, j))
		}
		t.middle[j] = float32(sum / float64(t.k))
	}
	for i := range t.k {
		var q float64
		for j, m := range t.middle {
			at := i*t.d + j
			t.nu[at] = mu.At(i, j) - m
			v := float64(t.nu[at])
			wv := float64(t.w[at]) * v
			t.weighted[at] = float32(wv)
			q += float64(wv * v)
		}
		t.l0[i] = float32(float64(p.LogWeights()[i]) - q/2)
	}
	t.offset = make([]float32, t.k*t.r)
	for row := range t.offset {
		var sum float64
		for j, f := range t.f[row*t.d : (row+1)*t.d] {
			sum += float64(float64(f) * float64(t.nu[row/t.r*t.d+j]))
		}
		t.offset[row] = float32(-sum)
	}
}

// lowRankStep returns -grad phi at x, of which middle was subtracted. With z_i = F_i (x - nu_i),
//
//	l_i = c_i - nu_i w_i nu_i / 2 + x (w_i nu_i) - x^2 w_i / 2 - sign |z_i|^2 / 2,   r = softmax(l)
//	sum_i r_i (w_i x - w_i nu_i + sign F_i^T z_i)
//
// Where all w are the same number the term in x^2 is left out: it changes no r, and would cost digits.
func (o *onnx) lowRankStep(x string, t *lowRank) string {
	weighted := o.constant("w nu", t.weighted, t.k, t.d)
	l := o.node("Gemm", []string{x, weighted, o.constant("l0", t.l0, t.k)}, intOf("transB", 1))
	if !t.uniform {
		square := o.node("Gemm", []string{o.node("Mul", []string{x, x}), o.constant("w", t.w, t.k, t.d)},
			intOf("transB", 1))
		l = o.node("Sub", []string{l, o.node("Mul", []string{square, "half"})})
	}
	var z string // N x k x r
	if t.r > 0 {
		z = o.node("Gemm", []string{x, o.constant("F", t.f, t.k*t.r, t.d), o.constant("offset", t.offset, t.k*t.r)},
			intOf("transB", 1))
		z = o.node("Reshape", []string{z, o.integers("separate", -1, t.k, t.r)})
		norms := o.node("ReduceSum", []string{o.node("Mul", []string{z, z}), "axis 2"}, intOf("keepdims", 0))
		l = o.node("Sub", []string{l, o.node("Mul", []string{norms, o.scalar("half sign", t.sign/2)})})
	}
	r := o.node("Softmax", []string{l}, intOf("axis", 1))
	var down string
	if t.uniform {
		down = o.node("Mul", []string{x, o.scalar("w", t.w[0])})
	} else {
		down = o.node("Mul", []string{x, o.node("MatMul", []string{r, "w"})})
	}
	down = o.node("Sub", []string{down, o.node("MatMul", []string{r, weighted})})
	if t.r > 0 {
		z = o.node("Mul", []string{o.node("Unsqueeze", []string{r, "axis 2"}), z})
		z = o.node("Reshape", []string{z, o.integers("joined", -1, t.k*t.r)})
		z = o.node("Mul", []string{z, o.scalar("sign", t.sign)})
		down = o.node("Add", []string{down, o.node("MatMul", []string{z, "F"})})
	}
	return down
}
