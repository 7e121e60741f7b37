package dataset

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"runtime"
	"slices"
	"testing"

	"dpnbench/internal/longtest"
)

// statistics skips, with -short, a test of properties that follow from the tested bits.
func statistics(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: the same bits on every machine (TestDigitsBits, TestCorruptedBits), and slow " +
			"under emulation")
	}
}

// draw is enough digits for several chunks of work and every style.
const draw = 700

func equal(a, b *Set) bool {
	return a.Shape == b.Shape && slices.Equal(a.Labels, b.Labels) && bytes.Equal(a.Pixels, b.Pixels)
}

// Every architecture and every later version must draw these bytes, because results are compared
// across both.
func TestDigitsBits(t *testing.T) {
	s := Digits(1, 0, 200)
	h := sha256.New()
	h.Write(s.Pixels)
	for i := range s.Len() {
		h.Write(s.AppendLabel(nil, i))
	}
	const want = "dad0313173f6368f1d34c4e6e2f3343c44c46f2dabef8e8f82329fb1857e2211"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("SHA-256 of the first 200 digits of seed 1 is %s, want %s", got, want)
	}
}

// Grey levels hide most differences of the last bit; the strokes show them.
func TestStrokesBits(t *testing.T) {
	var w writer
	h := sha256.New()
	for i := range uint64(500) {
		r := newStream(1, i)
		for _, st := range skeletons[r.intn(10)] {
			w.write(&st, r)
			w.fit(newPen(r).radius, r)
			for _, line := range w.lines {
				for _, p := range line {
					h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(p.x)))
					h.Write(binary.LittleEndian.AppendUint64(nil, math.Float64bits(p.y)))
				}
			}
		}
	}
	const want = "f972fba379fa27a2428a2b51d9d66ffe43d5da56a9c5b0a5c0c5e76d5d4e92a5"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("SHA-256 of the strokes of 500 digits is %s, want %s", got, want)
	}
}

func TestDigitsPiecesMakeTheWhole(t *testing.T) {
	longtest.Native(t)
	for _, first := range []int{0, 17, TestFirst} {
		whole := Digits(5, first, draw)
		r := newStream(9, uint64(first))
		pieces := 20
		if testing.Short() { // drawing is slow under emulation
			pieces = 5
		}
		for range pieces {
			lo := r.intn(draw + 1)
			n := r.intn(draw + 1 - lo)
			if !equal(Digits(5, first+lo, n), whole.Slice(lo, lo+n)) {
				t.Errorf("Digits(5, %d, %d) is not that piece of a bigger draw", first+lo, n)
			}
		}
	}
}

func TestDigitsDoNotDependOnThreads(t *testing.T) {
	want := Digits(2, 0, draw)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	counts := []int{1, 2, 3, 8}
	if testing.Short() {
		counts = counts[2:3]
	}
	for _, threads := range counts {
		runtime.GOMAXPROCS(threads)
		if !equal(Digits(2, 0, draw), want) {
			t.Errorf("%d threads draw other digits", threads)
		}
	}
}

func TestDigitsAreAllDifferent(t *testing.T) {
	statistics(t)
	seen := map[string]bool{}
	sets := []*Set{Digits(1, 0, draw), Digits(1, TestFirst, draw), Digits(2, 0, draw), Digits(1<<63, 0, draw)}
	for _, s := range sets {
		for i := range s.Len() {
			seen[string(s.Image(i))] = true
		}
	}
	if want := len(sets) * draw; len(seen) != want {
		t.Errorf("%d different images of %d: over seeds and splits none should come twice", len(seen), want)
	}
}

func TestDigitsLabelsAreBalancedAndUnpredictable(t *testing.T) {
	statistics(t)
	const n = 3000
	labels := Digits(4, 0, n).Labels
	var count [10]float64
	var pair [10][10]float64
	for i, l := range labels {
		if l > 9 {
			t.Fatalf("label %d of digit %d", l, i)
		}
		count[l]++
		if i > 0 {
			pair[labels[i-1]][l]++
		}
	}
	// Chi-squared with 9 and 99 degrees of freedom; the bounds are five
	// standard deviations above the means.
	var single, double float64
	for a := range count {
		single += (count[a] - n/10.0) * (count[a] - n/10.0) / (n / 10.0)
		for b := range count {
			double += (pair[a][b] - n/100.0) * (pair[a][b] - n/100.0) / (n / 100.0)
		}
	}
	if !(single <= 9+5*math.Sqrt(18)) {
		t.Errorf("labels are not balanced: %v", count)
	}
	if !(double <= 99+5*math.Sqrt(198)) {
		t.Errorf("successive labels are dependent: chi-squared %.0f with 99 degrees of freedom", double)
	}
}

// MNIST's images have their centre of mass in the middle and a frame of four
// empty pixels around a box of 20; the built-in digits do nearly.
func TestDigitsSitInTheirFrame(t *testing.T) {
	s := Digits(6, 0, draw)
	onEdge := 0
	for i := range s.Len() {
		var mass, mx, my float64
		x0, x1, y0, y1 := DigitSide, -1, DigitSide, -1
		for j, v := range s.Image(i) {
			x, y := j%DigitSide, j/DigitSide
			mass += float64(v)
			mx += float64(v) * float64(x)
			my += float64(v) * float64(y)
			if v > 0 {
				x0, x1, y0, y1 = min(x0, x), max(x1, x), min(y0, y), max(y1, y)
			}
		}
		if mass < 20*255 || mass > 450*255 {
			t.Fatalf("digit %d holds %.0f full pixels of ink", i, mass/255)
		}
		const middle = (DigitSide - 1) / 2.0
		if !(math.Abs(mx/mass-middle) <= 3.5) || !(math.Abs(my/mass-middle) <= 3.5) {
			t.Errorf("digit %d has its centre of mass at (%.1f, %.1f), want about %v", i, mx/mass, my/mass, middle)
		}
		if side := max(x1-x0, y1-y0) + 1; side < 16 || side > 24 {
			t.Errorf("digit %d is %d pixels large, want about 20", i, side)
		}
		if x0 == 0 || y0 == 0 || x1 == DigitSide-1 || y1 == DigitSide-1 {
			onEdge++
		}
	}
	if onEdge > draw/50 {
		t.Errorf("%d of %d digits touch the edge of their image", onEdge, draw)
	}
}

// The nearest of the ten class means is the simplest classifier; MNIST gives it
// 82%. Far more or less would mean that the digits became easier or harder than
// the package comment says.
func TestDigitsAreAsHardAsStated(t *testing.T) {
	statistics(t)
	const n = 4000
	train, test := Digits(1, 0, n), Digits(1, TestFirst, n/2)
	var mean [10][DigitSide * DigitSide]float64
	var count [10]float64
	for i, l := range train.Labels {
		count[l]++
		for j, v := range train.Image(i) {
			mean[l][j] += float64(v)
		}
	}
	right := 0
	for i, l := range test.Labels {
		best, at := math.Inf(1), 0
		for c := range mean {
			d := 0.0
			for j, v := range test.Image(i) {
				e := float64(v) - mean[c][j]/count[c]
				d += e * e
			}
			if d < best {
				best, at = d, c
			}
		}
		if at == int(l) {
			right++
		}
	}
	got := 100 * float64(right) / float64(test.Len())
	t.Logf("nearest class mean: %.1f%%", got)
	if got < 68 || got > 82 {
		t.Errorf("the nearest class mean is right for %.1f%%, want 68 to 82", got)
	}
}

func BenchmarkDigits(b *testing.B) {
	for b.Loop() {
		Digits(1, 0, 1000)
	}
	b.ReportMetric(float64(b.N)*1000/b.Elapsed().Seconds(), "images/s")
}
