package sysinfo

import "github.com/klauspost/cpuid/v2"

// microarchitecture names the design of a core, or returns "" if it is not known. A virtual
// machine may report a model number that is not the host's, so features are checked, too.
func microarchitecture(vendor string, family, model int, has func(...cpuid.FeatureID) bool) string {
	switch {
	case vendor == "GenuineIntel" && has(cpuid.AMXTILE, cpuid.AVX512FP16):
		return "Sapphire Rapids or later (Golden Cove)"
	case vendor == "GenuineIntel" && family == 6:
		switch model {
		case 60, 63, 69, 70:
			return "Haswell"
		case 61, 71, 79, 86:
			return "Broadwell"
		case 78, 94, 142, 158, 165, 166:
			return "Skylake"
		case 85:
			if has(cpuid.AVX512VNNI) {
				return "Cascade Lake"
			}
			return "Skylake-SP"
		case 106, 108:
			return "Ice Lake-SP"
		case 125, 126:
			return "Ice Lake"
		case 140, 141:
			return "Tiger Lake"
		case 167:
			return "Rocket Lake"
		case 151, 154, 183, 186, 191:
			return "Alder Lake or Raptor Lake"
		case 170, 172:
			return "Meteor Lake"
		}
	case vendor == "AuthenticAMD" && family == 23:
		if model >= 48 {
			return "Zen 2"
		}
		return "Zen or Zen+"
	case vendor == "AuthenticAMD" && family == 25:
		if has(cpuid.AVX512F) {
			return "Zen 4"
		}
		return "Zen 3"
	case vendor == "AuthenticAMD" && family == 26:
		return "Zen 5"
	}
	return ""
}
