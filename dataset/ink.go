package dataset

import "math"

// pen describes the pen and its ink; all lengths are in pixels.
type pen struct {
	radius   float64 // half of the stroke's width at its middle
	taper    float64 // share of the radius gained from one end of a path to the other
	softness float64 // distance over which ink fades into paper
	rough    float64 // raggedness of the edge
	peak     float64 // grey level of full ink, 0 to 255
	grain    float64 // noise of the grey level where there is ink
}

// newPen draws a random pen. Most have medium width, some are broad.
func newPen(r *stream) pen {
	return pen{
		radius:   r.uniform(0.60, 1.20) + r.uniform(0, 0.5) + float64(r.uniform(0, 0.8)*r.uniform(0, 1)),
		taper:    r.normal(0.15),
		softness: r.uniform(0.7, 1.1),
		rough:    r.uniform(0, 0.25),
		peak:     255 - float64(30*r.uniform(0, 1)*r.uniform(0, 1)),
		grain:    r.uniform(0, 20),
	}
}

// blank is the distance of a pixel that no stroke comes near.
const blank = 1e3

// page holds, for each pixel, the signed distance to the edge of the ink:
// negative inside.
type page [DigitSide * DigitSide]float64

// ink draws the lines on an empty page.
func (g *page) ink(lines [][]point, p pen) {
	for i := range g {
		g[i] = blank
	}
	for _, line := range lines {
		last := len(line) - 1
		for i := range last {
			t := float64(i)/float64(last) - 0.5
			g.segment(line[i], line[i+1], p.radius+float64(p.radius*p.taper*t), p.softness+p.rough)
		}
	}
}

// segment draws the straight segment from a to b with the given half width. Pixels farther
// than reach from its edge are left unchanged.
func (g *page) segment(a, b point, radius, reach float64) {
	out := radius + reach
	x0, x1 := pixels(min(a.x, b.x)-out, max(a.x, b.x)+out)
	y0, y1 := pixels(min(a.y, b.y)-out, max(a.y, b.y)+out)
	d := point{b.x - a.x, b.y - a.y}
	dd := max(float64(d.x*d.x)+float64(d.y*d.y), 1e-12)
	for y := y0; y <= y1; y++ {
		row := g[y*DigitSide : (y+1)*DigitSide]
		py := float64(y) - a.y
		for x := x0; x <= x1; x++ {
			px := float64(x) - a.x
			// The nearest point of the segment is a + t d.
			t := min(max((float64(px*d.x)+float64(py*d.y))/dd, 0), 1)
			e := length(point{px - float64(t*d.x), py - float64(t*d.y)}) - radius
			if e < row[x] {
				row[x] = e
			}
		}
	}
}

// pixels returns the first and the last pixel centre within [lo, hi].
func pixels(lo, hi float64) (first, last int) {
	return int(math.Ceil(max(lo, 0))), int(math.Floor(min(hi, DigitSide-1)))
}

// expose turns distances into grey levels, with a soft, ragged edge and grain.
func (g *page) expose(image []byte, p pen, r *stream) {
	for i, e := range g {
		image[i] = 0
		if e >= float64(0.5*p.softness)+p.rough {
			continue
		}
		e += r.uniform(-p.rough, p.rough)
		cover := min(max(0.5-e/p.softness, 0), 1)
		if cover == 0 {
			continue
		}
		level := float64(cover*p.peak) + r.uniform(-p.grain, p.grain)
		image[i] = byte(math.Floor(min(max(level, 0), 255) + 0.5))
	}
}
