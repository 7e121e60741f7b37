package dpn

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/safetensors"
	"dpnbench/engine"
)

func digits(t testing.TB, train, test int) *dataset.Data {
	t.Helper()
	d, err := dataset.Open("digits", dataset.Options{TrainSize: train, TestSize: test, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newEngine(t testing.TB, o ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.New(o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func newModel(t testing.TB, c Config, d *dataset.Data) *Model {
	t.Helper()
	m, err := New(c, d)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tiny is a network that trains in a fraction of a second.
func tiny() Config {
	c, _ := Preset("compact")
	c.Dim, c.Components, c.Steps, c.Epochs, c.Batch = 16, 5, 3, 4, 32
	return c
}

// trainedHashes are the hashes of the weights after a short training of each preset on
// built-in digits, on every tier, number of threads and machine. The networks in pixel
// space have few components and two steps only, those with matrices P_i smaller pictures, and
// convolutions few updates, for the sake of pure Go and of emulated machines.
var trainedHashes = map[string]string{
	"compact":      "fad94c2b3af953a2",
	"clean":        "e7d6d2f41712d1a8",
	"paper":        "b41b3b5f62913353",
	"published":    "329e63ea7e0e5408",
	"raw":          "be6a89087fdc5866",
	"robust":       "61c2adc77b9ff13e",
	"robust-small": "bdaeaac528576c66",
	"noise":        "cbb19d4444c7c648",
}

// TestTrainedBits trains the same networks on every tier and with several numbers of
// threads: the same bits as committed.
func TestTrainedBits(t *testing.T) {
	type run struct {
		name    string
		options []engine.Option
	}
	runs := []run{
		{"one thread", []engine.Option{engine.WithThreads(1)}},
		{"two threads", []engine.Option{engine.WithThreads(2)}},
		{"three eager threads", []engine.Option{engine.WithThreads(3), engine.WithEagerThreads()}},
		{"eight threads", []engine.Option{engine.WithThreads(8)}},
	}
	for _, tier := range engine.Available()[1:] { // the first is what the runs above use
		runs = append(runs, run{tier.String(), []engine.Option{engine.WithTier(tier)}})
	}
	for _, tier := range engine.Available() {
		runs = append(runs, run{"sparse on " + tier.String(), []engine.Option{engine.WithTier(tier), engine.WithRoute(engine.SparseRoute)}})
	}
	runs = append(runs, run{"dense", []engine.Option{engine.WithRoute(engine.DenseRoute)}})
	if testing.Short() {
		runs = runs[1:2]
	}
	for _, preset := range Presets() {
		c, _ := Preset(preset)
		pictures, updates := 1000, 8
		switch c.Extractor {
		case "identity":
			pictures, updates = 120, 2
			c.Components, c.Steps, c.Batch = 2, 2, 16
			if c.Init == "classwise" {
				c.Components = 10
			}
		case "conv":
			pictures, updates, c.Batch = 120, 4, 16
		}
		c.MaxUpdates = updates
		d := digits(t, pictures, 10)
		if preset == "paper" || preset == "published" { // P_i of 784 features take a minute to emulate
			small, err := d.Train.Resize(20, 20)
			if err != nil {
				t.Fatal(err)
			}
			d.Train = small
		}
		if preset == "paper" { // so many that most are combinations of others
			c.Steps = 17
		}
		for _, r := range runs {
			t.Run(preset+"/"+r.name, func(t *testing.T) {
				m := newModel(t, c, d)
				res, err := m.Fit(context.Background(), newEngine(t, r.options...), d.Train, FitOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if res.Updates != updates {
					t.Errorf("%d updates, want %d", res.Updates, updates)
				}
				want := trainedHashes[preset]
				if got := m.WeightsSHA256(); want == "" || !strings.HasPrefix(got, want) {
					t.Errorf("weights hash to %s, want %s...", got, want)
				}
			})
		}
	}
}

// TestRoutes trains potentials with many components by both routes: the same bits, and few
// components computed.
func TestRoutes(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds, minutes under emulation: without -short; TestTrainedBits has both routes, too")
	}
	d := digits(t, 300, 10)
	for n, preset := range []string{"paper", "published", "robust", "raw", "clean", "paper"} {
		c, _ := Preset(preset)
		c.Batch, c.MaxUpdates = 32, 3
		few := n == 5 // of many components are used by a minibatch
		if preset == "paper" || preset == "published" {
			c.Components, c.Steps = 8, 4
		}
		if few {
			c.Components, c.Batch = 24, 4
		}
		if c.Extractor == "conv" {
			c.MaxUpdates = 2
		}
		var want string
		for _, route := range []engine.Route{engine.DenseRoute, engine.SparseRoute, engine.AutoRoute} {
			e := newEngine(t, engine.WithThreads(2), engine.WithRoute(route))
			m := newModel(t, c, d)
			res, err := m.Fit(context.Background(), e, d.Train, FitOptions{})
			if err != nil {
				t.Fatal(err)
			}
			got := m.WeightsSHA256()
			switch a := res.Epochs[0].Ascent; {
			case preset == "published":
				if a != nil {
					t.Errorf("%s: an ascent of an update that there is not: %+v", preset, a)
				}
			case route == engine.DenseRoute:
				if a.Route != "dense" || a.Saved != 0 || a.Steps != nil || preset == "paper" && a.Precisions != c.Components {
					t.Errorf("%s: the dense route cost %+v", preset, a)
				}
			case route == engine.SparseRoute:
				computed := 0.0
				for _, s := range a.Steps {
					computed += s.Computed
				}
				if left := 1 - computed/float64(c.Components*c.Steps); a.Route != "sparse" || len(a.Steps) != c.Steps || math.Abs(a.Saved-left) > 1e-9 {
					t.Errorf("%s: the sparse route cost %+v", preset, a)
				}
				if preset == "paper" && !(a.Saved > 0.5) {
					t.Errorf("%s: %.2f saved", preset, a.Saved)
				}
			}
			if want == "" {
				want = got
			}
			if got != want {
				t.Errorf("%s: weights hash to %s by the %v route, %s by the dense one", preset, got, route, want)
			}
			if e.Work().Route == engine.AutoRoute || route != engine.AutoRoute && e.Work().Route != route {
				t.Errorf("%s: the ascent took the %v route, want %v", preset, e.Work().Route, route)
			}
		}
	}
}

// TestRuinedWeights checks that an epoch that ruins the weights with its last update
// leaves no files, also without pictures to validate on.
func TestRuinedWeights(t *testing.T) {
	d := digits(t, 256, 10)
	for _, lr := range []float64{1e25, 3e38} { // the loss overflows, the weights themselves
		dir := t.TempDir()
		c := tiny()
		c.ValSize, c.Batch, c.Epochs, c.LR, c.PotentialLR, c.Clip, c.Warmup, c.Schedule = 0, 256, 1, lr, lr, 0, 0, "constant"
		_, err := newModel(t, c, d).Fit(context.Background(), newEngine(t), d.Train, FitOptions{Dir: dir})
		var bad *NotFiniteError
		if !errors.As(err, &bad) {
			t.Errorf("lr %g: error %v, want a *NotFiniteError", lr, err)
		}
		if list, _ := os.ReadDir(dir); len(list) != 0 {
			t.Errorf("lr %g: %d files are left", lr, len(list))
		}
	}
}

// TestOldState checks that a new run removes the state of an earlier one before it writes
// its first model, because resuming must not take the one for the other, and that what a
// crash has left unfinished goes when training is resumed.
func TestOldState(t *testing.T) {
	d := digits(t, 256, 10)
	dir := t.TempDir()
	e := newEngine(t)
	fit := func(seed uint64, resume bool) error {
		c := tiny()
		c.Seed, c.Epochs = seed, 2
		if resume {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, err := newModel(t, c, d).Fit(ctx, e, d.Train, FitOptions{Dir: dir, OnEpoch: func(Epoch) { cancel() }})
			if !errors.Is(err, context.Canceled) {
				return err
			}
		}
		_, err := newModel(t, c, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: dir, Resume: resume})
		return err
	}
	if err := fit(1, false); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "."+StateFile+".unfinished-1")
	if err := os.WriteFile(left, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := fit(2, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what a crash left is still there")
	}
	last := filepath.Join(dir, LastFile)
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(last, 0o755); err != nil { // so that the new run fails to write it
		t.Fatal(err)
	}
	if err := fit(7, false); err == nil || !strings.Contains(err.Error(), last) || strings.Contains(err.Error(), "unfinished") {
		t.Errorf("error %v, want one about %s", err, last)
	}
	if _, err := os.Stat(filepath.Join(dir, StateFile)); err == nil {
		t.Error("the state of the earlier run is still there")
	}
	if _, err := Load(filepath.Join(dir, ModelFile)); err != nil {
		t.Error(err)
	}
}

// TestFolder checks that training refuses a folder that it could not write to before it
// places the centres, and that a folder that an earlier run has filled stays as it is until
// the first epoch has finished.
func TestFolder(t *testing.T) {
	d, e, ctx := digits(t, 256, 10), newEngine(t), context.Background()
	parent := t.TempDir()
	file, closed := filepath.Join(parent, "file"), filepath.Join(parent, "closed")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	refused := []string{filepath.Join(parent, "missing"), file}
	if probe, err := os.CreateTemp(closed, ""); err != nil { // for root it is not closed
		refused = append(refused, closed)
	} else {
		probe.Close()
	}
	for _, dir := range refused {
		m := newModel(t, tiny(), d)
		before := m.WeightsSHA256()
		_, err := m.Fit(ctx, e, d.Train, FitOptions{Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "folder "+dir+": ") || strings.Contains(err.Error(), "writable") {
			t.Errorf("error %v, want one about %s", err, dir)
		}
		if m.WeightsSHA256() != before {
			t.Errorf("%s: the centres were placed", dir)
		}
	}

	names := func(dir string) (list []string) {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			list = append(list, f.Name())
		}
		return list
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, StateFile), []byte("of an earlier run"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := names(dir)
	ended, cancel := context.WithCancel(ctx)
	if _, err := newModel(t, tiny(), d).Fit(ended, e, d.Train, FitOptions{Dir: dir, OnStep: func(int, int, float64) { cancel() }}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if after := names(dir); !slices.Equal(after, before) {
		t.Errorf("no epoch has finished, and the folder holds %v, before %v", after, before)
	}
}

// TestResume checks that training cut off in the middle of an epoch and resumed ends
// with the same bits, metrics and best model as training in one go.
func TestResume(t *testing.T) {
	d := digits(t, 600, 10)
	config := tiny()
	config.NoiseMin, config.NoiseMax, config.Denoising = 0.1, 0.3, 0.5 // noise follows the updates
	e := newEngine(t)
	whole, cut := t.TempDir(), t.TempDir()
	m := newModel(t, config, d)
	want, err := m.Fit(context.Background(), e, d.Train, FitOptions{Dir: whole})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	_, err = newModel(t, config, d).Fit(ctx, e, d.Train, FitOptions{Dir: cut, OnStep: func(done, _ int, _ float64) {
		if done == 40 { // of 68, in the third epoch
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the cancelled context", err)
	}
	if _, err := Load(filepath.Join(cut, ModelFile)); err != nil {
		t.Errorf("after the cut: %v", err)
	}
	before, err := safetensors.ReadFile(filepath.Join(cut, StateFile))
	if err != nil {
		t.Fatal(err)
	}
	again := newModel(t, config, d)
	got, err := again.Fit(context.Background(), e, d.Train, FitOptions{Dir: cut, Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	if again.WeightsSHA256() != m.WeightsSHA256() || got.Best != want.Best || got.Updates != want.Updates {
		t.Errorf("resumed: epoch %d, %d updates, weights %s; in one go: epoch %d, %d updates, weights %s",
			got.Best, got.Updates, again.WeightsSHA256(), want.Best, want.Updates, m.WeightsSHA256())
	}
	if prepared, err := strconv.ParseFloat(before.Metadata[metaPrepare], 64); err != nil || !(prepared > 0 && got.PrepareSeconds > prepared) {
		t.Errorf("preparing took %v s in all, %v s (%v) until the cut", got.PrepareSeconds, prepared, err)
	}
	for _, name := range []string{ModelFile, LastFile} {
		a, err := Load(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Load(filepath.Join(cut, name))
		if err != nil {
			t.Fatal(err)
		}
		if a.WeightsSHA256() != b.WeightsSHA256() {
			t.Errorf("%s differs", name)
		}
	}
	metrics := readMetrics(t, cut)
	if len(metrics) != len(want.Epochs) {
		t.Fatalf("metrics of %d epochs, want %d", len(metrics), len(want.Epochs))
	}
	for i, h := range metrics {
		w := want.Epochs[i]
		if h.Epoch != i+1 || h.TrainLoss != w.TrainLoss || *h.ValLoss != *w.ValLoss {
			t.Errorf("metrics of epoch %d: %+v, want %+v", i+1, h, w)
		}
	}

	// Once it is finished, there is nothing to add: times are those of all calls. States of
	// before these were kept are taken, too.
	finished, err := newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: cut, Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	if !finished.Already || got.Already || want.Already || finished.PrepareSeconds != got.PrepareSeconds || finished.Seconds != got.Seconds || finished.SecondsPerStep != got.SecondsPerStep {
		t.Errorf("resumed when finished: %+v, before: %+v", finished, got)
	}
	state := filepath.Join(cut, StateFile)
	f, err := safetensors.ReadFile(state)
	if err != nil {
		t.Fatal(err)
	}
	if kept := f.Metadata[metaPrepare]; kept != strconv.FormatFloat(got.PrepareSeconds, 'g', -1, 64) {
		t.Errorf("the state says that %q s went into preparing, want %v", kept, got.PrepareSeconds)
	}
	delete(f.Metadata, metaPrepare)
	if err := safetensors.WriteFile(state, f); err != nil {
		t.Fatal(err)
	}
	if r, err := newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: cut, Resume: true}); err != nil || r.PrepareSeconds != 0 || r.Updates != want.Updates {
		t.Errorf("resumed from a state without the times: %+v, %v", r, err)
	}

	if _, err := newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: t.TempDir(), Resume: true}); err == nil || !strings.Contains(err.Error(), StateFile) {
		t.Errorf("error %v, want one about the missing state", err)
	}
	other := config
	other.LR = 2e-3
	if _, err := newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Resume: true}); err == nil || !strings.Contains(err.Error(), "Dir") {
		t.Errorf("resumed without a folder: %v", err)
	}
	_, err = newModel(t, other, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: cut, Resume: true})
	if err == nil || !strings.Contains(err.Error(), "lr is 0.002, was 0.001") {
		t.Errorf("error %v, want one that names the changed setting", err)
	}
	_, err = newModel(t, config, d).Fit(context.Background(), e, digits(t, 700, 10).Train, FitOptions{Dir: cut, Resume: true})
	if err == nil || !strings.Contains(err.Error(), "other pictures") {
		t.Errorf("error %v, want one about other pictures", err)
	}
	val := *d.Train
	val.Labels = slices.Clone(val.Labels)
	val.Labels[len(val.Labels)-1] ^= 1 // of a picture to validate on
	_, err = newModel(t, config, d).Fit(context.Background(), e, &val, FitOptions{Dir: cut, Resume: true})
	if err == nil || !strings.Contains(err.Error(), "other pictures") {
		t.Errorf("error %v, want one about other pictures", err)
	}
	for _, name := range []string{ModelFile, StateFile} {
		path := filepath.Join(cut, name)
		damage(t, path)
		_, err = newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: cut, Resume: true})
		if err == nil || !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want one about the damaged %s", err, path)
		}
	}
}

// TestEndsEarly checks that training which ends by its context, by numbers that are not
// finite or by a file that cannot be written returns the epochs that it had finished and
// leaves the best of them in the model, and nothing without any.
func TestEndsEarly(t *testing.T) {
	d, e := digits(t, 600, 10), newEngine(t)
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, LastFile), 0o755); err != nil {
		t.Fatal(err)
	}
	spoil := func(m *Model) { m.head.Bias.Data[0] = float32(math.NaN()) }
	for name, c := range map[string]struct {
		dir    string
		epochs int
		at     int // update after which act is called, 17 an epoch
		act    func(m *Model, cancel func())
		as     func(err error) bool
	}{
		"context, first epoch": {"", 0, 7, func(_ *Model, cancel func()) { cancel() }, func(err error) bool { return errors.Is(err, context.Canceled) }},
		"context":              {"", 2, 40, func(_ *Model, cancel func()) { cancel() }, func(err error) bool { return errors.Is(err, context.Canceled) }},
		"not finite":           {"", 3, 60, func(m *Model, _ func()) { spoil(m) }, func(err error) bool { var bad *NotFiniteError; return errors.As(err, &bad) }},
		"file":                 {folder, 1, 0, nil, func(err error) bool { return err != nil && strings.Contains(err.Error(), LastFile) }},
	} {
		m := newModel(t, tiny(), d)
		ctx, cancel := context.WithCancel(context.Background())
		var hashes []string // of the model as training left it after each update
		r, err := m.Fit(ctx, e, d.Train, FitOptions{Dir: c.dir, OnStep: func(done, _ int, _ float64) {
			hashes = append(hashes, m.WeightsSHA256())
			if done == c.at {
				c.act(m, cancel)
			}
		}})
		cancel()
		if !c.as(err) {
			t.Errorf("%s: error %v", name, err)
		}
		if c.epochs == 0 {
			if r != nil {
				t.Errorf("%s: %+v of no epoch", name, r)
			}
			continue
		}
		if r == nil || len(r.Epochs) != c.epochs || r.Best < 1 || r.Best > c.epochs || r.Stopped || r.Updates != max(c.at, 17) || r.Init == nil {
			t.Errorf("%s: %+v, want %d epochs", name, r, c.epochs)
			continue
		}
		best := r.Epochs[r.Best-1]
		for _, h := range r.Epochs {
			if *h.ValLoss < *best.ValLoss {
				t.Errorf("%s: epoch %d was better than %d", name, h.Epoch, r.Best)
			}
		}
		if got := m.WeightsSHA256(); got != hashes[17*r.Best-1] {
			t.Errorf("%s: the model is not that of epoch %d", name, r.Best)
		}
		_, val, err := m.Split(d.Train)
		if err != nil {
			t.Fatal(err)
		}
		if s, err := m.Score(context.Background(), e, val); err != nil || s.Loss != *best.ValLoss {
			t.Errorf("%s: the model has validation loss %v, %v; epoch %d had %v", name, s.Loss, err, r.Best, *best.ValLoss)
		}
	}
}

// TestFitRefusesLearned checks that Fit trains nothing but a fresh model: not one of a Fit, a
// Trainer or a file, which a Trainer goes on with; resuming replaces all of a model.
func TestFitRefusesLearned(t *testing.T) {
	d, e, ctx := digits(t, 100, 10), newEngine(t), context.Background()
	c := tiny()
	c.Epochs = 1
	dir := t.TempDir()
	fitted, updated := newModel(t, c, d), newModel(t, c, d)
	if _, err := fitted.Fit(ctx, e, d.Train, FitOptions{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := updated.Init(ctx, e, d.Train); err != nil {
		t.Fatal(err)
	}
	if _, err := NewTrainer(updated, e).Update(d.Train, []int32{1, 2, 3}, 1); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(filepath.Join(dir, ModelFile))
	if err != nil {
		t.Fatal(err)
	}
	want := fitted.WeightsSHA256()
	for name, m := range map[string]*Model{"fitted": fitted, "updated": updated, "loaded": loaded} {
		before := m.WeightsSHA256()
		if _, err := m.Fit(ctx, e, d.Train, FitOptions{}); err == nil || !strings.Contains(err.Error(), "Trainer") {
			t.Errorf("%s: error %v, want one that points to Trainer", name, err)
		}
		if m.WeightsSHA256() != before {
			t.Errorf("%s: the weights changed", name)
		}
		if _, err := m.Fit(ctx, e, d.Train, FitOptions{Dir: dir, Resume: true}); err != nil || m.WeightsSHA256() != want {
			t.Errorf("%s: resumed: %v, weights %s, want %s", name, err, m.WeightsSHA256(), want)
		}
		if _, err := NewTrainer(m, e).Update(d.Train, []int32{1, 2, 3}, 1); err != nil || m.WeightsSHA256() == want {
			t.Errorf("%s: %v, a Trainer changed nothing", name, err)
		}
	}
	again := newModel(t, c, d) // Init before Fit learns nothing
	if _, err := again.Init(ctx, e, d.Train.Slice(0, 50)); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Fit(ctx, e, d.Train, FitOptions{}); err != nil || again.WeightsSHA256() != want {
		t.Errorf("%v, weights %s, without Init before %s", err, again.WeightsSHA256(), want)
	}
}

// counting is a context that counts how often it is asked whether it has ended.
type counting struct {
	context.Context
	asked atomic.Int64
}

func (c *counting) Err() error { c.asked.Add(1); return c.Context.Err() }

// TestInterruptible checks that training looks at its context between the steps of an
// update, forward and backward: an update of many steps takes minutes.
func TestInterruptible(t *testing.T) {
	d, e := digits(t, 40, 10), newEngine(t, engine.WithThreads(1))
	for _, form := range []string{potential.FormFull, potential.FormDiag} {
		asked := func(steps int) int64 {
			ctx := &counting{Context: context.Background()}
			c := tiny()
			c.Form, c.Steps, c.Epochs, c.ValSize, c.MaxUpdates, c.Alpha = form, steps, 1, 0, 1, 0.1
			if _, err := newModel(t, c, d).Fit(ctx, e, d.Train, FitOptions{}); err != nil {
				t.Fatal(err)
			}
			return ctx.asked.Load()
		}
		if few, many := asked(10), asked(200); many-few < 2*190 {
			t.Errorf("%s: asked %d times in an update of 10 steps, %d in one of 200", form, few, many)
		}
	}
}

func readMetrics(t *testing.T, dir string) []Epoch {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []Epoch
	s := bufio.NewScanner(f)
	for s.Scan() {
		var h Epoch
		if err := json.Unmarshal(s.Bytes(), &h); err != nil {
			t.Fatal(err)
		}
		list = append(list, h)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}

// TestDetached checks that the published mode trains the classifier and nothing else.
func TestDetached(t *testing.T) {
	if testing.Short() {
		t.Skip("trains for seconds, a minute under emulation: without -short")
	}
	d := digits(t, 1000, 200)
	e := newEngine(t)
	c := tiny()
	c.Gradient, c.Extractor, c.LayerNorm, c.Scale, c.Alpha, c.Epochs = "detached", "identity", false, 1, 0.1, 15
	m := newModel(t, c, d)
	if _, err := m.Init(context.Background(), e, d.Train.Slice(0, 900)); err != nil {
		t.Fatal(err)
	}
	centres := append([]float32(nil), m.potential.Centres().Data...)
	before, err := m.Score(context.Background(), e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fit(context.Background(), e, d.Train, FitOptions{}); err != nil {
		t.Fatal(err)
	}
	for i, v := range m.potential.Centres().Data {
		if v != centres[i] {
			t.Fatalf("centre number %d moved from %v to %v", i, centres[i], v)
		}
	}
	if m.potential.Alpha() != 0.1 || m.potential.Params()[3].Data[0] != 1 || m.potential.Params()[3].Data[1] != 0 {
		t.Error("alpha or A changed")
	}
	after, err := m.Score(context.Background(), e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	if after.Accuracy < before.Accuracy+0.2 || after.Loss > before.Loss {
		t.Errorf("training took %+v to %+v", before, after)
	}
	pred, err := m.Predict(context.Background(), e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, y := range d.Test.Labels {
		if pred[i] == y {
			right++
		}
	}
	if got := float64(right) / 200; got != after.Accuracy {
		t.Errorf("predictions are right for %v, Score says %v", got, after.Accuracy)
	}
}

// TestLearns checks that the exact gradient lowers the loss and moves every parameter.
func TestLearns(t *testing.T) {
	d := digits(t, 1000, 10)
	m := newModel(t, tiny(), d)
	r, err := m.Fit(context.Background(), newEngine(t), d.Train, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	first, last := r.Epochs[0], r.Epochs[len(r.Epochs)-1]
	if last.TrainLoss > 0.8*first.TrainLoss || *last.ValLoss > *first.ValLoss {
		t.Errorf("loss from %v to %v, in validation %v to %v", first.TrainLoss, last.TrainLoss, *first.ValLoss, *last.ValLoss)
	}
	fresh := newModel(t, tiny(), d)
	for i, p := range m.Params() {
		same := 0
		for j, v := range p.Data {
			if v == fresh.Params()[i].Data[j] {
				same++
			}
		}
		if same > len(p.Data)/10 {
			t.Errorf("%s: %d of %d numbers did not move", p.Name, same, len(p.Data))
		}
	}
}

// TestNotFinite checks that a run that blows up says where, and spoils no good model.
func TestNotFinite(t *testing.T) {
	d := digits(t, 400, 10)
	c := tiny()
	c.Clip, c.LR, c.PotentialLR, c.Warmup, c.Schedule, c.Alpha = 0, 1e-3, 30, 0, "constant", 3
	c.Epochs = 50
	dir := t.TempDir()
	m := newModel(t, c, d)
	_, err := m.Fit(context.Background(), newEngine(t), d.Train, FitOptions{Dir: dir})
	var bad *NotFiniteError
	if !errors.As(err, &bad) {
		t.Fatalf("error %v, want a NotFiniteError", err)
	}
	if bad.Update < 1 || bad.What == "" || !strings.Contains(err.Error(), "potential-lr") || strings.Contains(err.Error(), "\n") {
		t.Errorf("error %q", err)
	}
	if bad.Epoch > 1 {
		if _, err := Load(filepath.Join(dir, ModelFile)); err != nil {
			t.Errorf("the model of the epochs before: %v", err)
		}
	} else if _, err := os.Stat(filepath.Join(dir, ModelFile)); err == nil {
		t.Error("a model was written although no epoch ended well")
	}
}

// TestBatchesAndSplits checks odd sizes: a last minibatch of one, no validation, more
// pictures wanted than there are.
func TestBatchesAndSplits(t *testing.T) {
	d := digits(t, 65, 10)
	e := newEngine(t)
	c := tiny()
	c.Epochs, c.ValSize = 1, 0
	r, err := newModel(t, c, d).Fit(context.Background(), e, d.Train, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if r.Updates != 3 || r.Epochs[0].ValLoss != nil || r.Best != 1 {
		t.Errorf("%d updates, validation %v, best %d", r.Updates, r.Epochs[0].ValLoss, r.Best)
	}
	c.ValSize = 65
	if _, err := newModel(t, c, d).Fit(context.Background(), e, d.Train, FitOptions{}); err == nil || !strings.Contains(err.Error(), "val-size 65") {
		t.Errorf("error %v, want one about val-size", err)
	}
	c.ValSize, c.Components = 62, 5
	if _, err := newModel(t, c, d).Fit(context.Background(), e, d.Train, FitOptions{}); err == nil || !strings.Contains(err.Error(), "components 5: expected at most one for each of the 3 pictures") {
		t.Errorf("error %v, want one about too few rows", err)
	}
}

// TestRowsAlone checks that a picture has the same logits alone and within a set.
func TestRowsAlone(t *testing.T) {
	d := digits(t, 200, 70)
	e := newEngine(t)
	c := tiny()
	c.Epochs = 1
	m := newModel(t, c, d)
	if _, err := m.Fit(context.Background(), e, d.Train, FitOptions{}); err != nil {
		t.Fatal(err)
	}
	x, err := m.Denoised(context.Background(), e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	for i := range d.Test.Len() {
		one, err := m.Denoised(context.Background(), e, d.Test.Slice(i, i+1))
		if err != nil {
			t.Fatal(err)
		}
		for j, v := range one.Row(0) {
			if math.Float32bits(v) != math.Float32bits(x.At(i, j)) {
				t.Fatalf("picture %d, feature %d: %v alone, %v among others", i, j, v, x.At(i, j))
			}
		}
	}
}
