//go:build !openblas || !cgo

package main

var openblas *blasRival // needs cgo and the library: build with -tags openblas
