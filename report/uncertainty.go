package report

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/study"
	"dpnbench/dpn/uncertainty"
	"dpnbench/internal/format"
	"dpnbench/internal/stat"
	"dpnbench/plot"
)

// Uncertainty is what was measured of the scores of a model, for the figures and the page.
type Uncertainty struct {
	Model  *dpn.Model
	Study  *study.UncertaintyStudy
	Images *dataset.Set // the test images measured

	Data    string // name of the test images, or their folder
	Tier    string // of kernels
	Threads int
	Seed    uint64 // of the noise
}

// Parts of the page that have figures, by the names of their titles.
const (
	partUnknown       = "part unknown"
	partMisclassified = "part misclassified"
	partCalibration   = "part calibration"
)

// Limits of the figures.
const (
	mostROCPoints = 400
	exampleRow    = 11   // images of each kind
	hardAUROC     = 0.85 // below it a set counts as hard to detect
	perfectAUROC  = 0.9995
)

func (u Uncertainty) name() string { return Analysis{Model: u.Model, Data: u.Data}.name() }

// score returns the index of the score of a name.
func (u Uncertainty) score(name string) int {
	for i, s := range u.Study.Scores {
		if s.Name == name {
			return i
		}
	}
	return 0
}

// unknownTasks are the tasks with images of other kinds.
func (u Uncertainty) unknownTasks() []study.UncertaintyTask {
	t := u.Study.Tasks
	if u.misclassified() != nil {
		t = t[:len(t)-1]
	}
	return t
}

// misclassified is the task of misclassified test images, or nil.
func (u Uncertainty) misclassified() *study.UncertaintyTask {
	if t := u.Study.Tasks; len(t) > 0 && t[len(t)-1].Name == study.MisclassifiedTask {
		return &t[len(t)-1]
	}
	return nil
}

// Summary says which score to use for which purpose, and how good it is.
func (u Uncertainty) Summary() []string {
	s := u.Study
	out := []string{u.unknownSentence()}
	if hard := u.hardSentence(); hard != "" {
		out = append(out, hard)
	}
	if u.misclassified() != nil {
		out = append(out, u.misclassifiedSentence())
	} else {
		out = append(out, u.text().Say("none misclassified", "wrong", s.Wrong, "samples", s.Samples))
	}
	if s.ChosenOn == "test" {
		out = append(out, u.text().Say("chosen on test"))
	}
	return append(out, u.calibrationSentence())
}

// unknownSentence says which score to use for unknown images, and the threshold.
func (u Uncertainty) unknownSentence() string {
	at := u.score(u.Study.Advice.Unknown)
	kind := u.Study.Scores[at]
	var auroc, accepted []string
	for _, t := range u.unknownTasks() {
		auroc = append(auroc, fmt.Sprintf("%s (%s)", format.Number(t.Scores[at].AUROC, 3), t.Name))
		accepted = append(accepted, fmt.Sprintf("%s (%s)", percent(t.Scores[at].FPR), t.Name))
	}
	limit, rejected := threshold(&u.unknownTasks()[0], at, kind.Falls)
	return u.text().Say("unknown advice", "score", kind.Name, "meaning", kind.Meaning, "auroc", auroc,
		"threshold", limit, "rejected", rejected, "side", side(kind), "accepted", accepted)
}

// threshold prints the threshold of a score, "" if it is infinite, and returns the share of the known images that it
// rejects. It has three significant digits, or more where with these it would reject another share.
func threshold(t *study.UncertaintyTask, score int, falls bool) (text string, rejected float64) {
	limit := float64(t.Scores[score].Limit)
	if math.IsInf(limit, 0) {
		return "", 0
	}
	share := func(v float64) float64 {
		if falls {
			v = -v
		}
		n := 0
		for _, known := range t.Accepted[score] {
			if known < v {
				n++
			}
		}
		return float64(n) / float64(t.Known)
	}
	rejected = share(limit)
	for digits := 3; ; digits++ { // 17 print it exactly
		text = format.Digits(limit, digits)
		v, err := strconv.ParseFloat(strings.Replace(text, "−", "-", 1), 64)
		if err == nil && percent(share(v)) == percent(rejected) || digits == 17 {
			return text, rejected
		}
	}
}

// falling are the names of the scores that are lower the better an image is known.
func (u Uncertainty) falling() []string {
	var names []string
	for _, s := range u.Study.Scores {
		if s.Falls {
			names = append(names, s.Name)
		}
	}
	return names
}

// formula is the name of a score and its definition.
func formula(s study.ConfidenceScore) string { return s.Name + " = " + s.Symbol }

// side says on which side of the threshold unknown images are.
func side(s study.ConfidenceScore) string {
	if s.Falls {
		return "above"
	}
	return "below"
}

// hardSentence names the sets that no score detects well, if there are any.
func (u Uncertainty) hardSentence() string {
	var hard []string
	for _, t := range u.unknownTasks() {
		best := t.Scores[t.Best()]
		if best.AUROC < hardAUROC {
			name := u.Study.Scores[t.Best()].Name
			hard = append(hard, fmt.Sprintf("%s (best: “%s”, AUROC %s)", t.Name, name,
				format.Number(best.AUROC, 3)))
		}
	}
	if len(hard) == 0 {
		return ""
	}
	return u.text().Say("hard", "sets", hard)
}

// misclassifiedSentence says which score to use for misclassified images, and whether another
// one would have been better.
func (u Uncertainty) misclassifiedSentence() string {
	t, at := u.misclassified(), u.score(u.Study.Advice.Misclassified)
	kind, d := u.Study.Scores[at], t.Scores[at]
	best, better := t.Best(), ""
	if best != at {
		better = u.Study.Scores[best].Name
	}
	b := t.Scores[best]
	chosen := u.Study.MisclassifiedChosenOn
	return u.text().Say("misclassified advice", "wrong", u.Study.Wrong, "samples", u.Study.Samples,
		"score", kind.Name, "meaning", kind.Meaning, "auroc", d.AUROC, "ci", shareInterval(d.AUROCCI, 3),
		"chosen", chosen, "allRight", u.validated() && chosen == "test",
		"better", better, "betterAUROC", b.AUROC, "betterCI", shareInterval(b.AUROCCI, 3))
}

// aboutRight is the verdict on a mean confidence that agrees with the accuracy.
const aboutRight = "about right"

// aboveChance says whether the expected calibration error is more than two standard deviations above that of perfect
// calibration: errors of bins cancel each other in the mean.
func aboveChance(c *uncertainty.Calibration) bool {
	square := 0.0
	for _, b := range c.Reliability {
		square += (1 - 2/math.Pi) * float64(b.Samples) * b.Confidence * (1 - b.Confidence) // variance of |N(0, ...)|
	}
	return !(c.ECE <= c.ECEChance+2*math.Sqrt(square)/float64(c.Samples))
}

// calibrationSentence compares confidence with accuracy. A difference that chance explains, because the confidence lies
// in the 95% interval of the accuracy, is none.
func (u Uncertainty) calibrationSentence() string {
	c := u.Study.Calibration
	var after, temperature any
	validation := 0
	if c.After != nil {
		after, temperature, validation = c.After.ECE, c.Temperature.T, c.Temperature.Samples
	}
	b, verdict := c.Before, aboutRight
	switch low, high := stat.Wilson(b.Accuracy, b.Samples); {
	case b.Confidence < low:
		verdict = "too low"
	case b.Confidence > high:
		verdict = "too high"
	}
	return u.text().Say("calibration", "verdict", verdict, "confidence", b.Confidence, "accuracy", b.Accuracy,
		"cancels", verdict == aboutRight && aboveChance(b),
		"helps", c.After != nil && c.After.ECE < b.ECE, "untempered", u.untempered(),
		"ece", b.ECE, "chance", b.ECEChance, "after", after, "temperature", temperature, "validation", validation)
}

// validated says whether there were validation images.
func (u Uncertainty) validated() bool { return u.Study.ChosenOn == "validation" }

// untempered says why no temperature was fitted, if none was.
func (u Uncertainty) untempered() string {
	return u.text().Say("untempered", "validated", u.validated())
}

// precise prints a share that may be far below 1%.
func precise(v float64) string { return format.Percent(v, 2) }

// shareInterval prints an interval of shares.
func shareInterval(ci [2]float64, decimals int) string {
	return format.Number(ci[0], decimals) + " to " + format.Number(ci[1], decimals)
}

// Figures returns all figures in the order of the page.
func (u Uncertainty) Figures() []AnalysisFigure {
	var out []AnalysisFigure
	for _, t := range u.unknownTasks() {
		out = append(out, newFigure("histogram-"+t.Name, partUnknown, func() (Shown, error) {
			return u.histogram(&t, u.Study.Advice.Unknown, t.Name)
		}))
	}
	out = append(out, newFigure("roc-unknown", partUnknown, u.rocUnknown),
		newFigure("examples", partUnknown, u.examples))
	if t := u.misclassified(); t != nil {
		out = append(out,
			newFigure("histogram-misclassified", partMisclassified, func() (Shown, error) {
				return u.histogram(t, u.Study.Advice.Misclassified, "misclassified")
			}),
			newFigure("roc-misclassified", partMisclassified, func() (Shown, error) { return u.rocMisclassified(t) }))
	}
	return append(out, newFigure("reliability", partCalibration, u.reliability))
}

// units of the scores that have one.
var scoreUnits = map[string]string{
	"entropy_0": " (H in nats)", "entropy_n": " (H in nats)", "displacement": " (units of the features)",
	"softmax": " (probability)",
}

// histogram shows one score of known and unknown images.
func (u Uncertainty) histogram(t *study.UncertaintyTask, score, unknown string) (Shown, error) {
	at := u.score(score)
	kind, d := u.Study.Scores[at], t.Scores[at]
	known := "test " + u.samples()
	threshold := "accepts 95% of the " + known
	what := fmt.Sprintf("%s (%s)", unknown, t.Meaning)
	if t.Name == study.MisclassifiedTask {
		known, threshold, what = "correctly classified", "accepts 95% of the correctly classified", unknown
	}
	f := plot.Histogram{
		Title: u.text().Say("histogram title", "score", kind.Name, "known", known, "unknown", unknown, "name",
			u.name()),
		X: kind.Name + scoreUnits[kind.Name],
		Samples: []plot.Sample{
			{Name: known, Values: raw(kind, t.Accepted[at])}, {Name: unknown, Values: raw(kind, t.Refused[at])},
		},
	}
	if d.Limit.IsFinite() {
		f.Mark = &plot.Level{Name: threshold, Y: float64(d.Limit)}
	}
	return Shown{Figure: f,
		Caption: u.text().Say("histogram caption", "score", kind.Name, "formula", kind.Symbol, "known", known,
			"unknown", what, "auroc", d.AUROC, "fpr", d.FPR)}, nil
}

// raw returns the scores themselves: those that fall with confidence are stored negated.
func raw(kind study.ConfidenceScore, known []float64) []float64 {
	if !kind.Falls {
		return known
	}
	out := make([]float64, len(known))
	for i, v := range known {
		out[i] = -v
	}
	return out
}

// curve is an ROC curve as a series.
func curve(name string, colour int, known, unknown []float64) (plot.Series, error) {
	roc, err := uncertainty.ROC(known, unknown, mostROCPoints)
	if err != nil {
		return plot.Series{}, err
	}
	s := plot.Series{Name: name, Colour: colour, Dash: colour, Curve: true}
	for _, p := range roc {
		s.Points = append(s.Points, plot.Point{X: 100 * p.FPR, Y: 100 * p.TPR})
	}
	return s, nil
}

// diagonal is the ROC curve of a guess, and the reliability of perfect calibration.
func diagonal(name string) plot.Series {
	return plot.Series{Name: name, Reference: true, Points: []plot.Point{{}, {X: 100, Y: 100}}}
}

func (u Uncertainty) rocUnknown() (Shown, error) {
	at := u.score(u.Study.Advice.Unknown)
	kind := u.Study.Scores[at]
	f := plot.Lines{
		Title: u.text().Say("roc title", "score", kind.Name, "name", u.name()), X: u.text().Say("roc x"),
		Y:       u.text().Say("roc y"),
		LinearX: true, From: 0, To: 100, Series: []plot.Series{diagonal("chance")},
	}
	least := 1.0
	for i, t := range u.unknownTasks() {
		least = min(least, t.Scores[at].AUROC)
		s, err := curve(fmt.Sprintf("%s (%s)", t.Name, format.Number(t.Scores[at].AUROC, 3)), i, t.Accepted[at],
			t.Refused[at])
		if err != nil {
			return Shown{}, err
		}
		f.Series = append(f.Series, s)
	}
	if least > perfectAUROC {
		return Shown{}, errors.New(u.text().Say("roc perfect", "score", kind.Name))
	}
	return Shown{Figure: f, Caption: u.text().Say("roc caption", "score", kind.Name)}, nil
}

func (u Uncertainty) rocMisclassified(t *study.UncertaintyTask) (Shown, error) {
	f := plot.Lines{
		Title: u.text().Say("misclassified roc title", "name", u.name()),
		X:     u.text().Say("misclassified roc x"), Y: u.text().Say("misclassified roc y"),
		LinearX: true, From: 0, To: 100, Series: []plot.Series{diagonal("chance")},
	}
	for i, kind := range u.Study.Scores {
		s, err := curve(fmt.Sprintf("%s (%s)", kind.Name, format.Number(t.Scores[i].AUROC, 3)), i, t.Accepted[i],
			t.Refused[i])
		if err != nil {
			return Shown{}, err
		}
		f.Series = append(f.Series, s)
	}
	return Shown{Figure: f,
		Caption: u.text().Say("misclassified roc caption", "images", t.Unknown)}, nil
}

// examples shows the first images of each kind.
func (u Uncertainty) examples() (Shown, error) {
	if !u.Model.Shape.IsImage() {
		return Shown{}, errors.New("they need images")
	}
	at, softmax := u.score(u.Study.Advice.Unknown), u.score("softmax")
	kind := u.Study.Scores[at]
	g := plot.Gallery{Title: u.text().Say("examples title", "name", u.name()), Rows: u.Model.Shape.Rows,
		Cols:  u.Model.Shape.Cols,
		Scale: levels, PerRow: min(exampleRow, u.Images.Len())}
	rows := []string{"test images"}
	err := addExamples(&g, study.Unknown{Images: u.Images}, u.Study.Known.Values[at], u.Study.Known.Values[softmax])
	for i, t := range u.unknownTasks() {
		if err == nil {
			err = addExamples(&g, u.Study.Unknown[i], raw(kind, t.Refused[at]), t.Refused[softmax])
			rows = append(rows, t.Name)
		}
	}
	g.Groups = rows
	return Shown{Figure: g, Wide: true,
		Caption: u.text().Say("examples caption", "score", kind.Name)}, err
}

// addExamples adds a row of images with their score and largest softmax.
func addExamples(g *plot.Gallery, x study.Unknown, score, largest []float64) error {
	pixels := x.Images.Shape.Len()
	n := min(g.PerRow, x.Images.Len())
	x0, index := make([]float32, n*pixels), make([]int32, n)
	for i := range index {
		index[i] = int32(i)
	}
	if x.Corruption.Name == "" {
		x.Images.Floats(x0, index)
	} else if err := x.Corruption.Floats(x0, x.Images, index, 0); err != nil {
		return err
	}
	for i := range g.PerRow {
		var p plot.Image // empty where there are no more
		if i < n {
			p.X = [][]float32{x.Images.Visible(x0[i*pixels : (i+1)*pixels])}
			p.Caption = fmt.Sprintf("%s, %s", format.Significant(score[i]), format.Percent(largest[i], 0))
		}
		g.Images = append(g.Images, p)
	}
	return nil
}

func (u Uncertainty) reliability() (Shown, error) {
	c := u.Study.Calibration
	f := plot.Lines{
		Title: u.text().Say("reliability title", "name", u.name()),
		Note:  u.text().Say("reliability note", "bins", uncertainty.Bins),
		X:     "mean largest softmax of a bin (%)", Y: "correct (%)", LinearX: true, From: 0, To: 100,
		Series: []plot.Series{diagonal("perfect calibration"), bins("unscaled", 0, c.Before)},
	}
	if c.After != nil {
		f.Series = append(f.Series, bins("temperature "+format.Significant(c.Temperature.T), 1, c.After))
	}
	return Shown{Figure: f, Caption: u.text().Say("reliability caption")}, nil
}

// bins is a reliability diagram as a series.
func bins(name string, colour int, c *uncertainty.Calibration) plot.Series {
	s := plot.Series{Name: name, Colour: colour, Dash: colour}
	for _, b := range c.Reliability {
		s.Points = append(s.Points, plot.Point{
			X: 100 * b.Confidence, Y: 100 * b.Accuracy, Low: 100 * b.AccuracyCI[0], High: 100 * b.AccuracyCI[1],
		})
	}
	return s
}

// UncertaintyPage returns the page: a summary, tables and the figures, which are those of
// [Uncertainty.Figures].
func UncertaintyPage(u Uncertainty, figures []AnalysisFigure) Page {
	p := Page{
		Kind:    "dpnbench uncertainty",
		Title:   u.text().Say("uncertainty title", "name", u.name()),
		Summary: u.Summary(),
		Facts:   u.facts(),
	}
	if tasks := u.unknownTasks(); len(tasks) > 0 {
		p.First, figures = first(figures, "histogram-"+tasks[len(tasks)-1].Name)
	}
	add := func(part string, blocks ...Block) {
		p.Sections = append(p.Sections, Section{Title: u.text().Say(part), Blocks: blocks})
	}
	misclassified := u.text().Say("misclassified")
	if u.misclassified() == nil {
		misclassified = u.text().Say("nothing misclassified", "wrong", u.Study.Wrong, "samples", u.Study.Samples)
	}
	auroc := u.scoreTable("AUROC", func(d study.ScoreDetection) string { return format.Number(d.AUROC, 3) })
	fpr := u.scoreTable(u.text().Say("fpr table"), func(d study.ScoreDetection) string { return percent(d.FPR) })
	add(partUnknown, append([]Block{Text(u.text().Say("scores", "falling", u.falling()))},
		append(Beside([]Block{auroc}, []Block{fpr}), figureBlocks(figures, partUnknown)...)...)...)
	add(partMisclassified, append([]Block{Text(misclassified)}, figureBlocks(figures, partMisclassified)...)...)
	add(partCalibration, append([]Block{Text(u.text().Say("calibration method")), u.calibrationTable()},
		Beside([]Block{u.binTable()}, figureBlocks(figures, partCalibration))...)...)
	add("part numbers", Text(u.text().Say("every number")), u.fullTable())
	return p
}

// scoreTable has a row for each score and a column for each task.
func (u Uncertainty) scoreTable(caption string, cell func(study.ScoreDetection) string) Table {
	t := Table{Caption: caption, Columns: []Column{{Name: "score"}}}
	for _, task := range u.Study.Tasks {
		t.Columns = append(t.Columns, Column{task.Name, true})
	}
	for i, kind := range u.Study.Scores {
		row := Row{Cells: []string{formula(kind)}}
		for _, task := range u.Study.Tasks {
			row.Cells = append(row.Cells, cell(task.Scores[i]))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

func (u Uncertainty) fullTable() Table {
	t := Table{Caption: u.text().Say("full table"), Columns: []Column{{Name: u.samples()}, {Name: "score"},
		{"known", true}, {"unknown", true}, {"AUROC", true}, {"95% interval", true}, {"FPR", true},
		{"95% interval", true}, {"threshold",
			true}}}
	for _, task := range u.Study.Tasks {
		for i, d := range task.Scores {
			limit := "–"
			if d.Limit.IsFinite() {
				limit = format.Significant(float64(d.Limit))
			}
			t.Rows = append(t.Rows, Row{Cells: []string{
				task.Name, u.Study.Scores[i].Name, format.Thousands(d.Known), format.Thousands(d.Unknown),
				format.Number(d.AUROC, 4), shareInterval(d.AUROCCI, 4), percent(d.FPR), percentInterval(d.FPRCI), limit,
			}})
		}
	}
	return t
}

func (u Uncertainty) calibrationTable() Table {
	t := Table{Caption: u.text().Say("calibration table", "samples", u.Study.Samples), Columns: []Column{
		{Name: "logits"}, {"T", true}, {"ECE", true}, {"by chance", true}, {"ECE, bins of equal size", true},
		{"mean confidence", true}, {"accuracy", true}, {"NLL (nats)", true},
	}}
	add := func(name string, c *uncertainty.Calibration) {
		t.Rows = append(t.Rows, Row{Cells: []string{
			name, format.Significant(c.Temperature), precise(c.ECE), precise(c.ECEChance), precise(c.ECEEqualMass),
			precise(c.Confidence), precise(c.Accuracy), format.Number(c.NLL, 4),
		}})
	}
	add("unscaled", u.Study.Calibration.Before)
	if c := u.Study.Calibration.After; c != nil {
		add("divided by T", c)
	}
	return t
}

func (u Uncertainty) binTable() Table {
	t := Table{Caption: u.text().Say("bin table"), Columns: []Column{
		{Name: "mean largest softmax"}, {u.samples(), true}, {"classified correctly", true}, {"95% interval", true},
	}}
	for _, b := range u.Study.Calibration.Before.Reliability {
		t.Rows = append(t.Rows, Row{Cells: []string{
			percent(b.Confidence), format.Thousands(b.Samples), percent(b.Accuracy), percentInterval(b.AccuracyCI),
		}})
	}
	return t
}

// percentInterval prints an interval of shares in percent.
func percentInterval(ci [2]float64) string {
	return format.Number(100*ci[0], 1) + " to " + percent(ci[1])
}

func (u Uncertainty) facts() []Fact {
	m := u.Model
	facts := []Fact{{"Data", dataFact(m, u.Data, u.Study.Samples)}}
	for _, t := range u.unknownTasks() {
		facts = append(facts, Fact{"Unknown, " + t.Name, fmt.Sprintf("%s: %s",
			format.CountThousands(t.Unknown, u.Model.Shape.Sample()), t.Meaning)})
	}
	temperature := u.text().Say("no temperature", "validated", u.validated(), "why", u.untempered())
	if t := u.Study.Calibration.Temperature; t != nil {
		temperature = u.text().Say("temperature", "t", t.T, "samples", t.Samples)
	}
	return append(facts,
		Fact{"Preset", fmt.Sprintf("%s, %s parameters", m.Config.Preset, format.Thousands(m.Parameters()))},
		Fact{"Scores chosen on", u.Study.ChosenOn + " " + u.samples()},
		Fact{"Temperature", temperature},
		Fact{"Noise", fmt.Sprintf("seed %d", u.Seed)},
		Fact{"Machine", machineFact(u.Tier, u.Threads)},
		Fact{"Weights (SHA-256)", m.WeightsSHA256()})
}
