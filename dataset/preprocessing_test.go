package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpnbench/engine/num"
	"dpnbench/internal/longtest"
)

// everyPreprocessing are all kinds that do something.
var everyPreprocessing = []Preprocessing{
	{Contrast: true}, {Centre: CentreMass}, {Centre: CentreMoments},
	{Contrast: true, Centre: CentreMass}, {Contrast: true, Centre: CentreMoments},
	{RMS: true}, {Contrast: true, Centre: CentreMoments, RMS: true},
}

// preprocessed returns what p makes of an image.
func preprocessed(p Preprocessing, s Shape, x []float32) []float32 {
	x, q := slices.Clone(x), p.For(s)
	q.Apply(x, make([]float32, q.Scratch()))
	return x
}

// digit returns the levels of built-in digit i on a black canvas, its corner at a row and a column.
func digit(i, rows, cols, row, col int) []float32 {
	s := Digits(1, i, 1)
	x := make([]float32, rows*cols)
	for j, v := range s.Image(0) {
		x[(row+j/s.Cols)*cols+col+j%s.Cols] = float32(v) / 255
	}
	return x
}

// furthest returns the largest difference of two images.
func furthest(x, y []float32) float64 {
	most := 0.0
	for j, v := range x {
		if d := math.Abs(float64(v) - float64(y[j])); !(d <= most) { // also NaN
			most = d
		}
	}
	return most
}

// TestContrastInvariance checks that the contrast normalisation undoes changes of brightness, contrast and sign, and
// backgrounds that are the sum of a function of the row and one of the column.
func TestContrastInvariance(t *testing.T) {
	s, p := Grey(28, 28), Preprocessing{Contrast: true}
	inBand := func(i int) float32 {
		if i < 7 || i > 20 {
			return 1
		}
		return 0
	}
	changes := map[string]func(v float32, r, c int) float32{
		"brighter":     func(v float32, _, _ int) float32 { return v + 0.25 },
		"fainter":      func(v float32, _, _ int) float32 { return 0.25*v + 0.5 },
		"negative":     func(v float32, _, _ int) float32 { return 1 - v },
		"row bands":    func(v float32, r, _ int) float32 { return v + inBand(r)*(1-2*v) },
		"column bands": func(v float32, _, c int) float32 { return v + inBand(c)*(1-2*v) },
		"gradient":     func(v float32, r, c int) float32 { return 0.5*v + 0.25*float32(r+c)/54 },
		"steps":        func(v float32, r, c int) float32 { return 0.5*v + 0.25*inBand(r) + 0.25*inBand(c) },
	}
	for name, change := range changes {
		most := 1e-5
		if name == "gradient" { // medians near the corners are of places further inside
			most = 0.1
		}
		for i := range 20 {
			x := digit(i, 28, 28, 0, 0)
			y := slices.Clone(x)
			for j, v := range y {
				y[j] = change(v, j/28, j%28)
			}
			if d := furthest(preprocessed(p, s, x), preprocessed(p, s, y)); !(d <= most) {
				t.Errorf("%s: digit %d differs by %v", name, i, d)
			}
		}
	}
}

// TestCentreShift checks that an image that is shifted by whole pixels becomes the same, to the bit, and one that was
// centred stays where it is, nearly.
func TestCentreShift(t *testing.T) {
	longtest.Native(t)
	const side = 40
	s := Grey(side, side)
	for _, p := range everyPreprocessing {
		if p.Centre == "" {
			continue
		}
		for i := range 20 {
			want := preprocessed(p, s, digit(i, side, side, 6, 6))
			for _, at := range [][2]int{{3, 3}, {9, 3}, {4, 9}, {7, 6}} {
				if got := preprocessed(p, s, digit(i, side, side, at[0], at[1])); !slices.Equal(got, want) {
					t.Errorf("%+v: digit %d at %v differs by %v from that at 6, 6", p, i, at, furthest(got, want))
				}
			}
			at := moments(p, s, want)
			if r, c := float64(at.row)+at.fracR, float64(at.col)+at.fracC; !(math.Hypot(r-19.5, c-19.5) <= 0.5) {
				t.Errorf("%+v: the mass of digit %d is at %.2f, %.2f, expected the middle", p, i, r, c)
			}
			if p.Centre == CentreMoments && !(math.Abs(at.slant) <= 0.15 && math.Abs(at.size-1) <= 0.15) {
				t.Errorf("%+v: digit %d has slant %.2f and size %.2f, expected 0 and 1", p, i, at.slant, at.size)
			}
		}
	}
}

// moments returns where an image is.
func moments(p Preprocessing, s Shape, x []float32) placement {
	b, old := slices.Clone(x), make([]float32, len(x))
	for range 2 {
		box(old, b, s.Rows, s.Cols)
	}
	at, _ := p.For(s).place(b)
	return at
}

// TestCentreLargest checks that the moments of the largest images do not overflow: of a white one the middle is the
// centre of mass.
func TestCentreLargest(t *testing.T) {
	longtest.Native(t)
	const n = mostCentred
	x := make([]float32, n*n)
	for j := range x {
		x[j] = 1
	}
	p := Preprocessing{Centre: CentreMoments}.For(Grey(n, n))
	at, ok := p.place(x)
	want := placement{n/2 - 1, n/2 - 1, 0.5, 0.5, SizeLimit, 0}
	if !ok || at != want {
		t.Errorf("%+v, %v, want %+v", at, ok, want)
	}
}

// TestRMS checks that the root mean square of an image becomes its power 3/4, up to a factor, and that below RMSFloor
// images keep their share.
func TestRMS(t *testing.T) {
	for _, s := range []Shape{Grey(1, 1), Grey(3, 7), RGB(8, 6), Grey(28, 28)} {
		x := make([]float32, s.Len())
		num.NewRand(3, 0).Uniform(x, 0.5, 1)
		for _, want := range []float64{1, 0.5, RMSFixed, 0.1, RMSFloor, RMSFloor / 2} {
			scaled := slices.Clone(x)
			for j := range scaled {
				scaled[j] *= float32(want / rootMeanSquare(x))
			}
			got := rootMeanSquare(preprocessed(Preprocessing{RMS: true}, s, scaled))
			if made := want * math.Pow(RMSFixed/max(want, RMSFloor), 0.25); !(math.Abs(got-made) <= 1e-6) {
				t.Errorf("%v: the root mean square %v becomes %v, want %v", s, want, got, made)
			}
		}
	}
}

func rootMeanSquare(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(len(x)))
}

// TestPreprocessingShapes preprocesses noise, blank and constant images of all sorts of shapes: what comes out is in
// [0, 1], or with RMS below what the darkest images are multiplied by, and nothing where there is no contrast.
func TestPreprocessingShapes(t *testing.T) {
	r := num.NewRand(1, 0)
	for _, s := range []Shape{Grey(1, 1), Grey(1, 9), Grey(2, 3), Grey(5, 4), Grey(28, 28), RGB(8, 6), RGB(57, 33)} {
		for _, p := range everyPreprocessing {
			x := make([]float32, s.Len())
			if y := preprocessed(p, s, x); furthest(x, y) != 0 {
				t.Errorf("%+v: a blank image of %v becomes %v", p, s, y)
			}
			r.Uniform(x, 0, 1)
			for _, v := range preprocessed(p, s, x) {
				if most := math.Pow(RMSFixed/RMSFloor, 0.25); !(v >= 0 && (v <= 1 || p.RMS && float64(v) <= most)) {
					t.Fatalf("%+v: noise of %v becomes %v", p, s, v)
				}
			}
			for j := range x {
				x[j] = 0.7
			}
			if y := preprocessed(p, s, x); p.Contrast && slices.Max(y) != 0 {
				t.Errorf("%+v: a constant image of %v becomes %v", p, s, y)
			}
		}
	}
	for _, err := range []error{
		Preprocessing{Contrast: true}.Check(Vector(3)), Preprocessing{Centre: "x"}.Check(Grey(2, 2)),
		Preprocessing{Centre: CentreMass}.Check(Grey(1, mostCentred+1)),
	} {
		if err == nil {
			t.Error("no error")
		}
	}
}

// TestOrderStatistics compares medians and the k-th largest with sorting.
func TestOrderStatistics(t *testing.T) {
	r := num.NewRand(2, 0)
	for n := 1; n <= borderWindow; n++ {
		for range 20 {
			x := make([]float32, n)
			for j := range x {
				x[j] = float32(r.Intn(6))
			}
			sorted := slices.Sorted(slices.Values(x))
			for k := range n {
				if got, want := largest(slices.Clone(x), k), sorted[n-1-k]; got != want {
					t.Fatalf("number %d of %v is %v, want %v", k, x, got, want)
				}
			}
			if got, want := median(x), (sorted[(n-1)/2]+sorted[n/2])/2; got != want {
				t.Fatalf("median of %v is %v, want %v", sorted, got, want)
			}
		}
	}
}

// TestPreprocessingBits checks that every machine makes the same bits of the built-in digits.
func TestPreprocessingBits(t *testing.T) {
	want := []string{"b917c59850f2661f", "1d45a52130e43504", "1fb852c13b1e03d0", "bda6fdab15f28707", "e94b2a46d3e592d1",
		"20aa272c15b674d5", "d6e291be09847ea1"}
	for k, p := range everyPreprocessing {
		h, b := sha256.New(), []byte(nil)
		for i := range 50 {
			for _, v := range preprocessed(p, Grey(28, 28), digit(i, 28, 28, 0, 0)) {
				b = binary.LittleEndian.AppendUint32(b[:0], math.Float32bits(v))
				h.Write(b)
			}
		}
		if got := hex.EncodeToString(h.Sum(nil))[:16]; got != want[k] {
			t.Errorf("%s: hash %s, want %s", fmt.Sprintf("%+v", p), got, want[k])
		}
	}
}
