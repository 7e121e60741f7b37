package report

import (
	"fmt"
	"math"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/internal/format"
)

// AnalysisPage returns the page of an analysis: a summary in plain words, tables, the walk
// and the figures, which are those of [Analysis.Figures].
func AnalysisPage(a Analysis, figures []AnalysisFigure) Page {
	p := Page{
		Kind:    "dpnbench analysis",
		Title:   "How " + a.name() + " separates classes",
		Summary: a.summary(),
		Facts:   a.facts(),
	}
	for _, w := range a.Warnings() {
		p.Warnings = append(p.Warnings, strings.ToUpper(w[:1])+w[1:]+".")
	}
	numbers := []Block{
		Text("D = Tr(SSw SSb⁺) is the separation fuzziness: how far the pictures of a class scatter, in the directions in which the classes lie apart. Less is better. It depends on the number of pictures; n → ∞ is the estimate for ever more pictures of the same kind, and the interval is its own. Tr(SSw SSb), without the pseudo-inverse, is what the paper prints; distance is the mean distance between class means, between/within is Tr(SSb)/Tr(SSw), CDNV the class-distance normalised variance, NCM the share of pictures that lie nearest to the mean of their class, PC the share of the variance along a principal component, rank that of SSb."),
		a.layerTable("Layers", a.Study.Layers),
		a.lawTable(),
	}
	paths := []Block{a.walkText()}
	if w := a.walk(); w.check() == nil {
		paths = append(paths, w)
	} else {
		paths = append(paths, Text(fmt.Sprintf("There is no walk: %v.", w.check())))
	}
	p.Sections = []Section{
		{partSeparation, append(numbers, figureBlocks(figures, partSeparation)...)},
		{partPaths, append(paths, figureBlocks(figures, partPaths)...)},
		{partPotential, append([]Block{a.potentialText()}, append(figureBlocks(figures, partPotential), a.componentTable())...)},
		{"Every step", []Block{Text("The same numbers after each ascent step. Step 0 are the features, the last step is the denoised layer."), a.layerTable("Steps", a.Study.Steps)}},
	}
	return p
}

// Warnings say why D is not to be relied on: for the layers, then for the steps between the
// first and the last one, which are layers.
func (a Analysis) Warnings() []string {
	out := separation.Warnings(a.Study.Layers)
	if n := len(a.Study.Steps); n > 2 {
		out = append(out, separation.Warnings(a.Study.Steps[1:n-1])...)
	}
	return out
}

// figureBlocks are the figures of one part, and why others are missing.
func figureBlocks(figures []AnalysisFigure, part string) []Block {
	var mine []AnalysisFigure
	var shown Figures
	for _, f := range figures {
		if f.part == part {
			mine = append(mine, f)
			if f.Missing == nil {
				shown = append(shown, f.Shown)
			}
		}
	}
	var out []Block
	if len(shown) > 0 {
		out = append(out, shown)
	}
	if missing := MissingFigures(mine); len(missing) > 0 {
		out = append(out, List(missing))
	}
	return out
}

// MissingFigures says which figures are missing and why, a sentence for each reason.
func MissingFigures(figures []AnalysisFigure) []string {
	names := map[string][]string{}
	var reasons []string
	for _, f := range figures {
		if f.Missing == nil {
			continue
		}
		reason := f.Missing.Error()
		if names[reason] == nil {
			reasons = append(reasons, reason)
		}
		names[reason] = append(names[reason], f.Name)
	}
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("No figure of %s: %s.", strings.Join(names[reason], ", "), reason)
	}
	return reasons
}

// cell prints a number for a table.
func cell(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.IsInf(v, 1):
		return "∞"
	}
	return format.Significant(v)
}

// percent prints a share.
func percent(v float64) string { return format.Number(100*v, 1) + "%" }

// intervalCell prints an interval, or a dash.
func intervalCell(ci []separation.Float) string {
	if len(ci) != 2 {
		return "–"
	}
	return cell(float64(ci[0])) + " to " + cell(float64(ci[1]))
}

// limitCell prints the estimate of D for n to infinity, or a dash.
func limitCell(l separation.Layer) string {
	if l.FuzzinessLimit == nil {
		return "–"
	}
	return cell(float64(*l.FuzzinessLimit))
}

func (a Analysis) facts() []Fact {
	m, c := a.Model, a.Model.Config
	features := "pixels"
	if c.Extractor != "identity" {
		features = fmt.Sprintf("%d from %s layers", m.Dim(), c.Extractor)
		if c.Extractor == "conv" {
			features = fmt.Sprintf("%d from convolutions", m.Dim())
		}
	}
	if c.LayerNorm {
		features += ", normalised"
	}
	form := c.Form
	if c.Form == potential.FormLowRank || c.Form == potential.FormFlat {
		form += fmt.Sprintf(", rank %d", c.Rank)
	}
	draws := "no intervals, "
	if a.Draws > 0 {
		draws = fmt.Sprintf("%s bootstrap draws, ", format.Thousands(a.Draws))
	}
	subsets := "no curve of D over n"
	if a.Subsets > 0 {
		subsets = fmt.Sprintf("%d subsets of each size, seed %d", a.Subsets, a.Seed)
	}
	return []Fact{
		{"Data", fmt.Sprintf("%s, %s test pictures of %d × %d in %d classes", a.Data, format.Thousands(a.Study.Samples), m.Rows, m.Cols, a.Study.Classes)},
		{"Preset", fmt.Sprintf("%s, %s parameters", c.Preset, format.Thousands(m.Parameters()))},
		{"Features", features},
		{"Potential", fmt.Sprintf("k = %d components, precisions %s", c.Components, form)},
		{"Ascent", fmt.Sprintf("n = %d steps, α = %s", c.Steps, format.Significant(float64(m.Potential().Alpha())))},
		{"Gradient", map[bool]string{true: "detached: the potential never learned", false: c.Gradient}[c.Gradient == "detached"]},
		{"Statistics", draws + subsets},
		{"Machine", fmt.Sprintf("%s kernels, %d threads; no number depends on them", a.Tier, a.Threads)},
		{"Weights (SHA-256)", m.WeightsSHA256()},
	}
}

// layer returns the first layer of a name.
func (a Analysis) layer(name string) separation.Layer {
	for _, l := range a.Study.Layers {
		if l.Name == name {
			return l
		}
	}
	return separation.Layer{}
}

func (a Analysis) summary() []string {
	s := a.Study
	out := []string{
		fmt.Sprintf("The network reads %s of %s test pictures correctly; %s are read wrongly.", percent(s.Accuracy), format.Thousands(s.Samples), format.Thousands(s.Wrong)),
	}
	d := func(name string) string { return cell(float64(a.layer(name).Fuzziness)) }
	text := fmt.Sprintf("The separation fuzziness D, which falls as classes draw together, is %s at the input", d("input"))
	if !a.pixels() {
		text += fmt.Sprintf(", %s in the features", d("features"))
	}
	text += fmt.Sprintf(" and %s after denoising", d("denoised"))
	if l := a.layer("denoised"); l.FuzzinessLimit != nil && l.FuzzinessLimit.IsFinite() {
		text += fmt.Sprintf(" (for ever more pictures %s, 95%% interval %s)", limitCell(l), intervalCell(l.FuzzinessCI))
	}
	out = append(out, text+".")
	if len(s.Steps) > 1 {
		out = append(out, a.stepsSentence())
	}
	out = append(out, a.reliability())
	order := s.Landscape.Order
	out = append(out, fmt.Sprintf("%s of the %d components carry the weight; the heaviest has %s of it.",
		format.Number(a.carriers(), 1), s.Landscape.Components, percent(s.Landscape.Weights[order[0]])))
	if size := s.Landscape.Alpha * s.Landscape.LambdaMax; size <= 2 {
		out = append(out, fmt.Sprintf("The step size is safe: α times the largest eigenvalue of the precisions is %s, and up to 2 no step can lower the potential φ.", format.Significant(size)))
	} else {
		out = append(out, fmt.Sprintf("The step size is not safe everywhere: α times the largest eigenvalue of the precisions is %s, and above 2 a step may lower the potential φ.", format.Significant(size)))
	}
	if len(s.Steps) > 1 {
		out = append(out, a.riseSentence())
	}
	return out
}

// stepsSentence says whether D falls along the steps, and whether it follows the law.
func (a Analysis) stepsSentence() string {
	s := a.Study
	falls, n := 0, len(s.Steps)-1
	for t := range n {
		if s.Steps[t+1].Fuzziness < s.Steps[t].Fuzziness {
			falls++
		}
	}
	text := ""
	switch falls {
	case n:
		text = fmt.Sprintf("D falls at each of the %d ascent steps", n)
		if n == 1 {
			text = "D falls in the one ascent step"
		}
	case 0:
		text = fmt.Sprintf("D falls at none of the %d ascent steps", n)
	default:
		text = fmt.Sprintf("D falls at %d of the %d ascent steps", falls, n)
	}
	law := s.StepsLaw
	switch {
	case law == nil:
		return text + "; the law of equi-separation has no meaning here, since D has no logarithm at some step."
	case law.Points < leastPoints:
		return text + "; these are too few to tell whether it follows the law of equi-separation."
	case law.Follows():
		return text + fmt.Sprintf(" and follows the law of equi-separation: it changes by the factor ρ = %s a step (95%% interval %s).", format.Significant(law.Rho), intervalCell(law.RhoCI))
	}
	return text + " but does not follow the law of equi-separation: " + lawFault(law, falls == n) + "."
}

// lawFault says why a law is not followed; falling is whether D falls at every step.
func lawFault(law *separation.Law, falling bool) string {
	switch {
	case law.Shape() == separation.Convex && falling:
		return "log D is no straight line but falls ever more slowly"
	case law.Shape() == separation.Convex:
		return "log D is no straight line but bends upwards"
	case law.Shape() == separation.Concave:
		return "log D is no straight line but bends downwards"
	case len(law.RhoCI) != 2 || law.RhoCI[1] >= 1:
		return fmt.Sprintf("the interval of the factor ρ a step, %s, does not lie below 1", intervalCell(law.RhoCI))
	}
	return fmt.Sprintf("log D scatters too much about a line (r = %s)", cell(float64(law.Pearson)))
}

// smallShift is how far D may lie off its estimate for n to infinity and count as reliable.
const smallShift = 0.1

// reliability says whether D depends on the number of pictures.
func (a Analysis) reliability() string {
	if len(a.Warnings()) > 0 {
		return fmt.Sprintf("D is not to be relied on with these %s pictures, for the reasons above: compare it only with what was measured on equally many.", format.Thousands(a.Study.Samples))
	}
	if a.Draws == 0 {
		return "Nothing speaks against D at this number of pictures, but its error was not estimated (no bootstrap draws)."
	}
	most, name := 0.0, ""
	for _, l := range a.Study.Layers {
		if l.FuzzinessLimit == nil || !l.FuzzinessLimit.IsFinite() {
			return fmt.Sprintf("D cannot be told for more than these %s pictures: at layer %s all of its denominator may be noise.", format.Thousands(a.Study.Samples), l.Name)
		}
		if shift := math.Abs(float64(*l.FuzzinessLimit/l.Fuzziness) - 1); name == "" || shift > most {
			most, name = shift, l.Name
		}
	}
	if most <= smallShift {
		return fmt.Sprintf("D is reliable with these %s pictures: ever more of the same kind would change it by %s at most (%s).", format.Thousands(a.Study.Samples), percent(most), name)
	}
	return fmt.Sprintf("D still depends on the number of pictures: ever more than these %s would change it by %s (%s). Compare it only with what was measured on equally many.", format.Thousands(a.Study.Samples), percent(most), name)
}

// riseSentence says whether phi rises along the ascents that are walked.
func (a Analysis) riseSentence() string {
	t := a.Study.Walk
	falls, pictures, largest := 0, 0, 0.0
	for i := range t.Samples {
		fell := false
		for step := range t.Steps {
			p, q := float64(t.Phi[step][i]), float64(t.Phi[step+1][i])
			if !(p-q <= potential.RoundingAllowance(t.Dim, p, q)) {
				falls++
				fell = true
				largest = max(largest, p-q)
			}
		}
		if fell {
			pictures++
		}
	}
	if falls == 0 {
		return fmt.Sprintf("φ rises along every step of all %d pictures that are walked below.", t.Samples)
	}
	return fmt.Sprintf("φ falls in %d of the %d steps of the pictures that are walked below, in %d of %d pictures, by %s at most: the ascent overshoots.", falls, t.Samples*t.Steps, pictures, t.Samples, cell(largest))
}

func (a Analysis) layerTable(caption string, layers []separation.Layer) Table {
	t := Table{Caption: caption, Columns: []Column{{Name: "layer"}, {"dim", true}, {"D", true}, {"n → ∞", true}, {"95% interval", true}, {"Tr(SSw SSb)", true},
		{"distance", true}, {"between/within", true}, {"CDNV", true}, {"NCM", true}, {"PC 1", true}, {"PC 2", true}, {"rank", true}}}
	for _, l := range layers {
		pc := [2]string{"–", "–"}
		for i := range min(2, len(l.ExplainedVariance)) {
			pc[i] = percent(l.ExplainedVariance[i])
		}
		t.Rows = append(t.Rows, Row{Cells: []string{l.Name, fmt.Sprint(l.Dim), cell(float64(l.Fuzziness)), limitCell(l), intervalCell(l.FuzzinessCI), cell(l.FuzzinessProduct),
			cell(l.MeanDistance), cell(float64(l.BetweenWithinRatio)), cell(float64(l.ClassDistanceVariance)), percent(l.NearestMeanAccuracy), pc[0], pc[1], fmt.Sprint(l.Rank)}})
	}
	return t
}

func (a Analysis) lawTable() Table {
	t := Table{Caption: "The law of equi-separation, D ~ ρˡ", Columns: []Column{{Name: "fitted over"}, {"points", true}, {"ρ", true}, {"95% interval", true}, {"Pearson r", true}, {Name: "shape"}, {Name: "follows the law"}}}
	for _, l := range a.Laws() {
		t.Rows = append(t.Rows, Row{Cells: []string{l.Over, fmt.Sprint(l.Law.Points), cell(l.Law.Rho), intervalCell(l.Law.RhoCI), cell(float64(l.Law.Pearson)), l.Law.Shape(), l.Verdict()}})
	}
	return t
}

// NamedLaw is a law and what it was fitted over.
type NamedLaw struct {
	Over string
	Law  *separation.Law
}

// Laws returns the laws of the analysis that have a meaning. One of too few points to test has
// no interval: it would tell nothing.
func (a Analysis) Laws() []NamedLaw {
	var out []NamedLaw
	for _, l := range []NamedLaw{{"layers without logits", a.Study.Law}, {"layers with logits", a.Study.LawWithLogits}, {"ascent steps", a.Study.StepsLaw}} {
		if l.Law != nil && l.Law.Points > 2 { // two points lie on a line
			if l.Law.Points < leastPoints {
				law := *l.Law
				law.RhoCI = nil
				l.Law = &law
			}
			out = append(out, l)
		}
	}
	return out
}

// Verdict says in a word or three whether the law is followed.
func (l NamedLaw) Verdict() string {
	switch {
	case l.Law.Points < leastPoints:
		return "too few points"
	case l.Law.Follows():
		return "yes"
	}
	return "no"
}

func (a Analysis) walkText() Text {
	t := "Choose a picture and move through the steps of its ascent: the potential φ should rise, and the responsibilities r say which components pull. They are the first test picture of each class, then the first ones that are read wrongly."
	if !a.pixels() {
		t += " The features are not pixels, so that only the input can be shown; what moves are φ, r and the class that is read."
	}
	return Text(t)
}

// walk is the walk through the pictures of the study.
func (a Analysis) walk() Walk { return NewWalk(a.Model, a.Study.Walk, a.Images) }

// NewWalk returns the walk through the ascents that t has traced of some of the pictures. One
// whose ascent has left the range of float32 is left out. Where features are not pixels, a
// picture stands still.
func NewWalk(m *dpn.Model, t *study.Trace, pictures *dataset.Set) Walk {
	w := Walk{Rows: m.Rows, Cols: m.Cols, Steps: t.Steps}
	seen := m.PixelFeatures()
	for i, at := range t.Index {
		it := WalkItem{Name: fmt.Sprint("picture ", at), Label: t.Labels[i], Predicted: t.Predicted[t.Steps][i]}
		whole := true
		for step := range t.Steps + 1 {
			phi := t.Phi[step][i]
			whole = whole && phi.IsFinite()
			it.Phi = append(it.Phi, float64(phi))
			it.R = append(it.R, t.R[step][i])
			it.Read = append(it.Read, t.Predicted[step][i])
			if seen {
				it.X = append(it.X, m.Norm.Grey(t.XAt(step).Row(i)))
			}
		}
		if !seen {
			x := make([]float32, pictures.Pixels())
			for j, v := range pictures.Image(at) {
				x[j] = float32(v) / 255
			}
			it.X = [][]float32{x}
		}
		if whole {
			w.Items = append(w.Items, it)
		}
	}
	return w
}

// potentialText says where the ascents would end.
func (a Analysis) potentialText() Text {
	f := a.Study.FixedPoints
	t := fmt.Sprintf("If the ascents of the first %s went on, %s of them would stand still within %s steps (half of those within %s)",
		pictures(f.Samples), percent(f.ShareConverged), format.Thousands(f.MaxSteps), format.Thousands(f.StepsMedian))
	switch {
	case f.Converged == 0:
		t = fmt.Sprintf("If the ascents of the first %s went on, none of them would stand still within %s steps", pictures(f.Samples), format.Thousands(f.MaxSteps))
	case len(f.Points) == 1:
		t += ", all in one place"
	default:
		t += fmt.Sprintf(", in %s places; %s end in one where most have their label", format.Thousands(len(f.Points)), percent(f.Purity))
	}
	return Text(t + fmt.Sprintf(". The classifier would then read %s correctly.", percent(f.Accuracy)))
}

func pictures(n int) string {
	if n == 1 {
		return "picture"
	}
	return format.Thousands(n) + " pictures"
}

func (a Analysis) componentTable() Table {
	l := a.Study.Landscape
	order, left := a.heaviest(mostRows)
	t := Table{Caption: strings.TrimSuffix("Components by weight."+left, "."), Columns: []Column{{Name: "component"}, {"weight", true}, {"largest λ", true}, {"smallest λ", true}, {"condition", true}, {"α λ", true}}}
	moves := a.Study.Moves
	if moves != nil {
		t.Columns = append(t.Columns, Column{"centre moved by", true})
	}
	for _, i := range order {
		s := l.Spectra[i]
		cells := []string{fmt.Sprint(i), percent(l.Weights[i]), cell(s.Largest), cell(s.Smallest), cell(float64(s.Condition)), cell(s.AlphaLambda)}
		if moves != nil {
			cells = append(cells, cell(moves.Moved[i]))
		}
		t.Rows = append(t.Rows, Row{Cells: cells})
	}
	return t
}
