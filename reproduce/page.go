package reproduce

import (
	"embed"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"dpnbench/dpn/separation"
	"dpnbench/internal/prose"
	"dpnbench/plot"
	"dpnbench/report"
)

//go:embed prose/*.tmpl
var proseFiles embed.FS

// sentences has the prose of the page.
var sentences = prose.Parse(proseFiles, "prose/*.tmpl")

// Figure is a figure of the experiments, with the name of its file.
type Figure struct {
	Name string
	report.Shown
}

// verdictColours are the verdicts of report, for the colour; the words are ours.
var verdictColours = map[string]report.Verdict{
	Reproduced: report.Holds, InPart: report.Partly, OnlyByTheirs: report.Partly, BeyondTheirs: report.Partly,
	NotReproduced: report.Fails, NotTestable: report.Unjudged, Untested: report.Unjudged,
}

// Page returns the report of the experiments that have run; facts name the data and the machine.
func Page(r Results, facts []report.Fact) report.Page {
	claims := Claims(r)
	p := report.Page{Kind: "dpnbench reproduce", Title: sentences.Say("title"), Facts: facts,
		Summary: summary(r, claims)}
	p.Sections = append(p.Sections, report.Section{Title: "Every claim", Blocks: claimsBlocks(claims)})
	add := func(title string, have bool, blocks func() []report.Block) {
		if have {
			p.Sections = append(p.Sections, report.Section{Title: title, Blocks: blocks()})
		}
	}
	figures := Figures(r)
	if i := slices.IndexFunc(figures, func(f Figure) bool { return !plot.HasPanels(f.Figure) }); i >= 0 {
		// Beside the summary, where panels have no room.
		p.First = report.Figures{figures[i].Shown}
		figures = slices.Delete(figures, i, i+1)
	}
	shown := func(names ...string) report.Figures {
		var out report.Figures
		for _, f := range figures {
			if slices.Contains(names, f.Name) {
				out = append(out, f.Shown)
			}
		}
		return out
	}
	add("Table 1 of the paper", r.Table1 != nil, func() []report.Block {
		return append([]report.Block{table1Table(r.Table1), wholeTable(r.Table1),
			shown("table1-samples", "table1-steps")}, walkBlocks(r.Table1.Walk, sentences.Say("table1 walk"))...)
	})
	add("The law of equi-separation in feed-forward networks", r.Law != nil, func() []report.Block {
		return lawBlocks(r.Law, shown(lawFigure, lawEpochsFigure, lawLoadFigure))
	})
	add("Along the steps of trained potentials", r.Trained != nil, func() []report.Block {
		return append([]report.Block{
			report.Text(commas(sentences.Say("trained intro", "images", r.Trained.Images))),
			trainedTable(r.Trained), forwardTable(r.Trained), shown("trained-steps")},
			walkBlocks(r.Trained.Walk, sentences.Say("trained walk"))...)
	})
	add("The training of the poster", r.Poster != nil, func() []report.Block {
		return []report.Block{posterTable(r.Poster), shown("poster")}
	})
	add("The ascent field", r.Field != nil, func() []report.Block {
		return []report.Block{symmetryTable(r.Field), risesTable(r.Field), shown("field-rises"),
			fixedPointsTable(r.Field)}
	})
	add("Robustness at equal cost", r.Robust != nil, func() []report.Block {
		return robustBlocks(r.Robust, shown(robustFigureNames[false], robustFigureNames[true]))
	})
	return p
}

// walkBlocks are a walk and its introduction, or nothing.
func walkBlocks(w *report.Walk, text string) []report.Block {
	if w == nil {
		return nil
	}
	return []report.Block{report.Text(text), *w}
}

// mostAsymmetry is the asymmetry of a Hessian, measured by differences, that rounding explains.
const mostAsymmetry = 1e-6

// summary is what was found.
func summary(r Results, claims []Claim) []string {
	count := map[string]int{}
	for _, c := range claims {
		count[c.Verdict]++
	}
	var counts []string
	for _, v := range []string{Reproduced, InPart, OnlyByTheirs, BeyondTheirs, NotReproduced, NotTestable} {
		if n := count[v]; n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, v))
		}
	}
	out := []string{sentences.Say("verdicts", "claims", len(claims), "counts", counts, "untested", count[Untested])}
	if !r.MNIST {
		out = append(out, sentences.Say("not MNIST", "law", r.Law != nil && r.Law.Known && r.Epochs == 0))
	}
	if r.Epochs > 0 {
		out = append(out, sentences.Say("other epochs", "epochs", r.Epochs))
	}
	if t := r.Table1; t != nil && len(t.Whole) > 0 {
		few, all := t.Few[0].Analysis.Layers[layerInput], t.Whole[0].Analysis.Layers[layerInput]
		out = append(out, sentences.Say("input", "few", table1Images, "d", float64(few.Fuzziness),
			"all", t.Images, "dAll", float64(all.Fuzziness), "limit", limitText(all.Sampling)))
		zero, ten, thirty := stepOf(t.Whole, 0), stepOf(t.Whole, table1Steps), stepOf(t.Whole, paperSteps)
		low := over(t.Whole, func(p Placement) float64 { return float64(over(p.Analysis.Steps, fuzziness).Least) })
		out = append(out, sentences.Say("untrained steps", "course", courseOf(t.Whole, placementSteps), "zero",
			zero.text("%.1f"), "between", low.Least < min(zero.Least, ten.Least, thirty.Least), "low", low.text("%.1f"),
			"ten", ten.text("%.1f"), "thirty", thirty.text("%.1f"), "seeds", len(t.Whole)))
	}
	if t := r.Trained; t != nil && len(t.Runs) > 0 {
		if j := judgeTrained(t); j.verdict != "" {
			out = append(out, sentences.Say("trained law", "measured", j.measured, "why", j.why))
		}
	}
	if l := r.Law; l != nil {
		j := judgeLaw(l)
		out = append(out, sentences.Say("law itself", "measured", j.measured, "why", j.why,
			"others", judgeUniversal(l).why))
	}
	if b := r.Robust; b != nil {
		for _, noisy := range []bool{false, true} {
			var said []string
			for _, v := range b.Verdicts() {
				if v.Noisy == noisy {
					said = append(said, fmt.Sprintf("%s %s the %s (%.1f%% against %.1f%%)", v.Setting,
						preposition[v.Word], v.Rival, float64(v.Ours.Mean), float64(v.Theirs.Mean)))
				}
			}
			out = append(out, sentences.Say("equal cost", "training", trainingNames[noisy], "results",
				strings.Join(said, "; ")))
		}
		if text := ruleText(b); text != "" {
			out = append(out, text)
		}
	}
	if f := r.Field; f != nil {
		out = append(out, sentences.Say("field", "gradient", f.Hessian.Asymmetry < mostAsymmetry,
			"asymmetry", float64(f.Hessian.Asymmetry), "converged", f.FixedPoints.Converged,
			"samples", f.FixedPoints.Samples, "points", len(f.FixedPoints.Points)))
	}
	for i, text := range out {
		out[i] = commas(text)
	}
	return out
}

// claimsBlocks are the claims that have a verdict, and, folded, those that have none.
func claimsBlocks(claims []Claim) []report.Block {
	var judged, untested []Claim
	for _, c := range claims {
		if c.Verdict == Untested {
			untested = append(untested, c)
		} else {
			judged = append(judged, c)
		}
	}
	out := []report.Block{report.Text(sentences.Say("claims intro"))}
	if len(judged) > 0 {
		out = append(out, claimsTable(sentences.Say("claims table"), judged))
	}
	if len(untested) > 0 {
		out = append(out, report.Fold(sentences.Say("untested claims", "claims", len(untested)),
			claimsTable("", untested))...)
	}
	return out
}

func claimsTable(caption string, claims []Claim) report.Table {
	t := report.Table{Caption: caption,
		Columns: []report.Column{{Name: "claim"}, {Name: "published"}, {Name: "measured"}, {Name: "why"}}}
	for _, c := range claims {
		note := c.Source // separate columns would not fit the page
		if c.Protocol != "" {
			note += "; " + c.Protocol
		}
		said := c.Verdict
		if said == Untested && c.Measured != "" {
			said = "no verdict"
		}
		t.Rows = append(t.Rows, report.Row{Verdict: verdictColours[c.Verdict], Said: said, Note: note,
			Cells: []string{c.Statement, c.Published, commas(dash(c.Measured)), commas(c.Why)}})
	}
	return t
}

var longNumber = regexp.MustCompile(`(^|[^.\d])(\d{4,})`)

// commas adds commas to the whole numbers of a text without years.
func commas(text string) string {
	return longNumber.ReplaceAllStringFunc(text, func(n string) string {
		for i := len(n) - 3; i > 0 && n[i-1] >= '0' && n[i-1] <= '9'; i -= 3 {
			n = n[:i] + "," + n[i:]
		}
		return n
	})
}

func dash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

// number prints v with the given format, or a dash for NaN.
func number(format string, v separation.Float) string {
	if math.IsNaN(float64(v)) {
		return "–"
	}
	if math.IsInf(float64(v), 0) {
		return "∞"
	}
	return fmt.Sprintf(format, float64(v))
}

// between prints an interval.
func between(format string, ci []separation.Float) string {
	if len(ci) != 2 {
		return "–"
	}
	return number(format, ci[0]) + " to " + number(format, ci[1])
}
