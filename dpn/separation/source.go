package separation

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"

	"dpnbench/internal/parallel"
)

// Source is the features of n samples at one layer: rows of numbers that can be read any number of
// times, from memory or a file. Every statistic reads it in blocks of bounded size.
type Source interface {
	// Len is the number of rows, Width the length of each.
	Len() int
	Width() int
	// ReadRows sets dst to the rows from the given one on: len(dst) is a multiple of Width. It may be
	// called by several goroutines at once.
	ReadRows(dst []float64, from int) error
}

// Samples are features of any source, with the class of each row.
type Samples struct {
	Source
	// Labels holds the class of each row. Any number is a class; only those present count.
	Labels []int
}

// Input is the features and labels that a statistic is computed of: a Set or Samples.
type Input interface {
	samples() (Samples, error)
}

func (s Samples) samples() (Samples, error) {
	if s.Source == nil {
		return s, errNoFeatures
	}
	return s, nil
}

// Errors of what is missing.
var (
	errNoFeatures = errors.New("separation: no features: the source is nil")
	errNoEngine   = errors.New("separation: no engine: it is nil")
)

// samplesIn returns the samples of an input, which may be nil.
func samplesIn(in Input) (Samples, error) {
	if in == nil {
		return Samples{}, errNoFeatures
	}
	return in.samples()
}

// largestFeature is the largest magnitude of a feature: fourth powers stay within the range of float64.
const largestFeature = 1e70

// check returns an error of one line if the samples are unusable for class statistics.
func (s Samples) check() error {
	rows := s.Len()
	if rows != len(s.Labels) {
		return fmt.Errorf("separation: %d labels for %d rows of features", len(s.Labels), rows)
	}
	if s.Width() < 1 {
		return fmt.Errorf("separation: features of width %d", s.Width())
	}
	if rows < 2 {
		return fmt.Errorf("separation: %d rows: at least 2 are needed", rows)
	}
	if oneClass(s.Labels) {
		return fmt.Errorf("separation: all %d rows belong to class %d: at least 2 classes are needed", rows,
			s.Labels[0])
	}
	return nil
}

// oneClass reports whether all samples belong to the same class.
func oneClass(labels []int) bool {
	return !slices.ContainsFunc(labels, func(l int) bool { return l != labels[0] })
}

// checked returns the samples of an input after check.
func checked(in Input) (Samples, error) {
	s, err := samplesIn(in)
	if err == nil {
		err = s.check()
	}
	return s, err
}

// memory is a Source of rows in memory.
type memory struct {
	x   []float32
	dim int
}

func (m memory) Len() int   { return len(m.x) / m.dim }
func (m memory) Width() int { return m.dim }

func (m memory) ReadRows(dst []float64, from int) error {
	for i, v := range m.x[from*m.dim : from*m.dim+len(dst)] {
		dst[i] = float64(v)
	}
	return nil
}

// part is the rows of a source at the given places.
type part struct {
	of Source
	at []int
}

func (p part) Len() int   { return len(p.at) }
func (p part) Width() int { return p.of.Width() }

func (p part) ReadRows(dst []float64, from int) error {
	dim := p.Width()
	for len(dst) > 0 {
		rows := 1 // that follow each other
		for rows*dim < len(dst) && p.at[from+rows] == p.at[from]+rows {
			rows++
		}
		if err := p.of.ReadRows(dst[:rows*dim], p.at[from]); err != nil {
			return err
		}
		dst, from = dst[rows*dim:], from+rows
	}
	return nil
}

// rows returns the samples at the given places.
func (s Samples) rows(at []int) Samples {
	out := Samples{Source: part{s.Source, at}, Labels: make([]int, len(at))}
	for i, j := range at {
		out.Labels[i] = s.Labels[j]
	}
	return out
}

// first returns the first n samples.
func (s Samples) first(n int) Samples {
	at := make([]int, n)
	for i := range at {
		at[i] = i
	}
	return s.rows(at)
}

// Numbers of float64 that are read at a time: by each thread, and by all of them together.
const (
	scanFloats  = 1 << 19
	blockFloats = 1 << 22
)

// scan reads all rows once. Chunks of rowsPerChunk rows are shared among threads (0: GOMAXPROCS).
// Each chunk has a slot while it is read: rows gets consecutive rows of the chunk, from the given one
// on, then end is called, for one chunk after the other in their order. So sums that rows makes for
// each slot, and end adds and clears, have the same bits for every number of threads.
func scan(ctx context.Context, src Source, threads int, slots func(n int), rows func(slot, from int, x []float64),
	end func(slot int)) error {
	n, dim := src.Len(), src.Width()
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	chunks := chunkCount(n, rowsPerChunk)
	some := min(2*threads, chunks)
	slots(some)
	buffers, errs := make([][]float64, some), make([]error, some)
	atOnce := min(rowsPerChunk, n, max(1, scanFloats/dim))
	for c := 0; c < chunks; c += some {
		if err := ctx.Err(); err != nil {
			return err
		}
		some := min(some, chunks-c)
		parallel.Each(some, threads, func(slot int) {
			if buffers[slot] == nil {
				buffers[slot] = make([]float64, atOnce*dim)
			}
			from, to := chunkBounds(n, rowsPerChunk, c+slot)
			for ; from < to && errs[slot] == nil; from += atOnce {
				x := buffers[slot][:min(atOnce, to-from)*dim]
				if errs[slot] = src.ReadRows(x, from); errs[slot] == nil {
					rows(slot, from, x)
				}
			}
		})
		for slot := range some {
			if errs[slot] != nil {
				return errs[slot]
			}
			end(slot)
		}
	}
	return nil
}

// blocks reads all rows once, in order, and calls f with some at a time.
func blocks(ctx context.Context, src Source, threads int, f func(from int, x []float64)) error {
	n, dim := src.Len(), src.Width()
	atOnce := min(n, max(1, blockFloats/dim))
	block := make([]float64, atOnce*dim)
	for from := 0; from < n; from += atOnce {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows := min(atOnce, n-from)
		piece := max(1, min(rowsPerChunk, scanFloats/dim))
		errs := make([]error, chunkCount(rows, piece))
		parallel.Each(len(errs), threads, func(c int) {
			lo, hi := chunkBounds(rows, piece, c)
			errs[c] = src.ReadRows(block[lo*dim:hi*dim], from+lo)
		})
		if err := errors.Join(errs...); err != nil {
			return err
		}
		f(from, block[:rows*dim])
	}
	return nil
}

// finite returns an error that names the first of some rows' features that is NaN, infinite or too
// large. Otherwise such a number would make every statistic NaN, without a trace of its origin.
func finite(x []float64, dim, from int) error {
	for i, v := range x {
		if !(math.Abs(v) <= largestFeature) {
			expected := "every feature must be finite"
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				expected = fmt.Sprintf("every feature must be at most %g", largestFeature)
			}
			return fmt.Errorf("separation: feature at row %d, column %d is %v: %s (rows and columns count from 0)",
				from+i/dim, i%dim, v, expected)
		}
	}
	return nil
}

// checkSource returns an error that names the first feature that is not finite.
func checkSource(ctx context.Context, src Source, threads int) error {
	var errs, bad []error
	err := scan(ctx, src, threads, func(n int) { errs = make([]error, n) },
		func(slot, from int, x []float64) {
			if errs[slot] == nil {
				errs[slot] = finite(x, src.Width(), from)
			}
		},
		func(slot int) {
			if errs[slot] != nil {
				bad = append(bad, errs[slot])
			}
		})
	if err == nil && len(bad) > 0 {
		err = bad[0]
	}
	return err
}
