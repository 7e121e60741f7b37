package separation

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"dpnbench/internal/parallel"
)

// Set holds the features of n samples at one layer of a network, and the class of each sample.
type Set struct {
	// X holds n rows of Dim numbers, row after row.
	X []float32
	// Dim is the width of a row, at least 1.
	Dim int
	// Labels holds the class of each row: n = len(Labels). Any byte is a class
	// name; classes need not be contiguous, and only those present count.
	Labels []byte
}

// Len returns the number of samples n.
func (s Set) Len() int { return len(s.Labels) }

// check returns an error of one line if the set is unusable for class statistics.
func (s Set) check(threads int) error {
	rows, err := checkRows(s.X, s.Dim)
	if err != nil {
		return err
	}
	if rows != len(s.Labels) {
		return fmt.Errorf("separation: %d labels for %d rows of features", len(s.Labels), rows)
	}
	if rows < 2 {
		return fmt.Errorf("separation: %d rows: at least 2 are needed", rows)
	}
	if s.oneClass() {
		return fmt.Errorf("separation: all %d rows belong to class %d: at least 2 classes are needed", rows,
			s.Labels[0])
	}
	return checkFinite(s.X, s.Dim, threads)
}

// oneClass reports whether all samples belong to the same class.
func (s Set) oneClass() bool {
	return !slices.ContainsFunc(s.Labels, func(l byte) bool { return l != s.Labels[0] })
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

// checkFinite returns an error that names the first feature that is NaN or infinite. Otherwise such
// a number would make every statistic NaN, without a trace of its origin.
func checkFinite(x []float32, dim, threads int) error {
	chunks := chunkCount(len(x)/dim, rowsPerChunk)
	bad := make([]int, chunks)
	parallel.Each(chunks, threads, func(c int) {
		bad[c] = -1
		from, to := chunkBounds(len(x)/dim, rowsPerChunk, c)
		for i, v := range x[from*dim : to*dim] {
			if math.Float32bits(v)&0x7f800000 == 0x7f800000 {
				bad[c] = from*dim + i
				return
			}
		}
	})
	for _, at := range bad {
		if at >= 0 {
			return fmt.Errorf("separation: feature at row %d, column %d is %v: every feature must be finite", at/dim,
				at%dim, x[at])
		}
	}
	return nil
}
