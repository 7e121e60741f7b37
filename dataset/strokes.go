package dataset

// point is a place on the paper: x to the right, y down.
type point struct{ x, y float64 }

// Every product below is inside an explicit conversion. Go may compile x*y + z to a fused
// multiply-add, with one rounding, and does so on some architectures only; the conversion
// forbids it, so that a digit has the same bits everywhere. For the same reason there is no
// sine, cosine or exponential here.

// segmentsPerSpan is the number of straight pieces between two knots.
const segmentsPerSpan = 5

// catmullRom holds, for each j of segmentsPerSpan, the weights at parameter
// j/segmentsPerSpan of the four knots around a span.
var catmullRom = func() (w [segmentsPerSpan][4]float64) {
	for j := range w {
		t := float64(j) / segmentsPerSpan
		t2 := float64(t * t)
		t3 := float64(t2 * t)
		w[j] = [4]float64{
			float64(0.5 * (float64(2*t2) - t - t3)),
			float64(0.5 * (2 + float64(3*t3) - float64(5*t2))),
			float64(0.5 * (t + float64(4*t2) - float64(3*t3))),
			float64(0.5 * (t3 - t2)),
		}
	}
	return w
}()

// curve appends to line the polyline through the knots ps: smooth, except at
// the knots for which sharp is set.
func curve(line []point, ps []point, sharp []bool) []point {
	last := len(ps) - 1
	for i := 0; i < last; i++ {
		b, c := ps[i], ps[i+1]
		// At a corner or an end the curve leaves as if its neighbour were
		// mirrored, that is, straight.
		a := mirror(c, b)
		if i > 0 && !sharp[i] {
			a = ps[i-1]
		}
		d := mirror(b, c)
		if i+1 < last && !sharp[i+1] {
			d = ps[i+2]
		}
		for _, w := range catmullRom {
			line = append(line, point{
				float64(w[0]*a.x) + float64(w[1]*b.x) + float64(w[2]*c.x) + float64(w[3]*d.x),
				float64(w[0]*a.y) + float64(w[1]*b.y) + float64(w[2]*c.y) + float64(w[3]*d.y),
			})
		}
	}
	return append(line, ps[last])
}

// mirror returns the mirror image of p in the point q.
func mirror(p, q point) point { return point{q.x - p.x + q.x, q.y - p.y + q.y} }

// bend is a smooth deformation of the paper: polynomials of degree two and
// three in the distance from the digit's middle.
type bend struct{ x, y [5]float64 }

// newBend draws a deformation that moves a point half a height from the centre by about
// strength/4.
func newBend(r *stream, strength float64) (b bend) {
	for i := range b.x {
		b.x[i], b.y[i] = r.normal(strength), r.normal(strength)
	}
	return b
}

func (b *bend) apply(p point) point {
	xx, xy, yy := float64(p.x*p.x), float64(p.x*p.y), float64(p.y*p.y)
	m := [5]float64{xx, xy, yy, float64(xx * p.y), float64(yy * p.y)}
	q := p
	for i, v := range m {
		q.x += float64(b.x[i] * v)
		q.y += float64(b.y[i] * v)
	}
	return q
}

// affine is the linear map (x, y) -> (a x + b y, c x + d y).
type affine struct{ a, b, c, d float64 }

// newAffine stretches by sx and sy, slants by slant (x grows by slant for each
// unit upwards) and then turns. half is the tangent of half the angle, from
// which sine and cosine follow without trigonometry; positive is clockwise.
func newAffine(sx, sy, slant, half float64) affine {
	h2 := float64(half * half)
	cos, sin := (1-h2)/(1+h2), float64(2*half)/(1+h2)
	shear := -float64(slant * sy)
	return affine{
		a: float64(cos * sx),
		b: float64(cos*shear) - float64(sin*sy),
		c: float64(sin * sx),
		d: float64(sin*shear) + float64(cos*sy),
	}
}

func (m affine) apply(p point) point {
	return point{
		float64(m.a*p.x) + float64(m.b*p.y),
		float64(m.c*p.x) + float64(m.d*p.y),
	}
}
