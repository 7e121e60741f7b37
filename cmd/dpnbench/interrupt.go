package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"dpnbench/internal/mpi"

	"golang.org/x/term"
)

// launcherDelay is how long the signals of one interruption may take to reach a rank.
const launcherDelay = 3 * time.Second

// interruptible returns a context that the first interrupting signal cancels, with a message on
// stderr. A second signal ends the process immediately.
func interruptible(stderr *os.File) context.Context {
	list := watchedSignals()
	if len(list) == 0 { // for Notify, none means all signals
		return context.Background()
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := make(chan os.Signal, 1)
	signal.Notify(c, list...)
	go func() {
		<-c
		message := "dpnbench: stopping; interrupt again to stop immediately\n"
		if term.IsTerminal(int(stderr.Fd())) { // the line may hold ^C and the progress
			message = "\n" + message
		}
		fmt.Fprint(stderr, message) // at once, for the line of progress is drawn meanwhile
		cancel()
		if mpi.EnvironmentRank() >= 0 { // a rank gets the same signal from Slurm and from mpirun
			time.Sleep(launcherDelay)
		}
		signal.Stop(c)
	}()
	return ctx
}

// watchedSignals lists the interrupting signals, without those that the process was started to
// ignore, for example by nohup.
func watchedSignals() []os.Signal {
	var list []os.Signal
	for _, s := range endSignals {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}
