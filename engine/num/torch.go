package num

const twisterSize = 624 // numbers of the state of MT19937

// Torch gives the uniform numbers that PyTorch gives on the CPU after torch.manual_seed: those of the Mersenne Twister
// MT19937 (Matsumoto and Nishimura, 1998). Initial weights that are drawn so are those of a network of PyTorch with
// that seed.
type Torch struct {
	state [twisterSize]uint32
	at    int // the next number of state
}

// NewTorch returns the numbers after torch.manual_seed(seed). As there, only the lower 32 bits count.
func NewTorch(seed uint64) *Torch {
	t := &Torch{at: twisterSize}
	t.state[0] = uint32(seed)
	for i := 1; i < len(t.state); i++ {
		x := t.state[i-1]
		t.state[i] = 1812433253*(x^x>>30) + uint32(i)
	}
	return t
}

func (t *Torch) uint32() uint32 {
	const n, m = twisterSize, 397 // as in the paper
	if t.at == n {
		for i := range n {
			y := t.state[i]&0x80000000 | t.state[(i+1)%n]&0x7fffffff
			t.state[i] = t.state[(i+m)%n] ^ y>>1 ^ y&1*0x9908b0df
		}
		t.at = 0
	}
	y := t.state[t.at]
	t.at++
	y ^= y >> 11
	y ^= y << 7 & 0x9d2c5680
	y ^= y << 15 & 0xefc60000
	return y ^ y>>18
}

// Uniform fills dst with numbers between lo and hi, as Tensor.uniform_(lo, hi) does for float32.
func (t *Torch) Uniform(dst []float32, lo, hi float32) {
	for i := range dst {
		dst[i] = FMA32(float32(t.uint32()&(1<<24-1))*0x1p-24, hi-lo, lo) // fused there, too
	}
}
