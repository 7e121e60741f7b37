package reproduce

import "dpnbench/dpn/separation"

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
)

// label is the name and unit of a number.
type label struct{ name, unit string }

// numbersOf are the numbers of a claim: those published, and the labels of those measured, in the
// order of judged.numbers. No labels: those of the published ones.
type numbersOf struct {
	published []Quantity
	measured  []label
}

// one is a claim about a single number, measured as it was published.
func one(name string, value float64, unit string) numbersOf {
	return numbersOf{published: []Quantity{{name, separation.Float(value), unit}}}
}

// withoutNumber is a claim in words with numbers of the measurement.
func withoutNumber(measured ...label) numbersOf { return numbersOf{measured: measured} }

// accuracies are the labels of a network's accuracy and that of its best rival, by setting.
func accuracies(rival string, settings ...string) (out []label) {
	for _, s := range settings {
		out = append(out, label{"DPN, " + s, percent}, label{rival + ", " + s, percent})
	}
	return out
}

const bestBaseline = "best baseline"

// quantities has the numbers of the claims by ID. Claims without any are not listed.
var quantities = map[string]numbersOf{
	"table1-input-d":           one("D", 2.14, none),
	"table1-input-distance":    one("mean distance between class means", 24.51, grey),
	"table1-input-ratio":       one("between/within variance ratio", 0.89, none),
	"pca-input-1":              one("share of variance", 0.16, none),
	"pca-input-2":              one("share of variance", 0.11, none),
	"table1-denoised-d":        one("D", 2.81, none),
	"table1-denoised-distance": one("mean distance between class means", 18.24, grey),
	"table1-denoised-ratio":    one("between/within variance ratio", 2.10, none),
	"displacement":             one("Frobenius norm of the displacement", 69.6, grey),
	"pca-denoised-1":           one("share of variance", 0.28, none),
	"pca-denoised-2":           one("share of variance", 0.18, none),
	"table1-logits-d":          one("D", 9.53, none),
	"table1-logits-ratio":      one("between/within variance ratio", 8.21, none),
	"table1-logits-distance":   one("mean distance between class means", 17.17, "logits"),
	"pca-logits-1":             one("share of variance", 0.55, none),
	"pca-logits-2":             one("share of variance", 0.18, none),
	"table1-features": {published: []Quantity{{"D", 2.14, none}, {"mean distance between class means", 24.51, grey},
		{"between/within variance ratio", 0.89, none}}},
	"logits-triple": {[]Quantity{{"D, denoised", 2.81, none}, {"D, logits", 9.53, none}},
		[]label{{"factor of D from denoised features to logits", none}}},
	"denoising-raises-d": {[]Quantity{{"D, input", 2.14, none}, {"D, denoised", 2.81, none}},
		[]label{{"D, input", none}, {"D after 10 steps", none}, {"D after 30 steps", none}}},
	"ratio-rises": {published: []Quantity{{"between/within variance ratio, input", 0.89, none},
		{"between/within variance ratio, denoised", 2.10, none}}},

	"no-law": withoutNumber(label{"trainings in which D decreases", runs}, label{"trainings", runs},
		label{"trainings that follow the law", runs}, label{"Pearson's coefficient", none}),
	"maintain-or-raise": {[]Quantity{{"D, input", 2.14, none}, {"D, denoised", 2.81, none}},
		[]label{{"factor of D from x_0 to x_n", none}}},
	"law-feed-forward": {[]Quantity{{"rho, upper bound", 1, none}},
		[]label{{"published settings that follow the law", runs}, {"published settings", runs},
			{"published settings with Pearson's coefficient at most -0.99", runs}, {"Pearson's coefficient", none}}},
	"law-universal": withoutNumber(label{"other networks that follow the law", runs}, label{"other networks", runs}),

	"potential-learns": withoutNumber(label{"parameters of the potential that changed", "parameters"}),
	"no-collapse": withoutNumber(label{"images that converge", images}, label{"images", images},
		label{"end points", "points"}),
	"stable-points": {[]Quantity{{"steps", 30, steps}}, []label{{"converged after 30 steps", percent},
		{"converged", percent}, {"steps, median", steps}}},
	"nearest-centre": withoutNumber(label{"images that end at the nearest centre", percent}),
	"phi-rises":      withoutNumber(label{"steps on which phi rises", steps}, label{"steps", steps}),
	"curl":           withoutNumber(label{"asymmetry of the Hessian", none}),

	"poster-accuracy": {[]Quantity{{"accuracy, lower bound", 86, percent}},
		[]label{{"test accuracy", percent}, {"best validation accuracy", percent}}},
	"poster-epoch": {[]Quantity{{"best epoch", 17, epochUnit}},
		[]label{{"best epoch by accuracy", epochUnit}, {"best epoch by loss", epochUnit}}},
	"poster-loss": one("lowest validation loss", 0.4, "nats"),
	"poster-gap": withoutNumber(label{"epochs with a validation loss below the training loss", epochs},
		label{"epochs", epochs}),

	"sota": withoutNumber(label{"DPN, test accuracy", percent}, label{"DPN, cost", perImage},
		label{"linear classifier, test accuracy", percent}, label{"linear classifier, cost", perImage}),
	"sota-clean":          withoutNumber(accuracies(bestBaseline, robustSettings()[0])...),
	"sota-gaussian-0.3":   withoutNumber(accuracies(bestBaseline, robustSettings()[1])...),
	"sota-gaussian-0.5":   withoutNumber(accuracies(bestBaseline, robustSettings()[2])...),
	"sota-saltpepper-0.3": withoutNumber(accuracies(bestBaseline, robustSettings()[3])...),
	"sota-noisy-training": withoutNumber(accuracies(bestBaseline, robustSettings()...)...),
	"langevin": withoutNumber(label{"difference from the ascent at temperature 0", grey},
		label{"difference from the ascent at temperature 1", grey}),
	"generation": withoutNumber(label{"acceptance", percent}, label{"least effective sample size", "samples"}),
	"uncertainty": withoutNumber(label{"tasks in which phi is better than chance", "tasks"}, label{"tasks", "tasks"},
		label{"tasks in which phi is better than the largest softmax", "tasks"}),
	"low-dimension": withoutNumber(label{"784 pixels", perImage}, label{"64 features", perImage}),
	"robustness":    withoutNumber(accuracies("linear classifier", robustSettings()[1:]...)...),
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
