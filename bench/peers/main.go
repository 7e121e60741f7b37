// Command peers times the engine and its peers, OpenBLAS, gonum, PyTorch and
// scikit-learn, on the same work, in turn, in one run (see README.md).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"dpnbench/engine"
	"dpnbench/internal/sysinfo"
)

var peers = []string{"openblas", "gonum", "torch", "training", "sklearn"}

// settings are the values of the flags.
type settings struct {
	tier       engine.Tier
	threads    []int // numbers of them that everything is timed with
	rounds     int   // in which everything is timed once
	slowRounds int   // the same where a round takes many seconds
	least      time.Duration
	only       []string
	presets    []string // of training
	python     string
}

func (s *settings) wants(peer string) bool { return slices.Contains(s.only, peer) }

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "peers:", err)
		os.Exit(2)
	}
}

func run(ctx context.Context) error {
	rounds := flag.Int("rounds", 21,
		"rounds in which everything is timed once; a third of them, at least 7, where a round takes over 5 s")
	least := flag.Duration("batch", 100*time.Millisecond, "least time of one timing")
	tier := flag.String("tier", "auto", "tier of the engine")
	threads := flag.String("threads", "",
		"numbers of threads, with commas between them (default: one, and all that the process may use)")
	only := flag.String("only", strings.Join(peers, ","), "peers, with commas between them")
	presets := flag.String("presets", strings.Join(trainedPresets, ","),
		"presets of training, with commas between them")
	quick := flag.Bool("quick", false, "6 rounds, one where a round takes over 5 s: does everything work?")
	python := flag.String("python", "",
		"Python to use (default: the first of python3 and /usr/bin/python3 that has the package)")
	flag.Parse()
	if flag.NArg() > 0 {
		return fmt.Errorf("%q: expected flags only", flag.Arg(0))
	}
	if *rounds < 6 {
		return fmt.Errorf("-rounds %d: expected at least 6, for an interval", *rounds)
	}
	s := &settings{rounds: *rounds, slowRounds: min(*rounds, max(7, *rounds/3)), least: *least,
		only: strings.Split(*only, ","), presets: strings.Split(*presets, ","), python: *python}
	if *quick {
		s.rounds, s.slowRounds, s.least = 6, 1, 5*time.Millisecond
	}
	for _, name := range s.only {
		if !slices.Contains(peers, name) {
			return fmt.Errorf("-only %s: expected some of %s", name, strings.Join(peers, ", "))
		}
	}
	for _, name := range s.presets {
		if !slices.Contains(trainedPresets, name) {
			return fmt.Errorf("-presets %s: expected some of %s", name, strings.Join(trainedPresets, ", "))
		}
	}
	var err error
	if s.threads, err = threadNumbers(*threads, runtime.GOMAXPROCS(0)); err != nil {
		return fmt.Errorf("-threads %s: %w", *threads, err)
	}
	if s.tier, err = engine.ParseTier(*tier); err != nil {
		return fmt.Errorf("-tier: %w", err)
	}
	e, err := engine.New(engine.WithTier(s.tier))
	if err != nil {
		return fmt.Errorf("-tier: %w", err)
	}
	s.tier = e.Tier()
	e.Close()
	m := sysinfo.ReadMachine()
	fmt.Printf("%s, tier %v, threads %s of %d; medians and the 95%% intervals of medians\n", m.Brand, s.tier,
		listed(s.threads), runtime.GOMAXPROCS(0))
	if m.Load > 0.5 {
		fmt.Fprintf(os.Stderr,
			"peers: %v processes ran in the last minute: leave the machine alone, or the threads of peers wait for "+
				"each "+
				"other\n", m.Load)
	}

	if core, set := os.LookupEnv("OPENBLAS_CORETYPE"); set {
		fmt.Fprintf(os.Stderr,
			"peers: OPENBLAS_CORETYPE=%s chooses the kernels of OpenBLAS, also for PyTorch and scikit-learn: are "+
				"they its "+
				"best ones here?\n", core)
	}

	for _, compare := range []func(context.Context, *settings) error{products, torch, training, sklearn} {
		err := compare(ctx, s)
		if ctx.Err() != nil {
			return errors.New("interrupted")
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// threadNumbers parses the flag -threads of a process that may use all threads.
func threadNumbers(text string, all int) ([]int, error) {
	if text == "" {
		return slices.Compact([]int{1, all}), nil
	}
	var numbers []int
	for _, field := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 || n > engine.MaxThreads || slices.Contains(numbers, n) {
			return nil, fmt.Errorf("expected different whole numbers from 1 to %d, such as 1,4", engine.MaxThreads)
		}
		numbers = append(numbers, n)
	}
	return numbers, nil
}

// listed joins numbers with commas.
func listed(numbers []int) string {
	return strings.Trim(strings.ReplaceAll(fmt.Sprint(numbers), " ", ", "), "[]")
}
