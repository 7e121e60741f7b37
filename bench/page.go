package bench

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpnbench/engine"
	"dpnbench/plot"
	"dpnbench/report"
)

//go:embed page.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":    report.PageStyle,
	"quantity": quantity,
	"duration": FormatSeconds,
	"number":   func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) },
	"interval": func(r Result) string { return FormatWidth(r.SecondsMedian, r.SecondsCI) },
	"percent":  percent,
	"bytes":    FormatBytes,
	"join":     strings.Join,
	"threads":  countThreads,
	"ghz":      func(hz float64) string { return strconv.FormatFloat(hz/1e9, 'f', 2, 64) },
	// The length of a bar behind a percentage.
	"bar": func(v float64) string { return strconv.FormatFloat(min(max(v, 0), 100), 'f', 1, 64) },
}).Parse(pageText))

// WritePage writes r as an HTML page that needs no other file and no network. What the
// run did not measure is left out. The same report gives the same bytes.
func WritePage(w io.Writer, r *Report) error {
	p := page{Report: r, Command: r.Settings.command()}
	if err := p.draw(); err != nil {
		return err
	}
	p.describe()
	var b bytes.Buffer
	if err := pageTemplate.Execute(&b, &p); err != nil {
		return fmt.Errorf("page of a report: %w", err)
	}
	_, err := w.Write(bytes.ToValidUTF8(b.Bytes(), []byte("\ufffd")))
	return err
}

// page is what the template shows.
type page struct {
	*Report
	Command  string
	When     string
	Facts    []pageFact
	Limits   []pageLimits
	Levels   []string // of their bandwidths
	Sections []pageSection
	Marked   int     // rows
	Example  *Result // to report

	tiers   []string // of the rows, the fastest first
	threads []int    // of the rows
}

// pageSection is a heading with figures.
type pageSection struct {
	ID, Title string
	Text      string
	Figures   []template.HTML
}

// pageFact is a line of the fingerprint.
type pageFact struct{ Name, Text string }

// pageLimits are the peak and the bandwidths of a tier on so many threads, a bandwidth for
// each level.
type pageLimits struct {
	Peaks
	Streams []Bandwidth
}

func (p *page) limits() {
	at := func(tier string, threads int) *pageLimits {
		for i := range p.Limits {
			if l := &p.Limits[i]; l.Tier == tier && l.Threads == threads {
				return l
			}
		}
		p.Limits = append(p.Limits, pageLimits{Peaks: Peaks{Tier: tier, Threads: threads}})
		return &p.Limits[len(p.Limits)-1]
	}
	for _, v := range p.Peak {
		at(v.Tier, v.Threads).Peaks = v
	}
	for _, b := range p.Bandwidth {
		if !slices.Contains(p.Levels, b.Level) {
			p.Levels = append(p.Levels, b.Level)
		}
	}
	for _, b := range p.Bandwidth {
		l := at(b.Tier, b.Threads)
		if l.Streams == nil {
			l.Streams = make([]Bandwidth, len(p.Levels))
		}
		l.Streams[slices.Index(p.Levels, b.Level)] = b
	}
}

// describe fills in what needs no drawing.
func (p *page) describe() {
	m, s := &p.Machine, &p.Settings
	p.When = p.Start.UTC().Format("2006-01-02 15:04 UTC")
	p.limits()
	for i := range p.Results {
		r := &p.Results[i]
		if len(r.Marks) > 0 {
			p.Marked++
		} else if r.Tier == p.tiers[0] && r.Threads == p.threads[len(p.threads)-1] && r.PercentPeak > 0 &&
			(p.Example == nil && r.Suite == "gemm" || r.Suite == "ascent" && r.Name == "full" && (p.Example == nil || p.Example.Suite == "gemm" || r.base() == 1)) {
			p.Example = r
		}
	}

	fact := func(name string, parts ...string) {
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		if len(parts) > 0 {
			p.Facts = append(p.Facts, pageFact{name, strings.Join(parts, ", ")})
		}
	}
	some := func(n int, what string) string {
		if n <= 0 {
			return ""
		}
		return fmt.Sprintf("%d %s", n, what)
	}
	set := func(what, value string) string {
		if value == "" {
			return ""
		}
		return what + " " + value
	}
	virtual, quota, pinned := "", "", ""
	if m.Virtual {
		virtual = "virtual machine"
	}
	if m.CgroupCPUs > 0 {
		quota = fmt.Sprintf("cgroup limit %.4g", m.CgroupCPUs)
	}
	if s.Pinned {
		pinned = "pinned"
	}
	fact("Microarchitecture", m.Micro)
	fact("Cores", some(m.Cores, "physical"), some(m.LogicalCores, "logical"), some(m.CPUs, "allowed"), quota)
	fact("Caches", "L1 "+FormatBytes(m.Caches.L1D), "L2 "+FormatBytes(m.Caches.L2), "L3 "+FormatBytes(m.Caches.L3))
	var tiers, missing []string
	for _, t := range m.Tiers {
		if t.Available {
			tiers = append(tiers, t.Name)
		} else {
			missing = append(missing, t.Name)
		}
	}
	if len(missing) > 0 {
		tiers = append(tiers, "not "+strings.Join(missing, ", "))
	}
	fact("Tiers", tiers...)
	fact("System", m.OS+" "+m.Arch, set("kernel", m.Kernel), virtual)
	fact("Version", p.Version)
	fact("Go", m.GoVersion)
	fact("Settings of the system", set("governor", m.Governor), set("huge pages", m.HugePages))
	if m.Load >= 0 {
		fact("Load before the run", strconv.FormatFloat(m.Load, 'f', 2, 64))
	}
	fact("Measured", p.When, "took "+(time.Duration(p.Seconds*float64(time.Second))).Round(time.Second).String())
	var threads []string
	for _, n := range s.Threads {
		threads = append(threads, strconv.Itoa(n))
	}
	fact("Threads", append(threads, pinned)...)
	fact("Extent", s.Extent, some(s.Passes, "passes"), some(s.Repetitions, "repetitions a pass"), "of "+FormatSeconds(s.Least)+" at least")
	if !slices.Equal(s.Suites, Suites()) {
		fact("Suites", s.Suites...)
	}
	fact("Only rows that match", s.Filter)
	if s.Slow > 1 {
		fact("Slowed down on purpose", fmt.Sprintf("%d times the work in every call", s.Slow))
	}
}

// ascentBase is the shape at which the sweeps of an ascent cross.
var ascentBase = map[string]int{"d": 64, "k": 20, "n": 30, "batch": 128}

// draw makes the sections that have something to show.
func (p *page) draw() error {
	for i := range p.Results {
		r := &p.Results[i]
		if !slices.Contains(p.tiers, r.Tier) {
			p.tiers = append(p.tiers, r.Tier)
		}
		if !slices.Contains(p.threads, r.Threads) {
			p.threads = append(p.threads, r.Threads)
		}
	}
	slices.Sort(p.threads)
	slices.SortStableFunc(p.tiers, func(a, b string) int { return cmp.Compare(tierColour(a), tierColour(b)) })
	if len(p.Results) == 0 {
		return nil
	}
	for _, s := range []struct {
		pageSection
		draw func() ([][]byte, error)
	}{
		{pageSection{ID: "roofline", Title: "Roofline",
			Text: "Each point is a row of the fastest tier. Work cannot lie above the roof by more than what measuring both leaves: the peak of the FMA units, or for so many flop a byte what reads from a level of the memory deliver. Bytes count operands and results once each: what the caches allow at best."}, p.rooflines},
		{pageSection{ID: "threads", Title: "Scaling with threads",
			Text: "Speed over that of one thread. Vertical bars are what the 95% intervals of both allow."}, p.speedUps},
		{pageSection{ID: "ascent", Title: "Scaling with d, k, n and batch",
			Text: "The ascent: one parameter varies, the others stay at d\u00a0=\u00a064 dimensions, k\u00a0=\u00a020 components, n\u00a0=\u00a030 steps and a batch of 128. Vertical bars are the 95% intervals of the times."}, p.ascents},
		{pageSection{ID: "growth", Title: "Cost against the number of components",
			Text: "What a step of the ascent costs a row at d\u00a0=\u00a0784 with diagonal precisions, over what it costs with the fewest components: the first step, and the mean of the later ones (from ascents of 1 and of 30 steps). The dense route computes every component in every step, the sparse one those that may be active."}, p.growths},
		{pageSection{ID: "square", Title: "Square matrix products",
			Text: "Products of two square matrices: with the second one packed beforehand, as the engine keeps weights and precisions, and with both as they are. Vertical bars are the 95% intervals of the times."}, p.squares},
		{pageSection{ID: "tiers", Title: "Tiers",
			Text: "The same work by each instruction set, with the same bits as its result."}, p.comparisons},
	} {
		svgs, err := s.draw()
		if err != nil {
			return fmt.Errorf("page of a report: %s: %w", s.ID, err)
		}
		for _, svg := range svgs {
			s.Figures = append(s.Figures, template.HTML(svg)) // escaped where it was drawn
		}
		if len(svgs) > 0 {
			p.Sections = append(p.Sections, s.pageSection)
		}
	}
	return nil
}

// ends returns the smallest and the largest number of threads.
func (p *page) ends() []int {
	return slices.Compact([]int{p.threads[0], p.threads[len(p.threads)-1]})
}

func (p *page) rooflines() (svgs [][]byte, err error) {
	tier := p.tiers[0]
	for _, threads := range p.ends() {
		f := plot.Roofline{Title: tier + " on " + countThreads(threads)}
		for _, l := range p.Peak {
			if l.Threads == threads && slices.Contains(p.tiers, l.Tier) {
				f.Peaks = append(f.Peaks, plot.Limit{Name: l.Tier, Rate: l.GFlops})
			}
		}
		for _, l := range p.Bandwidth {
			if l.Threads == threads && l.Tier == tier {
				f.Bandwidths = append(f.Bandwidths, plot.Limit{Name: l.Level, Rate: l.Read}) // as the column of the table has it
			}
		}
		drawn := 0
		for colour, suite := range Suites() {
			s := plot.Series{Name: suite, Colour: colour}
			for i := range p.Results {
				if r := &p.Results[i]; r.Suite == suite && r.Tier == tier && r.Threads == threads && r.Flop > 0 && r.Bytes > 0 && r.GFlops > 0 {
					s.Points = append(s.Points, plot.Point{X: r.Flop / r.Bytes, Y: r.GFlops, Doubtful: len(r.Marks) > 0})
				}
			}
			f.Points = append(f.Points, s)
			drawn += len(s.Points)
		}
		if drawn == 0 || len(f.Peaks) == 0 || len(f.Bandwidths) == 0 {
			continue
		}
		svg, err := plot.SVG(f)
		if err != nil {
			return nil, err
		}
		svgs = append(svgs, svg)
	}
	return svgs, nil
}

func (p *page) speedUps() ([][]byte, error) {
	if len(p.threads) < 2 {
		return nil, nil
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
			pt := plot.Point{X: float64(threads), Y: one.SecondsMedian / r.SecondsMedian, Doubtful: len(one.Marks)+len(r.Marks) > 0}
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
		return nil, nil
	}
	ideal := plot.Series{Name: "ideal", Reference: true}
	for _, threads := range p.threads {
		ideal.Points = append(ideal.Points, plot.Point{X: float64(threads), Y: float64(threads)})
	}
	svg, err := plot.SVG(plot.Lines{
		Title: "Speed-up of " + p.tiers[0], X: "threads (log scale)", Y: "speed over one thread (log scale)",
		LogY: true, Series: append(series, ideal)})
	return [][]byte{svg}, err
}

func (p *page) ascents() (svgs [][]byte, err error) {
	names := map[string]string{"d": "d, dimensions", "k": "k, components", "n": "n, ascent steps", "batch": "batch, rows"}
	for _, param := range []string{"d", "k", "n", "batch"} {
		var series []plot.Series
		for _, tier := range p.tiers {
			for dash, threads := range p.ends() {
				series = append(series, p.percents(tier+", "+countThreads(threads), tierColour(tier), dash, param, func(r *Result) bool {
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
		if svgs, err = percentLines(svgs, "Ascent over "+names[param], param+" (log scale)", series); err != nil {
			return nil, err
		}
	}
	return svgs, nil
}

// growths draws the cost of a step over k by both routes, the first one and the later ones
// apart.
func (p *page) growths() (svgs [][]byte, err error) {
	for _, threads := range p.ends() {
		f := growth(p.Report, p.tiers[0], threads)
		if len(f.Series) < 2 {
			continue
		}
		svg, err := plot.SVG(f)
		if err != nil {
			return nil, err
		}
		svgs = append(svgs, svg)
	}
	return svgs, nil
}

// growth is a figure of the rows diag of suite ascent-sparse: the cost of a step, relative to
// that with the fewest components. Beside it k itself is drawn.
func growth(r *Report, tier string, threads int) plot.Lines {
	f := plot.Lines{Title: tier + " on " + countThreads(threads), X: "k, components (log scale)", Y: "cost of a step, relative (log scale)", LogY: true}
	proportional := plot.Series{Name: "in proportion to k", Reference: true}
	for colour, route := range []engine.Route{engine.SparseRoute, engine.DenseRoute} {
		whole := map[[2]int]*Result{} // by k and n
		for i := range r.Results {
			row := &r.Results[i]
			if row.Suite == "ascent-sparse" && row.Name == "diag "+route.String() && row.Tier == tier && row.Threads == threads {
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
			later.Points = append(later.Points, plot.Point{X: float64(k), Y: (long.SecondsMedian - one.SecondsMedian) / float64(n-1), Doubtful: doubtful})
		}
		for _, s := range []*plot.Series{&first, &later} {
			if len(s.Points) < 2 {
				continue
			}
			slices.SortFunc(s.Points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
			base := s.Points[0]
			for i := range s.Points {
				s.Points[i].Y /= base.Y
			}
			if route == engine.SparseRoute && s == &first {
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

func (p *page) squares() (svgs [][]byte, err error) {
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
		if svgs, err = percentLines(svgs, "m = k = n on "+countThreads(threads), "m = k = n (log scale)", series); err != nil {
			return nil, err
		}
	}
	return svgs, nil
}

// percents returns the percent of peak of some rows over a parameter.
func (p *page) percents(name string, colour, dash int, param string, in func(r *Result) bool) plot.Series {
	s := plot.Series{Name: name, Colour: colour, Dash: dash}
	for i := range p.Results {
		r := &p.Results[i]
		if !in(r) || r.Params[param] <= 0 || !(r.PercentPeak > 0) {
			continue
		}
		s.Points = append(s.Points, plot.Point{X: float64(r.Params[param]), Y: r.PercentPeak, Doubtful: len(r.Marks) > 0,
			Low: r.PercentPeak * r.SecondsMedian / r.SecondsCI[1], High: r.PercentPeak * r.SecondsMedian / r.SecondsCI[0]})
	}
	slices.SortStableFunc(s.Points, func(a, b plot.Point) int { return cmp.Compare(a.X, b.X) })
	return s
}

// percentLines adds a figure to svgs if one of the series is more than a point.
func percentLines(svgs [][]byte, title, x string, series []plot.Series) ([][]byte, error) {
	if !slices.ContainsFunc(series, func(s plot.Series) bool { return len(s.Points) > 1 }) {
		return svgs, nil
	}
	svg, err := plot.SVG(plot.Lines{Title: title, X: x, Y: "percent of measured peak", From: 0, To: 100, Series: series})
	return append(svgs, svg), err
}

func (p *page) comparisons() (svgs [][]byte, err error) {
	if len(p.tiers) < 2 {
		return nil, nil
	}
	threads := p.threads[0]
	rows := p.typical("", threads)
	for _, unit := range []string{"GFLOP/s", "GB/s"} {
		f := plot.Bars{Title: unit + " on " + countThreads(threads), X: unit}
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
		svg, err := plot.SVG(f)
		if err != nil {
			return nil, err
		}
		svgs = append(svgs, svg)
	}
	return svgs, nil
}

// rate is GFLOP/s, or where there is no flop GB/s.
func (r *Result) rate() float64 { return cmp.Or(r.GFlops, r.GBPerS) }

// label is the name of a row within a figure.
func (r *Result) label() string {
	return strings.TrimSpace(r.Suite + " " + r.Name + " " + strings.ReplaceAll(r.Shape, ",", ", "))
}

// find returns the row of the same work on a tier and so many threads, or nil.
func (p *page) find(row *Result, tier string, threads int) *Result {
	for i := range p.Results {
		if r := &p.Results[i]; r.Suite == row.Suite && r.Name == row.Name && r.Shape == row.Shape && r.Tier == tier && r.Threads == threads {
			return r
		}
	}
	return nil
}

// typical returns a row of each kind of work on so many threads: of those that most tiers
// have, the base of the sweeps, or else the one that takes longest. An empty tier stands
// for any. What differs from another kind in where operands lie only is left out.
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
		if r.Threads != threads || tier != "" && r.Tier != tier || r.Suite == "peak" || strings.HasSuffix(r.Name, "cold") ||
			r.Suite == "gemm" && r.Name != "packed" && r.Name != "plain nn" {
			continue
		}
		at := slices.IndexFunc(rows, func(o *Result) bool { return o.Suite == r.Suite && o.Name == r.Name })
		if at < 0 {
			rows = append(rows, r)
			continue
		}
		o := rows[at]
		if cmp.Or(cmp.Compare(tiers(r), tiers(o)), cmp.Compare(r.base(), o.base()), cmp.Compare(r.Flop+r.Bytes, o.Flop+o.Bytes)) > 0 {
			rows[at] = r
		}
	}
	return rows
}

// base is 1 where the sweeps of the ascent cross, else 0.
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

func countThreads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// command is what repeats a run with the settings.
func (s Settings) command() string {
	c := "dpnbench bench"
	if s.Extent == "quick" || s.Extent == "full" {
		c += " --" + s.Extent
	}
	if len(s.Suites) > 0 && !slices.Equal(s.Suites, Suites()) {
		c += " --suite " + quoted(strings.Join(s.Suites, ","))
	}
	if s.Filter != "" {
		c += " --filter " + quoted(s.Filter)
	}
	if len(s.Tiers) == 1 {
		c += " --tier " + quoted(s.Tiers[0])
	}
	for i, n := range s.Threads {
		c += []string{" --threads ", ","}[min(i, 1)] + strconv.Itoa(n)
	}
	if s.Pinned {
		c += " --pin"
	}
	if s.Slow > 1 {
		c += fmt.Sprintf(" --slow %d", s.Slow)
	}
	if s.Memory > 0 {
		c += fmt.Sprintf(" --memory %d", s.Memory)
	}
	return c + " --json again.json --html again.html"
}

// quoted makes s one word for a shell.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
