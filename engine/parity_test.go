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
)

// The parity tests compare the unchecked functions of each tier with their pure-Go definitions, bit by
// bit, between inaccessible pages: at all alignments, with special values, in place, and with strides
// that are 0 or let rows overlap. Narrow panels, patches, pooling, transposition and streams have
// tests of their own; a new kernel needs a line in parity_vector_test.go or parity_ascent_test.go.

var expLogStride = flag.Int("explogstride", 5003, "exp and log are compared on every n-th float32 (1: on all of them)")

// A fence is memory between two inaccessible pages. Elements that do not belong to a buffer are
// guard cells.
type fence []float32

const (
	guardCell   = 0x7fa5c3e1 // a NaN, so that a stray read shows in the result
	guardMargin = 48         // guard cells checked on each side

	atStart  = 0  // directly after the inaccessible page
	atEnd    = -1 // directly before the inaccessible page
	inPlaces = 17 // atEnd, atStart and 15 more offsets
)

func newFence(t *testing.T, n int) fence {
	t.Helper()
	f := fence(guarded(t, n))
	for i := range f {
		f[i] = math.Float32frombits(guardCell)
	}
	return f
}

// place copies src to offset at, and returns the index of its first element and the copy.
func (f fence) place(src []float32, at int) (int, []float32) {
	if at == atEnd {
		at = len(f) - len(src)
	}
	dst := f[at : at+len(src) : at+len(src)]
	copy(dst, src)
	return at, dst
}

// clear turns the n elements from at on into guard cells again. If a guard cell around them was
// overwritten, it returns its offset and true.
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

// parity runs kernels of a tier and in pure Go, and compares the results.
type parity struct {
	*testing.T
	kern   *kernels // of the tier
	fences []fence
	rng    *rand.Rand
	cases  int
}

// eachAssembly runs a test for every tier with assembly.
func eachAssembly(t *testing.T, test func(h *parity)) {
	tiers := slices.DeleteFunc(Available(), func(tier Tier) bool { return tier == Generic })
	if len(tiers) == 0 {
		t.Skip("no assembly on this machine or in this build")
	}
	for _, tier := range tiers {
		t.Run(tier.String(), func(t *testing.T) {
			kern, _ := tierKernels(tier)
			h := &parity{T: t, kern: kern, rng: rand.New(rand.NewPCG(1, 2))}
			for range 9 {
				h.fences = append(h.fences, newFence(t, 8<<10))
			}
			defer debug.SetPanicOnFault(debug.SetPanicOnFault(true)) // applies to the goroutine of this test
			test(h)
			t.Logf("%d cases", h.cases)
		})
	}
}

// same runs a kernel once in pure Go and, for each place, once in assembly, on copies of
// the buffers, and compares all buffers afterwards. The label names the case.
func (h *parity) same(places int, run func(kern *kernels, b [][]float32), bufs [][]float32, format string,
	label ...any) {
	h.Helper()
	want := make([][]float32, len(bufs))
	for i, b := range bufs {
		want[i] = append([]float32(nil), b...)
	}
	run(&genericKernels, want)

	got := make([][]float32, len(bufs))
	at := make([]int, len(bufs))
	for p := range places {
		// First at the end, because reading beyond it is the most likely fault, then at the start,
		// then at offsets that differ between the buffers.
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
		h.faultless(func() { run(h.kern, got) }, format, label)
		for i := range bufs {
			for j, w := range want[i] {
				if v := got[i][j]; math.Float32bits(v) != math.Float32bits(w) && (v == v || w == w) {
					h.Fatalf("%s: place %d: buffer %d, element %d: %v %v (%#08x), Go %v (%#08x)",
						fmt.Sprintf(format, label...),
						p, i, j, h.kern.tier, v, math.Float32bits(v), w, math.Float32bits(w))
				}
			}
			if cell, bad := h.fences[i].clear(at[i], len(want[i])); bad {
				h.Fatalf("%s: place %d: buffer %d of %d elements: element %d was written",
					fmt.Sprintf(format, label...), p, i, len(want[i]), cell)
			}
		}
	}
}

// rounds runs a test several times, with different numbers.
func (h *parity) rounds(test func(h *parity)) {
	for range 3 {
		test(h)
	}
}

// faultless turns an access to an inaccessible page into a test failure that names the case.
func (h *parity) faultless(run func(), format string, label []any) {
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
	0x1.fffffep-101, 0x1p-57, -0x1.fffffep-58, 0x1p-114, 0x1.fffffep-115, // the floors of Adam and below
	1, -1, 0x1.000002p0, 88.7, -103.9,
}

// number returns an ordinary number or, with probability density, a special one.
func (h *parity) number(density float64) float32 {
	if density > 0 && h.rng.Float64() < density {
		return specialFloats[h.rng.IntN(len(specialFloats))]
	}
	return float32(h.rng.NormFloat64()) * float32(math.Ldexp(1, h.rng.IntN(9)-4))
}

func (h *parity) numbers(n int, density float64) []float32 {
	x := make([]float32, n)
	for j := range x {
		x[j] = h.number(density)
	}
	return x
}

// tailLengths are all tails after zero to four full vectors of 16, and some longer lengths.
func tailLengths() []int {
	var list []int
	for n := range 68 {
		list = append(list, n)
	}
	return append(list, 100, 127, 128, 129, 255, 1000)
}

var densities = []float64{0, 0.1, 1}

func TestParityTile(t *testing.T) { eachAssembly(t, func(h *parity) { h.rounds((*parity).tile) }) }

func (h *parity) tile() {
	nr := h.kern.nr
	// columns calls run for panels of the tier until they cover nr columns of B and C.
	columns := func(kern *kernels, b, c []float32, run func(b, c []float32)) {
		for j := 0; j < nr; j += kern.nr {
			run(b[min(j, len(b)):], c[min(j, len(c)):])
		}
	}
	for rows := 1; rows <= h.kern.mr; rows++ {
		for _, inner := range []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 23, 64} {
			for i, a := range [][2]int{{inner, 1}, {1, rows}, {inner + 3, 1}, {2, 2*rows + 1}, {2*inner + 1, 2}, {0, 1},
				{1, 0}} {
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
						kern.table.panel(&panelArgs{
							k: inner, a: buf[0], ars: ars, acs: acs, b: b, brs: brs, c: c, crs: crs,
							tiles: tiles, rows: each, tall: tall, acc: acc, next: b, step: 64, panels: 1,
						})
					})
				}, bufs, "panel: rows %d, inner %d, ars %d, acs %d, brs %d, crs %d, acc %t", rows, inner, ars, acs, brs,
					crs, acc)
			}
		}
	}
	for m := range 3*h.kern.mr + 3 {
		const inner = 7
		ld := nr + 2
		bufs := [][]float32{h.numbers(m*inner, 0), h.numbers(inner*nr, 0), h.numbers(m*ld, 0)}
		h.same(2, func(kern *kernels, buf [][]float32) {
			columns(kern, buf[1], buf[2], func(b, c []float32) {
				kern.panel(&blockA{rows: m, cols: inner, rs: inner, cs: 1, data: buf[0]}, panelB{b, nr, b}, c, ld, true,
					1)
			})
		}, bufs, "panel: m %d", m)
	}
}

// TestTables checks that every field of every table is set unless it is optional, and that the
// loops without a result end.
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
			prefetch(make([]byte, 100*rounds))
			prefetchToWrite(make([]byte, 100*rounds))
		}
	}
}
