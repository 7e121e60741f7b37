package num_test

import (
	"math"
	"math/big"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// exactFMA rounds x*y + z once, with arbitrary-precision arithmetic.
func exactFMA(x, y, z float32) float32 {
	s := float64(x)*float64(y) + float64(z)
	if s-s != 0 || s == 0 { // special value or zero: the float64 result is right
		return float32(s)
	}
	p := new(big.Float).SetPrec(600).SetFloat64(float64(x))
	p.Mul(p, new(big.Float).SetPrec(600).SetFloat64(float64(y)))
	p.Add(p, new(big.Float).SetPrec(600).SetFloat64(float64(z)))
	f, _ := p.Float32()
	return f
}

func same(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// stressed returns operands whose exact sum is at or near a midpoint of two float32, or subnormal,
// or overflows; sometimes operands with random bits.
func stressed(r *num.Rand) (x, y, z float32) {
	odd := func(bits int) float32 { return float32(r.Intn(1<<bits)*2 + 1) }
	switch r.Intn(6) {
	case 0: // a long product and a z that leaves its tail at a midpoint
		x, y = odd(11), odd(11)
		z = odd(22) * float32(math.Ldexp(1, r.Intn(40)-8))
	case 1: // z is large, the product about half a unit in its last place
		z = odd(22) + 1<<23
		x = 0.5
		y = 1 + float32(r.Intn(3)-1)*0x1p-23
		if r.Intn(2) == 0 {
			y = -y
		}
	case 2: // results in the subnormal range
		x, y = odd(20)*0x1p-80, odd(20)*0x1p-70
		z = odd(20) * 0x1p-149
	case 3: // around the largest number
		x, y = odd(22)*0x1p100, 0x1p4
		z = math.MaxFloat32
		if r.Intn(2) == 0 {
			x = -x
		}
	case 4: // cancellation
		x, y = odd(23), odd(23)
		z = -x * y
	default:
		x, y, z = math.Float32frombits(uint32(r.Uint64())), math.Float32frombits(uint32(r.Uint64())),
			math.Float32frombits(uint32(r.Uint64()))
	}
	s := float32(math.Ldexp(1, r.Intn(9)-4))
	return x * s, y, z * s
}

func TestFMA32(t *testing.T) {
	inf := float32(math.Inf(1))
	nan := float32(math.NaN())
	for _, c := range [][3]float32{
		{0, 0, 0}, {1, -1, 1}, {-1, 0, 0}, {0, -1, float32(math.Copysign(0, -1))}, {inf, 0, 1}, {inf, 1, -inf},
		{inf, 1, inf}, {nan, 1, 1}, {1, 1, nan},
		{0x1p-149, 0x1p-149, 0}, {0x1p-149, -0x1p-149, 0}, {0x1p-75, 0x1p-75, 0}, {0x1p-75, 0x1p-75, 0x1p-149},
		{0x1p127, 2, -0x1p127},
	} {
		if got, want := num.FMA32(c[0], c[1], c[2]), exactFMA(c[0], c[1], c[2]); !same(got, want) {
			t.Errorf("num.FMA32(%g, %g, %g) = %g, want %g", c[0], c[1], c[2], got, want)
		}
	}
	r := num.NewRand(1, 0)
	n := 1000000
	if testing.Short() {
		n = 50000
	}
	for range n {
		x, y, z := stressed(r)
		if got, want := num.FMA32(x, y, z), exactFMA(x, y, z); !same(got, want) {
			t.Fatalf("num.FMA32(%x, %x, %x) = %x, want %x", x, y, z, got, want)
		}
	}
}

// TestFMA32Hardware compares FMA32 with the fused multiply-add of every other tier, by way of axpy,
// and with the generic tile, which has it inlined.
func TestFMA32Hardware(t *testing.T) {
	r := num.NewRand(2, 0)
	const n = 4096
	rounds := 200
	if testing.Short() {
		rounds = 5
	}
	for _, tier := range engine.Available() {
		e := newEngine(t, tier)
		var y, z, want [n]float32
		for range rounds {
			for i := range y {
				_, y[i], z[i] = stressed(r)
			}
			x, _, _ := stressed(r)
			for i := range want {
				want[i] = num.FMA32(x, y[i], z[i])
			}
			tile := z
			e.Axpy(x, y[:], z[:])
			e.MatMul(engine.View(tile[:], 1, n), engine.View([]float32{x}, 1, 1), engine.View(y[:], 1, n), true)
			for i := range want {
				if !same(z[i], want[i]) || !same(tile[i], want[i]) {
					t.Fatalf("%v: fma(%x, %x, ...) = %x in axpy, %x in a product, want %x", tier, x, y[i], z[i],
						tile[i], want[i])
				}
			}
		}
	}
}

func newEngine(t *testing.T, tier engine.Tier) *engine.Engine {
	t.Helper()
	e, err := engine.New(engine.WithTier(tier), engine.WithThreads(1))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}
