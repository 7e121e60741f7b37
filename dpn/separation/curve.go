package separation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/stat"
)

// CurvePoint summarises the fuzziness of random subsets of one size.
type CurvePoint struct {
	// Samples is the size n of a subset, Subsets the number of subsets: one if n is the size of the
	// whole set.
	Samples int `json:"samples"`
	Subsets int `json:"subsets"`
	// LeftOut is the number of subsets with only one class. They have no D and are not part of the
	// statistics below, which are NaN (null) if all subsets are left out.
	LeftOut int `json:"left_out"`
	// Mean, Std, Least and Greatest describe D over the subsets.
	Mean     Float `json:"mean"`
	Std      Float `json:"std"`
	Least    Float `json:"least"`
	Greatest Float `json:"greatest"`
	// First is D of the first n samples of the set, for comparison with published figures for a
	// number of test images.
	First Float `json:"first"`
	// Limit is the median over the subsets of the estimate of D for n → ∞ (see Sampling); NaN
	// (null) if half of them or more give none, and with more than MostQuantileClasses classes.
	Limit Float `json:"limit"`
}

// LayerCurve is how D of one layer depends on the number of samples.
type LayerCurve struct {
	Layer  string       `json:"layer"`
	Points []CurvePoint `json:"points"`
}

// CurveOptions holds the settings of Curve. The zero value is ready to use.
type CurveOptions struct {
	Sizes   []int  // of the subsets, increasing (nil: 32, 100, 320, 1000 and so on, and n)
	Subsets int    // of each size (0: 20)
	Seed    uint64 // of the draws

	rows int // of the whole set, the most samples for Limit (0: as many as bootstrapFloats allows)
}

// Curve measures how D depends on the number of samples: it draws subsets without replacement
// and measures D of each. Subsets of more than 2^25 features (rows times Width) are not among the default sizes,
// because their time would be that of hundreds of passes. The result has the same bits on every machine.
func Curve(ctx context.Context, e *engine.Engine, in Input, o CurveOptions) ([]CurvePoint, error) {
	if e == nil {
		return nil, errNoEngine
	}
	s, err := checked(in)
	if err != nil {
		return nil, err
	}
	if err := checkSource(ctx, s, e.Threads()); err != nil {
		return nil, err
	}
	n := s.Len()
	if o.Subsets == 0 {
		o.Subsets = 20
	}
	if o.Subsets < 1 {
		return nil, fmt.Errorf("separation: %d subsets: expected 1 or more", o.Subsets)
	}
	if o.Sizes == nil {
		o.Sizes = curveSizes(n, s.Width())
	}
	out := make([]CurvePoint, 0, len(o.Sizes))
	for at, size := range o.Sizes {
		if size < 2 || size > n {
			return nil, fmt.Errorf("separation: subsets of %d samples: expected 2 to %d", size, n)
		}
		p := CurvePoint{Samples: size, Subsets: o.Subsets, First: Float(math.NaN())}
		if size == n {
			p.Subsets = 1
		}
		if size < n { // an error says that its samples have only one class
			if f, err := MeasureFuzziness(s.first(size), e.Threads()); err == nil {
				p.First = f.D
			}
		}
		order := make([]int, n)
		for i := range order {
			order[i] = i
		}
		r := num.NewRand(o.Seed, uint64(at))
		var values, limits []float64
		for range p.Subsets {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			part := s
			for i := 0; i < size && size < n; i++ { // partial Fisher-Yates shuffle
				j := i + r.Intn(n-i)
				order[i], order[j] = order[j], order[i]
			}
			if size < n {
				part = s.rows(order[:size])
			}
			if oneClass(part.Labels) {
				p.LeftOut++
				continue
			}
			f, err := MeasureFuzziness(part, e.Threads())
			if err != nil {
				return nil, fmt.Errorf("%d samples: %w", size, err)
			}
			if size == n {
				p.First = f.D
			}
			values = append(values, float64(f.D))
			limit, err := estimateLimit(ctx, e, part, o.rows)
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
			if errors.As(err, new(*oneSampleError)) {
				limit = math.NaN()
			} else if err != nil {
				return nil, fmt.Errorf("%d samples: %w", size, err)
			}
			limits = append(limits, limit)
		}
		p.summarise(values, limits)
		out = append(out, p)
	}
	return out, nil
}

// curveFloats is the largest number of features in a subset of Curve, unless it is the whole set.
const curveFloats = 1 << 25

// curveSizes are the default sizes of subsets.
func curveSizes(n, width int) []int {
	var out []int
	for size := 10; size < n; size *= 10 {
		for _, v := range []int{size, size * 32 / 10} {
			if v >= 32 && v < n && v <= curveFloats/width {
				out = append(out, v)
			}
		}
	}
	return append(out, n)
}

// summarise sets the statistics of the subsets that have a D.
func (p *CurvePoint) summarise(values, limits []float64) {
	if len(values) == 0 {
		none := Float(math.NaN())
		p.Mean, p.Std, p.Least, p.Greatest, p.Limit = none, none, none, none, none
		return
	}
	var mean, square float64
	for _, v := range values {
		mean += v / float64(len(values))
	}
	for _, v := range values {
		square += float64((v - mean) * (v - mean))
	}
	p.Mean, p.Std = Float(mean), Float(math.Sqrt(square/float64(max(1, len(values)-1))))
	p.Least, p.Greatest = Float(slices.Min(values)), Float(slices.Max(values))
	for i, v := range limits {
		if math.IsNaN(v) {
			limits[i] = math.Inf(1)
		}
	}
	slices.Sort(limits)
	if p.Limit = Float(stat.Quantile(limits, 0.5)); !p.Limit.IsFinite() {
		p.Limit = Float(math.NaN())
	}
}
