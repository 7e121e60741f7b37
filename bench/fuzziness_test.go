package bench

import (
	"math"
	"testing"

	"dpnbench/dpn/separation"
)

// TestCheckFuzziness checks D of features, and a D that is slightly wrong.
func TestCheckFuzziness(t *testing.T) {
	const n, d, classes = 600, 24, 10
	set := separation.Set{X: make([]float32, n*d), Dim: d, Labels: make([]uint16, n)}
	for i := range n {
		set.Labels[i] = uint16(i % classes)
		for j := range d {
			set.X[i*d+j] = float32(math.Sin(float64(i*j)) + 2*math.Cos(float64((i%classes+1)*(j+1))))
		}
	}
	f, err := separation.MeasureFuzziness(set, 1)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkFuzziness(f, set, classes); err != nil {
		t.Error(err)
	}
	f.D *= 1 + 3e-9
	if _, err := checkFuzziness(f, set, classes); err == nil {
		t.Error("a D that is 3e-9 too large passes")
	}
}
