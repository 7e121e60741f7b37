package dataset

import (
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/engine/num"
	"dpnbench/internal/array"
)

// reference returns the arrays that testdata/mnistc.py has made by scikit-image, SciPy and ImageMagick.
func reference(t *testing.T) map[string][]float64 {
	t.Helper()
	f, err := array.Open("testdata/mnistc.npz", array.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	arrays := map[string][]float64{}
	for _, a := range f.Arrays {
		x := make([]float64, a.Len()*a.Width())
		if err := a.ReadRows(x, 0); err != nil {
			t.Fatal(err)
		}
		arrays[a.Name] = x
	}
	return arrays
}

// mnistcCases are the cases of testdata/mnistc.py: corruptions without draws, or with given ones.
func mnistcCases(from map[string][]float64) []struct {
	name    string
	corrupt func(p *corruptor)
} {
	var swaps []swap
	for s := from["swaps"]; len(s) > 0; s = s[4:] {
		swaps = append(swaps, swap{int32(28*s[0] + s[1]), int32(28*s[2] + s[3])})
	}
	var z []float32
	for _, v := range from["normal"] {
		z = append(z, float32(v))
	}
	return []struct {
		name    string
		corrupt func(p *corruptor)
	}{
		{"brightness", (*corruptor).mnistcBrightness},
		{"stripe", (*corruptor).mnistcStripe},
		{"scale", (*corruptor).mnistcScale},
		{"rotate +", func(p *corruptor) { p.mnistcRotateBy(1) }},
		{"rotate -", func(p *corruptor) { p.mnistcRotateBy(-1) }},
		{"shear +", func(p *corruptor) { p.mnistcShearBy(1) }},
		{"shear -", func(p *corruptor) { p.mnistcShearBy(-1) }},
		{"translate ++", func(p *corruptor) { p.mnistcTranslateBy(1, 1) }},
		{"translate +-", func(p *corruptor) { p.mnistcTranslateBy(1, -1) }},
		{"translate -+", func(p *corruptor) { p.mnistcTranslateBy(-1, 1) }},
		{"translate --", func(p *corruptor) { p.mnistcTranslateBy(-1, -1) }},
		{"canny", (*corruptor).mnistcCannyEdges},
		{"glass", func(p *corruptor) { p.mnistcGlass(swaps) }},
		{"motion -45", func(p *corruptor) { p.mnistcMotion(-45) }},
		{"motion -17.3", func(p *corruptor) { p.mnistcMotion(-17.3) }},
		{"motion 0", func(p *corruptor) { p.mnistcMotion(0) }},
		{"motion 31.4", func(p *corruptor) { p.mnistcMotion(31.4) }},
		{"spatter", func(p *corruptor) { p.mnistcSpatterFrom(z) }},
		{"dotted 3 24", func(p *corruptor) { p.mnistcDots(3, 24) }},
		{"dotted 26 0", func(p *corruptor) { p.mnistcDots(26, 0) }},
		{"zigzag 2 4", func(p *corruptor) { p.mnistcZigzagFrom(2, 4) }},
		{"zigzag 20 -5", func(p *corruptor) { p.mnistcZigzagFrom(20, -5) }},
		{"zigzag 13 0", func(p *corruptor) { p.mnistcZigzagFrom(13, 0) }},
	}
}

// TestMNISTCExact holds corruptions, by given draws, against independent implementations: no pixel
// differs by more than one of the 255 grey levels.
func TestMNISTCExact(t *testing.T) {
	from := reference(t)
	s := Digits(1, 0, len(from["digits"])/784)
	for j, v := range from["digits"] {
		if s.Pixels[j] != byte(v) {
			t.Fatal("testdata/mnistc.npz has other digits: make it again by mnistc.py")
		}
	}
	want := from["exact"]
	cases := mnistcCases(from)
	if len(want) != len(cases)*len(s.Pixels) {
		t.Fatalf("%d numbers for %d cases", len(want), len(cases))
	}
	for _, c := range cases {
		x := clean(s)
		for i := range s.Len() {
			p := &corruptor{rows: 28, cols: 28, x: x[i*784 : (i+1)*784], old: make([]float32, 784)}
			c.corrupt(p)
			p.round()
		}
		for j, v := range x {
			if d := math.Abs(255*float64(v) - want[j]); !(d <= 1.001) {
				t.Errorf("%s: image %d, row %d, column %d is %v, want %v", c.name, j/784, j/28%28, j%28, 255*v, want[j])
				break
			}
		}
		want = want[len(x):]
	}
}

// TestMNISTCMoments holds mean and variance of every pixel over 2,000 draws against those of an independent
// implementation, in standard errors of the difference.
func TestMNISTCMoments(t *testing.T) {
	statistics(t)
	from := reference(t)
	const draws = 2000
	s, at := Digits(1, 0, 1), make([]int32, 1)
	x := make([]float32, 784)
	for k, name := range []string{"shot-noise", "impulse-noise", "glass-blur", "motion-blur", "shear", "rotate",
		"translate", "fog", "spatter", "dotted-line", "zigzag"} {
		c := Corruption{mnistcPrefix + name, 1}
		var sum [4][784]float64 // of powers of the difference from the mean of the reference
		mean, variance := from["mean"][k*784:], from["variance"][k*784:]
		for seed := range uint64(draws) {
			if err := c.Floats(x, s, at, seed); err != nil {
				t.Fatal(err)
			}
			for j, v := range x {
				d := float64(v) - mean[j]
				for q, power := 0, d; q < 4; q, power = q+1, power*d {
					sum[q][j] += power / draws
				}
			}
		}
		// Where few draws change a pixel, its distribution is far from normal: at least the error of
		// one draw in 2,000.
		const one = 1. / draws
		var squares [2]float64
		var most [2]float64
		for j := range 784 {
			shift := sum[0][j]
			own := sum[1][j] - shift*shift
			fourth := sum[3][j] - 4*shift*sum[2][j] + 6*shift*shift*sum[1][j] - 3*math.Pow(shift, 4)
			z := [2]float64{
				shift / (math.Sqrt((own+variance[j])/draws) + one),
				(own - variance[j]) / (math.Sqrt(2*max(fourth-own*own, 0)/draws) + one),
			}
			for q, v := range z {
				squares[q] += v * v / 784
				most[q] = max(most[q], math.Abs(v))
			}
		}
		// Pixels depend on each other, so that the mean square is 1 only roughly. The largest of
		// 17,248 normal numbers is above 5 in one of 100 tests.
		t.Logf("%s: mean squares %.2f, largest %.1f", name, squares, most)
		for q, what := range []string{"mean", "variance"} {
			if !(squares[q] <= 2) || !(most[q] <= 5) {
				t.Errorf("%s: the %s differs by up to %.1f standard errors, mean square %.2f", name, what, most[q],
					squares[q])
			}
		}
	}
}

// TestMNISTCLevels checks that kinds of MNIST-C leave bytes, whatever the size and the channels, and that
// their names are those of its arrays.
func TestMNISTCLevels(t *testing.T) {
	var names []string
	for _, k := range CorruptionKinds() {
		if k.MNISTC() != "" {
			names = append(names, k.MNISTC())
		}
	}
	const want = "shot_noise impulse_noise glass_blur motion_blur shear scale rotate brightness translate stripe fog " +
		"spatter dotted_line zigzag canny_edges"
	if got := strings.Join(names, " "); got != want {
		t.Errorf("names %s, want %s", got, want)
	}
	r := num.NewRand(3, 0)
	for _, shape := range []Shape{Grey(1, 1), Grey(1, 40), Grey(2, 3), RGB(5, 3), Grey(28, 28), RGB(33, 300)} {
		s := &Set{Shape: shape, Pixels: make([]byte, 2*shape.Len())}
		for j := range s.Pixels {
			s.Pixels[j] = byte(r.Intn(256))
		}
		for _, c := range MNISTCSuite() {
			for j, v := range corrupted(t, s, c.String()) {
				if level := math.Round(255 * float64(v)); !(level >= 0 && level <= 255) || v != float32(level)/255 {
					t.Fatalf("%v, %v: number %d is %v, want a byte over 255", c, shape, j, v)
				}
			}
		}
	}
}

// TestMNISTCBlack checks that fog is proportional to the brightest pixel: a black image stays black.
func TestMNISTCBlack(t *testing.T) {
	if x := corrupted(t, flat(3, 0), "mnistc-fog"); slices.Max(x) != 0 {
		t.Errorf("fog of up to %v on black images", slices.Max(x))
	}
}

func TestExpMinus(t *testing.T) {
	for x := 0.0; x <= 32; x += 0.173 {
		if got, want := expMinus(x), math.Exp(-x); !(math.Abs(got-want) <= 2e-14*want) {
			t.Errorf("expMinus(%v) = %v, want %v", x, got, want)
		}
	}
}

// BenchmarkMNISTC times each kind of MNIST-C on an image.
func BenchmarkMNISTC(b *testing.B) {
	s := Digits(1, 0, 1)
	x := make([]float32, 784)
	for _, c := range MNISTCSuite() {
		p := &corruptor{rows: 28, cols: 28, x: x, old: make([]float32, 784), rand: num.NewRand(1, 1)}
		b.Run(c.Name, func(b *testing.B) {
			for b.Loop() {
				s.Floats(x, []int32{0})
				c.kind().corrupt(p, 1)
			}
		})
	}
}
