package reproduce

import (
	"fmt"
	"math"

	"dpnbench/dpn/separation"
	"dpnbench/internal/linalg"

	"gonum.org/v1/gonum/stat/distuv"
)

// The tests behind the verdicts on figures that vary with the seed: is the published figure that of one more
// seed?

const (
	// leastSeeds is the smallest number of seeds that are compared with a published figure, and rangeSeeds the
	// smallest whose range is: one more seed lies within the range of n with the probability (n-1)/(n+1).
	leastSeeds = 3
	rangeSeeds = 20

	// significance is the probability below which a published figure is no longer taken for that of one more seed.
	significance = 0.05
)

// notTestable is the judgement of a claim without anything to measure.
func notTestable(why string) func(Results) judged {
	return func(Results) judged { return judged{verdict: NotTestable, why: why} }
}

// rangeOf returns the range of a spread as an interval.
func rangeOf(s Spread) []separation.Float { return []separation.Float{s.Least, s.Greatest} }

// oneMore is the interval of one more seed: the range of rangeSeeds seeds or more, Student's 95% prediction
// interval of fewer.
func oneMore(s Spread) []separation.Float {
	if s.Seeds >= rangeSeeds || s.Seeds < 2 {
		return rangeOf(s)
	}
	n := float64(s.Seeds)
	t := distuv.StudentsT{Sigma: 1, Nu: n - 1}.Quantile(1 - significance/2)
	half := separation.Float(t * float64(s.Std) * math.Sqrt(1+1/n))
	return []separation.Float{s.Mean - half, s.Mean + half}
}

// tooFew reports a figure from fewer seeds than leastSeeds.
func tooFew(s Spread, format string) judged {
	return judged{measured: fmt.Sprintf("%s from %d of at least %d seeds", s.text(format), s.Seeds, leastSeeds),
		numbers: numbers(s.Median),
		why:     "The range over so few seeds is not meaningful."}
}

// enclosed judges whether the published figure is that of one more seed, to the printed digits.
func enclosed(s Spread, published, digit float64, why string) judged {
	if s.Seeds < leastSeeds {
		return tooFew(s, "%.4g")
	}
	ci := oneMore(s)
	j := judged{measured: fmt.Sprintf("%.4g (%s over %d seeds)", float64(s.Median), s.text("%.4g"), s.Seeds),
		numbers: numbers(s.Median), ci: ci, verdict: NotReproduced, why: why}
	if s.Seeds < rangeSeeds {
		j.why += fmt.Sprintf(" One more seed: %s (95%%).", between("%.4g", ci))
	}
	if float64(ci[0])-digit/2 <= published && published <= float64(ci[1])+digit/2 {
		j.verdict = OnlyByTheirs
	}
	return j
}

// printed judges whether a figure agrees with the published one, to the printed digits.
func printed(v, published, digit float64, why string) judged {
	j := judged{measured: fmt.Sprintf("%.4g", v), numbers: numbers(v), verdict: NotReproduced, why: why}
	if v-published <= digit/2 && published-v <= digit/2 {
		j.verdict = OnlyByTheirs
	}
	return j
}

// figure is a published figure of a run.
type figure struct{ published, digit float64 }

// jointly returns the probability of figures at least as far from those of the seeds (rows of runs) as the
// published ones, if these are those of one more seed: Hotelling's T² of the logarithms, with the rounding to the
// printed digits. It returns NaN for too few seeds, or if the figures of the seeds depend on each other.
func jointly(runs [][]float64, published []figure) float64 {
	n, m := len(runs), len(published)
	if n <= m+1 {
		return math.NaN()
	}
	mean, off, s := make([]float64, m), make([]float64, m), make([]float64, m*m)
	logs := make([]float64, n*m)
	for r, run := range runs {
		for i, v := range run {
			logs[r*m+i] = math.Log(v)
			mean[i] += logs[r*m+i] / float64(n)
		}
	}
	for r := range n {
		row := logs[r*m : (r+1)*m]
		linalg.Axpy(-1, mean, row)
		for i := range m {
			linalg.Axpy(row[i]/float64(n-1), row, s[i*m:(i+1)*m])
		}
	}
	for i, f := range published {
		rounding := f.digit / f.published
		s[i*m+i] += rounding * rounding / 12
		off[i] = math.Log(f.published) - mean[i]
	}
	if !linalg.Cholesky(s, m) {
		return math.NaN()
	}
	linalg.SolveLower(s, m, off, 0)
	d1, d2 := float64(m), float64(n-m)
	f := linalg.Dot(off, off) * float64(n) / float64(n+1) * d2 / (d1 * float64(n-1))
	return distuv.F{D1: d1, D2: d2}.Survival(f)
}
