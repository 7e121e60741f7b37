package baseline

import (
	"math"
	"testing"
)

// TestPublishedMNISTC holds the scores of the published rows against the published ones (the mean, and the
// ratios of sums, which the publication gives) and against those recomputed by hand (the means of ratios).
func TestPublishedMNISTC(t *testing.T) {
	rows := PublishedMNISTC()
	for i, want := range []MNISTCScores{{0.7592, 1, 1, 1, 1}, {0.8976, 0.692, 0.638, 0.425, 0.394}} {
		if n := len(rows[i].Corrupted); n != 15 || len(MNISTCNames()) != n {
			t.Errorf("%s: %d corruptions, want 15", rows[i].Name, n)
		}
		got := rows[i].Scores(rows[0])
		for name, pair := range map[string][2]float64{"mean": {got.Mean, want.Mean}, "mCE": {got.MCE, want.MCE},
			"relative mCE": {got.RelativeMCE, want.RelativeMCE}, "summed": {got.SummedMCE, want.SummedMCE},
			"summed relative": {got.SummedRelativeMCE, want.SummedRelativeMCE}} {
			if !(math.Abs(pair[0]-pair[1]) <= 6e-4) {
				t.Errorf("%s: %s %.4f, want %.4f", rows[i].Name, name, pair[0], pair[1])
			}
		}
	}
	perfect := MNISTC{Clean: 1, Corrupted: map[string]float64{}}
	for _, name := range MNISTCNames() {
		perfect.Corrupted[name] = 1
	}
	if s := rows[0].Scores(perfect); !math.IsNaN(s.MCE) || !math.IsNaN(s.SummedRelativeMCE) || !(s.Mean < 1) {
		t.Errorf("against a perfect baseline: %+v", s)
	}
}
