package check

import (
	"math"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"
)

var vectorArgs = []arg{long(size("n", 37)), offsetArg, dataArg, seedArg}

// longVectors are lengths on both sides of the chunk of one kernel call.
func longVectors(quick bool) [][]int {
	if quick {
		return nil
	}
	var v [][]int
	for _, n := range []int{1<<14 - 1, 1 << 14, 1<<14 + 1, 5<<14 + 7} {
		v = append(v, []int{n, -1, 0, 1})
	}
	return v
}

// Kinds of inputs of exp and log, the values of the argument "points".
const (
	usualPoints   = iota // normal numbers with a standard deviation of 10
	allExponents         // any bits
	nearLimits           // up to 3 floats from a boundary between the function's formulas
	specialPoints        // NaN, infinities, zeros, subnormal numbers
	pointKinds
)

// functionKernel checks exp or log to one ULP.
func functionKernel(call func(*engine.Engine, []float32, []float32), oracle func(float64) float64) definition {
	kinds := []int{usualPoints, allExponents, nearLimits, specialPoints}
	points := arg{name: "points", max: pointKinds - 1, sweep: kinds, quickSweep: kinds}
	return definition{
		args: []arg{size("n", 37), offsetArg, points, seedArg},
		make: func(c Case, mem *memory) trial {
			r := c.rand()
			normal := filler(r, normalData)
			n, off := c.get("n"), c.get("offset")
			x := mem.input(1, n, rowMajor, off, functionInputs(r, normal, c.get("points")))
			out := mem.output(1, n, rowMajor, off, normal)
			tr := trial{run: func(e *engine.Engine) { call(e, vector(out), vector(x)) }}
			for _, v := range vector(x) {
				tr.expectOne(oracle(float64(v)), -1)
			}
			return tr
		},
	}
}

// functionInputs returns a source of inputs of exp and log.
func functionInputs(r *num.Rand, normal func() float32, points int) func() float32 {
	switch points {
	case allExponents:
		return func() float32 { return math.Float32frombits(uint32(r.Uint64())) }
	case nearLimits:
		limits := []float32{0, 1, 88.72284, 89, -87.33655, -103.97208, -104.5,
			0x1p-126, 0x1p-149, math.MaxFloat32, 0x1.6a09e6p-1}
		return func() float32 {
			b := math.Float32bits(limits[r.Intn(len(limits))])
			return math.Float32frombits(b + uint32(r.Intn(7)) - 3)
		}
	case specialPoints:
		nan, inf := float32(math.NaN()), float32(math.Inf(1))
		special := []float32{nan, inf, -inf, 0, float32(math.Copysign(0, -1)), -1,
			0x1p-149, -0x1p-149, -math.MaxFloat32, -0x1p-126}
		return func() float32 { return special[r.Intn(len(special))] }
	}
	return func() float32 { return 10 * normal() }
}

// elementFunction is a function of a factor, two vectors and the old value of the output.
type elementFunction struct {
	// exact returns the value in float64 and the number of float32 roundings.
	exact func(a, x, y, old float64) (value float64, roundings int)
	call  func(e *engine.Engine, out []float32, a float32, x, y []float32)
}

var (
	add = elementFunction{
		func(_, x, y, _ float64) (float64, int) { return x + y, 1 },
		func(e *engine.Engine, out []float32, _ float32, x, y []float32) { e.Add(out, x, y) }}
	multiply = elementFunction{
		func(_, x, y, _ float64) (float64, int) { return x * y, 1 },
		func(e *engine.Engine, out []float32, _ float32, x, y []float32) { e.Multiply(out, x, y) }}
	axpy = elementFunction{
		func(a, x, _, old float64) (float64, int) { return a*x + old, 1 },
		func(e *engine.Engine, out []float32, a float32, x, _ []float32) { e.Axpy(a, x, out) }}
	scale = elementFunction{
		func(a, x, _, _ float64) (float64, int) { return a * x, 1 },
		func(e *engine.Engine, out []float32, a float32, x, _ []float32) { e.Scale(out, a, x) }}
	relu = elementFunction{
		func(_, x, _, _ float64) (float64, int) {
			if x > 0 {
				return x, 0
			}
			return 0, 0 // also for NaN
		},
		func(e *engine.Engine, out []float32, _ float32, x, _ []float32) { e.ReLU(out, x) }}
	reluBackward = elementFunction{
		func(_, x, y, _ float64) (float64, int) {
			if x > 0 {
				return y, 0
			}
			return 0, 0
		},
		func(e *engine.Engine, out []float32, _ float32, x, y []float32) { e.ReLUBackward(out, x, y) }}
)

func elementwise(f elementFunction) definition {
	return definition{args: vectorArgs, make: func(c Case, mem *memory) trial {
		n, off := c.get("n"), c.get("offset")
		fill := filler(c.rand(), c.get("data"))
		a := fill()
		x := mem.input(1, n, rowMajor, off, fill)
		y := mem.input(1, n, rowMajor, off, fill)
		out := mem.output(1, n, rowMajor, off, fill)
		var tr trial
		for i := range n {
			v, roundings := f.exact(float64(a), float64(x.Data[i]), float64(y.Data[i]), float64(out.Data[i]))
			tr.expectOne(v, reference.Rounded(v, roundings))
		}
		tr.run = func(e *engine.Engine) { f.call(e, vector(out), a, vector(x), vector(y)) }
		return tr
	}}
}

// scaled multiplies every fifth number of fill, from number at on, with factor.
func scaled(fill func() float32, at int, factor float32) func() float32 {
	i := -1
	return func() float32 {
		i++
		if i%5 == at {
			return factor * fill()
		}
		return fill()
	}
}

// normalKernel checks that Normal goes through a stream as num.Rand does.
var normalKernel = definition{args: []arg{size("n", 200), offsetArg, seedArg}, make: func(c Case, mem *memory) trial {
	n, seed := c.get("n"), c.rand().Uint64()
	out := mem.output(1, n, rowMajor, c.get("offset"), filler(c.rand(), normalData))
	tr := trial{run: func(e *engine.Engine) { e.Normal(vector(out), num.NewRand(seed, 0)) }}
	want := make([]float32, n)
	num.NewRand(seed, 0).Normal(want)
	for _, v := range want {
		tr.expectOne(float64(v), 0)
	}
	return tr
}}

// decayKernel checks Decay, also where the result is below the floor.
var decayKernel = definition{args: vectorArgs, make: func(c Case, mem *memory) trial {
	n, off := c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.output(1, n, rowMajor, off, scaled(fill, 1, 0x1p-100))
	const a = 0.9
	var tr trial
	for i := range n {
		tr.expectOne(reference.Decay(float64(float32(a)), float64(x.Data[i])))
	}
	tr.run = func(e *engine.Engine) { e.Decay(a, vector(x)) }
	return tr
}}

// adamKernel checks one step of Adam: the new parameters and both moments. Some gradients and moments are
// near the floors.
var adamKernel = definition{args: vectorArgs, make: func(c Case, mem *memory) trial {
	n, off := c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	p := mem.output(1, n, rowMajor, off, fill)
	g := mem.input(1, n, rowMajor, off, scaled(scaled(fill, 1, 0x1p-97), 2, 0x1p-56))
	m := mem.output(1, n, rowMajor, off, scaled(fill, 1, 0x1p-100))
	v := mem.output(1, n, rowMajor, off, scaled(func() float32 { x := fill(); return x * x }, 2, 0x1p-113))
	co := &engine.AdamCoefficients{Clip: 0.7, Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001,
		Step: 2e-3, RBC2: 3.2, Eps: 1e-8}
	tr := trial{want: make([]float64, 3*n), bound: make([]float64, 3*n)}
	for i := range n {
		old := reference.AdamState{P: float64(p.Data[i]), M: float64(m.Data[i]), V: float64(v.Data[i])}
		np, nm, nv := reference.Adam(old, float64(g.Data[i]), reference.AdamCoefficients(*co))
		for j, x := range []reference.Value{np, nm, nv} {
			tr.want[j*n+i], tr.bound[j*n+i] = x.V[0], x.E[0]
		}
	}
	tr.run = func(e *engine.Engine) { e.Adam(vector(p), vector(g), vector(m), vector(v), co) }
	return tr
}}

var dotKernel = definition{args: vectorArgs, more: longVectors, make: func(c Case, mem *memory) trial {
	n, off := c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(1, n, rowMajor, off, fill)
	y := mem.input(1, n, rowMajor, off, fill)
	out := mem.output(1, 1, rowMajor, off, fill)
	var tr trial
	tr.expectOne(reference.Dot(reference.Vector(vector(x)), reference.Vector(vector(y))))
	exact(c.get("data"), tr.bound)
	tr.run = func(e *engine.Engine) { out.Data[0] = e.Dot(vector(x), vector(y)) }
	return tr
}}

var sumKernel = definition{args: vectorArgs, more: longVectors, make: func(c Case, mem *memory) trial {
	n, off := c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(1, n, rowMajor, off, fill)
	out := mem.output(1, 1, rowMajor, off, fill)
	var tr trial
	tr.expectOne(reference.Sum(reference.Vector(vector(x))))
	exact(c.get("data"), tr.bound)
	tr.run = func(e *engine.Engine) { out.Data[0] = e.Sum(vector(x)) }
	return tr
}}

// sumSquaresKernel stores the float64 result as a sum of two float32, so that 48 of its bits are
// compared.
var sumSquaresKernel = definition{args: vectorArgs, more: longVectors, make: func(c Case, mem *memory) trial {
	n, off := c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(1, n, rowMajor, off, fill)
	out := mem.output(1, 2, rowMajor, off, fill)
	xs := reference.Vector(vector(x))
	v, _ := reference.Dot(xs, xs)
	rest := func(v float64) float64 { return v - float64(float32(v)) }
	bound := float64(2*n+8) * 0x1p-53 * v
	var tr trial
	tr.expectOne(v, bound)
	tr.expectOne(rest(v), bound+math.Abs(rest(v)))
	tr.run = func(e *engine.Engine) {
		s := e.SumSquares(vector(x))
		out.Data[0], out.Data[1] = float32(s), float32(rest(s))
	}
	return tr
}}
