package dataset

// Constants of the contrast normalisation, also of exports.
const (
	// ContrastRank is the share of the pixels, 1 in so many, that is at full level.
	ContrastRank = 32

	// ContrastFloor is the least distance from the background, in levels of [0, 1], that counts as full
	// level: what is fainter than a few steps of 1/255 is not made stronger.
	ContrastFloor = 1. / 32

	// ContrastDead is the share of the full level that counts as background.
	ContrastDead = 0.25
)

// borderWindow is the number of neighbours along the border, itself included, that say what the background is at
// a pixel of it. The median of more of them ignores wider strokes that touch the border.
const borderWindow = 11

// Border lists which pixels of an image say what the background is at each place of its border: at the top and
// at the bottom of every column, then at the left and at the right end of every row. They lie on the border; in
// images larger than 28 x 28 the same number is further apart, in small ones there are fewer.
func Border(rows, cols int) [][]int32 {
	list := make([][]int32, 0, 2*(rows+cols))
	side := func(along int, index func(i int) int) {
		n, apart := min(borderWindow, along), max(1, along/28)
		for at := range along {
			first := min(max(at-borderWindow/2*apart, 0), along-1-(n-1)*apart)
			window := make([]int32, n)
			for i := range window {
				window[i] = int32(index(first + i*apart))
			}
			list = append(list, window)
		}
	}
	side(cols, func(c int) int { return c })
	side(cols, func(c int) int { return (rows-1)*cols + c })
	side(rows, func(r int) int { return r * cols })
	side(rows, func(r int) int { return r*cols + cols - 1 })
	return list
}

// contrast normalises one channel x of an image. Each pixel becomes its distance from the background, blurred, as a
// share of the distance that 1 in ContrastRank of the pixels exceeds, stretched from [ContrastDead, 1] to [0, 1]. So
// x, a x + b and its negative become the same, up to rounding.
func (p *Preprocessor) contrast(x, scratch []float32) {
	sides, values := scratch[:len(p.border)], scratch[len(p.border):][:len(x)]
	p.distance(x, sides)
	for range 2 {
		box(values, x, p.shape.Rows, p.shape.Cols)
	}
	copy(values, x)
	full := max(largest(values, len(x)/ContrastRank), ContrastFloor)
	for i, d := range x {
		x[i] = min(max(d/full-ContrastDead, 0)/(1-ContrastDead), 1)
	}
}

// distance sets x to its distance from the background: the Coons patch between the medians along the border, which
// follows everything of the form f(row) + g(column) + a row column. sides is for the medians.
func (p *Preprocessor) distance(x, sides []float32) {
	rows, cols := p.shape.Rows, p.shape.Cols
	var window [borderWindow]float32
	for i, at := range p.border {
		for j, k := range at {
			window[j] = x[k]
		}
		sides[i] = median(window[:len(at)])
	}
	top, bottom, left, right := sides[:cols], sides[cols:2*cols], sides[2*cols:2*cols+rows], sides[2*cols+rows:]
	topLeft, topRight := (top[0]+left[0])/2, (top[cols-1]+right[0])/2
	lowLeft, lowRight := (bottom[0]+left[rows-1])/2, (bottom[cols-1]+right[rows-1])/2
	for r := range rows {
		v := share(r, rows)
		first, last := between(topLeft, lowLeft, v), between(topRight, lowRight, v)
		for c := range cols {
			u := share(c, cols)
			h := between(left[r], right[r], u) - between(first, last, u)
			d := x[r*cols+c] - (between(top[c], bottom[c], v) + h)
			x[r*cols+c] = max(d, -d)
		}
	}
}

// share is how far i of n is from the first to the last.
func share(i, n int) float32 { return float32(i) / float32(max(n-1, 1)) }

// between is a where t is 0 and b where it is 1. Between equal numbers it is exactly that number.
func between(a, b, t float32) float32 { return a + float32(t*(b-a)) }

// median returns the middle of x, which it sorts; of an even number the mean of the two in the middle.
func median(x []float32) float32 {
	for i := 1; i < len(x); i++ {
		v, j := x[i], i
		for ; j > 0 && x[j-1] > v; j-- {
			x[j] = x[j-1]
		}
		x[j] = v
	}
	n := len(x)
	return (x[(n-1)/2] + x[n/2]) / 2
}

// largest returns the k-th largest number of x, counted from 0, and reorders x (Hoare's selection).
func largest(x []float32, k int) float32 {
	lo, hi := 0, len(x)-1
	for lo < hi {
		pivot := x[lo+(hi-lo)/2]
		i, j := lo, hi
		for i <= j {
			for x[i] > pivot {
				i++
			}
			for x[j] < pivot {
				j--
			}
			if i <= j {
				x[i], x[j] = x[j], x[i]
				i++
				j--
			}
		}
		switch {
		case k <= j:
			hi = j
		case k >= i:
			lo = i
		default:
			return x[k]
		}
	}
	return x[k]
}
