package engine

import (
	"fmt"
	"runtime"
	"strings"
)

// Tier names a set of kernels: an instruction set, or pure Go. Higher values are faster.
type Tier int

const (
	Auto    Tier = iota // the fastest tier of this machine
	Generic             // pure Go, on every machine
	NEON                // arm64
	AVX2                // amd64 with AVX2 and FMA
	AVX512              // amd64 with AVX-512 F, DQ, BW and VL
)

// tierSpecs says what is known of each tier on every machine; its table (table.go) has the rest.
var tierSpecs = [...]struct {
	name         string
	flopPerCycle float64 // of two FMA units; 0 where cores of the tier differ
}{
	Auto:    {name: "auto"},
	Generic: {name: "generic"},
	NEON:    {name: "neon"},
	AVX2:    {name: "avx2", flopPerCycle: 32},
	AVX512:  {name: "avx512", flopPerCycle: 64},
}

// known reports whether t is one of the constants above.
func (t Tier) known() bool { return t >= 0 && int(t) < len(tierSpecs) }

// String returns the name as it is written on the command line.
func (t Tier) String() string {
	if !t.known() {
		return fmt.Sprintf("tier(%d)", int(t))
	}
	return tierSpecs[t].name
}

// FlopPerCycle is the number of floating-point operations that a core with two FMA units of the
// tier's width does in a clock cycle, or 0 where the number of units is not known.
func (t Tier) FlopPerCycle() float64 {
	if !t.known() {
		return 0
	}
	return tierSpecs[t].flopPerCycle
}

// ParseTier is the inverse of String.
func ParseTier(name string) (Tier, error) {
	names := make([]string, len(tierSpecs))
	for i, spec := range tierSpecs {
		if names[i] = spec.name; spec.name == name {
			return Tier(i), nil
		}
	}
	return Auto, fmt.Errorf("unknown tier %q, expected one of %s", name, strings.Join(names, ", "))
}

// TierInfo says whether a tier can be used on this machine.
type TierInfo struct {
	Tier      Tier
	Available bool
	Reason    string // why it is not available
}

// Tiers lists every tier, the fastest first.
func Tiers() []TierInfo {
	var list []TierInfo
	for t := Tier(len(tierSpecs) - 1); t > Auto; t-- {
		kern, reason := tierKernels(t)
		list = append(list, TierInfo{Tier: t, Available: kern != nil, Reason: reason})
	}
	return list
}

// Available lists the tiers that can be used on this machine, the fastest first.
func Available() []Tier {
	var list []Tier
	for _, t := range Tiers() {
		if t.Available {
			list = append(list, t.Tier)
		}
	}
	return list
}

// tierKernels returns the kernels of t, or the reason why this machine or build has none.
func tierKernels(t Tier) (*kernels, string) {
	if t == Generic {
		return &genericKernels, ""
	}
	for _, kern := range machineKernels {
		switch {
		case kern.tier != t:
			continue
		case kern.missing != nil && kern.missing() != "":
			return nil, kern.missing()
		}
		return kern, ""
	}
	if len(machineKernels) == 0 {
		return nil, "this build has no assembly (tags purego or noasm, or GOARCH " + runtime.GOARCH + ")"
	}
	return nil, "this is an " + runtime.GOARCH + " machine"
}

// resolve returns the kernels of a tier, or an error that says why there are none.
func resolve(t Tier) (*kernels, error) {
	if t == Auto {
		t = Available()[0]
	}
	if !t.known() || t == Auto {
		return nil, fmt.Errorf("engine: %v is not a tier", t)
	}
	kern, reason := tierKernels(t)
	if kern == nil {
		return nil, fmt.Errorf("engine: tier %v is not available: %s", t, reason)
	}
	return kern, nil
}
