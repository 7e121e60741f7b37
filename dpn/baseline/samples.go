package baseline

import (
	"fmt"

	"dpnbench/dataset"
	"dpnbench/engine"
)

// Samples are labelled rows of numbers.
type Samples struct {
	X      engine.Matrix // n x d, dense
	Labels []byte        // the class of each row

	// Norm is applied to a row on its way into a network; with Std 0 the row goes in as it
	// is.
	Norm dataset.Normalization
}

// Images makes rows of the images of s: grey levels between 0 and 1.
func Images(s *dataset.Set, norm dataset.Normalization) Samples {
	x := engine.NewMatrix(s.Len(), s.Pixels())
	for i, v := range s.Images {
		x.Data[i] = float32(v) / 255
	}
	return Samples{X: x, Labels: s.Labels, Norm: norm}
}

// Corrupted makes rows of the images of s as c corrupts them under a seed, on the threads of e.
func Corrupted(e *engine.Engine, s *dataset.Set, norm dataset.Normalization, c dataset.Corruption,
	seed uint64) (Samples, error) {
	at := make([]int32, s.Len())
	for i := range at {
		at[i] = int32(i)
	}
	x := engine.NewMatrix(s.Len(), s.Pixels())
	if err := c.GreyOn(e, x.Data, s, at, seed); err != nil {
		return Samples{}, err
	}
	return Samples{X: x, Labels: s.Labels, Norm: norm}, nil
}

// Normalised returns the rows as they go into a network, in memory of their own.
func (s Samples) Normalised() engine.Matrix {
	x := engine.NewMatrix(s.X.Rows, s.X.Cols)
	copy(x.Data, s.X.Data)
	s.normalise(x.Data)
	return x
}

// Len returns the number of rows.
func (s Samples) Len() int { return s.X.Rows }

// Slice returns rows [lo, hi), which share the memory of s.
func (s Samples) Slice(lo, hi int) Samples {
	d := s.X.Cols
	return Samples{X: engine.View(s.X.Data[lo*d:hi*d], hi-lo, d), Labels: s.Labels[lo:hi], Norm: s.Norm}
}

// normalise applies Norm to rows, in place.
func (s Samples) normalise(x []float32) {
	if s.Norm.Std != 0 {
		s.Norm.Apply(x)
	}
}

// check says whether a network with so many inputs and classes can take the rows.
func (s Samples) check(in, classes int) error {
	if s.X.Cols != in || s.X.CS != 1 || s.X.RS != in || len(s.X.Data) != s.X.Rows*in {
		return fmt.Errorf("rows of %d numbers, expected dense rows of %d", s.X.Cols, in)
	}
	if len(s.Labels) != s.X.Rows {
		return fmt.Errorf("%d labels for %d rows", len(s.Labels), s.X.Rows)
	}
	for i, y := range s.Labels {
		if int(y) >= classes {
			return fmt.Errorf("label %d of row %d, expected 0 to %d", y, i, classes-1)
		}
	}
	return nil
}
