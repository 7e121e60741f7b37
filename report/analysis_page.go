package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/internal/format"
	"dpnbench/internal/prose"
)

// AnalysisPage returns the page of an analysis: a summary, tables, the walk and the figures,
// which are those of [Analysis.Figures].
func AnalysisPage(a Analysis, figures []AnalysisFigure) Page {
	p := Page{
		Kind:    "dpnbench analysis",
		Title:   a.text().Say("analysis title", "name", a.name()),
		Summary: a.summary(),
		Facts:   a.facts(),
	}
	for _, w := range a.Warnings() {
		p.Warnings = append(p.Warnings, strings.ToUpper(w[:1])+w[1:]+".")
	}
	add := func(part string, blocks ...Block) {
		p.Sections = append(p.Sections, Section{Title: a.text().Say(part), Blocks: blocks})
	}
	p.First, figures = first(figures, "layers")
	add(partClasses, slices.Concat([]Block{a.classesText()},
		Beside([]Block{a.classTable()}, figureBlocks(figures, partClasses)))...)
	numbers := []Block{layerTable("Layers", a.ownLayers()), lawTable(a.Laws())}
	numbers = append(numbers, Fold(columnsText, Text(a.text().Say("numbers", "what", a.samples())))...)
	add(partSeparation, append(numbers, figureBlocks(figures, partSeparation)...)...)
	add(partPaths, append(a.walkBlocks(), figureBlocks(figures, partPaths)...)...)
	var potential []Block
	if a.ascends() {
		potential = append(potential, a.potentialText())
	}
	potential = append(potential, figureBlocks(figures, partPotential)...)
	add(partPotential, append(potential, a.componentBlocks()...)...)
	if a.ascends() {
		add("part steps", Text(a.text().Say("numbers of steps")), layerTable("Steps", a.Study.Steps))
	}
	return p
}

// columnsText is the summary of what is folded below a table.
const columnsText = "What the columns mean"

// first returns the figure of a name, if there is one, to stand beside the summary, and the others.
func first(figures []AnalysisFigure, name string) (Figures, []AnalysisFigure) {
	at := slices.IndexFunc(figures, func(f AnalysisFigure) bool { return f.Name == name && f.Missing == nil })
	if at < 0 {
		return nil, figures
	}
	return Figures{figures[at].Shown}, slices.Delete(slices.Clone(figures), at, at+1)
}

// walkBlocks are the walk with its introduction, or the reason why there is none.
func (a Analysis) walkBlocks() []Block {
	if !a.ascends() {
		return []Block{Text(a.text().Say("no ascent"))}
	}
	if !a.Model.Shape.IsImage() {
		return []Block{Text(text.Say("no walk of vectors", "shape", a.Model.Shape))}
	}
	w := a.walk()
	if err := w.check(); err != nil {
		return []Block{Text(a.text().Say("no walk", "reason", err))}
	}
	return []Block{Text(a.text().Say("walk", "pixels", a.pixels())), w}
}

// Warnings say which classes lack images, why D is not reliable, and what its intervals are for.
func (a Analysis) Warnings() []string {
	out := a.fuzzinessWarnings()
	if note := separation.OrderNote(slices.Concat(a.Study.Layers, a.Study.Steps)); note != "" {
		out = append(out, note)
	}
	if gaps := a.Study.ByClass.Gaps("test " + a.sample()); gaps != "" {
		out = append([]string{gaps}, out...)
	}
	return out
}

// fuzzinessWarnings are for the layers, then for the steps between the first and the last one, which are
// layers themselves.
func (a Analysis) fuzzinessWarnings() []string {
	out := separation.Warnings(a.Study.Layers)
	if n := len(a.Study.Steps); n > 2 {
		out = append(out, separation.Warnings(a.Study.Steps[1:n-1])...)
	}
	return out
}

// figureBlocks are the figures of one part, and the reasons why others are missing.
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
	for i := range mine {
		mine[i].Name = cmp.Or(figureWords[mine[i].Name], mine[i].Name)
	}
	if missing := MissingFigures(mine); len(missing) > 0 {
		out = append(out, List(missing))
	}
	return out
}

// figureWords are what a page calls figures that it leaves out; their names are those of files.
var figureWords = map[string]string{
	"confusion": "the confusion matrix", "layers": "D over the layers", "steps": "D over the ascent steps",
	"curve": "D over the number of samples", "weights": "weights of the components",
	"pca": "principal components", "strips": "steps of the ascent",
	"paths": "trajectories", "spectra": "eigenvalues", "centres": "the centres",
	"variance": "variance of each pixel", "moves": "centres before and after training",
	"work": "active components", "loads": "the load of each layer", "epochs": "D over the epochs",
	"roc-unknown": "ROC curves", "examples": "examples of each kind",
}

// MissingFigures returns a sentence for each reason why figures are missing.
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
		reasons[i] = text.Say("figure missing", "names", names[reason], "reason", reason)
	}
	return reasons
}

// cell prints a number for a table.
func cell(v float64) string { return prose.Num(v) }

// percent prints a share.
func percent(v float64) string { return format.Percent(v, 1) }

// intervalCell prints an interval, or a dash.
func intervalCell(ci []separation.Float, number func(float64) string) string {
	if len(ci) != 2 {
		return "–"
	}
	return number(float64(ci[0])) + " to " + number(float64(ci[1]))
}

// limitCell prints the estimate of D for N → ∞, or a dash.
func limitCell(l separation.Layer) string {
	if l.FuzzinessLimit == nil {
		return "–"
	}
	return cell(float64(*l.FuzzinessLimit))
}

func (a Analysis) facts() []Fact {
	m, c := a.Model, a.Model.Config
	draws := "no intervals, "
	if a.Draws > 0 {
		draws = fmt.Sprintf("%s bootstrap resamples, ", format.Thousands(a.Draws))
	}
	subsets := "no curve of D over n"
	if a.Subsets > 0 {
		subsets = fmt.Sprintf("%d subsets of each size, seed %d", a.Subsets, a.Seed)
	}
	gradient := c.Gradient
	if gradient == dpn.GradientDetached {
		gradient = "detached: the potential was not trained"
	}
	return []Fact{
		{"Data", dataFact(m, a.Data, a.Study.Samples)},
		{"Preset", fmt.Sprintf("%s, %s parameters", c.Preset, format.Thousands(m.Parameters()))},
		{"Features", featuresFact(m)},
		{"Potential", fmt.Sprintf("k = %d components, precisions %s", c.Components, formFact(c))},
		{"Ascent", fmt.Sprintf("n = %s, α = %s", format.Count(c.Steps, "step"),
			format.Significant(float64(m.Potential().Alpha())))},
		{"Gradient", gradient},
		{"Statistics", draws + subsets},
		{"Machine", machineFact(a.Tier, a.Threads)},
		{"Weights (SHA-256)", m.WeightsSHA256()},
	}
}

func dataFact(m *dpn.Model, name string, samples int) string {
	return fmt.Sprintf("%s, %s test %s of %s in %d classes", name, format.Thousands(samples), m.Shape.Samples(),
		strings.TrimSuffix(strings.Replace(m.Shape.String(), " x ", " × ", 1), " grey"), len(m.Classes))
}

func featuresFact(m *dpn.Model) string {
	c := m.Config
	features := "pixels"
	switch c.Extractor {
	case "identity":
		if !m.Shape.IsImage() {
			features = "the input"
		}
	case "conv", "conv3":
		features = fmt.Sprintf("%d from convolutions", m.Dim())
	default:
		features = fmt.Sprintf("%d from %s layers", m.Dim(), c.Extractor)
	}
	if c.LayerNorm {
		features += ", normalised"
	}
	return features
}

func formFact(c dpn.Config) string {
	if potential.FormOf(c.Form).Ranked {
		return fmt.Sprintf("%s, rank %d", c.Form, c.Rank)
	}
	return c.Form
}

func machineFact(tier string, threads int) string {
	return fmt.Sprintf("%s kernels, %s; every number is the same on other tiers and threads", tier,
		format.Count(threads, "thread"))
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
		a.text().Say("accuracy", "accuracy", s.Accuracy, "samples", s.Samples, "wrong", s.Wrong,
			"uneven", s.ByClass.Uneven(), "balanced", s.ByClass.Balanced),
		a.fuzzinessSentence(),
	}
	if a.ascends() {
		out = append(out, a.stepsSentence())
	}
	out = append(out, a.reliability())
	if effective := a.carriers(); effective < unevenWeights*float64(s.Landscape.Components) {
		out = append(out, a.text().Say("carriers", "effective", effective, "components", s.Landscape.Components,
			"heaviest", s.Landscape.Weights[s.Landscape.Order[0]]))
	}
	if !a.ascends() {
		return out
	}
	if size := s.Landscape.Alpha * s.Landscape.LambdaMax; size > 2 {
		out = append(out, a.text().Say("step size unsafe", "size", size))
	}
	if falls := a.fallSentence(); falls != "" {
		out = append(out, falls)
	}
	return out
}

// unevenWeights is the share of the components below which their effective number is worth a sentence.
const unevenWeights = 0.8

// fuzzinessSentence gives D at the input, in the features and after denoising.
func (a Analysis) fuzzinessSentence() string {
	var features, limit any
	if !a.Model.InputFeatures() {
		features = a.layer("features").Fuzziness
	}
	l := a.layer("denoised")
	if l.FuzzinessLimit != nil && l.FuzzinessLimit.IsFinite() {
		limit = *l.FuzzinessLimit
	}
	return a.text().Say("fuzziness", "input", a.layer("input").Fuzziness, "features", features,
		"denoised", l.Fuzziness, "limit", limit, "ci", l.FuzzinessCI)
}

// smallChange is the share of D by which an ascent that hardly changes it may change it: less than the sampling
// noise of thousands of images.
const smallChange = 0.01

// stepsSentence says whether D falls at every step, and whether it follows the law.
func (a Analysis) stepsSentence() string {
	s := a.Study
	falls, n := 0, len(s.Steps)-1
	var change float64 // the largest, relative
	for t := range n {
		change = max(change, math.Abs(float64(s.Steps[t+1].Fuzziness/s.Steps[0].Fuzziness)-1))
		if s.Steps[t+1].Fuzziness < s.Steps[t].Fuzziness {
			falls++
		}
	}
	fall := a.text().Say("steps fall", "falls", falls, "steps", n)
	law := s.StepsLaw
	switch {
	case change < smallChange: // no if one is not a number
		return a.text().Say("steps hardly change", "steps", n, "factor",
			s.Steps[n].Fuzziness/s.Steps[0].Fuzziness)
	case law == nil:
		return a.text().Say("steps without logarithm", "fall", fall)
	case law.Points < leastPoints:
		return a.text().Say("steps too few", "fall", fall)
	case law.Follows():
		return a.text().Say("steps follow", "fall", fall, "rho", law.Rho, "ci", law.RhoCI)
	}
	return a.text().Say("steps do not follow", "fall", fall, "falls", falls, "fault", lawFault(law, "step", falls == n))
}

// aboveOne says whether the whole interval of rho is above 1.
func aboveOne(law *separation.Law) bool { return len(law.RhoCI) == 2 && law.RhoCI[0] > 1 }

// lawFault says why a law is not followed by the values of D at each unit, a layer or a step. falling is set if D falls
// at every one.
func lawFault(law *separation.Law, unit string, falling bool) string {
	switch {
	case law.Shape() == separation.Convex && falling:
		return text.Say("fault slower", "unit", unit)
	case law.Shape() == separation.Convex:
		return text.Say("fault upwards", "unit", unit)
	case law.Shape() == separation.Concave:
		return text.Say("fault downwards", "unit", unit)
	case len(law.RhoCI) != 2 || law.RhoCI[1] >= 1:
		return text.Say("fault interval", "unit", unit, "ci", law.RhoCI, "above", aboveOne(law))
	}
	return text.Say("fault scatter", "r", law.Pearson)
}

// smallShift is the largest relative distance of D to its estimate for N → ∞ that counts as
// reliable.
const smallShift = 0.1

// reliability says whether D depends on the number of images.
func (a Analysis) reliability() string {
	n := a.Study.Samples
	if len(a.fuzzinessWarnings()) > 0 {
		return a.text().Say("D unreliable", "samples", n)
	}
	if a.Draws == 0 {
		return a.text().Say("D without error")
	}
	most, name := 0.0, ""
	for _, l := range a.Study.Layers {
		if l.FuzzinessLimit == nil || !l.FuzzinessLimit.IsFinite() {
			return a.text().Say("D without limit", "samples", n, "layer", l.Name)
		}
		if shift := math.Abs(float64(*l.FuzzinessLimit/l.Fuzziness) - 1); name == "" || shift > most {
			most, name = shift, l.Name
		}
	}
	if most <= smallShift {
		return a.text().Say("D reliable", "samples", n, "shift", most, "layer", name)
	}
	return a.text().Say("D depends", "samples", n, "shift", most, "layer", name)
}

// fallSentence says where φ falls along the ascents of the walk, "" if it rises everywhere.
func (a Analysis) fallSentence() string {
	t := a.Study.Walk
	falls, images, largest := 0, 0, 0.0
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
			images++
		}
	}
	if falls == 0 {
		return ""
	}
	return a.text().Say("falls", "falls", falls, "steps", t.Samples*t.Steps, "images", images, "samples", t.Samples,
		"largest", largest)
}

func layerTable(caption string, layers []separation.Layer) Table {
	t := Table{Caption: caption, Columns: []Column{{Name: "layer"}, {"dim", true}, {"D", true}, {"N → ∞", true},
		{"95% interval", true}, {"Tr(SSw SSb)", true}, {"distance", true}, {"between/within", true}, {"CDNV", true},
		{"NCM", true}, {"PC 1", true}, {"PC 2", true}, {"rank", true}}}
	for _, l := range layers {
		pc := [2]string{"–", "–"}
		for i := range min(2, len(l.ExplainedVariance)) {
			pc[i] = percent(l.ExplainedVariance[i])
		}
		t.Rows = append(t.Rows, Row{Cells: []string{
			l.Name, fmt.Sprint(l.Dim), cell(float64(l.Fuzziness)), limitCell(l), intervalCell(l.FuzzinessCI, cell),
			cell(l.FuzzinessProduct), cell(l.MeanDistance), cell(float64(l.BetweenWithinRatio)),
			cell(float64(l.ClassDistanceVariance)), percent(l.NearestMeanAccuracy), pc[0], pc[1], fmt.Sprint(l.Rank),
		}})
	}
	return t
}

func lawTable(laws []NamedLaw) Table {
	t := Table{Caption: text.Say("law table"), Columns: []Column{{Name: "fitted over"}, {"points", true}, {"ρ", true},
		{"95% interval", true}, {"Pearson r", true}, {Name: "shape"}, {Name: "follows the law"}}}
	for _, l := range laws {
		t.Rows = append(t.Rows, Row{Cells: []string{
			l.Over, fmt.Sprint(l.Law.Points), format.Factor(l.Law.Rho), intervalCell(l.Law.RhoCI, format.Factor),
			cell(float64(l.Law.Pearson)), l.Law.Shape(), l.reasoned(),
		}})
	}
	return t
}

// NamedLaw is a law and what it was fitted over.
type NamedLaw struct {
	Over string
	Law  *separation.Law
}

// Laws returns the laws fitted to at least three points. Those of too few points for a test
// have no interval.
func (a Analysis) Laws() []NamedLaw {
	return testable(NamedLaw{"layers without logits", a.Study.Law},
		NamedLaw{"layers with logits", a.Study.LawWithLogits}, NamedLaw{"ascent steps", a.Study.StepsLaw})
}

func testable(laws ...NamedLaw) (out []NamedLaw) {
	for _, l := range laws {
		if l.Law != nil && l.Law.Points > 2 { // any two points are on a line
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

// Verdict is "yes", "no" or "too few points".
func (l NamedLaw) Verdict() string {
	switch {
	case l.Law.Points < leastPoints:
		return "too few points"
	case l.Law.Follows():
		return "yes"
	}
	return "no"
}

// reasoned is the verdict, and why it is no.
func (l NamedLaw) reasoned() string {
	verdict := l.Verdict()
	switch {
	case verdict != "no":
		return verdict
	case l.Law.Shape() == separation.Convex, l.Law.Shape() == separation.Concave:
		return text.Say("law bends")
	case len(l.Law.RhoCI) != 2 || l.Law.RhoCI[1] >= 1:
		return text.Say("law may not fall", "above", aboveOne(l.Law))
	}
	return text.Say("law scatters")
}

// walk is the walk through the ascents that the study traced.
func (a Analysis) walk() Walk { return NewWalk(a.Model, a.Study.Walk, a.Images) }

// NewWalk returns the walk through the ascents that t traced of some of the images. An ascent
// that left the range of float32 is left out. If features are not pixels, every step shows the
// input.
func NewWalk(m *dpn.Model, t *study.Trace, images *dataset.Set) Walk {
	w := Walk{Rows: m.Shape.Rows, Cols: m.Shape.Cols, Steps: t.Steps}
	seen := m.PixelFeatures()
	for i, at := range t.Index {
		it := WalkItem{Name: fmt.Sprint("image ", at), Label: m.Classes[t.Labels[i]],
			Predicted: m.Classes[t.Predicted[t.Steps][i]]}
		whole := true
		for step := range t.Steps + 1 {
			phi := t.Phi[step][i]
			whole = whole && phi.IsFinite()
			it.Phi = append(it.Phi, float64(phi))
			it.R = append(it.R, t.R[step][i])
			it.Read = append(it.Read, format.Printable(m.Classes[t.Predicted[step][i]]))
			if seen {
				it.X = append(it.X, m.Shape.Visible(m.Norm.Undo(t.XAt(step).Row(i))))
			}
		}
		if !seen {
			x := make([]float32, images.Shape.Len())
			images.Floats(x, []int32{int32(at)})
			it.X = [][]float32{m.Shape.Visible(x)}
		}
		if whole {
			w.Items = append(w.Items, it)
		}
	}
	return w
}

// potentialText says where the ascents would converge.
func (a Analysis) potentialText() Text {
	f := a.Study.FixedPoints
	return Text(a.text().Say("stands still", "samples", f.Samples, "converged", f.Converged, "share", f.ShareConverged,
		"steps", f.MaxSteps, "median", f.StepsMedian, "points", len(f.Points), "purity", f.Purity, "accuracy",
		f.Accuracy))
}

// componentBlocks are the table of the components, without the numbers that are the same for all, and those.
func (a Analysis) componentBlocks() []Block {
	l := a.Study.Landscape
	order, left := a.heaviest(mostRows)
	t := Table{Columns: []Column{{Name: "component"}, {"weight", true}, {"largest λ", true}, {"smallest λ", true},
		{"condition", true}, {"α λ", true}}}
	_, alike := a.shares()
	t.Caption = a.text().Say("component table", "alike", alike != "")
	if left != "" {
		t.Caption += ". " + strings.TrimSuffix(left, ".")
	}
	moves := a.Study.Moves
	if moves != nil {
		t.Columns = append(t.Columns, Column{"centre moved by", true})
	}
	for _, i := range order {
		s := l.Spectra[i]
		cells := []string{
			fmt.Sprint(i), percent(l.Weights[i]), cell(s.Largest), cell(s.Smallest),
			cell(float64(s.Condition)), cell(s.AlphaLambda),
		}
		if moves != nil {
			cells = append(cells, cell(moves.Moved[i]))
		}
		t.Rows = append(t.Rows, Row{Cells: cells})
	}
	var same []string
	if len(t.Rows) > 1 {
		same = t.dropConstant()
	}
	var out []Block
	if len(same) > 0 {
		out = append(out, Text(a.text().Say("components alike", "numbers", same)))
	}
	if len(t.Columns) > 1 {
		out = append(out, Fold(t.Caption, t)...)
	}
	return out
}

// dropEmpty removes the columns in which nothing was measured.
func (t *Table) dropEmpty() {
	for j := len(t.Columns) - 1; j > 0; j-- {
		if !slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[j] != "–" }) {
			t.drop(j)
		}
	}
}

// drop removes a column.
func (t *Table) drop(j int) {
	t.Columns = slices.Delete(t.Columns, j, j+1)
	for i := range t.Rows {
		t.Rows[i].Cells = slices.Delete(t.Rows[i].Cells, j, j+1)
	}
}

// dropConstant removes the columns, but for the first one, whose cells are all the same, and returns their names
// and values.
func (t *Table) dropConstant() (same []string) {
	for j := len(t.Columns) - 1; j > 0; j-- {
		value := t.Rows[0].Cells[j]
		if slices.ContainsFunc(t.Rows, func(r Row) bool { return r.Cells[j] != value }) {
			continue
		}
		same = append(same, t.Columns[j].Name+" "+value)
		t.drop(j)
	}
	slices.Reverse(same)
	return same
}
