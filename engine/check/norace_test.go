//go:build !race

package check

// raced says whether the race detector is on, which slows the reference down twenty times.
const raced = false
