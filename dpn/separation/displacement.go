package separation

import (
	"context"
	"fmt"
	"math"
)

// Displacement measures how far a step of the network moved the samples.
type Displacement struct {
	// Frobenius is the norm of X' - X over all rows, which the paper reports (69.6 for its 32
	// images). It is proportional to the square root of the number of rows.
	Frobenius float64 `json:"frobenius"`
	// MeanRow is the Euclidean length of a row of X' - X, averaged over rows.
	MeanRow float64 `json:"mean_row"`
}

// Displace returns the displacement from before to after: features of the same samples in the same
// order, in rows of width dim.
func Displace(before, after []float32, dim int) (Displacement, error) {
	rows, err := checkRows(before, dim)
	if err != nil {
		return Displacement{}, err
	}
	if len(before) != len(after) {
		return Displacement{}, fmt.Errorf("separation: %d features before and %d after: displacement needs as many",
			len(before), len(after))
	}
	if rows == 0 {
		return Displacement{}, fmt.Errorf("separation: displacement of no rows")
	}
	for _, x := range [][]float32{before, after} {
		if err := checkSource(context.Background(), memory{x, dim}, 1); err != nil {
			return Displacement{}, err
		}
	}
	var out Displacement
	var total float64
	for i := range rows {
		var sum float64
		b, a := before[i*dim:(i+1)*dim], after[i*dim:(i+1)*dim]
		for j := range b {
			t := float64(a[j]) - float64(b[j])
			sum += float64(t * t)
		}
		total += sum
		out.MeanRow += math.Sqrt(sum)
	}
	out.Frobenius = math.Sqrt(total)
	out.MeanRow /= float64(rows)
	return out, nil
}
