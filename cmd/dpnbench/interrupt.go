package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/term"
)

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
		signal.Stop(c)
		message := "dpnbench: stopping after the current step; interrupt again to stop immediately\n"
		if term.IsTerminal(int(stderr.Fd())) { // the line may hold ^C and the progress
			message = "\n" + message
		}
		fmt.Fprint(stderr, message) // at once, for the line of progress is drawn meanwhile
		cancel()
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
