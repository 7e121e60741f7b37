package bench

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"dpnbench/engine"
	"dpnbench/internal/sysinfo"
)

// Settings say what is measured, and for how long.
type Settings struct {
	Extent  string   `json:"extent"`           // quick, usual or full
	Suites  []string `json:"suites"`           // nil: all, and peak beside those that are named
	Filter  string   `json:"filter"`           // regular expression on suite/name/shape
	Shapes  []string `json:"shapes,omitempty"` // instead of the suites' own, such as m=300,k=700,n=50
	Tiers   []string `json:"tiers"`            // nil: quick takes the fastest, the others all
	Threads []int    `json:"threads"`          // nil: one, and all that the process may use

	Passes      int     `json:"passes"`        // over all rows
	Repetitions int     `json:"repetitions"`   // of a row in a pass; 0: as many as the extent has
	MinTime     float64 `json:"least_seconds"` // seconds, of a repetition
	Pinned      bool    `json:"pinned"`
	Phases      bool    `json:"phases,omitempty"` // of the updates of suite train
	Memory      int     `json:"memory,omitempty"` // bytes for streams; 0: a quarter of what is available
	Slow        int     `json:"slow,omitempty"`   // how often each call repeats its work, to test comparisons

	Beside  *Product `json:"-"`                 // of another library, in suite gemm
	Library []string `json:"library,omitempty"` // the flags that choose it
}

// defaults of every extent. Four passes give 8 samples even to the longest rows, which are
// repeated twice in each (fewest): the rank test of two runs with fewer than 7 samples each
// can never reach Significance.
var defaults = [...]struct {
	passes, repetitions int
	minTime             float64
}{Quick: {4, 10, 4e-3}, Usual: {4, 5, 8e-3}, Full: {4, 6, 10e-3}}

// plan is what the settings ask for.
type plan struct {
	benchmarks []benchmark
	tiers      []engine.Tier
	threads    []int
	memory     hierarchy
}

// rows calls f with every tier and number of threads on which a benchmark runs.
func (p *plan) rows(g *benchmark, f func(t engine.Tier, threads int)) {
	for i, t := range p.tiers {
		for j, n := range p.threads {
			if (g.host || g.fastest) && i > 0 || g.serial && j > 0 || !g.wants(t) ||
				g.level != "" && p.memory.array(g.level, n) == 0 {
				continue
			}
			f(t, n)
		}
	}
}

// Check returns an error that names the setting that is wrong, or nil.
func (s Settings) Check() error {
	_, err := s.resolve()
	return err
}

// resolve fills in defaults, and returns an error if a setting is wrong.
func (s *Settings) resolve() (*plan, error) {
	x := Quick
	for x.String() != s.Extent {
		if x++; x > Full {
			return nil, fmt.Errorf("extent %q, expected quick, usual or full", s.Extent)
		}
	}
	if s.Repetitions < 0 {
		return nil, fmt.Errorf("repetitions %d: expected 1 or more", s.Repetitions)
	}
	d := defaults[x]
	s.Passes, s.Repetitions = cmp.Or(s.Passes, d.passes), cmp.Or(s.Repetitions, d.repetitions)
	s.MinTime = cmp.Or(s.MinTime, d.minTime)
	filter, err := regexp.Compile(s.Filter)
	if err != nil {
		return nil, fmt.Errorf("filter %q: %w", s.Filter, err)
	}
	for _, name := range s.Suites {
		if !slices.Contains(Suites(), name) {
			return nil, fmt.Errorf("suite %q: expected one of %s", name, strings.Join(Suites(), ", "))
		}
	}
	// Suite peak is measured beside other suites, but not beside rows of one's own choice: it takes longer than they.
	limits := s.Filter == "" && len(s.Shapes) == 0 || slices.Contains(s.Suites, "peak")
	if len(s.Suites) == 0 {
		s.Suites = Suites()
	}
	rows := benchmarks(x)
	if len(s.Shapes) > 0 {
		if rows, err = s.shapes(); err != nil {
			return nil, err
		}
	}
	if s.Beside != nil {
		rows = s.Beside.beside(rows)
	}
	m := sysinfo.ReadMachine()
	p := &plan{memory: memoryOf(&m, s.Memory)}
	if p.tiers, err = s.tiers(x); err != nil {
		return nil, err
	}
	s.Tiers = nil
	for _, t := range p.tiers {
		s.Tiers = append(s.Tiers, t.String())
	}
	if len(s.Threads) == 0 {
		s.Threads = threads(x, runtime.GOMAXPROCS(0))
	}
	p.threads = s.Threads
	asked := 0 // rows
	for _, g := range append(peakSuite(p.memory), rows...) {
		matches := slices.Contains(s.Suites, g.suite) && filter.MatchString(g.id()) &&
			(limits || g.suite != "peak" || len(s.Shapes) == 0)
		if matches {
			p.rows(&g, func(engine.Tier, int) { asked++ })
		}
		if matches || limits && g.suite == "peak" {
			p.benchmarks = append(p.benchmarks, g)
		}
	}
	if asked == 0 {
		switch {
		case s.Filter == "" && len(s.Shapes) == 0:
			return nil, fmt.Errorf("suite %s: no row of extent %s is small enough for tier %s, expected at most %.0f "+
				"flop", strings.Join(s.Suites, ", "), s.Extent, strings.Join(s.Tiers, ", "), maxGenericFlop)
		case s.Filter == "":
			return nil, fmt.Errorf("shape %q: too much work for tier %s, expected at most %.0f flop",
				strings.Join(s.Shapes, " "), strings.Join(s.Tiers, ", "), maxGenericFlop)
		}
		return nil, fmt.Errorf("filter %q: no row of the suites %s matches on tier %s",
			s.Filter, strings.Join(s.Suites, ", "), strings.Join(s.Tiers, ", "))
	}
	return p, nil
}

// shapes returns the rows of all shapes.
func (s *Settings) shapes() (rows []benchmark, err error) {
	for _, shape := range s.Shapes {
		of, err := ofShape(shape)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(of, func(g benchmark) bool { return slices.Contains(s.Suites, g.suite) }) {
			return nil, fmt.Errorf("shape %q: is one of suite %s, not of %s", shape, of[0].suite,
				strings.Join(s.Suites, ", "))
		}
		free := sysinfo.AvailableMemory()
		for _, g := range of {
			if need := g.footprint(); need > mostMemory*free {
				return nil, fmt.Errorf("shape %q: needs %s, expected at most %.0f%% of the %s available", shape,
					FormatBytes(int(min(need, math.MaxInt64/2))), 100*mostMemory, FormatBytes(int(free)))
			}
			if !slices.ContainsFunc(rows, func(h benchmark) bool { return h.id() == g.id() }) {
				rows = append(rows, g)
			}
		}
	}
	return rows, nil
}

// Row is a row that a run would have.
type Row struct {
	ID      string `json:"id"` // suite/name/shape, which a filter selects
	Tier    string `json:"tier"`
	Threads int    `json:"threads"`
}

// Rows lists those of a run with the settings.
func (s Settings) Rows() ([]Row, error) {
	p, err := s.resolve()
	if err != nil {
		return nil, err
	}
	var rows []Row
	for i := range p.benchmarks {
		g := &p.benchmarks[i]
		p.rows(g, func(t engine.Tier, threads int) {
			tier := t.String()
			if g.host {
				tier = hostTier
			}
			rows = append(rows, Row{g.id(), tier, threads})
		})
	}
	return rows, nil
}

// tiers returns the tiers that the settings name, or those of an extent.
func (s *Settings) tiers(x Extent) ([]engine.Tier, error) {
	available := engine.Available()
	if len(s.Tiers) == 0 && x == Quick {
		return available[:1], nil
	}
	if len(s.Tiers) == 0 {
		return available, nil
	}
	var tiers []engine.Tier
	for _, name := range s.Tiers {
		t, err := engine.ParseTier(name)
		if err != nil {
			return nil, fmt.Errorf("tier: %w", err)
		}
		if t == engine.Auto {
			t = available[0]
		}
		tiers = append(tiers, t)
	}
	return tiers, nil
}

// threads returns the numbers of threads of an extent, if the process may use up to all.
func threads(x Extent, all int) []int {
	switch {
	case all == 1:
		return []int{1}
	case x == Full && all > 3:
		return []int{1, 2, all}
	}
	return []int{1, all}
}
