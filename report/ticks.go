package report

import (
	"math"
	"strconv"

	"gonum.org/v1/plot"
)

// linearTicks returns labelled ticks at the multiples of a round step (1, 2 or
// 5 times a power of ten), about count of them.
func linearTicks(lo, hi float64, count int, whole bool) []plot.Tick {
	step := roundStep((hi - lo) / float64(count))
	if whole {
		step = math.Ceil(step)
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []plot.Tick
	first := math.Ceil(lo/step - 1e-9)
	for i := range int((hi-lo)/step) + 2 {
		if v := (first + float64(i)) * step; v <= hi+1e-9*step {
			ticks = append(ticks, plot.Tick{Value: v, Label: number(v, decimals)})
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

// logTicks returns ticks for a logarithmic axis from lo to hi, both positive:
// round numbers where the range is short, else 1, 2 and 5 of each decade, else
// powers of ten. A short range would have one label or none with powers of ten
// alone.
func logTicks(lo, hi float64) []plot.Tick {
	if hi/lo < 4 {
		return linearTicks(lo, hi, 9, false)
	}
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
	var ticks []plot.Tick
	for e := int(math.Floor(math.Log10(lo))); e <= int(math.Ceil(math.Log10(hi))); e++ {
		for m := 1; m <= 9; m++ {
			v := float64(m) * math.Pow(10, float64(e))
			if v < lo || v > hi || (m > 1 && every > 1) {
				continue
			}
			t := plot.Tick{Value: v}
			if labelled[m] && e%every == 0 {
				t.Label = number(v, max(0, -e))
			}
			ticks = append(ticks, t)
		}
	}
	return ticks
}

// number prints v with the given decimals, or as a power of ten where that would
// be long.
func number(v float64, decimals int) string {
	if a := math.Abs(v); a != 0 && (a >= 1e6 || a < 1e-4) {
		return minus(strconv.FormatFloat(v, 'g', 3, 64))
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == 0 {
		s = strconv.FormatFloat(0, 'f', decimals, 64) // no "-0"
	}
	return minus(s)
}

// significant prints v with three significant digits.
func significant(v float64) string {
	if v == 0 || math.IsNaN(v) || math.IsInf(v, 0) {
		return minus(strconv.FormatFloat(v, 'g', 3, 64))
	}
	return number(v, max(0, 2-int(math.Floor(math.Log10(math.Abs(v))))))
}

// minus sets the sign that is as wide as a plus in place of the hyphen.
func minus(s string) string {
	if s != "" && s[0] == '-' {
		return "−" + s[1:]
	}
	return s
}

// thousands prints n with commas.
func thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
