package bench

import (
	"slices"
	"sort"
	"strings"

	"dpnbench/engine/ascent"
	"dpnbench/internal/format"
	"dpnbench/plot"
	"dpnbench/report"
)

// ends returns the smallest and the largest number of threads.
func (p *page) ends() []int {
	return slices.Compact([]int{p.threads[0], p.threads[len(p.threads)-1]})
}

// lead is the roofline of all threads, beside the summary.
func (p *page) lead() report.Figures {
	all := p.rooflines()
	last := all[max(0, len(all)-1):]
	for i := range last {
		last[i].Caption = sentences.Say("roofline text")
	}
	return last
}

// otherRooflines are those of fewer threads.
func (p *page) otherRooflines() report.Figures {
	all := p.rooflines()
	return all[:max(0, len(all)-1)]
}

// summary says how fast the machine is, and gives the row to quote.
func (p *page) summary() (out []string) {
	for _, l := range p.Limits {
		if len(p.tiers) > 0 && l.Tier == p.tiers[0] && l.GFlops > 0 {
			out = append(out, sentences.Say("peak", "tier", l.Tier, "threads", format.Count(l.Threads, "thread"),
				"rate", quantity(l.GFlops)))
		}
	}
	if r := p.Example; r != nil {
		out = append(out, sentences.Say("example", "work", r.label(), "threads", format.Count(r.Threads, "thread"),
			"time", FormatSeconds(r.SecondsMedian), "rate", quantity(r.GFlops), "share", percent(r.PercentPeak)))
	}
	if len(p.Results) > 0 && p.Marked == len(p.Results) {
		out = append(out, sentences.Say("all marked", "rows", len(p.Results)))
	}
	return out
}

func (p *page) rooflines() (figures report.Figures) {
	if len(p.tiers) == 0 {
		return nil
	}
	tier := p.tiers[0]
	for _, threads := range p.ends() {
		f := plot.Roofline{Title: "Roofline of " + tier + " on " + format.Count(threads, "thread")}
		for _, l := range p.Peak {
			if l.Threads == threads && slices.Contains(p.tiers, l.Tier) {
				f.Peaks = append(f.Peaks, plot.Limit{Name: l.Tier, Rate: l.GFlops})
			}
		}
		for _, l := range p.Bandwidth {
			if l.Threads == threads && l.Tier == tier {
				// as the column of the table has it
				f.Bandwidths = append(f.Bandwidths, plot.Limit{Name: l.Level, Rate: l.Read})
			}
		}
		drawn := 0
		for colour, suite := range Suites() {
			s := plot.Series{Name: suite, Colour: colour}
			for i := range p.Results {
				if r := &p.Results[i]; r.Suite == suite && r.Tier == tier && r.Threads == threads && r.Flop > 0 &&
					r.Bytes > 0 &&
					r.GFlops > 0 {
					s.Points = append(s.Points, plot.Point{X: r.Flop / r.Bytes, Y: r.GFlops,
						Doubtful: len(r.Marks) > 0})
				}
			}
			f.Points = append(f.Points, s)
			drawn += len(s.Points)
		}
		if drawn == 0 || len(f.Peaks) == 0 || len(f.Bandwidths) == 0 {
			continue
		}
		figures = append(figures, report.Shown{Figure: f})
	}
	return figures
}

func (p *page) speedUps() report.Figures {
	if len(p.threads) < 2 {
		return nil
	}
	var series []plot.Series
	for _, one := range p.typical(p.tiers[0], 1) {
		if !slices.Contains([]string{"gemm", "ascent", "backward", "train"}, one.Suite) {
			continue
		}
		s := plot.Series{Name: one.label(), Colour: len(series)}
		for _, threads := range p.threads {
			r := p.find(one, one.Tier, threads)
			if r == nil || !(r.SecondsMedian > 0) {
				continue
			}
			pt := plot.Point{X: float64(threads), Y: one.SecondsMedian / r.SecondsMedian,
				Doubtful: len(one.Marks)+len(r.Marks) > 0}
			if threads > 1 {
				pt.Low, pt.High = one.SecondsCI[0]/r.SecondsCI[1], one.SecondsCI[1]/r.SecondsCI[0]
			}
			s.Points = append(s.Points, pt)
		}
		if len(s.Points) > 1 && len(series) < 6 {
			series = append(series, s)
		}
	}
	if len(series) == 0 {
		return nil
	}
	ideal := plot.Series{Name: "ideal", Reference: true}
	for _, threads := range p.threads {
		ideal.Points = append(ideal.Points, plot.Point{X: float64(threads), Y: float64(threads)})
	}
	return report.Figures{{Figure: plot.Lines{
		Title: "Speed-up of " + p.tiers[0], X: "threads (log scale)", Y: "speed over one thread (log scale)",
		LogY: true, Series: append(series, ideal)}}}
}

func (p *page) ascents() (figures report.Figures) {
	names := map[string]string{"d": "d, dimensions", "k": "k, components", "n": "n, ascent steps",
		"batch": "batch, rows"}
	for _, param := range []string{"d", "k", "n", "batch"} {
		var series []plot.Series
		for _, tier := range p.tiers {
			for dash, threads := range p.ends() {
				series = append(series, p.percents(tier+", "+format.Count(threads, "thread"), tierColour(tier), dash,
					param, func(r *Result) bool {
						if r.Suite != "ascent" || r.Name != "full" || r.Tier != tier || r.Threads != threads {
							return false
						}
						for other, base := range ascentBase {
							if other != param && r.Params[other] != base {
								return false
							}
						}
						return true
					}))
			}
		}
		figures = append(figures, percentLines("Ascent over "+names[param], param+" (log scale)", series)...)
	}
	return figures
}

// growths draws the cost of a step over k by both routes, the first one and the later ones
// apart.
func (p *page) growths() (figures report.Figures) {
	for _, threads := range p.ends() {
		f := growth(p.Report, p.tiers[0], threads)
		if len(f.Series) < 2 {
			continue
		}
		figures = append(figures, report.Shown{Figure: f})
	}
	return figures
}

// growth is a figure of the rows diag of suite ascent-sparse: the cost of a step, relative to
// that with the fewest components. Beside it k itself is drawn.
func growth(r *Report, tier string, threads int) plot.Lines {
	f := plot.Lines{Title: tier + " on " + format.Count(threads, "thread"), X: "k, components (log scale)",
		Y: "cost of a step, relative (log scale)", LogY: true}
	proportional := plot.Series{Name: "in proportion to k", Reference: true}
	for colour, route := range []ascent.Route{ascent.SparseRoute, ascent.DenseRoute} {
		whole := map[[2]int]*Result{} // by k and n
		for i := range r.Results {
			row := &r.Results[i]
			if row.Suite == "ascent-sparse" && row.Name == "diag "+route.String() && row.Tier == tier &&
				row.Threads == threads {
				whole[[2]int{row.Params["k"], row.Params["n"]}] = row
			}
		}
		first := plot.Series{Name: route.String() + ", first step", Colour: colour}
		later := plot.Series{Name: route.String() + ", later steps", Colour: colour, Dash: 1}
		for at, long := range whole {
			k, n := at[0], at[1]
			one := whole[[2]int{k, 1}]
			if n < 2 || one == nil || !(one.SecondsMedian > 0) || !(long.SecondsMedian > one.SecondsMedian) {
				continue
			}
			doubtful := len(one.Marks)+len(long.Marks) > 0
			first.Points = append(first.Points, plot.Point{X: float64(k), Y: one.SecondsMedian, Doubtful: doubtful})
			later.Points = append(later.Points, plot.Point{X: float64(k),
				Y: (long.SecondsMedian - one.SecondsMedian) / float64(n-1), Doubtful: doubtful})
		}
		for _, s := range []*plot.Series{&first, &later} {
			if len(s.Points) < 2 {
				continue
			}
			byX(s.Points)
			base := s.Points[0]
			for i := range s.Points {
				s.Points[i].Y /= base.Y
			}
			if route == ascent.SparseRoute && s == &first {
				for _, pt := range s.Points {
					proportional.Points = append(proportional.Points, plot.Point{X: pt.X, Y: pt.X / base.X})
				}
			}
			f.Series = append(f.Series, *s)
		}
	}
	if len(f.Series) > 0 && len(proportional.Points) > 0 {
		f.Series = append(f.Series, proportional)
	}
	return f
}

func (p *page) squares() (figures report.Figures) {
	for _, threads := range p.ends() {
		var series []plot.Series
		for _, tier := range p.tiers {
			for dash, name := range []string{"packed", "plain nn"} {
				series = append(series, p.percents(tier+", "+name, tierColour(tier), dash, "n", func(r *Result) bool {
					return r.Suite == "gemm" && r.Name == name && r.Tier == tier && r.Threads == threads &&
						r.Params["m"] == r.Params["n"] && r.Params["k"] == r.Params["n"]
				}))
			}
		}
		figures = append(figures, percentLines("m = k = n on "+format.Count(threads, "thread"), "m = k = n (log scale)",
			series)...)
	}
	return figures
}

// percents returns the percent of peak of some rows over a parameter.
func (p *page) percents(name string, colour, dash int, param string, in func(r *Result) bool) plot.Series {
	s := plot.Series{Name: name, Colour: colour, Dash: dash}
	for i := range p.Results {
		r := &p.Results[i]
		if !in(r) || r.Params[param] <= 0 || !(r.PercentPeak > 0) {
			continue
		}
		s.Points = append(s.Points, plot.Point{X: float64(r.Params[param]), Y: r.PercentPeak,
			Doubtful: len(r.Marks) > 0,
			Low:      r.PercentPeak * r.SecondsMedian / r.SecondsCI[1],
			High:     r.PercentPeak * r.SecondsMedian / r.SecondsCI[0]})
	}
	byX(s.Points)
	return s
}

// byX sorts points from left to right.
func byX(points []plot.Point) {
	sort.SliceStable(points, func(i, j int) bool { return points[i].X < points[j].X })
}

// percentLines is a figure of shares of the peak, if one of the series has two points or more.
func percentLines(title, x string, series []plot.Series) report.Figures {
	if !slices.ContainsFunc(series, func(s plot.Series) bool { return len(s.Points) > 1 }) {
		return nil
	}
	return report.Figures{{Figure: plot.Lines{
		Title: title, X: x, Y: "percent of measured peak", From: 0, To: 100, Series: series,
	}}}
}

func (p *page) comparisons() (figures report.Figures) {
	if len(p.tiers) < 2 {
		return nil
	}
	threads := p.threads[0]
	rows := p.typical("", threads)
	for _, unit := range []string{"GFLOP/s", "GB/s"} {
		f := plot.Bars{Title: unit + " on " + format.Count(threads, "thread"), X: unit}
		for _, tier := range p.tiers {
			f.Series = append(f.Series, plot.Series{Name: tier, Colour: tierColour(tier)})
		}
		for _, row := range rows {
			if (row.GFlops > 0) != (unit == "GFLOP/s") || len(f.Groups) == 10 {
				continue
			}
			points, bars := make([]plot.Point, len(p.tiers)), 0
			for i, tier := range p.tiers {
				if r := p.find(row, tier, threads); r != nil && r.rate() > 0 {
					points[i] = plot.Point{Y: r.rate(), Doubtful: len(r.Marks) > 0}
					bars++
				}
			}
			if bars < 2 {
				continue
			}
			f.Groups = append(f.Groups, row.label())
			for i := range points {
				f.Series[i].Points = append(f.Series[i].Points, points[i])
			}
		}
		if len(f.Groups) == 0 {
			continue
		}
		figures = append(figures, report.Shown{Figure: f})
	}
	return figures
}

// parts are what a figure of phases joins to a colour, by the first words of their names.
var parts = []struct {
	name   string
	phases []string
}{
	{"read, noise", []string{"read", "noise"}},
	{"extractor forward", []string{"forward"}},
	{"precisions", []string{"precisions"}},
	{"ascent", []string{"ascent"}},
	{"classifier, losses", []string{"classifier", "density"}},
	{"ascent backward", []string{"ascent backward"}},
	{"sums of gradients", []string{"sums"}},
	{"extractor backward", []string{"backward"}},
	{"norm, optimiser, retraction", []string{"norm", "optimiser", "retraction"}},
	{"other", []string{"other"}},
}

// partOf returns the part of a phase.
func partOf(phase string) int {
	word, _, _ := strings.Cut(phase, " ")
	for i, p := range parts {
		if slices.Contains(p.phases, phase) || phase != "ascent backward" && slices.Contains(p.phases, word) {
			return i
		}
	}
	return len(parts) - 1
}

// phases draws what the updates of suite train spend in their phases, beside the bounds of these.
func (p *page) phases() (figures report.Figures) {
	for _, threads := range p.ends() {
		f := plot.Bars{Title: "Updates on " + format.Count(threads, "thread"), X: "ms", Stacked: true}
		for i, part := range parts {
			f.Series = append(f.Series, plot.Series{Name: part.name, Colour: i})
		}
		for i := range p.Results {
			r := &p.Results[i]
			if len(r.Phases) == 0 || r.Threads != threads || r.Tier != p.tiers[0] {
				continue
			}
			f.Groups = append(f.Groups, r.Name, r.Name+", bound")
			for at := range f.Series {
				var measured, bound plot.Point
				for _, v := range r.Phases {
					if partOf(v.Phase) == at {
						measured.Y += 1e3 * v.Seconds
						bound.Y += 1e3 * v.BoundSeconds
					}
				}
				f.Series[at].Points = append(f.Series[at].Points, measured, bound)
			}
		}
		if len(f.Groups) > 0 {
			figures = append(figures, report.Shown{Figure: f})
		}
	}
	return figures
}
