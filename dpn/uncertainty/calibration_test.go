package uncertainty

import (
	"math"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// calibrated draws logits and labels. The softmax of the logits divided by a temperature is the
// true distribution of the labels.
func calibrated(seed uint64, n, classes int, temperature float64) Logits {
	r := rand.New(rand.NewPCG(seed, 1))
	l := Logits{Classes: classes}
	p := make([]float64, classes)
	for range n {
		sum := 0.0
		for j := range p {
			v := float32(3 * temperature * r.NormFloat64())
			l.X = append(l.X, v)
			p[j] = math.Exp(float64(v) / temperature)
			sum += p[j]
		}
		u, label := r.Float64()*sum, 0
		for ; label < classes-1 && u >= p[label]; label++ {
			u -= p[label]
		}
		l.Labels = append(l.Labels, uint16(label))
	}
	return l
}

func calibrate(t *testing.T, l Logits, temperature float64) *Calibration {
	t.Helper()
	c, err := Calibrate(l, temperature)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// The ECE of correct probabilities tends to 0 with n, about as fast as ECEChance.
func TestCalibrateTrue(t *testing.T) {
	for _, n := range []int{1000, 16_000, 64_000} {
		c := calibrate(t, calibrated(1, n, 5, 1), 1)
		if !(c.ECE > c.ECEChance/3 && c.ECE < 2*c.ECEChance) || c.ECEEqualMass > 3*c.ECEChance ||
			!(c.ECEChance <= 1.5/math.Sqrt(float64(n))) {
			t.Errorf("%d samples: ECE %v, by equal mass %v, by chance %v", n, c.ECE, c.ECEEqualMass, c.ECEChance)
		}
		if !(math.Abs(c.Accuracy-c.Confidence) <= 2/math.Sqrt(float64(n))) {
			t.Errorf("%d samples: accuracy %v, confidence %v", n, c.Accuracy, c.Confidence)
		}
	}
}

// FitTemperature finds a known temperature. Dividing by it reduces the ECE to chance and changes no
// prediction, and neighbouring temperatures have a larger negative log-likelihood.
func TestTemperature(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation, and the same on every machine up to rounding")
	}
	for _, want := range []float64{0.2, 0.9, 1, 3, 40} {
		l := calibrated(2, 20_000, 4, want)
		f, err := FitTemperature(l)
		if err != nil {
			t.Fatal(err)
		}
		if !(math.Abs(f.T/want-1) <= 0.05) || f.AtBound || f.Samples != 20_000 || f.Iterations > 60 {
			t.Errorf("T %v: %+v", want, f)
		}
		before, after := calibrate(t, l, 1), calibrate(t, l, f.T)
		if before.Accuracy != after.Accuracy || !(after.ECE <= 0.015) ||
			!(math.Abs(math.Log(want)) <= 0.2) && before.ECE < 2*after.ECE {
			t.Errorf("T %v: ECE %v before, %v after; accuracy %v and %v", want, before.ECE, after.ECE,
				before.Accuracy, after.Accuracy)
		}
		for _, factor := range []float64{0.99, 1.01} {
			if other := calibrate(t, l, factor*f.T); other.NLL <= after.NLL {
				t.Errorf("T %v has the likelihood %v, %v has %v", factor*f.T, other.NLL, f.T, after.NLL)
			}
		}
		// Dividing all logits by 4 divides the temperature, and nothing else changes.
		small := Logits{Classes: l.Classes, Labels: l.Labels}
		for _, v := range l.X {
			small.X = append(small.X, v/4)
		}
		if g, err := FitTemperature(small); err != nil || !(math.Abs(4*g.T/f.T-1) <= 1e-9) {
			t.Errorf("logits divided by 4 have T %v, the others %v, %v", g.T, f.T, err)
		}
	}
}

// There is no best temperature if all predictions are right or all are wrong.
func TestTemperatureBounds(t *testing.T) {
	l := Logits{X: []float32{1, 0, 0, 2}, Classes: 2, Labels: []uint16{0, 1}}
	if f, err := FitTemperature(l); err != nil || f.T != leastTemperature || !f.AtBound {
		t.Errorf("all right: %+v, %v", f, err)
	}
	l.Labels = []uint16{1, 0}
	if f, err := FitTemperature(l); err != nil || f.T != mostTemperature || !f.AtBound {
		t.Errorf("all wrong: %+v, %v", f, err)
	}
	l.X = make([]float32, 4) // the likelihood does not depend on the temperature
	if f, err := FitTemperature(l); err != nil || !f.AtBound {
		t.Errorf("all equal: %+v, %v", f, err)
	}
}

// Slope and curvature agree with finite differences of the loss.
func TestSoftmaxDerivatives(t *testing.T) {
	x := []float32{0.3, -2, 1.7, 1.2}
	const h = 1e-5
	for label := range x {
		for _, beta := range []float64{0.1, 1, 5} {
			s, low, high := newSoftmax(x, label, beta), newSoftmax(x, label, beta-h), newSoftmax(x, label, beta+h)
			if slope := (high.loss - low.loss) / (2 * h); !(math.Abs(slope-s.slope) <= 1e-8) {
				t.Errorf("label %d, beta %v: slope %v, want %v", label, beta, s.slope, slope)
			}
			if curve := (high.slope - low.slope) / (2 * h); !(math.Abs(curve-s.curve) <= 1e-8) {
				t.Errorf("label %d, beta %v: curvature %v, want %v", label, beta, s.curve, curve)
			}
		}
	}
}

// Large logits do not overflow, and small losses keep their precision.
func TestCalibrateLarge(t *testing.T) {
	c := calibrate(t, Logits{X: []float32{1e30, -1e30, 0, 1000}, Classes: 2, Labels: []uint16{0, 0}}, 1)
	if c.NLL != 500 || c.Accuracy != 0.5 || c.Confidence != 1 || c.ECE != 0.5 {
		t.Errorf("%+v", c)
	}
}

func TestBins(t *testing.T) {
	confidence := []float64{0, 0.2, 0.2000001, 0.4, 0.9, 1, 1}
	correct := []bool{false, true, false, true, true, true, false}
	wide, err := EqualWidth(confidence, correct, 5)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := counts(wide), []int{2, 2, 3}; !reflect.DeepEqual(got, want) {
		t.Errorf("equal width: %v, want %v", got, want)
	}
	if !(math.Abs(wide[2].Accuracy-2./3) <= 1e-15) || !(math.Abs(wide[2].Confidence-2.9/3) <= 1e-15) ||
		!(math.Abs(Gap(wide)-(0.8+0.4+0.9)/7) <= 1e-6) {
		t.Errorf("%+v, gap %v", wide, Gap(wide))
	}
	mass, err := EqualMass([]float64{0.5, 0.7, 0.5, 0.5, 0.9, 0.5, 0.6, 0.8}, make([]bool, 8), 4)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := counts(mass), []int{4, 2, 2}; !reflect.DeepEqual(got, want) {
		t.Errorf("equal mass: %v, want %v", got, want)
	}
	for _, bins := range []int{1, 7} { // with one bin, both kinds are the same
		a, err := EqualWidth(confidence, correct, bins)
		if err != nil {
			t.Fatal(err)
		}
		b, err := EqualMass(confidence, correct, bins)
		if err != nil || bins == 1 && !reflect.DeepEqual(a, b) {
			t.Errorf("%d bins: %+v and %+v, %v", bins, a, b, err)
		}
	}
}

// TestCalibrateByHand measures 8 samples. Of equal width are 4 bins of 2 samples, of equal mass one for each
// confidence.
func TestCalibrateByHand(t *testing.T) {
	l := Logits{Classes: 2, Labels: []uint16{0, 1, 0, 1, 0, 0, 0, 1}}
	for _, p := range []float64{0.55, 0.58, 0.7, 0.7, 0.82, 0.85, 0.95, 0.97} { // of class 0
		l.X = append(l.X, float32(math.Log(p/(1-p))), 0)
	}
	c := calibrate(t, l, 1)
	for _, m := range []struct {
		what      string
		got, want float64
	}{
		{"confidence", c.Confidence, 6.12 / 8},
		{"accuracy", c.Accuracy, 5. / 8},
		{"ECE", c.ECE, 2 * (0.065 + 0.2 + 0.165 + 0.46) / 8},
		{"ECE by equal mass", c.ECEEqualMass, (0.45 + 0.58 + 2*0.2 + 0.18 + 0.15 + 0.05 + 0.97) / 8},
		// The sum of sqrt(2 * 2/pi * c (1-c)) over the mean confidences 0.565, 0.7, 0.835 and 0.96.
		{"ECE by chance", c.ECEChance, 1.716439 / 8},
	} {
		if !(math.Abs(m.got-m.want) <= 1e-6) {
			t.Errorf("%s: %v, want %v", m.what, m.got, m.want)
		}
	}
}

func counts(bins []Bin) (n []int) {
	for _, b := range bins {
		n = append(n, b.Samples)
	}
	return n
}

func TestCalibrationRefuses(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		l    Logits
		want string
	}{
		{Logits{X: []float32{1}, Classes: 1, Labels: []uint16{0}}, "1 classes: expected 2 or more"},
		{Logits{Classes: 2}, "no logits"},
		{Logits{X: []float32{1, 2, 3}, Classes: 2, Labels: []uint16{0}}, "3 logits for 1 labels"},
		{Logits{X: []float32{1, 2}, Classes: 2, Labels: []uint16{2}}, "label 2 of row 0"},
		{Logits{X: []float32{1, 2, 3, inf}, Classes: 2, Labels: []uint16{0, 1}}, "row 1, column 1 is +Inf"},
		{Logits{X: []float32{1, float32(math.NaN())}, Classes: 2, Labels: []uint16{0}}, "row 0, column 1 is NaN"},
	} {
		if _, err := Calibrate(c.l, 1); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("Calibrate: %v, want %q", err, c.want)
		}
		if _, err := FitTemperature(c.l); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("FitTemperature: %v, want %q", err, c.want)
		}
	}
	good := Logits{X: []float32{1, 2}, Classes: 2, Labels: []uint16{0}}
	for _, v := range []float64{0, -1, math.NaN(), math.Inf(1)} {
		if _, err := Calibrate(good, v); err == nil || !strings.Contains(err.Error(), "temperature") {
			t.Errorf("temperature %v: %v", v, err)
		}
	}
	for _, c := range []struct {
		confidence []float64
		correct    []bool
		bins       int
		want       string
	}{
		{[]float64{0.5}, []bool{true}, 0, "0 bins"},
		{[]float64{0.5}, []bool{true}, 1_000_001, "1000001 bins: expected 1 to 1000000"},
		{[]float64{0.5, 0.6}, []bool{true, true}, math.MaxInt, " bins: expected 1 to 1000000"},
		{nil, nil, 5, "no confidences"},
		{[]float64{0.5}, nil, 5, "1 confidences for 0 answers"},
		{[]float64{1.5}, []bool{true}, 5, "confidence 0 is 1.5"},
		{[]float64{math.NaN()}, []bool{true}, 5, "confidence 0 is NaN"},
	} {
		for _, bin := range []func([]float64, []bool, int) ([]Bin, error){EqualWidth, EqualMass} {
			if _, err := bin(c.confidence, c.correct, c.bins); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		}
	}
}
