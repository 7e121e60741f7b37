package report

import (
	"errors"
	"fmt"
	"strings"

	"dpnbench/dpn/separation"
	"dpnbench/internal/format"
	"dpnbench/plot"
)

// Separation is what was measured of the features of any network, for its figures and its page.
type Separation struct {
	Depth *separation.Depth
	Name  string // of the features
	Files []string
	// Panels are some samples of each layer on its first two principal components; Classes names their
	// classes.
	Panels  []plot.Panel
	Classes []string
	// Epochs are the measurements of several epochs, the last of which is Depth; nil for one.
	Epochs []SeparationEpoch

	Tier    string // of the kernels
	Threads int
	Draws   int
	Seed    uint64
}

// SeparationEpoch is what was measured of one epoch.
type SeparationEpoch struct {
	Name  string
	Depth *separation.Depth
}

// Figures returns all figures in the order of the page.
func (s Separation) Figures() []AnalysisFigure {
	figures := []AnalysisFigure{
		newFigure("layers", partSeparation, s.layers),
		newFigure("loads", partSeparation, s.loads),
		newFigure("curve", partSeparation, s.curve),
		newFigure("accuracy", partSeparation, s.accuracy),
		newFigure("compression", partSeparation, s.compression),
		newFigure("discrimination", partSeparation, s.discrimination),
	}
	if len(s.Epochs) > 1 {
		figures = append(figures, newFigure("epochs", partSeparation, s.epochs))
	}
	return append(figures, newFigure("pca", partSeparation, s.pca))
}

func (s Separation) title(what string) string {
	return fmt.Sprintf("%s: %s, %s samples", what, s.Name, format.Thousands(s.Depth.Samples))
}

func (s Separation) layers() (Shown, error) {
	f := plot.Layers{Title: s.title(text.Say("layers title"))}
	for _, l := range s.Depth.Layers {
		f.Names, f.D = append(f.Names, l.Name), append(f.D, float64(l.Fuzziness))
	}
	f.Intervals, f.Bars = intervals(s.Depth.Layers), FuzzinessBars
	if law := s.Depth.Law; law != nil && law.Points >= leastPoints {
		f.Law = NewLaw(law)
	}
	return Shown{Figure: f, Caption: text.Say("depth caption", "bars", barsCaption(f.Intervals, "samples"))}, nil
}

// overLayers is a figure of a statistic over the layers.
func (s Separation) overLayers(title, y string, series ...plot.Series) plot.Lines {
	f := plot.Lines{Title: s.title(title), X: "layer", Y: y, LinearX: true, Series: series}
	for _, l := range s.Depth.Layers {
		f.Names = append(f.Names, l.Name)
	}
	return f
}

// series is a statistic of each layer.
func (s Separation) series(name string, colour int, value func(separation.Layer) (float64, bool)) plot.Series {
	out := plot.Series{Name: name, Colour: colour}
	for i, l := range s.Depth.Layers {
		if v, ok := value(l); ok && separation.Float(v).IsFinite() {
			out.Points = append(out.Points, plot.Point{X: float64(i), Y: v})
		}
	}
	return out
}

func (s Separation) loads() (Shown, error) {
	inner := 0
	for _, l := range s.Depth.Layers {
		if l.Name != separation.LogitsName {
			inner++
		}
	}
	if inner < 2 {
		return Shown{}, errors.New("there is one layer only, not counting logits")
	}
	if len(s.Depth.Loads) == 0 {
		return Shown{}, errors.New("D does not fall from the first layer to the last, or some D has no logarithm")
	}
	if len(s.Depth.Loads) == 1 {
		return Shown{}, errors.New("the second of two layers has the whole load")
	}
	var names []string
	load := plot.Series{Name: "share of the fall of log D", Colour: 0}
	for i, l := range s.Depth.Loads {
		p := plot.Point{X: float64(i), Y: l.Share}
		if len(l.CI) == 2 {
			p.Low, p.High = float64(l.CI[0]), float64(l.CI[1])
		}
		load.Points = append(load.Points, p)
		names = append(names, l.Layer)
	}
	equal := 1 / float64(len(s.Depth.Loads))
	same := plot.Series{Name: "equal shares", Reference: true, Points: []plot.Point{{X: 0, Y: equal},
		{X: float64(len(s.Depth.Loads) - 1), Y: equal}}}
	f := s.overLayers(text.Say("loads title"), text.Say("loads y"), load, same)
	f.Names, f.Bars = names, "95% interval for N → ∞"
	return Shown{Figure: f, Caption: text.Say("loads caption")}, nil
}

func (s Separation) curve() (Shown, error) {
	return curveFigure(s.title(text.Say("curve title", "what", "samples")), "samples", s.Depth.Curves, s.Depth.Layers)
}

func (s Separation) accuracy() (Shown, error) {
	f := s.overLayers(text.Say("accuracies title"), "accuracy",
		s.series("nearest class mean", 0,
			func(l separation.Layer) (float64, bool) { return l.NearestMeanAccuracy, true }))
	if s.Depth.Layers[0].Probe != nil {
		f.Series = append(f.Series, s.series("linear probe", 1, func(l separation.Layer) (float64, bool) {
			if l.Probe == nil {
				return 0, false
			}
			return l.ProbeAccuracy, true
		}))
	}
	if s.Depth.Layers[0].Test != nil {
		f.Series = append(f.Series, s.series("nearest class mean, test", 2,
			func(l separation.Layer) (float64, bool) { return l.Test.NearestMeanAccuracy, true }))
	}
	return Shown{Figure: f, Caption: text.Say("accuracies caption")}, nil
}

func (s Separation) compression() (Shown, error) {
	f := s.overLayers(text.Say("compression title"), "Tr(SSw)/Tr(SSb) (log scale)",
		s.series("compression", 0, func(l separation.Layer) (float64, bool) {
			return float64(l.Compression), l.Compression > 0
		}))
	f.LogY = true
	return Shown{Figure: f, Caption: text.Say("compression caption")}, nil
}

func (s Separation) discrimination() (Shown, error) {
	f := s.overLayers(text.Say("discrimination title"), "1 − largest cosine of class means",
		s.series("discrimination", 1, func(l separation.Layer) (float64, bool) {
			return float64(l.Discrimination), true
		}))
	return Shown{Figure: f, Caption: text.Say("discrimination caption")}, nil
}

func (s Separation) epochs() (Shown, error) {
	f := plot.Lines{Title: s.title(text.Say("epochs title")), X: "epoch", Y: "fuzziness D (log scale)", LinearX: true,
		LogY: true}
	for _, epoch := range s.Epochs {
		f.Names = append(f.Names, epoch.Name)
	}
	for i, l := range s.Depth.Layers {
		line := plot.Series{Name: l.Name, Colour: i, Dash: i / 7}
		for e, epoch := range s.Epochs {
			if d := float64(epoch.Depth.Layers[i].Fuzziness); loggable(d) {
				line.Points = append(line.Points, plot.Point{X: float64(e), Y: d})
			}
		}
		f.Series = append(f.Series, line)
	}
	return Shown{Figure: f, Caption: text.Say("epochs caption")}, nil
}

func (s Separation) pca() (Shown, error) {
	if len(s.Panels) == 0 {
		return Shown{}, errors.New("there are more than 256 classes")
	}
	return Shown{Figure: plot.PCA{Title: s.title(text.Say("pca title")), Classes: s.Classes, Panels: s.Panels},
		Caption: text.Say("pca caption", "like", false)}, nil
}

// Laws returns the laws fitted to at least three layers.
func (s Separation) Laws() []NamedLaw {
	laws := testable(NamedLaw{"D", s.Depth.Law}, NamedLaw{"Tr(SSw)/Tr(SSb)", s.Depth.CompressionLaw})
	if w := s.Depth.LawWithLogits; w != nil && s.Depth.Law != nil && w.Points > s.Depth.Law.Points {
		laws = append(laws, testable(NamedLaw{"D with logits", w})...)
	}
	return laws
}

// Warnings say why D is not reliable, and what its intervals are for.
func (s Separation) Warnings() []string {
	out := separation.Warnings(s.Depth.Layers)
	if note := separation.OrderNote(s.Depth.Layers); note != "" {
		out = append(out, note)
	}
	return out
}

// SeparationPage returns the page, with the figures of [Separation.Figures].
func SeparationPage(s Separation, figures []AnalysisFigure) Page {
	p := Page{Kind: "dpnbench separation", Title: text.Say("depth title", "name", s.Name), Summary: s.summary(),
		Facts: s.facts()}
	for _, w := range s.Warnings() {
		p.Warnings = append(p.Warnings, w+".")
	}
	p.First, figures = first(figures, "layers")
	blocks := []Block{layerTable("Layers", s.Depth.Layers), s.lawTable()}
	blocks = append(blocks, Fold(columnsText, Text(text.Say("numbers", "what", "samples")))...)
	blocks = append(blocks, figureBlocks(figures, partSeparation)...)
	collapse := append(Fold(columnsText, Text(text.Say("collapse numbers"))), s.collapseTable())
	if t := s.classifierTable(); t != nil {
		collapse = append(collapse, *t)
	}
	p.Sections = []Section{
		{Title: text.Say(partSeparation), Blocks: blocks},
		{Title: text.Say("part collapse"), Blocks: append(collapse, s.depthTable())},
	}
	if cka := s.ckaTable(); cka != nil {
		p.Sections = append(p.Sections, Section{Title: text.Say("part cka"),
			Blocks: []Block{Text(text.Say("cka numbers", "samples", s.Depth.CKASamples)), *cka}})
	}
	return p
}

func (s Separation) facts() []Fact {
	draws := "no intervals"
	if s.Draws > 0 {
		draws = fmt.Sprintf("%s bootstrap resamples, seed %d", format.Thousands(s.Draws), s.Seed)
	}
	return []Fact{
		{"Features", fmt.Sprintf("%s samples in %d classes, %s", format.Thousands(s.Depth.Samples), s.Depth.Classes,
			format.Count(len(s.Depth.Layers), "layer"))},
		{"Files", strings.Join(s.Files, ", ")},
		{"Statistics", draws},
		{"Machine", machineFact(s.Tier, s.Threads)},
	}
}

func (s Separation) summary() []string {
	first, last := s.Depth.Layers[0], s.Depth.Layers[len(s.Depth.Layers)-1]
	out := []string{text.Say("depth summary", "first", first.Fuzziness, "firstName", first.Name, "last", last.Fuzziness,
		"lastName", last.Name)}
	switch law := s.Depth.Law; {
	case law == nil && len(s.Depth.Layers) >= leastPoints:
		out = append(out, text.Say("depth without logarithm"))
	case law == nil || law.Points < leastPoints:
		out = append(out, text.Say("depth too few"))
	case law.Follows():
		out = append(out, text.Say("depth follows", "rho", law.Rho, "ci", law.RhoCI, "r", law.Pearson))
	default:
		out = append(out, text.Say("depth does not follow", "fault", lawFault(law, "layer", s.falls())))
	}
	effective := s.Depth.EffectiveDepth
	return append(out, text.Say("effective depth", "layer", effective.Layer, "index", effective.Index, "error",
		effective.Error))
}

// falls says whether D falls at each layer. There are no loads if it does not fall from the first to the last.
func (s Separation) falls() bool {
	for _, l := range s.Depth.Loads {
		if !(l.Share > 0) {
			return false
		}
	}
	return len(s.Depth.Loads) > 0
}

func (s Separation) lawTable() Table {
	t := lawTable(s.Laws())
	if line := s.Depth.DiscriminationLine; line != nil && line.Points > 2 {
		ci := "–"
		if line.Points >= leastPoints {
			ci = intervalCell(line.SlopeCI, cell)
		}
		t.Rows = append(t.Rows, Row{Cells: []string{text.Say("discrimination row"), fmt.Sprint(line.Points),
			cell(line.Slope), ci, cell(float64(line.Pearson)), "–", "–"}})
	}
	return t
}

func (s Separation) collapseTable() Table {
	t := Table{Caption: "Neural collapse", Columns: []Column{{Name: "layer"}, {"NC1", true}, {"NC1, balanced", true},
		{"NC1, traces", true}, {"NC2 norms", true}, {"NC2 angles", true}, {"NC2 max angle", true}, {"NC2 frame", true},
		{"VCI", true}}}
	for _, l := range s.Depth.Layers {
		cells := []string{l.Name}
		for _, v := range []separation.Float{l.NC1, l.NC1Balanced, l.NC1Trace, l.NC2Norms, l.NC2Angles, l.NC2MaxAngle,
			l.NC2Frame} {
			cells = append(cells, cell(float64(v)))
		}
		if l.Spread != nil {
			cells = append(cells, cell(float64(l.VariabilityCollapse)))
		} else {
			cells = append(cells, "–")
		}
		t.Rows = append(t.Rows, Row{Cells: cells})
	}
	return t
}

// classifierTable is the table of the classifier, nil without one.
func (s Separation) classifierTable() *Table {
	for _, l := range s.Depth.Layers {
		c := l.Duality
		if c == nil {
			continue
		}
		cells := []string{l.Name, percent(c.Accuracy)}
		for _, v := range []separation.Float{c.NC2Norms, c.NC2Angles, c.NC2MaxAngle, c.NC2Frame, c.NC3, c.NC3Frame} {
			cells = append(cells, cell(float64(v)))
		}
		return &Table{Caption: "Classifier; accuracy and NC4 on the " + l.Classified() + " samples",
			Columns: []Column{{Name: "layer"}, {"accuracy", true}, {"NC2 norms", true}, {"NC2 angles", true},
				{"NC2 max angle", true}, {"NC2 frame", true}, {"NC3", true}, {"NC3 frame", true}, {"NC4", true}},
			Rows: []Row{{Cells: append(cells, percent(c.NC4))}}}
	}
	return nil
}

func (s Separation) depthTable() Table {
	t := Table{Caption: "Depth", Columns: []Column{{Name: "layer"}, {"D, balanced", true}, {"load", true},
		{"load, N → ∞", true}, {"95% interval", true}, {"compression", true}, {"discrimination", true},
		{"stable rank", true}, {"NCM, test", true}, {"linear probe", true}}}
	loads := map[string]separation.Load{}
	for _, l := range s.Depth.Loads {
		loads[l.Layer] = l
	}
	for _, l := range s.Depth.Layers {
		cells := []string{l.Name, cell(float64(l.FuzzinessBalanced)), "–", "–", "–", cell(float64(l.Compression)),
			cell(float64(l.Discrimination)), cell(float64(l.StableRank)), "–", "–"}
		if load, ok := loads[l.Name]; ok {
			cells[2], cells[3], cells[4] = percent(load.Share), "–", "–"
			if len(load.CI) == 2 {
				cells[3] = percent(float64(load.Limit))
				cells[4] = percent(float64(load.CI[0])) + " to " + percent(float64(load.CI[1]))
			}
		}
		if l.Test != nil {
			cells[8] = percent(l.Test.NearestMeanAccuracy)
		}
		if l.Probe != nil {
			cells[9] = percent(l.ProbeAccuracy)
		}
		t.Rows = append(t.Rows, Row{Cells: cells})
	}
	t.dropEmpty()
	return t
}

// mostAligned is the largest number of layers whose CKA is shown as a table.
const mostAligned = 60

func (s Separation) ckaTable() *Table {
	if len(s.Depth.CKA) < 2 || len(s.Depth.CKA) > mostAligned {
		return nil
	}
	t := &Table{Caption: "Linear CKA", Columns: []Column{{Name: "layer"}}}
	for i, l := range s.Depth.Layers {
		t.Columns = append(t.Columns, Column{l.Name, true})
		cells := []string{l.Name}
		for _, v := range s.Depth.CKA[i] {
			cells = append(cells, format.Number(float64(v), 3))
		}
		t.Rows = append(t.Rows, Row{Cells: cells})
	}
	return t
}
