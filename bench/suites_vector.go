package bench

import (
	"fmt"
	"math"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/reference"
)

// --- reduce

const vectorLength = 1 << 16 // floats: they stay in L2

func reduceSuite() (all []benchmark) {
	for _, v := range []struct {
		x     Extent
		name  string
		n     int
		moved float64
	}{
		{Quick, "exp", vectorLength, 2}, {Usual, "log", vectorLength, 2}, {Usual, "sum", vectorLength, 1},
		{Full, "exp", 1 << 22, 2}, {Full, "exp", 100, 2}, {Full, "sum", 1 << 22, 1},
	} {
		all = append(all, vectorBenchmark(v.x, v.name, v.n, v.moved))
	}
	for _, r := range []struct {
		x       Extent
		name    string
		rows, d int
	}{
		{Quick, "softmax", 4096, 10}, {Usual, "softmax", 128, 10}, {Usual, "logsumexp", 4096, 20},
		{Full, "logsumexp", 128, 20}, {Usual, "layernorm", 1024, 64}, {Full, "layernorm", 1024, 784},
	} {
		all = append(all, rowsBenchmark(r.x, r.name, r.rows, r.d))
	}
	cold := vectorBenchmark(Usual, "exp cold", vectorLength, 2)
	cold.cold = true
	return append(all, cold)
}

// vectorBenchmark is an elementary function, or a sum, of n numbers.
func vectorBenchmark(x Extent, name string, n int, moved float64) benchmark {
	return benchmark{
		suite: "reduce", name: name, extent: x, params: params("n", n),
		bytes: moved * 4 * float64(n), items: float64(n),
		setup: func() (setupFunc, error) {
			in, out := normal(21, 1, n).Data, make([]float32, n)
			f := math.Exp
			if name == "log" {
				f = math.Log
				for i, v := range in {
					in[i] = float32(math.Abs(float64(v))) + 0x1p-20
				}
			}
			return func(e *engine.Engine) (*fixture, error) {
				clobber(out)
				sum := float32(math.NaN())
				w := &fixture{op: func() error { e.Exp(out, in); return nil }}
				switch name {
				case "log":
					w.op = func() error { e.Log(out, in); return nil }
				case "sum":
					w.op = func() error { sum = e.Sum(in); return nil }
					w.check = func() (string, error) {
						want, bound := reference.Sum(reference.Vector(in))
						return "within the bound of float64", within("the sum", sum, want, bound)
					}
					return w, nil
				}
				w.check = func() (string, error) {
					at := samples(0, min(256, n), n)
					for _, i := range at {
						if u := reference.ULPs(out[i], f(float64(in[i]))); u > 1 {
							return "", differs("%s(%v) is %v, %d ULP from the reference, expected at most 1", name,
								in[i], out[i], u)
						}
					}
					return fmt.Sprintf("%d elements within 1 ULP", len(at)), nil
				}
				return w, nil
			}, nil
		},
	}
}

// rowsBenchmark is an operation on rows of d numbers each.
func rowsBenchmark(x Extent, name string, rows, d int) benchmark {
	size := "d"
	switch name {
	case "softmax":
		size = "classes"
	case "logsumexp":
		size = "k"
	}
	g := benchmark{
		suite: "reduce", name: name, extent: x, params: params("rows", rows, size, d),
		bytes: 8 * float64(rows) * float64(d), items: float64(rows),
	}
	g.setup = func() (setupFunc, error) {
		in, out := normal(22, rows, d), engine.NewMatrix(rows, d)
		per, first := make([]float32, rows), in.Row(rows/2)
		labels := make([]uint16, rows)
		for i := range labels {
			labels[i] = uint16(i % d)
		}
		compare := func(what string, got []float32, want reference.Value) (string, error) {
			for i := range got {
				if err := within(fmt.Sprintf("%s, element %d", what, i), got[i], want.V[i], want.E[i]); err != nil {
					return "", err
				}
			}
			return "a row within the bound of float64", nil
		}
		return func(e *engine.Engine) (*fixture, error) {
			clobber(out.Data, per)
			switch name {
			case "softmax":
				return &fixture{
					op: func() error { e.SoftmaxCrossEntropy(out, per, in, labels, 1); return nil },
					check: func() (string, error) {
						_, grad := reference.SoftmaxCrossEntropy(reference.Vector(first), int(labels[rows/2]))
						return compare("gradient", out.Row(rows/2), grad)
					},
				}, nil
			case "layernorm":
				return &fixture{
					op: func() error { e.LayerNorm(out, per, in, 1e-5); return nil },
					check: func() (string, error) {
						y, _ := reference.LayerNorm(reference.Vector(first), float64(float32(1e-5)))
						return compare("row", out.Row(rows/2), y)
					},
				}, nil
			}
			// Components lie in rows, the points in columns. Calls after the first, which is checked, have its result
			// for input: a copy would be timed with them.
			q, c := engine.NewMatrix(d, rows), make([]float32, d)
			copy(q.Data, in.Data)
			column, got, calls := make([]float64, d), make([]float32, d), 0
			var gotPhi float32
			return &fixture{
				op: func() error {
					e.LogSumExp(q, c, per)
					if calls++; calls == 1 {
						gotPhi = per[rows/2]
						for i := range d {
							column[i], got[i] = float64(in.Data[i*rows+rows/2]), q.At(i, rows/2)
						}
					}
					return nil
				},
				check: func() (string, error) {
					r, phi := reference.LogSumExp(column, make([]float64, d))
					if err := within("phi", gotPhi, phi.V[0], phi.E[0]); err != nil {
						return "", err
					}
					return compare("r", got, r)
				},
			}, nil
		}, nil
	}
	return g
}

// --- optim

func optimSuite() []benchmark {
	all := []benchmark{adamBenchmark(Quick, 1<<16), adamBenchmark(Usual, presetParameters("paper"))}
	for _, s := range []struct {
		Extent
		d, k int
	}{{Quick, 64, 20}, {Usual, 784, 20}, {Full, 256, 20}} {
		all = append(all, factorsBenchmark(s.Extent, s.d, s.k))
	}
	return all
}

func adamBenchmark(x Extent, n int) benchmark {
	return benchmark{
		suite: "optim", name: "adam", extent: x, params: params("n", n),
		bytes: 7 * 4 * float64(n), items: float64(n), memory: 3 * 4 * float64(n),
		setup: func() (setupFunc, error) { return newAdamCase(n).on, nil },
	}
}

// adamCase makes steps of Adam on n parameters.
type adamCase struct {
	n        int
	start, g []float32
	at       []int // parameters that are compared
	co       engine.AdamCoefficients
}

func newAdamCase(n int) *adamCase {
	return &adamCase{n: n, start: normal(31, 1, n).Data, g: normal(32, 1, n).Data, at: samples(0, 64, n),
		co: engine.AdamCoefficients{Clip: 1, Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001,
			Step: 1e-3, RBC2: 1, Eps: 1e-8}}
}

func (c *adamCase) on(e *engine.Engine) (*fixture, error) {
	p, m, v := append([]float32(nil), c.start...), make([]float32, c.n), make([]float32, c.n)
	first, calls := make([]float32, len(c.at)), 0 // of p after the first call
	clobber(first)
	return &fixture{
		op: func() error {
			e.Adam(p, c.g, m, v, &c.co)
			if calls++; calls == 1 {
				for s, i := range c.at {
					first[s] = p[i]
				}
			}
			return nil
		},
		check: func() (string, error) { return c.check(first) },
	}, nil
}

func (c *adamCase) check(first []float32) (string, error) {
	for s, i := range c.at {
		state := reference.AdamState{P: float64(c.start[i])}
		want, _, _ := reference.Adam(state, float64(c.g[i]), reference.AdamCoefficients(c.co))
		if err := within(fmt.Sprintf("parameter %d", i), first[s], want.V[0], want.E[0]); err != nil {
			return "", err
		}
	}
	return fmt.Sprintf("%d parameters after a step within the bound of float64", len(c.at)), nil
}

// factorsBenchmark is P_i = A_i^T A_i for all components.
func factorsBenchmark(x Extent, d, k int) benchmark {
	fd, fk := float64(d), float64(k)
	return benchmark{
		suite: "optim", name: "factors", extent: x, params: params("d", d, "k", k),
		flop: fk * fd * fd * (fd + 1), bytes: 8 * fk * fd * fd,
		setup: func() (setupFunc, error) { return newFactorsCase(d, k).on, nil },
	}
}

// factorsCase makes P_i = A_i^T A_i. Since a mixture does not show P_i, x P of the last component
// is compared.
type factorsCase struct {
	d, k     int
	a        []float32
	x        engine.Matrix
	g, bound []float64 // x A^T A, and the sum of absolute products
}

func newFactorsCase(d, k int) *factorsCase {
	c := &factorsCase{d: d, k: k, a: normal(33, k*d, d).Data, x: normal(34, 1, d), g: make([]float64, d),
		bound: make([]float64, d)}
	last := c.a[(k-1)*d*d:]
	y, size := make([]float64, d), make([]float64, d)
	for r := range d {
		for j := range d {
			v := float64(last[r*d+j]) * float64(c.x.Data[j])
			y[r], size[r] = y[r]+v, size[r]+math.Abs(v)
		}
	}
	for r := range d {
		for j := range d {
			c.g[j] += float64(last[r*d+j]) * y[r]
			c.bound[j] += math.Abs(float64(last[r*d+j])) * size[r]
		}
	}
	return c
}

func (c *factorsCase) on(e *engine.Engine) (*fixture, error) {
	m := ascent.NewMixture(c.k, c.d, make([]float32, c.k*c.d), make([]float32, c.k))
	return &fixture{
		op:    func() error { m.SetFactors(e, c.a); return nil },
		check: func() (string, error) { return c.check(e, m) },
	}, nil
}

func (c *factorsCase) check(e *engine.Engine, m *ascent.Mixture) (string, error) {
	got, q := engine.NewMatrix(1, c.d), make([]float32, 1)
	m.QuadGrad(e, got, q, c.x, c.k-1)
	for j, v := range got.Data {
		bound := reference.Gamma(2*c.d+2) * c.bound[j] // of two products
		if err := within(fmt.Sprintf("x P, feature %d", j), v, c.g[j], bound); err != nil {
			return "", err
		}
	}
	return "x P of the last component within the bound of float64", nil
}
