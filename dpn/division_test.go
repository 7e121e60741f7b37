package dpn

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/internal/mpi"
)

// divided calls f on each of several ranks with a division of a training of c.
func divided(t *testing.T, ranks int, c Config, f func(rank int, e *engine.Engine, by potential.Division) error) {
	t.Helper()
	err := onRanks(ranks, c, smallDigits(t, 20), func(comm mpi.Comm, m *Model, e *engine.Engine) error {
		fit := &fitting{m: m, e: e, step: newTrainer(m, e, comm), cancel: func() {}}
		return f(comm.Rank(), e, fit.ranks())
	})
	if err != nil {
		t.Errorf("%d ranks, %d pieces: %v", ranks, c.Shards, err)
	}
}

// TestDivision adds and gathers by several ranks: what one process gets with as many pieces.
func TestDivision(t *testing.T) {
	ctx := context.Background()
	for shards := 1; shards <= 9; shards++ {
		c := tiny()
		c.Shards = shards
		for _, n := range []int{1, 5, 40} {
			add := func(piece, lo, hi int, sum []float64) {
				for i := lo; i < hi; i++ {
					sum[0] += math.Exp(5 * math.Sin(float64(i))) // of which each order has another sum
				}
				sum[1+piece] = float64(hi - lo)
			}
			want, err := c.alone().Sum(ctx, nil, n, 1+shards, add)
			if err != nil {
				t.Fatal(err)
			}
			var rows float64
			for _, v := range want[1:] {
				rows += v
			}
			if rows != float64(n) {
				t.Errorf("%d pieces of %d rows: %v", shards, n, want[1:])
			}
			for ranks := 1; ranks <= shards; ranks++ {
				divided(t, ranks, c, func(_ int, _ *engine.Engine, by potential.Division) error {
					got, err := by.Sum(ctx, nil, n, 1+shards, add)
					if err != nil || !slices.Equal(got, want) {
						return fmt.Errorf("sum of %d rows %v, want %v (%v)", n, got, want, err)
					}
					list, lo, hi := make([]float64, 2*n), 0, 0
					for lo, hi = by.Own(n); lo < hi; lo++ {
						list[2*lo], list[2*lo+1] = float64(lo), -float64(lo)
					}
					if err := by.Gather(ctx, nil, n, mpi.Bytes(list)); err != nil {
						return err
					}
					for i := range n {
						if list[2*i] != float64(i) || list[2*i+1] != -float64(i) {
							return fmt.Errorf("gathered %v", list)
						}
					}
					return nil
				})
			}
		}
	}
}

// TestDivisionFails checks that no rank goes on alone when one has failed or is told to stop.
func TestDivisionFails(t *testing.T) {
	c := tiny()
	c.Shards = 3
	broken := errors.New("broken")
	for what, call := range map[string]func(ctx context.Context, by potential.Division, err error) error{
		"Sum": func(ctx context.Context, by potential.Division, err error) error {
			_, err = by.Sum(ctx, err, 9, 1, func(int, int, int, []float64) {})
			return err
		},
		"Gather": func(ctx context.Context, by potential.Division, err error) error {
			return by.Gather(ctx, err, 9, make([]byte, 9))
		},
	} {
		divided(t, 3, c, func(rank int, _ *engine.Engine, by potential.Division) error {
			var err error
			if rank == 1 {
				err = broken
			}
			got := call(context.Background(), by, err)
			other, ok := errors.AsType[*mpi.RankError](got)
			if rank == 1 && got != broken || rank != 1 && !(ok && other.Rank == 1) {
				return fmt.Errorf("%s of rank %d: error %v", what, rank, got)
			}
			return nil
		})
		divided(t, 3, c, func(rank int, _ *engine.Engine, by potential.Division) error {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			d := by.(division)
			d.f.cancel = cancel
			if rank == 2 {
				cancel()
			}
			if got := call(ctx, by, nil); got != context.Canceled {
				return fmt.Errorf("%s of rank %d: error %v, want that of the context", what, rank, got)
			}
			return nil
		})
	}
}

// dividedRows are rows of two features in groups, the last of equal rows, so that centres lose all rows.
func dividedRows(n int) (x engine.Matrix, labels []uint16) {
	x = engine.NewMatrix(n, 2)
	for i := range n {
		if i < 2*n/3 {
			x.Set(i, 0, float32(math.Sin(float64(i)))+float32(i%5))
			x.Set(i, 1, float32(math.Cos(float64(i*i))))
		} else {
			x.Set(i, 0, 9)
		}
		labels = append(labels, uint16(i%3))
	}
	return x, labels
}

// TestDividedKMeans clusters rows by several ranks: what one process gets with as many pieces, and what KMeans
// gets but for roundings.
func TestDividedKMeans(t *testing.T) {
	e, ctx := newEngine(t), context.Background()
	x, labels := dividedRows(90)
	few := engine.NewMatrix(20, 2) // three different rows
	for i := range few.Rows {
		few.Set(i, 0, float32(i%3))
	}
	c := tiny()
	for _, rows := range []engine.Matrix{x, few} {
		for _, k := range []int{1, 6, 15} {
			clusters := func(e *engine.Engine, by potential.Division) (string, error) {
				a, err := potential.KMeansBy(ctx, e, by, rows, k, 7)
				if err != nil {
					return "", err
				}
				b, err := potential.ClassKMeansBy(ctx, e, by, rows, labels[:rows.Rows], max(k, 3), 7)
				return fmt.Sprintf("%+v\n%+v", *a, *b), err
			}
			whole, err := potential.KMeans(ctx, e, rows, k, 7)
			if err != nil {
				t.Fatal(err)
			}
			for _, c.Shards = range []int{2, 8} {
				want, err := clusters(e, c.alone())
				if err != nil {
					t.Fatal(err)
				}
				mine, err := potential.KMeansBy(ctx, e, c.alone(), rows, k, 7)
				if err != nil || !slices.Equal(mine.Assignment, whole.Assignment) ||
					!(math.Abs(mine.Inertia-whole.Inertia) <= 1e-12*whole.Inertia) {
					t.Errorf("%d rows, %d centres, %d pieces: %+v (%v), want %+v", rows.Rows, k, c.Shards, mine, err,
						whole)
				}
				for _, ranks := range []int{2, 3, 8} {
					divided(t, min(ranks, c.Shards), c, func(rank int, e *engine.Engine, by potential.Division) error {
						if got, err := clusters(e, by); err != nil || got != want {
							return fmt.Errorf("%d centres on rank %d: %s (%v), want %s", k, rank, got, err, want)
						}
						return nil
					})
				}
			}
		}
	}
}

// TestDividedEM fits mixtures of all forms by several ranks: what one process gets.
func TestDividedEM(t *testing.T) {
	e, ctx := newEngine(t), context.Background()
	x, _ := dividedRows(90)
	for _, form := range potential.Forms() {
		c := tiny()
		c.Form, c.Components, c.Rank, c.Shards = form, 5, 1, 8
		fit := func(e *engine.Engine, by potential.Division, clusters []int32) (string, error) {
			centres := engine.NewMatrix(c.Components, x.Cols)
			for i := range centres.Rows {
				copy(centres.Row(i), x.Row(11*i))
			}
			p, err := NewPotential(c, centres)
			if err != nil {
				return "", err
			}
			small, err := p.FitClusters(ctx, e, by, x, clusters)
			if err != nil {
				return "", err
			}
			if !slices.ContainsFunc(clusters, func(i int32) bool { return i != 0 }) {
				clusters = nil
			}
			r, err := p.EM(ctx, e, x, clusters, potential.EMOptions{Iterations: 6, Ridge: 0.1, By: by})
			if err != nil {
				return "", err
			}
			steepest, err := p.SteepestBy(ctx, 1, by)
			text := fmt.Sprintf("%+v %+v %v", small, *r, steepest)
			for _, q := range p.Params() {
				text += fmt.Sprintf(" %s %v", q.Name, q.Data)
			}
			return text, err
		}
		clusters := make([]int32, x.Rows)
		for _, k := range []int32{1, 4} { // the last component stays empty
			for i := range clusters {
				clusters[i] = int32(i) % k
			}
			want, err := fit(e, c.alone(), clusters)
			if err != nil {
				t.Fatal(err)
			}
			for _, ranks := range []int{2, 3, 8} {
				divided(t, ranks, c, func(rank int, e *engine.Engine, by potential.Division) error {
					if got, err := fit(e, by, clusters); err != nil || got != want {
						return fmt.Errorf("%s on rank %d: %s (%v), want %s", form, rank, got, err, want)
					}
					return nil
				})
			}
		}
	}
}
