package dpn

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dpnbench/dataset"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/safetensors"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/internal/longtest"
)

// checkpointCases are networks whose training differs in what happens in an epoch.
func checkpointCases() map[string]func(c *Config) {
	preset := func(name string) func(c *Config) {
		return func(c *Config) { *c, _ = Preset(name) }
	}
	return map[string]func(c *Config){
		"linear": func(*Config) {},
		"mlp":    func(c *Config) { c.Extractor, c.Hidden = "mlp", "12-9" },
		"conv":   preset("clean"),
		"conv3":  preset("mnistc-cnn"), // dropout, and another optimiser
		"noise":  preset("noise"),
		"raw":    preset("raw"),
		"robust": preset("robust"),
		"paper":  preset("paper"),
		"pixels": func(c *Config) { // whose pieces share one ascent
			*c, _ = Preset("paper")
			c.NLL, c.Score, c.NoiseMax, c.Denoising = 0.2, 0.3, 0.3, 0.1
		},
		"published":    preset("published"),
		"tied":         func(c *Config) { c.Form = potential.FormTied },
		"diag":         func(c *Config) { c.Form, c.Init = potential.FormDiag, InitEM },
		"densities":    func(c *Config) { c.NLL, c.Score = 0.2, 0.3 },
		"detached":     func(c *Config) { c.Gradient, c.NoiseMax = "detached", 0.3 },
		"max-updates":  func(c *Config) { c.MaxUpdates = 6 },
		"patience":     func(c *Config) { c.Patience, c.LR, c.Schedule, c.Epochs = 1, 0.5, "constant", 9 },
		"no-val":       func(c *Config) { c.ValSize = 0 },
		"shards":       func(c *Config) { c.Shards, c.NoiseMax, c.Denoising = 5, 0.3, 0.1 },
		"one-update":   func(c *Config) { c.Batch = 100 },
		"no-steps":     func(c *Config) { c.Steps = 0 },
		"sharp-prints": func(c *Config) { c.Scale, c.Clip = 5, 1e-3 }, // warnings before the first epoch
	}
}

// checkpointRun is training in a folder, by as many calls of Fit as interruptions ask for.
type checkpointRun struct {
	t     *testing.T
	e     *engine.Engine
	c     Config
	d     *dataset.Data
	route ascent.Route
	ranks int // that train together; 0: one, which knows of no others
}

func newCheckpointRun(t *testing.T, e *engine.Engine, set func(c *Config)) checkpointRun {
	c := tiny()
	set(&c)
	c.Epochs, c.Batch = min(c.Epochs, 3), min(max(c.Batch/4, 16), 32)
	c.Components, c.Steps = min(c.Components, 10), min(c.Steps, 3)
	return checkpointRun{t: t, e: e, c: c, d: smallDigits(t, 90), route: ascent.DenseRoute}
}

// smallDigits are digits of 7 x 7 pixels, 10 of them for testing, so that networks on pixels are small.
func smallDigits(t *testing.T, train int) *dataset.Data {
	d := *digits(t, train, 10)
	for _, s := range []**dataset.Set{&d.Train, &d.Test} {
		small := &dataset.Set{Shape: dataset.Grey(7, 7), Labels: (*s).Labels}
		for i := range (*s).Len() {
			for at := range 49 {
				small.Pixels = append(small.Pixels, (*s).Image(i)[(2+at/7*4)*28+2+at%7*4])
			}
		}
		*s = small
	}
	return &d
}

// fit calls Fit once.
func (r checkpointRun) fit(ctx context.Context, opt FitOptions) (*Model, *FitResult, error) {
	if r.ranks > 0 {
		return r.fitTogether(ctx, opt)
	}
	m := newModel(r.t, r.c, r.d)
	m.SetRoute(r.route)
	res, err := m.Fit(ctx, r.e, r.d.Train, opt)
	return m, res, err
}

// outcome runs training to its end in dir and returns everything that it leaves, but for times.
func (r checkpointRun) outcome(dir string, resume bool) map[string]string {
	r.t.Helper()
	m, res, err := r.fit(context.Background(), FitOptions{Dir: dir, Resume: resume})
	if err != nil {
		r.t.Fatal(err)
	}
	all := map[string]string{"weights": m.WeightsSHA256()}
	res.Init, res.Already, res.Seconds, res.PrepareSeconds, res.SecondsPerUpdate = nil, false, 0, 0, 0
	timeless := func(h *Epoch) {
		if h.Seconds = 0; r.c.Shards > 1 {
			h.Ascent = nil // of a piece, which one depends on the ranks
		}
	}
	for i := range res.Epochs {
		timeless(&res.Epochs[i])
	}
	all["result"] = text(r.t, res)
	for name, content := range snapshot(r.t, dir) {
		switch {
		case name == MetricsFile:
			content = ""
			for _, h := range readMetrics(r.t, dir) {
				timeless(&h)
				content += text(r.t, h)
			}
		case name == StateFile:
			f, err := safetensors.ReadFile(filepath.Join(dir, name))
			if err != nil {
				r.t.Fatal(err)
			}
			p := savedProgress(r.t, dir)
			p.Prepared, p.Times, p.Metrics = 0, nil, prefix{}
			f.Metadata[metaProgress] = text(r.t, p)
			for i := range f.Tensors {
				h := sha256.Sum256([]byte(fmt.Sprint(f.Tensors[i].Data)))
				f.Tensors[i].Name, f.Tensors[i].Data = f.Tensors[i].Name+fmt.Sprintf("%x", h[:8]), nil
			}
			content = text(r.t, f)
		}
		all[name] = content
	}
	return all
}

func text(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// same compares two outcomes.
func same(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: leaves %s", what, name)
		}
	}
	for name, content := range want {
		if got[name] != content {
			from := 0 // some characters before the first difference
			for from < min(len(content), len(got[name])) && content[from] == got[name][from] {
				from++
			}
			from = max(from-200, 0)
			cut := func(s string) string {
				return strings.ToValidUTF8(s[min(from, len(s)):min(len(s), from+1000)], "?")
			}
			t.Errorf("%s: %s differs: %s, want %s", what, name, cut(got[name]), cut(content))
		}
	}
}

// TestInterruptAnywhere ends training after every update, and resumes it: once; after every update; and from
// the files that a kill after any save would leave. All files and results are those of training in one go.
func TestInterruptAnywhere(t *testing.T) {
	longtest.Native(t)
	e := newEngine(t)
	networks := []string{"mlp", "conv", "diag", "patience"} // of all cases, unless long tests are asked for
	if testing.Short() {
		networks = networks[:1]
	}
	for name, set := range checkpointCases() {
		if !longtest.Asked() && !slices.Contains(networks, name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			r := newCheckpointRun(t, e, set)
			if r.c.Patience == 0 { // a third epoch is like the second
				r.c.Epochs = min(r.c.Epochs, 2)
			}
			want := r.outcome(t.TempDir(), false)
			r.interruptAll(r.interruptEach(want), want)
			r.killEach(want)
		})
	}
}

// interrupted fits until update at of this and all earlier calls, and checks that no more than that is saved.
func (r checkpointRun) interrupted(dir string, resume bool, at int) (finished bool) {
	r.t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	saved := -1
	_, _, err := r.fit(ctx, FitOptions{Dir: dir, Resume: resume,
		OnSave: func(_, updates int) { saved = updates },
		OnUpdate: func(done, _ int, _ float64) {
			if done == at {
				cancel()
			}
		}})
	if err != nil && !errors.Is(err, context.Canceled) {
		r.t.Fatal(err)
	}
	if err != nil && saved != at {
		r.t.Errorf("interrupted after update %d, and %d are saved", at, saved)
	}
	return err == nil
}

// interruptEach interrupts training once, after each of its updates, whose number it returns.
func (r checkpointRun) interruptEach(want map[string]string) (all int) {
	for at := 1; ; at++ {
		dir := r.t.TempDir()
		if r.interrupted(dir, false, at) {
			return at - 1
		}
		same(r.t, "interrupted once", r.outcome(dir, true), want)
	}
}

// interruptAll interrupts training after every update.
func (r checkpointRun) interruptAll(all int, want map[string]string) {
	dir := r.t.TempDir()
	for at := 1; at <= all; at++ {
		r.interrupted(dir, at > 1, at)
	}
	same(r.t, "interrupted after every update", r.outcome(dir, true), want)
}

// killEach resumes from copies of the folder as it was after every save.
func (r checkpointRun) killEach(want map[string]string) {
	dir := r.t.TempDir()
	var copies []map[string]string
	opt := FitOptions{Dir: dir, CheckpointUpdates: 1, OnSave: func(int, int) {
		copies = append(copies, snapshot(r.t, dir))
	}}
	if _, _, err := r.fit(context.Background(), opt); err != nil {
		r.t.Fatal(err)
	}
	if n := strings.Count(want[MetricsFile], `"updates"`); len(copies) < n {
		r.t.Fatalf("%d saves in %d epochs", len(copies), n)
	}
	for i, files := range copies {
		at := r.t.TempDir()
		restore(r.t, at, files)
		if lines := files[MetricsFile]; lines != "" && i < len(copies)-1 { // a later epoch was cut off
			restore(r.t, at, map[string]string{MetricsFile: lines + lines[:len(lines)/2]})
		}
		same(r.t, "killed", r.outcome(at, true), want)
	}
}

func restore(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCheckpoints lists the updates after which a run of 4 epochs with 3 updates is saved: after the first and
// the last epoch, after others a moment after the last save at the earliest, and as the options say, with one rank and
// with two. Time passes in updates, and by each look at the clock, of which a save is the time of one.
func TestCheckpoints(t *testing.T) {
	longtest.Native(t)
	e := newEngine(t)
	defer func() { now = time.Now }()
	const ms = time.Millisecond
	for _, c := range []struct {
		updates      int
		interval     time.Duration
		update, look time.Duration
		want         []int
		two          []int // with two ranks, if others: before an update they agree on a save after it
	}{
		{update: 100 * ms, want: []int{3, 12}},
		{update: 333 * ms, want: []int{3, 9, 12}}, // an epoch is less than a second
		{update: 334 * ms, want: []int{3, 6, 9, 12}},
		{update: 600 * ms, look: 100 * ms, want: []int{3, 9, 12}}, // 1.9 s are not 20 times what a save takes
		{update: 650 * ms, look: 100 * ms, want: []int{3, 6, 9, 12}},
		{interval: time.Hour, update: 100 * ms, want: []int{3, 12}},
		{interval: 250 * ms, update: 100 * ms, want: []int{3, 6, 9, 12}},
		{interval: 150 * ms, update: 100 * ms, want: []int{2, 3, 5, 7, 9, 11, 12}, two: []int{3, 6, 9, 12}},
		{interval: 1, look: 1, want: []int{0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12},
			two: []int{1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9, 10, 11, 12}}, // before each update, and after each epoch
		{updates: 1, want: []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{updates: 2, interval: time.Hour, want: []int{2, 3, 5, 7, 9, 11, 12}},
		{updates: 12, want: []int{3, 12}},
	} {
		r := newCheckpointRun(t, e, func(c *Config) { c.Batch, c.ValSize = 120, 0 })
		r.c.Epochs, r.c.Shards = 4, 2
		for _, r.ranks = range []int{0, 2} {
			want := c.want
			if r.ranks == 2 && c.two != nil {
				want = c.two
			}
			var passed atomic.Int64
			begun := time.Now()
			now = func() time.Time { return begun.Add(time.Duration(passed.Add(int64(c.look)))) }
			var got []int
			opt := FitOptions{Dir: t.TempDir(), CheckpointUpdates: c.updates, CheckpointInterval: c.interval,
				OnUpdate: func(int, int, float64) { passed.Add(int64(c.update)) },
				OnSave:   func(_, updates int) { got = append(got, updates) }}
			if _, _, err := r.fit(context.Background(), opt); err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%d ranks, every %d updates or %v, an update takes %v, a save %v: saved after %v, want %v",
					r.ranks, c.updates, c.interval, c.update, c.look, got, want)
			}
		}
	}
}

// ending is a context that ends when it is asked the n-th time whether it has ended.
type ending struct {
	context.Context
	cancel context.CancelFunc
	left   atomic.Int64
}

func (c *ending) Err() error {
	if c.left.Add(-1) == 0 {
		c.cancel()
	}
	return c.Context.Err()
}

// TestInterruptWithinUpdate ends training wherever it asks whether to: while centres are placed, between the
// steps of an ascent, in the validation and in the diagnostics.
func TestInterruptWithinUpdate(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes minutes under emulation, which changes nothing of it")
	}
	e := newEngine(t, engine.WithThreads(1))
	r := newCheckpointRun(t, e, func(c *Config) { c.Patience = 2 })
	r.c.Epochs = 2
	want := r.outcome(t.TempDir(), false)
	stride := int64(1)
	if !longtest.Asked() {
		stride = 3
	}
	times := 0
	for n := int64(1); ; n += stride {
		dir := t.TempDir()
		ctx := &ending{}
		ctx.Context, ctx.cancel = context.WithCancel(context.Background())
		ctx.left.Store(n)
		_, _, err := r.fit(ctx, FitOptions{Dir: dir})
		ctx.cancel()
		if err == nil {
			break
		}
		if !errors.Is(err, context.Canceled) {
			t.Fatalf("asked %d times: %v", n, err)
		}
		times++
		_, statErr := os.Stat(filepath.Join(dir, StateFile))
		same(t, "interrupted", r.outcome(dir, statErr == nil), want)
	}
	if times < 20 {
		t.Errorf("interrupted at %d moments only", times)
	}
	t.Logf("interrupted at %d moments", times)
}
