//go:build unix

package main

import (
	"errors"
	"os"
	"os/signal"
	"syscall"
)

// endSignals ask the process to end: Ctrl-C, kill, a lost terminal or connection, and what jobs use as a warning:
// mpirun of Open MPI hands it on, while it follows SIGTERM by SIGKILL after a second.
var endSignals = []os.Signal{os.Interrupt, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1}

// outliveReader makes writes to a pipe that nobody reads fail, instead of ending the process before it
// has written its files.
func outliveReader() { signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) }

// unread says whether an error is that of a pipe that nobody reads.
func unread(err error) bool { return errors.Is(err, syscall.EPIPE) }
