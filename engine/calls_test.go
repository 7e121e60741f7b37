package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/engine/num"
)

// TestCallsAreShort checks that no call of an assembly function is long, because calls cannot be
// preempted. It computes products with more rows than a block, on a worker, too, and reductions of
// long vectors and rows.
func TestCallsAreShort(t *testing.T) {
	const elements = 1 << 17 // limit of a reduction: less than 100 microseconds
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		kern := smallBlocks(e.kern)
		e.kern = kern
		most := map[string]int{}
		count := func(what string, n int) { most[what] = max(most[what], n) }
		panel, dots := kern.table.panel, kern.table.dotRows
		sum, dot, addRows := kern.table.sum, kern.table.dot, kern.table.addRows
		kern.table.panel = func(args *panelArgs) {
			elements := (args.tiles*args.rows + args.tall) * args.k
			count("elements of A", elements)
			count("inner indices", args.k)
			if args.panels > 1 {
				count("flop of several panels", 2*elements*args.panels*kern.nr)
			}
			panel(args)
		}
		kern.table.dotRows = func(dst, x []float32, xs int, y []float32, ys, n int) {
			count("elements", n*len(dst))
			dots(dst, x, xs, y, ys, n)
		}
		kern.table.sum = func(x []float32) float64 {
			count("elements", len(x))
			return sum(x)
		}
		kern.table.dot = func(x, y []float32) float64 {
			count("elements", len(x))
			return dot(x, y)
		}
		kern.table.addRows = func(sum []float64, x []float32, xs int, at []int32) {
			count("elements", 2*len(at)*len(sum))
			addRows(sum, x, xs, at)
		}
		for _, s := range [][3]int{{10 * kern.mc, kern.kc, 3}, {5 * kern.mc, kern.kc, 70},
			{4*kern.mc + 1, 3 * kern.kc, 40}, {9 * kern.mc, kern.kc / 4, 3}, {64, 64, 3000}} {
			a, b, c := NewMatrix(s[0], s[1]), NewMatrix(s[1], s[2]), NewMatrix(s[0], s[2])
			e.MatMul(c, a, b, false)
			e.Parallel(1, 0, 0, func(w *Worker, _, _ int) { w.MatMul(c, a, b, false) })
		}
		x := NewMatrix(7, elements/2)
		e.RowDots(make([]float32, 7), x, x)
		e.Dot(x.Data, x.Data)
		e.Sum(x.Data)
		for _, cols := range []int{1, 7, 64, elements / 2} {
			e.ColumnSums(make([]float32, cols), View(x.Data, len(x.Data)/cols, cols), false)
		}
		for what, limit := range map[string]int{"elements of A": kern.mc * kern.kc, "inner indices": kern.kc,
			"flop of several panels": int(100 * kern.flopPerMicrosecond), "elements": elements} {
			if most[what] == 0 || most[what] > limit {
				t.Errorf("%v: a call for %d %s, want 1 to %d", tier, most[what], what, limit)
			}
		}
	}
}

// TestEmptyAndNarrow passes views without columns, and views of one column of a wider matrix, which
// have a column stride other than 1.
func TestEmptyAndNarrow(t *testing.T) {
	e := newTestEngine(t, WithThreads(1))
	wide := NewMatrix(3, 5)
	num.NewRand(1, 1).Normal(wide.Data)
	none, one := wide.Slice(0, 3, 2, 2), wide.Slice(0, 3, 2, 3)
	one.CS = 7
	dist := NewMatrix(3, 3)
	e.SquaredDistances(dist, none, none)
	for _, v := range dist.Data {
		if v != 0 {
			t.Errorf("rows without columns lie %v apart", v)
		}
	}
	rstd := make([]float32, 3)
	e.LayerNorm(none, rstd, none, 1)
	e.LayerNormBackward(none, none, rstd, none)
	c := NewMatrix(3, 2)
	c.Set(1, 1, 4)
	e.Parallel(1, 0, 0, func(w *Worker, _, _ int) { w.MatMulAt(c, none, nil, nil, false) })
	if c.At(1, 1) != 0 {
		t.Error("a product without inner indices is not 0")
	}
	for i := range 3 {
		if got := one.Row(i); len(got) != 1 || got[0] != wide.At(i, 2) {
			t.Errorf("row %d of one column is %v, want %v", i, got, wide.At(i, 2))
		}
	}
	y, dx := NewMatrix(3, 1), NewMatrix(3, 1)
	e.LayerNorm(y, rstd, one, 1)
	e.LayerNormBackward(dx, y, rstd, one)
	e.Parallel(1, 0, 0, func(w *Worker, _, _ int) {
		got, want := make([]float32, 3), make([]float32, 3)
		w.AddPatches(View(got, 3, 1), patchAt(2, 2), wide.Data, 5)
		w.SpreadPatches(want, patchAt(0, 2), one, 1)
		for i := range 3 {
			if got[i] != 2*wide.At(i, 2) || want[i] != got[i] {
				t.Errorf("patches of one column: %v and %v, want twice %v", got[i], want[i], wide.At(i, 2))
			}
		}
	})
}

// TestRefused checks that invalid arguments cause a panic with a message of the engine, before
// anything is written.
func TestRefused(t *testing.T) {
	e := newTestEngine(t, WithThreads(2))
	closed := newTestEngine(t, WithThreads(2))
	closed.Close()
	closed.Close()
	four, c := make([]float32, 4), NewMatrix(9, 4)
	for name, f := range map[string]func(){
		"a row stride that overflows": func() {
			e.MatMul(c, Matrix{Data: four, Rows: 9, Cols: 4, RS: 1 << (intBits - 3), CS: 1}, NewMatrix(4, 4), false)
		},
		"a column stride that overflows": func() {
			e.MatMul(c,
				Matrix{Data: four, Rows: 9, Cols: 4, CS: math.MaxInt / 2}, NewMatrix(4, 4), false)
		},
		"rows that overflow":    func() { View(four, math.MaxInt/2, 4) },
		"no data":               func() { e.MatMul(c, Matrix{Rows: 9, Cols: 4}, NewMatrix(4, 4), false) },
		"RunFMA(-1)":            func() { e.RunFMA(-1) },
		"RunFMA of too many":    func() { e.RunFMA(maxTasks) },
		"RunFMA after Close":    func() { closed.RunFMA(1) },
		"RunStream after Close": func() { closed.RunStream(Read, 100, 1) },
	} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.HasPrefix(v, "engine: ") {
					t.Errorf("%s: recovered %v, want a message of the engine", name, v)
				}
			}()
			f()
		}()
	}
}

// TestConvPoolRefused checks that Worker.ConvPool refuses slices that are a number too short, and no longer ones; that
// it counts its work; and that an empty slice of numbers counts as none in every tier.
func TestConvPoolRefused(t *testing.T) {
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		for _, left := range []int{2, 3} {
			testConvPoolRefused(t, e, e.ConvPoolChannels(left))
		}
	}
	for _, bad := range [][2]int{{-1, 0}, {0, -1}, {math.MaxInt32/4 + 1, 0}, {0, math.MaxInt32/4 + 1}} {
		func() {
			defer func() {
				if v := fmt.Sprint(recover()); !strings.HasPrefix(v, "engine: ") {
					t.Errorf("tap %v: recovered %v, want a message of the engine", bad, v)
				}
			}()
			new(Taps).Add(bad[0], bad[1])
		}()
	}
}

// TestConvPoolChannels checks that output channels are divided into as few calls as they can be, without padding where
// two or three at a time leave none.
func TestConvPoolChannels(t *testing.T) {
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		_, most, _ := e.ConvPoolSizes()
		for out := 1; out <= 20; out++ {
			var calls []int
			for left := out; left > 0; left -= calls[len(calls)-1] {
				calls = append(calls, e.ConvPoolChannels(left))
			}
			padding := -out
			for _, n := range calls {
				padding += n
			}
			if len(calls) != (out+most-1)/most || padding >= most || tier == AVX2 && padding > 0 && out > 1 {
				t.Errorf("%v: %d channels in calls of %d", tier, out, calls)
			}
		}
	}
}

func testConvPoolRefused(t *testing.T, e *Engine, channels int) {
	images, _, _ := e.ConvPoolSizes()
	full := func() *ConvPool {
		a := &ConvPool{Row: 3 * images, First: 2, Rows: 2, Cols: 3, N: 2, Pixels: 9, Channels: channels}
		a.Taps.Add(7, 1)
		a.Taps.Add(2, 4)
		last := a.First + (channels-1)*a.Pixels + a.Cols + a.N
		a.X, a.Weights, a.Bias = make([]float32, 7+13*images), make([]float32, 4+channels), make([]float32, channels)
		a.Y, a.Numbers = make([]float32, last*images), make([]float32, (last+3)/4*images)
		return a
	}
	call := func(a *ConvPool) (refused string) {
		defer func() {
			if v := recover(); v != nil {
				refused = fmt.Sprint(v)
			}
		}()
		e.Parallel(1, 0, 0, func(w *Worker, _, _ int) { w.ConvPool(a) })
		return ""
	}
	before := e.scratch[0].work
	if v := call(full()); v != "" {
		t.Errorf("%v, %d channels: %s", e.Tier(), channels, v)
	}
	// Two taps of all four pixels of each of the 2 x 2: what a worker counts until it yields.
	if got, want := e.scratch[0].work-before, 2*2*4*4*images*channels; got != want {
		t.Errorf("%v, %d channels: a call counts as %d flop, expected %d", e.Tier(), channels, got, want)
	}
	for name, spoil := range map[string]func(a *ConvPool){
		"X":         func(a *ConvPool) { a.X = a.X[1:] },
		"Weights":   func(a *ConvPool) { a.Weights = a.Weights[1:] },
		"Bias":      func(a *ConvPool) { a.Bias = a.Bias[1:] },
		"Y":         func(a *ConvPool) { a.Y = a.Y[1:] },
		"Numbers":   func(a *ConvPool) { a.Numbers = a.Numbers[1:] },
		"Bad":       func(a *ConvPool) { a.Numbers, a.Bad = nil, make([]float32, channels*images-1) },
		"0 pixels":  func(a *ConvPool) { a.N = 0 },
		"0 rows":    func(a *ConvPool) { a.Rows = 0 },
		"columns":   func(a *ConvPool) { a.Cols = -1 },
		"far rows":  func(a *ConvPool) { a.Cols = math.MaxInt / 2 },
		"many rows": func(a *ConvPool) { a.Rows = math.MaxInt / 2 },
		"rows only": func(a *ConvPool) { a.Rows, a.Cols = math.MaxInt/2, 0 },
		"row of 0":  func(a *ConvPool) { a.Rows, a.Row = math.MaxInt/2, 0 },
		"far down":  func(a *ConvPool) { a.Rows, a.Cols, a.Y = 1<<20, 2, make([]float32, 1<<22) },
		"one below": func(a *ConvPool) { a.Cols = 1 },   // pixels of two rows at a place
		"one after": func(a *ConvPool) { a.Pixels = 4 }, // of two channels
		"channels":  func(a *ConvPool) { a.Channels = 0 },
		"1 channel": func(a *ConvPool) { a.Channels = 1 },
		"5 channels": func(a *ConvPool) {
			more := make([]float32, 99*images)
			a.Channels, a.Weights, a.Bias, a.Y, a.Numbers = 5, more, more, more, more
		},
		"0 taps":    func(a *ConvPool) { a.Taps = Taps{} },
		"row":       func(a *ConvPool) { a.Row = -images },
		"first":     func(a *ConvPool) { a.First = -1 },
		"channel":   func(a *ConvPool) { a.Pixels = -1 },
		"long row":  func(a *ConvPool) { a.Row = math.MaxInt / 2 },
		"far first": func(a *ConvPool) { a.First = math.MaxInt / 2 },
		"many":      func(a *ConvPool) { a.N = math.MaxInt / 2 },
	} {
		a := full()
		spoil(a)
		if v := call(a); !strings.HasPrefix(v, "engine: ") {
			t.Errorf("%v, %d channels, %s: %q, want a message of the engine", e.Tier(), channels, name, v)
		}
	}
	a := full()
	a.Row, a.Rows, a.Cols, a.Pixels = 0, 1000, 2, 2000
	a.Y, a.Numbers = make([]float32, 2002*channels*images), make([]float32, 2002*channels*images)
	if v := call(a); v != "" {
		t.Errorf("%v, %d channels, 1000 times the same row of X: %s", e.Tier(), channels, v)
	}
	a, behind := full(), make([]float32, 99*images)
	a.Numbers, a.Bad, a.Bias[0] = behind[:0], make([]float32, channels*images), float32(math.Inf(1))
	written := func(v float32) bool { return v != 0 }
	if v := call(a); v != "" || a.Bad[0] == a.Bad[0] || slices.ContainsFunc(behind, written) {
		t.Errorf("%v, %d channels: no numbers: %q, bad is %v, expected NaN", e.Tier(), channels, v, a.Bad[0])
	}
}

const intBits = 32 << (^uint(0) >> 63)
