//go:build !(foreign && cgo && unix)

package main

import "testing"

// TestNoLibrary checks what a program that cannot call shared libraries says of --library.
func TestNoLibrary(t *testing.T) {
	fails(t, []string{"check", "--library", "x.so", "--symbol", "f"}, "--library x.so", "go build -tags foreign")
	fails(t, []string{"check", "--symbol", "f"}, "--symbol f: only with --library")
	fails(t, []string{"bench", "--library", "x.so"}, "--library x.so", "go build -tags foreign")
	fails(t, []string{"bench", "--symbol", "f"}, "--symbol f: only with --library")
}
