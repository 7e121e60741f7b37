//go:build race

package check

const raced = true
