package dataset

import (
	"math"
	"slices"
	"strings"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// The fifteen corruptions of MNIST-C (Mu and Gilmer, MNIST-C: A robustness benchmark for computer vision,
// arXiv:1906.02337), as the generator of its arrays defines them. That uses scikit-image, SciPy and
// ImageMagick: constants and the order of operations below are theirs. Levels are rounded to bytes at the
// end, as those of the arrays are.
//
// The definitions are for grey images of 28 x 28. Here lengths in pixels stay what they are in images of
// other sizes, and centres, quarters and ends of lines move with the size. Every channel is corrupted like
// a grey image, by the same random numbers except for noise.

// mnistcPrefix is what names of MNIST-C begin with.
const mnistcPrefix = "mnistc-"

// MNISTCSuite lists the corruptions of MNIST-C in the order of its publication.
func MNISTCSuite() []Corruption {
	var list []Corruption
	for _, k := range corruptionKinds {
		if k.MNISTC() != "" {
			list = append(list, Corruption{k.Name, 1})
		}
	}
	return list
}

// MNISTC returns the name of a kind in MNIST-C, such as shot_noise; empty: it is none of it.
func (k CorruptionKind) MNISTC() string {
	name, ok := strings.CutPrefix(k.Name, mnistcPrefix)
	if !ok {
		return ""
	}
	return strings.ReplaceAll(name, "-", "_")
}

// published returns a kind of MNIST-C, which has one severity.
func published(name, effect string, corrupt func(p *corruptor)) CorruptionKind {
	return CorruptionKind{Name: mnistcPrefix + strings.ReplaceAll(name, "_", "-"), Effect: effect,
		Unit: "1: as published", Min: 1, Max: 1, Whole: true, Suite: [3]float64{1, 1, 1},
		corrupt: func(p *corruptor, _ float64) {
			corrupt(p)
			p.round()
		}}
}

// mnistcMemory is the scratch memory of a corruptor.
type mnistcMemory struct {
	wide, down, right, size []float64 // planes: levels, a gradient and its magnitude
	line                    []float64 // of a filter, with what is beyond its ends
	heights                 []float32 // of the plasma
	ink                     []float32 // of lines, a plane
	swaps                   []swap
	todo                    []int32 // edges that lead on
}

// round rounds all levels to bytes, halves up. The little more covers the rounding of float32.
func (p *corruptor) round() {
	for j, v := range p.x {
		p.x[j] = float32(math.Floor(float64(255*float64(clamp(v)))+0.5001)) / 255
	}
}

// widen returns a plane of levels that are bytes over 255, in float64.
func (p *corruptor) widen(x []float32) []float64 {
	y := engine.Grow(&p.mnistc.wide, len(x))
	for j, v := range x {
		y[j] = math.Floor(float64(255*float64(v))+0.5) / 255
	}
	return y
}

func narrow(x []float32, y []float64) {
	for j, v := range y {
		x[j] = float32(v)
	}
}

// sign draws -1 or 1.
func (p *corruptor) sign() float64 {
	var plus int = p.rand.Intn(2)
	return float64(2*plus - 1)
}

func (p *corruptor) mnistcShotNoise() {
	const photons = 3 // at grey level 1
	for j, v := range p.x {
		if v > 0 {
			p.x[j] = float32(min(poisson(p.rand, float64(photons*float64(v))), photons)) / photons
		}
	}
}

func (p *corruptor) mnistcImpulseNoise() { p.saltPepper(0.17) }

func (p *corruptor) mnistcBrightness() { p.brightness(0.5) }

// Sine and cosine of 0.4, by which images are sheared and rotated.
const (
	sinTurn = 0.38941834230865049167
	cosTurn = 0.92106099400288508280
)

func (p *corruptor) mnistcShear() { p.mnistcShearBy(p.sign()) }

// mnistcShearBy shears as scikit-image did when MNIST-C was made: it also stretches the image by 1/cosTurn.
func (p *corruptor) mnistcShearBy(sign float64) {
	p.warp(affine{1, -float64(sign * sinTurn), 0, cosTurn}, point{})
}

func (p *corruptor) mnistcRotate() { p.mnistcRotateBy(p.sign()) }

func (p *corruptor) mnistcRotateBy(sign float64) {
	sin := float64(sign * sinTurn)
	p.warp(affine{cosTurn, -sin, sin, cosTurn}, point{})
}

func (p *corruptor) mnistcScale() { p.warp(affine{1 / 0.7, 0, 0, 1 / 0.7}, point{}) }

func (p *corruptor) mnistcTranslate() {
	right := p.sign()
	p.mnistcTranslateBy(right, p.sign())
}

func (p *corruptor) mnistcTranslateBy(right, down float64) {
	const pixels = 3
	p.warp(affine{1, 0, 0, 1}, point{float64(pixels * right), float64(pixels * down)})
}

// mnistcStripe inverts the left and the right quarter.
func (p *corruptor) mnistcStripe() {
	quarter := p.cols / 4
	for j := range p.x {
		if c := j % p.cols; c < quarter || c >= p.cols-quarter {
			p.x[j] = 1 - p.x[j]
		}
	}
}

// swap exchanges two pixels.
type swap struct{ a, b int32 }

func (p *corruptor) mnistcGlassBlur() {
	p.mnistc.swaps = p.mnistc.swaps[:0]
	for range 2 {
		for r := p.rows - 1; r >= 2; r-- {
			for c := p.cols - 1; c >= 2; c-- {
				u := p.rand.Uint64() >> 61 // one bit each: whether, left, up
				if u&1 != 0 {
					at, to := r*p.cols+c, r*p.cols+c
					if u&2 != 0 {
						to--
					}
					if u&4 != 0 {
						to -= p.cols
					}
					p.mnistc.swaps = append(p.mnistc.swaps, swap{int32(at), int32(to)})
				}
			}
		}
	}
	p.mnistcGlass(p.mnistc.swaps)
}

// mnistcGlass blurs, swaps, one after the other, and blurs again. The generator has scikit-image take the
// columns for channels, so that it blurs along columns only.
func (p *corruptor) mnistcGlass(swaps []swap) {
	p.planes(func(x, _ []float32) {
		y := p.widen(x)
		p.filter(y, blur07, true, false)
		for j, v := range y {
			y[j] = math.Floor(float64(255*v)) / 255
		}
		for _, s := range swaps {
			y[s.a], y[s.b] = y[s.b], y[s.a]
		}
		p.filter(y, blur07, true, false)
		narrow(x, y)
	})
}

// Gaussian filters of these standard deviations in tenths of a pixel.
var blur07, blur10, blur15 = gaussianFilter(0.7), gaussianFilter(1), gaussianFilter(1.5)

// gaussianFilter returns the weights of a Gaussian from the centre up to four standard deviations, SciPy's
// default. All of both sides sum to 1.
func gaussianFilter(sigma float64) []float64 {
	w := []float64{1}
	sum := 1.0
	for i := 1; i <= int(float64(4*sigma)+0.5); i++ {
		w = append(w, expMinus(float64(i*i)/float64(2*sigma*sigma)))
		sum += float64(2 * w[i])
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}

// expMinus returns e^-x for x from 0 to 32, to about 1e-14, with the same bits on every machine: the Taylor
// series of e^(-x/32), then the 32nd power.
func expMinus(x float64) float64 {
	y, s := x/32, 1.0
	for n := 20.0; n >= 1; n-- {
		s = 1 - float64(y*s)/n
	}
	for range 5 {
		s = float64(s * s)
	}
	return s
}

// filter filters the lines of a plane, or its columns if down is set, by weights from the centre. Beyond
// the ends of a line are zeros or, unless zero is set, the last number.
func (p *corruptor) filter(x, w []float64, down, zero bool) {
	lines, n, skip, step := p.rows, p.cols, p.cols, 1
	if down {
		lines, n, skip, step = p.cols, p.rows, 1, p.cols
	}
	reach := len(w) - 1
	line := engine.Grow(&p.mnistc.line, n+2*reach)
	for l := range lines {
		for j := range n + 2*reach {
			line[j] = 0
			if at := j - reach; !zero || at >= 0 && at < n {
				line[j] = x[l*skip+min(max(at, 0), n-1)*step]
			}
		}
		for j := range n {
			sum := float64(w[0] * line[j+reach])
			for i := reach; i > 0; i-- { // SciPy's order
				sum += float64(w[i] * (line[j+reach-i] + line[j+reach+i]))
			}
			x[l*skip+j*step] = sum
		}
	}
}

// motionBlur has the weights of ImageMagick's motion blur of radius 10 and sigma 3, half a Gaussian.
var motionBlur = func() (w [21]float64) {
	sum := 0.0
	for i := range w {
		w[i] = expMinus(float64(i*i) / 18)
		sum += w[i]
	}
	for i := range w {
		w[i] /= sum
	}
	return w
}()

func (p *corruptor) mnistcMotionBlur() { p.mnistcMotion(float64(90*p.rand.Float64()) - 45) }

// mnistcMotion smears an image along a line: of an angle in degrees, from the left to the right and down.
func (p *corruptor) mnistcMotion(degrees float64) {
	sin, cos := sinCos(degrees)
	var right, down [len(motionBlur)]int
	for i := range motionBlur {
		right[i] = int(math.Ceil(float64(float64(i)*cos) - 0.5))
		down[i] = int(math.Ceil(float64(float64(i)*sin) - 0.5))
	}
	copy(p.old, p.x)
	p.planes(func(x, old []float32) {
		for j := range x {
			r, c, sum := j/p.cols, j%p.cols, 0.0
			for i, w := range motionBlur {
				r, c := min(max(r+down[i], 0), p.rows-1), min(max(c+right[i], 0), p.cols-1)
				sum += float64(w * float64(old[r*p.cols+c]))
			}
			x[j] = float32(sum)
		}
	})
}

func (p *corruptor) mnistcFog() {
	const dense = 3 // grey level of the densest fog
	p.plasma()
	heights := p.mnistc.heights
	lo, hi := slices.Min(heights), slices.Max(heights)
	p.planes(func(x, _ []float32) {
		most := slices.Max(x)
		share := most / (most + dense)
		for j, v := range x {
			height := (heights[j/p.cols%plasmaSide*plasmaSide+j%p.cols%plasmaSide] - lo) / (hi - lo)
			x[j] = float32((v + float32(dense*height)) * share)
		}
	})
}

// plasmaSide is that of the plasma, whose opposite edges join: larger images repeat it.
const plasmaSide = 256

// plasma draws a fractal landscape by the diamond-square method: the middles of squares, then those of
// edges are the mean of their four neighbours and uniform noise, whose amplitude is squared and falls by
// 1.4^2 at each halving.
func (p *corruptor) plasma() {
	const side, mask, decay = plasmaSide, plasmaSide - 1, 1.4
	m := engine.Grow(&p.mnistc.heights, side*side)
	m[0] = 0
	wibble := 100.0
	for step := side; step >= 2; step /= 2 {
		half, amplitude := step/2, float32(wibble*wibble)
		mean := func(a, b, c, d float32) float32 {
			return (a+b+c+d)/4 + float32(amplitude*(float32(2*p.rand.Float32())-1))
		}
		for r := 0; r < side; r += step {
			upper, lower := m[r*side:(r+1)*side], m[(r+step)&mask*side:]
			for c := 0; c < side; c += step {
				right := (c + step) & mask
				m[(r+half)*side+c+half] = mean(upper[c], upper[right], lower[c], lower[right])
			}
		}
		for r := 0; r < side; r += step {
			upper, lower := m[r*side:(r+1)*side], m[(r+step)&mask*side:]
			middle, above := m[(r+half)*side:(r+half+1)*side], m[(r-half)&mask*side:]
			for c := 0; c < side; c += step {
				right, left := (c+step)&mask, (c-half)&mask
				upper[c+half] = mean(upper[c], upper[right], middle[c+half], above[c+half])
				middle[c] = mean(upper[c], lower[c], middle[c+half], middle[left])
			}
		}
		wibble /= decay
	}
}

func (p *corruptor) mnistcSpatter() {
	z := engine.Grow(&p.mnistc.ink, p.rows*p.cols)
	p.rand.Normal(z)
	p.mnistcSpatterFrom(z)
}

// mnistcSpatterFrom covers an image with mud where smooth noise, made of normal numbers z, is high.
func (p *corruptor) mnistcSpatterFrom(z []float32) {
	const mean, std, level, least, mud = 0.65, 0.3, 0.65, 0.8, 63. / 255
	m := engine.Grow(&p.mnistc.wide, len(z))
	for j, v := range z {
		m[j] = mean + float64(std*float64(v))
	}
	p.filter(m, blur10, true, false)
	p.filter(m, blur10, false, false)
	for j, v := range m {
		m[j] = 0
		if v > level {
			m[j] = 1
		}
	}
	p.filter(m, blur15, true, false)
	p.filter(m, blur15, false, false)
	p.planes(func(x, _ []float32) {
		for j, v := range m {
			if v >= least {
				x[j] = float32(float64(float64(x[j])*(1-v)) + float64(mud*v))
			}
		}
	})
}

func (p *corruptor) mnistcDottedLine() {
	from := p.rand.Intn(max(p.rows-1, 1))
	p.mnistcDots(from, p.rand.Intn(max(p.rows-1, 1)))
}

// mnistcDots draws a line from one row at the left to another one at the right, dotted: of four columns the last two.
func (p *corruptor) mnistcDots(from, to int) {
	ink := p.noInk()
	p.stroke(point{0, float64(from)}, point{float64(p.cols - 1), float64(to)})
	for j := range ink {
		if j%p.cols/2%2 == 0 {
			ink[j] = 0
		}
	}
	p.addInk()
}

func (p *corruptor) mnistcZigzag() {
	from := p.rand.Intn(max(p.rows-1, 1))
	p.mnistcZigzagFrom(from, p.rand.Intn(10)-5)
}

// mnistcZigzagFrom draws a zigzag whose axis begins in a row and comes down by some, up if that is
// negative. Images of fewer than 6 columns have none.
func (p *corruptor) mnistcZigzagFrom(row, down int) {
	const length, width, first = 2.0, 2.0, 2.0 // half a length, half a width, and the first column
	rise, run := float64(down), float64(p.cols-3)-first
	if run <= 0 {
		return
	}
	d := math.Sqrt(float64(run*run) + float64(rise*rise))
	ends, last := []point{{}}, 0.0
	for x := length; x <= d; x += 2 * length {
		if last = -last; last == 0 {
			last = width
		}
		ends = append(ends, point{x, last})
	}
	if whole := float64(2 * length * math.Floor(d/(2*length))); d != whole {
		ends = append(ends, point{d, last / float64(2*(d-whole))})
	}
	turn := affine{run / d, -rise / d, rise / d, run / d}
	for i, q := range ends {
		q = turn.apply(q)
		ends[i] = point{q.x + first, q.y + float64(row)}
	}
	p.noInk()
	for i := range ends[1:] {
		p.stroke(ends[i], ends[i+1])
	}
	p.addInk()
}

// noInk clears the plane that strokes are drawn on.
func (p *corruptor) noInk() []float32 {
	ink := engine.Grow(&p.mnistc.ink, p.rows*p.cols)
	clear(ink)
	return ink
}

// addInk adds the strokes to every channel.
func (p *corruptor) addInk() {
	p.planes(func(x, _ []float32) {
		for j, v := range p.mnistc.ink {
			x[j] = min(x[j]+v, 1)
		}
	})
}

// stroke draws a line from a to b, which is on the right of a, on the ink: 1 + log(1 - d/2.3) at d rows from
// it. The column where it ends is left out.
func (p *corruptor) stroke(a, b point) {
	const fade, faint = 2.3, 0.36 // below e^-1 there is no ink
	if !(b.x > a.x) {
		return
	}
	slope := (b.y - a.y) / (b.x - a.x)
	for c := max(int(math.Floor(a.x)), 0); c < min(int(math.Ceil(b.x)), p.cols); c++ {
		middle := float64(slope*(float64(c)-a.x)) + a.y
		for r := range p.rows {
			if u := 1 - math.Abs(float64(r)-middle)/fade; u > faint {
				p.mnistc.ink[r*p.cols+c] += min(max(1+num.Log32(float32(u)), 0), 1)
			}
		}
	}
}
