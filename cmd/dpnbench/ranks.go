package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"time"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/mpi"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// defaultShards is the number of pieces of a minibatch for more than one rank: the same for any number of them, or
// the weights would depend on it.
const defaultShards = 8

// joinRanks makes a command of this process as the rank that a launcher of MPI wants it to be. Only rank 0 prints and
// writes. A process that is no rank, of a program without MPI for example, works for itself and prints what it finds.
func joinRanks(stdout, stderr *os.File) *app {
	world, err := mpi.Start()
	if world != nil && world.Rank() > 0 {
		stdout, stderr = nowhere(), nowhere()
	}
	a := newApp(stdout, stderr)
	a.world, a.unranked = world, err
	if world == nil {
		return a
	}
	runtime.GOMAXPROCS(a.world.Threads) // other ranks have the other CPUs
	a.world.OnSlow(func(rank int, waited time.Duration) {
		a.log().Warn(fmt.Sprintf("waiting for rank %d, %s, for %d seconds", rank, a.world.Name(rank),
			int(waited.Seconds())))
	})
	return a
}

// checkRanks refuses more than one rank for what only one can do, and processes that should be ranks, but are not, for
// what divides its work: the first of them says so.
func (a *app) checkRanks(c *cobra.Command) error {
	if c.Name() == "train" || c.Name() == "scale" {
		if a.unranked != nil && mpi.EnvironmentRank() > 0 {
			a.stderr = nowhere()
			time.Sleep(toSpeak)
		}
		return a.unranked
	}
	if a.ranked() {
		return fmt.Errorf("%d ranks were started, expected 1 for %s: only train and bench scale divide their work",
			a.world.Size(), c.CommandPath())
	}
	return nil
}

// toSpeak is how long other processes leave the first one to say why none trains: mpirun of Open MPI ends all once one
// has failed.
const toSpeak = time.Second

// patience is how long a rank that has failed waits for rank 0 to say so. It may be saving the run.
const patience = 30 * time.Second

// leaveRanks ends this process as a rank: all together if all have succeeded, otherwise at once. Rank 0 says why, or
// rank 1 if it was rank 0 that failed.
func (a *app) leaveRanks(status int) int {
	w := a.world
	if w == nil {
		return status
	}
	if status == exitDone || status == exitUnread { // all files are written
		err := w.Finish()
		if err == nil {
			return status
		}
		a.fail(oneLine(err))
		a.failure, status = err, exitUsage
	}
	other, ok := errors.AsType[*mpi.RankError](a.failure)
	if !ok {
		other = &mpi.RankError{Rank: w.Rank(), Reason: oneLine(a.failure)}
		if status == exitInterrupted {
			other.Reason = mpi.Interrupted
		}
		w.Abort(other.Reason)
	}
	if w.Rank() == 0 {
		w.Exit(status)
		return status
	}
	until := patience
	if status == exitInterrupted { // rank 0, too, after it has saved the run
		until = time.Hour
	}
	if other.Lost && other.Rank == 0 && w.Rank() == 1 {
		until = 0
	}
	w.Linger(until)
	fmt.Fprintf(os.Stderr, "dpnbench: %s\n", oneLine(other))
	w.Exit(status)
	return status
}

// ranked says whether this process is one of several ranks.
func (a *app) ranked() bool { return a.world != nil && a.world.Size() > 1 }

// rank returns the rank of this process, which is 0 if there are no others.
func (a *app) rank() int {
	if a.world == nil {
		return 0
	}
	return a.world.Rank()
}

// count returns the number of ranks of this training.
func (t *training) count() int {
	if t.ranked() {
		return t.world.Size()
	}
	return max(t.ranks, 1)
}

// here returns the number of ranks on this machine.
func (t *training) here() int {
	if t.ranked() {
		return t.world.NodeSize()
	}
	return t.count()
}

// shards settles the pieces of a minibatch for more than one rank.
func (t *training) shards(c *dpn.Config, flags *pflag.FlagSet) error {
	n := t.count()
	switch {
	case flags.Changed("ranks") && t.ranks < 1:
		return fmt.Errorf("--ranks %d: expected at least 1", t.ranks)
	case t.ranks > 1 && n != t.ranks:
		return fmt.Errorf("--ranks %d: mpirun has started %d; give one of the two", t.ranks, n)
	case n == 1:
		return nil
	}
	if c.Shards == 1 && !flags.Changed("shards") && !t.resume {
		c.Shards = defaultShards
	}
	if n > c.Shards && t.resume {
		return fmt.Errorf("%d ranks: the run in --out %s began with --shards %d; expected at most as many ranks", n,
			t.out, c.Shards)
	}
	if n > c.Shards {
		return fmt.Errorf("%d ranks: expected at most as many as --shards, which is %d", n, c.Shards)
	}
	return nil
}

// fit trains m by all ranks.
func (t *training) fit(ctx context.Context, e *engine.Engine, m *dpn.Model, data *dataset.Data,
	opt dpn.FitOptions) (*dpn.FitResult, error) {
	if t.ranked() {
		opt.Comm = t.world.Comm
	}
	if t.ranked() || t.count() == 1 {
		return m.Fit(ctx, e, data.Train, opt)
	}
	var result *dpn.FitResult
	err := mpi.Run(t.ranks, func(c mpi.Comm) error {
		threads := mpi.Share(e.Threads(), c.Rank(), t.ranks)
		mine, err := engine.New(engine.WithTier(e.Tier()), engine.WithThreads(threads))
		if err != nil {
			return err
		}
		defer mine.Close()
		own := opt
		own.Comm = c
		if c.Rank() == 0 {
			result, err = m.Fit(ctx, mine, data.Train, own)
			return err
		}
		other, err := dpn.New(m.Config, data)
		if err == nil {
			err = t.setRoute(other)
		}
		if err == nil {
			_, err = other.Fit(ctx, mine, data.Train, own)
		}
		return err
	})
	return result, err
}
