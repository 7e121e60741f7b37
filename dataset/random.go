package dataset

import "math/bits"

// stream is a SplitMix64 generator (Steele, Lea and Flood, "Fast splittable
// pseudorandom number generators", OOPSLA 2014): a counter that grows by
// golden, and a finaliser that scrambles it. It needs 64-bit integers only, so
// its numbers are the same on every machine.
type stream struct{ state uint64 }

const golden = 0x9e3779b97f4a7c15 // 2^64 / golden ratio, odd

// mix64 is SplitMix64's finaliser, a bijection of the 64-bit integers.
func mix64(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// newStream returns the generator of image index under seed. It starts at position index of
// the SplitMix64 sequence of the scrambled seed, so any image can be drawn without drawing the
// ones before it.
func newStream(seed, index uint64) *stream {
	return &stream{mix64(mix64(seed) + (index+1)*golden)}
}

// next returns 64 random bits.
func (s *stream) next() uint64 {
	s.state += golden
	return mix64(s.state)
}

// intn returns an integer from 0 to n-1. Its bias, below n / 2^64, is too small to be
// detected.
func (s *stream) intn(n int) int {
	hi, _ := bits.Mul64(s.next(), uint64(n))
	return int(hi)
}

// uniform returns a number in [lo, hi).
func (s *stream) uniform(lo, hi float64) float64 {
	u := float64(float64(s.next()>>11) * 0x1p-53)
	return lo + float64((hi-lo)*u)
}

// normal returns a number of mean 0 and the given standard deviation: the scaled sum of four
// 16-bit uniform numbers. It never exceeds 3.46 standard deviations, which avoids extreme
// images.
func (s *stream) normal(std float64) float64 {
	z := s.next()
	sum := int64(z&0xffff) + int64(z>>16&0xffff) + int64(z>>32&0xffff) + int64(z>>48)
	const centre = 2 * 0xffff
	const sd = 37837.22723 // sqrt((2^32 - 1) / 3)
	return float64(std * (float64(sum-centre) / sd))
}
