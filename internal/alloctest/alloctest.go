// Package alloctest counts allocations, for tests.
package alloctest

import "testing"

// PerCall returns how many allocations a call of f makes: the least of up to ten counts of [testing.AllocsPerRun], each
// of runs calls. Allocations of others count, too: of the runtime, and of a thread that comes to its first task, and to
// its scratch memory, late on a busy machine.
func PerCall(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for try := 1; try < 10 && least > 0; try++ {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}
