package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"runtime"
	"testing"

	"dpnbench/engine/num"
)

func TestTable(t *testing.T) {
	for _, n := range []Normalization{MNISTNorm, DigitsNorm, Uniform(0, 1)} {
		table := n.Table(0)
		for v, got := range table {
			want := (float64(v)/255 - float64(n.Mean[0])) / float64(n.Std[0])
			if !(math.Abs(float64(got)-want) <= 4e-7) {
				t.Errorf("%+v: level %d maps to %g, want %g", n, v, got, want)
			}
			if v > 0 && got <= table[v-1] {
				t.Errorf("%+v: level %d maps to %g, not above level %d", n, v, got, v-1)
			}
		}
	}
}

// TestUndo inverts the normalisation.
func TestUndo(t *testing.T) {
	for _, n := range []Normalization{MNISTNorm, DigitsNorm, Uniform(0, 1)} {
		table := n.Table(0)
		for v, got := range n.Undo(table[:]) {
			if want := float64(v) / 255; !(math.Abs(float64(got)-want) <= 2e-7) {
				t.Errorf("%+v: level %d comes back as %g, want %g", n, v, got, want)
			}
		}
	}
}

// The bits decide what a network sees; every architecture must have these.
func TestTableBits(t *testing.T) {
	h := sha256.New()
	for _, v := range MNISTNorm.Table(0) {
		h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
	}
	const want = "0103dbab6b16bfcaea0aa75d7377b4b22bb6792081600921bee4a17ff9c4d33e"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("SHA-256 of the MNIST table is %s, want %s", got, want)
	}
}

func TestDigitsNormFitsAFreshDraw(t *testing.T) {
	statistics(t)
	const n = 6000
	var sum, square, count float64
	for _, v := range Digits(20, 0, n).Pixels {
		x := float64(v) / 255
		sum += x
		square += x * x
		count++
	}
	mean := sum / count
	std := math.Sqrt(square/count - mean*mean)
	// The mean of a digit varies by 0.05 from digit to digit: four standard
	// errors of 1500 are 0.005.
	if !(math.Abs(mean-float64(DigitsNorm.Mean[0])) <= 0.005) || !(math.Abs(std-float64(DigitsNorm.Std[0])) <= 0.005) {
		t.Errorf("fresh digits have mean %.4f and standard deviation %.4f, DigitsNorm says %+v", mean, std, DigitsNorm)
	}
}

// TestNormalizationCheck holds the bounds of the levels of images, and that features may vary by any number above 0.
func TestNormalizationCheck(t *testing.T) {
	for _, c := range []struct {
		mean, std     float32
		image, vector bool
	}{
		{0, 1, true, true}, {1e6, 1.1e-9, true, true}, {-1e6, 1e6, true, true},
		{0, 9e-10, false, true}, {0, 1e-30, false, true}, {0, 1.1e6, false, true}, {-1.1e6, 1, false, true},
		{0, 0, false, false}, {0, -1, false, false}, {0, float32(math.NaN()), false, false},
	} {
		n := Uniform(c.mean, c.std)
		image, vector := n.Check(Grey(2, 2)), n.Check(Vector(3))
		if (image == nil) != c.image || (vector == nil) != c.vector {
			t.Errorf("%v, %v: %v of images, %v of vectors", c.mean, c.std, image, vector)
		}
	}
}

// The features are measured by several threads, which change no bit.
func TestNormalizationThreads(t *testing.T) {
	const n, d = 4096, 77
	s := &Set{Shape: Vector(d), Values: make([]float32, n*d)}
	r := num.NewRand(1, 0)
	r.Normal(s.Values)
	for i := range n {
		s.Values[i*d+5] = 3 // constant
	}
	got := NormalizationOf(s)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if want := NormalizationOf(s); !got.Equal(want) || got.Mean[5] != 3 || got.Std[5] != 1 {
		t.Errorf("%v with all threads, %v with one", got, want)
	}
}
