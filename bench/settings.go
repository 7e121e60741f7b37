package bench

import (
	"fmt"
	"regexp"
	"runtime"
	"slices"
	"strings"

	"dpnbench/engine"
)

// Settings say what is measured, and how long.
type Settings struct {
	Extent  string   `json:"extent"`  // quick, usual or full
	Suites  []string `json:"suites"`  // nil: all. Suite peak is always measured
	Filter  string   `json:"filter"`  // regular expression on suite/name/shape
	Tiers   []string `json:"tiers"`   // nil: quick takes the fastest, the others all
	Threads []int    `json:"threads"` // nil: one and all that the process may use

	Passes      int     `json:"passes"`        // over all rows
	Repetitions int     `json:"repetitions"`   // of a row in a pass
	Least       float64 `json:"least_seconds"` // of a repetition
	Pinned      bool    `json:"pinned"`
	Slow        int     `json:"slow,omitempty"` // how often each piece of work is done in the place of once
}

// defaults of every extent. Four passes give even the rows that take longest, which are
// repeated twice in each (fewest), 8 samples: the rank test of two runs with fewer than 7
// each can never reach Significance, however far apart they are.
var defaults = [...]struct {
	passes, repetitions int
	least               float64
}{Quick: {4, 5, 4e-3}, Usual: {4, 5, 8e-3}, Full: {4, 6, 10e-3}}

// plan is what Settings ask for.
type plan struct {
	groups  []group
	tiers   []engine.Tier
	threads []int
}

// Check says what is wrong with the settings, by the name of the setting.
func (s Settings) Check() error {
	_, err := s.resolve()
	return err
}

// resolve fills in what is not set, and says what is wrong.
func (s *Settings) resolve() (*plan, error) {
	x := slices.Index([]string{"quick", "usual", "full"}, s.Extent)
	if x < 0 {
		return nil, fmt.Errorf("extent %q, expected quick, usual or full", s.Extent)
	}
	defaults := defaults[x]
	if s.Passes == 0 {
		s.Passes = defaults.passes
	}
	if s.Repetitions == 0 {
		s.Repetitions = defaults.repetitions
	}
	if s.Least == 0 {
		s.Least = defaults.least
	}
	filter, err := regexp.Compile(s.Filter)
	if err != nil {
		return nil, fmt.Errorf("filter %q: %w", s.Filter, err)
	}
	for _, name := range s.Suites {
		if !slices.Contains(Suites(), name) {
			return nil, fmt.Errorf("suite %q: expected one of %s", name, strings.Join(Suites(), ", "))
		}
	}
	if len(s.Suites) == 0 {
		s.Suites = Suites()
	}
	p := &plan{}
	for _, name := range s.Tiers {
		t, err := engine.ParseTier(name)
		if err != nil {
			return nil, fmt.Errorf("tier: %w", err)
		}
		p.tiers = append(p.tiers, t)
	}
	if len(p.tiers) == 0 {
		p.tiers = engine.Available()
		if Extent(x) == Quick {
			p.tiers = p.tiers[:1]
		}
	}
	s.Tiers = nil
	for _, t := range p.tiers {
		s.Tiers = append(s.Tiers, t.String())
	}
	if len(s.Threads) == 0 {
		s.Threads = []int{1}
		if n := runtime.GOMAXPROCS(0); n > 1 {
			if Extent(x) == Full && n > 3 {
				s.Threads = append(s.Threads, 2)
			}
			s.Threads = append(s.Threads, n)
		}
	}
	p.threads = s.Threads
	matched := 0
	for _, g := range append(peakSuite(), groups(Extent(x))...) {
		if g.suite == "peak" || slices.Contains(s.Suites, g.suite) && filter.MatchString(g.id()) {
			p.groups = append(p.groups, g)
			if filter.MatchString(g.id()) {
				matched++
			}
		}
	}
	if matched == 0 {
		return nil, fmt.Errorf("filter %q: no row of the suites %s matches", s.Filter, strings.Join(s.Suites, ", "))
	}
	return p, nil
}
