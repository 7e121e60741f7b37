package separation

import (
	"slices"
	"strings"
	"testing"
)

// Layers with the same reason for a warning share one sentence, even if the numbers differ.
func TestWarnings(t *testing.T) {
	layer := func(name string, rank int, noise Float) Layer {
		l := Layer{Name: name, Dim: 5, Classes: 3, Rank: rank, NoiseShare: noise, ClassCounts: []int{7, 4, 9}}
		l.Warning = l.warning()
		return l
	}
	const low = "the class means span 1 direction of 2: D says nothing of the others"
	const noise = " of the smallest eigenvalue of SSb is the sampling noise of class means (4 samples in the " +
		"smallest class): D is too small"
	if got := noisy("25%", 1); !strings.Contains(got, "(1 sample in the smallest class)") {
		t.Errorf("a class of one sample: %q", got)
	}
	for _, c := range []struct {
		layers []Layer
		want   []string
	}{
		{nil, nil},
		{[]Layer{layer("input", 2, 0.1)}, nil},
		{[]Layer{layer("input", 2, 0.25)}, []string{"input: about 25%" + noise}},
		{[]Layer{layer("input", 2, 0.25), layer("logits", 2, 3)}, []string{"input, logits: about 25 to 100%" + noise}},
		{
			[]Layer{layer("input", 1, 0), layer("step 0", 2, 0.3), layer("step 1", 2, 0.2), layer("step 2", 2, 0.4),
				layer("step 3", 2, 0), layer("step 4", 1, 0.5), layer("step 5", 2, 0.2)},
			[]string{"input, step 4: " + low, "step 0 to step 2, step 5: about 20 to 40%" + noise},
		},
	} {
		if got := Warnings(c.layers); !slices.Equal(got, c.want) {
			t.Errorf("%q: want %q", got, c.want)
		}
	}
}
