//go:build arm64 && !purego && !noasm

package engine

import "testing"

// Without an arm64 machine: GOARCH=arm64 go test -exec qemu-aarch64 ./engine/

// TestTiersOfARM64 checks that NEON is available on every machine, and no other assembly.
func TestTiersOfARM64(t *testing.T) {
	for _, tier := range Tiers() {
		want := tier.Tier == NEON || tier.Tier == Generic
		if tier.Available != want || (tier.Reason == "") != want {
			t.Errorf("%v: available %t, reason %q", tier.Tier, tier.Available, tier.Reason)
		}
	}
}
