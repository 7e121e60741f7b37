package main

import (
	"fmt"
	"math"
	"sync/atomic"

	"dpnbench/dpn"
	"dpnbench/internal/format"
)

// trainLine shows the progress of training: epoch, loss, samples per second, time left.
type trainLine struct {
	*progress
	settings dpn.Config
	samples  int

	epoch  int
	report func(done, all int)
	loss   atomic.Uint64 // bits of the loss, smoothed over about twenty updates
}

// step is told of each update.
func (l *trainLine) step(done, all int, loss float64) {
	each := (l.samples + l.settings.Batch - 1) / l.settings.Batch // updates of an epoch
	epoch := (done-1)/each + 1
	if l.report == nil {
		l.loss.Store(math.Float64bits(loss))
		l.report = l.begin(phase{first: done - 1, detail: func(rate float64) string {
			loss := math.Float64frombits(l.loss.Load())
			return fmt.Sprintf("loss %.4f  %s/s", loss, format.Thousands(int(rate*float64(l.settings.Batch))))
		}})
	}
	if epoch != l.epoch {
		l.epoch = epoch
		l.rename(fmt.Sprintf("epoch %d of %d", epoch, l.settings.Epochs))
	}
	before := math.Float64frombits(l.loss.Load())
	l.loss.Store(math.Float64bits(before + (loss-before)/20))
	l.report(done, all)
}
