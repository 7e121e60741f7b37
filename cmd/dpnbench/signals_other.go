//go:build !unix

package main

import (
	"os"
	"syscall"
)

// endSignals ask the process to end.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM}

func outliveReader() {}

func unread(error) bool { return false }
