package reference

import (
	"math"
	"testing"
)

// TestDecayAtFloor checks that Decay compares the rounded product with the floor, as the kernel does: for some
// numbers the exact product is below it and the rounded one is not.
func TestDecayAtFloor(t *testing.T) {
	between := 0
	for _, a := range []float32{0.9, 0.99, 0.3, 0x1p-10 + 0x1p-33} {
		x := float32(momentFloor / float64(a))
		for range 8 {
			x = math.Nextafter32(x, 0)
		}
		for range 16 {
			exact, rounded := float64(a)*float64(x), float64(a*x)
			if exact < momentFloor && rounded >= momentFloor {
				between++
			}
			want := exact
			if rounded < momentFloor {
				want = 0
			}
			if got, _ := Decay(float64(a), float64(x)); got != want {
				t.Errorf("%v times %v: %v, want %v", a, x, got, want)
			}
			x = math.Nextafter32(x, 1)
		}
	}
	if between == 0 {
		t.Error("no product is between")
	}
}
