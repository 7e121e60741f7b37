package baseline

import (
	"fmt"

	"dpnbench/dataset"
	"dpnbench/engine"
)

// Samples holds labelled rows of features.
type Samples struct {
	X      engine.Matrix // n x d, dense
	Labels []uint16      // the class of each row

	// Norm is applied to each row before it enters a network, unless it is zero.
	Norm dataset.Normalization

	// Pixels says that the rows are levels of images between 0 and 1, where the noise of training stays.
	Pixels bool
}

// Rows converts the samples of s to rows: the levels of images between 0 and 1, or the features of
// vectors.
func Rows(s *dataset.Set, norm dataset.Normalization) Samples {
	x := engine.NewMatrix(s.Len(), s.Shape.Len())
	for i := range s.Len() {
		s.Floats(x.Row(i), []int32{int32(i)})
	}
	return Samples{X: x, Labels: s.Labels, Norm: norm, Pixels: s.Shape.IsImage()}
}

// Corrupted is Rows for the images corrupted by c with a seed, on the threads of e.
func Corrupted(e *engine.Engine, s *dataset.Set, norm dataset.Normalization, c dataset.Corruption,
	seed uint64) (Samples, error) {
	if err := s.Check(); err != nil {
		return Samples{}, err
	}
	at := make([]int32, s.Len())
	for i := range at {
		at[i] = int32(i)
	}
	x := engine.NewMatrix(s.Len(), s.Shape.Len())
	if err := c.FloatsOn(e, x.Data, s, at, seed); err != nil {
		return Samples{}, err
	}
	return Samples{X: x, Labels: s.Labels, Norm: norm, Pixels: true}, nil
}

// Normalised returns a copy of the rows with Norm applied.
func (s Samples) Normalised() engine.Matrix {
	x := engine.NewMatrix(s.X.Rows, s.X.Cols)
	copy(x.Data, s.X.Data)
	s.normalise(x)
	return x
}

// Len returns the number of rows.
func (s Samples) Len() int { return s.X.Rows }

// Slice returns the rows [lo, hi), which share the memory of s.
func (s Samples) Slice(lo, hi int) Samples {
	d := s.X.Cols
	s.X, s.Labels = engine.View(s.X.Data[lo*d:hi*d], hi-lo, d), s.Labels[lo:hi]
	return s
}

// normalise applies Norm to the rows of x, in place.
func (s Samples) normalise(x engine.Matrix) {
	for i := 0; i < x.Rows && !s.Norm.IsZero(); i++ {
		s.Norm.Apply(x.Row(i))
	}
}

// check returns an error unless the rows have in numbers each and valid labels.
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
