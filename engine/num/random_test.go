package num

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"testing"
)

// TestTorch compares numbers with those of PyTorch 1.13: torch.manual_seed(1), torch.empty(700).uniform_(-1/3, 1/3).
// The first 624 are of one state of the twister, the others of the next.
func TestTorch(t *testing.T) {
	all := make([]float32, 700)
	NewTorch(1).Uniform(all, -1.0/3, 1.0/3)
	for i, want := range map[int]float32{0: 0.1717544, 1: -0.14712608, 2: -0.064620495,
		623: 0.04922712, 624: 0.21485615, 699: 0.23463905} {
		if all[i] != want {
			t.Errorf("number %d is %v, want %v", i, all[i], want)
		}
	}
}

// TestRandomBits compares the streams with committed hashes. They must never change, because seeds
// identify results.
func TestRandomBits(t *testing.T) {
	h := sha256.New()
	floats := make([]float32, 10000)
	r := NewRand(1, 2)
	r.Normal(floats)
	binary.Write(h, binary.LittleEndian, floats)
	r.Uniform(floats, -3, 5)
	binary.Write(h, binary.LittleEndian, floats)
	p := make([]int32, 1000)
	r.Permutation(p)
	binary.Write(h, binary.LittleEndian, p)
	binary.Write(h, binary.LittleEndian, []uint64{r.Uint64(), uint64(r.Intn(1e9)), math.Float64bits(r.Float64())})
	const want = "5703d4e4fc1ba1d5927b90024999a6def9ae474af92379b1a1dbbf346eb7464c"
	if got := hex.EncodeToString(h.Sum(nil)); got != want {
		t.Errorf("the random numbers hash to %s, want %s", got, want)
	}
	if NewRand(1, 2).Uint64() == NewRand(1, 3).Uint64() || NewRand(1, 2).Uint64() == NewRand(2, 2).Uint64() {
		t.Error("streams are equal")
	}
}

// TestDistributions compares moments and tails with their known values, within five standard errors.
func TestDistributions(t *testing.T) {
	const n = 400000
	x := make([]float32, n)
	r := NewRand(3, 0)
	near := func(name string, got, want, standardError float64) {
		t.Helper()
		if !(math.Abs(got-want) <= 5*standardError) {
			t.Errorf("%s: %v, want %v within %v", name, got, want, 5*standardError)
		}
	}
	root := math.Sqrt(n)

	r.Normal(x)
	var m [5]float64
	below := map[float64]float64{-3: 0, -1: 0, 0: 0, 0.5: 0, 2: 0, 3.5: 0}
	for _, v := range x {
		for i, p := 1, float64(v); i <= 4; i, p = i+1, p*float64(v) {
			m[i] += p / n
		}
		for q := range below {
			if float64(v) < q {
				below[q] += 1.0 / n
			}
		}
	}
	near("mean", m[1], 0, 1/root)
	near("second moment", m[2], 1, math.Sqrt(2)/root)
	near("third moment", m[3], 0, math.Sqrt(15)/root)
	near("fourth moment", m[4], 3, math.Sqrt(96)/root)
	for q, share := range below {
		p := 0.5 * math.Erfc(-q/math.Sqrt2)
		near("share below a quantile", share, p, math.Sqrt(p*(1-p))/root)
	}

	r.Uniform(x, 2, 4)
	var sum, square float64
	for _, v := range x {
		if v < 2 || v >= 4 {
			t.Fatalf("%v is not in [2, 4)", v)
		}
		sum += float64(v) / n
		square += (float64(v) - 3) * (float64(v) - 3) / n
	}
	near("mean of uniforms", sum, 3, math.Sqrt(1.0/3)/root)
	near("variance of uniforms", square, 1.0/3, math.Sqrt(4.0/45)/root)

	// The interval is so narrow that one number in 2^17 rounds to the upper end.
	r.Uniform(x, 100, 101)
	for _, v := range x {
		if v < 100 || v >= 101 {
			t.Fatalf("%v is not in [100, 101)", v)
		}
	}

	counts := make([]float64, 7)
	for range n {
		counts[r.Intn(7)]++
	}
	for _, c := range counts {
		near("count of one in seven", c, n/7.0, math.Sqrt(n*6.0/49))
	}
}

// TestSkip checks Skip, and how many numbers of the stream each method uses.
func TestSkip(t *testing.T) {
	all, some := NewRand(1, 2), NewRand(1, 2)
	z := make([]float32, 7)
	all.Normal(z)
	all.Uniform(z, 0, 1)
	all.Float32()
	all.Float64()
	some.Skip(0)
	some.Skip(16)
	if a, b := all.Uint64(), some.Uint64(); a != b {
		t.Errorf("number 17 is %x, and %x after skipping 16", a, b)
	}
}

// TestNormalQuantile compares the quantile function with the error function.
func TestNormalQuantile(t *testing.T) {
	for e := 1.0; e < 53; e += 0.37 {
		p := math.Exp2(-e)
		z := normalQuantile(p)
		if back := 0.5 * math.Erfc(-z/math.Sqrt2); !(math.Abs(back/p-1) <= 1e-5) {
			t.Errorf("quantile of %g is %v, whose probability is %g", p, z, back)
		}
	}
}

func TestPermutation(t *testing.T) {
	for _, n := range []int{0, 1, 2, 17, 1000} {
		p := make([]int32, n)
		NewRand(1, 0).Permutation(p)
		seen := make([]bool, n)
		for _, v := range p {
			if seen[v] {
				t.Fatalf("%d comes twice among %d", v, n)
			}
			seen[v] = true
		}
	}
	// All orders of three are equally likely.
	counts := map[[3]int32]float64{}
	r := NewRand(5, 0)
	for range 60000 {
		var p [3]int32
		r.Permutation(p[:])
		counts[p]++
	}
	for p, c := range counts {
		if len(counts) != 6 || !(math.Abs(c-10000) <= 5*math.Sqrt(60000*5.0/36)) {
			t.Errorf("order %v came %v times of 60000", p, c)
		}
	}
}
