//go:build cgo

package fault

var _ int = "a text"
