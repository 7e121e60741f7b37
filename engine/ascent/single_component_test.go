package ascent

import (
	"dpnbench/engine"
	"math"
	"testing"

	"dpnbench/engine/num"
)

// TestCombinations holds the sum of products of combinations against the sum over all steps of a run, for every pair of
// eigenvalues; what is left of a run that belongs to an eigenvalue; and how roundings of the combinations add up.
func TestCombinations(t *testing.T) {
	stride := 1
	if testing.Short() {
		stride = 12
	}
	const grid = 256
	for n := leastRun; n <= longestSegment; n += stride {
		p := newCombinations(n)
		if p.products != 7 { // as the documentation says
			t.Errorf("%d steps: %d products", n, p.products)
		}
		powers := make([][]float64, grid+1) // of 1-z
		for i := range powers {
			powers[i] = []float64{1}
			for range n - 1 {
				powers[i] = append(powers[i], powers[i][len(powers[i])-1]*(1-largestEigenvalue*float64(i)/grid))
			}
		}
		// What combinations make of a row of length 1, and the weights of each.
		us, ds, size := make([][]float64, grid+1), make([][]float64, grid+1), make([]float64, p.products)
		for i, power := range powers {
			for m := range p.products {
				var u, d, weights float64
				for s := range n {
					u += float64(p.u[m*n+s]) * power[n-1-s]
					d += float64(p.d[m*n+s]) * power[s]
					weights += math.Abs(float64(p.u[m*n+s]))
				}
				us[i], ds[i] = append(us[i], u), append(ds[i], d)
				size[m] = max(size[m], weights*max(math.Abs(u), math.Abs(d)))
			}
			for s := range n {
				var rest float64
				for k, v := range power {
					rest += float64(p.rest[s*n+k]) * v
				}
				if !(math.Abs(rest) <= 0x1p-22) {
					t.Fatalf("%d steps: step %d of eigenvalue %d of %d leaves %g", n, s, i, grid, rest)
				}
			}
		}
		for i := range us {
			for k := range ds {
				var want, got float64
				for s := range n {
					want -= powers[i][n-1-s] * powers[k][s]
				}
				for m := range p.products {
					got += us[i][m] * ds[k][m]
				}
				if off := math.Abs(got - want); !(off <= kernelError*float64(n)) {
					t.Fatalf("%d steps: eigenvalues %d and %d of %d: sum %g, expected %g", n, i, k, grid, got, want)
				}
			}
		}
		var sizes float64
		for _, v := range size {
			sizes += v
		}
		if !(sizes <= 2*float64(n)) { // half of combinedSize of package reference
			t.Errorf("%d steps: roundings of combinations add up to %g times those of a sum", n, sizes/float64(n))
		}
	}
}

// TestSingleRuns checks where runs are found and cut, and dA_i by them against the sum over all steps in
// float64, of the x_t, U and t_i that it was computed with.
func TestSingleRuns(t *testing.T) {
	worst := 0.0
	for _, h := range runLandscapes() {
		e := newTestEngine(t, engine.WithThreads(1))
		m, g := h.mixture(e), h.gradient()
		var tr Trajectory
		x, v := clone(h.x), engine.NewMatrix(h.x.Rows, h.d)
		num.NewRand(8, 9).Normal(v.Data)
		m.Ascend(e, h.alpha, h.steps, x, &tr, true)
		m.Backward(e, h.alpha, h.a, &tr, v, g)
		for b, w := range g.runs {
			from := h.steps
			for from > 0 && w.component >= 0 && tr.hasSingleComponent(from-1, int(w.component), b) {
				from--
			}
			least, most := h.steps, h.steps // of to
			switch {
			case h.name == "runs of large steps" && w.component == 0,
				h.name == "fast runs", h.name == "short fast runs":
				least, most = from, from
			case h.name == "runs that end":
				least, most = from+leastRun, h.steps-1
			case h.name == "hardly alone" && from < 2: // what it is for
				t.Errorf("%s: component 0 is alone from step %d on", h.name, from)
			}
			if w.component < 0 || int(w.from) != from || int(w.to) < least || int(w.to) > most {
				t.Errorf("%s: row %d has a run with component %d in steps %d to %d of %d, expected %d to %d-%d",
					h.name, b, w.component, w.from, w.to, h.steps, from, least, most)
			}
		}
		d := h.d
		for i := range h.k {
			raw, dp := 0, make([]float64, d*d)
			for s := range h.steps {
				for b, r := range tr.RAt(s).Row(i) {
					if r == 0 {
						continue
					}
					raw++
					u, x := tr.u[(s*tr.Rows+b)*d:], tr.XAt(s).Row(b)
					slope := float64(tr.t[(s*h.k+i)*tr.Rows+b])
					w, delta := make([]float64, d), make([]float64, d)
					for j := range d {
						delta[j] = float64(x[j] - h.mu[i*d+j])
						w[j] = -float64(r)*float64(u[j]) - slope/2*delta[j]
					}
					for j := range d {
						for l := range d {
							dp[j*d+l] += w[j] * delta[l]
						}
					}
				}
			}
			shorter := false
			for _, w := range g.runs {
				shorter = shorter || int(w.component) == i && w.to > w.from
			}
			if g.rows[i] == viaPrecision || shorter && g.rows[i] >= raw || !shorter && g.rows[i] != raw {
				t.Errorf("%s: %d rows count for component %d, of all steps %d", h.name, g.rows[i], i, raw)
			}
			var off, all float64
			for j := 0; j < d; j += 3 { // some rows of dA_i
				for l := range d {
					var want float64
					for n := range d {
						want += float64(h.a[(i*d+j)*d+n]) * (dp[n*d+l] + dp[l*d+n])
					}
					off += math.Pow(float64(g.A[(i*d+j)*d+l])-want, 2)
					all += want * want
				}
			}
			if off = math.Sqrt(off / all); raw > 0 &&
				!(off < combinationError+0x1p-20) { // of rounding alone it is some 10^-7
				t.Errorf("%s: dA_%d is off by %g of its length", h.name, i, off)
			} else if raw > 0 {
				worst = max(worst, off)
			}
		}
	}
	t.Logf("dA_i is off by at most %.2g of its length", worst)
}

// TestFastDirection: a direction in which alpha P is above largestEigenvalue keeps a row from combinations, be it in D
// alone or in U alone, and one below does not.
func TestFastDirection(t *testing.T) {
	for _, c := range []struct {
		name     string
		inD, inU bool
		a        float32 // alpha P is a tenth of its square
		steps    int
	}{
		{"neither", false, false, 3.9, 18},
		{"D", true, false, 3.9, 0}, {"U", false, true, 3.9, 0}, {"both", true, true, 3.9, 0},
		{"within, D", true, false, 3.4, 18}, {"within, U", false, true, 3.4, 18}, {"within, both", true, true, 3.4, 18},
	} {
		h := newLandscape("one component", 1, 100, -1, 0, 3, 1, 1).identity()
		h.steps, h.a[0] = 18, c.a
		e := newTestEngine(t, engine.WithThreads(1))
		m, g := h.mixture(e), h.gradient()
		x, v := clone(h.x), engine.NewMatrix(1, h.d)
		num.NewRand(8, 9).Normal(v.Data)
		if !c.inD {
			x.Data[0] = h.mu[0]
		}
		if !c.inU {
			v.Data[0] = 0
		}
		var tr Trajectory
		m.Ascend(e, h.alpha, h.steps, x, &tr, true)
		m.Backward(e, h.alpha, h.a, &tr, v, g)
		if got := int(g.runs[0].to); got != c.steps {
			t.Errorf("%s: combinations of %d steps, expected %d", c.name, got, c.steps)
		}
	}
}

// TestFactorFlop: few rows take four products with A_i, as many as count; d/3 or more take dP_i of
// all pairs, by the sparse route of those with a responsibility, and one product with A_i.
func TestFactorFlop(t *testing.T) {
	for _, c := range []struct {
		name           string
		d, rows, steps int
		route          Route
		apart          bool // component 1 has no responsibility
		first, second  float64
	}{
		{"few", 64, 2, 3, DenseRoute, true, 8 * 6, 0},
		{"few, both", 64, 2, 3, SparseRoute, false, 8 * 6, 8 * 6},
		{"a third, dense", 16, 2, 3, DenseRoute, false, 2*6 + 2*16, 2*6 + 2*16},
		{"a third, sparse", 16, 2, 3, SparseRoute, true, 2*6 + 2*16, 0},
		{"runs", 64, 2, leastRun, SparseRoute, true, 8 * 2 * float64(combinationsOf(leastRun).products), 0},
	} {
		e := newTestEngine(t, engine.WithThreads(1))
		mu, a := make([]float32, 2*c.d), make([]float32, 2*c.d*c.d)
		num.NewRand(1, 1).Normal(a)
		for i := range a {
			a[i] *= 0.01
			if i/c.d%c.d == i%c.d {
				a[i]++
			}
		}
		if c.apart {
			for j := range c.d {
				mu[c.d+j] = 100
			}
		}
		m, g := NewMixture(2, c.d, mu, make([]float32, 2)), NewGradient(2, c.d)
		m.Route = c.route
		m.SetFactors(e, a)
		x, v := engine.NewMatrix(c.rows, c.d), engine.NewMatrix(c.rows, c.d)
		num.NewRand(2, 1).Normal(x.Data)
		num.NewRand(3, 1).Normal(v.Data)
		var tr Trajectory
		m.Ascend(e, 0.1, c.steps, x, &tr, true)
		if got := m.Work().FactorFlop; got != 0 {
			t.Errorf("%s: %v operations before the backward pass", c.name, got)
		}
		m.Backward(e, 0.1, a, &tr, v, g)
		if got, want := m.Work().FactorFlop, (c.first+c.second)*float64(c.d*c.d); got != want {
			t.Errorf("%s: %v operations, want %v", c.name, got, want)
		}
	}
}
