package engine

import (
	"math"

	"dpnbench/engine/num"
)

// poolBackwardGeneric passes a gradient to the selected pixels: see poolBackwardArgs.
func poolBackwardGeneric(args *poolBackwardArgs) (n int) { return poolBackwardRows(args, 0, 0) }

// poolBackwardRows is poolBackwardGeneric from a row on, with n elements in the list so far.
func poolBackwardRows(args *poolBackwardArgs, first, n int) int {
	at, v, sums, dy, which := args.at, args.v, args.sums, args.dy, args.which
	w, cols, right, down := args.w, args.cols, args.right, args.down
	pixels := [4]int{0, 1, cols, cols + 1}
	for r := first; r < args.rows; r++ {
		for half := range 2 {
			place := int32((2*r + half) * down)
			for j, g := range dy[r*w : (r+1)*w] {
				k := which[r*w+j]
				some := uint32(k>>2) - 1 // no bits for NoPixel: it adds -0, which changes nothing
				g = math.Float32frombits(math.Float32bits(g)&some | 1<<31&^some)
				k &= 3
				if half == 0 {
					sums[2*r*cols+2*j+pixels[k]] += g
				}
				at[n], v[n] = place+int32(k&1)*int32(right), g
				// Without a branch, which would be mispredicted.
				bits := math.Float32bits(g) << 1
				n += int((bits|-bits)>>31) & (int(k>>1) ^ half ^ 1)
				place += 2 * int32(right)
			}
		}
	}
	return n
}

// convPoolGeneric convolves and pools a run of pixels, see ConvPool, of genericConvImages images.
func convPoolGeneric(a *ConvPool) {
	const images, channels = genericConvImages, genericConvChannels
	for k := range a.N * channels * images {
		q, o, i := k/images/channels, k/images%channels, k%images
		var z [4]float32
		for j := range z {
			z[j] = a.Bias[o]
			for t := 0; t < len(a.Taps.list); t += 2 {
				at := int(a.Taps.list[t])/4 + j/2*a.Row + (2*q+j%2)*images + i
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
		p := a.First + o*a.Pixels + q
		a.Y[p*images+i] = most
		if len(a.Numbers) > 0 {
			word := &a.Numbers[p/4*images+i]
			*word = math.Float32frombits(math.Float32bits(*word) | number<<(p%4*8))
		}
	}
}
