package engine

import (
	"math"
	"testing"
	"unsafe"
)

// double returns a float64 near v that is no float32.
func double(v float32) float64 { return float64(v) * (1 + 0x1.8p-30) }

// mixed folds the bits of v into a float32 that is NaN if and only if v is, so that they can be compared
// like other results.
func mixed(v float64) float32 {
	if v != v {
		return float32(math.NaN())
	}
	b := math.Float64bits(v)
	return math.Float32frombits((uint32(b) ^ uint32(b>>32)) &^ (1 << 30))
}

// doubles returns the memory of x as float64.
func doubles(x []float32) []float64 {
	if len(x) < 2 {
		return nil
	}
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(x))), len(x)/2)
}

func TestParityAddRows(t *testing.T) { eachAssembly(t, (*parity).addRows) }

func (h *parity) addRows() {
	sample := func(places, n, rows, xs int, density float64) {
		sum := make([]float32, 2*n)
		for j := range doubles(sum) {
			doubles(sum)[j] = double(h.number(0))
		}
		at := make([]int32, rows+h.rng.IntN(3))
		for i := range at {
			at[i] = int32(h.rng.IntN(max(rows, 1)))
		}
		if rows == 0 {
			at = nil
		}
		h.same(places, func(kern *kernels, b [][]float32) {
			sum := doubles(b[0])
			kern.table.addRows(sum, b[1], xs, at)
			for j, v := range sum {
				if v != v {
					sum[j] = math.NaN() // the payload is not specified
				}
			}
		}, [][]float32{sum, h.numbers(span(rows, xs, n), density)}, "addRows: n %d, rows %d, xs %d", n, rows, xs)
	}
	for _, n := range tailLengths() {
		for i, density := range densities {
			sample(2, n, 3, n+i, density)
		}
		sample(inPlaces, n, 1, n, 0)
	}
	for n := range 40 {
		for _, rows := range []int{0, 1, 2, 5, 17} {
			for _, xs := range rowStrides(n) {
				sample(1, n, rows, xs, 0.01)
			}
		}
	}
}

// TestParityNormal compares normal numbers of random states, and of states that lead to the ends and the limits of
// the formulas.
func TestParityNormal(t *testing.T) { eachAssembly(t, (*parity).normal) }

func (h *parity) normal() {
	run := func(places, n int, state uint64) {
		h.same(places, func(kern *kernels, b [][]float32) { kern.table.normal(b[0], state) },
			[][]float32{make([]float32, n)}, "normal: %d numbers from %#x", n, state)
	}
	for n := 0; n <= 208; n += 16 {
		run(18, n, h.rng.Uint64())
	}
	for range 500 {
		run(1, 1024, h.rng.Uint64())
	}
	// Numbers whose lower 52 bits are near a limit: p = 0, exp(-25), 0.075 and 1/2.
	limits := []uint64{0, 125093, 3 << 53 / 40, 1 << 52}
	for _, limit := range limits {
		for range 300 {
			low := (limit + h.rng.Uint64N(1<<h.rng.IntN(20)) - h.rng.Uint64N(1<<h.rng.IntN(20))) & (1<<52 - 1)
			const golden = 0x9e3779b97f4a7c15
			at := uint64(h.rng.IntN(16)) // which of the vector it is
			run(1, 16, unmix64(h.rng.Uint64()<<52|low)-(at+1)*golden)
		}
	}
}

// unmix64 is the inverse of the finaliser of SplitMix64.
func unmix64(z uint64) uint64 {
	for _, step := range []struct {
		shift  int
		factor uint64
	}{{31, 0x94d049bb133111eb}, {27, 0xbf58476d1ce4e5b9}, {30, 1}} {
		z ^= z>>step.shift ^ z>>(2*step.shift)
		inverse := step.factor
		for range 5 { // Newton's method doubles the bits that are right
			inverse *= 2 - step.factor*inverse
		}
		z *= inverse
	}
	return z
}
