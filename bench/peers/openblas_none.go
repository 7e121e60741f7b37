//go:build !openblas || !cgo

package main

var openblas *blasPeer // needs cgo and the library: build with -tags openblas
