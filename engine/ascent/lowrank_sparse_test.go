package ascent

import (
	"dpnbench/engine"
	"fmt"
	"math"
	"testing"
)

// flatLandscapes are potentials of low rank whose rows meet several components, close together and far
// apart.
func flatLandscapes() []*landscape {
	var list []*landscape
	for _, by := range []struct {
		name               string
		k, d, r            int
		apart, wide, scale float32
		alpha              float32
	}{
		{"apart", 12, 135, 4, 3, 2, 1, 0.6},
		{"close", 9, 130, 3, 0.3, 1, 1, 0.6},
		{"scaled", 8, 99, 2, 2, 2, 0.37, 1.1},
		{"overshooting", 8, 99, 2, 2, 2, 1, 2.3},
		{"downhill", 8, 99, 2, 2, 1, 1, -0.2},
		{"many factors", 5, 390, 37, 1, 2, 1, 0.3},
		{"wide", 20, 784, 12, 0.5, 3, 1, 0.6},
		{"steep", 8, 99, 2, 0.02, 0.02, 1e4, 1e-4},
		{"huge", 8, 99, 2, 1e6, 1e6, 1, 0.5},
	} {
		h := newLandscape(by.name, by.k, by.d, by.r, -1, by.apart, by.wide, 30)
		h.alpha = by.alpha
		for i := range h.w {
			h.w[i] = by.scale
		}
		for i := range h.f {
			h.f[i] *= float32(math.Sqrt(float64(by.scale)))
		}
		for b := range h.x.Rows { // some between two centres, some far away
			for j := range h.d {
				at, here, there := b*h.d+j, h.mu[b%h.k*h.d+j], h.mu[(b+1)%h.k*h.d+j]
				switch b % 4 {
				case 1:
					h.x.Data[at] = (here+there)/2 + 0.02*(h.x.Data[at]-here)
				case 2:
					h.x.Data[at] *= 5
				}
			}
		}
		list = append(list, h)
	}
	// Dot products of centres lose all elements but the first, one after the other.
	h := newLandscape("lost sums", 6, 700, 2, -1, 0, 0, 30)
	h.alpha = 1.3
	clear(h.f)
	for i := range h.mu {
		h.mu[i] = 128 * (1 + float32(i/h.d)/1024)
		if i%h.d > 0 {
			h.mu[i] *= 0.99 * 0x1p-12
		}
	}
	for i := range h.x.Data {
		h.x.Data[i] = h.mu[i%len(h.mu)] * (1 + float32(i/len(h.mu))/2048)
	}
	return append(list, h)
}

// TestFlatRoute checks that both routes give the same bits for precisions p I - F_i^T F_i.
func TestFlatRoute(t *testing.T) {
	tiers, counts := engine.Available(), []int{1, 2, 3}
	if testing.Short() { // another emulated machine has the lesser tiers
		tiers, counts = tiers[:1], counts[1:2]
	}
	for _, h := range flatLandscapes() {
		if testing.Short() && h.d > 99 {
			continue
		}
		want, _ := climbBy(t, h, DenseRoute, engine.Auto, 1)
		for _, tier := range tiers {
			for _, threads := range counts {
				got, _ := climbBy(t, h, SparseRoute, tier, threads)
				got.equal(t, fmt.Sprintf("%s, %v, %d threads", h.name, tier, threads), want)
			}
		}
	}
}
