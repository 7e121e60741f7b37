package dataset

import (
	"context"
	"fmt"
	"math"

	"dpnbench/internal/parallel"
)

// DigitSide is the width and height of a built-in digit, in pixels.
const DigitSide = 28

// TestFirst is the index of the first test image of the built-in digits. The
// training images begin at index 0, so the two splits share nothing.
const TestFirst = 1 << 30

// Sizes of the built-in splits unless others are asked for.
const (
	DigitsTrain = 60_000
	DigitsTest  = 10_000
)

// The hand: how much writers differ. With these values the digits look like MNIST's and are
// about as hard to classify; see the package comment.
const (
	handBlendLow, handBlendHigh = -0.15, 1.15 // place on the line between the two extremes of a style
	handBend                    = 0.24        // strength of the paper's deformation
	handJitter                  = 0.028       // standard deviation of a knot's place, in heights of the digit
	handLooseLow, handLooseHigh = 0.4, 1.4    // neat to hasty: one factor a digit for the two above
	handStretch                 = 0.19        // standard deviation of the width's factor
	handSlant, handSlantStd     = 0.17, 0.28  // tangent of the slant to the right
	handTurn                    = 0.09        // standard deviation of the tangent of half the rotation
)

// The frame: where the digit sits in its image, in pixels.
const (
	frameSide           = 20.0       // larger side of the ink, as in MNIST
	frameLow, frameHigh = 0.94, 1.03 // and its spread, as a factor
	frameShift          = 0.65       // standard deviation of the centre of mass about the middle
	frameRim            = 1.0        // least distance of the ink from the edge
)

// Digits draws the n built-in digits first, first+1, ... of 28 x 28 pixels. The image and label
// of a digit depend on its number and the seed only, so any range can be drawn by itself, with
// the same bytes on any machine and with any number of threads. Labels are drawn uniformly from
// the ten digits. It panics if first or n is negative.
func Digits(seed uint64, first, n int) *Set {
	s, _ := DigitsContext(context.Background(), seed, first, n)
	return s
}

// DigitsContext is Digits with a context: it stops, with ctx's error, when ctx ends.
func DigitsContext(ctx context.Context, seed uint64, first, n int) (*Set, error) {
	if first < 0 || n < 0 {
		panic(fmt.Sprintf("dataset: Digits(seed, %d, %d): negative", first, n))
	}
	s := &Set{
		Shape:  Grey(DigitSide, DigitSide),
		Pixels: make([]byte, n*DigitSide*DigitSide),
		Labels: make([]uint16, n),
	}
	const chunk = 64
	parallel.Each((n+chunk-1)/chunk, 0, func(k int) {
		if ctx.Err() != nil {
			return
		}
		var w writer
		for i := k * chunk; i < min((k+1)*chunk, n); i++ {
			s.Labels[i] = w.draw(s.Image(i), newStream(seed, uint64(first)+uint64(i)))
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return s, nil
}

// writer holds the scratch memory of drawing one digit after the other.
type writer struct {
	knots []point
	sharp []bool
	lines [][]point // one polyline a path
	page  page
}

// draw fills the DigitSide x DigitSide image with a digit and returns its label.
func (w *writer) draw(image []byte, r *stream) (label uint16) {
	label = uint16(r.intn(10))
	st := chooseStyle(skeletons[label], r)
	w.write(st, r)
	pen := newPen(r)
	w.fit(pen.radius, r)
	w.page.ink(w.lines, pen)
	w.page.expose(image, pen, r)
	return label
}

// chooseStyle picks one of the styles by weight.
func chooseStyle(styles []style, r *stream) *style {
	total := 0
	for i := range styles {
		total += styles[i].weight
	}
	k := r.intn(total)
	for i := range styles {
		if k -= styles[i].weight; k < 0 {
			return &styles[i]
		}
	}
	panic("dataset: style weights do not add up")
}

// write turns a style into polylines: it blends the two extremes, displaces every knot, bends
// the paper, and stretches, slants and turns the digit.
func (w *writer) write(st *style, r *stream) {
	blend := r.uniform(handBlendLow, handBlendHigh)
	loose := r.uniform(handLooseLow, handLooseHigh)
	paper := newBend(r, float64(loose*handBend))
	wobble := float64(loose * handJitter)
	hand := newAffine(1+r.normal(handStretch), 1, handSlant+r.normal(handSlantStd), r.normal(handTurn))

	for len(w.lines) < len(st.from) {
		w.lines = append(w.lines, nil)
	}
	w.lines = w.lines[:len(st.from)]
	for i, from := range st.from {
		to := st.to[i]
		w.knots, w.sharp = w.knots[:0], w.sharp[:0]
		for j, k := range from {
			x, y := float64(k[0]), float64(k[1])
			x += float64(blend * (float64(to[j][0]) - x))
			y += float64(blend * (float64(to[j][1]) - y))
			p := point{x/100 - 0.5 + r.normal(wobble), y/100 - 0.5 + r.normal(wobble)}
			w.knots = append(w.knots, hand.apply(paper.apply(p)))
			w.sharp = append(w.sharp, k[2] == corner)
		}
		w.lines[i] = curve(w.lines[i][:0], w.knots, w.sharp)
	}
}

// fit scales the polylines to pixels as MNIST does: the larger side of the ink is about 20
// pixels, and the centre of mass is near the middle of the image unless that would push ink
// over the edge.
func (w *writer) fit(radius float64, r *stream) {
	lo, hi := w.lines[0][0], w.lines[0][0]
	var centre point
	var mass float64
	for _, line := range w.lines {
		for i, p := range line {
			lo.x, lo.y = min(lo.x, p.x), min(lo.y, p.y)
			hi.x, hi.y = max(hi.x, p.x), max(hi.y, p.y)
			if i > 0 {
				q := line[i-1]
				m := length(point{p.x - q.x, p.y - q.y})
				centre.x += float64(m * (p.x + q.x) / 2)
				centre.y += float64(m * (p.y + q.y) / 2)
				mass += m
			}
		}
	}
	centre.x /= mass
	centre.y /= mass

	side := float64(frameSide * r.uniform(frameLow, frameHigh))
	scale := (side - float64(2*radius)) / max(hi.x-lo.x, hi.y-lo.y)
	const middle = (DigitSide - 1) / 2.0
	dx, dy := middle+r.normal(frameShift), middle+r.normal(frameShift)
	rim := radius + frameRim // least distance of the pen's path from the edge
	dx = min(max(dx, rim-float64((lo.x-centre.x)*scale)), DigitSide-1-rim-float64((hi.x-centre.x)*scale))
	dy = min(max(dy, rim-float64((lo.y-centre.y)*scale)), DigitSide-1-rim-float64((hi.y-centre.y)*scale))
	for _, line := range w.lines {
		for i, p := range line {
			line[i] = point{float64((p.x-centre.x)*scale) + dx, float64((p.y-centre.y)*scale) + dy}
		}
	}
}

// length returns the Euclidean length of v. The square root is correctly rounded on every
// architecture, unlike math.Hypot.
func length(v point) float64 {
	return math.Sqrt(float64(v.x*v.x) + float64(v.y*v.y))
}
