//go:build !linux

package engine

func ownTime() threadTime { return threadTime{} }
