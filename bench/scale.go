package bench

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"time"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/internal/mpi"
)

// Network is what ranks exchange messages by, and how even they are.
type Network struct {
	Latency    float64 `json:"latency_seconds"`            // of a message
	Bandwidth  float64 `json:"bandwidth_bytes_per_second"` // of a rank, in each direction
	Overlap    float64 `json:"overlap"`                    // share of the messages behind computing, 0 to 1
	Stragglers float64 `json:"stragglers"`                 // standard deviation of a rank's computing over its mean
}

// ScaleCost is what an update of a preset costs a rank, measured in one process.
type ScaleCost struct {
	Preset     string  `json:"preset"`
	Parameters int     `json:"parameters"`       // that learn
	Batch      int     `json:"batch"`            // of the preset
	Computing  []Cost  `json:"computing"`        // of minibatches, from small to large
	Sharded    float64 `json:"sharded_seconds"`  // norm and optimiser, which the ranks share
	Add        float64 `json:"addition_seconds"` // of a gradient to another
}

// Cost is what computing a minibatch takes, but for norm and optimiser.
type Cost struct {
	Samples int     `json:"samples"`
	Seconds float64 `json:"seconds"`
}

// computing returns what so many samples take: on the line through the two measurements next to them. Few rows at a
// time are slower than many, so a single line would not do.
func (c ScaleCost) computing(samples float64) float64 {
	i := 1
	for i < len(c.Computing)-1 && float64(c.Computing[i].Samples) < samples {
		i++
	}
	a, b := c.Computing[i-1], c.Computing[i]
	slope := (b.Seconds - a.Seconds) / float64(b.Samples-a.Samples)
	return max(0, a.Seconds+slope*(samples-float64(a.Samples)))
}

// mostRanks is the largest number of ranks that are simulated.
const mostRanks = 1024

// ScaleRanks are the numbers of ranks that are simulated: the powers of two up to 1,024.
func ScaleRanks() (ranks []int) {
	for r := 1; r <= mostRanks; r *= 2 {
		ranks = append(ranks, r)
	}
	return ranks
}

// Update predicts the time of an update of so many ranks, each with so many samples, and the part of it that waits for
// messages. The ranks do what those of package dpn do: each sends every other one its slice of the gradient and
// later the parameters that it owns, so a rank sends 2 (R-1)/R of the size of the parameters in 2 messages;
// figures and the norm take as many small ones.
func (c ScaleCost) Update(ranks int, samples float64, n Network) (seconds, messages float64) {
	r := float64(ranks)
	compute := c.computing(samples) * (1 + n.Stragglers*slowest(ranks))
	others := 0.0
	if ranks > 1 {
		messages = 4*(r-1)*n.Latency + 2*(r-1)/r*4*float64(c.Parameters)/n.Bandwidth
		others = (r - 1) / r * c.Add
	}
	messages -= n.Overlap * min(messages, compute)
	return compute + c.Sharded/r + others + messages, messages
}

// slowest is the mean of the largest of n standard normal numbers (Blom, 1958).
func slowest(n int) float64 {
	if n < 2 {
		return 0
	}
	p := (float64(n) - 0.375) / (float64(n) + 0.25)
	return math.Sqrt2 * math.Erfinv(2*p-1)
}

// Scaled is a simulated point.
type Scaled struct {
	Preset     string  `json:"preset"`
	Weak       bool    `json:"weak"` // the preset's batch on every rank; else one minibatch for all
	Ranks      int     `json:"ranks"`
	Batch      int     `json:"batch"` // of all ranks
	Seconds    float64 `json:"seconds"`
	Efficiency float64 `json:"efficiency"` // samples a second, over those of one rank times the ranks
	Messages   float64 `json:"messages"`   // share of the time
}

// Simulate returns strong scaling, a minibatch of so many samples divided among the ranks, and weak scaling.
func (c ScaleCost) Simulate(batch int, n Network) (points []Scaled) {
	for _, weak := range []bool{false, true} {
		var one float64 // samples a second of one rank
		for _, r := range ScaleRanks() {
			if !weak && r > batch {
				break
			}
			p := Scaled{Preset: c.Preset, Weak: weak, Ranks: r, Batch: batch}
			each := p.part()
			if weak {
				p.Batch, each = c.Batch*r, float64(c.Batch)
			}
			var wait float64
			p.Seconds, wait = c.Update(r, each, n)
			rate := float64(p.Batch) / p.Seconds
			if r == 1 {
				one = rate
			}
			p.Efficiency, p.Messages = rate/one/float64(r), wait/p.Seconds
			points = append(points, p)
		}
	}
	return points
}

// How often an update is timed: by its own time, but for a moment.
const (
	leastUpdates = 4
	mostUpdates  = 64
	scaleTime    = time.Second / 2
)

// shortest is the mean of the quickest quarter, as that of the phases of an update: what else runs disturbs it least.
func shortest(times []float64) (mean float64) {
	times = slices.Sorted(slices.Values(times))
	n := max(1, len(times)/4)
	for _, t := range times[:n] {
		mean += t / float64(n)
	}
	return mean
}

// scaleImages are enough for the centres of every preset, and for the largest minibatch that is measured.
const scaleImages = 2048

// MeasureScale measures an update of a preset on e, with a sixteenth of its batch, a quarter, one and four batches.
func MeasureScale(ctx context.Context, e *engine.Engine, preset string) (ScaleCost, error) {
	c, err := dpn.Preset(preset)
	if err != nil {
		return ScaleCost{}, err
	}
	data, err := digits(scaleImages, 10)
	if err != nil {
		return ScaleCost{}, err
	}
	cost := ScaleCost{Preset: preset, Batch: c.Batch}
	c.Batch *= 4
	m, t, err := begun(c, e, data, ascent.AutoRoute)
	if err != nil {
		return ScaleCost{}, err
	}
	for _, p := range m.Params() {
		if p.Grad != nil {
			cost.Parameters += len(p.Data)
		}
	}
	cost.Sharded = math.Inf(1)
	for _, size := range []int{cost.Batch / 16, cost.Batch / 4, cost.Batch, 4 * cost.Batch} { // Batch is at least 32
		profile := new(dpn.Profile)
		t.SetProfile(profile)
		var times []float64
		for began := time.Now(); len(times) < leastUpdates ||
			len(times) < mostUpdates && time.Since(began) < scaleTime; {
			if err := ctx.Err(); err != nil {
				return cost, err
			}
			start := time.Now()
			if _, err := t.Update(data.Train, minibatch(len(times), size, data.Train), 1); err != nil {
				return cost, err
			}
			times = append(times, time.Since(start).Seconds())
		}
		sharded := 0.0
		for _, p := range profile.Phases() {
			if p.Kind == dpn.PhaseNorm || p.Kind == dpn.PhaseOptimiser {
				sharded += p.Seconds
			}
		}
		cost.Sharded = min(cost.Sharded, sharded)
		cost.Computing = append(cost.Computing, Cost{size, max(0, shortest(times)-sharded)})
	}
	cost.Add = addition(e, cost.Parameters)
	return cost, nil
}

// addition is the time to add a gradient to another.
func addition(e *engine.Engine, n int) float64 {
	x, y := engine.AlignedFloats(n), engine.AlignedFloats(n)
	e.Add(x, x, y) // the memory is there from now on
	best := math.Inf(1)
	for range 5 {
		began := time.Now()
		e.Add(x, x, y)
		best = min(best, time.Since(began).Seconds())
	}
	return best
}

// MeasureMessages returns latency and bandwidth between rank 0 and 1. All ranks call it.
func MeasureMessages(c mpi.Comm) (latency, bandwidth float64, err error) {
	if c.Rank() > 1 {
		return 0, 0, mpi.Barrier(c)
	}
	other := 1 - c.Rank()
	in, out := make([]byte, 16<<20), make([]byte, 16<<20)
	exchange := func(n, times int) (float64, error) { // the shortest time of both directions at once
		best := math.Inf(1)
		for range times {
			began := time.Now()
			r, err := c.Recv(other, in[:n])
			if err != nil {
				return 0, err
			}
			s, err := c.Send(other, out[:n])
			if err != nil {
				return 0, err
			}
			if err := cmp.Or(c.Wait(r), c.Wait(s)); err != nil {
				return 0, err
			}
			best = min(best, time.Since(began).Seconds())
		}
		return best, nil
	}
	if latency, err = exchange(8, 2000); err != nil {
		return 0, 0, err
	}
	long, err := exchange(len(in), 20)
	if err != nil {
		return 0, 0, err
	}
	return latency, float64(len(in)) / max(long-latency, 1e-9), mpi.Barrier(c)
}

// ScaleCheck compares the model with ranks in this process, more than there are cores.
type ScaleCheck struct {
	Preset    string  `json:"preset"`
	Ranks     int     `json:"ranks"`
	Batch     int     `json:"batch"`
	Predicted float64 `json:"predicted_seconds"`
	Measured  float64 `json:"measured_seconds"`
}

// CheckScale trains a preset with ranks of one thread each that share so many cores, on the tier that c was measured
// on. The prediction is the model's work of all ranks, divided by the cores: none waits for the network, but all
// messages are copied.
func CheckScale(ctx context.Context, c ScaleCost, t engine.Tier, ranks, cores int, n Network) (ScaleCheck, error) {
	x := ScaleCheck{Preset: c.Preset, Ranks: ranks, Batch: c.Batch}
	each := math.Ceil(float64(c.Batch) / float64(ranks))
	seconds, _ := c.Update(ranks, each, Network{Latency: n.Latency, Bandwidth: n.Bandwidth})
	x.Predicted = seconds * float64(ranks) / float64(min(ranks, cores))
	set, err := digits(scaleImages, 10)
	if err != nil {
		return x, err
	}
	config, err := dpn.Preset(c.Preset)
	if err != nil {
		return x, err
	}
	updates := min(max(leastUpdates, int(scaleTime.Seconds()/x.Predicted)), mostUpdates)
	config.Shards, config.MaxUpdates, config.ValSize = ranks, updates+begunUpdates, 0
	config.Epochs = config.MaxUpdates // enough
	var times []float64
	err = mpi.Run(ranks, func(comm mpi.Comm) error {
		opt := dpn.FitOptions{Comm: comm}
		last := time.Time{}
		if comm.Rank() == 0 {
			opt.OnUpdate = func(done, _ int, _ float64) {
				now := time.Now()
				if done > begunUpdates {
					times = append(times, now.Sub(last).Seconds())
				}
				last = now
			}
		}
		return fitRank(ctx, t, config, set, opt)
	})
	if err != nil {
		return x, fmt.Errorf("%s with %d ranks: %w", c.Preset, ranks, err)
	}
	x.Measured = shortest(times)
	return x, nil
}

// fitRank trains on one thread.
func fitRank(ctx context.Context, t engine.Tier, c dpn.Config, set *dataset.Data, opt dpn.FitOptions) error {
	e, err := engine.New(engine.WithTier(t), engine.WithThreads(1))
	if err != nil {
		return err
	}
	defer e.Close()
	m, err := dpn.New(c, set)
	if err != nil {
		return err
	}
	_, err = m.Fit(ctx, e, set.Train, opt)
	return err
}
