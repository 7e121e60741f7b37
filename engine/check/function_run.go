package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sort"
)

// FunctionRow summarises the cases of a function.
type FunctionRow struct {
	Function      string    `json:"function"`
	Kernel        string    `json:"kernel"` // what it should compute
	Threads       []int     `json:"threads"`
	Cases         int       `json:"cases"`
	Failed        int       `json:"failed"`
	NotRun        int       `json:"not_run"`         // because too many ended the process or hung
	MaxULP        uint32    `json:"max_ulp"`         // as in Row, without cases where NaN was the mistake
	MaxErrorRatio float64   `json:"max_error_ratio"` // the same
	BytesOutside  int       `json:"bytes_outside"`   // most bytes that a case wrote outside its output
	Findings      []Finding `json:"findings"`        // that of the most cases first
	Repeats       []Repeat  `json:"repeats"`
}

// Finding is one kind of mistake, with the number of cases that have it.
type Finding struct {
	Kind    string  `json:"kind"`
	Cases   int     `json:"cases"`
	Common  string  `json:"common"` // arguments that all of these cases share
	Example Failure `json:"example"`
}

// Repeat says whether results have the same bits when a call is repeated in some way.
type Repeat struct {
	Over    string `json:"over"`
	Cases   int    `json:"cases"`  // that were repeated; 0: not compared
	Differ  int    `json:"differ"` // whose bits changed
	Example string `json:"example,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// A run ends early after so many cases that ended the process or did not return, since each takes time.
const (
	maxCrashes = 40
	maxHangs   = 4
)

// tried is a case with its outcome.
type tried struct {
	Case
	threads int
	Outcome
}

// runCases is Run for a function.
func (f *Function) runCases(ctx context.Context, opt Options) (*Report, error) {
	defer f.Close()
	cases := opt.Cases
	if len(cases) == 0 {
		cases = f.cases(opt.Quick)
		// In an order without sense, so that a run that ends early has seen cases of all kinds.
		sort.SliceStable(cases, func(i, j int) bool { return cases[i].draw(1<<30) < cases[j].draw(1<<30) })
	}
	row := FunctionRow{Function: f.Name, Kernel: f.name, Threads: f.threadCounts(opt.Threads),
		Findings: []Finding{}}
	report := &Report{Kernels: []Row{}, Failures: []Failure{}}
	var all []tried
	crashes := 0
	for i, c := range cases {
		if crashes >= maxCrashes {
			row.NotRun = len(cases) - i
			break
		}
		var first string
		for _, threads := range row.Threads {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			o, err := f.try(ctx, c, threads)
			if err != nil {
				return nil, err
			}
			if threads == 1 {
				first = o.SHA256
			} else if o.Repeats != nil && first != "" {
				o.Repeats[overThreads] = otherBits(first, o.SHA256, threads)
			}
			all = append(all, tried{c, threads, o})
			if n := asCrashes(o.Kind); n > 0 {
				crashes += n
				break // more threads say nothing new
			}
		}
		if opt.Progress != nil {
			opt.Progress(i+1, len(cases))
		}
	}
	row.summarise(f, all, report)
	report.Guards = !slices.ContainsFunc(all, func(t tried) bool { return t.Open })
	report.Functions = []FunctionRow{row}
	return report, nil
}

// asCrashes returns how many of maxCrashes a kind of mistake counts as.
func asCrashes(kind string) int {
	switch kind {
	case KindCrash, KindAccess:
		return 1
	case KindHang:
		return maxCrashes / maxHangs
	}
	return 0
}

// otherBits is the reason of results that differ between numbers of threads.
func otherBits(first, other string, threads int) string {
	if first == other {
		return ""
	}
	return fmt.Sprintf("other bits on %d threads than on 1", threads)
}

// threadCounts lists the numbers of threads to compare: 1 and the given one, or 2.
func (f *Function) threadCounts(given int) []int {
	switch {
	case f.SetThreads == nil && f.Elsewhere == nil || given == 1:
		return []int{1}
	case given == 0:
		return []int{1, 2}
	}
	return []int{1, given}
}

// try runs a case on a number of threads. It is repeated in other ways on one thread only.
func (f *Function) try(ctx context.Context, c Case, threads int) (Outcome, error) {
	if f.Elsewhere != nil {
		return f.Elsewhere(ctx, c, threads)
	}
	if f.SetThreads != nil {
		f.SetThreads(threads)
	}
	return f.Try(c, threads == 1), nil
}

// withoutFigures are the kinds of mistakes whose error is not a number.
var withoutFigures = []string{KindPadding, KindOld, KindAlpha, KindSpecial}

// summarise fills the row and the failures of the report.
func (row *FunctionRow) summarise(f *Function, all []tried, report *Report) {
	byKind := map[string][]tried{}
	for _, t := range all {
		row.Cases++
		if !slices.Contains(withoutFigures, t.Kind) {
			row.MaxULP = max(row.MaxULP, t.MaxULP)
			row.MaxErrorRatio = max(row.MaxErrorRatio, t.MaxRatio)
		}
		row.BytesOutside = max(row.BytesOutside, t.Outside)
		if t.Kind == "" {
			continue
		}
		row.Failed++
		report.Failures = append(report.Failures, f.failure(t))
		byKind[t.Kind] = append(byKind[t.Kind], t)
	}
	for _, kind := range kinds {
		if some := byKind[kind]; len(some) > 0 {
			example := f.failure(f.simplest(some))
			row.Findings = append(row.Findings, Finding{kind, len(some), f.common(some, all), example})
		}
	}
	sort.SliceStable(row.Findings, func(i, j int) bool { return row.Findings[i].Cases > row.Findings[j].Cases })
	for _, over := range repeatWays {
		row.Repeats = append(row.Repeats, f.repeats(over, all))
	}
	report.Cases, report.Failed = row.Cases, row.Failed
}

func (f *Function) failure(t tried) Failure {
	return Failure{f.short(t.Case), f.Name, t.threads, t.Reason}
}

// short is String without the usual arguments, which ParseCase adds.
func (f *Function) short(c Case) string {
	text := f.name
	for i, a := range f.args {
		if c.values[i] == a.usual {
			continue
		}
		sep := ","
		if text == f.name {
			sep = ":"
		}
		text += fmt.Sprintf("%s%s=%d", sep, a.name, c.values[i])
	}
	return text
}

// simplest returns the first case with the fewest unusual arguments.
func (f *Function) simplest(some []tried) tried {
	return slices.MinFunc(some, func(a, b tried) int { return cmp.Compare(f.unusual(a.Case), f.unusual(b.Case)) })
}

func (f *Function) unusual(c Case) (n int) {
	for i, a := range f.args {
		if c.values[i] != a.usual {
			n++
		}
	}
	return n
}

// repeats counts the cases that were repeated in a way.
func (f *Function) repeats(over string, all []tried) Repeat {
	r := Repeat{Over: over}
	var differ []tried
	for _, t := range all {
		reason, compared := t.Repeats[over]
		if compared {
			r.Cases++
		}
		if reason != "" {
			differ = append(differ, t)
		}
	}
	if r.Differ = len(differ); r.Differ > 0 {
		t := f.simplest(differ)
		r.Example, r.Reason = f.short(t.Case), t.Repeats[over]
	}
	return r
}
