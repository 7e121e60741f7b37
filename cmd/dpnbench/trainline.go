package main

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"dpnbench/dpn"
	"dpnbench/internal/format"
)

// mostEpochLines is about the largest number of epochs that have a line each; of more, some have.
const mostEpochLines = 50

// epochTable prints a row for each epoch, or for each stride of many, always with the last one and the one whose
// model is kept, unless it is one before a resumption. On a terminal, a validation loss below those before has a
// colour.
type epochTable struct {
	*app
	steps  int // of the ascent
	stride int
	headed bool
	lowest float64    // validation loss
	best   *dpn.Epoch // of that loss, if it has no row yet
	latest *dpn.Epoch // if it has no row yet
}

// newEpochTable is a table for the training of a network on so many samples.
func newEpochTable(a *app, c dpn.Config, samples int) *epochTable {
	n := c.Epochs
	if c.MaxUpdates > 0 {
		n = min(n, epochsOf(c.MaxUpdates, c.Batch, samples))
	}
	return &epochTable{app: a, steps: c.Steps, stride: (n + mostEpochLines - 1) / mostEpochLines, lowest: math.Inf(1)}
}

// epochsOf returns the number of epochs in which so many updates are made.
func epochsOf(updates, batch, samples int) int {
	each := (samples + batch - 1) / batch
	return (updates + each - 1) / each
}

// add takes an epoch, and prints rows if it is the turn of this one.
func (e *epochTable) add(h dpn.Epoch) {
	if e.latest = &h; h.ValLoss != nil && *h.ValLoss < e.lowest {
		e.lowest, e.best = *h.ValLoss, &h
	}
	if h.Epoch == 1 || h.Epoch%e.stride == 0 {
		e.flush()
	}
}

// flush prints the rows of the best epoch and of the last one, unless they have been printed.
func (e *epochTable) flush() {
	if e.best != nil && e.best != e.latest {
		e.row(*e.best, good)
	}
	if e.latest != nil {
		c := plain
		if e.best == e.latest {
			c = good
		}
		e.row(*e.latest, c)
	}
	e.best, e.latest = nil, nil
}

// row prints the row of an epoch, whose validation loss has a tone.
func (e *epochTable) row(h dpn.Epoch, loss tone) {
	if e.quiet || e.json == "-" {
		return
	}
	type column struct {
		title, cell string
		tone        tone
	}
	columns := []column{{"epoch", fmt.Sprint(h.Epoch), plain}, {"train loss", fmt.Sprintf("%.4f", h.TrainLoss), plain},
		{"accuracy", fmt.Sprintf("%.2f%%", 100*h.TrainAccuracy), plain}}
	if h.ValLoss != nil {
		columns = append(columns, column{"val loss", fmt.Sprintf("%.4f", *h.ValLoss), loss},
			column{"accuracy", fmt.Sprintf("%.2f%%", 100**h.ValAccuracy), plain})
	}
	if e.steps > 0 {
		columns = append(columns, column{"alpha*lambda", fmt.Sprintf("%.2f", h.Diagnostics.AlphaLambda), plain},
			column{"strong", fmt.Sprintf("%.1f", h.Diagnostics.StrongLast), plain})
	}
	columns = append(columns, column{"time", fmt.Sprintf("%.1f s", h.Seconds), plain})
	var head, row strings.Builder
	at := 0
	for _, c := range columns {
		w := gapOfTable + len(c.title)
		switch c.title {
		case "epoch":
			w -= gapOfTable
		case "time":
			w = gapOfTable + len("100.0 s")
		}
		if at += w; e.out.columns > 0 && at > e.out.columns {
			break // a narrow terminal has the first columns only
		}
		fmt.Fprintf(&head, "%*s", w, c.title)
		if !e.out.colour {
			c.tone = plain
		}
		row.WriteString(strings.Repeat(" ", max(1, w-len(c.cell))) + c.tone.paint(c.cell))
	}
	text := row.String() + "\n"
	if !e.headed {
		e.headed, text = true, head.String()+"\n"+text
	}
	e.out.Write([]byte(text))
}

// trainLine shows the progress of training: epoch, loss, samples per second, time left.
type trainLine struct {
	*progress
	settings dpn.Config
	samples  int
	noun     string // of samples

	epoch  int
	report func(done, all int)
	loss   atomic.Uint64 // bits of the loss, smoothed over about twenty updates
}

// update is told of each update.
func (l *trainLine) update(done, all int, loss float64) {
	epoch := epochsOf(done, l.settings.Batch, l.samples)
	if l.report == nil {
		l.loss.Store(math.Float64bits(loss))
		l.report = l.begin(phase{first: done - 1, detail: func(rate float64) string {
			loss, speed := math.Float64frombits(l.loss.Load()), int(rate*float64(l.settings.Batch))
			return fmt.Sprintf("loss %.4f  %s %s/s", loss, format.Thousands(speed), l.noun)
		}})
	}
	if epoch != l.epoch {
		l.epoch = epoch
		l.rename(fmt.Sprintf("epoch %d of %d", epoch, epochsOf(all, l.settings.Batch, l.samples)))
	}
	before := math.Float64frombits(l.loss.Load())
	l.loss.Store(math.Float64bits(before + (loss-before)/20))
	l.report(done, all)
}
