package study

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"

	"gonum.org/v1/gonum/mat"
)

// TestLandscape holds spectra and variances against gonum, on any number of threads, of
// full and of tied precisions.
func TestLandscape(t *testing.T) {
	const k, d = 5, 17
	ctx, e := context.Background(), newEngine(t)
	for _, tied := range []bool{false, true} {
		p := randomPotential(k, d, 4)
		if tied {
			full := p
			p = potential.New(potential.Settings{Form: potential.FormTied, Components: k, Scale: 1}, d)
			p.SetCentres(full.Centres())
			p.SetAlpha(full.Alpha())
			copy(p.LogWeights(), full.LogWeights())
			copy(factors(p), factors(full))
		}
		l, err := MeasureLandscape(ctx, e, p)
		if err != nil {
			t.Fatal(err)
		}
		mean := make([]float64, d)
		for i, s := range l.Spectra {
			want, inverse := denseSpectrum(t, d, p.Precision(i))
			for j, v := range want {
				if !(math.Abs(s.Eigenvalues[j]-v) <= 1e-12*want[0]) {
					t.Errorf("eigenvalue %d of component %d is %v, expected %v", j, i, s.Eigenvalues[j], v)
				}
				if v := inverse.At(j, j); !(math.Abs(l.Variances[i][j]-v) <= 1e-10*v) {
					t.Errorf("variance %d of component %d is %v, expected %v", j, i, l.Variances[i][j], v)
				}
				mean[j] += l.Weights[i] * l.Variances[i][j]
			}
			if s.Component != i || s.Largest != s.Eigenvalues[0] || s.Smallest != s.Eigenvalues[d-1] ||
				float64(s.Condition) != s.Largest/s.Smallest || s.AlphaLambda != float64(p.Alpha())*s.Largest ||
				s.Largest > l.LambdaMax {
				t.Errorf("component %d: %+v with largest of all %v", i, s, l.LambdaMax)
			}
		}
		for j, v := range mean {
			if !(math.Abs(l.MeanVariance[j]-v) <= 1e-12*v) {
				t.Errorf("mean variance %d is %v, expected %v", j, l.MeanVariance[j], v)
			}
		}
		one, err := MeasureLandscape(ctx, newEngine(t, engine.WithThreads(1)), p)
		if err != nil {
			t.Fatal(err)
		}
		a, _ := json.Marshal(l)
		b, _ := json.Marshal(one)
		if string(a) != string(b) {
			t.Error("other bits on one thread")
		}
	}
}

// spectrum returns the eigenvalues of a symmetric d x d matrix, falling, and its inverse.
func denseSpectrum(t *testing.T, d int, matrix []float64) ([]float64, *mat.Dense) {
	t.Helper()
	m := mat.NewSymDense(d, matrix)
	var eigen mat.EigenSym
	var inverse mat.Dense
	if !eigen.Factorize(m, false) || inverse.Inverse(m) != nil {
		t.Fatal("the reference failed")
	}
	values := eigen.Values(nil)
	slices.Reverse(values)
	return values, &inverse
}

// TestLandscapeFlat holds the spectra of flat precisions, which are taken from r x r matrices, and
// their variances against those of the whole matrix, with rows that are orthonormal, that are not,
// and with as many as there are dimensions.
func TestLandscapeFlat(t *testing.T) {
	const k, d = 3, 15
	e := newEngine(t)
	for _, r := range []int{1, 4, d} {
		for _, corrupt := range []float32{0, 0.02} {
			p := potential.New(
				potential.Settings{Form: potential.FormFlat, Components: k, Rank: r, Eps: 0.1, Scale: 0.7}, d)
			p.SetAlpha(0.5)
			u := factors(p)
			num.NewRand(7, 0).Normal(u)
			p.Updated(e)
			for i := range u {
				u[i] *= 1 + corrupt*float32(i%3-1)
			}
			l, err := MeasureLandscape(context.Background(), e, p)
			if err != nil {
				t.Fatal(err)
			}
			for i := range k {
				want, inverse := denseSpectrum(t, d, p.Precision(i))
				for j, v := range want {
					if got := l.Spectra[i].Eigenvalues[j]; !(math.Abs(got-v) <= 1e-13*want[0]) {
						t.Errorf("rank %d, corrupted by %v: eigenvalue %d of component %d is %v, expected %v", r,
							corrupt, j, i, got, v)
					}
					if got, v := l.Variances[i][j], inverse.At(j, j); !(math.Abs(got-v) <= 1e-12*v) {
						t.Errorf("rank %d, corrupted by %v: variance %d of component %d is %v, expected %v", r, corrupt,
							j, i, got, v)
					}
				}
			}
		}
	}
}

// TestLandscapeClosedForms checks diagonal precisions, a singular one, and the weights.
func TestLandscapeClosedForms(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	p := potential.New(potential.Settings{Form: potential.FormFull, Components: 4, Scale: 0.5}, 3)
	p.Start(0.25, nil)
	copy(factors(p), []float32{2, 0, 0, 0, 1, 0, 0, 0, 4})     // P_0 = diag(4, 1, 16)
	copy(factors(p)[9:], []float32{1, 2, 3, 0, 0, 0, 0, 0, 0}) // P_1 of rank 1, largest eigenvalue 14
	copy(p.LogWeights(), []float32{0, float32(math.Log(2)), 0, float32(math.Log(4))})
	l, err := MeasureLandscape(ctx, e, p)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(l.Spectra[0].Eigenvalues, []float64{16, 4, 1}) || l.Spectra[0].Condition != 16 ||
		l.Spectra[0].AlphaLambda != 4 {
		t.Errorf("spectrum of diag(4, 1, 16): %+v", l.Spectra[0])
	}
	if !slices.Equal(l.Variances[0], []float64{0.25, 1, 0.0625}) {
		t.Errorf("variances of diag(4, 1, 16): %v", l.Variances[0])
	}
	if s := l.Spectra[1]; !(math.Abs(s.Largest-14) <= 1e-13) || !math.IsInf(float64(s.Condition), 1) ||
		l.Variances[1] != nil ||
		!slices.Equal(l.Singular, []int{1}) {
		t.Errorf("rank 1: %+v, variances %v, singular %v", s, l.Variances[1], l.Singular)
	}
	for i, w := range []float64{1. / 8, 2. / 8, 1. / 8, 4. / 8} {
		if !(math.Abs(l.Weights[i]-w) <= 1e-7) {
			t.Errorf("weight %d is %v, expected %v", i, l.Weights[i], w)
		}
	}
	if !slices.Equal(l.Order, []int{3, 1, 0, 2}) {
		t.Errorf("order %v", l.Order)
	}
	if l.LambdaMax != 16 || l.StableAlpha != 0.125 {
		t.Errorf("largest eigenvalue %v, stable alpha %v, expected 16 and 1/8", l.LambdaMax, l.StableAlpha)
	}
	// Of components 0, 2 and 3, by weight: those of 2 and 3 are 4.
	if want := (0.25*1 + 4*5) / 6; !(math.Abs(l.MeanVariance[0]-want) <= 1e-6) {
		t.Errorf("mean variance %v, expected %v", l.MeanVariance[0], want)
	}

	clear(factors(p))
	if l, err = MeasureLandscape(ctx, e, p); err != nil || l.MeanVariance != nil || len(l.Singular) != 4 ||
		!math.IsInf(float64(l.StableAlpha), 1) {
		t.Errorf("a flat landscape: %+v, %v", l, err)
	}
	if _, err := json.Marshal(l); err != nil {
		t.Error(err)
	}
}

func TestLandscapeRefuses(t *testing.T) {
	e := newEngine(t)
	ended, stop := context.WithCancel(context.Background())
	stop()
	if _, err := MeasureLandscape(ended, e, randomPotential(2, 3, 1)); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	for name, corrupt := range map[string]func(p *potential.Potential) *float32{
		"A":  func(p *potential.Potential) *float32 { return &factors(p)[3] },
		"c":  func(p *potential.Potential) *float32 { return &p.LogWeights()[1] },
		"mu": func(p *potential.Potential) *float32 { return &p.Centres().Data[1] },
	} {
		for _, v := range []float64{math.NaN(), math.Inf(1)} {
			p := randomPotential(2, 3, 1)
			*corrupt(p) = float32(v)
			if _, err := MeasureLandscape(context.Background(), e, p); err == nil {
				t.Errorf("%s %v: no error", name, v)
			}
		}
	}
}

// TestTrace holds a trace against what the model says elsewhere.
func TestTrace(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	d := digits(t, 60, 30)
	c := tiny()
	c.Steps = 12 // more than are run at once
	m := newModel(t, c, d)
	if _, err := m.Init(ctx, e, d.Train); err != nil {
		t.Fatal(err)
	}
	at := []int{4, 29, 0}
	tr, err := TraceImages(ctx, e, m, d.Test, at, 15)
	if err != nil {
		t.Fatal(err)
	}
	if tr.Steps != 15 || tr.Samples != 3 || tr.Dim != 16 || tr.K != 5 || len(tr.X) != 16*3*16 || len(tr.Phi) != 16 ||
		len(tr.R) != 16 ||
		len(tr.Predicted) != 16 ||
		len(tr.Length) != 15 {
		t.Fatalf("shapes: %d steps, %d samples, %d numbers", tr.Steps, tr.Samples, len(tr.X))
	}
	first, err := m.Features(ctx, e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	last, err := m.Denoised(ctx, e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	classes, err := m.Predict(ctx, e, d.Test)
	if err != nil {
		t.Fatal(err)
	}
	for b, i := range at {
		if tr.Index[b] != i || tr.Labels[b] != int(d.Test.Labels[i]) {
			t.Errorf("image %d: index %d, label %d", i, tr.Index[b], tr.Labels[b])
		}
		if !slices.Equal(tr.XAt(0).Row(b), first.Row(i)) || !slices.Equal(tr.XAt(12).Row(b), last.Row(i)) {
			t.Errorf("image %d: x_0 or x_12 has other bits than Features or Denoised", i)
		}
		if tr.Predicted[12][b] != int(classes[i]) {
			t.Errorf("image %d: class %d, Predict says %d", i, tr.Predicted[12][b], classes[i])
		}
	}
	for step := range 16 {
		ev, err := m.Potential().Evaluate64(ctx, linalg.Widen(tr.XAt(step).Data), 1)
		if err != nil {
			t.Fatal(err)
		}
		for b := range at {
			if !(math.Abs(float64(tr.Phi[step][b])-ev.Phi[b]) <= 1e-4*(1+math.Abs(ev.Phi[b]))) {
				t.Errorf("phi of step %d is %v, in float64 %v", step, tr.Phi[step][b], ev.Phi[b])
			}
			for i, r := range tr.R[step][b] {
				if !(math.Abs(float64(r)-ev.R[b*5+i]) <= 1e-4) {
					t.Errorf("r_%d of step %d is %v, in float64 %v", i, step, r, ev.R[b*5+i])
				}
			}
			if step > 0 &&
				!(math.Abs(float64(tr.Length[step-1][b])-linalg.Distance(tr.XAt(step).Row(b),
					tr.XAt(step-1).Row(b))) <= 1e-12) {
				t.Errorf("length of step %d is %v", step-1, tr.Length[step-1][b])
			}
		}
	}
	still, err := TraceImages(ctx, e, m, d.Test, at, 0)
	if err != nil || len(still.Phi) != 1 || len(still.Length) != 0 || !slices.Equal(still.Phi[0], tr.Phi[0]) {
		t.Errorf("no steps: %+v, %v", still, err)
	}

	m.Potential().SetAlpha(1e20)
	m.Potential().Changed()
	wild, err := TraceImages(ctx, e, m, d.Test, at, 30)
	if err != nil || wild.Phi[30][0].IsFinite() {
		t.Fatalf("a wild ascent ends at phi %v (%v)", wild.Phi[30], err)
	}
	if _, err := json.Marshal(wild); err != nil {
		t.Error(err)
	}

	ended, stop := context.WithCancel(ctx)
	stop()
	for name, call := range map[string]func() (*Trace, error){
		"no images":     func() (*Trace, error) { return TraceImages(ctx, e, m, d.Test, nil, 1) },
		"beyond":        func() (*Trace, error) { return TraceImages(ctx, e, m, d.Test, []int{30}, 1) },
		"below":         func() (*Trace, error) { return TraceImages(ctx, e, m, d.Test, []int{-1}, 1) },
		"steps below 0": func() (*Trace, error) { return TraceImages(ctx, e, m, d.Test, at, -1) },
		"too long":      func() (*Trace, error) { return TraceImages(ctx, e, m, d.Test, at, math.MaxInt32) },
		"cancelled":     func() (*Trace, error) { return TraceImages(ended, e, m, d.Test, at, 1) },
	} {
		if _, err := call(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

// TestInitialCentres checks that the first centres come again after training, and that
// the model stays as it was.
func TestInitialCentres(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	d := digits(t, 200, 10)
	c := tiny()
	c.Epochs, c.ValSize, c.PotentialLR = 2, 40, 1e-2
	m, first := newModel(t, c, d), newModel(t, c, d)
	train, _, err := first.Split(d.Train)
	if err != nil || train.Len() != 160 {
		t.Fatal(train.Len(), err)
	}
	if _, err := first.Init(ctx, e, train); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Fit(ctx, e, d.Train, dpn.FitOptions{}); err != nil {
		t.Fatal(err)
	}
	before := m.WeightsSHA256()
	moves, err := MeasureCentreMoves(ctx, e, m, d.Train)
	if err != nil {
		t.Fatal(err)
	}
	if m.WeightsSHA256() != before {
		t.Error("the model has changed")
	}
	if !slices.Equal(moves.Initial.Data, first.Potential().Centres().Data) {
		t.Error("the initial centres are not those that training began with")
	}
	if !slices.Equal(moves.Final.Data, m.Potential().Centres().Data) {
		t.Error("the final centres are not those of the model")
	}
	if len(moves.Moved) != 5 || !(slices.Min(moves.Moved) > 0) || !(moves.Nearest > 0) {
		t.Errorf("moved %v, nearest %v", moves.Moved, moves.Nearest)
	}
	if _, err := InitialCentres(ctx, e, m, d.Train.Slice(0, 20)); err == nil {
		t.Error("fewer images than validation needs: no error")
	}
}

// pixelModel is a network on images of two grey pixels, which are its features, with
// equal precisions lambda I around the given centres and the classifier x_0, x_1.
func pixelModel(t *testing.T, lambda, alpha float64, centres ...float32) *dpn.Model {
	t.Helper()
	d := pixelPairs(make([]byte, 2))
	c := completed(dpn.Config{
		Extractor:  "identity",
		Components: len(centres) / 2,
		Steps:      5,
		Scale:      math.Sqrt(lambda),
		Alpha:      alpha,
		Batch:      1,
	})
	m := newModel(t, c, d)
	copy(m.Potential().Centres().Data, centres)
	clear(parameter(m, "classifier.bias"))
	copy(parameter(m, "classifier.weight"), []float32{1, 0, 0, 1})
	return m
}

// TestRiseClosedForm checks one component, where q falls by the square of 1 - alpha
// lambda in each step: phi rises exactly while that is below 1.
func TestRiseClosedForm(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	m := pixelModel(t, 4, 0.1, 0.5, 0.25)
	s := pixelPairs([]byte{0, 0, 255, 0, 10, 200}).Train
	sweep, err := SweepRises(ctx, e, m, s, RiseOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if sweep.LambdaMax != 4 || sweep.StableAlpha != 0.5 || sweep.Samples != 3 || sweep.Steps != 5 ||
		len(sweep.Rises) != 9 {
		t.Fatalf("%+v", sweep)
	}
	for _, r := range sweep.Rises {
		if r.Pairs != 15 || r.Rises+r.Rounded+r.Falls+r.NotFinite != 15 {
			t.Errorf("alpha %v: %+v", r.Alpha, r)
		}
		if stable := r.AlphaLambda < 2; stable && (r.Share != 1 || r.Falls != 0) ||
			!stable && (r.Rises != 0 || !(r.LargestFall > 0)) {
			t.Errorf("alpha lambda %v: %+v", r.AlphaLambda, r)
		}
	}
	far := sweep.Rises[8] // alpha lambda = 3: the distance doubles, and q = 4 |x - mu|^2 four times
	q := 4 * ((10./255-0.5)*(10./255-0.5) + (200./255-0.25)*(200./255-0.25))
	if want := 1.5 * q * math.Pow(4, 4); far.FallStep != 4 || far.FallSample != 2 ||
		!(math.Abs(far.LargestFall-want) <= 1e-5*want) {
		t.Errorf("alpha lambda 3: %+v, expected the fall %v at step 4 of image 2", far, want)
	}
	one, err := SweepRises(ctx, e, m, s.Slice(1, 2), RiseOptions{Steps: 1, Alphas: []float64{0.1}})
	if err != nil || one.Rises[0].Pairs != 1 || one.Rises[0].Rises != 1 || one.Rises[0].StrictShare != 1 {
		t.Errorf("one pair: %+v, %v: expected one rise, the share of which is 1", one, err)
	}
	wild, err := SweepRises(ctx, e, m, s, RiseOptions{Steps: 40, Alphas: []float64{1e5}, LambdaMax: 4})
	if err != nil || wild.Rises[0].NotFinite == 0 {
		t.Errorf("%+v, %v: expected numbers out of range", wild, err)
	}
}

// TestRiseCount counts a fall by rounding and a larger one, of images from number 10 on.
func TestRiseCount(t *testing.T) {
	r := Rise{FallStep: -1, FallSample: -1}
	r.count([]float32{1, 1, 1}, []float32{math.Nextafter32(1, 0), 0, 2}, 4, 3, 10)
	if r.Pairs != 3 || r.Rounded != 1 || r.Falls != 1 || r.Rises != 1 || r.FallStep != 3 || r.FallSample != 11 {
		t.Errorf("%+v", r)
	}
}

// TestPhiRises checks random potentials: no step below the bound lowers phi by more than
// rounding, well above it phi falls.
func TestPhiRises(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	d := digits(t, 40, 40)
	for seed := range uint64(4) {
		c := completed(dpn.Config{
			Extractor:  "linear",
			Dim:        12,
			LayerNorm:  true,
			Components: 6,
			Steps:      14,
			Scale:      1,
			Alpha:      0.1,
			Batch:      8,
		})
		m := newModel(t, c, d)
		p := randomPotential(6, 12, seed)
		copy(m.Potential().Centres().Data, p.Centres().Data)
		copy(factors(m.Potential()), factors(p))
		copy(m.Potential().LogWeights(), p.LogWeights())
		l, err := MeasureLandscape(ctx, e, m.Potential())
		if err != nil {
			t.Fatal(err)
		}
		bound := float64(l.StableAlpha)
		sweep, err := SweepRises(ctx, e, m, d.Test,
			RiseOptions{Alphas: []float64{0.05 * bound, 0.5 * bound, 0.99 * bound, 8 * bound}})
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(sweep.LambdaMax-l.LambdaMax) <= 1e-15) {
			t.Errorf("largest eigenvalue %v, of the landscape %v", sweep.LambdaMax, l.LambdaMax)
		}
		for _, r := range sweep.Rises[:3] {
			if r.Share != 1 {
				t.Errorf("seed %d: %+v", seed, r)
			}
		}
		if sweep.Rises[3].Share == 1 {
			t.Errorf("seed %d: phi never falls at 8 times the bound", seed)
		}
	}
}

func TestRisesRefuses(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	m, s := pixelModel(t, 4, 0.1, 0.5, 0.25), pixelPairs([]byte{1, 2}).Train
	ended, stop := context.WithCancel(ctx)
	stop()
	for name, o := range map[string]RiseOptions{
		"steps":           {Steps: -1},
		"alpha 0":         {Alphas: []float64{0}},
		"alpha NaN":       {Alphas: []float64{math.NaN()}},
		"alpha too large": {Alphas: []float64{1e39}},
		"lambda":          {LambdaMax: math.Inf(1)},
	} {
		if _, err := SweepRises(ctx, e, m, s, o); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	if _, err := SweepRises(ended, e, m, s, RiseOptions{}); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
	if _, err := SweepRises(ctx, e, m, digits(t, 10, 10).Train, RiseOptions{}); err == nil {
		t.Error("images of another size: no error")
	}
	if _, err := SweepRises(ctx, e, m, s.Slice(0, 0), RiseOptions{}); err == nil ||
		!strings.Contains(err.Error(), "of no samples") {
		t.Errorf("no samples: %v", err)
	}
}
