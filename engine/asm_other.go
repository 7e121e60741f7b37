//go:build (!amd64 && !arm64) || purego || noasm

package engine

import "runtime"

// tierTable returns the kernels of t, or why it has none in this build.
func tierTable(t Tier) (*kernels, string) {
	if t == Generic {
		return &genericKernels, ""
	}
	return nil, "this build has no assembly (tags purego or noasm, or GOARCH " + runtime.GOARCH + ")"
}

// pause yields to nobody: without assembly there is no instruction for it.
func pause(int) {}
