package dpn

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dpnbench/dataset"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/longtest"
	"dpnbench/internal/mpi"
)

// onRanks calls f for each of several ranks, with a network and an engine of its own.
func onRanks(ranks int, c Config, d *dataset.Data, f func(c mpi.Comm, m *Model, e *engine.Engine) error) error {
	return mpi.Run(ranks, func(comm mpi.Comm) error {
		e, err := engine.New(engine.WithThreads(1))
		if err != nil {
			return err
		}
		defer e.Close()
		m, err := New(c, d)
		if err != nil {
			return err
		}
		return f(comm, m, e)
	})
}

// fitTogether calls Fit on each of several ranks, all with the options, the first one with ctx. It returns what the
// first one returns.
func (r checkpointRun) fitTogether(ctx context.Context, opt FitOptions) (*Model, *FitResult, error) {
	models, results := make([]*Model, r.ranks), make([]*FitResult, r.ranks)
	err := onRanks(r.ranks, r.c, r.d, func(c mpi.Comm, m *Model, e *engine.Engine) (err error) {
		m.SetRoute(r.route)
		ctx, opt := ctx, opt
		if c.Rank() > 0 {
			ctx = context.Background()
		}
		opt.Comm = c
		models[c.Rank()] = m
		results[c.Rank()], err = m.Fit(ctx, e, r.d.Train, opt)
		return err
	})
	for i, m := range models {
		if err == nil && m.WeightsSHA256() != models[0].WeightsSHA256() {
			r.t.Errorf("rank %d of %d ends with other weights than the first one", i, r.ranks)
		}
	}
	return models[0], results[0], err
}

// TestRanks trains with 1 to 8 ranks: all files and results are those of one process.
func TestRanks(t *testing.T) {
	longtest.Native(t)
	e := newEngine(t, engine.WithThreads(1))
	networks := []string{"linear", "noise", "raw", "robust", "pixels", "conv3", "published", "densities"}
	for name, set := range checkpointCases() {
		if !slices.Contains(networks, name) && !longtest.Asked() || name != "noise" && testing.Short() {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := newCheckpointRun(t, e, set)
			r.c.Shards, r.c.Epochs = 8, min(r.c.Epochs, 2)
			want := r.outcome(t.TempDir(), false)
			numbers := []int{3, 8} // and others if long tests are asked for
			switch {
			case testing.Short():
				numbers = numbers[:1]
			case longtest.Asked() || name == "linear":
				numbers = []int{1, 2, 3, 4, 8}
			}
			for _, r.ranks = range numbers {
				same(t, name, r.outcome(t.TempDir(), false), want)
			}
		})
	}
}

// TestRanksResume interrupts training after every update, and resumes it with another number of ranks, of which one
// alone is told to stop; and it resumes from what a kill after any save would leave.
func TestRanksResume(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes long under emulation, which changes nothing of it")
	}
	e := newEngine(t, engine.WithThreads(1))
	networks := []string{"noise", "patience"}
	if longtest.Asked() {
		networks = slices.Collect(maps.Keys(checkpointCases()))
	}
	for _, name := range networks {
		t.Run(name, func(t *testing.T) {
			r := newCheckpointRun(t, e, checkpointCases()[name])
			r.c.Shards, r.c.Epochs = 8, min(r.c.Epochs, 2)
			want := r.outcome(t.TempDir(), false)
			dir := t.TempDir()
			for at := 1; ; at++ {
				r.ranks = []int{2, 0, 5, 1, 8}[at%5]
				if r.interrupted(dir, at > 1, at) {
					break
				}
			}
			r.ranks = 3
			same(t, "interrupted after every update", r.outcome(dir, true), want)
			r.killEach(want)
		})
	}
}

// TestRanksInterrupted ends training of two ranks wherever the first one asks whether to: none waits for ever, and
// what is saved goes on with one process.
func TestRanksInterrupted(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes long under emulation, which changes nothing of it")
	}
	e := newEngine(t, engine.WithThreads(1))
	r := newCheckpointRun(t, e, func(c *Config) { c.Shards, c.Score = 2, 0.1 })
	r.c.Epochs = 2
	want := r.outcome(t.TempDir(), false)
	stride := int64(3)
	if longtest.Asked() {
		stride = 1
	}
	for n := int64(1); ; n += stride {
		dir, ctx := t.TempDir(), &ending{}
		ctx.Context, ctx.cancel = context.WithCancel(context.Background())
		ctx.left.Store(n)
		r.ranks = 2
		_, _, err := r.fit(ctx, FitOptions{Dir: dir})
		ctx.cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("asked %d times: %v", n, err)
		}
		r.ranks = 0
		_, statErr := os.Stat(filepath.Join(dir, StateFile))
		same(t, "interrupted", r.outcome(dir, statErr == nil), want)
	}
}

// TestRanksFail checks what all ranks return when one of them finds something wrong.
func TestRanksFail(t *testing.T) {
	d, config := smallDigits(t, 90), tiny()
	config.Batch, config.Shards = 32, 3
	for want, c := range map[string]struct {
		ranks int
		set   func(rank int, m *Model, o *FitOptions)
	}{
		"shards 3: expected at least the number of ranks, 4": {4, nil},
		"epoch 1, update 1: the loss is not finite": {3, func(_ int, m *Model, _ *FitOptions) {
			m.head.Bias.Data[0] = float32(math.NaN())
		}},
		"epoch 1, update 2: the norm of the gradient is not finite": {2, func(rank int, m *Model, o *FitOptions) {
			if rank == 0 {
				o.OnUpdate = func(int, int, float64) { m.head.Weight.Data[0] = 1e38 }
			}
		}},
		"rank 2 has other settings than rank 0": {3, func(rank int, m *Model, _ *FitOptions) {
			if rank == 2 {
				m.Config.LR *= 2
			}
		}},
		"rank 1 has other samples than rank 0": {3, func(rank int, m *Model, _ *FitOptions) {
			if rank == 1 {
				m.Norm.Mean = []float32{0.5}
			}
		}},
		"epoch 0, update 0: tensor classifier.weight of rank 1 differs from that of rank 0": {2,
			func(rank int, m *Model, _ *FitOptions) { m.head.Weight.Data[0] += float32(rank) }},
		"epoch 1, update 3: tensor denoising_potential.A of rank 1 differs from that of rank 0": {2,
			func(rank int, m *Model, o *FitOptions) {
				o.OnUpdate = func(int, int, float64) { m.potential.Params()[3].Data[0] = 0.5 }
			}},
	} {
		err := onRanks(c.ranks, config, d, func(comm mpi.Comm, m *Model, e *engine.Engine) error {
			o := FitOptions{Comm: comm}
			if c.set != nil {
				c.set(comm.Rank(), m, &o)
			}
			_, err := m.Fit(context.Background(), e, d.Train, o)
			return err
		})
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want one that begins with %q", err, want)
		}
	}
}

// saves is a log that calls a function at each save.
type saves struct {
	slog.Handler
	saved func()
}

func (s saves) Enabled(context.Context, slog.Level) bool { return true }

func (s saves) Handle(_ context.Context, r slog.Record) error {
	if r.Message == "saved" {
		s.saved()
	}
	return nil
}

// TestRanksFailTogether checks that no rank ends while the first one saves the epochs before numbers that are not
// finite: as a process, it would end the first one, too.
func TestRanksFailTogether(t *testing.T) {
	d, dir, c := smallDigits(t, 90), t.TempDir(), tiny()
	c.Batch, c.Shards, c.Epochs = 32, 2, 3
	var left atomic.Bool
	err := onRanks(2, c, d, func(comm mpi.Comm, m *Model, e *engine.Engine) error {
		o := FitOptions{Comm: comm, Dir: dir}
		o.OnEpoch = func(h Epoch) {
			if h.Epoch == 2 {
				m.head.Weight.Data[0] = 1e38
			}
		}
		o.Log = slog.New(saves{slog.DiscardHandler, func() {
			time.Sleep(20 * time.Millisecond)
			if left.Load() {
				t.Error("a rank has ended before a save")
			}
		}})
		_, err := m.Fit(context.Background(), e, d.Train, o)
		left.Store(comm.Rank() == 1 || left.Load())
		return err
	})
	if err == nil || !strings.Contains(err.Error(), "epoch 3, update 7: ") {
		t.Errorf("error %v", err)
	}
}

// TestRanksAllocate checks that updates of several ranks allocate nothing once they have run.
func TestRanksAllocate(t *testing.T) {
	d, at, c := digits(t, 64, 10), []int32{0, 1, 2, 3, 4, 5, 6, 7}, tiny()
	c.Shards = 3
	err := onRanks(2, c, d, func(comm mpi.Comm, m *Model, e *engine.Engine) error {
		_, err := m.Init(context.Background(), e, d.Train)
		if err != nil {
			return err
		}
		s := newTrainer(m, e, comm)
		update := func() { _, err = s.Update(d.Train, at, 1) }
		for range 3 {
			update()
		}
		// All ranks must make the same number of updates, so the number of counts is fixed. The least one counts:
		// others may allocate meanwhile.
		const turns, runs = 5, 10
		least := math.Inf(1)
		for range turns {
			if comm.Rank() == 0 {
				least = min(least, testing.AllocsPerRun(runs, update))
				continue
			}
			for range runs + 1 {
				update()
			}
		}
		if comm.Rank() == 0 && least != 0 {
			t.Errorf("%v allocations an update", least)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

// TestRanksLoss checks that each of several ranks gets the loss of an update, and the figures of its minibatch, that
// one process gets.
func TestRanksLoss(t *testing.T) {
	d, c := digits(t, 64, 10), tiny()
	c.NoiseMax, c.Shards, c.NLL, c.Score = 0.3, 5, 0.1, 0.1
	updates := func(ranks int) []figures {
		const n = 3
		all := make([]figures, ranks*n)
		err := onRanks(ranks, c, d, func(comm mpi.Comm, m *Model, e *engine.Engine) error {
			rank := comm.Rank()
			if ranks == 1 {
				comm = nil
			}
			_, err := m.Init(context.Background(), e, d.Train)
			s := newTrainer(m, e, comm)
			for i := 0; i < n && err == nil; i++ {
				f := &all[rank*n+i]
				f.loss, err = s.Update(d.Train, []int32{0, 9, 2, 7, 4, 5, 6, int32(20 + i)}, 1)
				f.nll, f.score, f.sums = s.nll, s.score, s.tally.Sums
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	want := updates(1)
	for _, ranks := range []int{2, 3, 5} {
		for i, got := range updates(ranks) {
			if w := want[i%len(want)]; got != w || !(got.loss > 0 && got.nll != 0 && got.score > 0) {
				t.Errorf("rank %d of %d, update %d: %+v, expected %+v", i/len(want), ranks, i%len(want), got, w)
			}
		}
	}
}

// TestRoots checks that the parts of the tree that ranks compute are few, hold every piece once, and add up to it.
func TestRoots(t *testing.T) {
	for n := 1; n <= 20; n++ {
		for ranks := 1; ranks <= n; ranks++ {
			var all []span
			for r := range ranks {
				own := span{0, n}.within(span{r * n / ranks, (r + 1) * n / ranks})
				if len(own) == 0 || len(own) > max(1, 2*num.TreeLevels(n)) {
					t.Errorf("rank %d of %d has the roots %v of %d pieces", r, ranks, own, n)
				}
				all = append(all, own...)
			}
			at := 0
			for _, s := range all {
				if s.lo != at {
					t.Errorf("roots %v", all)
				}
				at = s.hi
			}
			team := &team{}
			for _, s := range all {
				team.roots = append(team.roots, root{span: s})
			}
			if team.plan(span{0, n}) != 0 || len(team.adds) != len(all)-1 || at != n {
				t.Errorf("%d pieces on %d ranks: roots %v, additions %v", n, ranks, all, team.adds)
			}
			if slices.Contains(team.adds, [2]int{0, 0}) {
				t.Errorf("%d pieces: a root is added to itself", n)
			}
		}
	}
}

// TestRanksFinal evaluates the model that training leaves by several ranks: what one process finds, and what Score does
// but for roundings.
func TestRanksFinal(t *testing.T) {
	e := newEngine(t, engine.WithThreads(1))
	for _, name := range []string{"linear", "published"} { // published: denoised features are computed once
		r := newCheckpointRun(t, e, checkpointCases()[name])
		r.c.Shards, r.c.Epochs, r.c.Balance = 8, 1, true
		evaluations := 0
		final := func() (*Model, *FinalScores) {
			m, res, err := r.fit(context.Background(), FitOptions{Final: true, Test: r.d.Test,
				OnFinal: func() { evaluations++ }})
			if err != nil {
				t.Fatal(err)
			}
			return m, res.Final
		}
		m, want := final()
		val, err := m.Validation(r.d.Train)
		if err != nil {
			t.Fatal(err)
		}
		test, err := m.Score(context.Background(), e, r.d.Test)
		if err != nil {
			t.Fatal(err)
		}
		score, classes, err := m.ScoreClasses(context.Background(), e, val)
		if err != nil {
			t.Fatal(err)
		}
		if text(t, want.ByClass) != text(t, classes) {
			t.Errorf("%s: classes %+v, want %+v", name, want.ByClass, classes)
		}
		for _, v := range [][2]*Score{{want.Test, &test}, {want.Validation, &score}} {
			got, want := *v[0], *v[1]
			if !(math.Abs(got.Loss-want.Loss) <= 1e-12*want.Loss) || got.Accuracy != want.Accuracy ||
				got.Samples != want.Samples {
				t.Errorf("%s: scores %+v, want %+v", name, got, want)
			}
		}
		for _, r.ranks = range []int{1, 3, 8} {
			if _, got := final(); text(t, got) != text(t, want) {
				t.Errorf("%s, %d ranks: %s, want %s", name, r.ranks, text(t, got), text(t, want))
			}
		}
		if evaluations != 4 {
			t.Errorf("%d evaluations", evaluations)
		}
	}
}
