package report

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/engine"
	"dpnbench/internal/format"
	"dpnbench/plot"
)

// Analysis is what has been measured of one model, for its figures and its page.
type Analysis struct {
	Model  *dpn.Model
	Study  *study.Study // of the model on Images
	Images *dataset.Set // the test images measured

	Data    string // their name, or the folder that they are from
	Tier    string // of kernels
	Threads int
	Draws   int // of the bootstrap, and
	Subsets int // of each size, for the fact
	Seed    uint64
	// Unmoved says why the Study has no Moves: the centres did not move, or nobody knows
	// from where.
	Unmoved string
}

// AnalysisFigure is a figure of an analysis, or why there is none.
type AnalysisFigure struct {
	Name string // of its files, without extension
	Shown
	Missing error // why there is no figure

	part string // of the page
}

// Parts of the page that have figures.
const (
	partSeparation = "How the classes separate"
	partPaths      = "Where pictures go"
	partPotential  = "The potential"
)

// Limits of figures of components, which stand in the order of their weights.
const (
	mostCentres  = 100
	mostMoves    = 50
	mostMaps     = 59 // and their mean
	mostProfiles = 30 // spectra
	mostStrips   = 12
	mostRows     = 50 // of the table
	leastPoints  = 4  // of a law: fewer lie on some line by chance
)

// Figures returns all figures of the analysis in the order of the page.
func (a Analysis) Figures() []AnalysisFigure {
	return []AnalysisFigure{
		a.figure("layers", partSeparation, a.layers),
		a.figure("steps", partSeparation, a.steps),
		a.figure("curve", partSeparation, a.curve),
		a.figure("pca", partSeparation, a.scatter),
		a.figure("strips", partPaths, a.strips),
		a.figure("paths", partPaths, a.paths),
		a.figure("weights", partPotential, a.weights),
		a.figure("spectra", partPotential, a.spectra),
		a.figure("centres", partPotential, a.centres),
		a.figure("variance", partPotential, a.variance),
		a.figure("moves", partPotential, a.moves),
		a.figure("work", partPotential, a.work),
	}
}

// figure makes one of them, and tries whether it can be drawn.
func (a Analysis) figure(name, part string, build func() (Shown, error)) AnalysisFigure {
	f := AnalysisFigure{Name: name, part: part}
	f.Shown, f.Missing = build()
	if f.Missing == nil {
		f.Missing = plot.Check(f.Figure)
	}
	return f
}

// title names the model, the pictures and their number.
func (a Analysis) title(what string) string {
	return fmt.Sprintf("%s: %s, %s pictures", what, a.name(), format.Thousands(a.Study.Samples))
}

func (a Analysis) name() string {
	return a.Model.Config.Preset + " on " + filepath.Base(a.Data)
}

// pixels reports whether features are pixels, so that they can be seen.
func (a Analysis) pixels() bool { return a.Model.PixelFeatures() }

var errNoPixels = errors.New("the features are not pixels, so that there is nothing to see in them")

// greyScale is that of pictures.
var greyScale = plot.Scale{Low: 0, High: 1, Unit: "grey level"}

func (a Analysis) layers() (Shown, error) {
	f := plot.Layers{Title: a.title("Separation fuzziness over layers")}
	for _, l := range a.Study.Layers {
		f.Names = append(f.Names, l.Name)
		f.D = append(f.D, float64(l.Fuzziness))
	}
	f.Intervals, f.Bars = intervals(a.Study.Layers), FuzzinessBars
	if law := a.Study.Law; law != nil && law.Points >= leastPoints {
		f.Law = NewLaw(law)
	}
	return Shown{Figure: f,
		Caption: "D at each layer; less is better. Look where it falls: in the features, in the ascent (denoised) or only in the classifier (logits). " + barsCaption(f.Intervals),
		Alt:     fmt.Sprintf("D goes from %s at the input to %s at the logits.", format.Significant(f.D[0]), format.Significant(f.D[len(f.D)-1])),
	}, nil
}

func (a Analysis) steps() (Shown, error) {
	if len(a.Study.Steps) < 2 {
		return Shown{}, errors.New("there are no ascent steps")
	}
	f := plot.Steps{Title: a.title("Separation fuzziness over ascent steps"), Intervals: intervals(a.Study.Steps), Bars: FuzzinessBars}
	for _, l := range a.Study.Steps {
		f.D = append(f.D, float64(l.Fuzziness))
	}
	if law := a.Study.StepsLaw; law != nil && law.Points >= leastPoints {
		f.Law = NewLaw(law)
	}
	return Shown{Figure: f,
		Caption: "D after each ascent step. The law of equi-separation would be a straight line; look whether the points bend away from the fit. " + barsCaption(f.Intervals),
		Alt:     fmt.Sprintf("D goes from %s to %s.", format.Significant(f.D[0]), format.Significant(f.D[len(f.D)-1])),
	}, nil
}

// barsCaption says what error bars are, where there are any.
func barsCaption(bars []plot.Interval) string {
	if bars == nil {
		return ""
	}
	return "Bars are 95% intervals of D for ever more pictures; where a point lies outside of its bar, D still depends on the number of pictures."
}

// FuzzinessBars is what intervals of D are, for the legends of figures.
const FuzzinessBars = "95% interval of D for ever more pictures"

// FuzzinessInterval is the interval of D of a layer for n to infinity, if it was estimated.
// It has no end where the samples could not tell.
func FuzzinessInterval(l separation.Layer) plot.Interval {
	switch {
	case len(l.FuzzinessCI) == 2:
		return plot.Interval{Low: float64(l.FuzzinessCI[0]), High: float64(l.FuzzinessCI[1])}
	case l.FuzzinessLimit != nil:
		return plot.Interval{High: math.Inf(1)}
	}
	return plot.Interval{}
}

// intervals returns those of D for n to infinity, or nil if no layer has one.
func intervals(layers []separation.Layer) []plot.Interval {
	out := make([]plot.Interval, len(layers))
	some := false
	for i, l := range layers {
		out[i] = FuzzinessInterval(l)
		some = some || out[i] != plot.Interval{}
	}
	if !some {
		return nil
	}
	return out
}

func (a Analysis) curve() (Shown, error) {
	if len(a.Study.Curves) == 0 {
		return Shown{}, errors.New("no subsets were asked for")
	}
	f := plot.Lines{Title: a.title("D over the number of pictures"), X: "pictures n (log scale)", Y: "fuzziness D (log scale)", LogY: true}
	for i, c := range a.Study.Curves {
		s := plot.Series{Name: c.Layer, Colour: i, Band: true}
		for _, p := range c.Points {
			s.Points = append(s.Points, plot.Point{X: float64(p.Samples), Y: float64(p.Mean), Low: float64(p.Least), High: float64(p.Greatest)})
		}
		for _, l := range a.Study.Layers {
			if l.Name == c.Layer && l.FuzzinessLimit != nil && loggable(float64(*l.FuzzinessLimit)) {
				s.Limit = &plot.Level{Name: c.Layer + ", n to infinity", Y: float64(*l.FuzzinessLimit)}
				if ci := l.FuzzinessCI; len(ci) == 2 {
					s.Limit.Low, s.Limit.High = float64(ci[0]), float64(ci[1])
				}
			}
		}
		f.Series = append(f.Series, s)
	}
	left := 0
	for _, p := range a.Study.Curves[0].Points { // those of the other layers are the same pictures
		left += p.LeftOut
	}
	if left > 0 {
		f.Note = fmt.Sprintf("Subsets without a D, because all pictures are of one class, are left out: %s.", format.Thousands(left))
	}
	return Shown{Figure: f,
		Caption: "D of subsets of n pictures (mean and range), and what it tends to for ever more of them (dashed, with its 95% interval). Compare D only with what was measured on equally many pictures, or where the line has become flat.",
		Alt:     "D rises with the number of pictures.",
	}, nil
}

// loggable reports whether v has a place on a logarithmic axis.
func loggable(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// classes names the labels.
func (a Analysis) classes() []string {
	names := make([]string, a.Model.Classes)
	for c := range names {
		names[c] = fmt.Sprint(c)
	}
	return names
}

func (a Analysis) scatter() (Shown, error) {
	f := plot.PCA{Title: a.title("Principal components"), Classes: a.classes()}
	for i, l := range a.Study.Layers {
		if i == 1 && a.pixels() {
			continue // the features are the input
		}
		p, err := NewPanel(l, a.Study.Sets[i])
		if err != nil {
			return Shown{}, err
		}
		f.Panels = append(f.Panels, p)
	}
	return Shown{Figure: f,
		Caption: "Each layer on its own first two principal components, coloured by class. Look for classes that become clumps; what overlaps here may still lie apart in other directions.",
		Alt:     "A scatter plot for each layer.",
	}, nil
}

func (a Analysis) strips() (Shown, error) {
	if !a.pixels() {
		return Shown{}, errNoPixels
	}
	t := a.Study.Walk
	f := plot.Strips{Title: "Pictures on their way uphill: " + a.name(), Rows: a.Model.Rows, Cols: a.Model.Cols, Scale: greyScale}
	for i := range min(a.Study.Classes, t.Samples, mostStrips) { // the first of each class come first
		s := plot.Strip{Name: fmt.Sprint("picture ", t.Index[i]), Label: t.Labels[i], Predicted: t.Predicted[t.Steps][i]}
		for step := range t.Steps + 1 {
			s.X = append(s.X, a.Model.Norm.Grey(t.XAt(step).Row(i)))
		}
		f.Strips = append(f.Strips, s)
	}
	return Shown{Figure: f, Wide: true,
		Caption: "The first test picture of each class at steps of the ascent. Look what is smoothed away, and whether the picture becomes a centre or stays itself.",
		Alt:     "A row of pictures for each class, from the input on the left to the last step on the right.",
	}, nil
}

func (a Analysis) paths() (Shown, error) {
	plane, t := a.Study.Plane, a.Study.Paths
	if plane.Dim < 2 {
		return Shown{}, errors.New("there is one feature only")
	}
	axis := func(k int) string {
		return fmt.Sprintf("PC %d of x_0 and x_n (%s%% of variance)", k+1, format.Number(100*plane.ExplainedVariance[k], 1))
	}
	f := plot.PlanePaths{Title: "Trajectories: " + a.name(), X: axis(0), Y: axis(1), Classes: a.classes()}
	f.Paths = make([]plot.PlanePath, t.Samples)
	for i, c := range t.Labels {
		f.Paths[i].Class = c
	}
	for step := range t.Steps + 1 {
		at, err := places(plane, t.XAt(step).Data)
		if err != nil {
			return Shown{}, err
		}
		for i := range f.Paths {
			f.Paths[i].At = append(f.Paths[i].At, at[i])
		}
	}
	var err error
	if f.Centres, err = places(plane, a.Model.Potential().Centres().Data); err != nil {
		return Shown{}, err
	}
	return Shown{Figure: f,
		Caption: fmt.Sprintf("%s test pictures (the first ones of each class) from x_0 to x_n, seen in the plane of the first two principal components of both. Look whether paths of one colour run together, and towards which centres.", format.Thousands(t.Samples)),
		Alt:     "Lines from rings to marks coloured by class, crosses at the centres.",
	}, nil
}

// places projects rows on a plane.
func places(plane *separation.PCA, x []float32) ([][2]float64, error) {
	p, err := plane.Project(x)
	if err != nil {
		return nil, err
	}
	out := make([][2]float64, len(p)/2)
	for i := range out {
		out[i] = [2]float64{p[2*i], p[2*i+1]}
	}
	return out, nil
}

func (a Analysis) weights() (Shown, error) {
	f := plot.Weights{Title: "Weights of the components: " + a.name()}
	for _, w := range a.Study.Landscape.Weights {
		f.C = append(f.C, math.Log(max(w, math.SmallestNonzeroFloat64)))
	}
	return Shown{Figure: f,
		Caption: "The weight of each component, the heaviest first. Look how far it is from equal, and whether some components are not used at all.",
		Alt:     fmt.Sprintf("%s of %d components carry the weight.", format.Number(a.carriers(), 1), len(f.C)),
	}, nil
}

// work shows how many components a row needs.
func (a Analysis) work() (Shown, error) {
	steps := a.Study.Work
	if len(steps) < 2 {
		return Shown{}, errors.New("there are fewer than two ascent steps")
	}
	k := float64(a.Model.Config.Components)
	if k < 2 {
		return Shown{}, errors.New("there is one component only")
	}
	f := plot.Lines{Title: "Components that matter: " + a.name(), X: "ascent step", Y: "components of a picture (log scale)", LinearX: true, LogY: true, From: 1, To: k}
	lines := []struct {
		name string
		y    func(engine.StepWork) float64
	}{
		{"responsibility above 0", func(s engine.StepWork) float64 { return s.Active }},
		{"computed by the sparse route", func(s engine.StepWork) float64 { return s.Computed }},
		{"by the dense route", func(engine.StepWork) float64 { return k }},
	}
	for n, line := range lines {
		s := plot.Series{Name: line.name, Colour: n, Reference: n == 2}
		for t, w := range steps {
			s.Points = append(s.Points, plot.Point{X: float64(t), Y: line.y(w)})
		}
		f.Series = append(f.Series, s)
	}
	first, last := steps[0], steps[len(steps)-1]
	return Shown{Figure: f,
		Caption: "The mean number of components with a responsibility of at least 2^-30 of the largest, and how many the sparse route computes because no bound excludes them (the first step may be a dense one). Look how far the lines lie below the grey one: so much work is saved, without a change of any bit.",
		Alt:     fmt.Sprintf("%s of %s components are active in the first step, %s in the last one.", format.Number(first.Active, 1), format.Number(k, 0), format.Number(last.Active, 1)),
	}, nil
}

// carriers is the effective number of components: the exponential of the entropy of the
// weights.
func (a Analysis) carriers() float64 {
	h := 0.0
	for _, w := range a.Study.Landscape.Weights {
		if w > 0 {
			h -= w * math.Log(w)
		}
	}
	return math.Exp(h)
}

// heaviest returns at most most components, by weight, and a sentence if some are left out.
func (a Analysis) heaviest(most int) (order []int, left string) {
	order = a.Study.Landscape.Order
	if len(order) > most {
		left = fmt.Sprintf(" These are the %d heaviest of %d components.", most, len(order))
		order = order[:most]
	}
	return order, left
}

func (a Analysis) spectra() (Shown, error) {
	l := a.Study.Landscape
	order, left := a.heaviest(mostProfiles)
	f := plot.Spectra{Title: "Eigenvalues of the precisions: " + a.name()}
	for _, i := range order {
		f.Values = append(f.Values, l.Spectra[i].Eigenvalues)
	}
	return Shown{Figure: f,
		Caption: fmt.Sprintf("Large eigenvalues are directions in which the potential is steep, small ones those in which it is flat and the ascent moves little. The largest of all is %s; times α it is %s, and below 2 no step can lower φ.%s",
			format.Significant(l.LambdaMax), format.Significant(l.Alpha*l.LambdaMax), left),
		Alt: "Eigenvalues fall from left to right.",
	}, nil
}

// shares returns the captions of all components, their numbers and weights: with as many
// decimals in each, and without weights, but with a sentence, if all look equal.
func (a Analysis) shares() (captions []string, equal string) {
	w, order := a.Study.Landscape.Weights, a.Study.Landscape.Order
	heaviest := 100 * w[order[0]]
	decimals := max(0, 2-int(math.Floor(math.Log10(heaviest)+1e-3))) // rounding makes 0.99999 of 1
	share := func(i int) string { return fmt.Sprintf("%.*f%%", decimals, 100*w[i]) }
	if heaviest := share(order[0]); heaviest == share(order[len(order)-1]) {
		equal = fmt.Sprintf("All have a weight of %s.", heaviest)
	}
	for i := range w {
		caption := fmt.Sprint(i)
		if equal == "" {
			caption += ": " + share(i)
		}
		captions = append(captions, caption)
	}
	return captions, equal
}

func (a Analysis) centres() (Shown, error) {
	if !a.pixels() {
		return Shown{}, errNoPixels
	}
	mu := a.Model.Potential().Centres()
	order, left := a.heaviest(mostCentres)
	captions, equal := a.shares()
	f := plot.Gallery{Title: "Centres by weight: " + a.name(), Note: equal, Rows: a.Model.Rows, Cols: a.Model.Cols, Scale: greyScale}
	for _, i := range order {
		f.Images = append(f.Images, plot.Image{Caption: captions[i], X: [][]float32{a.Model.Norm.Grey(mu.Row(i))}})
	}
	return Shown{Figure: f, Wide: len(order) > 30,
		Caption: "The centres μ as pictures, the heaviest first, with number and weight. Look for digits that you can read, for doubles, and for classes that have none." + left,
		Alt:     "Centres as grey pictures.",
	}, nil
}

func (a Analysis) moves() (Shown, error) {
	moves := a.Study.Moves
	switch {
	case !a.pixels():
		return Shown{}, errNoPixels
	case moves == nil:
		return Shown{}, errors.New(a.Unmoved)
	}
	order, left := a.heaviest(mostMoves)
	f := plot.Gallery{Title: "Centres before and after training: " + a.name(), Rows: a.Model.Rows, Cols: a.Model.Cols, Scale: greyScale, Series: []string{"initial", "final"}}
	for _, i := range order {
		caption := fmt.Sprintf("%d: by %s", i, format.Significant(moves.Moved[i]))
		f.Images = append(f.Images, plot.Image{Caption: caption, X: [][]float32{a.Model.Norm.Grey(moves.Initial.Row(i)), a.Model.Norm.Grey(moves.Final.Row(i))}})
	}
	return Shown{Figure: f, Wide: true,
		Caption: fmt.Sprintf("Centres where they were placed at first and where training left them, with the distance between the two in normalised pixels; the two nearest initial ones are %s apart. Look whether training has sharpened, mixed or hardly changed them.%s", format.Significant(moves.Nearest), left),
		Alt:     "Pairs of grey pictures.",
	}, nil
}

func (a Analysis) variance() (Shown, error) {
	if !a.pixels() {
		return Shown{}, errNoPixels
	}
	l := a.Study.Landscape
	if l.MeanVariance == nil {
		return Shown{}, errors.New("no precision has an inverse")
	}
	order, left := a.heaviest(mostMaps)
	captions, equal := a.shares()
	f := plot.Maps{Title: "Variance of each pixel: " + a.name(), Rows: a.Model.Rows, Cols: a.Model.Cols, Scale: plot.Scale{Unit: "variance (grey levels squared)"}}
	lo, hi := math.Inf(1), 0.0
	add := func(caption string, v []float64) {
		x := make([]float32, len(v))
		for j, s := range v {
			s *= float64(a.Model.Norm.Std) * float64(a.Model.Norm.Std)
			lo, hi = min(lo, s), max(hi, s)
			x[j] = float32(s)
		}
		f.Images = append(f.Images, plot.Image{Caption: caption, X: [][]float32{x}})
	}
	add("mean by weight", l.MeanVariance)
	for _, i := range order {
		if l.Variances[i] != nil {
			add(captions[i], l.Variances[i])
		}
	}
	f.Log = hi > 10*lo
	f.Note = equal
	if len(l.Singular) > 0 {
		f.Note = strings.TrimSpace(f.Note + fmt.Sprintf(" %d components have precisions without an inverse, and no map.", len(l.Singular)))
	}
	return Shown{Figure: f, Wide: len(order) > 30,
		Caption: "The diagonal of each P⁻¹: bright pixels are those that a component leaves free, dark ones those that it pins down. Look whether the bright ones follow the strokes of a digit." + left,
		Alt:     "Heat maps, the mean one first.",
	}, nil
}
