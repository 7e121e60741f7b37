package engine

import (
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"slices"
	"testing"

	"dpnbench/engine/num"
)

// The raw functions of a tier against their pure-Go twins, bit by bit, between unreadable pages: at
// all alignments, with special values, in place, and with strides that are 0 or let rows overlap.
// Those of narrow panels, pairs, patches, pooling, transposition and streams have tests beside
// them; any other kernel that is added needs a line here.

var expLogStride = flag.Int("explogstride", 5003, "exp and log are compared on every n-th float32 (1: on all of them)")

// A fence is memory between two pages that cannot be touched. What no kernel owns is
// filled with guard cells.
type fence []float32

const (
	guardCell   = 0x7fa5c3e1 // a NaN, so that a stray read shows in the result
	guardMargin = 48         // guard cells looked at on each side

	atStart  = 0  // directly behind the unreadable page
	atEnd    = -1 // directly before the unreadable page
	inPlaces = 17 // atEnd, atStart and 15 more offsets
)

func newFence(t *testing.T, n int) fence {
	t.Helper()
	f := fence(walled(t, n))
	for i := range f {
		f[i] = math.Float32frombits(guardCell)
	}
	return f
}

// place copies src to offset at and returns where it begins and the copy.
func (f fence) place(src []float32, at int) (int, []float32) {
	if at == atEnd {
		at = len(f) - len(src)
	}
	dst := f[at : at+len(src) : at+len(src)]
	copy(dst, src)
	return at, dst
}

// clear makes guard cells of the n elements from at on. It returns the offset of a
// guard cell that was overwritten, and whether there is one.
func (f fence) clear(at, n int) (int, bool) {
	for i := max(at-guardMargin, 0); i < min(at+n+guardMargin, len(f)); i++ {
		if i < at || i >= at+n {
			if math.Float32bits(f[i]) != guardCell {
				return i - at, true
			}
			continue
		}
		f[i] = math.Float32frombits(guardCell)
	}
	return 0, false
}

// twins runs kernels of a tier and of pure Go, and compares.
type twins struct {
	*testing.T
	kern   *kernels // of the tier
	fences []fence
	rng    *rand.Rand
	cases  int
}

// eachTwin runs a test for every tier with assembly.
func eachTwin(t *testing.T, test func(h *twins)) {
	tiers := slices.DeleteFunc(Available(), func(tier Tier) bool { return tier == Generic })
	if len(tiers) == 0 {
		t.Skip("no assembly on this machine, or in this build")
	}
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) {
			kern, _ := tierKernels(tier)
			h := &twins{T: t, kern: kern, rng: rand.New(rand.NewPCG(1, 2))}
			for range 9 {
				h.fences = append(h.fences, newFence(t, 8<<10))
			}
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // for the goroutine of this test
			test(h)
			t.Logf("%d cases", h.cases)
		})
	}
}

// same runs a kernel once in pure Go and, for each place, once in assembly, on copies of
// the buffers, and compares all buffers afterwards. The label names the case.
func (h *twins) same(places int, run func(kern *kernels, b [][]float32), bufs [][]float32, format string, label ...any) {
	h.Helper()
	want := make([][]float32, len(bufs))
	for i, b := range bufs {
		want[i] = append([]float32(nil), b...)
	}
	run(&genericKernels, want)

	got := make([][]float32, len(bufs))
	at := make([]int, len(bufs))
	for p := range places {
		// Against the end, because reading past it is the likeliest fault; against the
		// start; then at offsets that differ from buffer to buffer.
		h.cases++
		for i, b := range bufs {
			where := atEnd
			switch {
			case p == 0 && readsMasked(h.kern.tier):
				where = len(h.fences[i]) - len(b) - 16 // two vectors before the end
			case p == 1:
				where = atStart
			case p > 1:
				where = (p - 1 + 5*i) % 16
			}
			at[i], got[i] = h.fences[i].place(b, where)
		}
		h.guarded(func() { run(h.kern, got) }, format, label)
		for i := range bufs {
			for j, w := range want[i] {
				if v := got[i][j]; math.Float32bits(v) != math.Float32bits(w) && (v == v || w == w) {
					h.Fatalf("%s: place %d: buffer %d, element %d: %v %v (%#08x), Go %v (%#08x)", fmt.Sprintf(format, label...),
						p, i, j, h.kern.tier, v, math.Float32bits(v), w, math.Float32bits(w))
				}
			}
			if cell, bad := h.fences[i].clear(at[i], len(want[i])); bad {
				h.Fatalf("%s: place %d: buffer %d of %d elements: element %d was written", fmt.Sprintf(format, label...),
					p, i, len(want[i]), cell)
			}
		}
	}
}

// rounds runs a test several times, with new numbers each time.
func (h *twins) rounds(test func(h *twins)) {
	for range 3 {
		test(h)
	}
}

// guarded turns a touch of an unreadable page into a failure that names the case.
func (h *twins) guarded(run func(), format string, label []any) {
	defer func() {
		if r := recover(); r != nil {
			h.Fatalf("%s: %v", fmt.Sprintf(format, label...), r)
		}
	}()
	run()
}

var specialFloats = []float32{
	0, float32(math.Copysign(0, -1)),
	float32(math.Inf(1)), float32(math.Inf(-1)),
	float32(math.NaN()), math.Float32frombits(0xffc00001), math.Float32frombits(0x7f800001),
	0x1p-149, -0x1p-149, 0x1.fffffcp-127, -0x1.fffffcp-127, 0x1p-126, -0x1p-126,
	math.MaxFloat32, -math.MaxFloat32, 0x1p100, -0x1p-100,
	1, -1, 0x1.000002p0, 88.7, -103.9,
}

// number returns an ordinary number, or with probability density a special one.
func (h *twins) number(density float64) float32 {
	if density > 0 && h.rng.Float64() < density {
		return specialFloats[h.rng.IntN(len(specialFloats))]
	}
	return float32(h.rng.NormFloat64()) * float32(math.Ldexp(1, h.rng.IntN(9)-4))
}

func (h *twins) numbers(n int, density float64) []float32 {
	x := make([]float32, n)
	for j := range x {
		x[j] = h.number(density)
	}
	return x
}

// tailLengths are all tails behind none to four full vectors of 16, and some longer ones.
func tailLengths() []int {
	var list []int
	for n := range 68 {
		list = append(list, n)
	}
	return append(list, 100, 127, 128, 129, 255, 1000)
}

var densities = []float64{0, 0.1, 1}

type elementwiseTwin struct {
	name    string
	buffers int
	scalars int
	run     func(kern *kernels, b [][]float32, s []float32)
}

var elementwiseTwins = []elementwiseTwin{
	{"add", 3, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.add(b[0], b[1], b[2]) }},
	{"multiply", 3, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.multiply(b[0], b[1], b[2]) }},
	{"add, dst = x", 2, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.add(b[0], b[0], b[1]) }},
	{"add, dst = y", 2, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.add(b[0], b[1], b[0]) }},
	{"axpy", 2, 1, func(kern *kernels, b [][]float32, s []float32) { kern.table.axpy(s[0], b[0], b[1]) }},
	{"axpy, y = x", 1, 1, func(kern *kernels, b [][]float32, s []float32) { kern.table.axpy(s[0], b[0], b[0]) }},
	{"scale", 2, 1, func(kern *kernels, b [][]float32, s []float32) { kern.table.scale(b[0], s[0], b[1]) }},
	{"scale, dst = x", 1, 1, func(kern *kernels, b [][]float32, s []float32) { kern.table.scale(b[0], s[0], b[0]) }},
	{"shift", 2, 1, func(kern *kernels, b [][]float32, s []float32) { kern.table.shift(b[0], s[0], b[1]) }},
	{"shift, dst = x", 1, 1, func(kern *kernels, b [][]float32, s []float32) { kern.table.shift(b[0], s[0], b[0]) }},
	{"relu", 2, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.relu(b[0], b[1]) }},
	{"relu, dst = x", 1, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.relu(b[0], b[0]) }},
	{"reluBackward", 3, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.reluBackward(b[0], b[1], b[2]) }},
	{"reluBackward, dst = y", 2, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.reluBackward(b[0], b[1], b[0]) }},
	{"normBackward", 3, 3, func(kern *kernels, b [][]float32, s []float32) {
		kern.table.normBackward(b[0], b[1], b[2], s[0], s[1], s[2])
	}},
	{"normBackward, dst = y", 2, 3, func(kern *kernels, b [][]float32, s []float32) {
		kern.table.normBackward(b[0], b[1], b[0], s[0], s[1], s[2])
	}},
	{"adam", 4, 8, func(kern *kernels, b [][]float32, s []float32) {
		kern.table.adam(b[0], b[1], b[2], b[3], &AdamCoefficients{s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7]})
	}},
	{"exp", 2, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.exp(b[0], b[1]) }},
	{"exp, dst = x", 1, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.exp(b[0], b[0]) }},
	{"log", 2, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.log(b[0], b[1]) }},
	{"log, dst = x", 1, 0, func(kern *kernels, b [][]float32, s []float32) { kern.table.log(b[0], b[0]) }},
}

func TestTwinElementwise(t *testing.T) {
	eachTwin(t, func(h *twins) {
		for _, e := range elementwiseTwins {
			h.elementwise(e)
		}
	})
}

func (h *twins) elementwise(e elementwiseTwin) {
	sample := func(places, n int, density float64, change func(b [][]float32)) {
		bufs := make([][]float32, e.buffers)
		for i := range bufs {
			bufs[i] = h.numbers(n, density)
		}
		s := h.numbers(e.scalars, density/4)
		if change != nil {
			change(bufs)
		}
		run := func(kern *kernels, b [][]float32) { e.run(kern, b, s) }
		h.same(places, run, bufs, "%s: n %d, scalars %v, density %v", e.name, n, s, density)
	}
	for _, n := range tailLengths() {
		for i, density := range densities {
			places := 2
			if i == n%len(densities) {
				places = inPlaces
			}
			sample(places, n, density, nil)
		}
	}
	for _, n := range []int{1, 3, 7, 8, 15, 17, 21} { // a special value in every position of a buffer
		for j := range n {
			for _, v := range specialFloats {
				sample(1, n, 0, func(b [][]float32) { b[h.rng.IntN(len(b))][j] = v })
			}
		}
	}
	if e.buffers > 1 { // every pair of special values
		n := len(specialFloats)
		sample(2, n*n, 1, func(b [][]float32) {
			for j := range n * n {
				b[len(b)-1][j], b[len(b)-2][j] = specialFloats[j/n], specialFloats[j%n]
			}
		})
	}
}

// rowStrides are strides of rows of n elements: dense, with gaps, one row read again
// and again, and rows that overlap.
func rowStrides(n int) []int { return []int{n, n + 3, 0, (n + 1) / 2} }

func TestTwinSubRows(t *testing.T) { eachTwin(t, func(h *twins) { h.rounds((*twins).subRows) }) }

func (h *twins) subRows() {
	for n := range 40 {
		for rows := range 4 {
			for c, xs := range rowStrides(n) {
				ys, ds := rowStrides(n)[(c+2)%4], rowStrides(n)[(c+rows)%3]
				density := densities[c%3]
				x, y := h.numbers(span(rows, xs, n), density), h.numbers(span(rows, ys, n), density)
				dst := h.numbers(span(rows, ds, n)+2, 0)
				h.same(3, func(kern *kernels, b [][]float32) {
					kern.table.subRows(b[0], ds, b[1], xs, b[2], ys, rows, n)
				}, [][]float32{dst, x, y}, "subRows: n %d, rows %d, ds %d, xs %d, ys %d", n, rows, ds, xs, ys)
				h.same(2, func(kern *kernels, b [][]float32) {
					kern.table.subRows(b[0], xs, b[0], xs, b[1], ys, rows, n)
				}, [][]float32{x, y}, "subRows, dst = x: n %d, rows %d, xs %d, ys %d", n, rows, xs, ys)
			}
		}
	}
	for _, n := range tailLengths() {
		x, y := h.numbers(2*n, 0.5), h.numbers(n, 0.5)
		h.same(inPlaces, func(kern *kernels, b [][]float32) {
			kern.table.subRows(b[0], n, b[1], n, b[2], 0, 2, n)
		}, [][]float32{h.numbers(2*n, 0), x, y}, "subRows: n %d, rows 2", n)
	}
}

type reductionTwin struct {
	name string
	run  func(kern *kernels, dst, x []float32, xs int, y []float32, ys, n int)
}

// reductionTwins are compared with the same arguments: rows of x against rows of y (or
// against one y), n elements each.
var reductionTwins = []reductionTwin{
	{"dotRows", func(kern *kernels, dst, x []float32, xs int, y []float32, ys, n int) {
		kern.table.dotRows(dst, x, xs, y, ys, n)
	}},
	{"sqdistRows", func(kern *kernels, dst, x []float32, xs int, y []float32, ys, n int) {
		kern.table.sqdistRows(dst, x, xs, y[:n])
	}},
	{"quadRows", func(kern *kernels, dst, x []float32, xs int, y []float32, ys, n int) {
		kern.table.quadRows(dst, x, xs, y[:n], y[len(y)-n:])
	}},
	{"sum", func(kern *kernels, dst, x []float32, xs int, y []float32, ys, n int) {
		for i := range dst {
			at := min(i*xs, len(x)-n) // a row without elements may begin behind x
			dst[i] = kern.table.sum(x[at : at+n])
		}
	}},
}

func TestTwinReductions(t *testing.T) {
	eachTwin(t, func(h *twins) {
		for _, r := range reductionTwins {
			h.reductions(r)
		}
	})
}

func (h *twins) reductions(r reductionTwin) {
	sample := func(places, rows, xs, ys, n int, x, y []float32) {
		run := func(kern *kernels, b [][]float32) { r.run(kern, b[0], b[1], xs, b[2], ys, n) }
		h.same(places, run, [][]float32{h.numbers(rows, 0), x, y}, "%s: n %d, rows %d, xs %d, ys %d", r.name, n, rows, xs, ys)
	}
	for _, n := range tailLengths() {
		for _, density := range []float64{0, 0.02, 0.5} {
			sample(inPlaces, 1, n, n, n, h.numbers(n, density), h.numbers(n, density))
		}
		// Products that underflow to -0 leave -0 in the lanes that no padding touches.
		x, y := make([]float32, n), make([]float32, n)
		for j := range n {
			x[j], y[j] = 0x1p-80, -0x1p-80
		}
		sample(1, 1, n, n, n, x, y)
	}
	for n := range 40 {
		for _, rows := range []int{1, 2, 7, 9} { // kernels take up to four together
			for c, xs := range rowStrides(n) {
				ys := rowStrides(n)[(c+rows)%4]
				sample(2, rows, xs, ys, n, h.numbers(span(rows, xs, n), 0.01), h.numbers(max(span(rows, ys, n), n), 0.01))
			}
		}
	}
	for _, n := range []int{1, 7, 15, 17, 37} { // one special value in every position
		for j := range n {
			for i, v := range specialFloats {
				for _, rows := range []int{1, 4} {
					if rows > 1 && n != 17 { // a block and a rest; more would take long under emulation
						continue
					}
					x, y, at := h.numbers(rows*n, 0), h.numbers(rows*n, 0), i/2%rows*n+j
					if i%2 == 0 {
						x[at] = v
					} else {
						y[at], x[at] = v, 0
					}
					sample(1, rows, n, n, n, x, y)
				}
			}
		}
	}
	sample(2, 0, 7, 7, 7, nil, h.numbers(7, 0))
}

func TestTwinTile(t *testing.T) { eachTwin(t, func(h *twins) { h.rounds((*twins).tile) }) }

func (h *twins) tile() {
	nr := h.kern.nr
	// columns calls run for as many panels of a tier as make nr columns of B and C.
	columns := func(kern *kernels, b, c []float32, run func(b, c []float32)) {
		for j := 0; j < nr; j += kern.nr {
			run(b[min(j, len(b)):], c[min(j, len(c)):])
		}
	}
	for rows := 1; rows <= h.kern.mr; rows++ {
		for _, inner := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 23, 64} {
			for i, a := range [][2]int{{inner, 1}, {1, rows}, {inner + 3, 1}, {2, 2*rows + 1}, {2*inner + 1, 2}, {0, 1}, {1, 0}} {
				ars, acs := a[0], a[1]
				brs := []int{nr, nr, nr + 5, 3 * nr, nr, 0, 1}[i]
				crs := []int{nr, nr + 1, 2*nr + 3}[i%3]
				density := []float64{0, 0.01, 0, 0.1, 0, 0.5, 0}[i]
				var an, bn int
				if inner > 0 {
					an, bn = (rows-1)*ars+(inner-1)*acs+1, (inner-1)*brs+nr
				}
				bufs := [][]float32{
					h.numbers(an, density), h.numbers(bn, density), h.numbers((rows-1)*crs+nr, density),
				}
				acc := h.rng.IntN(2) == 0
				places := 2
				if inner == 3 {
					places = inPlaces
				}
				h.same(places, func(kern *kernels, buf [][]float32) {
					columns(kern, buf[1], buf[2], func(b, c []float32) {
						tiles, each, tall := kern.tiling(rows)
						kern.table.panel(inner, buf[0], ars, acs, 0, b, brs, c, crs, tiles, each, tall, acc, b, 64, 1)
					})
				}, bufs, "panel: rows %d, inner %d, ars %d, acs %d, brs %d, crs %d, acc %t", rows, inner, ars, acs, brs, crs, acc)
			}
		}
	}
	for m := range 3*h.kern.mr + 3 {
		const inner = 7
		ld := nr + 2
		bufs := [][]float32{h.numbers(m*inner, 0), h.numbers(inner*nr, 0), h.numbers(m*ld, 0)}
		h.same(2, func(kern *kernels, buf [][]float32) {
			columns(kern, buf[1], buf[2], func(b, c []float32) {
				kern.panel(&blockA{rows: m, cols: inner, rs: inner, cs: 1, data: buf[0]}, panelB{b, nr, b}, c, ld, true, 1)
			})
		}, bufs, "panel: m %d", m)
	}
}

// weights are responsibilities: zeros of both signs, ordinary and special values.
func (h *twins) weights(n int, density float64) []float32 {
	r := make([]float32, n)
	for i := range r {
		switch h.rng.IntN(4) {
		case 0:
		case 1:
			r[i] = float32(math.Copysign(0, -1))
		default:
			r[i] = h.number(density)
		}
	}
	return r
}

func TestTwinGradient(t *testing.T) { eachTwin(t, func(h *twins) { h.rounds((*twins).gradient) }) }

func (h *twins) gradient() {
	for i, n := range append(tailLengths(), 63+64, 64+16+4+1, 192, 211) {
		for k := range 6 {
			rs := []int{1, 3, 0}[(i+k)%3]
			gs := rowStrides(n)[(i/3+k)%4]
			density := densities[(i+k)%3]
			bufs := [][]float32{h.numbers(n, 0), h.weights(span(k, rs, 1), density), h.numbers(span(k, gs, n), density)}
			places := 2
			if k == 3 {
				places = inPlaces
			}
			h.same(places, func(t *kernels, b [][]float32) {
				t.table.gradient(b[0], b[1], rs, b[2], gs, k)
			}, bufs, "gradient: n %d, k %d, rs %d, gs %d", n, k, rs, gs)
			if k > 0 {
				h.same(1, func(t *kernels, b [][]float32) {
					t.table.gradient(b[1][:n], b[0], rs, b[1], n, k)
				}, [][]float32{bufs[1], h.numbers(k*n, density)}, "gradient, dst = g: n %d, k %d, rs %d", n, k, rs)
			}
		}
	}
}

// extent is span, but rows without elements still begin stride apart.
func extent(rows, stride, n int) int { return max(rows-1, 0)*stride + n }

func TestTwinPullRows(t *testing.T) { eachTwin(t, func(h *twins) { h.rounds((*twins).pullRows) }) }

func (h *twins) pullRows() {
	for i, n := range tailLengths() {
		for rows := range 5 {
			c := i + rows
			ds, xs, ys := rowStrides(n)[c%3], rowStrides(n)[(c/3)%4], rowStrides(n)[(c/5)%4]
			density := densities[c%3]
			hh := []float32{0.5, 1, h.number(density)}[c%3]
			bufs := [][]float32{
				h.numbers(extent(rows, ds, n), 0), h.weights(rows, density/4), h.numbers(extent(rows, xs, n), density),
				h.numbers(rows, density/4), h.numbers(extent(rows, ys, n), density),
			}
			places := 2
			if rows == 3 {
				places = inPlaces
			}
			h.same(places, func(kern *kernels, b [][]float32) {
				kern.table.gradRows(b[0], ds, b[1], b[2], xs, b[3], hh, b[4], ys, n)
			}, bufs, "pullRows: n %d, rows %d, h %v, ds %d, xs %d, ys %d", n, rows, hh, ds, xs, ys)
			h.same(1, func(kern *kernels, b [][]float32) {
				kern.table.gradRows(b[1], xs, b[0], b[1], xs, b[2], hh, b[3], ys, n)
			}, bufs[1:], "pullRows, dst = x: n %d, rows %d, h %v, xs %d, ys %d", n, rows, hh, xs, ys)
			h.same(1, func(kern *kernels, b [][]float32) {
				kern.table.gradRows(b[3], ys, b[0], b[1], xs, b[2], hh, b[3], ys, n)
			}, bufs[1:], "pullRows, dst = y: n %d, rows %d, h %v, xs %d, ys %d", n, rows, hh, xs, ys)
		}
	}
}

func TestTwinPullDeltas(t *testing.T) { eachTwin(t, func(h *twins) { h.rounds((*twins).pullDeltas) }) }

func (h *twins) pullDeltas() {
	for i, n := range append(tailLengths(), 64, 64+16+4+1) {
		for rows := range 5 {
			c := i + rows
			ld, us, xs := rowStrides(n)[c%2], rowStrides(n)[(c/3)%4], rowStrides(n)[(c/5)%4]
			density := densities[c%3]
			hh := []float32{0.5, 1, h.number(density)}[c%3]
			bufs := [][]float32{
				h.numbers(extent(rows, ld, n), 0), h.numbers(extent(rows, ld, n), 0), h.numbers(n, 0), h.numbers(n, 0),
				h.weights(rows, density/4), h.numbers(rows, density/4),
				h.numbers(extent(rows, us, n), density), h.numbers(extent(rows, xs, n), density), h.numbers(n, density),
			}
			h.same(4, func(kern *kernels, b [][]float32) {
				kern.table.gradDeltas(b[0], b[1], ld, b[4], b[6], us, b[5], hh, b[7], xs, b[8], b[2], b[3])
			}, bufs, "pullDeltas: n %d, rows %d, h %v, ld %d, us %d, xs %d", n, rows, hh, ld, us, xs)
			h.same(2, func(kern *kernels, b [][]float32) {
				kern.table.gradDeltas(b[0], nil, ld, b[4], b[6], us, b[5], hh, b[7], xs, b[8], nil, nil)
			}, bufs, "pullDeltas without d: n %d, rows %d, h %v, ld %d, us %d, xs %d", n, rows, hh, ld, us, xs)
		}
	}
}

func TestTwinMixture(t *testing.T) { eachTwin(t, func(h *twins) { h.rounds((*twins).mixture) }) }

func (h *twins) mixture() {
	for n := range 18 {
		for _, k := range []int{0, 1, 2, 3, 7} {
			for v := range 8 {
				ld := n + v%3
				density := []float64{0, 0, 0, 0.05, 0.3, 1, 0, 0}[v]
				c, q := h.numbers(k, density/4), h.numbers(span(k, ld, n), density)
				for j := range q {
					switch v {
					case 1: // around the cut
						q[j] = 2 * (-ResponsibilityCut) * float32(h.rng.IntN(3)) * (1 + float32(h.rng.IntN(5)-2)*0x1p-23)
					case 2: // far apart
						q[j] *= 100
					case 6: // ties
						q[j] = float32(h.rng.IntN(2))
					case 7: // nothing but infinities
						q[j] = float32(math.Inf(h.rng.IntN(2)*2 - 1))
					}
				}
				if v == 1 {
					clear(c)
				}
				places := 2
				if k == 3 {
					places = inPlaces
				}
				h.same(places, func(t *kernels, b [][]float32) {
					t.table.mixture(b[0], ld, b[1], b[2])
				}, [][]float32{q, c, h.numbers(n, 0)}, "mixture: n %d, k %d, ld %d, kind %d", n, k, ld, v)
			}
		}
	}
}

func TestTwinResponsibilities(t *testing.T) {
	eachTwin(t, func(h *twins) { h.rounds((*twins).responsibilities) })
}

func (h *twins) responsibilities() {
	for n := range 22 {
		for k := range 6 {
			for v, density := range []float64{0, 0.05, 0.3, 1} {
				ld := n + v
				bufs := [][]float32{h.weights(span(k, ld, n), density), h.numbers(span(k, ld, n), density), h.numbers(n, 0)}
				places := 2
				if k == 3 {
					places = inPlaces
				}
				h.same(places, func(t *kernels, b [][]float32) {
					t.table.responsibilityBackward(b[0], b[1], ld, b[2], k)
				}, bufs, "responsibilities: n %d, k %d, ld %d", n, k, ld)
			}
		}
	}
}

// TestTwinExpLog compares exp and log over a sample of all float32, and closely around
// the numbers where something changes.
func TestTwinExpLog(t *testing.T) { eachTwin(t, (*twins).expLog) }

func (h *twins) expLog() {
	const block = 4096
	x, y := make([]float32, 0, block), make([]float32, block)
	flush := func() {
		h.kern.table.exp(y[:len(x)], x)
		for j, v := range x {
			if w := num.Exp32(v); math.Float32bits(y[j]) != math.Float32bits(w) && (y[j] == y[j] || w == w) {
				h.Fatalf("exp(%v = %#08x): %v %v (%#08x), Go %v (%#08x)", v, math.Float32bits(v), h.kern.tier, y[j], math.Float32bits(y[j]), w, math.Float32bits(w))
			}
		}
		h.kern.table.log(y[:len(x)], x)
		for j, v := range x {
			if w := num.Log32(v); math.Float32bits(y[j]) != math.Float32bits(w) && (y[j] == y[j] || w == w) {
				h.Fatalf("log(%v = %#08x): %v %v (%#08x), Go %v (%#08x)", v, math.Float32bits(v), h.kern.tier, y[j], math.Float32bits(y[j]), w, math.Float32bits(w))
			}
		}
		x = x[:0]
	}
	inputs := 0
	add := func(bits uint32) {
		x = append(x, math.Float32frombits(bits))
		inputs++
		if len(x) == block {
			flush()
		}
	}
	edges := []float32{0, 0x1p-149, 0x1p-126, 0x1p-24, 0x1p-12, 0.5, math.Float32frombits(0x3f3504f3), 1, math.Sqrt2, 2, 64,
		0x1.5d589ep6, 0x1.62e42ep6, 88, 89, 104.5, 103.278929903431851103, 103.972077083991796413, 150, math.MaxFloat32, float32(math.Inf(1))}
	for k := float32(0.5); k < 152; k++ { // where exp's reduction changes its multiple of ln 2
		edges = append(edges, k*0x1.62e43p-1)
	}
	for e := uint32(1); e < 255; e++ { // where log's reduction changes the exponent
		edges = append(edges, math.Float32frombits(e<<23), math.Float32frombits(e<<23|0x3f3504f3&0x7fffff))
	}
	for _, e := range edges {
		for d := range uint32(17) {
			add(math.Float32bits(e) + d - 8)
			add(math.Float32bits(-e) + d - 8)
		}
	}
	for _, v := range []uint32{0x7f800001, 0x7fbfffff, 0x7fc00000, 0x7fffffff, 0xff800001, 0xffc00000, 0xffffffff} {
		add(v)
	}
	for bits := uint64(0); bits < 1<<32; bits += uint64(*expLogStride) {
		add(uint32(bits))
	}
	flush()
	h.Logf("%d inputs", inputs)
}

// TestTables checks that every field of every table is set unless it is optional, and that the
// measuring loop ends.
func TestTables(t *testing.T) {
	for _, tier := range Available() {
		kern, _ := tierKernels(tier)
		v := reflect.ValueOf(kern.table)
		for i := range v.NumField() {
			field := v.Type().Field(i)
			if v.Field(i).IsZero() && field.Tag.Get("optional") == "" {
				t.Errorf("%v: %s is not set", tier, field.Name)
			}
		}
		for rounds := range 3 {
			kern.fmaPeak(rounds)
			pause(rounds)
		}
	}
}
