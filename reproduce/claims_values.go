package reproduce

import (
	"fmt"

	"dpnbench/dpn/separation"
)

// Quantity is a number of a claim with its name and unit ("1": none).
type Quantity struct {
	Name  string           `json:"name"`
	Value separation.Float `json:"value"`
	Unit  string           `json:"unit"`
}

// Units of quantities.
const (
	none      = "1"
	percent   = "%"
	grey      = "normalised grey levels" // of the input divided by their standard deviation
	images    = "images"
	steps     = "steps"
	epochs    = "epochs"
	runs      = "trainings"
	perImage  = "multiply-adds per image"
	epochUnit = "epoch"

	parameters = "parameters"
	nats       = "nats"
	decibel    = "dB"
)

// label is the name and unit of a number.
type label struct{ name, unit string }

// numbersOf are the numbers of a claim: those published, and the labels of those measured, in the
// order of judged.numbers. No labels: those of the published ones.
type numbersOf struct {
	published []Quantity
	measured  []label
}

// accuracies are the labels of a network's accuracy and that of the best baseline, by setting.
func accuracies(settings ...string) (out []label) {
	for _, s := range settings {
		out = append(out, label{"DPN, " + s, percent}, label{bestBaseline + ", " + s, percent})
	}
	return out
}

// Numbers of several claims.
var (
	denoisedQuantities = []Quantity{{"D", 2.81, none}, {"mean distance between class means", 18.24, grey},
		{"between/within variance ratio", 2.10, none}, {"Frobenius norm of the displacement", 69.6, grey},
		{"share of variance, first component", 0.28, none}, {"share of variance, second component", 0.18, none}}
	jointLabels      = []label{{"probability", none}, {"seeds", "seeds"}}
	posterQuantities = []Quantity{{"accuracy, lower bound", 86, percent}, {"lowest validation loss", 0.4, nats},
		{"best epoch", 17, epochUnit}}
	posterLabels = []label{{"test accuracy", percent}, {"lowest validation loss", nats}, {"best epoch", epochUnit}}
)

// afterSteps labels a figure at x_0, after 10 and after 30 steps.
func afterSteps(name, unit string) []label {
	return []label{{name + " at x_0", unit}, {name + " after 10 steps", unit}, {name + " after 30 steps", unit}}
}

// againstDrawn labels losses and epochs of both kinds of centres.
func againstDrawn(training string) []label {
	return []label{{"loss by k-means, " + training, nats}, {"loss with drawn centres, " + training, nats},
		{"epochs by k-means, " + training, epochs}, {"epochs with drawn centres, " + training, epochs}}
}

// eachNoise labels one figure, or two, under each noise.
func eachNoise(first, second, unit string) (out []label) {
	for _, s := range robustSettings()[1:] {
		out = append(out, label{first + ", " + s, unit})
		if second != "" {
			out = append(out, label{second + ", " + s, unit})
		}
	}
	return out
}

func inkLabels() (out []label) {
	for _, s := range robustSettings()[1:] {
		for _, what := range []string{"ink at x_0", "ink at x_30", "background at x_0", "background at x_30"} {
			out = append(out, label{what + ", " + s, "grey level"})
		}
	}
	return out
}

// threeNetworks labels a figure of the published network and of its baselines under each noise.
func threeNetworks(name, unit string) (out []label) {
	for _, s := range robustSettings()[1:] {
		for _, network := range []string{"DPN", "linear classifier", "MLP"} {
			out = append(out, label{fmt.Sprintf("%s of the %s, %s", name, network, s), unit})
		}
	}
	return out
}

// tasks labels the counts of tasks of a score.
func tasks(score string) []label {
	return []label{{"tasks in which " + score + " is better than chance", "tasks"}, {"tasks", "tasks"},
		{"tasks in which it is better than the largest softmax", "tasks"},
		{"tasks in which it is worse than chance", "tasks"}}
}

const bestBaseline = "best baseline"

// quantities has the numbers of the claims by ID. Claims without any are not listed.
var quantities = map[string]numbersOf{
	"table1-input-d":           {published: []Quantity{{"D", 2.14, none}}},
	"table1-input-distance":    {published: []Quantity{{"mean distance between class means", 24.51, grey}}},
	"table1-input-ratio":       {published: []Quantity{{"between/within variance ratio", 0.89, none}}},
	"pca-input-1":              {published: []Quantity{{"share of variance", 0.16, none}}},
	"pca-input-2":              {published: []Quantity{{"share of variance", 0.11, none}}},
	"table1-denoised-d":        {published: []Quantity{{"D", 2.81, none}}},
	"table1-denoised-distance": {published: []Quantity{{"mean distance between class means", 18.24, grey}}},
	"table1-denoised-ratio":    {published: []Quantity{{"between/within variance ratio", 2.10, none}}},
	"displacement":             {published: []Quantity{{"Frobenius norm of the displacement", 69.6, grey}}},
	"pca-denoised-1":           {published: []Quantity{{"share of variance", 0.28, none}}},
	"pca-denoised-2":           {published: []Quantity{{"share of variance", 0.18, none}}},
	"table1-logits-d":          {published: []Quantity{{"D", 9.53, none}}},
	"table1-logits-ratio":      {published: []Quantity{{"between/within variance ratio", 8.21, none}}},
	"table1-logits-distance":   {published: []Quantity{{"mean distance between class means", 17.17, "logits"}}},
	"pca-logits-1":             {published: []Quantity{{"share of variance", 0.55, none}}},
	"pca-logits-2":             {published: []Quantity{{"share of variance", 0.18, none}}},
	"table1-features": {published: []Quantity{{"D", 2.14, none}, {"mean distance between class means", 24.51, grey},
		{"between/within variance ratio", 0.89, none}}},
	"logits-triple": {[]Quantity{{"D, denoised", 2.81, none}, {"D, logits", 9.53, none}},
		[]label{{"factor of D from denoised features to logits", none}}},
	"denoising-raises-d": {[]Quantity{{"D, input", 2.14, none}, {"D, denoised", 2.81, none}},
		[]label{{"D, input", none}, {"D after 10 steps", none}, {"D after 30 steps", none}}},
	"ratio-rises": {published: []Quantity{{"between/within variance ratio, input", 0.89, none},
		{"between/within variance ratio, denoised", 2.10, none}}},

	"no-law": {measured: []label{{"trainings in which D decreases", runs}, {"trainings", runs},
		{"trainings that follow the law", runs}, {"Pearson's coefficient", none}}},
	"maintain-or-raise": {[]Quantity{{"D, input", 2.14, none}, {"D, denoised", 2.81, none}},
		[]label{{"factor of D from x_0 to x_n", none}}},
	"law-feed-forward": {[]Quantity{{"rho, upper bound", 1, none}},
		[]label{{"published settings that follow the law", runs}, {"published settings", runs},
			{"published settings with Pearson's coefficient at most -0.99", runs}, {"Pearson's coefficient", none}}},
	"law-universal": {measured: []label{{"other networks that follow the law", runs}, {"other networks", runs}}},

	"d-as-printed":    {published: []Quantity{{"D", 2.14, none}}},
	"table1-denoised": {denoisedQuantities, jointLabels},
	"table1-logits": {[]Quantity{{"D", 9.53, none}, {"mean distance between class means", 17.17, "logits"},
		{"between/within variance ratio", 8.21, none}, {"share of variance, first component", 0.55, none},
		{"share of variance, second component", 0.18, none}}, jointLabels},
	"table1-setup": {[]Quantity{{"steps", 30, steps}}, []label{{"probability of the figures after 30 steps", none},
		{"probability of the figures after 10 steps", none}, {"D after 30 steps", none}}},
	"last-layers-lowest": {measured: []label{{"trainings with the lowest D in the last two layers", runs},
		{"trainings with the lowest D at the logits", runs}, {"trainings", runs}}},
	"improves-discrimination": {measured: append(afterSteps("accuracy of a linear classifier", percent),
		label{"accuracy of the nearest class mean at x_0", percent},
		label{"accuracy of the nearest class mean after 30 steps", percent})},
	"efficient-embedding": {measured: afterSteps("accuracy of a linear classifier of two components", percent)},
	"global-statistics":   {measured: afterSteps("total variance", "squared "+grey)},
	"new-metrics":         {measured: []label{{"rank correlation", none}, {"features", "features"}}},

	"potential-learns": {measured: []label{{"parameters of the potential that changed", parameters}}},
	"end-to-end": {measured: []label{{"parameters of extractor and potential that changed, listing", parameters},
		{"parameters of the potential that changed, exact gradient", parameters},
		{"parameters of the extractor that changed, exact gradient", parameters}}},
	"learnable-step": {measured: []label{{"step size at first, listing", none}, {"step size, listing", none},
		{"step size at first, exact gradient", none}, {"step size, exact gradient", none}}},
	"local-geometry": {measured: []label{{"parameters of the potential that changed", parameters}}},
	"k-means":        {measured: append(againstDrawn("listing"), againstDrawn("exact gradient")...)},
	"detach-memory": {measured: []label{{"memory with the exact gradient", "GB"},
		{"memory without", "GB"}}},

	"no-collapse": {measured: []label{{"neighbours kept after 30 steps", percent},
		{"images that converge", images}, {"images", images}, {"end points", "points"},
		{"least points of a class", "points"}, {"most points of a class", "points"}}},
	"stable-points": {[]Quantity{{"steps", 30, steps}}, []label{{"converged after 30 steps", percent},
		{"converged", percent}, {"steps, median", steps}}},
	"nearest-centre": {measured: []label{{"images that end at the nearest centre", percent},
		{"converged after 30 steps", percent},
		{"images with the same nearest centre after 30 steps", percent}}},
	"same-class": {measured: []label{{"images with the most frequent class of their end point", percent},
		{"images with the most frequent class of their first centre", percent}}},
	"phi-nearness": {measured: []label{{"rank correlation", none}, {"rank correlation, weakest step", none}}},
	"free-energy":  {measured: []label{{"steps on which phi rises", steps}, {"steps", steps}}},

	"denoises": {measured: append(eachNoise("signal-to-noise ratio before", "signal-to-noise ratio after", decibel),
		label{"signal-to-noise ratio of clean images after", decibel})},
	"one-pass":      {measured: eachNoise("gain over one step", "", decibel)},
	"autoamplifier": {measured: inkLabels()},
	"log-sum-exp": {measured: []label{{"images where the plain sum overflows", images},
		{"images where it underflows", images}, {"images without a finite potential", images},
		{"images", images}}},
	"positive-weights": {measured: []label{{"least derivative", none}, {"greatest derivative", none}}},
	"variational":      {measured: []label{{"largest relative difference", none}}},
	"optimal-step": {measured: []label{{"published step size", none}, {"steps to a standstill", steps},
		{"other step size", none}, {"steps to a standstill with it", steps}}},

	"poster-accuracy": {[]Quantity{{"accuracy, lower bound", 86, percent}, {"lowest validation loss", 0.4, nats}},
		[]label{{"test accuracy", percent}, {"best validation accuracy", percent}, {"lowest validation loss", nats}}},
	"poster-epoch": {[]Quantity{{"best epoch", 17, epochUnit}},
		[]label{{"best epoch by accuracy", epochUnit}, {"best epoch by loss", epochUnit}}},
	"poster-loss": {published: []Quantity{{"lowest validation loss", 0.4, nats}}},
	"poster-gap": {measured: []label{{"epochs with a validation loss below the training loss", epochs},
		{"epochs", epochs}}},
	"poster-steady": {measured: []label{{"epochs in which the validation loss rises", epochs},
		{"best epoch", epochUnit}}},
	"poster-overfitting": {measured: []label{{"greatest rise of the validation loss after its lowest value", percent},
		{"validation loss less training loss", nats}}},
	"poster-network": {posterQuantities, posterLabels},
	"poster-cosine":  {posterQuantities, posterLabels},

	"sota": {measured: []label{{"DPN, test accuracy", percent}, {"DPN, cost", perImage},
		{"linear classifier, test accuracy", percent}, {"linear classifier, cost", perImage},
		{"MLP, test accuracy", percent}, {"MLP, cost", perImage}}},
	"low-dimension": {measured: []label{{"784 pixels", perImage}, {"784 pixels, parameters", "bytes"},
		{"64 features", perImage}, {"64 features, parameters", "bytes"}}},
	"robustness":      {measured: threeNetworks("accuracy", percent)},
	"adapts-to-noise": {measured: threeNetworks("accuracy less that on clean images", "percentage points")},
	"structure-preservation": {measured: []label{{"neighbours kept, published network", percent},
		{"neighbours kept, MLP", percent}}},
	"uncertainty": {measured: tasks("phi")},
	"near-maxima": {measured: tasks("the entropy")},

	"sota-clean":          {measured: accuracies(robustSettings()[0])},
	"sota-gaussian-0.3":   {measured: accuracies(robustSettings()[1])},
	"sota-gaussian-0.5":   {measured: accuracies(robustSettings()[2])},
	"sota-saltpepper-0.3": {measured: accuracies(robustSettings()[3])},
	"sota-noisy-training": {measured: accuracies(robustSettings()...)},
	"langevin": {measured: []label{{"difference from the ascent at temperature 0", grey},
		{"difference from the ascent at temperature 1", grey}}},
	"generation": {measured: []label{{"acceptance", percent}, {"least effective sample size", "samples"}}},
}

// values returns the published and the measured numbers of a claim.
func values(id string, numbers []float64) (published, measured []Quantity) {
	q := quantities[id]
	published, measured = append([]Quantity{}, q.published...), []Quantity{}
	labels := q.measured
	if len(labels) == 0 {
		for _, p := range q.published {
			labels = append(labels, label{p.Name, p.Unit})
		}
	}
	for i, v := range numbers {
		measured = append(measured, Quantity{labels[i].name, separation.Float(v), labels[i].unit})
	}
	return published, measured
}

// numbers converts the numbers of a judgement.
func numbers[T int | float64 | separation.Float](v ...T) []float64 {
	var out []float64
	for _, x := range v {
		out = append(out, float64(x))
	}
	return out
}
