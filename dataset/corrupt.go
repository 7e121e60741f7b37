package dataset

import (
	"fmt"
	"math"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Check is Validate for samples of a shape: they have to be images.
func (c Corruption) Check(s Shape) error {
	if err := c.Validate(); err != nil {
		return err
	}
	return s.NeedImages(fmt.Sprintf("corruption %v", c))
}

// checkFor is Check for the samples of s.
func (c Corruption) checkFor(s *Set) error {
	if s == nil {
		return errNoSet
	}
	return c.Check(s.Shape)
}

// Floats sets dst (len(at) x Shape.Len()) to the levels of images at[0], at[1], ... of s after
// corruption. They are not rounded to bytes except by kinds of MNIST-C, and lie in [0, 1] except
// for gaussian-unclamped. The randomness of image i depends on the seed and i only, with the same
// bits on every machine. All kinds and severities share one random stream per image, which
// reduces the variance of their differences. Noise is independent in every channel; patches, lines
// and shifts are the same in all. Floats fails if Check does, and panics if dst has another length.
func (c Corruption) Floats(dst []float32, s *Set, at []int32, seed uint64) error {
	if err := c.checkFor(s); err != nil {
		return err
	}
	s.Floats(dst, at)
	if c.Severity == 0 {
		return nil
	}
	d, kind := s.Shape.Len(), c.kind()
	p := &corruptor{rows: s.Rows, cols: s.Cols, old: make([]float32, d)}
	for b, i := range at {
		p.x = dst[b*d : (b+1)*d]
		p.rand = num.NewRand(seed, uint64(i))
		kind.corrupt(p, c.Severity)
	}
	return nil
}

// FloatsOn is Floats on the threads of e.
func (c Corruption) FloatsOn(e *engine.Engine, dst []float32, s *Set, at []int32, seed uint64) error {
	if err := c.checkFor(s); err != nil {
		return err
	}
	d := s.Shape.Len()
	if len(dst) != len(at)*d {
		panic(fmt.Sprintf("dataset: FloatsOn of %d images into %d numbers, expected %d", len(at), len(dst), len(at)*d))
	}
	const cost = 20 // of a pixel, about, in elements as Parallel counts them
	e.Parallel(len(at), 0, float64(cost*len(dst)), func(_ *engine.Worker, lo, hi int) {
		if err := c.Floats(dst[lo*d:hi*d], s, at[lo:hi], seed); err != nil {
			panic(err) // Check passed
		}
	})
	return nil
}

// AddNoise adds sigma times z to the grey levels x (of equal lengths) and clamps the sums, none of which may be NaN, to
// [0, 1]. It clamps their bits: floats from 0 on are in the order of their bits, and others are negative integers.
// Branches would often be mispredicted.
func AddNoise(x, z []float32, sigma float32) {
	x = x[:len(z)]
	for j, v := range z {
		sum := int32(math.Float32bits(x[j] + float32(sigma*v)))
		x[j] = math.Float32frombits(uint32(min(max(sum, 0), 0x3f800000))) // 1
	}
}

func clamp(v float32) float32 { return min(max(v, 0), 1) }

// corruptor is the image being corrupted, and scratch memory.
type corruptor struct {
	x          []float32 // channels x rows x cols levels
	rows, cols int
	rand       *num.Rand
	old        []float32 // as long as x: random numbers, or the image before
	weights    []float32 // of the blur
	mnistc     mnistcMemory
}

func (p *corruptor) gaussian(sigma float64) {
	p.rand.Normal(p.old)
	AddNoise(p.x, p.old, float32(sigma))
}

func (p *corruptor) gaussianUnclamped(sigma float64) {
	p.rand.Normal(p.old)
	for j, z := range p.old {
		p.x[j] += float32(float32(sigma) * z)
	}
}

func (p *corruptor) uniform(most float64) {
	p.rand.Uniform(p.old, -1, 1)
	AddNoise(p.x, p.old, float32(most))
}

func (p *corruptor) saltPepper(share float64) {
	for j := range p.x {
		u := p.rand.Uint64() // the upper 53 bits decide whether, the lowest bit decides the colour
		if float64(float64(u>>11)*0x1p-53) < share {
			p.x[j] = float32(u & 1)
		}
	}
}

func (p *corruptor) speckle(sigma float64) {
	p.rand.Normal(p.old)
	for j, v := range p.x {
		p.old[j] = float32(p.old[j] * v)
	}
	AddNoise(p.x, p.old, float32(sigma))
}

func (p *corruptor) shot(severity float64) {
	photon := float64(severity * severity) // grey level of one photon
	for j, v := range p.x {
		if v > 0 {
			p.x[j] = clamp(float32(float64(poisson(p.rand, float64(v)/photon)) * photon))
		}
	}
}

// poisson draws a Poisson number of the given mean. A large mean is split into parts of at
// most 8, each drawn by inversion: the cumulative probability is followed up to a uniform
// number. The time is proportional to the mean.
func poisson(r *num.Rand, mean float64) int {
	const piece, most = 8, 80 // P(n > 80) is 1e-51 for mean 8
	sum := 0
	for mean > 0 {
		m := min(mean, piece)
		mean -= m
		u := r.Float64()
		probability := float64(num.Exp32(float32(-m)))
		n := 0
		for below := probability; u >= below && n < most; below += probability {
			n++
			probability = float64(probability * m / float64(n))
		}
		sum += n
	}
	return sum
}

func (p *corruptor) occlusionBlack(area float64) { p.occlude(area, 0) }
func (p *corruptor) occlusionWhite(area float64) { p.occlude(area, 1) }

// planes calls f with each channel's levels, and those of old.
func (p *corruptor) planes(f func(x, old []float32)) {
	n := p.rows * p.cols
	for lo := 0; lo < len(p.x); lo += n {
		f(p.x[lo:lo+n], p.old[lo:lo+n])
	}
}

// occlude paints a patch with the image's proportions at a random place inside the image.
func (p *corruptor) occlude(area float64, colour float32) {
	side := math.Sqrt(area)
	h, w := int(math.Floor(float64(float64(p.rows)*side)+0.5)), int(math.Floor(float64(float64(p.cols)*side)+0.5))
	var top, left int = p.rand.Intn(p.rows - h + 1), p.rand.Intn(p.cols - w + 1)
	p.planes(func(x, _ []float32) {
		for r := top; r < top+h; r++ {
			for c := left; c < left+w; c++ {
				x[r*p.cols+c] = colour
			}
		}
	})
}

// blur averages along rows, then along columns, with weights exp(-i^2 / (2 sigma^2)) up to
// three standard deviations away.
func (p *corruptor) blur(sigma float64) {
	reach := int(math.Ceil(float64(3 * sigma)))
	p.weights = p.weights[:0]
	var sum float32
	for i := -reach; i <= reach; i++ {
		z := float64(i) / sigma
		w := num.Exp32(float32(float64(-0.5 * z * z)))
		p.weights = append(p.weights, w)
		sum += w
	}
	for i := range p.weights {
		p.weights[i] /= sum
	}
	p.planes(func(x, old []float32) {
		p.smooth(old, x, p.rows, p.cols, p.cols, 1)
		p.smooth(x, old, p.cols, p.rows, 1, p.cols)
	})
}

// smooth averages along lines of n numbers: line l starts at l*skip, its numbers are step apart.
func (p *corruptor) smooth(dst, src []float32, lines, n, skip, step int) {
	reach := len(p.weights) / 2
	for l := range lines {
		for j := range n {
			var sum float32
			for i, w := range p.weights {
				at := min(max(j+i-reach, 0), n-1)
				sum = num.FMA32(w, src[l*skip+at*step], sum)
			}
			dst[l*skip+j*step] = min(sum, 1) // rounding: the weights may sum to slightly more than 1
		}
	}
}

func (p *corruptor) contrast(share float64) {
	p.planes(func(x, _ []float32) {
		mean := 0.0
		for _, v := range x {
			mean += float64(v)
		}
		mean /= float64(len(x))
		for j, v := range x {
			x[j] = float32(mean + float64((1-share)*(float64(v)-mean)))
		}
	})
}

func (p *corruptor) brightness(more float64) {
	for j, v := range p.x {
		p.x[j] = clamp(v + float32(more))
	}
}

func (p *corruptor) inverted(share float64) {
	for j, v := range p.x {
		p.x[j] = float32(float64(v) + float64(share*(1-float64(2*v))))
	}
}

// dottedLines draws lines from an edge to the opposite one, each horizontal or vertical with
// probability 1/2.
func (p *corruptor) dottedLines(lines float64) {
	for range int(lines) {
		n, width, along, aside := p.cols, p.rows, 1, p.cols
		if p.rand.Intn(2) == 1 {
			n, width, along, aside = p.rows, p.cols, p.cols, 1
		}
		var from, to int = p.rand.Intn(width), p.rand.Intn(width)
		for i := 0; i < n; i += 2 {
			steps := max(n-1, 1)
			at := from + ((to-from)*i*2+steps*(1+2*width))/(2*steps) - width // rounded, halves up
			p.planes(func(x, _ []float32) { x[i*along+at*aside] = 1 })
		}
	}
}

// The maps below take a position in the new image to the one in the old image that it comes
// from, both relative to the centre, y down.

func (p *corruptor) rotation(degrees float64) {
	sin, cos := sinCos(degrees)
	p.warp(affine{cos, -sin, sin, cos}, point{})
}

func (p *corruptor) shear(slant float64) {
	p.warp(affine{1, slant, 0, 1}, point{})
}

func (p *corruptor) translation(pixels float64) {
	shift := [4]point{{-pixels, 0}, {pixels, 0}, {0, -pixels}, {0, pixels}}
	p.warp(affine{1, 0, 0, 1}, shift[p.rand.Intn(4)])
}

// warp fills each pixel from the old position that m, then shift, map it to, by bilinear
// interpolation. Outside the image is black.
func (p *corruptor) warp(m affine, shift point) {
	copy(p.old, p.x)
	middle := point{float64(p.cols-1) / 2, float64(p.rows-1) / 2}
	p.planes(func(x, old []float32) {
		for r := range p.rows {
			for c := range p.cols {
				q := m.apply(point{float64(c) - middle.x, float64(r) - middle.y})
				q.x += middle.x + shift.x
				q.y += middle.y + shift.y
				x[r*p.cols+c] = p.between(old, q)
			}
		}
	})
}

// between interpolates a channel of the old image at q.
func (p *corruptor) between(old []float32, q point) float32 {
	left, top := math.Floor(q.x), math.Floor(q.y)
	x, y := q.x-left, q.y-top
	c, r := int(left), int(top)
	upper := float64((1-x)*p.at(old, r, c)) + float64(x*p.at(old, r, c+1))
	lower := float64((1-x)*p.at(old, r+1, c)) + float64(x*p.at(old, r+1, c+1))
	return float32(float64((1-y)*upper) + float64(y*lower))
}

func (p *corruptor) at(old []float32, r, c int) float64 {
	if r < 0 || r >= p.rows || c < 0 || c >= p.cols {
		return 0
	}
	return float64(old[r*p.cols+c])
}

const radian = 0.017453292519943295769 // pi/180

// sinCos returns the sine and cosine of an angle in degrees, -360 to 360. The angle is reduced
// to within 45 degrees of a multiple of 90, then the Taylor series run to the powers 17 and 18.
// Multiples of 90 are exact; the error elsewhere is below 4e-16.
func sinCos(degrees float64) (sin, cos float64) {
	quarter := math.Floor(degrees/90 + 0.5)
	a := float64((degrees - float64(90*quarter)) * radian)
	a2 := float64(a * a)
	sin, cos = 1, 1
	for n := 17.0; n > 1; n -= 2 { // Horner's rule from the highest power down
		sin = 1 - float64(sin*a2)/float64(n*(n-1))
		cos = 1 - float64(cos*a2)/float64((n+1)*n)
	}
	sin, cos = float64(sin*a), 1-float64(cos*a2)/2
	switch int(quarter) & 3 {
	case 1:
		return cos, -sin
	case 2:
		return -sin, -cos
	case 3:
		return -cos, sin
	}
	return sin, cos
}
