package uncertainty

import (
	"errors"
	"fmt"
	"math"

	"dpnbench/internal/linalg"
	"dpnbench/internal/stat"
)

// Bins is the number of bins of confidence.
const Bins = 15

// mostBins is the largest number of bins, which take memory also if they are empty.
const mostBins = 1_000_000

// Logits are the outputs of a classifier with the true classes.
type Logits struct {
	X       []float32 // n x Classes, row after row
	Classes int       // at least 2
	Labels  []uint16  // n
}

// check returns an error of one line if the logits are unusable.
func (l Logits) check() error {
	switch {
	case l.Classes < 2:
		return fmt.Errorf("uncertainty: logits of %d classes: expected 2 or more", l.Classes)
	case len(l.Labels) == 0:
		return errors.New("uncertainty: no logits: expected one row or more")
	case len(l.X) != len(l.Labels)*l.Classes:
		return fmt.Errorf("uncertainty: %d logits for %d labels: expected %d for each", len(l.X), len(l.Labels),
			l.Classes)
	}
	for i, y := range l.Labels {
		if int(y) >= l.Classes {
			return fmt.Errorf("uncertainty: label %d of row %d: expected 0 to %d", y, i, l.Classes-1)
		}
	}
	for i, v := range l.X {
		if !linalg.IsFinite(v) {
			return fmt.Errorf("uncertainty: logit at row %d, column %d is %v: every logit must be finite",
				i/l.Classes, i%l.Classes, v)
		}
	}
	return nil
}

func (l Logits) row(i int) []float32 { return l.X[i*l.Classes : (i+1)*l.Classes] }

// Bin summarises the samples in a range of confidence.
type Bin struct {
	Samples    int        `json:"samples"`
	Confidence float64    `json:"confidence"` // mean
	Accuracy   float64    `json:"accuracy"`
	AccuracyCI [2]float64 `json:"accuracy_ci"` // Wilson's 95% interval
}

// Calibration measures how well confidence and accuracy agree.
type Calibration struct {
	Samples     int     `json:"samples"`
	Temperature float64 `json:"temperature"` // divisor of the logits
	NLL         float64 `json:"nll"`         // mean negative log-likelihood, nats
	Accuracy    float64 `json:"accuracy"`
	Confidence  float64 `json:"confidence"` // mean largest softmax

	ECE          float64 `json:"ece"` // over bins of equal width
	ECEChance    float64 `json:"ece_chance"`
	ECEEqualMass float64 `json:"ece_equal_mass"` // over bins of equally many samples
	Reliability  []Bin   `json:"reliability"`    // the bins of equal width that are not empty
}

// Calibrate measures the calibration of the softmax of the logits divided by a temperature (1:
// unscaled).
func Calibrate(l Logits, temperature float64) (*Calibration, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	if !(temperature > 0) || math.IsInf(temperature, 0) {
		return nil, fmt.Errorf("uncertainty: temperature %v: expected a finite number above 0", temperature)
	}
	n := len(l.Labels)
	c := &Calibration{Samples: n, Temperature: temperature}
	confidence, correct := make([]float64, n), make([]bool, n)
	for i, y := range l.Labels {
		s := newSoftmax(l.row(i), int(y), 1/temperature)
		confidence[i], correct[i] = 1/s.sum, s.right
		c.NLL += s.loss / float64(n)
		c.Confidence += confidence[i] / float64(n)
	}
	var err error
	if c.Reliability, err = EqualWidth(confidence, correct, Bins); err != nil {
		return nil, err
	}
	mass, err := EqualMass(confidence, correct, Bins)
	if err != nil {
		return nil, err
	}
	right := 0
	for _, ok := range correct {
		if ok {
			right++
		}
	}
	c.Accuracy = float64(right) / float64(n)
	c.ECE, c.ECEEqualMass = Gap(c.Reliability), Gap(mass)
	c.ECEChance = chance(c.Reliability)
	return c, nil
}

// softmax holds the softmax of one row of logits at inverse temperature beta, and the derivatives
// of its loss.
type softmax struct {
	sum   float64 // of exp(beta (x_j - x_top)); 1/sum is the largest probability
	loss  float64 // negative log-likelihood of the label
	slope float64 // derivative of the loss by beta
	curve float64 // second derivative of the loss by beta
	right bool    // the label is the index of the (first) largest logit
}

func newSoftmax(x []float32, label int, beta float64) softmax {
	top := 0
	for j, v := range x {
		if v > x[top] {
			top = j
		}
	}
	var s softmax
	var mean, square float64 // of the distances to the top, times sum
	for _, v := range x {
		d := float64(v) - float64(x[top])
		p := math.Exp(float64(beta * d))
		s.sum += p
		mean += float64(p * d)
		square += float64(float64(p*d) * d)
	}
	mean, square = mean/s.sum, square/s.sum
	d := float64(x[label]) - float64(x[top])
	s.loss = math.Log(s.sum) - float64(beta*d)
	s.slope = mean - d
	s.curve = max(0, square-float64(mean*mean))
	s.right = label == top
	return s
}

// EqualWidth returns the non-empty bins ((b-1)/bins, b/bins] of confidence, in increasing order.
// Confidences must lie between 0 and 1.
func EqualWidth(confidence []float64, correct []bool, bins int) ([]Bin, error) {
	if err := checkConfidence(confidence, correct, bins); err != nil {
		return nil, err
	}
	all := make([]tally, bins)
	for i, c := range confidence {
		all[min(max(int(math.Ceil(c*float64(bins)))-1, 0), bins-1)].add(c, correct[i])
	}
	return filled(all), nil
}

// EqualMass returns bins with about the same number of samples, in increasing order of confidence.
// Equal confidences share a bin, so there may be fewer bins.
func EqualMass(confidence []float64, correct []bool, bins int) ([]Bin, error) {
	if err := checkConfidence(confidence, correct, bins); err != nil {
		return nil, err
	}
	n := len(confidence)
	order := stat.Order(n, func(a, b int) bool { return confidence[a] < confidence[b] })
	all := make([]tally, bins)
	bin := 0
	for k, i := range order {
		if k > 0 && confidence[i] != confidence[order[k-1]] {
			bin = int(int64(k) * int64(bins) / int64(n))
		}
		all[bin].add(confidence[i], correct[i])
	}
	return filled(all), nil
}

func checkConfidence(confidence []float64, correct []bool, bins int) error {
	switch {
	case bins < 1 || bins > mostBins:
		return fmt.Errorf("uncertainty: %d bins: expected 1 to %d", bins, mostBins)
	case len(confidence) == 0:
		return errors.New("uncertainty: no confidences: expected one or more")
	case len(confidence) != len(correct):
		return fmt.Errorf("uncertainty: %d confidences for %d answers", len(confidence), len(correct))
	}
	for i, c := range confidence {
		if !(c >= 0 && c <= 1) {
			return fmt.Errorf("uncertainty: confidence %d is %v: expected 0 to 1", i, c)
		}
	}
	return nil
}

// tally accumulates the samples of a bin.
type tally struct {
	n, right int
	sum      float64
}

func (t *tally) add(confidence float64, correct bool) {
	t.n++
	t.sum += confidence
	if correct {
		t.right++
	}
}

func filled(all []tally) []Bin {
	var out []Bin
	for _, t := range all {
		if t.n == 0 {
			continue
		}
		b := Bin{Samples: t.n, Confidence: t.sum / float64(t.n), Accuracy: float64(t.right) / float64(t.n)}
		b.AccuracyCI[0], b.AccuracyCI[1] = stat.Wilson(b.Accuracy, t.n)
		out = append(out, b)
	}
	return out
}

// Gap returns the expected calibration error: the mean of |accuracy - confidence| over bins,
// weighted by their number of samples.
func Gap(bins []Bin) float64 {
	sum, n := 0.0, 0
	for _, b := range bins {
		sum += float64(float64(b.Samples) * math.Abs(b.Accuracy-b.Confidence))
		n += b.Samples
	}
	return sum / float64(n)
}

// chance returns the approximate Gap of a perfectly calibrated classifier: the mean of |N(0, c
// (1-c) / samples)| over bins of confidence c.
func chance(bins []Bin) float64 {
	sum, n := 0.0, 0
	for _, b := range bins {
		sum += math.Sqrt(float64(b.Samples) * 2 / math.Pi * b.Confidence * (1 - b.Confidence))
		n += b.Samples
	}
	return sum / float64(n)
}

// The bounds of the search for a temperature.
const (
	leastTemperature = 1e-3
	mostTemperature  = 1e3
)

// Temperature is a fitted divisor of logits.
type Temperature struct {
	T          float64 `json:"temperature"`
	Samples    int     `json:"samples"`  // used for the fit
	AtBound    bool    `json:"at_bound"` // the best T lies outside of 0.001 to 1000; T is the nearest of the two
	Iterations int     `json:"iterations"`
}

// FitTemperature returns the temperature with the least negative log-likelihood (Guo et al., 2017).
// The likelihood is concave in beta = 1/T, so its slope has at most one zero. It is found by
// Newton's method within a bracket, with bisection on a logarithmic scale if a step would leave the
// bracket. If all samples are classified correctly, the likelihood grows as T falls, and T is the
// lower bound.
func FitTemperature(l Logits) (*Temperature, error) {
	if err := l.check(); err != nil {
		return nil, err
	}
	derivatives := func(beta float64) (slope, curve float64) {
		for i, y := range l.Labels {
			s := newSoftmax(l.row(i), int(y), beta)
			slope += s.slope
			curve += s.curve
		}
		return slope, curve
	}
	t := &Temperature{Samples: len(l.Labels)}
	low, high := 1/mostTemperature, 1/leastTemperature
	if slope, _ := derivatives(low); slope >= 0 {
		t.T, t.AtBound = mostTemperature, true
		return t, nil
	}
	if slope, _ := derivatives(high); slope <= 0 {
		t.T, t.AtBound = leastTemperature, true
		return t, nil
	}
	beta := 1.0
	for t.Iterations < 200 && high/low > 1+1e-12 {
		t.Iterations++
		slope, curve := derivatives(beta)
		if slope < 0 {
			low = beta
		} else {
			high = beta
		}
		next := beta - slope/curve
		if !(next > low && next < high) {
			next = math.Sqrt(low * high)
		}
		if math.Abs(next-beta) <= 1e-13*beta {
			break
		}
		beta = next
	}
	t.T = 1 / beta
	return t, nil
}
