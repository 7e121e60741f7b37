package bench

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"sort"
	"strings"

	"dpnbench/engine"
)

// ascentBase is the shape that the sweeps of the ascent share.
var ascentBase = map[string]int{"d": 64, "k": 20, "n": 30, "batch": 128}

// rate is GFLOP/s, or GB/s for work without flop.
func (r *Result) rate() float64 { return cmp.Or(r.GFlops, r.GBPerS) }

// label is the name of a row within a figure.
func (r *Result) label() string {
	return strings.TrimSpace(r.Suite + " " + r.Name + " " + strings.ReplaceAll(r.Shape, ",", ", "))
}

// find returns the row of the same work on a tier and a number of threads, or nil.
func (p *page) find(row *Result, tier string, threads int) *Result {
	for i := range p.Results {
		r := &p.Results[i]
		if r.Suite == row.Suite && r.Name == row.Name && r.Shape == row.Shape && r.Tier == tier &&
			r.Threads == threads {
			return r
		}
	}
	return nil
}

// typical returns a row of each kind of work on a number of threads: of those that most tiers
// have, the base of the sweeps, or else the longest one. An empty tier means any. Kinds that
// differ only in the layout of operands are left out.
func (p *page) typical(tier string, threads int) []*Result {
	tiers := func(r *Result) (n int) {
		for _, t := range p.tiers {
			if p.find(r, t, threads) != nil {
				n++
			}
		}
		return n
	}
	var rows []*Result
	for i := range p.Results {
		r := &p.Results[i]
		if r.Threads != threads || tier != "" && r.Tier != tier || r.Suite == "peak" ||
			strings.HasSuffix(r.Name, "cold") ||
			r.Suite == "gemm" && r.Name != "packed" && r.Name != "plain nn" {
			continue
		}
		at := slices.IndexFunc(rows, func(o *Result) bool { return o.Suite == r.Suite && o.Name == r.Name })
		if at < 0 {
			rows = append(rows, r)
			continue
		}
		o := rows[at]
		if cmp.Or(cmp.Compare(tiers(r), tiers(o)), cmp.Compare(r.base(), o.base()),
			cmp.Compare(r.Flop+r.Bytes, o.Flop+o.Bytes)) > 0 {
			rows[at] = r
		}
	}
	return rows
}

// base is 1 for the shape that the sweeps of the ascent share, else 0.
func (r *Result) base() int {
	if maps.Equal(r.Params, ascentBase) {
		return 1
	}
	return 0
}

// tierColour gives a tier the same colour in every figure of every run. Faster tiers come
// first.
func tierColour(tier string) int {
	tiers := engine.Tiers()
	for i, t := range tiers {
		if t.Tier.String() == tier {
			return i
		}
	}
	return len(tiers)
}

// MarkKind is a mark of rows, whatever the numbers in it, and the letter that stands for it.
type MarkKind struct {
	Letter, Text string  // without the numbers
	First        *Result // that has it
	Example      string  // the mark of the first row, with its numbers
	Rows         int
	All          bool // rows have it
}

var markNumber = regexp.MustCompile(`\d+(\.\d+)?`)

// markText is a mark without its numbers.
func markText(mark string) string { return markNumber.ReplaceAllString(mark, "…") }

// MarkKinds returns the marks of rows, the most frequent one first.
func MarkKinds(rows []Result) (kinds []MarkKind) {
	for i := range rows {
		for _, mark := range rows[i].Marks {
			at := slices.IndexFunc(kinds, func(k MarkKind) bool { return k.Text == markText(mark) })
			if at < 0 {
				at, kinds = len(kinds), append(kinds, MarkKind{Text: markText(mark), First: &rows[i], Example: mark})
			}
			kinds[at].Rows++
		}
	}
	sort.SliceStable(kinds, func(i, j int) bool { return kinds[i].Rows > kinds[j].Rows })
	for i := range kinds {
		kinds[i].Letter, kinds[i].All = string(rune('a'+i%26)), kinds[i].Rows == len(rows)
	}
	return kinds
}

// letters returns those of the marks of a row that not all rows have.
func letters(marks []string, kinds []MarkKind) string {
	var out []string
	for _, k := range kinds {
		if !k.All && slices.ContainsFunc(marks, func(m string) bool { return markText(m) == k.Text }) {
			out = append(out, k.Letter)
		}
	}
	return strings.Join(out, " ")
}
