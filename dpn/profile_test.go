package dpn

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dpnbench/engine"
	"dpnbench/internal/longtest"
)

// ticks is a clock that a reading moves on by a millisecond. It counts its readings.
type ticks struct{ atomic.Int64 }

func (c *ticks) now() time.Duration { return time.Duration(c.Add(1)) * time.Millisecond }

// checkPhases checks that the updates of a model went through the phases that its settings ask for, and no others.
func checkPhases(t *testing.T, m *Model, p *Profile) {
	t.Helper()
	c := m.Config
	exact := c.Gradient == GradientExact
	want := []PhaseKind{PhaseRead, PhaseHead, PhaseNorm, PhaseOptimiser, PhaseOther}
	if exact {
		want = append(want, PhasePrecisions, PhaseAscent, PhaseAscentBackward, PhaseSums, PhaseRetraction)
	}
	if c.NoiseMax > 0 {
		want = append(want, PhaseNoise)
	}
	if c.Shards > 1 {
		want = append(want, PhasePieces)
	}
	if c.NLL+c.Score > 0 {
		want = append(want, PhaseDensity)
	}
	var names []string
	for _, kind := range want {
		names = append(names, kind.String())
	}
	for i := range m.extractor {
		names = append(names, fmt.Sprintf("forward %d", i), fmt.Sprintf("backward %d", i))
	}
	var got []string
	for _, v := range p.Phases() {
		name := v.Name
		if v.Kind == PhaseForward || v.Kind == PhaseBackward {
			name = name[:strings.LastIndex(name, " ")]
		}
		got = append(got, name)
		if !(v.Waiting >= 0 && v.Waiting <= v.Seconds) {
			t.Errorf("%s: waited %v s of %v", v.Name, v.Waiting, v.Seconds)
		}
	}
	slices.Sort(names)
	slices.Sort(got)
	if !slices.Equal(got, names) {
		t.Errorf("phases %q, want %q", got, names)
	}
}

// TestProfile measures updates by a clock that its readings move on: with one thread each phase takes as long as
// it is entered often. The phases add up to the update, nobody waits, and after the profile nobody reads the
// clock.
func TestProfile(t *testing.T) {
	longtest.Native(t)
	d := digits(t, 64, 10)
	e := newEngine(t, engine.WithThreads(1))
	c := tiny()
	c.NoiseMax, c.Denoising, c.NLL, c.Shards = 0.3, 0.1, 0.1, 3
	m := newModel(t, c, d)
	if _, err := m.Init(context.Background(), e, d.Train); err != nil {
		t.Fatal(err)
	}
	tr, at := NewTrainer(m, e), []int32{0, 1, 2, 3, 4, 5, 6, 7}
	updateOf := func(rows int) {
		t.Helper()
		if _, err := tr.Update(d.Train, at[:rows], 1); err != nil {
			t.Fatal(err)
		}
	}
	update := func() { t.Helper(); updateOf(len(at)) }
	var clock ticks
	named, last := map[string]bool{}, ""
	p := &Profile{Clock: clock.now, OnPhase: func(name string) { named[name], last = true, name }}
	if p.Phases() != nil {
		t.Errorf("phases before the first update: %v", p.Phases())
	}
	tr.SetProfile(p)
	updateOf(5) // of a part of a minibatch: it does not count
	began := clock.Load()
	for range keptUpdates + 3 {
		update()
	}
	readings := clock.Load() - began
	updateOf(5)
	checkPhases(t, m, p)
	if last != "" {
		t.Errorf("after an update, the phase is still %q", last)
	}
	var sum float64
	for _, v := range p.Phases() {
		sum += v.Seconds
		if !named[v.Name] {
			t.Errorf("OnPhase was not called with %q", v.Name)
		}
		if v.Waiting > 1e-9 {
			t.Errorf("%s: waited %v s on one thread", v.Name, v.Waiting)
		}
	}
	// The first reading of an update begins it.
	if want := (float64(readings)/float64(p.Updates()) - 1) / 1000; !(math.Abs(sum-want) <= 1e-6) {
		t.Errorf("the phases take %v s, the update %v", sum, want)
	}
	if p.Rows() != len(at) {
		t.Errorf("updates of %d rows, want %d", p.Rows(), len(at))
	}
	if w := p.Work(); w.Rows != len(at) {
		t.Errorf("an ascent of %d rows, want %d", w.Rows, len(at))
	}
	if p.Updates() != keptUpdates+3 {
		t.Errorf("%d updates", p.Updates())
	}
	tr.SetProfile(nil)
	until := clock.Load()
	update()
	if clock.Load() != until {
		t.Error("the clock was read without the profile")
	}
}

// TestProfileDisturbed checks that updates that are disturbed do not count.
func TestProfileDisturbed(t *testing.T) {
	p := &Profile{phases: []Phase{{Name: "a"}, {Name: "b"}}, updates: 8}
	for i := range 8 {
		v := spent{seconds: 1}
		if i == 3 {
			v.seconds = 1000
		}
		p.past = append(p.past, v, spent{seconds: 2, waiting: 1})
	}
	got := p.Phases()
	if len(got) != 2 || got[0].Seconds != 1 || got[1].Seconds != 2 || got[1].Waiting != 1 {
		t.Errorf("%+v", got)
	}
}
