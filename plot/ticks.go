package plot

import (
	"math"
	"regexp"

	"dpnbench/internal/axes"
	"dpnbench/internal/format"
)

// linearTicks returns labelled ticks at the multiples of a round step (1, 2 or
// 5 times a power of ten), about count of them.
func linearTicks(lo, hi float64, count int, whole bool) []axes.Tick {
	step := roundStep((hi - lo) / float64(count))
	if whole {
		step = math.Ceil(step)
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []axes.Tick
	first := math.Ceil(lo/step - 1e-9)
	for i := range int((hi-lo)/step) + 2 {
		if v := (first + float64(i)) * step; v <= hi+1e-9*step {
			ticks = append(ticks, axes.Tick{Value: v, Label: format.Number(v, decimals)})
		}
	}
	return ticks
}

// roundStep returns 1, 2 or 5 times a power of ten, at least about v.
func roundStep(v float64) float64 {
	if !(v > 0) {
		return 1
	}
	power := math.Pow(10, math.Floor(math.Log10(v)))
	for _, m := range []float64{1, 2, 5} {
		if v <= m*power*(1+1e-9) {
			return m * power
		}
	}
	return 10 * power
}

// exponent is a negative one, with the zero that Go writes before a single digit.
var exponent = regexp.MustCompile(`e-0*(\d+)$`)

// logTicks returns ticks for a logarithmic axis from lo to hi, both positive:
// round numbers if the range is short, otherwise 1, 2 and 5 of each decade, or
// powers of ten if it is long.
func logTicks(lo, hi float64) []axes.Tick {
	if hi/lo < 4 {
		return linearTicks(lo, hi, 9, false)
	}
	lo, hi = max(lo, math.SmallestNonzeroFloat64), min(hi, math.MaxFloat64) // margins may be beyond
	labelled := map[int]bool{1: true}
	decades := math.Log10(hi / lo)
	every := 1
	switch {
	case decades < 1.3:
		labelled = map[int]bool{1: true, 2: true, 3: true, 5: true, 7: true}
	case decades < 3:
		labelled = map[int]bool{1: true, 2: true, 5: true}
	default:
		every = int(math.Ceil(decades / 8))
	}
	var ticks []axes.Tick
	for e := int(math.Floor(math.Log10(lo))); e <= int(math.Ceil(math.Log10(hi))); e++ {
		for m := 1; m <= 9; m++ {
			v := float64(m) * math.Pow(10, float64(e))
			if v < lo || v > hi || (m > 1 && every > 1) {
				continue
			}
			t := axes.Tick{Value: v}
			if labelled[m] && e%every == 0 {
				t.Label = exponent.ReplaceAllString(format.Number(v, max(0, -e)), "e−$1")
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}
