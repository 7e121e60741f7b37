package bench

import (
	"bytes"
	"context"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/mpi"
	"dpnbench/internal/webtest"
	"dpnbench/plot"
)

// TestScaleModel checks the model at its limits.
func TestScaleModel(t *testing.T) {
	c := ScaleCost{Preset: "p", Parameters: 1000, Batch: 128, Computing: []Cost{{1, 1e-3}, {2, 2e-3}}}
	free := Network{Bandwidth: math.Inf(1)}
	for _, p := range c.Simulate(1024, free) {
		if !(math.Abs(p.Efficiency-1) < 1e-12) || p.Messages != 0 {
			t.Errorf("only samples, free messages: %+v", p)
		}
	}
	points := c.Simulate(100, free)
	if n := len(points); n != 7+11 || points[6].Ranks != 64 || points[6].Seconds != 2e-3 || points[n-1].Ranks != 1024 ||
		points[n-1].Batch != 128*1024 {
		t.Errorf("%d points: %+v", n, points)
	}
	c = ScaleCost{Parameters: 1_000_000, Computing: []Cost{{10, 0.01}, {50, 0.015}, {150, 0.025}, {160, 1}},
		Sharded: 0.008, Add: 0.004}
	n := Network{Latency: 1e-6, Bandwidth: 1e9}
	got, waiting := c.Update(4, 100, n)
	messages := 12e-6 + 2*0.75*4e6/1e9
	if want := 0.02 + 0.002 + 0.003 + messages; !(math.Abs(got-want) < 1e-12) ||
		!(math.Abs(waiting-messages) < 1e-12) {
		t.Errorf("an update takes %v, waits for %v; want %v, %v", got, waiting, want, messages)
	}
	worse := n
	worse.Stragglers = 0.1
	if slow, _ := c.Update(4, 100, worse); !(math.Abs(slow-got-0.1*0.02*1.03) < 1e-4) { // the largest of 4: 1.03
		t.Errorf("with stragglers %v, without %v", slow, got)
	}
	better := n
	better.Overlap = 1
	if _, waiting := c.Update(4, 100, better); !(math.Abs(waiting) < 1e-12) {
		t.Errorf("waits for %v", waiting)
	}
	for samples, want := range map[float64]float64{1: 0.008875, 10: 0.01, 50: 0.015, 155: 0.5125, 170: 1.975} {
		if got := c.computing(samples); !(math.Abs(got-want) < 1e-12) {
			t.Errorf("computing %v samples takes %v, want %v", samples, got, want)
		}
	}
	for n, want := range map[int]float64{1: 0, 2: 0.564, 100: 2.508, 1024: 3.25} {
		if got := slowest(n); !(math.Abs(got-want) < 0.05) {
			t.Errorf("the largest of %d is %v, want %v", n, got, want)
		}
	}
}

// scaled is a result with all presets' kinds of names and a check.
func scaled() *Scale {
	s := &Scale{Machine: "CPU", Tier: "avx2", Threads: 2, Batch: 1024,
		Network: Network{Latency: 2e-6, Bandwidth: 12.5e9, Stragglers: 0.02}, Here: Network{1e-6, 5e9, 0, 0},
		Checks: []ScaleCheck{{"compact", 2, 128, 4e-3, 5e-3}}}
	for i, name := range []string{"compact", "paper", "mnistc-cnn"} {
		c := ScaleCost{name, 10_000 << (5 * i), 128, []Cost{{8, 2.6e-4}, {128, 2.66e-3}}, 1e-4, 1e-5}
		s.Costs = append(s.Costs, c)
		s.Points = append(s.Points, c.Simulate(s.Batch, s.Network)...)
	}
	return s
}

func scalePage(t *testing.T) []byte {
	var b bytes.Buffer
	if err := scaled().Page().Write(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestScalePage(t *testing.T) {
	page := string(scalePage(t))
	webtest.Check(t, page)
	for _, want := range []string{"2.00 µs plus its bytes at 12.5 GB/s",
		"Strong scaling: a minibatch of 1,024 samples", "1.25</td>", "mnistc-cnn"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

// TestScaleAbove holds figures above 100% to an explanation: of strong scaling by what a sample takes in the whole
// minibatch and in a part, of weak scaling by what the ranks divide.
func TestScaleAbove(t *testing.T) {
	even := ScaleCost{Preset: "even", Batch: 100, Computing: []Cost{{10, 0.01}, {1000, 1}}}
	steep := ScaleCost{Preset: "steep", Batch: 100, Computing: []Cost{{100, 0.1}, {1000, 2}}}
	shared := ScaleCost{Preset: "shared", Batch: 100, Computing: even.Computing, Sharded: 0.1}
	named := func(c ScaleCost, name string) ScaleCost {
		c.Preset = name
		return c
	}
	for _, c := range []struct {
		costs []ScaleCost
		want  []string // in a sentence each
	}{
		{[]ScaleCost{even}, nil},
		{[]ScaleCost{even, steep}, []string{"steep 164% on 8 ranks: 2.00 ms each of 1,000, 1.22 ms each of 125)"}},
		{[]ScaleCost{shared}, []string{"shared 198% on 128 ranks: 100 ms of 200 ms)"}},
		{[]ScaleCost{named(steep, "a"), named(steep, "b"), steep, named(steep, "c"), named(steep, "d")},
			[]string{"; and 2 other presets)"}},
		{[]ScaleCost{steep, shared}, []string{"Strong, above 100%", "Weak, above 100%"}},
	} {
		s := &Scale{Batch: 1000, Costs: c.costs}
		for _, cost := range c.costs {
			for _, p := range cost.Simulate(s.Batch, Network{Bandwidth: math.Inf(1)}) {
				if p.Ranks <= 8 || p.Weak && p.Ranks <= 128 {
					s.Points = append(s.Points, p)
				}
			}
		}
		got := s.Above()
		if len(got) != len(c.want) {
			t.Errorf("%q, want %q", got, c.want)
			continue
		}
		for i, want := range c.want {
			if !strings.Contains(got[i], want) {
				t.Errorf("%q lacks %q", got[i], want)
			}
		}
		for _, weak := range []bool{false, true} {
			said := strings.Contains(s.lines(weak).Caption, "above 100%")
			point := slices.ContainsFunc(s.Points, func(p Scaled) bool { return p.Weak == weak && p.Efficiency > 1.1 })
			if said != point {
				t.Errorf("weak %t: caption %q", weak, s.lines(weak).Caption)
			}
		}
	}
}

// TestScaleLines draws the line of each of as many presets as there are, and some more, alone: without their colours
// no two are alike.
func TestScaleLines(t *testing.T) {
	colour := regexp.MustCompile(`#[0-9A-Fa-f]{6}`)
	s := new(Scale)
	for i := range len(dpn.Presets()) + 4 {
		name := strconv.Itoa(i)
		s.Costs = append(s.Costs, ScaleCost{Preset: name})
		s.Points = append(s.Points, Scaled{Preset: name, Ranks: 1, Efficiency: 1},
			Scaled{Preset: name, Ranks: 2, Efficiency: 0.9})
	}
	seen := map[string]string{}
	for _, series := range s.lines(false).Figure.(plot.Lines).Series {
		name := series.Name
		series.Name = "a preset"
		e, err := plot.Embed(plot.Lines{Title: "one", X: "x", Y: "y", Series: []plot.Series{series}}, "", false)
		if err != nil {
			t.Fatal(err)
		}
		look := colour.ReplaceAllString(fmt.Sprint(e.Legend, e.SVG), "")
		if other, ok := seen[look]; ok {
			t.Errorf("presets %s and %s differ by colour alone", other, name)
		}
		seen[look] = name
	}
}

func TestScalePageInBrowser(t *testing.T) {
	webtest.Start(t).CheckWidths(scalePage(t), 2)
}

// TestMeasureScale measures what the model needs. How long things take is not checked.
func TestMeasureScale(t *testing.T) {
	e := newEngine(t, engine.WithThreads(1))
	c, err := MeasureScale(context.Background(), e, "linear")
	if err != nil || c.Parameters == 0 || c.Batch == 0 || !(c.Sharded > 0) || !(c.Add > 0) ||
		len(c.Computing) != 4 || c.Computing[0].Samples != c.Batch/16 || !(c.Computing[0].Seconds > 0) {
		t.Fatalf("%+v, %v", c, err)
	}
	err = mpi.Run(3, func(comm mpi.Comm) error {
		latency, bandwidth, err := MeasureMessages(comm)
		if comm.Rank() < 2 && !(latency > 0 && bandwidth > 0) {
			t.Errorf("rank %d: latency %v, bandwidth %v", comm.Rank(), latency, bandwidth)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	n := Network{Latency: 1e-6, Bandwidth: 1e9}
	x, err := CheckScale(context.Background(), c, e.Tier(), 2, 2, n)
	if err != nil || x.Ranks != 2 || !(x.Measured > 0) || !(x.Predicted > 0) {
		t.Errorf("%+v, %v", x, err)
	}
	for _, i := range engine.Tiers() { // the ranks train on the tier that they are told
		if i.Available {
			continue
		}
		if _, err := CheckScale(context.Background(), c, i.Tier, 2, 2, n); err == nil {
			t.Errorf("the ranks train without tier %v", i.Tier)
		}
	}
	if !slices.Equal(ScaleRanks(), []int{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}) {
		t.Errorf("ranks %v", ScaleRanks())
	}
}
