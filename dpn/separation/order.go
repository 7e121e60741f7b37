package separation

import (
	"context"
	"fmt"
	"math"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Samples that follow each other may be alike, as the digits of one writer are. Then they are no independent draws,
// and single ones drawn anew understate the error: whole blocks of consecutive samples are drawn instead (a circular
// block bootstrap, Politis and Romano 1992). The blocks of all classes lie at the same places of their order, so that
// what the classes have in common at a place is drawn together.

const (
	// orderBlocks is the number of blocks of a class, and leastBlock the least number of samples of a block.
	orderBlocks = 20
	leastBlock  = 10
	// leastOrder is the smallest order ratio, and orderErrors the smallest number of standard errors above 1, at
	// which the order counts as structure.
	leastOrder  = 1.1
	orderErrors = 4
)

// orderRatio returns how far apart the means of consecutive blocks of a class are: the sum of their squared
// distances from the class mean over what samples in random order have on average. within is the sum of Tr(C_k).
// Both are NaN where blocks are too short.
func (b *bootstrap) orderRatio() (ratio, within float64) {
	for _, n := range b.sc.counts {
		if n < orderBlocks*leastBlock {
			return math.NaN(), math.NaN()
		}
	}
	weights := engine.NewMatrix(orderBlocks, b.z.Rows)
	for k, n := range b.sc.counts {
		for j := range n {
			weights.Set(j*orderBlocks/n, b.first[k]+j, 1)
		}
	}
	sums := engine.NewMatrix(orderBlocks, b.z.Cols)
	var apart float64
	for k, n := range b.sc.counts {
		z := b.class(b.z, k)
		b.e.MatMul(sums, weights.Slice(0, orderBlocks, b.first[k], b.first[k+1]), z, false)
		length := float64(n) / orderBlocks
		apart += squares(sums) / length
		within += squares(z) / b.freedom(k)
	}
	return apart / (float64(orderBlocks-1) * within), within
}

// orderError returns the standard error of orderRatio for normal samples in random order.
func (b *bootstrap) orderError(within float64) float64 {
	_, _, squareTraces := b.spreads(b.z)
	return math.Sqrt(2*squareTraces/float64(orderBlocks-1)) / within
}

// drawBlocks sets w to how often each sample is drawn, minus one, where every class is drawn in orderBlocks blocks.
func (b *bootstrap) drawBlocks(w []float32, r *num.Rand) {
	for j := range orderBlocks {
		start := r.Float64()
		for k, n := range b.sc.counts {
			at := min(int(start*float64(n)), n-1)
			for range (j+1)*n/orderBlocks - j*n/orderBlocks {
				w[b.first[k]+at]++
				if at++; at == n {
					at = 0
				}
			}
		}
	}
}

// drawAlike draws intervals again where some layers were drawn in blocks and others were not: loads need draws in
// common.
func (d *Depth) drawAlike(ctx context.Context, samples []Samples, o Options) error {
	some := false
	for _, l := range d.Layers {
		some = some || l.Sampling != nil && l.Sampling.Blocks > 0
	}
	o.blocks = true
	for i := range d.Layers {
		l := &d.Layers[i]
		if !some || l.Sampling == nil || l.Sampling.Blocks > 0 {
			continue
		}
		if err := l.interval(ctx, samples[i], o); err != nil {
			return fmt.Errorf("layer %q: %w", l.Name, err)
		}
	}
	return nil
}

// OrderNote says that intervals of layers come from draws of blocks; it is empty where none do.
func OrderNote(layers []Layer) string {
	least, most := math.Inf(1), 0.0
	for _, l := range layers {
		if s := l.Sampling; s != nil && s.Blocks > 0 && s.Order.IsFinite() {
			least, most = min(least, float64(s.Order)), max(most, float64(s.Order))
		}
	}
	if most == 0 {
		return ""
	}
	times := fmt.Sprintf("%.1f", most)
	if low := fmt.Sprintf("%.1f", least); low != times {
		times = low + " to " + times
	}
	return fmt.Sprintf("the order of the samples carries structure (means of %d consecutive blocks of a class vary "+
		"%s times as much as in random order): intervals of D are from draws of whole blocks, and N → ∞ is for "+
		"more samples of the same sources in the same shares", orderBlocks, times)
}
