//go:build !linux

package engine

func adviseHuge([]float32) {}
