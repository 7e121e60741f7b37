//go:build !race

package check

// raced reports whether the race detector is on, which makes the reference 20 times slower.
const raced = false
