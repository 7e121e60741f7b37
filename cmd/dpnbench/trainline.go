package main

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"

	"dpnbench/dpn"
	"dpnbench/internal/format"
)

// epochTable prints a row for each epoch. On a terminal, a validation loss below those before has a colour.
type epochTable struct {
	*app
	steps  int // of the ascent
	headed bool
	best   float64 // validation loss
}

func (e *epochTable) add(h dpn.Epoch) {
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
		c := plain
		if *h.ValLoss < e.best {
			c, e.best = good, *h.ValLoss
		}
		columns = append(columns, column{"val loss", fmt.Sprintf("%.4f", *h.ValLoss), c},
			column{"accuracy", fmt.Sprintf("%.2f%%", 100**h.ValAccuracy), plain})
	}
	if e.steps > 0 {
		columns = append(columns, column{"alpha*lambda", fmt.Sprintf("%.2f", h.Diagnostics.AlphaLambda), plain},
			column{"active", fmt.Sprintf("%.1f", h.Diagnostics.StrongLast), plain})
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

// step is told of each update.
func (l *trainLine) step(done, all int, loss float64) {
	each := (l.samples + l.settings.Batch - 1) / l.settings.Batch // updates of an epoch
	epoch := (done-1)/each + 1
	if l.report == nil {
		l.loss.Store(math.Float64bits(loss))
		l.report = l.begin(phase{first: done - 1, detail: func(rate float64) string {
			loss, speed := math.Float64frombits(l.loss.Load()), int(rate*float64(l.settings.Batch))
			return fmt.Sprintf("loss %.4f  %s %s/s", loss, format.Thousands(speed), l.noun)
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
