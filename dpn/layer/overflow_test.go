package layer

import (
	"math"
	"testing"

	"dpnbench/engine"
)

// TestOverflowIsSeen has layers before a ReLU overflow, to infinities of both signs and to NaN: outside
// training the outputs are NaN and CheckOutput finds them, where max(x, 0) alone would give zeros.
// Other rows and channels keep their bits.
func TestOverflowIsSeen(t *testing.T) {
	e := newEngine(t)
	nan := float32(math.NaN())
	inf := float32(math.Inf(1))
	for name, bad := range map[string]float32{"NaN": nan, "infinity": inf, "minus infinity": -inf} {
		for _, mode := range []Mode{Evaluation, BatchStatistics} {
			x, y := engine.View([]float32{1, -2, 3, bad, -5, 6}, 3, 2), engine.NewMatrix(3, 2)
			NewReLU(2).Forward(e, y, x, mode)
			if y.Data[0] != 1 || y.Data[1] != 0 || y.Data[2] != 3 || y.Data[3] == y.Data[3] || y.Data[5] != 6 {
				t.Errorf("ReLU of %s: %v", name, y.Data)
			}
		}
	}
	const want = "logit 1 of row 7 is NaN, expected a finite number: the input or the weights are too large, or damaged"
	if err := CheckOutput(engine.View([]float32{0, 1, 2, nan}, 2, 2), "logit", "row", 6); err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	for name, huge := range map[string][2]float32{
		"one sign": {-3e38, -3e38}, "both signs": {3e38, -3e38}, "infinity": {-inf, 1}, "NaN": {nan, 1},
	} {
		linear, relu := NewLinear("0", 2, 1), NewReLU(1)
		copy(linear.Params()[0].Data, huge[:])
		h, y := engine.NewMatrix(2, 1), engine.NewMatrix(2, 1)
		linear.Forward(e, h, engine.View([]float32{0, 0, 2, 2}, 2, 2), Evaluation)
		relu.Forward(e, y, h, Evaluation)
		if err := CheckOutput(y, "number", "row", 0); err == nil {
			t.Errorf("linear layer, %s: %v is finite", name, y.Data)
		}

		conv := NewConvPool("0", ImageShape{1, 4, 4}, 2, 3, 1)
		clear(conv.Weight.Data)
		copy(conv.Weight.Data[4:], huge[:]) // of channel 0
		conv.Bias.Data[1] = 7
		images := engine.NewMatrix(2, 16)
		for j := range images.Data {
			images.Data[j] = 2
		}
		y = engine.NewMatrix(2, 8)
		conv.Forward(e, y, images, Evaluation)
		for i, v := range y.Data {
			if first := i%8 < 4; first && v == v || !first && v != 7 {
				t.Errorf("convolution, %s: output %d is %v", name, i, v)
			}
		}
	}
}
