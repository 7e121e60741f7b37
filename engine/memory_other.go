//go:build !linux

package engine

func adviseHuge[T byte | float32]([]T) {}
