package alloctest

import "testing"

var kept []byte

func TestPerCall(t *testing.T) {
	calls, more := 0, 0
	for name, c := range map[string]struct {
		f    func()
		want float64
	}{
		"in each call": {func() { kept = make([]byte, 100) }, 1},
		"never":        {func() {}, 0},
		"in some calls": {func() {
			if calls++; calls <= 9*6 { // nine counts of six calls
				kept = make([]byte, 100)
			}
		}, 0},
		"more from the second count on": {func() {
			kept = make([]byte, 100)
			if more++; more > 6 {
				kept = make([]byte, 200)
			}
		}, 1},
	} {
		if got := PerCall(5, c.f); got != c.want {
			t.Errorf("%s: %v allocations, expected %v", name, got, c.want)
		}
	}
}
