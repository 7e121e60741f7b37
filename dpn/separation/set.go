package separation

import (
	"errors"
	"fmt"
)

// Set holds the features of n samples at one layer of a network in memory, and the class of each
// sample. Features that are elsewhere are Samples.
type Set struct {
	// X holds n rows of Dim numbers, row after row.
	X []float32
	// Dim is the width of a row, at least 1.
	Dim int
	// Labels holds the class of each row: n = len(Labels). Classes need not be contiguous, and only
	// those present count.
	Labels []uint16
}

// Len returns the number of samples n.
func (s Set) Len() int { return len(s.Labels) }

func (s Set) samples() (Samples, error) {
	if _, err := checkRows(s.X, s.Dim); err != nil {
		return Samples{}, err
	}
	out := Samples{Source: memory{s.X, s.Dim}, Labels: make([]int, len(s.Labels))}
	for i, l := range s.Labels {
		out.Labels[i] = int(l)
	}
	return out, nil
}

// checkRows returns the number of rows of width dim that x holds.
func checkRows(x []float32, dim int) (int, error) {
	if dim == 0 {
		return 0, errors.New("separation: features of width 0")
	}
	if dim < 0 {
		return 0, fmt.Errorf("separation: features of width %d", dim)
	}
	if len(x)%dim != 0 {
		return 0, fmt.Errorf("separation: %d features are not whole rows of width %d", len(x), dim)
	}
	return len(x) / dim, nil
}
