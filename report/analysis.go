package report

import (
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/engine/ascent"
	"dpnbench/internal/format"
	"dpnbench/internal/linalg"
	"dpnbench/plot"
)

// Analysis is what was measured of one model, for its figures and its page.
type Analysis struct {
	Model  *dpn.Model
	Study  *study.Study // of the model on Images
	Images *dataset.Set // the test images measured

	Data    string // name of the images, or their folder
	Tier    string // of the kernels
	Threads int
	Draws   int    // bootstrap resamples
	Subsets int    // of each size
	Seed    uint64 // of the subsets
	// Unmoved says why the Study has no Moves: the centres did not move, or their initial
	// values are unknown.
	Unmoved string
}

// AnalysisFigure is a figure of an analysis, or the reason why there is none.
type AnalysisFigure struct {
	Name string // of its files, without extension
	Shown
	Missing error // why there is no figure

	part string // of the page: one of part...
}

// Parts of the page that have figures, by the names of their titles.
const (
	partClasses    = "part classes"
	partSeparation = "part separation"
	partPaths      = "part paths"
	partPotential  = "part potential"
)

// Figures of components show the heaviest ones only.
const (
	mostCentres = 100
	mostMoves   = 50
	mostMaps    = 59 // beside their mean
	mostSpectra = 30
	mostStrips  = 12
	mostRows    = 50 // of the table
	leastPoints = 4  // for a law: fewer may be on a line by chance
)

// Figures returns all figures of the analysis in the order of the page.
func (a Analysis) Figures() []AnalysisFigure {
	return []AnalysisFigure{
		newFigure("confusion", partClasses, a.confusion),
		newFigure("layers", partSeparation, a.layers),
		newFigure("steps", partSeparation, a.steps),
		newFigure("curve", partSeparation, a.curve),
		newFigure("pca", partSeparation, a.scatter),
		newFigure("strips", partPaths, a.strips),
		newFigure("paths", partPaths, a.paths),
		newFigure("weights", partPotential, a.weights),
		newFigure("spectra", partPotential, a.spectra),
		newFigure("centres", partPotential, a.centres),
		newFigure("variance", partPotential, a.variance),
		newFigure("moves", partPotential, a.moves),
		newFigure("work", partPotential, a.work),
	}
}

// newFigure builds a figure and checks that it can be drawn.
func newFigure(name, part string, build func() (Shown, error)) AnalysisFigure {
	f := AnalysisFigure{Name: name, part: part}
	f.Shown, f.Missing = build()
	if f.Missing == nil {
		f.Missing = plot.Check(f.Figure)
	}
	if f.Missing == nil { // files say which model they show, a page shows one
		f.Title, _, _ = strings.Cut(plot.Title(f.Figure), ": ")
	}
	return f
}

// title adds the model, the images and their number.
func (a Analysis) title(what string) string {
	return fmt.Sprintf("%s: %s, %s", what, a.name(), format.CountThousands(a.Study.Samples, a.sample()))
}

func (a Analysis) name() string {
	return a.Model.Config.Preset + " on " + filepath.Base(a.Data)
}

// pixels reports whether features are pixels, that is, can be shown as images.
func (a Analysis) pixels() bool { return a.Model.PixelFeatures() }

// visible returns the levels of a point of features that are pixels.
func (a Analysis) visible(x []float32) []float32 { return a.Model.Shape.Visible(a.Model.Norm.Undo(x)) }

// std returns the deviation by which pixel j is divided.
func (a Analysis) std(j int) float32 {
	std := a.Model.Norm.Std
	return std[j*len(std)/a.Model.Shape.Len()]
}

// ascends says whether there are steps of an ascent.
func (a Analysis) ascends() bool { return len(a.Study.Steps) > 1 }

var (
	errNoPixels = errors.New("they need features that are pixels")
	errNoAscent = errors.New("there are no ascent steps")
)

// levels is the scale of images; colours have no bar.
var levels = plot.Scale{Low: 0, High: 1, Unit: "grey level"}

// ownLayers are the layers without features that are the input.
func (a Analysis) ownLayers() []separation.Layer {
	if a.Model.InputFeatures() {
		return slices.Delete(slices.Clone(a.Study.Layers), 1, 2)
	}
	return a.Study.Layers
}

func (a Analysis) layers() (Shown, error) {
	f := plot.Layers{Title: a.title(a.text().Say("layers title"))}
	layers := a.ownLayers()
	for _, l := range layers {
		f.Names = append(f.Names, l.Name)
		f.D = append(f.D, float64(l.Fuzziness))
	}
	f.Intervals, f.Bars = intervals(layers), FuzzinessBars
	if law := a.Study.Law; law != nil && law.Points >= leastPoints && !a.Model.InputFeatures() {
		f.Law = NewLaw(law)
	}
	return Shown{Figure: f,
		Caption: a.text().Say("layers caption", "bars", barsCaption(f.Intervals, a.samples()))}, nil
}

func (a Analysis) steps() (Shown, error) {
	if !a.ascends() {
		return Shown{}, errNoAscent
	}
	if len(a.Study.Steps) == 2 {
		return Shown{}, errors.New(a.text().Say("one step"))
	}
	f := plot.Steps{Title: a.title(a.text().Say("steps title")), Intervals: intervals(a.Study.Steps),
		Bars: FuzzinessBars}
	for _, l := range a.Study.Steps {
		f.D = append(f.D, float64(l.Fuzziness))
	}
	if law := a.Study.StepsLaw; law != nil && law.Points >= leastPoints {
		f.Law = NewLaw(law)
	}
	return Shown{Figure: f,
		Caption: a.text().Say("steps caption", "bars", barsCaption(f.Intervals, a.samples()))}, nil
}

// barsCaption explains error bars, if there are any, of samples that are called what.
func barsCaption(bars []plot.Interval, what string) string {
	if bars == nil {
		return ""
	}
	return text.Say("bars", "what", what)
}

// FuzzinessBars explains error bars of D in the legends of figures.
const FuzzinessBars = "95% interval of D for N → ∞"

// FuzzinessInterval is the 95% interval of D of a layer for N → ∞, if it was estimated. It is
// unbounded where the samples do not determine it.
func FuzzinessInterval(l separation.Layer) plot.Interval {
	switch {
	case len(l.FuzzinessCI) == 2:
		return plot.Interval{Low: float64(l.FuzzinessCI[0]), High: float64(l.FuzzinessCI[1])}
	case l.FuzzinessLimit != nil:
		return plot.Interval{High: math.Inf(1)}
	}
	return plot.Interval{}
}

// intervals returns the interval of D for N → ∞ of each layer, or nil if no layer has one.
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
	title := a.title(a.text().Say("curve title", "what", a.samples()))
	return curveFigure(title, a.samples(), a.Study.Curves, a.Study.Layers)
}

// curveFigure shows D over the number of samples, which are called what.
func curveFigure(title, what string, curves []separation.LayerCurve, layers []separation.Layer) (Shown, error) {
	if len(curves) == 0 {
		return Shown{}, errors.New("no subsets were asked for")
	}
	f := plot.Lines{Title: title, X: text.Say("curve x", "what", what), Y: "fuzziness D (log scale)", LogY: true}
	limits := false
	for i, c := range curves {
		s := plot.Series{Name: c.Layer, Colour: i, Band: true, Limit: limitOf(layers, c.Layer)}
		for _, p := range c.Points {
			s.Points = append(s.Points, plot.Point{
				X: float64(p.Samples), Y: float64(p.Mean), Low: float64(p.Least), High: float64(p.Greatest),
			})
		}
		f.Series = append(f.Series, s)
		limits = limits || s.Limit != nil
	}
	left := 0
	for _, p := range curves[0].Points { // the other layers use the same samples
		left += p.LeftOut
	}
	if left > 0 {
		f.Note = text.Say("curve note", "left", left, "what", what)
	}
	return Shown{Figure: f, Caption: text.Say("curve caption", "what", what, "limits", limits)}, nil
}

// limitOf is the estimate of D of a layer for N → ∞, or nil.
func limitOf(layers []separation.Layer, layer string) *plot.Level {
	var out *plot.Level
	for _, l := range layers {
		if l.Name != layer || l.FuzzinessLimit == nil || !loggable(float64(*l.FuzzinessLimit)) {
			continue
		}
		out = &plot.Level{Name: layer + ", N → ∞", Y: float64(*l.FuzzinessLimit)}
		if ci := l.FuzzinessCI; len(ci) == 2 {
			out.Low, out.High = float64(ci[0]), float64(ci[1])
		}
	}
	return out
}

// loggable reports whether v has a place on a logarithmic axis.
func loggable(v float64) bool { return v > 0 && !math.IsInf(v, 0) }

// classes names the labels.
func (a Analysis) classes() []string {
	names := make([]string, len(a.Model.Classes))
	for c, name := range a.Model.Classes {
		names[c] = format.Printable(name)
	}
	return names
}

func (a Analysis) scatter() (Shown, error) {
	f := plot.PCA{Title: a.title(a.text().Say("pca title")), Classes: a.classes()}
	for i, l := range a.Study.Layers {
		if i == 1 && a.Model.InputFeatures() {
			continue
		}
		p, err := NewPanel(l, a.Study.Sets[i])
		if err != nil {
			return Shown{}, err
		}
		p.Like = l.Name == "denoised"
		f.Panels = append(f.Panels, p)
	}
	return Shown{Figure: f, Caption: a.text().Say("pca caption", "like", true)}, nil
}

func (a Analysis) strips() (Shown, error) {
	switch {
	case !a.ascends():
		return Shown{}, errNoAscent
	case !a.pixels():
		return Shown{}, errNoPixels
	}
	t := a.Study.Walk
	f := plot.Strips{Title: a.text().Say("strips title", "name", a.name()), Rows: a.Model.Shape.Rows,
		Cols:  a.Model.Shape.Cols,
		Scale: levels}
	names := a.classes()
	for i := range min(a.Study.Classes, t.Samples, mostStrips) { // the first image of each class comes first
		s := plot.Strip{Name: fmt.Sprint("image ", t.Index[i]), Label: names[t.Labels[i]],
			Predicted: names[t.Predicted[t.Steps][i]]}
		for step := range t.Steps + 1 {
			s.X = append(s.X, a.visible(t.XAt(step).Row(i)))
		}
		f.Strips = append(f.Strips, s)
	}
	return Shown{Figure: f, Wide: t.Steps > 5, Caption: a.text().Say("strips caption")}, nil
}

func (a Analysis) paths() (Shown, error) {
	plane, t := a.Study.Plane, a.Study.Paths
	switch {
	case !a.ascends():
		return Shown{}, errNoAscent
	case plane.Dim < 2:
		return Shown{}, errors.New("there is only one feature")
	}
	axis := func(k int) string {
		return a.text().Say("paths axis", "k", k+1, "share", plane.ExplainedVariance[k])
	}
	f := plot.PlanePaths{Title: a.text().Say("paths title", "name", a.name()), X: axis(0), Y: axis(1),
		Classes: a.classes()}
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
	first, last := a.nearest(0), a.nearest(t.Steps)
	return Shown{Figure: f, Caption: a.text().Say("paths caption", "samples", t.Samples, "dim", t.Dim,
		"plane", plane.ExplainedVariance[0]+plane.ExplainedVariance[1], "first", first, "last", last)}, nil
}

// nearest is the mean distance of the paths to the nearest centre after a step, in all dimensions.
func (a Analysis) nearest(step int) float64 {
	mu, t := a.Model.Potential().Centres(), a.Study.Paths
	sum := 0.0
	for i := range t.Samples {
		x, least := t.XAt(step).Row(i), math.Inf(1)
		for k := range mu.Rows {
			least = min(least, linalg.Distance(x, mu.Row(k)))
		}
		sum += least
	}
	return sum / float64(t.Samples)
}

// places projects rows onto a plane.
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

// nearlyEqual is the share of the components from which their effective number says that weights are alike.
const nearlyEqual = 0.999

func (a Analysis) weights() (Shown, error) {
	f := plot.Weights{Title: a.text().Say("weights title", "name", a.name())}
	for _, w := range a.Study.Landscape.Weights {
		f.C = append(f.C, math.Log(max(w, math.SmallestNonzeroFloat64)))
	}
	if _, alike := a.shares(); alike != "" {
		return Shown{}, errors.New(alike)
	}
	return Shown{Figure: f, Caption: a.text().Say("weights caption")}, nil
}

// idleShare is the share of the components from which leaving others out is not worth a figure.
const idleShare = 0.9

// work shows how many components are active and how many are computed.
func (a Analysis) work() (Shown, error) {
	steps := a.Study.Work
	if len(steps) < 2 {
		return Shown{}, errors.New("there are fewer than two ascent steps")
	}
	k := a.Model.Config.Components
	if k < 2 {
		return Shown{}, errors.New("there is only one component")
	}
	f := plot.Lines{Title: a.text().Say("work title", "name", a.name()), X: "ascent step", Y: a.text().Say("work y"),
		LinearX: true, LogY: true, From: 1, To: float64(k)}
	least := float64(k)
	for _, s := range steps {
		least = min(least, s.Computed)
	}
	if least > idleShare*float64(k) {
		return Shown{}, errors.New(a.text().Say("work idle", "all", least == float64(k), "least", least,
			"components", k))
	}
	lines := []struct {
		name string
		y    func(ascent.StepWork) float64
	}{
		{"responsibility not negligible", func(s ascent.StepWork) float64 { return s.Active }},
		{"computed by the sparse route", func(s ascent.StepWork) float64 { return s.Computed }},
		{"by the dense route", func(ascent.StepWork) float64 { return float64(k) }},
	}
	for n, line := range lines {
		s := plot.Series{Name: line.name, Colour: n, Reference: n == 2}
		for t, w := range steps {
			s.Points = append(s.Points, plot.Point{X: float64(t), Y: line.y(w)})
		}
		f.Series = append(f.Series, s)
	}
	return Shown{Figure: f, Caption: a.text().Say("work caption")}, nil
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

// heaviest returns at most most components by weight, or by number if their weights are alike, and a sentence if
// that leaves some out.
func (a Analysis) heaviest(most int) (order []int, left string) {
	order = slices.Clone(a.Study.Landscape.Order)
	_, alike := a.shares()
	if alike != "" {
		slices.Sort(order)
	}
	if len(order) > most {
		left = a.text().Say("heaviest of", "shown", most, "components", len(order), "alike", alike != "")
		order = order[:most]
	}
	return order, left
}

func (a Analysis) spectra() (Shown, error) {
	l := a.Study.Landscape
	order, left := a.heaviest(mostSpectra)
	f := plot.Spectra{Title: a.text().Say("spectra title", "name", a.name())}
	for _, i := range order {
		f.Values = append(f.Values, l.Spectra[i].Eigenvalues)
	}
	if s := l.Spectra[order[0]]; equalSpectra(l.Spectra) {
		return Shown{}, errors.New(a.text().Say("equal spectra", "components", l.Components, "largest", s.Largest,
			"smallest", s.Smallest))
	}
	return Shown{Figure: f,
		Caption: a.text().Say("spectra caption", "largest", l.LambdaMax, "size", l.Alpha*l.LambdaMax, "left", left),
	}, nil
}

// equalSpectra reports whether several spectra would be one line.
func equalSpectra(spectra []study.Spectrum) bool {
	for _, s := range spectra[1:] {
		for j, v := range s.Eigenvalues {
			if w := spectra[0].Eigenvalues[j]; math.Abs(v-w) > 1e-3*math.Abs(w) {
				return false
			}
		}
	}
	return len(spectra) > 1
}

// shares returns a caption for each component: its number and its weight, all with the same
// number of decimals. If the weights are alike, it leaves them out and returns a sentence that says so.
func (a Analysis) shares() (captions []string, alike string) {
	w, order := a.Study.Landscape.Weights, a.Study.Landscape.Order
	heaviest := 100 * w[order[0]]
	decimals := max(0, 2-int(math.Floor(math.Log10(heaviest)+1e-3))) // rounding may turn 1 into 0.99999
	share := func(i int) string { return fmt.Sprintf("%.*f%%", decimals, 100*w[i]) }
	switch most, least := share(order[0]), share(order[len(order)-1]); {
	case most == least:
		alike = a.text().Say("equal weights", "weight", most)
	case a.carriers() > nearlyEqual*float64(len(w)):
		alike = a.text().Say("alike weights", "most", most, "least", least)
	}
	for i := range w {
		caption := fmt.Sprint(i)
		if alike == "" {
			caption += ": " + share(i)
		}
		captions = append(captions, caption)
	}
	return captions, alike
}

func (a Analysis) centres() (Shown, error) {
	if !a.pixels() {
		return Shown{}, errNoPixels
	}
	mu := a.Model.Potential().Centres()
	order, left := a.heaviest(mostCentres)
	captions, alike := a.shares()
	f := plot.Gallery{Title: a.text().Say("centres title", "name", a.name()), Note: sentence(alike),
		Rows: a.Model.Shape.Rows, Cols: a.Model.Shape.Cols, Scale: levels}
	for _, i := range order {
		f.Images = append(f.Images, plot.Image{Caption: captions[i], X: [][]float32{a.visible(mu.Row(i))}})
	}
	return Shown{Figure: f, Wide: len(order) > 30,
		Caption: a.text().Say("centres caption", "alike", alike != "", "left", left)}, nil
}

// sentence is a text with a capital and a full stop; "" stays.
func sentence(text string) string {
	if text == "" {
		return ""
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}

// smallMove is the share of the distance between centres from which a move can be seen.
const smallMove = 0.01

func (a Analysis) moves() (Shown, error) {
	moves := a.Study.Moves
	switch {
	case !a.pixels():
		return Shown{}, errNoPixels
	case moves == nil:
		return Shown{}, errors.New(a.Unmoved)
	case moves.Nearest > 0 && slices.Max(moves.Moved) < smallMove*moves.Nearest:
		return Shown{}, errors.New(a.text().Say("small moves", "moved", slices.Max(moves.Moved), "nearest",
			moves.Nearest))
	}
	order, left := a.heaviest(mostMoves)
	f := plot.Gallery{Title: a.text().Say("moves title", "name", a.name()), Series: []string{"initial", "final"},
		Rows: a.Model.Shape.Rows, Cols: a.Model.Shape.Cols, Scale: levels}
	for _, i := range order {
		caption := fmt.Sprintf("%d: %s", i, format.Significant(float64(moves.Moved[i])))
		f.Images = append(f.Images, plot.Image{Caption: caption, X: [][]float32{
			a.visible(moves.Initial.Row(i)), a.visible(moves.Final.Row(i)),
		}})
	}
	return Shown{Figure: f, Wide: len(order) > 15,
		Caption: a.text().Say("moves caption", "nearest", moves.Nearest, "left", left)}, nil
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
	captions, alike := a.shares()
	f := plot.Maps{Title: a.text().Say("variance title", "name", a.name()), Rows: a.Model.Shape.Rows,
		Cols:  a.Model.Shape.Cols,
		Scale: plot.Scale{Unit: a.text().Say("variance unit", "mean", a.Model.Shape.Channels > 1)}}
	lo, hi := math.Inf(1), 0.0
	add := func(caption string, v []float64) {
		x := make([]float32, len(v))
		for j, s := range v {
			std := float64(a.std(j))
			s *= std * std
			x[j] = float32(s)
		}
		x = a.Model.Shape.ChannelMean(x)
		for _, s := range x {
			lo, hi = min(lo, float64(s)), max(hi, float64(s))
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
	f.Note = a.text().Say("variance note", "alike", sentence(alike), "singular", len(l.Singular))
	return Shown{Figure: f, Wide: len(order) > 30, Caption: a.text().Say("variance caption", "left", left)}, nil
}
