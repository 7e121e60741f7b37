package engine

// RunAdditions makes rounds times 64 additions on the calling thread, each of which needs
// the result of the one before, and returns their number. Current CPUs take one cycle for
// such an addition, so that it is the number of cycles, too: divided by the time, the
// frequency of the core.
func RunAdditions(rounds int) (cycles float64) {
	for left := rounds; left > 0; left -= additionRounds {
		additions(min(left, additionRounds))
	}
	return 64 * float64(max(rounds, 0))
}

// additionRounds rounds at most are one call: some tens of microseconds.
const additionRounds = 2000
