package bench

import (
	"context"
	"math"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine/ascent"
)

// TestPhases measures the phases of an update: every one has a name, and a part in the figure; the ascent has its
// flop and a bound.
func TestPhases(t *testing.T) {
	r, err := Run(context.Background(), Settings{Extent: "quick", Suites: []string{"train"}, Filter: "train/compact/",
		Threads: []int{2}, Passes: 2, Repetitions: 2, MinTime: 1e-3, Memory: 1 << 20, Phases: true}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range r.Results {
		row := &r.Results[i]
		if row.Suite == "peak" {
			continue
		}
		if row.Name != "compact" || len(row.Phases) < 10 {
			t.Errorf("%s: %d phases", row.ID(), len(row.Phases))
		}
		for _, p := range row.Phases {
			if other := partOf(p.Phase) == len(parts)-1; other != (p.Phase == "other") {
				t.Errorf("%s belongs to part %d", p.Phase, partOf(p.Phase))
			}
			if p.Phase == "ascent" && !(p.Flop == 2*128*10*64*64*5 && p.BoundSeconds > 0 && p.Bound != "") {
				t.Errorf("%+v", p)
			}
		}
		table := PhaseRows(row.Phases)
		if last := table[len(table)-1]; len(table) != len(row.Phases)+2 || last[0] != "update" || last[2] != "100.0%" {
			t.Errorf("%q", table)
		}
	}
}

// TestBoundsDoubt doubts bounds that are longer than what was measured.
func TestBoundsDoubt(t *testing.T) {
	phases := []Phase{{Seconds: 2, BoundSeconds: 1}, {Seconds: 1, BoundSeconds: 2}}
	if doubt := BoundsDoubt(phases); doubt != "" {
		t.Errorf("as long as the bounds: %q", doubt)
	}
	phases[0].BoundSeconds = 1.5
	if doubt := BoundsDoubt(phases); !strings.Contains(doubt, "(117%)") {
		t.Errorf("shorter than the bounds: %q", doubt)
	}
}

// TestPhaseWork counts the work of phases of presets by hand.
func TestPhaseWork(t *testing.T) {
	const pixels, batch = 784.0, 128.0
	grey := dataset.Grey(28, 28)
	for _, c := range []struct {
		preset string
		kind   dpn.PhaseKind
		layer  int
		want   work
	}{
		{"compact", dpn.PhaseForward, 0, work{2 * batch * pixels * 64, 4 * (batch*(pixels+64) + 64*(pixels+1))}},
		// The input of the first layer needs no gradient.
		{"compact", dpn.PhaseBackward, 0, work{2 * batch * pixels * 64, 4 * (batch*(pixels+64) + 2*64*(pixels+1))}},
		{"clean", dpn.PhaseBackward, 2, work{4 * batch * pixels * 64, 4 * (batch*(2*pixels+64) + 2*64*(pixels+1))}},
		{"clean", dpn.PhaseForward, 0, work{2 * batch * pixels * 25 * 8, 4 * (batch*(pixels+pixels/4*8) + 8*26)}},
		{"clean", dpn.PhaseBackward, 0, work{batch * pixels * 25 * 8 / 2, 4 * (batch*(pixels+pixels/4*8) + 2*8*26)}},
		{"compact", dpn.PhasePrecisions, 0, work{10 * 64 * 64 * 65, 8 * 10 * 64 * 64}},
		{"published", dpn.PhasePrecisions, 0, work{0, 8 * 20 * pixels * pixels}},
		{"raw", dpn.PhaseAscent, 0, work{2 * 18 * pixels * 20 * 10 * batch,
			4 * (20*pixels*9 + 20*pixels + 2*batch*pixels)}},
		{"robust-small", dpn.PhaseRetraction, 0, work{2 * 11 * 60 * 10 * pixels, 8 * 60 * 10 * pixels}},
		// Half of the rows are noisy, and go through the extractor twice.
		{"noise", dpn.PhaseRead, 0, work{0, 1.5 * batch * 5 * pixels}},
		{"noise", dpn.PhaseNoise, 0, work{0, 8 * batch / 2 * pixels}},
		{"compact", dpn.PhaseOptimiser, 0, work{0, 28 * 1000}},
		{"compact", dpn.PhaseOther, 0, work{}},
	} {
		config, err := dpn.Preset(c.preset)
		if err != nil {
			t.Fatal(err)
		}
		layers, d, err := config.Layers(grey)
		if err != nil {
			t.Fatal(err)
		}
		u := updateOf(config, layers, grey.Len(), d)
		u.params = 1000
		if got := u.work(c.kind, c.layer); got != c.want {
			t.Errorf("%s, %v %d: %v, want %v", c.preset, c.kind, c.layer, got, c.want)
		}
	}
}

// TestPhaseWorkSparse splits the flop of the sparse route over the phases of the ascent.
func TestPhaseWorkSparse(t *testing.T) {
	config, err := dpn.Preset("robust-small")
	if err != nil {
		t.Fatal(err)
	}
	u := updateOf(config, nil, 784, 784)
	u.ascent = ascent.Totals{Route: ascent.SparseRoute, Active: 150, Evaluated: 900, LeftOut: 1e6}
	sum := u.work(dpn.PhaseAscent, 0).flop + u.work(dpn.PhaseAscentBackward, 0).flop + u.work(dpn.PhaseSums, 0).flop
	pairs := sparsePairs{128, 60, 784, 10, 900, 150}
	if got, want := u.work(dpn.PhaseAscent, 0).flop, pairs.flop(false, false)-2e6; !(math.Abs(got-want) <= 1e-9*want) {
		t.Errorf("%v in the ascent, want %v", got, want)
	}
	want := pairs.flop(false, true) - 2e6
	if !(math.Abs(sum-want) <= 1e-9*want) || sum != u.products() {
		t.Errorf("%v in the phases, %v in all, want %v", sum, u.products(), want)
	}
}

// TestQuickest chooses the pass whose updates were quickest.
func TestQuickest(t *testing.T) {
	if got := quickest([][]Phase{{{Seconds: 4}}, {{Seconds: 2}, {Seconds: 1.5}}, {{Seconds: 9}}}); len(got) != 2 {
		t.Errorf("%+v", got)
	}
	if got := quickest(nil); got != nil {
		t.Errorf("%+v of no pass", got)
	}
	p := Phase{Phase: "other", Seconds: 1}
	if rows := PhaseRows([]Phase{p}); p.Reached() != 0 || rows[1][8] != none {
		t.Errorf("%q", rows)
	}
}

// TestPhasesOfFewSamples counts the work of the rows that updates compute: a set may be smaller than the batch.
func TestPhasesOfFewSamples(t *testing.T) {
	data, err := digits(50, 10)
	if err != nil {
		t.Fatal(err)
	}
	c, _ := dpn.Preset("compact")
	c.ValSize, c.Epochs = 0, 2
	m, err := dpn.New(c, data)
	if err != nil {
		t.Fatal(err)
	}
	p := &dpn.Profile{}
	if _, err := m.Fit(context.Background(), newEngine(t), data.Train, dpn.FitOptions{Profile: p}); err != nil {
		t.Fatal(err)
	}
	flop := map[string]float64{}
	for _, v := range phasesOf(m, p) {
		flop[v.Phase] = v.Flop
	}
	if got, want := flop["ascent"], 2.0*50*10*64*64*5; p.Rows() != 50 || got != want {
		t.Errorf("an ascent of %d rows with %v flop, want 50 with %v", p.Rows(), got, want)
	}
}
