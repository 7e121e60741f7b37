package layer

import (
	"fmt"
	"math"
)

// Schedules of the learning rate.
const (
	Constant = "constant"
	Cosine   = "cosine" // half a period of a cosine, down to 0
	Thirds   = "thirds" // 0.1 from one third of the updates on, 0.01 from two thirds on (He and Su, 2023)
	Decay    = "decay"  // times 0.7 after each epoch (PyTorch's MNIST example)
)

// Rate returns the factor on the learning rate at update s (from 0) of all updates, in an epoch (from 0): a
// linear rise over the share warmup of the updates, then the schedule.
func Rate(schedule string, warmup float64, epoch, s, all int) float64 {
	warm := int(math.Ceil(warmup * float64(all)))
	if s < warm {
		return float64(s+1) / float64(warm)
	}
	switch schedule {
	case Constant:
		return 1
	case Thirds:
		switch {
		case s >= int(2*int64(all)/3):
			return 0.01
		case s >= all/3:
			return 0.1
		}
		return 1
	case Decay:
		rate := 1.0
		for range epoch {
			rate = float64(0.7 * rate)
		}
		return rate
	case Cosine:
	default:
		panic(fmt.Sprintf("layer: Rate: schedule %q, expected %s, %s, %s or %s", schedule, Constant, Cosine, Thirds,
			Decay))
	}
	return float64(0.5*cosPi(float64(s-warm)/float64(max(all-warm, 1)))) + 0.5
}

// cosPi returns cos(pi x) for 0 <= x <= 1 to about 1e-9, with the same bits on every machine. The
// library's cosine differs between architectures, and the rates change the trained weights. It is
// the Taylor series of sin(pi y) at y = 1/2 - x. Each product is rounded explicitly before it is
// added, so that no compiler fuses the two.
func cosPi(x float64) float64 {
	z := float64(math.Pi * (0.5 - x))
	z2 := float64(z * z)
	s := 1.0
	for n := 14.0; n >= 2; n -= 2 {
		s = 1 - float64(float64(z2*s)/float64(n*(n+1)))
	}
	return z * s
}
