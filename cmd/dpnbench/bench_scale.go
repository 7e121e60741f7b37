package main

import (
	"context"
	"fmt"
	"math"
	"strconv"

	"dpnbench/bench"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/mpi"
	"dpnbench/internal/output"
	"dpnbench/internal/regular"
	"dpnbench/internal/sysinfo"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const scaleHelp = `Measure what an update costs here, and simulate training on 1 to 1,024 ranks by a simple model.
Strong scaling divides a minibatch of --batch samples among the ranks, weak scaling gives each rank
the batch of the preset. Efficiency is samples a second on R ranks over R times those of one rank.
It can exceed 100%: a large minibatch is slower per sample than its parts, and the ranks divide norm
and optimiser. A line below the table then says so, with the times.

The model: a rank computes its samples and what does not depend on them (the precisions), and its
part of the norm and of the optimiser. It sends 4 (R - 1) messages, with twice (R - 1)/R of the
parameters. A message takes --latency plus its bytes at --bandwidth; the share --overlap of it is
hidden behind computing. Computing varies between ranks by the share --stragglers, and all wait for
the slowest. The defaults are those of a network of 100 Gbit/s; under mpirun -n 2, in a program with
MPI, those of latency and bandwidth are measured between the two ranks.

--check trains with 2, 4 and 8 ranks in this process, and compares the time of an update with the
model, whose messages then are copies in memory. Leave the machine idle.`

func scaleCommand(a *app) *cobra.Command {
	s := &scaling{app: a}
	c := &cobra.Command{
		Use:   "scale",
		Short: "Simulate training on up to 1,024 ranks",
		Long:  scaleHelp,
		Example: `  dpnbench bench scale
  dpnbench bench scale --presets compact,paper --check compact,paper
  dpnbench bench scale --latency 20 --bandwidth 1.25 --html scale.html   # Ethernet of 10 Gbit/s
  mpirun -n 2 --map-by node dpnbench bench scale   # the messages of a cluster (tag mpi)
  dpnbench bench scale --overlap 0.8 --stragglers 0.1 --json scale.json`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context(), c.Flags()) },
	}
	f := c.Flags()
	f.StringSliceVar(&s.presets, "presets", nil, "`NAMES` of the presets (default all)")
	f.StringSliceVar(&s.check, "check", nil, "also train the presets `NAMES` with 2, 4 and 8 ranks")
	f.IntVar(&s.batch, "batch", 1024, "`N` samples of a minibatch that all ranks share")
	f.Float64Var(&s.latency, "latency", 2, "`MICROSECONDS` of a message")
	f.Float64Var(&s.bandwidth, "bandwidth", 12.5, "`GB/S` that a rank sends and receives")
	f.Float64Var(&s.network.Overlap, "overlap", 0, "`SHARE` of the messages hidden behind computing, 0 to 1")
	f.Float64Var(&s.network.Stragglers, "stragglers", 0.02, "standard deviation of computing, as a `SHARE` of its mean")
	f.StringVar(&s.html, "html", "", "write a page with figures to `FILE`")
	return c
}

// scaling is one run of bench scale.
type scaling struct {
	*app
	presets, check     []string
	batch              int
	latency, bandwidth float64
	network, here      bench.Network // simulated, and measured between two ranks
	html               string
}

func (s *scaling) run(ctx context.Context, flags *pflag.FlagSet) error {
	for _, f := range []struct {
		name          string
		value, lo, hi float64
	}{{"batch", float64(s.batch), 1, 1 << 20}, {"latency", s.latency, 0, 1e6}, {"bandwidth", s.bandwidth, 1e-3, 1e6},
		{"overlap", s.network.Overlap, 0, 1}, {"stragglers", s.network.Stragglers, 0, 1}} {
		if !(f.value >= f.lo && f.value <= f.hi) {
			number := func(v float64) string { return strconv.FormatFloat(v, 'f', -1, 64) }
			return fmt.Errorf("--%s %s: expected %s to %s", f.name, number(f.value), number(f.lo), number(f.hi))
		}
	}
	if s.presets == nil {
		s.presets = dpn.Presets()
	}
	for flag, list := range map[string][]string{"presets": s.presets, "check": s.check} {
		for _, name := range list {
			if _, err := dpn.Preset(name); err != nil {
				return fmt.Errorf("--%s: %w", flag, err)
			}
		}
	}
	s.network.Latency, s.network.Bandwidth = s.latency*1e-6, s.bandwidth*1e9
	files := s.files()
	files.Output("--html", s.html)
	if err := files.Check(); err != nil {
		return err
	}
	if err := s.messages(flags); err != nil || s.rank() > 0 {
		return err
	}
	e, err := s.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	r := &bench.Scale{Format: 1, Machine: sysinfo.ReadMachine().Brand, Tier: e.Tier().String(), Threads: e.Threads(),
		Network: s.network, Batch: s.batch, Here: s.here}
	for i, name := range s.presets {
		s.phase(name)(i, len(s.presets))
		c, err := bench.MeasureScale(ctx, e, name)
		if err != nil {
			return err
		}
		r.Costs = append(r.Costs, c)
		r.Points = append(r.Points, c.Simulate(s.batch, s.network)...)
	}
	if err := s.checkModel(ctx, r); err != nil {
		return err
	}
	s.progress.end()
	return s.conclude(r)
}

// messages measures those between two ranks: of mpirun, whose network is then simulated, or in this process.
func (s *scaling) messages(flags *pflag.FlagSet) error {
	var err error
	if !s.ranked() {
		s.here, err = copies()
		return err
	}
	s.here, err = measured(s.world.Comm)
	if !flags.Changed("latency") {
		s.network.Latency = s.here.Latency
	}
	if !flags.Changed("bandwidth") {
		s.network.Bandwidth = s.here.Bandwidth
	}
	return err
}

// measured measures the messages between two ranks.
func measured(c mpi.Comm) (bench.Network, error) {
	latency, bandwidth, err := bench.MeasureMessages(c)
	return bench.Network{Latency: latency, Bandwidth: bandwidth}, err
}

// copies measures the messages between two ranks in this process.
func copies() (n bench.Network, err error) {
	err = mpi.Run(2, func(c mpi.Comm) error {
		found, err := measured(c)
		if c.Rank() == 0 {
			n = found
		}
		return err
	})
	return n, err
}

// checkModel trains with ranks in this process, whose messages are copies in memory, also under mpirun.
func (s *scaling) checkModel(ctx context.Context, r *bench.Scale) error {
	if len(s.check) == 0 {
		return nil
	}
	t, err := s.tierSetting()
	if err != nil {
		return err
	}
	one, err := engine.New(engine.WithTier(t), engine.WithThreads(1))
	if err != nil {
		return err
	}
	defer one.Close()
	all, err := engine.New(engine.WithTier(t))
	if err != nil {
		return err
	}
	cores := all.Threads()
	all.Close()
	between := r.Here
	if s.ranked() {
		if between, err = copies(); err != nil {
			return err
		}
	}
	for i, name := range s.check {
		tell := s.phase("check " + name)
		tell(i, len(s.check))
		c, err := bench.MeasureScale(ctx, one, name)
		if err != nil {
			return err
		}
		for _, ranks := range []int{2, 4, 8} {
			x, err := bench.CheckScale(ctx, c, t, ranks, cores, between)
			if err != nil {
				return err
			}
			r.Checks = append(r.Checks, x)
		}
	}
	return nil
}

// conclude prints the tables and writes everything.
func (s *scaling) conclude(r *bench.Scale) error {
	s.table(r.Rows())
	s.note("strong: %d samples on all ranks; weak: the batch of the preset on each\n", s.batch)
	for _, said := range r.Above() {
		s.warn("%s\n", said)
	}
	s.printf("the model: %s\n", r.Network.Said())
	s.note("between two ranks here: %s\n", r.Here.Measured())
	if len(r.Checks) > 0 {
		s.printf("\nthe model beside ranks in this process:\n")
		s.keyed(2, r.CheckRows())
		worst := 0.0
		for _, c := range r.Checks {
			worst = max(worst, math.Abs(math.Log(c.Measured/c.Predicted)))
		}
		s.printf("the model is off by a factor of %.2f at most\n", math.Exp(worst))
	}
	var err error
	if s.html != "" {
		if err = output.Write(s.html, r.Page().Write); err != nil {
			err = fmt.Errorf("--html %s: %w", s.html, regular.Cause(err))
		}
	}
	return joined(err, s.writeJSON(r))
}
