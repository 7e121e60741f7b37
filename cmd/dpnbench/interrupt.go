package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/term"
)

// interruptible returns a context that ends with the first signal to end, which is reported
// on stderr. The second one ends the process at once, whatever it does.
func interruptible(stderr *os.File) context.Context {
	list := watchedSignals()
	if len(list) == 0 { // Notify would take it for all signals
		return context.Background()
	}
	ctx, cancel := context.WithCancel(context.Background())
	c := make(chan os.Signal, 1)
	signal.Notify(c, list...)
	go func() {
		<-c
		signal.Stop(c)
		if term.IsTerminal(int(stderr.Fd())) { // whose line may hold ^C and a progress bar
			fmt.Fprintln(stderr)
		}
		fmt.Fprintln(stderr, "dpnbench: interrupting; once more ends at once")
		cancel()
	}()
	return ctx
}

// watchedSignals lists the signals to end, less those that the process was started to
// ignore, as by nohup.
func watchedSignals() []os.Signal {
	var list []os.Signal
	for _, s := range endSignals {
		if !signal.Ignored(s) {
			list = append(list, s)
		}
	}
	return list
}
