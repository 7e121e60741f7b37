package dpn

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/internal/format"
)

// Warning says that training has left the healthy range, and which settings to change. Each kind
// is given once a run.
type Warning struct {
	// Kind is edge, overshoot, falls, unused, collapse, one-hot, clipped, exploding, vanishing, pooled,
	// classes or unconverged.
	Kind string `json:"kind"`
	Text string `json:"text"`
	Note bool   `json:"note,omitempty"` // worth knowing, no failure in sight: logged as information
}

// Bounds of the healthy range. Between edge and overshoot networks still learn well: raw ends
// there (2.4), and compact with a potential-lr of 1e-3 (2.2 on the built-in digits, where 22%
// of the steps lower phi). Settings that fail go to 6 to 40, or most of their steps lower phi.
const (
	edge           = 2    // alpha times the largest eigenvalue of P: below it no step lowers phi
	overshoot      = 4    // the same: from here on many do
	fewFalls       = 0.01 // share of the steps that lower phi
	manyFalls      = 0.2
	leastEffective = 1.5  // components, of 3 or more
	soft           = 0.1  // entropy, in nats, from which
	hardened       = 1e-3 // times it is a collapse
	fairShare      = 20   // images of an epoch for each component, from which unused ones count
	manyClipped    = 0.9  // share of the updates
	farClipped     = 30   // median norm over the limit
	exploded       = 1e4  // median norm of the potential's gradient
	vanished       = 1e-8 // the same, over that of the classifier
)

// warnings holds what was measured against the healthy range. norm is the median of that
// of the whole gradient.
func (c Config) warnings(d Diagnostics, norm float64) (list []Warning) {
	warn := func(when bool, kind, format string, args ...any) {
		if when {
			list = append(list, Warning{Kind: kind, Text: fmt.Sprintf(format, args...)})
		}
	}
	exact := c.Gradient == GradientExact
	slower, classwise := "", ""
	if exact {
		slower = ", or a lower potential-lr"
	}
	if !c.classwise() {
		classwise = ", init classwise"
	}
	falls := 1 - d.Rising
	steps := fmt.Sprintf(
		"alpha times the largest eigenvalue of P is %.3g, and %.3g%% of the ascent steps lower phi", d.AlphaLambda,
		100*falls)
	far := "they overshoot"
	if falls <= fewFalls {
		far = "they may overshoot"
	}
	warn(d.AlphaLambda >= overshoot, "overshoot", "%s: %s; try a smaller alpha or scale%s", steps, far, slower)
	warn(falls > manyFalls, "falls", "%s, expected at most %g%%; try a smaller alpha or scale%s", steps,
		100*fewFalls, slower)
	if len(list) == 0 && (d.AlphaLambda >= edge || falls > fewFalls) {
		list = append(list, Warning{
			"edge",
			fmt.Sprintf("%s: below %d none would; a smaller alpha or scale%s takes it there", steps, edge, slower),
			true,
		})
	}
	warn(d.Unused > 0, "unused",
		"%d of %d components have no responsibility above 0.01 for any sample of the epoch; try fewer components%s%s",
		d.Unused, c.Components, classwise, slower)
	warn(d.EffectiveComponents < leastEffective && c.Components > 2, "collapse",
		"all samples share %.3g of %d components in effect; try fewer components%s, a smaller scale%s",
		d.EffectiveComponents, c.Components, classwise, slower)
	warn(d.EntropyStart >= soft && d.EntropyFirst < hardened*d.EntropyStart, "one-hot",
		"the entropy of the responsibilities fell from %.3g to %.2g nats: "+
			"each sample has one component, and the weights c have stopped learning; try a smaller scale%s",
		d.EntropyStart, d.EntropyFirst, slower)
	warn(d.Clipped >= manyClipped && norm > farClipped*c.Clip, "clipped",
		"%.0f%% of the updates clipped the gradient, from a median norm of %.3g to clip %g; "+
			"try a smaller alpha or scale, fewer steps, or a lower lr and potential-lr",
		100*d.Clipped, norm, c.Clip)
	landscape, classifier := d.GradientNorms[potential.Group], d.GradientNorms[groupClassifier]
	clip := ""
	if c.Clip == 0 {
		clip = ", or clip 1"
	}
	warn(landscape > exploded, "exploding",
		"the gradient of the potential has a median norm of %.3g; "+
			"try fewer steps, a smaller alpha or scale, a lower potential-lr%s",
		landscape, clip)
	warn(exact && c.Steps > 0 && classifier > 0 && landscape < vanished*classifier, "vanishing",
		"no gradient reaches the potential: a median norm of %.2g, %.2g for the classifier; "+
			"try fewer steps, a smaller alpha or scale",
		landscape, classifier)
	return list
}

// Signs that training ended far from converged. A run of fewer epochs is a try.
const (
	leastEpochs = 3    // that say something
	guessing    = 0.8  // training loss over that of guessing
	diverged    = 1.5  // the same: from here on the rates are too high, not too low
	stillFalls  = 0.85 // validation loss over that after three quarters of the epochs
)

// milder are the kinds of warnings that advise lower rates, or milder settings of the ascent.
var milder = []string{"overshoot", "falls", "collapse", "one-hot", "clipped", "exploding"}

// unconverged warns of a training that has ended far from converged. It asks for a higher rate only if no warning of
// the run, whose kinds are warned, has asked for less.
func (m *Model) unconverged(history []Epoch, warned []string) []Warning {
	n := len(history)
	if n < leastEpochs {
		return nil
	}
	last, before := history[n-1], history[(3*n+3)/4-1]
	guess := math.Log(float64(len(m.Classes)))
	more := fmt.Sprintf("try more epochs (%d, %d updates so far)", last.Epoch, last.Updates)
	isMilder := func(kind string) bool { return slices.Contains(milder, kind) }
	var text string
	switch at := slices.IndexFunc(warned, isMilder); {
	case last.TrainLoss > diverged*guess && guess > 0:
		text = fmt.Sprintf("training ended with a loss of %.3g, far above the %.3g of guessing: try a lower lr or "+
			"potential-lr", last.TrainLoss, guess)
	case last.TrainLoss > guessing*guess && guess > 0 && at >= 0:
		text = fmt.Sprintf("training ended with a loss of %.3g, near the %.3g of guessing: try first what the "+
			"warning of kind %s says", last.TrainLoss, guess, warned[at])
	case last.TrainLoss > guessing*guess && guess > 0:
		text = fmt.Sprintf("training ended with a loss of %.3g, near the %.3g of guessing: %s, or a higher lr or "+
			"potential-lr", last.TrainLoss, guess, more)
	case n > 3 && last.ValLoss != nil && *last.ValLoss < stillFalls**before.ValLoss &&
		*last.ValLoss < *history[n-2].ValLoss:
		text = fmt.Sprintf("the validation loss still fell when training ended, from %.3g after epoch %d to %.3g: %s",
			*before.ValLoss, before.Epoch, *last.ValLoss, more)
	default:
		return nil
	}
	return []Warning{{Kind: "unconverged", Text: text}}
}

// classWarning says in one line which of the classes lack images to train or to validate on, or returns
// "". Without validation images those do not count.
func classWarning(train, val *dataset.Set, classes []string) string {
	count := func(labels []uint16) []int {
		n := make([]int, len(classes))
		for _, y := range labels {
			n[y]++
		}
		return n
	}
	trained, validated := count(train.Labels), count(val.Labels)
	var unseen []string
	for y, n := range trained {
		if n > 0 && validated[y] == 0 && val.Len() > 0 {
			unseen = append(unseen, classes[y])
		}
	}
	sample := train.Sample()
	parts := append(layer.Gaps(trained, classes, "training "+sample),
		layer.OfClasses("no validation "+sample, unseen)...)
	return strings.Join(parts, "; ")
}

// warnings says of which clusters the components have the pooled covariance.
func (r *InitResult) warnings(c Config) []Warning {
	if len(r.Small) == 0 {
		return nil
	}
	const most = 5
	var list []string
	for _, s := range r.Small[:min(len(r.Small), most)] {
		list = append(list, fmt.Sprintf("%d with %s", s.Component, format.Count(s.Rows, "sample")))
	}
	if more := len(r.Small) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return []Warning{{Kind: "pooled", Text: fmt.Sprintf("some clusters vary in fewer than the %d directions of rank "+
		"(component %s): they get those of the pooled covariance of all clusters; "+
		"try fewer components or a lower rank", c.Rank, strings.Join(list, ", "))}}
}

// begin diagnoses the model that training begins with, and begins the first epoch.
func (f *fitting) begin(ctx context.Context) error {
	p := newPass(f.m.Config.Components)
	if err := f.diagnose(ctx, f.ranks(), p); err != nil {
		return err
	}
	f.Start = p.diagnostics.EntropyFirst
	p.Warnings = append(f.placed.warnings(f.m.Config), f.news(p)...)
	if text := classWarning(f.train, f.val, f.m.Classes); text != "" {
		p.Warnings = append(p.Warnings, Warning{Kind: "classes", Text: text})
	}
	f.warn(p.Warnings)
	f.Running = p
	return nil
}

// diagnose completes the diagnostics of a pass.
func (f *fitting) diagnose(ctx context.Context, by potential.Division, p *pass) error {
	c := f.m.Config
	if f.fixed == nil || c.Gradient == GradientExact { // otherwise only the classifier learns
		d, err := f.m.diagnose(ctx, f.e, by, f.sample)
		if err != nil {
			return err
		}
		f.fixed = &d
	}
	d := *f.fixed
	d.EntropyStart = f.Start
	d.GradientNorms = map[string]float64{}
	for group, v := range p.norms {
		if group != "" {
			d.GradientNorms[group] = median(v)
		}
	}
	d.Clipped = float64(p.Clipped) / float64(max(p.Updates, 1))
	if p.Sums.Samples >= fairShare*c.Components && c.Gradient == GradientExact && c.Steps > 0 {
		for _, u := range p.used {
			if !u {
				d.Unused++
			}
		}
	}
	p.diagnostics = d
	return nil
}

// explain warns of the causes of a number that is not finite, as far as they can be measured.
// Each rank measures all: it is not certain that the others are here, too.
func (f *fitting) explain(ctx context.Context, p *pass) {
	if f.diagnose(ctx, f.m.Config.alone(), p) == nil {
		f.warn(f.news(p))
	}
}

// news returns the warnings of kinds that this run has not given yet.
func (f *fitting) news(p *pass) []Warning {
	list := slices.DeleteFunc(f.m.Config.warnings(p.diagnostics, median(p.norms[""])), func(w Warning) bool {
		return slices.Contains(f.Warned, w.Kind)
	})
	for _, w := range list {
		f.Warned = append(f.Warned, w.Kind)
	}
	return list
}

// warn logs warnings.
func (f *fitting) warn(list []Warning) {
	for _, w := range list {
		level := slog.LevelWarn
		if w.Note {
			level = slog.LevelInfo
		}
		f.opt.Log.Log(context.Background(), level, w.Text, "kind", w.Kind)
	}
}
