package dpn

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"math"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/safetensors"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

func TestSpread(t *testing.T) {
	columns := func(rows ...[]float32) engine.Matrix {
		m := engine.NewMatrix(len(rows), len(rows[0]))
		for i, r := range rows {
			copy(m.Row(i), r)
		}
		return m
	}
	nan := float32(math.NaN())
	for _, c := range []struct {
		r                            engine.Matrix
		entropy, active, many, serve float64
	}{
		{columns([]float32{1, 1}, []float32{0, 0}), 0, 1, 1, 1},
		{columns([]float32{1, 0}, []float32{0, 1}), 0, 1, 1, 2},
		{columns([]float32{0.5, 0.5}, []float32{0.5, 0.5}), math.Ln2, 2, 2, 2},
		{columns([]float32{0.999, 1}, []float32{0.001, 1e-8}), 0.00395, 1.5, 1, 1.0043},
		{columns([]float32{nan}, []float32{nan}), 0, 0, 0, 1},
	} {
		var d Diagnostics
		w := walked{components: c.r.Rows, first: c.r, last: c.r, rising: make([]float64, c.r.Cols)}
		sum := make([]float64, w.size())
		w.add(0, c.r.Cols, sum)
		w.read(sum, max(c.r.Cols, 1), &d)
		if !(math.Abs(d.EntropyFirst-c.entropy) <= 1e-5) || d.EntropyLast != d.EntropyFirst ||
			d.ActiveFirst != c.active || d.StrongFirst != c.many ||
			!(math.Abs(d.EffectiveComponents-c.serve) <= 1e-3) {
			t.Errorf("%v: %+v, want %+v", c.r.Data, d, c)
		}
	}
}

// TestDiagnose holds the diagnostics against what analysis finds in the same model, over
// more steps than are recorded at once and with a step size from which phi falls.
func TestDiagnose(t *testing.T) {
	d, e, ctx := digits(t, 200, 10), newEngine(t), context.Background()
	c := tiny()
	c.Steps, c.Epochs = 23, 1
	m := newModel(t, c, d)
	if _, err := m.Fit(ctx, e, d.Train, FitOptions{}); err != nil {
		t.Fatal(err)
	}
	before, alpha := m.WeightsSHA256(), m.potential.Alpha()
	lambda, err := m.potential.LambdaMax(ctx, 1)
	if err != nil {
		t.Fatal(err)
	}
	m.potential.SetAlpha(float32(2.3 / lambda))
	s := m.sample(d.Train)
	got, err := m.diagnose(ctx, e, c.alone(), s)
	if err != nil {
		t.Fatal(err)
	}
	x, err := m.Features(ctx, e, s)
	if err != nil {
		t.Fatal(err)
	}
	path, before64, rising := make([]engine.Matrix, c.Steps+1), make([]float64, s.Len()), 0
	for step := range path {
		phi, r := make([]float32, s.Len()), engine.NewMatrix(c.Components, s.Len())
		m.potential.Evaluate(e, x, phi, r)
		for b, v := range phi {
			if step > 0 && before64[b]-float64(v) <= potential.RoundingAllowance(x.Cols, before64[b], float64(v)) {
				rising++
			}
			before64[b] = float64(v)
		}
		path[step] = r
		m.potential.Ascend(e, x, 1)
	}
	if share := float64(rising) / float64(16*c.Steps); s.Len() != 16 || !(math.Abs(got.AlphaLambda-2.3) <= 1e-3) ||
		got.Rising != share ||
		got.Rising == 1 {
		t.Errorf("%d images, %+v; step by step phi rises in %v", s.Len(), got, share)
	}
	for step, found := range map[int][3]float64{0: {got.EntropyFirst, got.ActiveFirst, got.StrongFirst},
		c.Steps: {got.EntropyLast, got.ActiveLast, got.StrongLast}} {
		var want [3]float64
		for _, v := range path[step].Data {
			if v > 0 {
				want[0] -= float64(v) * math.Log(float64(v)) / 16
			}
			if v > 0x1p-24 {
				want[1] += 1. / 16
			}
			if v > 0.01 {
				want[2] += 1. / 16
			}
		}
		for i := range want {
			if !(math.Abs(found[i]-want[i]) <= 1e-6) {
				t.Errorf("step %d: %v, want %v", step, found, want)
			}
		}
	}
	if m.potential.SetAlpha(alpha); m.WeightsSHA256() != before {
		t.Error("diagnostics changed weights")
	}
}

// TestWarnings gives every warning its cause, and none what is healthy.
func TestWarnings(t *testing.T) {
	healthy := Diagnostics{
		AlphaLambda:         1.9,
		Rising:              1,
		EntropyStart:        2,
		EntropyFirst:        0.1,
		EffectiveComponents: 9,
		Clipped:             1,
		GradientNorms:       map[string]float64{potential.Group: 0.3, groupClassifier: 1},
	}
	c, _ := Preset("compact")
	kinds := map[string]bool{}
	for _, w := range []struct {
		kind   string
		norm   float64
		change func(d *Diagnostics, c *Config)
		names  []string
	}{
		{"", 5, func(*Diagnostics, *Config) {}, nil},
		{"edge", 1, func(d *Diagnostics, _ *Config) { d.AlphaLambda = 2.2 },
			[]string{"alpha", "scale", "potential-lr"}},
		{"edge", 1, func(d *Diagnostics, _ *Config) { d.Rising = 0.95 }, []string{"5%"}},
		{"overshoot", 1, func(d *Diagnostics, _ *Config) { d.AlphaLambda = 4.1 }, []string{"4.1", "0%", "may overshoot",
			"alpha", "scale", "potential-lr"}},
		{"overshoot", 1, func(d *Diagnostics, _ *Config) { d.AlphaLambda, d.Rising = 4.1, 0.9 }, []string{"10%",
			"they overshoot"}},
		{"falls", 1, func(d *Diagnostics, _ *Config) { d.Rising = 0.25 }, []string{"75%", "alpha", "scale",
			"potential-lr"}},
		{"unused", 1, func(d *Diagnostics, _ *Config) { d.Unused = 3 }, []string{"3 of 10", "components",
			"init classwise"}},
		{"collapse", 1, func(d *Diagnostics, _ *Config) { d.EffectiveComponents = 1.2 }, []string{"1.2 of 10",
			"components", "scale"}},
		{"", 1, func(d *Diagnostics, c *Config) { d.EffectiveComponents, c.Components = 1, 1 }, nil},
		{"one-hot", 1, func(d *Diagnostics, _ *Config) { d.EntropyFirst = 1e-4 }, []string{"scale", "potential-lr"}},
		{"", 1, func(d *Diagnostics, _ *Config) { d.EntropyStart, d.EntropyFirst = 1e-4, 0 }, nil},
		{"clipped", 100, func(*Diagnostics, *Config) {}, []string{"clip 1", "alpha", "steps", "lr"}},
		{"clipped", 100, func(d *Diagnostics, _ *Config) { d.Clipped = 0.9 }, []string{"90%"}},
		{"", 100, func(d *Diagnostics, _ *Config) { d.Clipped = 0.899 }, nil},
		{"", 100, func(d *Diagnostics, c *Config) { d.Clipped, c.Clip = 0, 0 }, nil},
		{"exploding", 1, func(d *Diagnostics, c *Config) {
			d.GradientNorms[potential.Group], d.Clipped, c.Clip = 1e10, 0, 0
		}, []string{"1e+10", "steps", "potential-lr", "clip 1"}},
		{"vanishing", 1, func(d *Diagnostics, _ *Config) { d.GradientNorms[potential.Group] = 0 }, []string{"steps",
			"alpha"}},
		{"", 1, func(d *Diagnostics, c *Config) { d.GradientNorms[potential.Group], c.Gradient = 0, "detached" }, nil},
		{"", 1, func(d *Diagnostics, c *Config) { d.GradientNorms[potential.Group], c.Steps = 0, 0 }, nil},
	} {
		d, c := healthy, c
		d.GradientNorms = map[string]float64{potential.Group: 0.3, groupClassifier: 1}
		w.change(&d, &c)
		kinds[w.kind] = true
		got := c.warnings(d, w.norm)
		if w.kind == "" && len(got) == 0 {
			continue
		}
		if len(got) != 1 || got[0].Kind != w.kind || got[0].Note != (w.kind == "edge") {
			t.Errorf("%s: warnings %+v", w.kind, got)
			continue
		}
		for _, name := range w.names {
			if !strings.Contains(got[0].Text, name) {
				t.Errorf("%s: %q, want it to name %s", w.kind, got[0].Text, name)
			}
		}
	}
	for _, init := range []string{"classwise", "em-classwise"} {
		c, d := c, healthy
		c.Init, d.Unused = init, 3
		if w := c.warnings(d, 1)[0]; w.Kind != "unused" || strings.Contains(w.Text, "classwise") {
			t.Errorf("init %s: %+v", init, w)
		}
	}
	for _, kind := range milder {
		if !kinds[kind] {
			t.Errorf("milder: %s is no kind of warning", kind)
		}
	}
}

// TestDiagnosis trains with settings that are known to fail, each of which must end in
// warnings that say why, once, and with presets, which must end in none.
func TestDiagnosis(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: trains for seconds, a minute under emulation")
	}
	e, full, d := newEngine(t), digits(t, 230, 10), digits(t, 450, 10)
	for _, s := range []**dataset.Set{&d.Train, &d.Test} {
		small, err := (*s).Resize(10, 10) // for the sake of pure Go
		if err != nil {
			t.Fatal(err)
		}
		*s = small
	}
	for _, c := range []struct {
		name, preset string
		change       func(c *Config)
		weights      func(m *Model) // before training
		kinds        []string
	}{
		{"A is random", "compact", func(c *Config) {},
			func(m *Model) { num.NewRand(1, 0).Normal(m.potential.Params()[3].Data) },
			[]string{"overshoot", "falls", "clipped", "exploding"}},
		{"scale 5", "compact", func(c *Config) { c.Scale = 5 }, nil, []string{"overshoot", "falls", "clipped",
			"exploding"}},
		{"scale 5, small alpha", "compact", func(c *Config) { c.Scale, c.Alpha = 5, 0.1 }, nil, []string{"falls",
			"clipped"}},
		{"scale 5, detached", "compact", func(c *Config) { c.Scale, c.Gradient = 5, "detached" }, nil,
			[]string{"overshoot", "falls"}},
		{"rate 1e-2", "paper", func(c *Config) {
			c.LR, c.PotentialLR, c.Clip, c.Schedule, c.Components, c.Batch, c.MaxUpdates = 1e-2, 1e-2, 0, "constant", 2,
				16, 18
		}, nil, []string{"overshoot", "falls"}},
		{"lowrank, rate 1e-2", "raw", func(c *Config) {
			c.PotentialLR, c.Schedule, c.Epochs, c.Components, c.Steps = 1e-2, "constant", 10, 10, 5
		}, nil, []string{"overshoot"}},
		{"compact", "compact", func(c *Config) {}, nil, nil},
		{"clean", "clean", func(c *Config) { c.Epochs = 2 }, nil, nil},
		{"noise", "noise", func(c *Config) { c.Epochs = 2 }, nil, nil},
		{"raw", "raw", func(c *Config) { c.Epochs = 3 }, nil, nil},
		{"robust", "robust", func(c *Config) { c.Components, c.Epochs = 10, 2 }, nil, nil},
		{"published", "published", func(c *Config) { c.Epochs = 2 }, nil, nil},
		{"paper", "paper", func(c *Config) { c.Epochs = 2 }, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			config, err := Preset(c.preset)
			if err != nil {
				t.Fatal(err)
			}
			d := d
			config.Batch = 32
			c.change(&config)
			large := strings.Contains(c.name, "rate") // with few pixels these learn
			if large {
				d = full
			}
			if err := config.Validate(); err != nil {
				t.Fatal(err)
			}
			m := newModel(t, config, d)
			if c.weights != nil {
				c.weights(m)
			}
			var log bytes.Buffer
			var epochs []Epoch
			_, err = m.Fit(context.Background(), e, d.Train,
				FitOptions{Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})),
					OnEpoch: func(h Epoch) { epochs = append(epochs, h) }})
			if err != nil && (!errors.As(err, new(*NotFiniteError)) || c.kinds == nil) {
				t.Fatal(err)
			}
			for _, kind := range c.kinds {
				if n := strings.Count(log.String(), "kind="+kind+"\n"); n != 1 {
					t.Errorf("%d warnings of the kind %s", n, kind)
				}
			}
			for _, h := range epochs {
				norms, want := h.Diagnostics.GradientNorms, len(m.extractor) > 0 && config.Gradient == GradientExact
				if (norms[groupExtractor] > 0) != want || norms[groupClassifier] == 0 {
					t.Errorf("norms of the gradient: %v", h.Diagnostics.GradientNorms)
				}
			}
			short := strings.Count(log.String(), "kind=unconverged\n") // as these trainings are
			if c.kinds == nil && strings.Count(log.String(), "\n") > short || t.Failed() {
				t.Errorf("warnings: %s", log.String())
			}
		})
	}
}

// withDensity has all the losses, rates and early stopping that are off in presets.
func withDensity(form string) Config {
	c := tiny()
	c.Form, c.Rank, c.Init, c.Components = form, 3, "classwise", 10
	c.NLL, c.Score, c.ScoreSigma, c.ExtractorLR, c.AlphaLR, c.Patience = 0.2, 0.5, 0.4, 2e-3, 1e-4, 3
	return c
}

// densityHashes are those of the weights after training withDensity, on every machine.
var densityHashes = map[string]string{
	potential.FormFull:    "136a3d1241cc9801",
	potential.FormDiag:    "5199828764146129",
	potential.FormLowRank: "9d3bd222b92aa98d",
	potential.FormFlat:    "ccd93ea00dfb99d2",
	potential.FormTied:    "537357c4b71d9327",
}

// TestDensityBits trains with all options on several tiers and numbers of threads, and
// resumed after each epoch: the same bits as committed, diagnostics and warnings.
func TestDensityBits(t *testing.T) {
	d := digits(t, 200, 10)
	for _, form := range potential.Forms() {
		c := withDensity(form)
		whole := newModel(t, c, d)
		want, err := whole.Fit(context.Background(), newEngine(t, engine.WithThreads(1)), d.Train, FitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		got := whole.WeightsSHA256()
		if densityHashes[form] == "" {
			t.Errorf("no hash of form %s in densityHashes (dpn/diagnostics_test.go): the weights hash to %.16s",
				form, got)
		} else if !strings.HasPrefix(got, densityHashes[form]) {
			t.Errorf("%s: weights hash to %s, want %s...", form, got, densityHashes[form])
		}
		if testing.Short() { // the rest takes a minute under emulation
			continue
		}
		weak := c
		weak.NLL, weak.Score = 1e-9, 1e-9
		without, err := newModel(t, weak, d).Fit(context.Background(), newEngine(t), d.Train, FitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		h, w := want.Epochs[len(want.Epochs)-1], without.Epochs[len(want.Epochs)-1]
		if *h.NLL >= *w.NLL || *h.ScoreMatching >= *w.ScoreMatching {
			t.Errorf("%s: negative log-likelihood %v and loss of score matching %v, %v and %v without", form, *h.NLL,
				*h.ScoreMatching, *w.NLL, *w.ScoreMatching)
		}
		for _, o := range []engine.Option{engine.WithThreads(2), engine.WithThreads(7),
			engine.WithTier(engine.Generic)} {
			m := newModel(t, c, d)
			if _, err := m.Fit(context.Background(), newEngine(t, o), d.Train, FitOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := m.WeightsSHA256(); got != whole.WeightsSHA256() {
				t.Errorf("%s: other tier or threads: weights %s, want %s", form, got, whole.WeightsSHA256())
			}
		}
		dir := t.TempDir()
		for again := range len(want.Epochs) {
			ctx, cancel := context.WithCancel(context.Background())
			m := newModel(t, c, d)
			got, err := m.Fit(ctx, newEngine(t), d.Train,
				FitOptions{Dir: dir, Resume: again > 0, OnEpoch: func(h Epoch) {
					if h.Epoch < len(want.Epochs) {
						cancel()
					}
				}})
			cancel()
			if again+1 < len(want.Epochs) {
				if !errors.Is(err, context.Canceled) {
					t.Fatalf("%s: error %v", form, err)
				}
				continue
			}
			if err != nil {
				t.Fatal(err)
			}
			if m.WeightsSHA256() != whole.WeightsSHA256() {
				t.Errorf("%s: other weights after resuming", form)
			}
			for i := range got.Epochs {
				// routes may be timed
				got.Epochs[i].Seconds, got.Epochs[i].Ascent = want.Epochs[i].Seconds, want.Epochs[i].Ascent
			}
			if !reflect.DeepEqual(got.Epochs, want.Epochs) {
				t.Errorf("%s: epochs %+v after resuming, want %+v", form, got.Epochs, want.Epochs)
			}
		}
	}
}

// TestPatience trains until the validation loss gets no lower, resumed or in one go.
func TestPatience(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the same bits on every machine (TestTrainedBits), and slow under emulation")
	}
	d, e := digits(t, 200, 10), newEngine(t)
	c := tiny()
	c.Epochs, c.Patience, c.LR, c.PotentialLR, c.Schedule = 200, 2, 2e-2, 2e-3, "constant"
	whole := newModel(t, c, d)
	want, err := whole.Fit(context.Background(), e, d.Train, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if n := len(want.Epochs); !want.Stopped || n != want.Best+2 || n == 200 {
		t.Fatalf("%d epochs, the best %d, stopped: %v", n, want.Best, want.Stopped)
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	_, err = newModel(t, c, d).Fit(ctx, e, d.Train, FitOptions{Dir: dir, OnEpoch: func(h Epoch) {
		if h.Epoch == want.Best+1 { // one epoch before the end
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	for range 2 { // also where there is nothing left to do
		m := newModel(t, c, d)
		got, err := m.Fit(context.Background(), e, d.Train, FitOptions{Dir: dir, Resume: true})
		if err != nil {
			t.Fatal(err)
		}
		if !got.Stopped || len(got.Epochs) != len(want.Epochs) || got.Best != want.Best ||
			m.WeightsSHA256() != whole.WeightsSHA256() {
			t.Errorf("resumed: %d epochs, the best %d, stopped: %v", len(got.Epochs), got.Best, got.Stopped)
		}
	}
	c.ValSize = -1
	var bad *SettingError
	if err := newModel(t, c, digits(t, 9, 10)).Check(digits(t, 9, 10).Train); !errors.As(err, &bad) ||
		bad.Setting != "patience" {
		t.Errorf("error %v, want one about patience", err)
	}
}

// TestLearningRates checks that each group of parameters follows its own rate.
func TestLearningRates(t *testing.T) {
	d, e := digits(t, 64, 10), newEngine(t)
	for still, change := range map[string]func(c *Config){
		groupExtractor:       func(c *Config) { c.ExtractorLR = 1e-30 },
		potential.GroupAlpha: func(c *Config) { c.AlphaLR = 1e-30 },
	} {
		c := tiny()
		change(&c)
		m := newModel(t, c, d)
		if _, err := m.Init(context.Background(), e, d.Train); err != nil {
			t.Fatal(err)
		}
		var before [][]float32
		for _, p := range m.Params() {
			before = append(before, slices.Clone(p.Data))
		}
		if _, err := NewTrainer(m, e).Update(d.Train, []int32{0, 1, 2, 3}, 1); err != nil {
			t.Fatal(err)
		}
		for i, p := range m.Params() {
			if same := slices.Equal(p.Data, before[i]); same != (p.Group == still) {
				t.Errorf("%s-lr 1e-30: %s is the same: %v", still, p.Name, same)
			}
		}
	}
}

// TestSettingsBeforeDensity resumes a state from before there were these losses, rates
// and diagnostics.
func TestSettingsBeforeDensity(t *testing.T) {
	d, e, dir := digits(t, 100, 10), newEngine(t), t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	if _, err := newModel(t, tiny(), d).Fit(ctx, e, d.Train, FitOptions{Dir: dir,
		OnEpoch: func(Epoch) { cancel() }}); !errors.Is(
		err, context.Canceled) {
		t.Fatal(err)
	}
	for _, name := range []string{StateFile, ModelFile} {
		path := filepath.Join(dir, name)
		f, err := safetensors.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var kept []string
		for line := range strings.Lines(f.Metadata[metaConfig]) {
			switch key, _, _ := strings.Cut(line, " "); key {
			case "extractor-lr", "alpha-lr", "nll", "score-matching", "score-sigma", "patience":
			default:
				kept = append(kept, line)
			}
		}
		if len(kept) == strings.Count(f.Metadata[metaConfig], "\n") {
			t.Fatal("the settings are not there")
		}
		f.Metadata[metaConfig] = strings.Join(kept, "")
		if err := safetensors.WriteFile(path, f); err != nil {
			t.Fatal(err)
		}
	}
	r, err := newModel(t, tiny(), d).Fit(context.Background(), e, d.Train, FitOptions{Dir: dir, Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Epochs) != 4 || r.Epochs[3].Diagnostics.AlphaLambda == 0 {
		t.Errorf("epochs %+v", r.Epochs)
	}
}

// TestClassWarning lists what classes lack.
func TestClassWarning(t *testing.T) {
	for _, c := range []struct {
		train, val []int
		want       string
	}{
		{[]int{10, 10, 10}, []int{1, 1, 1}, ""},
		{[]int{10, 10, 10}, nil, ""},
		{[]int{10, 0, 9}, []int{1, 0, 0},
			"no training image of class 1; fewer than 10 training images of class 2 (9); " +
				"no validation image of class 2"},
		{[]int{0, 0, 90}, nil, "no training image of classes 0, 1"},
	} {
		train, val := sized(c.train...), sized(c.val...)
		if got := classWarning(train, val, dataset.Numbered(3)); got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.train, c.val, got, c.want)
		}
		train.Shape = dataset.Vector(1)
		c.want = strings.ReplaceAll(c.want, "image", "vector")
		if got := classWarning(train, val, dataset.Numbered(3)); got != c.want {
			t.Errorf("%v, %v: %q, want %q", c.train, c.val, got, c.want)
		}
	}
}

// TestPooledWarning checks that training names the components whose clusters are too small.
func TestPooledWarning(t *testing.T) {
	d, e := digits(t, 60, 10), newEngine(t)
	c, _ := Preset("robust-small")
	c.Components, c.Epochs, c.MaxUpdates = 10, 1, 1
	r, err := newModel(t, c, d).Fit(context.Background(), e, d.Train, FitOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for _, w := range r.Epochs[0].Warnings {
		kinds = append(kinds, w.Kind)
		if w.Kind == "pooled" && !strings.Contains(w.Text, "vary in fewer than the 10 directions of rank") {
			t.Error(w.Text)
		}
	}
	one := InitResult{Small: []potential.SmallCluster{{Component: 3, Rows: 1}}}
	if text := one.warnings(c)[0].Text; !strings.Contains(text, "of rank (component 3 with 1 sample): they get") {
		t.Error(text)
	}
	if len(r.Init.Small) == 0 || !slices.Contains(kinds, "pooled") || !slices.Contains(kinds, "classes") {
		t.Errorf("small clusters %v, warnings %v", r.Init.Small, kinds)
	}
}
