package report

import (
	"fmt"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/study"
	"dpnbench/dpn/uncertainty"
	"dpnbench/internal/format"
	"dpnbench/plot"
)

// Uncertainty is what the scores of a model are worth, for the figures and the page.
type Uncertainty struct {
	Model  *dpn.Model
	Study  *study.UncertaintyStudy
	Images *dataset.Set // the test images measured

	Data    string // the name of the test pictures, or their folder
	Tier    string // of kernels
	Threads int
	Seed    uint64 // of the noise
}

// Parts of the page that have figures.
const (
	partUnknown     = "Pictures that the network does not know"
	partMisread     = "Pictures that it reads wrongly"
	partCalibration = "Whether its probabilities can be believed"
)

// Limits of the figures.
const (
	mostROCPoints = 400
	exampleRow    = 8    // pictures of each kind
	hardAUROC     = 0.85 // below it a set is called hard to tell
)

// misreadTask is the name of the task that has no pictures of its own.
const misreadTask = "misread"

func (u Uncertainty) name() string { return Analysis{Model: u.Model, Data: u.Data}.name() }

// score returns the place of a score by its name.
func (u Uncertainty) score(name string) int {
	for i, s := range u.Study.Scores {
		if s.Name == name {
			return i
		}
	}
	return 0
}

// unknownTasks are those that compare with other pictures, and misread the other one, or nil.
func (u Uncertainty) unknownTasks() []study.UncertaintyTask {
	t := u.Study.Tasks
	if u.misread() != nil {
		t = t[:len(t)-1]
	}
	return t
}

func (u Uncertainty) misread() *study.UncertaintyTask {
	if t := u.Study.Tasks; len(t) > 0 && t[len(t)-1].Name == misreadTask {
		return &t[len(t)-1]
	}
	return nil
}

// Summary says in plain words which score serves for what, and what it is worth.
func (u Uncertainty) Summary() []string {
	s := u.Study
	out := []string{u.unknownSentence()}
	if hard := u.hardSentence(); hard != "" {
		out = append(out, hard)
	}
	if u.misread() != nil {
		out = append(out, u.misreadSentence())
	} else {
		out = append(out, fmt.Sprintf("%s of %s test pictures are read wrongly: there is nothing to tell them by.", format.Thousands(s.Wrong), format.Thousands(s.Samples)))
	}
	if s.ChosenOn == "test" {
		out = append(out, "There were no validation pictures: these scores were chosen on the test pictures, on which they may look a little better than they are.")
	}
	return append(out, u.calibrationSentence())
}

// unknownSentence says what to use for pictures of other kinds, and where to draw the line.
func (u Uncertainty) unknownSentence() string {
	at := u.score(u.Study.Advice.Unknown)
	kind := u.Study.Scores[at]
	var auroc, pass []string
	for _, t := range u.unknownTasks() {
		auroc = append(auroc, fmt.Sprintf("%s (%s)", format.Number(t.Scores[at].AUROC, 3), t.Name))
		pass = append(pass, percent(t.Scores[at].FPR)+" of "+t.Name)
	}
	text := fmt.Sprintf("To tell pictures of a kind that the network was not trained on, use %s (%s): AUROC %s.", kind.Name, kind.Meaning, list(auroc))
	if limit := u.unknownTasks()[0].Scores[at].Limit; limit.IsFinite() {
		text += fmt.Sprintf(" Refuse what lies %s %s: this refuses 5%% of the test pictures, and lets pass %s.", side(kind), format.Significant(float64(limit)), list(pass))
	}
	return text
}

// formula is a score by its name and what it is.
func formula(s study.ConfidenceScore) string { return s.Name + " = " + s.Symbol }

// side says on which side of a limit unknown pictures lie.
func side(s study.ConfidenceScore) string {
	if s.Falls {
		return "above"
	}
	return "below"
}

// list joins words with commas.
func list(words []string) string { return strings.Join(words, ", ") }

// hardSentence names the sets that no score tells well.
func (u Uncertainty) hardSentence() string {
	var hard []string
	for _, t := range u.unknownTasks() {
		best := t.Scores[t.Best()]
		if best.AUROC < hardAUROC {
			hard = append(hard, fmt.Sprintf("%s (best: %s, AUROC %s)", t.Name, u.Study.Scores[t.Best()].Name, format.Number(best.AUROC, 3)))
		}
	}
	if len(hard) == 0 {
		return ""
	}
	return fmt.Sprintf("No score tells these well: %s. Do not count on the network to notice them.", list(hard))
}

// misreadSentence says what to use for misread pictures, and what would have been better.
func (u Uncertainty) misreadSentence() string {
	t, at := u.misread(), u.score(u.Study.Advice.Misread)
	kind, d := u.Study.Scores[at], t.Scores[at]
	text := fmt.Sprintf("To tell pictures that it reads wrongly (%s of %s test pictures), use %s (%s): AUROC %s (95%% interval %s).",
		format.Thousands(u.Study.Wrong), format.Thousands(u.Study.Samples), kind.Name, kind.Meaning, format.Number(d.AUROC, 3), shareInterval(d.AUROCCI, 3))
	if best := t.Best(); best != at {
		b := t.Scores[best]
		text += fmt.Sprintf(" That was chosen on %s pictures; on the test pictures %s does better, %s (%s).", u.Study.ChosenOn, u.Study.Scores[best].Name, format.Number(b.AUROC, 3), shareInterval(b.AUROCCI, 3))
	}
	return text
}

// calibrationSentence says how far confidence and accuracy lie apart.
func (u Uncertainty) calibrationSentence() string {
	c := u.Study.Calibration
	b := c.Before
	way := "more"
	if b.Confidence < b.Accuracy {
		way = "less"
	}
	text := fmt.Sprintf("As a probability the largest softmax claims %s than comes true: %s right on average, and %s are. The expected calibration error is %s (by chance alone about %s)",
		way, percent(b.Confidence), percent(b.Accuracy), precise(b.ECE), precise(b.ECEChance))
	if c.After == nil {
		return text + "; no temperature was fitted."
	}
	return text + fmt.Sprintf(", and %s after temperature scaling: logits divided by T = %s, fitted to %s validation pictures.", precise(c.After.ECE), format.Significant(c.Temperature.T), format.Thousands(c.Temperature.Samples))
}

// precise prints a share that may be far below 1%.
func precise(v float64) string { return format.Number(100*v, 2) + "%" }

// shareInterval prints an interval of shares.
func shareInterval(ci [2]float64, decimals int) string {
	return format.Number(ci[0], decimals) + " to " + format.Number(ci[1], decimals)
}

// Figures returns all figures in the order of the page.
func (u Uncertainty) Figures() []AnalysisFigure {
	a := Analysis{}
	var out []AnalysisFigure
	for _, t := range u.unknownTasks() {
		out = append(out, a.figure("histogram-"+t.Name, partUnknown, func() (Shown, error) { return u.histogram(&t, u.Study.Advice.Unknown, t.Name) }))
	}
	out = append(out, a.figure("roc-unknown", partUnknown, u.rocUnknown), a.figure("examples", partUnknown, u.examples))
	if t := u.misread(); t != nil {
		out = append(out,
			a.figure("histogram-misread", partMisread, func() (Shown, error) { return u.histogram(t, u.Study.Advice.Misread, "read wrongly") }),
			a.figure("roc-misread", partMisread, func() (Shown, error) { return u.rocMisread(t) }))
	}
	return append(out, a.figure("reliability", partCalibration, u.reliability))
}

// histogram shows one score of known and unknown pictures.
func (u Uncertainty) histogram(t *study.UncertaintyTask, score, unknown string) (Shown, error) {
	at := u.score(score)
	kind, d := u.Study.Scores[at], t.Scores[at]
	known, pass, what := "test pictures", "95% of the test pictures pass", fmt.Sprintf("%s (%s)", unknown, t.Meaning)
	if t.Name == misreadTask {
		known, pass, what = "read correctly", "95% of those read correctly pass", unknown
	}
	unit := map[string]string{"entropy_0": " (nats)", "entropy_n": " (nats)", "displacement": " (units of the features)", "softmax": " (probability)"}[kind.Name]
	f := plot.Histogram{Title: fmt.Sprintf("%s, %s against %s: %s", kind.Name, known, unknown, u.name()), X: formula(kind) + unit,
		Samples: []plot.Sample{
			{Name: known, Values: raw(kind, t.Accepted[at])}, {Name: unknown, Values: raw(kind, t.Refused[at])},
		}}
	if d.Limit.IsFinite() {
		f.Mark = &plot.Level{Name: pass, Y: float64(d.Limit)}
	}
	return Shown{Figure: f,
		Caption: fmt.Sprintf("How %s is distributed: %s against %s. Where the two overlap, no threshold tells them apart. AUROC %s; %s of the latter pass, too.",
			kind.Name, known, what, format.Number(d.AUROC, 3), percent(d.FPR)),
		Alt: fmt.Sprintf("Two histograms; AUROC %s.", format.Number(d.AUROC, 3)),
	}, nil
}

// raw undoes the orientation of scores.
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

// diagonal is the curve of a guess, and that of perfect calibration.
func diagonal(name string) plot.Series {
	return plot.Series{Name: name, Reference: true, Points: []plot.Point{{}, {X: 100, Y: 100}}}
}

func (u Uncertainty) rocUnknown() (Shown, error) {
	at := u.score(u.Study.Advice.Unknown)
	kind := u.Study.Scores[at]
	f := plot.Lines{Title: fmt.Sprintf("ROC of %s: %s", kind.Name, u.name()), X: "FPR: unknown pictures accepted (%)", Y: "TPR: test pictures accepted (%)",
		LinearX: true, From: 0, To: 100, Series: []plot.Series{diagonal("a guess")}}
	for i, t := range u.unknownTasks() {
		s, err := curve(fmt.Sprintf("%s (%s)", t.Name, format.Number(t.Scores[at].AUROC, 3)), i, t.Accepted[at], t.Refused[at])
		if err != nil {
			return Shown{}, err
		}
		f.Series = append(f.Series, s)
	}
	return Shown{Figure: f,
		Caption: fmt.Sprintf("Shares of test pictures and of unknown ones that are accepted as the threshold on %s moves; AUROC, the area below the curve, in brackets. The nearer to the top left corner, the better.", kind.Name),
		Alt:     "A curve for each kind of unknown pictures.",
	}, nil
}

func (u Uncertainty) rocMisread(t *study.UncertaintyTask) (Shown, error) {
	f := plot.Lines{Title: "ROC for pictures read wrongly: " + u.name(), X: "FPR: wrong ones accepted (%)", Y: "TPR: right ones accepted (%)",
		LinearX: true, From: 0, To: 100, Series: []plot.Series{diagonal("a guess")}}
	for i, kind := range u.Study.Scores {
		s, err := curve(fmt.Sprintf("%s (%s)", kind.Name, format.Number(t.Scores[i].AUROC, 3)), i, t.Accepted[i], t.Refused[i])
		if err != nil {
			return Shown{}, err
		}
		f.Series = append(f.Series, s)
	}
	return Shown{Figure: f,
		Caption: fmt.Sprintf("The same for the %s test pictures that are read wrongly against the others, for every score. A curve below the diagonal would tell them apart if it were turned round.", format.Thousands(t.Unknown)),
		Alt:     "A curve for each score.",
	}, nil
}

// examples shows the first pictures of each kind.
func (u Uncertainty) examples() (Shown, error) {
	at := u.score(u.Study.Advice.Unknown)
	softmax := u.score("softmax")
	g := plot.Gallery{Title: "What the network makes of pictures: " + u.name(), Rows: u.Model.Rows, Cols: u.Model.Cols, Scale: greyScale, PerRow: min(exampleRow, len(u.Images.Labels))}
	rows := []string{"test pictures"}
	add := func(x study.Unknown, score, largest []float64) error {
		n := min(g.PerRow, x.Pictures.Len())
		grey, index := make([]float32, n*x.Pictures.Pixels()), make([]int32, n)
		for i := range index {
			index[i] = int32(i)
		}
		if x.Corruption.Name == "" {
			x.Pictures.Grey(grey, index)
		} else if err := x.Corruption.Grey(grey, x.Pictures, index, 0); err != nil {
			return err
		}
		for i := range g.PerRow {
			p := plot.Image{X: [][]float32{make([]float32, x.Pictures.Pixels())}}
			if i < n {
				copy(p.X[0], grey[i*x.Pictures.Pixels():])
				p.Caption = fmt.Sprintf("%s, %s", format.Significant(score[i]), format.Number(100*largest[i], 0)+"%")
			}
			g.Images = append(g.Images, p)
		}
		return nil
	}
	kind := u.Study.Scores[at]
	err := add(study.Unknown{Pictures: u.Images}, u.Study.Known.Values[at], u.Study.Known.Values[softmax])
	for i, t := range u.unknownTasks() {
		if err == nil {
			err = add(u.Study.Unknown[i], raw(kind, t.Refused[at]), t.Refused[softmax])
			rows = append(rows, t.Name)
		}
	}
	g.Note = "Rows from the top: " + list(rows) + "."
	return Shown{Figure: g, Wide: true,
		Caption: fmt.Sprintf("The first pictures of each kind, with %s and the largest softmax below. Look for nonsense that the softmax is sure of, and whether %s is, too.", kind.Name, kind.Name),
		Alt:     "Rows of pictures: " + list(rows) + ".",
	}, err
}

func (u Uncertainty) reliability() (Shown, error) {
	c := u.Study.Calibration
	f := plot.Lines{Title: "Reliability of the largest softmax: " + u.name(), X: "mean largest softmax of a bin (%)", Y: "read correctly (%)", LinearX: true, From: 0, To: 100,
		Series: []plot.Series{diagonal("as it should be"), bins("as it is", 0, c.Before)},
		Note:   fmt.Sprintf("%d bins of equal width; those without pictures are left out. Bars are 95%% intervals.", uncertainty.Bins)}
	if c.After != nil {
		f.Series = append(f.Series, bins("temperature "+format.Significant(c.Temperature.T), 1, c.After))
	}
	return Shown{Figure: f,
		Caption: "Accuracy over confidence. Below the diagonal the network claims too much, above it too little. Bins with few pictures have long bars; nearly all pictures may lie in the last bin, as the table says.",
		Alt:     fmt.Sprintf("Expected calibration error %s.", precise(c.Before.ECE)),
	}, nil
}

// bins is a reliability diagram as a series.
func bins(name string, colour int, c *uncertainty.Calibration) plot.Series {
	s := plot.Series{Name: name, Colour: colour, Dash: colour}
	for _, b := range c.Reliability {
		s.Points = append(s.Points, plot.Point{X: 100 * b.Confidence, Y: 100 * b.Accuracy, Low: 100 * b.AccuracyCI[0], High: 100 * b.AccuracyCI[1]})
	}
	return s
}

// UncertaintyPage returns the page: a summary in plain words, tables and the figures, which
// are those of [Uncertainty.Figures].
func UncertaintyPage(u Uncertainty, figures []AnalysisFigure) Page {
	unknown := []Block{
		Text("A score is a number from which to tell whether the network knows a picture. AUROC is the probability that it takes a test picture for better known than an unknown one: 1 tells them apart without a fault, 0.5 is a guess, and below 0.5 it points the wrong way. The displacement and the entropies count as better known the lower they are, the other scores the higher they are. FPR is the share of unknown pictures that pass where the threshold lets 95% of the test pictures pass: less is better."),
		u.scoreTable("AUROC", func(d study.ScoreDetection) string { return format.Number(d.AUROC, 3) }),
		u.scoreTable("Unknown pictures that pass where 95% of the known ones do (FPR)", func(d study.ScoreDetection) string { return percent(d.FPR) }),
	}
	misread := []Block{Text("Pictures of the right kind may still be read wrongly. Here those that are read correctly count as known.")}
	if u.misread() == nil {
		misread = []Block{Text(fmt.Sprintf("%s of %s test pictures are read wrongly, so that there is nothing to compare.", format.Thousands(u.Study.Wrong), format.Thousands(u.Study.Samples)))}
	}
	return Page{
		Kind:    "dpnbench uncertainty",
		Title:   "How " + u.name() + " tells what it does not know",
		Summary: u.Summary(),
		Facts:   u.facts(),
		Sections: []Section{
			{partUnknown, append(unknown, figureBlocks(figures, partUnknown)...)},
			{partMisread, append(misread, figureBlocks(figures, partMisread)...)},
			{partCalibration, append([]Block{
				Text("If the probabilities are right, nine of ten pictures with a largest softmax of 90% are read correctly. The expected calibration error (ECE) is the mean distance between confidence and accuracy over bins of confidence; by chance it is above 0 even where the probabilities are right. Temperature scaling divides all logits by one number, chosen on pictures that are neither trained on nor tested on; it changes no reading."),
				u.calibrationTable(), u.binTable(),
			}, figureBlocks(figures, partCalibration)...)},
			{"Every number", []Block{
				Text("Intervals hold 95%: of AUROC by the method of DeLong, of FPR those of the share and of the threshold together. The threshold is that of the score itself; 95% of the known pictures lie on its accepted side."),
				u.fullTable(),
			}},
		},
	}
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
	t := Table{Caption: "Every score on every kind of pictures", Columns: []Column{{Name: "pictures"}, {Name: "score"}, {"known", true}, {"unknown", true},
		{"AUROC", true}, {"95% interval", true}, {"FPR", true}, {"95% interval", true}, {"threshold", true}}}
	for _, task := range u.Study.Tasks {
		for i, d := range task.Scores {
			limit := "–"
			if d.Limit.IsFinite() {
				limit = format.Significant(float64(d.Limit))
			}
			t.Rows = append(t.Rows, Row{Cells: []string{task.Name, u.Study.Scores[i].Name, format.Thousands(d.Known), format.Thousands(d.Unknown),
				format.Number(d.AUROC, 4), shareInterval(d.AUROCCI, 4), percent(d.FPR), percent(d.FPRCI[0]) + " to " + percent(d.FPRCI[1]), limit}})
		}
	}
	return t
}

func (u Uncertainty) calibrationTable() Table {
	t := Table{Caption: fmt.Sprintf("Calibration on the %s", pictures(u.Study.Samples)), Columns: []Column{{Name: "logits"}, {"T", true}, {"ECE", true}, {"by chance", true}, {"ECE, bins of equal size", true},
		{"mean confidence", true}, {"accuracy", true}, {"NLL (nats)", true}}}
	add := func(name string, c *uncertainty.Calibration) {
		t.Rows = append(t.Rows, Row{Cells: []string{name, format.Significant(c.Temperature), precise(c.ECE), precise(c.ECEChance), precise(c.ECEEqualMass), precise(c.Confidence), precise(c.Accuracy), format.Number(c.NLL, 4)}})
	}
	add("as they are", u.Study.Calibration.Before)
	if c := u.Study.Calibration.After; c != nil {
		add("divided by T", c)
	}
	return t
}

func (u Uncertainty) binTable() Table {
	t := Table{Caption: "Bins of confidence, logits as they are", Columns: []Column{{Name: "mean largest softmax"}, {"pictures", true}, {"read correctly", true}, {"95% interval", true}}}
	for _, b := range u.Study.Calibration.Before.Reliability {
		t.Rows = append(t.Rows, Row{Cells: []string{percent(b.Confidence), format.Thousands(b.Samples), percent(b.Accuracy), percent(b.AccuracyCI[0]) + " to " + percent(b.AccuracyCI[1])}})
	}
	return t
}

func (u Uncertainty) facts() []Fact {
	m, c := u.Model, u.Model.Config
	facts := []Fact{
		{"Data", fmt.Sprintf("%s, %s test pictures of %d × %d in %d classes", u.Data, format.Thousands(u.Study.Samples), m.Rows, m.Cols, m.Classes)},
	}
	for _, t := range u.unknownTasks() {
		facts = append(facts, Fact{strings.ToUpper(t.Name[:1]) + t.Name[1:], fmt.Sprintf("%s: %s", pictures(t.Unknown), t.Meaning)})
	}
	temperature := "none: there are no validation pictures"
	switch k := u.Study.Calibration; {
	case k.Temperature != nil:
		temperature = fmt.Sprintf("T = %s, fitted to %s validation pictures", format.Significant(k.Temperature.T), format.Thousands(k.Temperature.Samples))
	case u.Study.ChosenOn == "validation":
		temperature = "none is best: all validation pictures are read correctly, or none better than by chance"
	}
	return append(facts,
		Fact{"Preset", fmt.Sprintf("%s, %s parameters", c.Preset, format.Thousands(m.Parameters()))},
		Fact{"Scores chosen on", u.Study.ChosenOn + " pictures"},
		Fact{"Temperature", temperature},
		Fact{"Noise", fmt.Sprintf("seed %d", u.Seed)},
		Fact{"Machine", fmt.Sprintf("%s kernels, threads: %d; no number depends on them", u.Tier, u.Threads)},
		Fact{"Weights (SHA-256)", m.WeightsSHA256()})
}
