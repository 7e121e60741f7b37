//go:build (!amd64 && !arm64) || purego || noasm

package engine

// machineKernels is empty: this build has no assembly.
var machineKernels []*kernels

// pause does nothing: Go has no instruction for it.
func pause(int) {}

// prefetch does nothing: Go has no instruction for it.
func prefetch([]byte) {}

// prefetchToWrite does nothing either.
func prefetchToWrite([]byte) {}

// additions runs rounds of 64 additions to x, each of which waits for the one before.
// With two numbers that take turns the compiler merges none.
func additions(rounds int) { addInTurns(rounds, 1, 2, 3) }

// addInTurns is not inlined: its operands would become constants.
//
//go:noinline
func addInTurns(rounds int, x, y, z uint) uint {
	for range rounds {
		x = add8(x, y, z)
		x = add8(x, y, z)
		x = add8(x, y, z)
		x = add8(x, y, z)
		x = add8(x, y, z)
		x = add8(x, y, z)
		x = add8(x, y, z)
		x = add8(x, y, z)
	}
	return x
}

func add8(x, y, z uint) uint {
	x += y
	x += z
	x += y
	x += z
	x += y
	x += z
	x += y
	x += z
	return x
}
