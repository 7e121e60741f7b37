package engine

import (
	"fmt"
	"strings"
)

// Tier names a set of kernels: an instruction set, or pure Go.
type Tier int

const (
	Auto    Tier = iota // the fastest tier of this machine
	Generic             // pure Go, on every machine
	NEON                // arm64
	AVX2                // amd64 with AVX2 and FMA
	AVX512              // amd64 with AVX-512 F, DQ, BW and VL
)

var tierNames = [...]string{"auto", "generic", "neon", "avx2", "avx512"}

// String returns the name as it is written on the command line.
func (t Tier) String() string {
	if t < 0 || int(t) >= len(tierNames) {
		return fmt.Sprintf("tier(%d)", int(t))
	}
	return tierNames[t]
}

// ParseTier is the inverse of String.
func ParseTier(name string) (Tier, error) {
	for i, n := range tierNames {
		if n == name {
			return Tier(i), nil
		}
	}
	return Auto, fmt.Errorf("unknown tier %q, expected one of %s", name, strings.Join(tierNames[:], ", "))
}

// TierInfo says whether a tier can be used here.
type TierInfo struct {
	Tier      Tier
	Available bool
	Reason    string // why it is not available
}

// Tiers lists every tier, the fastest first.
func Tiers() []TierInfo {
	list := []TierInfo{{Tier: AVX512}, {Tier: AVX2}, {Tier: NEON}, {Tier: Generic}}
	for i := range list {
		table, reason := tierTable(list[i].Tier)
		list[i].Available = table != nil
		list[i].Reason = reason
	}
	return list
}

// Available lists the tiers that can be used here, the fastest first.
func Available() []Tier {
	var list []Tier
	for _, t := range Tiers() {
		if t.Available {
			list = append(list, t.Tier)
		}
	}
	return list
}

// resolve returns the kernels of a tier, or an error that says why there are none.
func resolve(t Tier) (*kernels, error) {
	if t == Auto {
		t = Available()[0]
	}
	if t < Generic || t > AVX512 {
		return nil, fmt.Errorf("engine: %v is not a tier", t)
	}
	table, reason := tierTable(t)
	if table == nil {
		return nil, fmt.Errorf("engine: tier %v is not available: %s", t, reason)
	}
	return table, nil
}
