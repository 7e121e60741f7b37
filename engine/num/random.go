package num

import (
	"fmt"
	"math"
	"math/bits"
)

// Rand is a stream of random numbers that depends only on seed, stream and position, with the same bits
// on every machine. Number i of a stream is the SplitMix64 finaliser (Steele, Lea and Flood, 2014) of
// key + (i+1)*0x9e3779b97f4a7c15, where the key is computed from seed and stream by the same finaliser.
// Give each use a stream of its own, so that a draw in one place does not shift the draws in another.
type Rand struct {
	key, at uint64
}

const golden = 0x9e3779b97f4a7c15

// NewRand returns the numbered stream of a seed.
func NewRand(seed, stream uint64) *Rand {
	return &Rand{key: mix64(mix64(seed+golden) ^ (stream+1)*0xd1342543de82ef95)}
}

func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Uint64 returns the next number.
func (r *Rand) Uint64() uint64 {
	r.at++
	return mix64(r.key + r.at*golden)
}

// Skip skips the next n numbers.
func (r *Rand) Skip(n uint64) { r.at += n }

// State is what the numbers that follow depend on: RandAt(r.State()) continues like r.
func (r *Rand) State() uint64 { return r.key + r.at*golden }

// RandAt returns a stream that continues from a state.
func RandAt(state uint64) Rand { return Rand{key: state} }

// Intn returns a number in [0, n), each equally likely (Lemire's method, 2019). It
// panics for n < 1.
func (r *Rand) Intn(n int) int {
	if n < 1 {
		panic(fmt.Sprintf("num: Intn(%d), expected at least 1", n))
	}
	hi, lo := bits.Mul64(r.Uint64(), uint64(n))
	for t := -uint64(n) % uint64(n); lo < t; {
		hi, lo = bits.Mul64(r.Uint64(), uint64(n))
	}
	return int(hi)
}

// Float32 returns a multiple of 2^-24 in [0, 1).
func (r *Rand) Float32() float32 { return float32(r.Uint64()>>40) * 0x1p-24 }

// Float64 returns a multiple of 2^-53 in [0, 1), from one number of the stream.
func (r *Rand) Float64() float64 { return float64(r.Uint64()>>11) * 0x1p-53 }

// Uniform fills dst with numbers in [lo, hi).
func (r *Rand) Uniform(dst []float32, lo, hi float32) {
	for i := range dst {
		v := FMA32(r.Float32(), hi-lo, lo)
		if v >= hi && lo < hi { // rounded up to it
			v = math.Nextafter32(hi, lo)
		}
		dst[i] = v
	}
}

// Normal fills dst with standard normal numbers, one number of the stream each. 52 bits select a
// probability p in (0, 1/2), the top bit the sign. At first all are made as if they lay in the middle of the
// distribution, without a branch that would often be mispredicted, and then those in the tails again.
func (r *Rand) Normal(dst []float32) {
	const block = 128
	var at [block]uint8 // of those in the tails
	var from [block]uint64
	for ; len(dst) > 0; dst = dst[min(block, len(dst)):] {
		tails := 0
		for i := range dst[:min(block, len(dst))] {
			u := r.Uint64()
			q := probability(u) - 0.5
			dst[i] = withSign(middleQuantile(q), u)
			at[tails&(block-1)], from[tails&(block-1)] = uint8(i), u
			tails += int(math.Float64bits(q+middle) >> 63)
		}
		for t, u := range from[:tails] {
			dst[at[t]] = withSign(normalQuantile(probability(u)), u)
		}
	}
}

func probability(u uint64) float64 { return (float64(u&(1<<52-1)) + 0.5) * 0x1p-53 }

// withSign is z, or -z if the top bit of u is set.
func withSign(z float64, u uint64) float32 {
	return math.Float32frombits(math.Float32bits(float32(z)) ^ uint32(u>>32)&(1<<31))
}

// middle is how far the middle of a distribution reaches on both sides of 1/2.
const middle = 0.425

// middleQuantile is normalQuantile of q + 1/2 for q >= -middle.
func middleQuantile(q float64) float64 {
	r := 0.180625 - float64(q*q)
	num := float64(float64(float64(float64(float64(59.109374720*r)+159.29113202)*r)+50.434271938)*r) + 3.3871327179
	den := float64(float64(float64(float64(float64(67.187563600*r)+78.757757664)*r)+17.895169469)*r) + 1
	return q * num / den
}

// normalQuantile returns the p-quantile of the standard normal distribution for 0 < p <= 1/2, which is
// not positive: algorithm AS 241, PPND7 (Wichura, Applied Statistics 37, 1988), about seven digits. Each
// product is rounded explicitly before it is added, so that no compiler fuses the two.
func normalQuantile(p float64) float64 {
	if q := p - 0.5; q >= -middle {
		return middleQuantile(q)
	}
	r := math.Sqrt(-float64(Log32(float32(p))))
	if r <= 5 {
		r -= 1.6
		num := float64(float64(float64(float64(float64(0.17023821103*r)+1.3067284816)*r)+2.7568153900)*r) + 1.4234372777
		den := float64(float64(float64(0.12021132975*r)+0.73700164250)*r) + 1
		return -num / den
	}
	r -= 5
	num := float64(float64(float64(float64(float64(0.017337203997*r)+0.42868294337)*r)+3.0812263860)*r) + 6.6579051150
	den := float64(float64(float64(0.012258202635*r)+0.24197894225)*r) + 1
	return -num / den
}

// Shuffle permutes the elements, each order equally likely (Fisher and Yates, from the end).
func (r *Rand) Shuffle(s []int32) {
	for i := len(s) - 1; i > 0; i-- {
		j := r.Intn(i + 1)
		s[i], s[j] = s[j], s[i]
	}
}

// Permutation fills dst with 0 .. len(dst)-1 in a random order.
func (r *Rand) Permutation(dst []int32) {
	for i := range dst {
		dst[i] = int32(i)
	}
	r.Shuffle(dst)
}
