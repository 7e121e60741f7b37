package bench

import (
	"embed"
	"fmt"
	htmltemplate "html/template"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"dpnbench/engine"
	"dpnbench/internal/format"
	"dpnbench/internal/prose"
	"dpnbench/internal/template"
	"dpnbench/report"
)

//go:embed page.html.tmpl
var pageMarkup string

//go:embed page.css
var pageStyle htmltemplate.CSS

//go:embed page.js
var pageScript htmltemplate.JS // sorts and filters the rows; without it the table is complete as well

//go:embed prose/*.tmpl
var proseFiles embed.FS

// sentences has the prose of the sections with figures.
var sentences = prose.Parse(proseFiles, "prose/*.tmpl")

var pageFuncs = template.Funcs{
	"pureGo":    engine.Generic.String,
	"hostTier":  func() string { return hostTier },
	"quantity":  quantity,
	"duration":  FormatSeconds,
	"number":    func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) },
	"interval":  func(r Result) string { return FormatWidth(r.SecondsMedian, r.SecondsCI) },
	"width":     width,
	"shape":     func(r Result) string { return strings.TrimPrefix(r.Shape, "-") },
	"share":     func(r Result, percent float64) float64 { return r.Share(percent) },
	"letters":   letters,
	"percent":   percent,
	"perThread": func(b Bandwidth) string { return FormatBytes(b.PerThread()) },
	"join":      strings.Join,
	"words":     report.Words,
	"threads":   func(n int) string { return format.Count(n, "thread") },
	"rows":      func(n int) string { return format.Count(n, "row") },
	"ghz":       func(hz float64) string { return strconv.FormatFloat(hz/1e9, 'f', 2, 64) },
	// The length of the bar behind a percentage.
	"bar": func(v float64) string { return strconv.FormatFloat(min(max(v, 0), 100), 'f', 1, 64) },
}

// pageTemplates has the sections that are more than text and figures: limits, rows, reading.
var pageTemplates = template.HTML(pageFuncs).Parse("page", pageMarkup)

// WritePage writes r as an HTML page that needs no other file and no network. What the
// run did not measure is left out. The same report gives the same bytes.
func WritePage(w io.Writer, r *Report) error {
	p := page{Report: r, Command: r.Settings.command()}
	p.order()
	sections, err := p.sections()
	if err != nil {
		return fmt.Errorf("bench: page: %w", err)
	}
	out := report.Page{
		Kind:     "dpnbench benchmark report",
		Title:    r.Machine.Brand,
		Facts:    p.facts(),
		Warnings: warnings(r),
		Summary:  p.summary(),
		First:    p.lead(),
		Sections: sections,
		Style:    pageStyle,
	}
	if len(r.Results) > 0 {
		out.Script = pageScript
	}
	return out.Write(w)
}

// warnings are those of the report as sentences.
func warnings(r *Report) (out []string) {
	if r.Partial {
		out = append(out, sentences.Say("partial", "error", r.Error))
	}
	for _, w := range r.Warnings {
		if w != "" {
			w = strings.ToUpper(w[:1]) + w[1:] + "."
		}
		out = append(out, w)
	}
	return out
}

// page is a report as the templates show it.
type page struct {
	*Report
	Command string
	Limits  []pageLimits
	Levels  []string // of the memory
	Marked  int      // rows
	Marks   []MarkKind
	Example *Result // a row to quote
	OneTier bool    // all rows have the same: the table leaves it out

	tiers   []string // of the rows, fastest first
	threads []int    // of the rows
}

// sections returns those that have something to show.
func (p *page) sections() ([]report.Section, error) {
	var out []report.Section
	add := func(id, title string) error {
		markup, err := pageTemplates.Execute(id, p)
		if err != nil {
			return err
		}
		out = append(out, report.Section{ID: id, Title: title, Blocks: []report.Block{report.Markup(markup)}})
		return nil
	}
	if len(p.Limits) > 0 {
		if err := add("limits", "Measured limits"); err != nil {
			return nil, err
		}
	}
	if len(p.Results) > 0 {
		for _, s := range []struct {
			id, title, text string
			figures         report.Figures
		}{
			{"roofline", sentences.Say("roofline title"), sentences.Say("other rooflines"), p.otherRooflines()},
			{"threads", sentences.Say("threads title"), sentences.Say("threads text"), p.speedUps()},
			{"phases", sentences.Say("phases title"), sentences.Say("phases text"), p.phases()},
			{"ascent", sentences.Say("ascent title"), sentences.Say("ascent text"), p.ascents()},
			{"growth", sentences.Say("growth title"), sentences.Say("growth text"), p.growths()},
			{"square", sentences.Say("square title"), sentences.Say("square text"), p.squares()},
			{"tiers", sentences.Say("tiers title"), sentences.Say("tiers text"), p.comparisons()},
		} {
			switch len(s.figures) {
			case 0:
				continue
			case 1: // its text stands beside it
				s.figures[0].Caption, s.text = s.text, ""
			}
			out = append(out, report.Section{ID: s.id, Title: s.title,
				Blocks: []report.Block{report.Text(s.text), s.figures}})
		}
		if err := add("rows", "All rows"); err != nil {
			return nil, err
		}
	}
	return out, add("reading", "How to read this")
}

// order finds the tiers and threads of the rows, the limits and the row to quote.
func (p *page) order() {
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
	sort.SliceStable(p.tiers, func(i, j int) bool { return tierColour(p.tiers[i]) < tierColour(p.tiers[j]) })
	p.OneTier = len(p.tiers) == 1
	p.limits()
	p.Marks = MarkKinds(p.Results)
	for i := range p.Results {
		r := &p.Results[i]
		if len(r.Marks) > 0 {
			p.Marked++
		} else if p.quotable(r) {
			p.Example = r
		}
	}
}

// quotable reports whether r is a better example than the one so far: a row of the fastest
// tier on all threads, at best the ascent at its base shape.
func (p *page) quotable(r *Result) bool {
	if r.Tier != p.tiers[0] || r.Threads != p.threads[len(p.threads)-1] || !(r.PercentPeak > 0) {
		return false
	}
	if r.Suite == "gemm" {
		return p.Example == nil
	}
	return r.Suite == "ascent" && r.Name == "full" &&
		(p.Example == nil || p.Example.Suite == "gemm" || r.base() == 1)
}

// pageLimits holds the peak of a tier with a number of threads, and the bandwidth of each memory level.
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

// width is that of the interval of a row, to sort by: one that is not known is the widest.
func width(r Result) float64 {
	if w := Width(r.SecondsMedian, r.SecondsCI); w < mostWidth {
		return w
	}
	return mostWidth
}

const mostWidth = 1e5
