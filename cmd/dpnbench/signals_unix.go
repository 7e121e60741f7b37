//go:build unix

package main

import (
	"os"
	"syscall"
)

// endSignals ask the process to end: Ctrl-C, kill, and a lost terminal or connection.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP}
