//go:build wrong

package fault

var _ int = "a text"
