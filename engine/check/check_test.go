package check

import (
	"context"
	"testing"
)

// TestEveryKernel is the check itself.
func TestEveryKernel(t *testing.T) {
	r, err := Run(context.Background(), Options{Quick: testing.Short()})
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range r.Failures {
		if i == 40 {
			t.Errorf("and %d more", len(r.Failures)-i)
			break
		}
		t.Errorf("%s on %s, %d threads: %s", f.Case, f.Tier, f.Threads, f.Reason)
	}
	for _, row := range r.Kernels {
		t.Logf("%-24s %-8s %5d cases %3d failed, %3d ULP, ratio %.3f, bits equal %v", row.Kernel, row.Tier, row.Cases, row.Failed, row.MaxULP, row.MaxErrorRatio, row.BitsEqual)
	}
}
