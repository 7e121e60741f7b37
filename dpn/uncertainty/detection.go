package uncertainty

import (
	"fmt"
	"math"
	"slices"
	"sort"

	"dpnbench/internal/stat"

	"gonum.org/v1/gonum/stat/distuv"
)

// Accepted is the TPR, the share of known samples accepted, at which the FPR is measured.
const Accepted = 0.95

const tail = 0.025 // probability beyond each end of an interval

// Detection measures how well a score separates known samples from unknown ones.
type Detection struct {
	Known   int `json:"known"`   // m samples
	Unknown int `json:"unknown"` // n samples

	AUROC   float64    `json:"auroc"`
	AUROCCI [2]float64 `json:"auroc_ci"` // 95% interval

	// FPR is the share of unknown samples with a score of at least Threshold, which is the largest
	// number that at least 95% of the known samples reach.
	FPR       float64    `json:"fpr95"`
	FPRCI     [2]float64 `json:"fpr95_ci"` // 95% interval
	Threshold float64    `json:"-"`
}

// Detect compares the scores of known and unknown samples, in any order. Known samples should have
// higher scores. Scores may be infinite; NaN or an empty slice is an error.
func Detect(known, unknown []float64) (*Detection, error) {
	x, y, err := sorted(known, unknown)
	if err != nil {
		return nil, err
	}
	d := &Detection{Known: len(x), Unknown: len(y)}
	d.auroc(x, y)
	d.fpr(x, y)
	return d, nil
}

// sorted returns sorted copies of both slices.
func sorted(known, unknown []float64) (x, y []float64, err error) {
	for _, s := range []struct {
		name   string
		scores []float64
	}{{"known", known}, {"unknown", unknown}} {
		if len(s.scores) == 0 {
			return nil, nil, fmt.Errorf("uncertainty: no scores of %s samples: expected one or more", s.name)
		}
		if i := slices.IndexFunc(s.scores, math.IsNaN); i >= 0 {
			return nil, nil, fmt.Errorf("uncertainty: score %d of the %s samples is NaN: expected a number", i, s.name)
		}
	}
	return slices.Sorted(slices.Values(known)), slices.Sorted(slices.Values(unknown)), nil
}

// auroc sets AUROC and its interval.
func (d *Detection) auroc(x, y []float64) {
	m, n := len(x), len(y)
	placesX, placesY := places(x, y), places(y, x)
	var u int64 // twice the Mann-Whitney statistic
	for _, p := range placesX {
		u += p
	}
	pairs := 2 * int64(m) * int64(n)
	d.AUROC = float64(u) / float64(pairs)
	worst := math.Pow(tail, 1/float64(min(m, n)))
	d.AUROCCI = [2]float64{worst, 1 - worst}
	if u == 0 || u == pairs { // complete separation
		d.AUROCCI = [2]float64{min(worst, d.AUROC), max(1-worst, d.AUROC)}
		return
	}
	// If all scores are equal, DeLong's variance is 0, too. Of min(m, n) independent pairs all are ties: at least
	// the share worst of all pairs is tied, with 97.5% confidence. Those count half, whatever the others do.
	if x[0] == y[0] && x[m-1] == x[0] && y[n-1] == y[0] {
		d.AUROCCI = [2]float64{worst / 2, 1 - worst/2}
		return
	}
	miss := float64(pairs-u) / float64(pairs) // 1 - AUROC without cancellation
	se := math.Sqrt(variance(placesX, 2*n)/float64(m) + variance(placesY, 2*m)/float64(n))
	logit, half := math.Log(d.AUROC/miss), stat.Normal95*se/(d.AUROC*miss)
	d.AUROCCI = [2]float64{min(worst, logistic(logit-half)), max(1-worst, logistic(logit+half))}
}

// places returns, for each value of a, twice the number of smaller values of b plus the number of
// equal ones. Both are sorted.
func places(a, b []float64) []int64 {
	out := make([]int64, len(a))
	below, upTo := 0, 0
	for i, v := range a {
		for below < len(b) && b[below] < v {
			below++
		}
		for upTo < len(b) && b[upTo] <= v {
			upTo++
		}
		out[i] = int64(below + upTo)
	}
	return out
}

// variance returns the unbiased sample variance of places/scale.
func variance(places []int64, scale int) float64 {
	n := len(places)
	if n < 2 {
		return 0
	}
	var sum int64
	for _, p := range places {
		sum += p
	}
	mean, square := float64(sum)/float64(n), 0.0
	for _, p := range places {
		square += float64((float64(p) - mean) * (float64(p) - mean))
	}
	return square / float64(n-1) / float64(scale) / float64(scale)
}

func logistic(v float64) float64 { return 1 / (1 + math.Exp(-v)) }

// fpr sets Threshold, FPR and its interval.
func (d *Detection) fpr(x, y []float64) {
	m := len(x)
	d.Threshold = x[m-AcceptedOf(m)]
	d.FPR = share(y, d.Threshold)
	below, above := 0.0, 1.0 // FPR at the ends of the threshold's interval
	first, last := quantileRanks(m)
	if first >= 0 {
		above = share(y, x[first])
	}
	if last < m {
		below = share(y, x[last])
	}
	low, high := stat.Wilson(d.FPR, len(y))
	d.FPRCI = [2]float64{
		max(0, d.FPR-math.Hypot(d.FPR-low, d.FPR-below)),
		min(1, d.FPR+math.Hypot(high-d.FPR, above-d.FPR)),
	}
}

// AcceptedOf returns 95% of m samples, rounded up: how many reach the threshold.
func AcceptedOf(m int) int {
	return max(1, int(math.Ceil(float64(Accepted*float64(m))-1e-9))) // the result for 20 is 19 in spite of rounding
}

// BelowThreshold returns the 95% interval of the share of further samples of the same kind that are below the threshold
// of m samples. Their share has a beta distribution, whatever that of the samples. No samples say nothing: 0 to 1.
func BelowThreshold(m int) (lo, hi float64) {
	if m < 1 {
		return 0, 1
	}
	above := AcceptedOf(m)
	share := distuv.Beta{Alpha: float64(m - above + 1), Beta: float64(above)}
	return share.Quantile(tail), share.Quantile(1 - tail)
}

// quantileRanks returns the ranks (from 0) of the two of m known samples that enclose the 5%
// quantile of the distribution with 95% probability; -1 or m if no sample is extreme enough. The
// number of samples below the quantile has a binomial distribution.
func quantileRanks(m int) (first, last int) {
	below := distuv.Binomial{N: float64(m), P: 1 - Accepted}
	first = sort.Search(m, func(c int) bool { return below.CDF(float64(c)) > tail }) - 1
	last = sort.Search(m, func(c int) bool { return below.CDF(float64(c)) >= 1-tail })
	return first, last
}

// share returns the share of the sorted values that are at least v.
func share(sorted []float64, v float64) float64 {
	below, _ := slices.BinarySearch(sorted, v)
	return float64(len(sorted)-below) / float64(len(sorted))
}

// ROCPoint is a point of the ROC curve: the shares accepted at one threshold.
type ROCPoint struct {
	FPR float64 `json:"fpr"` // of the unknown samples
	TPR float64 `json:"tpr"` // of the known samples
}

// ROC returns the curve from (0, 0) to (1, 1), with a point for every distinct score. The area
// below its straight lines is the AUROC. most, if above 1, limits the number of points: points
// closest to their predecessors are left out.
func ROC(known, unknown []float64, most int) ([]ROCPoint, error) {
	x, y, err := sorted(known, unknown)
	if err != nil {
		return nil, err
	}
	curve := []ROCPoint{{}}
	i, j := len(x), len(y)
	for i > 0 || j > 0 {
		v := math.Inf(-1)
		if i > 0 {
			v = x[i-1]
		}
		if j > 0 {
			v = max(v, y[j-1])
		}
		for i > 0 && x[i-1] == v {
			i--
		}
		for j > 0 && y[j-1] == v {
			j--
		}
		curve = append(curve, ROCPoint{float64(len(y)-j) / float64(len(y)), float64(len(x)-i) / float64(len(x))})
	}
	if most < 2 || len(curve) <= most {
		return curve, nil
	}
	// The steps along both axes add up to 2; keep a point whenever they have grown by a fixed share
	// of that.
	thin, step := curve[:1], 2/float64(most-2)
	for _, p := range curve[1:] {
		last := thin[len(thin)-1]
		if p.FPR-last.FPR+p.TPR-last.TPR >= step {
			thin = append(thin, p)
		}
	}
	if end := (ROCPoint{1, 1}); thin[len(thin)-1] != end {
		thin = append(thin, end)
	}
	return thin, nil
}
