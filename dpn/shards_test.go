package dpn

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
)

// TestTree checks the order in which gradients and figures of pieces are added.
func TestTree(t *testing.T) {
	e := newEngine(t, engine.WithThreads(1))
	for n := 1; n <= 40; n++ {
		p := &Param{Data: make([]float32, 2), Grad: make([]float32, 2)}
		tree := newTree([]*Param{p}, n)
		for range 2 { // minibatches
			var x []float32
			var f figures
			for i := range n {
				v := float32(math.Exp(math.Sin(float64(i * i)))) // of which each order has another sum
				x = append(x, v)
				p.Grad[0], p.Grad[1] = v, -v
				f = tree.add(e, i, n, figures{loss: float64(v)})
			}
			if want := num.TreeSum(x); p.Grad[0] != want || p.Grad[1] != -want ||
				!(math.Abs(f.loss-float64(want)) <= 1e-5*f.loss) {
				t.Errorf("%d pieces: sum %v, loss %v, want %v", n, p.Grad, f.loss, want)
			}
		}
	}
}

// TestPieces checks that the gradients of pieces add up to those of the minibatch, with noise, dropout and all
// losses, whatever its size is, and that what else is measured of it is the same.
func TestPieces(t *testing.T) {
	e := newEngine(t)
	cases := checkpointCases()
	names := slices.Sorted(maps.Keys(cases))
	if testing.Short() {
		names = []string{"densities", "shards"}
	}
	for _, name := range names {
		run := newCheckpointRun(t, e, cases[name])
		run.c.Shards, run.c.Balance = 1, true
		first := newModel(t, run.c, run.d)
		if _, err := first.Init(context.Background(), e, run.d.Train); err != nil {
			t.Fatal(err)
		}
		one, at := NewTrainer(first, e), []int32{3, 14, 15, 9, 26, 5, 35, 8, 79, 32, 38, 46, 2, 64}
		terms := rowTerms(one, run.d.Train, at)
		for _, shards := range []int{2, 3, 8} {
			run.c.Shards = shards
			m := newModel(t, run.c, run.d)
			for i, p := range m.Params() {
				copy(p.Data, first.Params()[i].Data)
			}
			m.potential.SetAlpha(m.potential.Alpha())
			many := NewTrainer(m, e)
			for _, n := range []int{14, 5, 1} {
				one.updates, many.updates = n, n
				minibatch := whole(run.d.Train, at[:n])
				want, _ := one.gradients(minibatch)
				got, _ := many.gradients(minibatch)
				what := fmt.Sprintf("%s, %d rows in %d pieces", name, n, shards)
				for i, v := range [][2]float64{{got, want}, {many.nll, one.nll}, {many.score, one.score},
					{many.tally.Sums.Loss, one.tally.Sums.Loss}} {
					if !(math.Abs(v[0]-v[1]) <= 1e-6*math.Abs(v[1])) {
						t.Errorf("%s: loss %d is %v, want %v", what, i, v[0], v[1])
					}
				}
				if a, b := many.tally.Sums, one.tally.Sums; a.Samples != b.Samples || a.Right != b.Right ||
					!slices.Equal(many.used, one.used) {
					t.Errorf("%s: %+v, used %v, want %+v, %v", what, a, many.used, b, one.used)
				}
				for i, p := range many.params {
					compareGradients(t, what, p, one.params[i], terms[i])
				}
			}
		}
	}
}

// rowTerms returns, for each parameter that is one number, the mean size of its gradients by single rows: rounding is
// relative to them where they cancel. For the others it returns 0: the largest of their gradients stands for the size.
func rowTerms(one *Trainer, set *dataset.Set, at []int32) []float64 {
	terms := make([]float64, len(one.params))
	for b := range at {
		one.gradients(whole(set, at[b:b+1]))
		for i, p := range one.params {
			if len(p.Grad) == 1 {
				terms[i] += math.Abs(float64(p.Grad[0])) / float64(len(at))
			}
		}
	}
	return terms
}

// compareGradients compares two gradients of a parameter, which rounding may separate. size is at least that of the
// terms that they are the mean of, or 0.
func compareGradients(t *testing.T, what string, p, want *Param, size float64) {
	t.Helper()
	largest, worst := size, 0.0
	for j, v := range want.Grad {
		largest = max(largest, math.Abs(float64(v)))
		worst = max(worst, math.Abs(float64(p.Grad[j]-v)))
	}
	if !(worst <= 1e-5*largest) {
		t.Errorf("%s: the gradient of %s is off by %.3g, the largest is %.3g", what, p.Name, worst, largest)
	}
}

// TestShardedBits trains with minibatches in 8 pieces, of which the last minibatch of an epoch leaves some empty, on
// every tier and with several numbers of threads: the same bits as committed.
func TestShardedBits(t *testing.T) {
	cases := checkpointCases()
	for name, want := range map[string]string{
		"noise":     "f40e2f881f763321",
		"densities": "c410ce17ff6483d8",
		"robust":    "e8b972bcc047a5b5",
		"conv3":     "b5229a6ffb6dc977",
		"paper":     "1157ea80465eaae0",
		"pixels":    "e78fe3eb1737eed1",
		"published": "5d6d0ea330721e54",
	} {
		runs := [][]engine.Option{{engine.WithThreads(1)}, {engine.WithThreads(3), engine.WithEagerThreads()}}
		for _, tier := range engine.Available()[1:] {
			runs = append(runs, []engine.Option{engine.WithTier(tier)})
		}
		if testing.Short() {
			runs = runs[:1]
		}
		for i, options := range runs {
			run := newCheckpointRun(t, newEngine(t, options...), cases[name])
			run.c.Shards, run.c.Epochs = 8, 2
			if i == 1 {
				run.route = ascent.SparseRoute
			}
			m, _, err := run.fit(context.Background(), FitOptions{})
			if err != nil {
				t.Fatal(err)
			}
			if got := m.WeightsSHA256(); want == "" || !strings.HasPrefix(got, want) {
				t.Errorf("%s, run %d: weights hash to %s, want %s...", name, i, got, want)
			}
		}
	}
}
