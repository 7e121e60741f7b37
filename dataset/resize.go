package dataset

import "fmt"

// maxSide bounds the side of a resized image, in pixels.
const maxSide = 1024

// Resize returns the set with images of rows x cols pixels. Every new pixel is the mean over
// the area that it covers, rounded to the nearest level (halves up), in exact integer
// arithmetic. Labels are shared with s. (He and Su, PNAS 2023, use 10 x 10 pixels.)
func (s *Set) Resize(rows, cols int) (*Set, error) {
	if s == nil {
		return nil, errNoSet
	}
	if err := s.NeedImages("resizing"); err != nil {
		return nil, err
	}
	if rows < 1 || rows > maxSide || cols < 1 || cols > maxSide {
		return nil, fmt.Errorf("images of %d x %d pixels, expected 1 to %d a side", rows, cols, maxSide)
	}
	out := &Set{Shape: Shape{Rows: rows, Cols: cols, Channels: s.Channels}, Labels: s.Labels}
	out.Pixels = make([]byte, s.Len()*out.Shape.Len())
	down, across := covers(s.Rows, rows), covers(s.Cols, cols)
	area := s.Rows * s.Cols
	narrow := make([]int64, s.Rows*cols) // sums along rows, not yet along columns
	for i := range s.Len() * s.Channels {
		image, channel := i/s.Channels, i%s.Channels
		from, to := s.Image(image)[channel*area:], out.Image(image)[channel*rows*cols:]
		for r := range s.Rows {
			line := from[r*s.Cols:]
			for c, a := range across {
				sum := int64(0)
				for k, w := range a.weights {
					sum += int64(w) * int64(line[a.first+k])
				}
				narrow[r*cols+c] = sum
			}
		}
		for r, d := range down {
			for c := range cols {
				sum := int64(0)
				for k, w := range d.weights {
					sum += int64(w) * narrow[(d.first+k)*cols+c]
				}
				to[r*cols+c] = byte((2*sum + int64(area)) / int64(2*area))
			}
		}
	}
	return out, nil
}

// cover lists the old pixels that a new pixel covers along one side, starting at first, with a
// weight for each; the weights sum to the old side length.
type cover struct {
	first   int
	weights []int
}

// covers maps a side of from old pixels to one of to new pixels. In units in which an old pixel
// has length to, a new one has length from.
func covers(from, to int) []cover {
	list := make([]cover, to)
	for i := range list {
		lo, hi := i*from, (i+1)*from
		list[i].first = lo / to
		for p := lo / to; p*to < hi; p++ {
			list[i].weights = append(list[i].weights, min(hi, (p+1)*to)-max(lo, p*to))
		}
	}
	return list
}

// PerClass returns the first n samples of each class 0 to classes-1, in the order of s, sharing its
// memory. It fails if a class has fewer.
func (s *Set) PerClass(classes, n int) (*Set, error) {
	if s == nil {
		return nil, errNoSet
	}
	var at []int32
	taken := make([]int, classes)
	for i, y := range s.Labels {
		if int(y) < classes && taken[y] < n {
			taken[y]++
			at = append(at, int32(i))
		}
	}
	for y, have := range taken {
		if have < n {
			return nil, fmt.Errorf("%d %s of class %d, expected at least %d", have, s.Samples(), y, n)
		}
	}
	return s.Pick(at), nil
}
