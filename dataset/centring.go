package dataset

import "math"

// Constants of the centring, also of exports.
const (
	// MassThreshold is the share of the largest blurred level above which a pixel has mass.
	MassThreshold = 0.2

	// Spread is the root of the sum of the second moments that the size is normalised to, as a share of the
	// mean of rows and columns.
	Spread = 0.2

	// SizeLimit bounds the scaling, and SlantLimit the slant in columns a row.
	SizeLimit, SlantLimit = 1.6, 1

	massUnit    = 1 << 15 // of a mass: whole numbers, so that sums are exact
	mostCentred = 4096    // pixels a side, up to which the second moments fit into an int64
)

// BlurWidth is the width of the boxes that images are blurred by, twice, for an axis of n pixels: 3 of 28.
func BlurWidth(n int) int { return n/9 | 1 }

// placement says where the pixels of the normalised image come from.
type placement struct {
	row, col     int     // of the centre of mass, rounded down
	fracR, fracC float64 // what it lies beyond them
	size         float64 // pixels of the image for a pixel of the normalised one
	slant        float64 // columns a row
}

// centre moves the centre of mass of x to the middle, and normalises size and slant if p says so.
func (p *Preprocessor) centre(x, scratch []float32) {
	rows, cols := p.shape.Rows, p.shape.Cols
	n := rows * cols
	mass, spare := scratch[:n], scratch[n:2*n]
	copy(mass, x[:n])
	for lo := n; lo < len(x); lo += n {
		for j, v := range x[lo : lo+n] {
			mass[j] += v
		}
	}
	for range 2 {
		box(spare, mass, rows, cols)
	}
	at, ok := p.place(mass)
	if !ok {
		return
	}
	for lo := 0; lo < len(x); lo += n {
		copy(spare, x[lo:lo+n])
		at.sample(x[lo:lo+n], spare, rows, cols)
	}
}

// box blurs x by a box, zero outside, with the help of old.
func box(old, x []float32, rows, cols int) {
	blurLines(old, x, cols, 1, rows, cols, BlurWidth(cols))
	blurLines(x, old, rows, cols, cols, 1, BlurWidth(rows))
}

// blurLines averages wide numbers along lines of n numbers that are step apart; lines are skip apart.
func blurLines(dst, src []float32, n, step, lines, skip, wide int) {
	for l := range lines {
		for i := range n {
			var sum float32
			for j := max(i-wide/2, 0); j <= min(i+wide/2, n-1); j++ {
				sum += src[l*skip+j*step]
			}
			dst[l*skip+i*step] = sum / float32(wide)
		}
	}
}

// place finds out from blurred levels where the image is; false if there is nothing. Sums are of whole numbers, so that
// an image that is shifted by whole pixels has the same moments, to the bit.
func (p *Preprocessor) place(blurred []float32) (at placement, ok bool) {
	rows, cols := p.shape.Rows, p.shape.Cols
	var most float32
	for _, v := range blurred {
		most = max(most, v)
	}
	if !(most > 0) {
		return at, false
	}
	var sum, sumR, sumC int64
	for j, v := range blurred {
		w := int64(float32(max(v/most-MassThreshold, 0) * massUnit))
		sum, sumR, sumC = sum+w, sumR+w*int64(j/cols), sumC+w*int64(j%cols)
		blurred[j] = float32(w)
	}
	at = placement{row: int(sumR / sum), col: int(sumC / sum), size: 1}
	at.fracR, at.fracC = float64(sumR%sum)/float64(sum), float64(sumC%sum)/float64(sum)
	if p.Centre == CentreMass {
		return at, true
	}
	var rr, cc, rc int64
	for j, w := range blurred {
		r, c := int64(j/cols-at.row), int64(j%cols-at.col)
		rr, cc, rc = rr+int64(w)*r*r, cc+int64(w)*c*c, rc+int64(w)*r*c
	}
	mean := func(sum2 int64, a, b float64) float64 { return float64(sum2)/float64(sum) - float64(a*b) }
	varR, varC := mean(rr, at.fracR, at.fracR), mean(cc, at.fracC, at.fracC)
	cov := mean(rc, at.fracR, at.fracC)
	at.slant = min(max(cov/(varR+1), -SlantLimit), SlantLimit)
	varC += float64(at.slant * float64(float64(at.slant*varR)-float64(2*cov)))
	goal := float64(Spread*float64(rows+cols)) / 2
	at.size = min(max(math.Sqrt(varR+varC)/goal, 1/SizeLimit), SizeLimit)
	return at, true
}

// sample sets dst to src as at places it, by bilinear interpolation, zero outside.
func (at placement) sample(dst, src []float32, rows, cols int) {
	pixel := func(r, c int) float32 {
		if r < 0 || r >= rows || c < 0 || c >= cols {
			return 0
		}
		return src[r*cols+c]
	}
	midR, midC := float64(rows-1)/2, float64(cols-1)/2
	for r := range rows {
		down := float64(at.size * (float64(r) - midR))
		fromR := down + at.fracR
		topR := math.Floor(fromR)
		v := float32(fromR - topR)
		r0 := int(topR) + at.row
		for c := range cols {
			fromC := float64(at.size*(float64(c)-midC)) + float64(at.slant*down) + at.fracC
			leftC := math.Floor(fromC)
			u := float32(fromC - leftC)
			c0 := int(leftC) + at.col
			upper := between(pixel(r0, c0), pixel(r0, c0+1), u)
			lower := between(pixel(r0+1, c0), pixel(r0+1, c0+1), u)
			dst[r*cols+c] = between(upper, lower, v)
		}
	}
}
