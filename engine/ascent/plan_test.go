package ascent

import (
	"dpnbench/engine"
	"fmt"
	"strings"
	"testing"
)

// TestSharing runs the same ascent by rows and by components, in several blocks of rows
// each: states, responsibilities, potentials and what the backward pass reads have the
// same bits.
func TestSharing(t *testing.T) {
	const rows, k, d, steps = 37, 3, 35, 4
	type result struct{ x, r, phi, g, end []float32 }
	for _, tier := range engine.Available() {
		for _, threads := range []int{1, 2, 8} {
			e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(threads), engine.WithEagerThreads())
			l := newFullLandscape(e, k, d, 0.8)
			ascend := func(sharing Sharing, blocks int) result {
				x := points(rows, d)
				var tr Trajectory
				tr.reshape(steps, rows, l.m, true, false)
				plan := Plan{Sharing: sharing, Blocks: blocks, Threads: threads, KeptRows: rows,
					Flops: ascentFlops(rows, k, d, steps)}
				l.m.run(e, ascentJob{alpha: l.alpha, steps: steps, x: x, tr: &tr, plan: plan})
				phi, r := make([]float32, rows), engine.NewMatrix(k, rows)
				plan.Flops = ascentFlops(rows, k, d, 1)
				l.m.run(e, ascentJob{steps: 1, x: x, phi: phi, r: r, plan: plan})
				return result{x.Data, append(tr.R, r.Data...), append(tr.Phi, phi...), tr.g, tr.X}
			}
			want := ascend(ByRows, 1)
			for _, sharing := range []Sharing{ByRows, ByComponents} {
				for _, blocks := range []int{1, 2, 5} {
					got := ascend(sharing, blocks)
					name := fmt.Sprintf("%v, %d threads, by %v, %d blocks: ", tier, threads, sharing, blocks)
					equalBits(t, name+"x_n", got.x, want.x)
					equalBits(t, name+"r", got.r, want.r)
					equalBits(t, name+"phi", got.phi, want.phi)
					equalBits(t, name+"G", got.g, want.g)
					equalBits(t, name+"x_t", got.end, want.end)
				}
			}
		}
	}
}

// TestPlanDense holds plans to what their documentation says.
func TestPlanDense(t *testing.T) {
	e := newTestEngine(t, engine.WithThreads(4))
	for _, c := range []struct {
		rows, k, d, steps int
		sharing           Sharing
		threads           int
		says              string
	}{
		{128, 20, 64, 30, ByRows, 4, "by rows: "},
		{1, 2, 64, 1, ByRows, 1, "by rows: 1 block of up to 1 row, each taken through all steps by one of 1 thread"},
		{8, 20, 784, 200, ByComponents, 4, "by components: 4 threads"},
		{10000, 20, 784, 10, ByRows, 4, "by rows: "},
		{0, 20, 784, 10, ByRows, 1, "no rows"},
	} {
		if c.sharing == ByComponents && e.Tier() == engine.Generic {
			continue // it multiplies so slowly that reading P_i is always hidden
		}
		p := planDense(e, c.rows, c.k, c.d, c.steps, true)
		if p.Sharing != c.sharing || p.Threads != c.threads || !strings.HasPrefix(p.String(), c.says) {
			t.Errorf("%+v: sharing %v, %d threads, %q", c, p.Sharing, p.Threads, p)
		}
		if c.rows > 0 && (p.Blocks*p.BlockRows < c.rows || p.BlockRows > maxBlockRows) {
			t.Errorf("%+v: %d blocks of %d rows", c, p.Blocks, p.BlockRows)
		}
	}
}

// TestPlanSingleRows checks when rows climb one by one.
func TestPlanSingleRows(t *testing.T) {
	for _, threads := range []int{1, 2} {
		e := newTestEngine(t, engine.WithThreads(threads))
		for _, c := range []struct {
			rows, k, d int
			single     bool
		}{
			{1, 20, 64, true},
			{1, 20, 256, true},
			{1, 3, 64, false},
			{1, 20, 63, false},
			{100, 20, 64, false},
			{1, 5000, 256, false}, // half as much again would be kept
		} {
			p, want := planDense(e, c.rows, c.k, c.d, 30, true), c.single && e.SingleRows() > 0
			if p.SingleRows != want || strings.HasSuffix(p.String(), "single rows read half of them)") != want {
				t.Errorf("%d threads, %+v: single rows: %t, %q", threads, c, p.SingleRows, p)
			}
		}
		if NewMixture(20, 64, make([]float32, 20*64), make([]float32, 20)).precision.plan(e, 1, 30, false).SingleRows {
			t.Errorf("%d threads: single rows for a trajectory", threads)
		}
		tied := NewTiedMixture(20, 64, make([]float32, 20*64), make([]float32, 20))
		if tied.Plan(e, 1, 30).SingleRows {
			t.Errorf("%d threads: single rows with one P for all", threads)
		}
		if e.Tier() != engine.Generic && threads > 1 {
			far := NewTiedMixture(20, 512, make([]float32, 20*512), make([]float32, 20))
			if p := far.Plan(e, 1, 30); p.Sharing != ByComponents {
				t.Errorf("one P for all and a single row: %v", p)
			}
		}
	}
}

// TestKeptRows checks what is kept of small, large and very large ascents, the last of more bytes than
// an int of 32 or 64 bits holds: as many whole blocks as fit.
func TestKeptRows(t *testing.T) {
	e := newTestEngine(t, engine.WithThreads(1))
	for _, c := range []struct{ rows, k, d, steps, fit int }{
		{128, 20, 784, 30, 128}, {128, 100, 784, 30, 114}, {7, 2, 3, 0, 7},
		{1 << 10, 1 << 5, 1 << 10, 1 << 5, 1 << 8}, {1 << 30, 1 << 10, 1 << 10, 1 << 30, 0},
	} {
		p := planDense(e, c.rows, c.k, c.d, c.steps, true)
		if p.KeptRows > c.fit || p.KeptRows < c.rows && p.KeptRows+p.BlockRows <= c.fit {
			t.Errorf("%+v: %d rows are kept, in blocks of %d", c, p.KeptRows, p.BlockRows)
		}
	}
}

// TestKeptBytes holds the estimate against the memory that a trajectory and the sparse route have
// taken for G_i.
func TestKeptBytes(t *testing.T) {
	old := maxKeptG
	defer func() { maxKeptG = old }()
	h := newLandscape("kept", 5, 24, -1, 0, 3, 2, 40)
	const steps = 3
	for _, maxKeptG = range []int{old, 0} {
		var taken float64
		for _, route := range []Route{DenseRoute, SparseRoute} {
			e := newTestEngine(t, engine.WithThreads(1))
			var tr Trajectory
			m := h.by(e, route)
			m.Ascend(e, h.alpha, steps, clone(h.x), &tr, true)
			taken += 4 * float64(len(tr.g)+len(m.sparse.first.g)) * 32 / float64(e.PaddedD(h.d)) // as if padded
		}
		if got := KeptBytes(h.x.Rows, h.k, h.d, steps); got != taken {
			t.Errorf("at most %d bytes of G_i kept: %g were taken, %g estimated", maxKeptG, taken, got)
		}
	}
}

// TestByComponents checks that an ascent by components hands the products of every step to the
// threads, also where one step alone would stay on one thread.
func TestByComponents(t *testing.T) {
	const rows, k, d, steps = 2, 8, 64, 20
	e := newTestEngine(t, engine.WithThreads(2))
	l := newFullLandscape(e, k, d, 0.8)
	if step := ascentFlops(rows, k, d, 1); step >= e.WakeFlops() && e.Tier() != engine.Generic {
		t.Fatalf("a step of %v flop is not short", step)
	}
	jobs := func() uint64 { return e.SharedJobs() }
	before := jobs()
	plan := Plan{Sharing: ByComponents, Blocks: 1, Threads: 2, Flops: ascentFlops(rows, k, d, steps)}
	l.m.run(e, ascentJob{alpha: l.alpha, steps: steps, x: points(rows, d), plan: plan})
	if got := jobs() - before; got < steps {
		t.Errorf("%d jobs of %d steps were shared", got, steps)
	}
}
