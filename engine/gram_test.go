package engine

import (
	"fmt"
	"math"
	"testing"

	"dpnbench/engine/num"
)

// gramHills are potentials of low rank whose rows meet several components, on wide and narrow
// ways.
func gramHills() []*hill {
	var list []*hill
	for _, by := range []struct {
		name               string
		k, d, r            int
		apart, wide, scale float32
		alpha              float32
	}{
		{"apart", 12, 135, 4, 3, 2, 1, 0.6},
		{"close", 9, 130, 3, 0.3, 1, 1, 0.6},
		{"scaled", 8, 99, 2, 2, 2, 0.37, 1.1},
		{"overshooting", 8, 99, 2, 2, 2, 1, 2.3},
		{"downhill", 8, 99, 2, 2, 1, 1, -0.2},
		{"many factors", 5, 390, 37, 1, 2, 1, 0.3},
		{"wide", 20, 784, 12, 0.5, 3, 1, 0.6},
		{"steep", 8, 99, 2, 0.02, 0.02, 1e4, 1e-4},
		{"huge", 8, 99, 2, 1e6, 1e6, 1, 0.5},
	} {
		h := newHill(by.name, by.k, by.d, by.r, -1, by.apart, by.wide, 30)
		h.alpha = by.alpha
		for i := range h.w {
			h.w[i] = by.scale
		}
		for i := range h.f {
			h.f[i] *= float32(math.Sqrt(float64(by.scale)))
		}
		for b := range h.x.Rows { // some between two centres, some far away
			for j := range h.d {
				at, here, there := b*h.d+j, h.mu[b%h.k*h.d+j], h.mu[(b+1)%h.k*h.d+j]
				switch b % 4 {
				case 1:
					h.x.Data[at] = (here+there)/2 + 0.02*(h.x.Data[at]-here)
				case 2:
					h.x.Data[at] *= 5
				}
			}
		}
		list = append(list, h)
	}
	// Dot products of centres lose all elements but the first, one after the other.
	h := newHill("lost sums", 6, 700, 2, -1, 0, 0, 30)
	h.alpha = 1.3
	clear(h.f)
	for i := range h.mu {
		h.mu[i] = 128 * (1 + float32(i/h.d)/1024)
		if i%h.d > 0 {
			h.mu[i] *= 0.99 * 0x1p-12
		}
	}
	for i := range h.x.Data {
		h.x.Data[i] = h.mu[i%len(h.mu)] * (1 + float32(i/len(h.mu))/2048)
	}
	return append(list, h)
}

// TestRandomCombinations holds the bounds of combinations, and the bits of the route, on many random
// potentials.
func TestRandomCombinations(t *testing.T) {
	defer func(n int) { gramAfter = n }(gramAfter)
	gramAfter = 0
	trials := 6000
	if testing.Short() { // float64 is slow under emulation
		trials = 100
	}
	r := num.NewRand(21, 0)
	dense, e := newTestEngine(t, WithRoute(DenseRoute)), newTestEngine(t, WithRoute(SparseRoute))
	proved := 0
	for trial := range trials {
		h, steps := randomHill(r), 2+r.Intn(8)
		m, x, want := h.mixture(e), clone(h.x), clone(h.x)
		dense.Ascend(h.mixture(dense), h.alpha, steps, want, nil, false)
		e.Ascend(m, h.alpha, steps, x, nil, false)
		sameNumbers(t, fmt.Sprintf("trial %d, %s: x_n", trial, h.name), x.Data, want.Data)
		j := &e.sparse
		if !j.gram {
			continue // without certificates
		}
		j.m = m
		for b := range x.Rows {
			s := &j.rows[b].span
			if math.IsNaN(s.beta) {
				continue
			}
			if off := s.distance(h, h.x.Row(b), x.Row(b)); !(off <= s.off) {
				t.Fatalf("trial %d, %s: row %d after %d steps is %g off its combination, certified %g", trial, h.name, b, steps, off, s.off)
			}
			j.fetch(&e.scratch[0], b, x.Row(b), nil)
			for i := range h.k {
				low := j.combined(&e.scratch[0], b, i)
				if low > 0 {
					proved++
				}
				if _, exact := h.exact(i, x.Row(b)); !(low*low <= exact*(1+1e-9)) {
					t.Fatalf("trial %d, %s: row %d after %d steps: q_%d is %g, certified at least %g", trial, h.name, b, steps, i, exact, low*low)
				}
			}
		}
		j.m = nil
	}
	if proved < 5*trials {
		t.Errorf("%d bounds above 0 of %d potentials: the test needs more", proved, trials)
	}
}

// TestCombinations holds what follows from combinations of x_0, centres and factors against
// float64: bounds that are below q_i, and, where float32 can tell, not far below.
func TestCombinations(t *testing.T) {
	defer func(n int) { gramAfter = n }(gramAfter)
	gramAfter = 0
	mixed, list := 0, gramHills()
	wanted := 50
	if testing.Short() { // float64 is slow under emulation
		wanted, list = 10, list[2:4]
	}
	for _, h := range list {
		e := newTestEngine(t, WithRoute(SparseRoute))
		m := h.mixture(e)
		for _, steps := range []int{2, 3, 6} {
			x := clone(h.x)
			e.Ascend(m, h.alpha, steps, x, nil, false)
			j := &e.sparse
			if !j.gram {
				t.Fatalf("%s: no combinations", h.name)
			}
			j.m = m
			for b := range x.Rows {
				s := &j.rows[b].span
				if math.IsNaN(s.beta) { // more components than are followed
					continue
				}
				if len(s.comps) > 1 {
					mixed++
				}
				if off := s.distance(h, h.x.Row(b), x.Row(b)); !(off <= s.off) {
					t.Errorf("%s: row %d after %d steps is %g off its combination, certified %g", h.name, b, steps, off, s.off)
				}
				j.fetch(&e.scratch[0], b, x.Row(b), nil)
				for i := range h.k {
					low := j.combined(&e.scratch[0], b, i)
					delta, exact := h.exact(i, x.Row(b))
					if !(low*low <= exact*(1+1e-9)) {
						t.Errorf("%s, row %d after %d steps: sqrt(q_%d) is %g, certified at least %g", h.name, b, steps, i, math.Sqrt(exact), low)
					}
					var size float64 // of what q_i is a difference of
					for k, v := range delta {
						u := math.Abs(v) + 2*math.Abs(float64(h.mu[i*h.d+k]))
						size += u * u
					}
					if size *= float64(h.w[0]); h.alpha > 0 && h.alpha < 2 && !(exact-low*low <= 1e-3*size) {
						t.Errorf("%s, row %d after %d steps: q_%d is %g, certified only at least %g", h.name, b, steps, i, exact, low*low)
					}
				}
			}
			j.m = nil
		}
	}
	if mixed < wanted {
		t.Errorf("%d rows have met several components: the test needs more", mixed)
	}
}

// randomHill is a potential of any size and precision p, factors up to the largest that leave P_i
// positive definite, and rows and centres that are normal, even, or in one dimension.
func randomHill(r *num.Rand) *hill {
	size := func(low, high float64) float64 { return low * math.Pow(high/low, r.Float64()) }
	k, d := int(size(1, 30)), int(size(1, 120))
	low := min(int(size(1, 20)), d)
	scale := float32(size(1e-6, 1e6))
	root := 1 / math.Sqrt(float64(scale))
	apart := root * size(0.01, 100)
	h := newHill(fmt.Sprintf("k %d, d %d, r %d, p %g, apart %g", k, d, low, scale, apart), k, d, low, -1, 0, 0, 1+r.Intn(16))
	fill := func(x []float32, size float64) {
		r.Normal(x)
		kind := r.Intn(4)
		for j := range x {
			switch {
			case kind == 1: // roundings of a sum do not cancel
				x[j] = 1.1
			case kind == 2 && j > 0:
				x[j] = 0x1p-12
			}
			x[j] *= float32(size / math.Sqrt(float64(d)))
		}
	}
	for i := range k {
		fill(h.mu[i*d:(i+1)*d], apart*size(0.3, 3))
		if i > 0 && r.Intn(6) == 0 {
			copy(h.mu[i*d:(i+1)*d], h.mu[(i-1)*d:i*d])
		}
	}
	for i := range h.w {
		h.w[i] = scale
	}
	share := []float64{0, 1e-6, 0.5, 0.99}[r.Intn(4)] // of the largest
	for i := range k {
		f := h.f[i*low*d : (i+1)*low*d]
		var most float64
		for p := range low {
			var sum float64
			for q := range low {
				var dot float64
				for j := range d {
					dot += float64(f[p*d+j]) * float64(f[q*d+j])
				}
				sum += math.Abs(dot)
			}
			most = max(most, sum)
		}
		for j := range f {
			f[j] *= float32(math.Sqrt(share * float64(scale) / most))
		}
	}
	h.alpha = []float32{-0.2, 0.1, 0.6, 1, 1.3, 3}[r.Intn(6)] / scale
	for b := range h.x.Rows {
		i, o := r.Intn(k), r.Intn(k)
		fill(h.x.Row(b), root*size(0.01, 100))
		for j := range d {
			here, there := h.mu[i*d+j], h.mu[o*d+j]
			if b%2 == 0 {
				h.x.Data[b*d+j] += here
			} else {
				h.x.Data[b*d+j] = (here+there)/2 + h.x.Data[b*d+j]/50
			}
		}
	}
	for i := range k { // many matter to the first row
		_, q := h.exact(i, h.x.Row(0))
		h.c[i] = float32(q/2) + 5*h.c[i]
	}
	return h
}

// distance returns how far x is from the combination that began at x0, in float64.
func (s *combination) distance(h *hill, x0, x []float32) float64 {
	y := make([]float64, h.d)
	for j, v := range wide(x0) {
		y[j] = s.beta*v - float64(x[j])
	}
	for k, a := range s.comps {
		share := s.shares[k*(h.low+1) : (k+1)*(h.low+1)]
		for p, v := range share {
			row := h.mu[int(a)*h.d:]
			if p < h.low {
				row = h.f[(int(a)*h.low+p)*h.d:]
			}
			for j := range y {
				y[j] += float64(v) * float64(row[j])
			}
		}
	}
	var square float64
	for _, v := range y {
		square += v * v
	}
	return math.Sqrt(square)
}

// TestUneven checks that precisions whose diagonals differ are not followed as combinations.
func TestUneven(t *testing.T) {
	defer func(n int) { gramAfter = n }(gramAfter)
	gramAfter = 0
	for name, by := range map[string]func(i, j int) float32{
		"by component":   func(i, _ int) float32 { return 1 + float32(i) },
		"the last":       func(i, _ int) float32 { return 1 + float32(i/7) },
		"all but one":    func(i, j int) float32 { return 1 + float32(min(i, 1)*(j%2)) },
		"within the one": func(i, j int) float32 { return 1 + float32(i/7*(j%2)) },
	} {
		h := newHill(name, 8, 60, 2, -1, 1, 2, 30)
		h.alpha = 0.3
		for i := range h.k {
			for j := range h.d {
				h.w[i*h.d+j] = by(i, j)
			}
		}
		want, _ := climbBy(t, h, DenseRoute, Auto, 1)
		got, e := climbBy(t, h, SparseRoute, Auto, 1)
		got.equal(t, name, want)
		if e.Work().Route != SparseRoute || e.sparse.gram {
			t.Errorf("%s: route %v, combinations %v", name, e.Work().Route, e.sparse.gram)
		}
	}
}

// TestGramSaves checks that the Gram matrix is made when it pays, forgotten when the potential
// changes, and that it leaves fewer components to compute, with the same bits.
func TestGramSaves(t *testing.T) {
	if testing.Short() {
		t.Skip("takes a minute under emulation: without -short")
	}
	h := gramHills()[6]
	dense, e := newTestEngine(t, WithRoute(DenseRoute)), newTestEngine(t, WithRoute(SparseRoute))
	md, m := h.mixture(dense), h.mixture(e)
	const steps = 4
	want := clone(h.x)
	dense.Ascend(md, h.alpha, steps, want, nil, false)
	side := h.k * (h.low + 1)
	computed := func() (n int64) {
		x := clone(h.x)
		e.Ascend(m, h.alpha, steps, x, nil, false)
		sameNumbers(t, "x_n", x.Data, want.Data)
		for s := 1; s < steps; s++ {
			n += e.Work().Evaluated[s].Load()
		}
		return n
	}
	before := computed()
	for m.low.gram.rows+h.x.Rows < gramAfter*side {
		computed()
		if m.low.gram.known {
			t.Fatalf("a Gram matrix after %d rows, expected %d", m.low.gram.rows, gramAfter*side)
		}
	}
	if after := computed(); !m.low.gram.known || !(after*4 <= before*3) {
		t.Errorf("%d pairs were computed, %d without the Gram matrix (made: %v)", after, before, m.low.gram.known)
	}
	e.SetLowRank(m, h.w, h.f, h.sign)
	if again := computed(); m.low.gram.known || again != before {
		t.Errorf("after SetLowRank %d pairs were computed, %d before (Gram matrix: %v)", again, before, m.low.gram.known)
	}
}

// TestGramRoute checks that combinations change no bit, on all tiers and by any number of
// threads, with the backward pass.
func TestGramRoute(t *testing.T) {
	defer func(n int) { gramAfter = n }(gramAfter)
	gramAfter = 0
	list := gramHills()
	for _, h := range hills() {
		if h.low > 0 && h.sign < 0 {
			list = append(list, h)
		}
	}
	tiers, counts := Available(), []int{1, 2, 3}
	if testing.Short() { // another emulated machine has the lesser tiers
		tiers, counts = tiers[:1], counts[1:2]
	}
	for _, h := range list {
		if testing.Short() && h.d > 99 {
			continue
		}
		want, _ := climbBy(t, h, DenseRoute, Auto, 1)
		for _, tier := range tiers {
			for _, threads := range counts {
				got, e := climbBy(t, h, SparseRoute, tier, threads)
				got.equal(t, fmt.Sprintf("%s, %v, %d threads", h.name, tier, threads), want)
				if !e.sparse.gram {
					t.Fatalf("%s: no combinations", h.name)
				}
			}
		}
		old := maxAnchors
		maxAnchors = 1 // rows in turns
		got, _ := climbBy(t, h, SparseRoute, Auto, 2)
		maxAnchors = old
		got.equal(t, h.name+", in turns", want)
	}
}
