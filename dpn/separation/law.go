package separation

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// lawConfidence is the confidence level of the intervals of a Law.
const lawConfidence = 0.95

// Law is a fit of the law of equi-separation, D_l ~ rho^l D_0: a least-squares line through log D_l
// at l = 0, 1, 2, ...
type Law struct {
	// Rho is the factor by which D changes from one layer to the next.
	Rho float64 `json:"rho"`
	// RhoCI is the 95% confidence interval of Rho (Student's t with Points-2 degrees of freedom for
	// the slope, then exp), or nil (null) for two points. The upper end may overflow to +Inf for
	// three points far from a line. The interval assumes independent residuals of equal variance.
	// Those of the layers of one network are neither, so interpret it together with the residuals.
	RhoCI []Float `json:"rho_ci"`
	// Pearson is the correlation of log D with l; NaN (null) if D is constant. It can be near -1
	// for a convex curve, too.
	Pearson Float `json:"pearson"`
	// Layers are the names of the layers fitted, in order.
	Layers []string `json:"layers"`
	// D0 is the value of the fitted line at l = 0.
	D0 float64 `json:"d0"`
	// Points is the number of layers fitted.
	Points int `json:"points"`
	// Residuals are log D_l minus the fitted line (natural logarithm).
	Residuals []float64 `json:"residuals"`
	// ResidualStd is their standard deviation, with Points-2 degrees of freedom
	// (0 for two points).
	ResidualStd float64 `json:"residual_std"`
	// Confidence is the level of the intervals.
	Confidence float64 `json:"confidence"`
	// Curvature tests whether the points bend away from a line; nil (null) for fewer than four points.
	Curvature *Curvature `json:"curvature"`
}

// Curvature tests a parabola against the line of a Law: a least-squares fit of log D_l on 1, l and
// l^2. A curve that flattens out or turns can have a Pearson coefficient beyond 0.98 in magnitude,
// so that coefficient alone does not show it.
type Curvature struct {
	// Quadratic is the coefficient of l^2, and CI its confidence interval (Student's t
	// with Points-3 degrees of freedom).
	Quadratic float64 `json:"quadratic"`
	CI        []Float `json:"ci"`
	// P is the probability of a coefficient at least as far from zero if the points lie on a line
	// with independent normal residuals (the p-value).
	P Float `json:"p"`
	// Bend is the largest distance of the parabola from the chord between its ends, as a share of
	// their difference in height, at most 1. It measures the size of the effect: with tiny
	// residuals any curvature is significant.
	Bend float64 `json:"bend"`
}

// The shapes of a Law.
const (
	Straight = "straight" // no significant bend
	Convex   = "convex"   // log D falls more and more slowly, or turns upwards
	Concave  = "concave"
	Untested = "untested" // fewer than four points
)

// Shape classifies the points. They are curved if P is below 5% and Bend is above 0.1.
func (w Law) Shape() string {
	switch c := w.Curvature; {
	case c == nil:
		return Untested
	case !(c.P < 1-lawConfidence) || c.Bend <= 0.1:
		return Straight
	case c.Quadratic > 0:
		return Convex
	default:
		return Concave
	}
}

// Follows reports whether the points follow the law of equi-separation: D falls (the
// interval of rho lies below 1) on a line (Pearson's coefficient at or below -0.95, and
// no curvature).
func (w Law) Follows() bool {
	return len(w.RhoCI) == 2 && w.RhoCI[1] < 1 && w.Pearson <= -0.95 && w.Shape() != Convex && w.Shape() != Concave
}

// Band returns the confidence interval of the fitted line at layer l, pointwise; both ends
// are At(l) for two points.
func (w Law) Band(l float64) (low, high float64) {
	if w.Points < 3 {
		return w.At(l), w.At(l)
	}
	n := float64(w.Points)
	sxx := n * (n*n - 1) / 12 // of 0 .. n-1 about their mean
	t := distuv.StudentsT{Sigma: 1, Nu: n - 2}.Quantile(0.5 + lawConfidence/2)
	middle := (n - 1) / 2
	half := math.Exp(t * w.ResidualStd * math.Sqrt(1/n+(l-middle)*(l-middle)/sxx))
	return w.At(l) / half, w.At(l) * half
}

// At returns the value of the fitted line at layer l, as D.
func (w Law) At(l float64) float64 { return w.D0 * math.Pow(w.Rho, l) }

// FitLaw fits the law to the fuzziness d of successive layers, d[0] being the
// first. The caller chooses the layers: He and Su leave the logits out. It needs
// at least two (three for an interval), every d positive and finite.
func FitLaw(layers []string, d []float64) (Law, error) {
	if len(layers) != len(d) {
		return Law{}, fmt.Errorf("separation: law: %d layer names for %d values of D", len(layers), len(d))
	}
	n := len(d)
	if n < 2 {
		return Law{}, fmt.Errorf("separation: law: %d layers: at least 2 are needed to fit a line, 3 for an interval",
			n)
	}
	logs := make([]float64, n)
	for l, v := range d {
		if !(v > 0) || math.IsInf(v, 0) {
			return Law{}, fmt.Errorf("separation: law: D of layer %d (%s) is %v: log D needs it positive and finite",
				l, layers[l], v)
		}
		logs[l] = math.Log(v)
	}

	f := fitLine(logs)
	law := Law{
		Rho:         math.Exp(f.slope),
		D0:          math.Exp(f.intercept),
		Pearson:     f.pearson,
		Layers:      append([]string(nil), layers...),
		Points:      n,
		Residuals:   f.residuals,
		ResidualStd: f.std,
		Confidence:  lawConfidence,
	}
	if n > 2 {
		law.RhoCI = []Float{Float(math.Exp(f.slope - f.half)), Float(math.Exp(f.slope + f.half))}
	}
	if n >= 4 {
		law.Curvature = curvature(f.residuals, f.slope)
	}
	return law, nil
}

// Line is a least-squares line through a statistic y_l of the layers l = 0, 1, 2, ...
type Line struct {
	// Slope is the change of y from one layer to the next, with its 95% interval under the assumptions
	// of Law.RhoCI; nil (null) for two points. Intercept is the value of the line at l = 0.
	Slope     float64 `json:"slope"`
	SlopeCI   []Float `json:"slope_ci"`
	Intercept float64 `json:"intercept"`
	// Pearson, Layers, Points, Residuals and Curvature are as those of a Law.
	Pearson   Float      `json:"pearson"`
	Layers    []string   `json:"layers"`
	Points    int        `json:"points"`
	Residuals []float64  `json:"residuals"`
	Curvature *Curvature `json:"curvature"`
}

// FitLine fits a line to the values y of successive layers, at least two and all finite.
func FitLine(layers []string, y []float64) (Line, error) {
	if n := len(y); n < 2 || len(layers) != n {
		return Line{}, fmt.Errorf("separation: line: %d layer names for %d values: at least 2 are needed",
			len(layers), n)
	}
	for l, v := range y {
		if !Float(v).IsFinite() {
			return Line{}, fmt.Errorf("separation: line: the value of layer %d (%s) is %v: it must be finite", l,
				layers[l], v)
		}
	}
	f := fitLine(y)
	line := Line{Slope: f.slope, Intercept: f.intercept, Pearson: f.pearson, Layers: append([]string(nil), layers...),
		Points: len(y), Residuals: f.residuals}
	if len(y) > 2 {
		line.SlopeCI = []Float{Float(f.slope - f.half), Float(f.slope + f.half)}
	}
	if len(y) >= 4 {
		line.Curvature = curvature(f.residuals, f.slope)
	}
	return line, nil
}

// line is a least-squares line through y_0, y_1, ...
type line struct {
	slope, intercept float64
	pearson          Float
	residuals        []float64
	std              float64 // of the residuals; 0 for two points
	half             float64 // half of the confidence interval of the slope
}

func fitLine(y []float64) line {
	// Centred sums; the layer index is centred exactly.
	n := len(y)
	var mean float64
	for _, v := range y {
		mean += v
	}
	mean /= float64(n)
	if slices.Min(y) == slices.Max(y) { // of which the mean may be off by a rounding
		mean = y[0]
	}
	middle := float64(n-1) / 2
	var sxx, sxy, syy float64
	for l, v := range y {
		x, y := float64(l)-middle, v-mean
		sxx += float64(x * x)
		sxy += float64(x * y)
		syy += float64(y * y)
	}
	f := line{slope: sxy / sxx, pearson: Float(math.NaN()), residuals: make([]float64, n)}
	f.intercept = mean - float64(f.slope*middle)
	if syy > 0 {
		r := sxy / math.Sqrt(float64(sxx*syy))
		f.pearson = Float(min(max(r, -1), 1))
	}
	if n == 2 {
		return f // passes through both points exactly
	}
	var sse float64
	for l, v := range y {
		e := (v - mean) - float64(f.slope*(float64(l)-middle))
		f.residuals[l] = e
		sse += float64(e * e)
	}
	freedom := float64(n - 2)
	f.std = math.Sqrt(sse / freedom)
	t := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.5 + lawConfidence/2)
	f.half = t * f.std / math.Sqrt(sxx)
	return f
}

// curvature fits a parabola to the residuals of the line with the given slope. Its quadratic
// polynomial is orthogonal to 1 and l, so the line does not change.
func curvature(residuals []float64, slope float64) *Curvature {
	n := len(residuals)
	middle := float64(n-1) / 2
	constant := float64(n*n-1) / 12 // the mean of (l - middle)^2
	polynomial := func(l int) float64 {
		x := float64(l) - middle
		return float64(x*x) - constant
	}
	var spp, spy float64
	for l, e := range residuals {
		p := polynomial(l)
		spp += float64(p * p)
		spy += float64(p * e)
	}
	q := spy / spp
	var sse float64
	for l, e := range residuals {
		r := e - float64(q*polynomial(l))
		sse += float64(r * r)
	}
	c := &Curvature{Quadratic: q, P: 1}
	student := distuv.StudentsT{Sigma: 1, Nu: float64(n - 3)}
	std := math.Sqrt(sse / float64(n-3) / spp)
	half := student.Quantile(0.5+lawConfidence/2) * std
	c.CI = []Float{Float(q - half), Float(q + half)}
	if q != 0 {
		c.P = Float(2 * student.Survival(math.Abs(q)/std))
	}
	// The distance between parabola and chord in the middle is |q| ((n-1)/2)^2. Below 1e-9 it is a
	// rounding error.
	if sag := math.Abs(q) * middle * middle; sag > 1e-9 {
		c.Bend = min(1, sag/math.Abs(slope*float64(n-1)))
	}
	return c
}
