package separation

import (
	"math"
	"strings"
	"testing"
)

func TestDisplacementByHand(t *testing.T) {
	// Rows move by (3, 4), (0, 0) and (0, -12): lengths 5, 0, 12.
	d, err := Displace([]float32{1, 1, 2, 2, 3, 3}, []float32{4, 5, 2, 2, 3, -9}, 2)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "Frobenius norm", d.Frobenius, 13, 1e-15)
	near(t, "mean row", d.MeanRow, 17.0/3, 1e-15)
}

func TestDisplacementErrors(t *testing.T) {
	nan := float32(math.NaN())
	for _, c := range []struct {
		before, after []float32
		dim           int
		want          string
	}{
		{make([]float32, 4), make([]float32, 6), 2, "4 features before and 6 after"},
		{make([]float32, 5), make([]float32, 5), 2, "not whole rows"},
		{nil, nil, 2, "no rows"},
		{nil, nil, 0, "width 0"},
		{make([]float32, 4), []float32{0, 0, 0, nan}, 2, "row 1, column 1 is NaN"},
	} {
		if _, err := Displace(c.before, c.after, c.dim); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("displacement from %v to %v: error is %v: want one with %q", c.before, c.after, err, c.want)
		}
	}
}
