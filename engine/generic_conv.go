package engine

import (
	"math"

	"dpnbench/engine/num"
)

// poolBackwardGeneric adds the elements of dy, without those for NoPixel, to sums. It lists those of them that are not
// 0, the value v and the place at, and returns how many it listed. sums, which and the blocks of p are as many as dy;
// at and v have room for PoolSlack more, which may be written.
func poolBackwardGeneric(at []int32, v, sums, dy []float32, which []byte, p *PoolPlaces) (n int) {
	for i, g := range dy {
		k := which[i]
		at[n], v[n] = p.first[i]+p.pixels[k&7], g
		// Without branches, which would be mispredicted.
		pixel := uint32(int32(uint32(k>>2)-1) >> 31) // all bits, or none
		bits := math.Float32bits(g)&pixel | 1<<31&^pixel
		sums[i] += math.Float32frombits(bits) // -0 changes nothing
		bits <<= 1
		n += int((bits | -bits) >> 31)
	}
	return n
}

// convPoolGeneric convolves and pools a block of pixels, see ConvPool, of genericConvImages images.
func convPoolGeneric(a *ConvPool) {
	const images, channels = genericConvImages, genericConvChannels
	for k := range a.Rows * a.N * channels * images {
		h, q, o, i := k/images/channels/a.N, k/images/channels%a.N, k/images%channels, k%images
		var z [4]float32
		for j := range z {
			z[j] = a.Bias[o]
			for t := 0; t < len(a.Taps.list); t += 2 {
				at := int(a.Taps.list[t])/4 + (2*h+j/2)*a.Row + (2*q+j%2)*images + i
				z[j] = num.FMA32(a.Weights[int(a.Taps.list[t+1])/4+o], a.X[at], z[j])
			}
			if len(a.Numbers) == 0 {
				a.Bad[o*images+i] += z[j] * 0
			}
		}
		most, number := float32(0), uint32(NoPixel)
		for j, v := range z {
			if v > most {
				most, number = v, uint32(j)
			}
		}
		p := a.First + o*a.Pixels + h*a.Cols + q
		a.Y[p*images+i] = most
		if len(a.Numbers) > 0 {
			word := &a.Numbers[p/4*images+i]
			*word = math.Float32frombits(math.Float32bits(*word) | number<<(p%4*8))
		}
	}
}
