package separation

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// lawConfidence is the confidence level of Law.RhoCI.
const lawConfidence = 0.95

// Law is the law of equi-separation, D_l ~ rho^l D_0, fitted by least squares of
// log D_l on l = 0, 1, 2, ...
type Law struct {
	// Rho is the factor by which D changes from one layer to the next.
	Rho float64 `json:"rho"`
	// RhoCI is the 95% confidence interval of Rho (Student's t with Points-2
	// degrees of freedom for the slope, then exp), or nil (null) for two points.
	// The upper end may overflow to +Inf for three wild ones. It rests on
	// residuals that are independent and of equal size, which those of the layers
	// of one network are not: read it with the residuals.
	RhoCI []Float `json:"rho_ci"`
	// Pearson is the correlation of log D with l; NaN (null) if D is constant.
	// A convex curve can have one near -1 as well.
	Pearson Float `json:"pearson"`
	// Layers are the names of the layers fitted, in order.
	Layers []string `json:"layers"`
	// D0 is the fitted (not the measured) value at l = 0.
	D0 float64 `json:"d0"`
	// Points is the number of layers fitted.
	Points int `json:"points"`
	// Residuals are log D_l minus the fitted line (natural logarithm).
	Residuals []float64 `json:"residuals"`
	// ResidualStd is their standard deviation, with Points-2 degrees of freedom
	// (0 for two points).
	ResidualStd float64 `json:"residual_std"`
	// Confidence is the level of RhoCI.
	Confidence float64 `json:"confidence"`
}

// At returns the fitted D at layer l.
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
		return Law{}, fmt.Errorf("separation: law: %d layers: at least 2 are needed to fit a line, 3 for an interval", n)
	}
	logs := make([]float64, n)
	for l, v := range d {
		if !(v > 0) || math.IsInf(v, 0) {
			return Law{}, fmt.Errorf("separation: law: D of layer %d (%s) is %v: log D needs it positive and finite", l, layers[l], v)
		}
		logs[l] = math.Log(v)
	}

	// Centred sums; the layer index is centred exactly.
	var meanLog float64
	for _, v := range logs {
		meanLog += v
	}
	meanLog /= float64(n)
	middle := float64(n-1) / 2
	var sxx, sxy, syy float64
	for l, v := range logs {
		x, y := float64(l)-middle, v-meanLog
		sxx += float64(x * x)
		sxy += float64(x * y)
		syy += float64(y * y)
	}
	slope := sxy / sxx
	intercept := meanLog - float64(slope*middle)

	law := Law{
		Rho:        math.Exp(slope),
		D0:         math.Exp(intercept),
		Pearson:    Float(math.NaN()),
		Layers:     append([]string(nil), layers...),
		Points:     n,
		Residuals:  make([]float64, n),
		Confidence: lawConfidence,
	}
	if syy > 0 {
		r := sxy / math.Sqrt(float64(sxx*syy))
		law.Pearson = Float(min(max(r, -1), 1))
	}
	var sse float64
	for l, v := range logs {
		e := (v - meanLog) - float64(slope*(float64(l)-middle))
		law.Residuals[l] = e
		sse += float64(e * e)
	}
	if n == 2 {
		// Two points lie on their line; what is left is rounding.
		law.Residuals = make([]float64, 2)
		return law, nil
	}
	freedom := float64(n - 2)
	law.ResidualStd = math.Sqrt(sse / freedom)
	t := distuv.StudentsT{Sigma: 1, Nu: freedom}.Quantile(0.5 + lawConfidence/2)
	half := t * law.ResidualStd / math.Sqrt(sxx)
	law.RhoCI = []Float{Float(math.Exp(slope - half)), Float(math.Exp(slope + half))}
	return law, nil
}
