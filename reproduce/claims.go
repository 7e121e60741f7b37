package reproduce

import (
	"fmt"
	"strings"

	"dpnbench/dpn"
	"dpnbench/dpn/separation"
)

// Verdicts on a claim.
const (
	Reproduced    = "reproduced"
	OnlyByTheirs  = "reproduced only under their protocol"
	NotReproduced = "not reproduced"
	Untested      = "untested"
)

// Claim is one statement of the documents, and what became of it.
type Claim struct {
	ID        string             `json:"id"`
	Source    string             `json:"source"`    // document and section
	Statement string             `json:"statement"` // in short
	Protocol  string             `json:"protocol"`  // of the measurement
	Published string             `json:"published"`
	Measured  string             `json:"measured"`
	CI        []separation.Float `json:"ci"` // interval of what was measured, or range over seeds; null where there is none
	Verdict   string             `json:"verdict"`
	Why       string             `json:"why"` // one sentence
}

// Results are the experiments that have run; the others are nil.
type Results struct {
	// MNIST says that they ran on MNIST, whole ([IsMNIST]): the documents speak of nothing
	// else, so that on other pictures no claim is judged.
	MNIST bool `json:"mnist"`

	Table1  *Table1    `json:"table1,omitempty"`
	Law     *LawResult `json:"law,omitempty"`
	Trained *Trained   `json:"trained,omitempty"`
	Poster  *Poster    `json:"poster,omitempty"`
	Field   *Field     `json:"field,omitempty"`
	Robust  *Robust    `json:"robust,omitempty"`
}

// judged is what an experiment says of a claim. The zero value: nothing.
type judged struct {
	measured string
	ci       []separation.Float
	verdict  string
	why      string
}

// statement is a claim before it is judged.
type statement struct {
	id, source, text, protocol, published string
	judge                                 func(r Results) judged
}

// Claims returns every claim of the documents with its verdict. Where the experiment has
// not run, or not on MNIST, or there is none here, the verdict is "untested" and says why.
func Claims(r Results) []Claim {
	var out []Claim
	for _, s := range statements {
		j := s.judge(r)
		if argued := s.judge(Results{}).verdict != ""; j.verdict != "" && !argued && !r.MNIST {
			j.verdict, j.why = Untested, "It was measured on other pictures than MNIST's 70,000, of which the documents speak."
		}
		if j.verdict == "" {
			j.verdict = Untested
		}
		if j.why == "" {
			j.why = "The experiment that measures it was not asked for in this run."
		}
		out = append(out, Claim{s.id, s.source, s.text, s.protocol, s.published, j.measured, j.ci, j.verdict, j.why})
	}
	return out
}

const (
	paper    = "paper"
	overview = "overview"
	poster   = "poster"

	few            = "first 32 test pictures, 10 steps, potential untrained"
	robustProtocol = "a DPN of a million multiply-adds beside linear classifier, MLP, MLP with dropout, CNN and nearest class means of no greater cost: same pictures, same noise, seeds; all test pictures"

	whole = "all test pictures, 30 steps, potential untrained, k-means seeds"
)

// rangeOf is the interval of a spread.
func rangeOf(s Spread) []separation.Float { return []separation.Float{s.Least, s.Greatest} }

// leastSeeds is the number of seeds whose range is held against a figure.
const leastSeeds = 3

// tooFew is what is said of a claim on fewer seeds than that.
func tooFew(s Spread, format string) judged {
	return judged{measured: fmt.Sprintf("%s from %d of at least %d seeds", s.text(format), s.Seeds, leastSeeds), why: "So few seeds have no range that could enclose it."}
}

// enclosed judges a published figure by whether the range over seeds encloses it, to the
// digits printed.
func enclosed(s Spread, published, digit float64, why string) judged {
	if s.Seeds < leastSeeds {
		return tooFew(s, "%.4g")
	}
	j := judged{measured: fmt.Sprintf("%.4g (%s over %d seeds)", float64(s.Median), s.text("%.4g"), s.Seeds), ci: rangeOf(s), verdict: NotReproduced, why: why}
	s.Least -= separation.Float(digit / 2)
	s.Greatest += separation.Float(digit / 2)
	if s.Encloses(published) {
		j.verdict = OnlyByTheirs
	}
	return j
}

// printed judges a figure by its agreement with what was printed, to the digits printed.
func printed(v, published, digit float64, why string) judged {
	j := judged{measured: fmt.Sprintf("%.4g", v), verdict: NotReproduced, why: why}
	if v-published <= digit/2 && published-v <= digit/2 {
		j.verdict = OnlyByTheirs
	}
	return j
}

// layerOf returns the figures of one layer over the placements that have it.
func layerOf(places []Placement, trained bool, layer int, figure func(separation.Layer) float64) Spread {
	var v []float64
	for _, p := range places {
		if !trained || p.Trained {
			v = append(v, figure(p.Analysis.Layers[layer]))
		}
	}
	return spread(v)
}

// stepOf returns D after a step over the placements measured on all pictures.
func stepOf(places []Placement, step int) Spread {
	return over(places, func(p Placement) float64 { return float64(p.Analysis.Steps[step].Fuzziness) })
}

const (
	layerInput    = 0
	layerDenoised = 2
	layerLogits   = 3
)

// inputRow judges a figure of the input's row of Table 1.
func inputRow(published, digit float64, figure func(separation.Layer) float64, why func(t *Table1) string) func(Results) judged {
	return func(r Results) judged {
		if r.Table1 == nil {
			return judged{}
		}
		return printed(figure(r.Table1.Few[0].Analysis.Layers[layerInput]), published, digit, why(r.Table1))
	}
}

// seedsRow judges a figure of another row of Table 1 by its range over seeds.
func seedsRow(layer int, published, digit float64, figure func(separation.Layer) float64, why string) func(Results) judged {
	return func(r Results) judged {
		if r.Table1 == nil {
			return judged{}
		}
		s := layerOf(r.Table1.Few, layer == layerLogits, layer, figure)
		if s.Seeds == 0 {
			return judged{why: "No classifier was trained in this run."}
		}
		return enclosed(s, published, digit, why)
	}
}

func fuzziness(l separation.Layer) float64 { return float64(l.Fuzziness) }
func distance(l separation.Layer) float64  { return l.MeanDistance }
func ratio(l separation.Layer) float64     { return float64(l.BetweenWithinRatio) }
func component(i int) func(separation.Layer) float64 {
	return func(l separation.Layer) float64 { return l.ExplainedVariance[i] }
}

// everMore continues a sentence on D of some pictures with what ever more would have.
func everMore(s *separation.Sampling) string {
	switch {
	case s == nil:
		return ""
	case !s.Limit.IsFinite() || len(s.CI) != 2:
		return ", too few to tell what ever more would have"
	}
	return fmt.Sprintf(", and for ever more %.2f (95%% interval %.2f to %.2f)", float64(s.Limit), float64(s.CI[0]), float64(s.CI[1]))
}

// untested is a claim that no experiment here measures.
func untested(why string) func(Results) judged {
	return func(Results) judged { return judged{why: why} }
}

var statements = []statement{
	{"table1-input-d", paper + ", Table 1, row 0", "D of the input is 2.14", few, "2.14",
		inputRow(2.14, 0.01, fuzziness, func(t *Table1) string {
			why := "It is the value of 32 pictures, whose class means lie apart by chance"
			if len(t.Whole) > 0 {
				l := t.Whole[0].Analysis.Layers[layerInput]
				why += fmt.Sprintf(": all %d have %.2f", t.Pictures, float64(l.Fuzziness))
				why += everMore(l.Sampling)
			}
			return why + "."
		})},
	{"table1-input-distance", paper + ", Table 1, row 0", "mean distance between class means of the input", few, "24.51",
		inputRow(24.51, 0.01, distance, func(t *Table1) string {
			return wholeText(t, layerInput, "%.2f", distance)
		})},
	{"table1-input-ratio", paper + ", Table 1, row 0", "between/within variance ratio of the input", few, "0.89",
		inputRow(0.89, 0.01, ratio, func(t *Table1) string { return wholeText(t, layerInput, "%.2f", ratio) })},
	{"pca-input-1", paper + ", section 3.2", "explained variance of the input, first component", few, "0.16",
		inputRow(0.16, 0.01, component(0), func(t *Table1) string { return wholeText(t, layerInput, "%.3f", component(0)) })},
	{"pca-input-2", paper + ", section 3.2", "explained variance of the input, second component", few, "0.11",
		inputRow(0.11, 0.01, component(1), func(t *Table1) string { return wholeText(t, layerInput, "%.3f", component(1)) })},
	{"table1-features", paper + ", Table 1, row 1", "feature extraction leaves every figure as it is", few, "2.14 / 24.51 / 0.89", func(r Results) judged {
		if r.Table1 == nil {
			return judged{}
		}
		layers := r.Table1.Few[0].Analysis.Layers
		input, l := layers[layerInput], layers[1]
		j := judged{measured: fmt.Sprintf("%.2f / %.2f / %.2f", fuzziness(l), distance(l), ratio(l)), verdict: NotReproduced, why: "The features are others than the pixels."}
		if fuzziness(l) == fuzziness(input) && distance(l) == distance(input) && ratio(l) == ratio(input) {
			j.verdict, j.why = Reproduced, "The features are the pixels themselves."
		}
		return j
	}},
	{"table1-denoised-d", paper + ", Table 1, row 2", "D after denoising is 2.81", few, "2.81",
		seedsRow(layerDenoised, 2.81, 0.01, fuzziness, "One value out of a range that the seed of k-means decides, on 32 pictures.")},
	{"table1-denoised-distance", paper + ", Table 1, row 2", "mean distance between class means after denoising", few, "18.24",
		seedsRow(layerDenoised, 18.24, 0.01, distance, "Every step takes a tenth of the way to a centre, which draws the class means together.")},
	{"table1-denoised-ratio", paper + ", Table 1, row 2", "between/within variance ratio after denoising", few, "2.10",
		seedsRow(layerDenoised, 2.10, 0.01, ratio, "The variance within classes falls with the distance to the centres.")},
	{"displacement", paper + ", section 3.1", "L2 distance of 69.6 before to after denoising", few, "69.6", func(r Results) judged {
		if r.Table1 == nil {
			return judged{}
		}
		return enclosed(over(r.Table1.Few, func(p Placement) float64 { return p.Analysis.DisplacementL2 }), 69.6, 0.1,
			"It is the Frobenius norm over the 32 pictures; for 30 steps it would be larger by a half.")
	}},
	{"pca-denoised-1", paper + ", section 3.2", "explained variance after denoising, first component", few, "0.28",
		seedsRow(layerDenoised, 0.28, 0.01, component(0), "Fewer directions carry the variance as pictures gather at 20 centres.")},
	{"pca-denoised-2", paper + ", section 3.2", "explained variance after denoising, second component", few, "0.18",
		seedsRow(layerDenoised, 0.18, 0.01, component(1), "Fewer directions carry the variance as pictures gather at 20 centres.")},
	{"table1-logits-d", paper + ", Table 1, row 3", "D of the logits is 9.53", few + ", classifier trained for 5 epochs", "9.53",
		seedsRow(layerLogits, 9.53, 0.01, fuzziness, "The smallest eigenvalues of SSb of 32 pictures decide it, and with them the seed.")},
	{"table1-logits-ratio", paper + ", Table 1, row 3", "between/within variance ratio of the logits", few + ", classifier trained for 5 epochs", "8.21",
		seedsRow(layerLogits, 8.21, 0.01, ratio, "It depends on the training of the classifier and on 32 pictures.")},
	{"table1-logits-distance", paper + ", Table 1, row 3", "mean distance between class means of the logits", few + ", classifier trained for 5 epochs", "17.17",
		seedsRow(layerLogits, 17.17, 0.01, distance, "It grows with the training of the classifier: a matter of epochs and rates.")},
	{"pca-logits-1", paper + ", section 3.2", "explained variance of the logits, first component", few + ", classifier trained for 5 epochs", "0.55",
		seedsRow(layerLogits, 0.55, 0.01, component(0), "It depends on the training of the classifier and on 32 pictures.")},
	{"pca-logits-2", paper + ", section 3.2", "explained variance of the logits, second component", few + ", classifier trained for 5 epochs", "0.18",
		seedsRow(layerLogits, 0.18, 0.01, component(1), "It depends on the training of the classifier and on 32 pictures.")},
	{"logits-triple", paper + ", section 3.1", "D more than triples from denoised features to logits", whole, "2.81 to 9.53", func(r Results) judged {
		if r.Table1 == nil {
			return judged{}
		}
		var v []float64
		for _, p := range r.Table1.Few {
			if p.Trained {
				v = append(v, fuzziness(p.Analysis.Layers[layerLogits])/fuzziness(p.Analysis.Layers[layerDenoised]))
			}
		}
		s := spread(v)
		if s.Seeds == 0 {
			return judged{why: "No classifier was trained in this run."}
		}
		if s.Seeds < leastSeeds {
			return tooFew(s, "%.2f")
		}
		j := judged{measured: fmt.Sprintf("%.2f times (%s over %d seeds), on 32 pictures", float64(s.Median), s.text("%.2f"), s.Seeds), ci: rangeOf(s), verdict: NotReproduced,
			why: "On 32 pictures the factor is a matter of chance."}
		if s.Greatest >= 3 {
			j.verdict = OnlyByTheirs
		}
		return j
	}},
	{"denoising-raises-d", paper + ", section 3.1", "denoising does not lower D, it raises it slightly", whole, "2.14 to 2.81", func(r Results) judged {
		if r.Table1 == nil || len(r.Table1.Whole) == 0 {
			return judged{}
		}
		ten, thirty := stepOf(r.Table1.Whole, table1Steps), stepOf(r.Table1.Whole, 30)
		input := float64(r.Table1.Whole[0].Analysis.Layers[layerInput].Fuzziness)
		j := judged{measured: fmt.Sprintf("%.2f at the input, %s after 10 steps, %s after 30", input, ten.text("%.1f"), thirty.text("%.1f")),
			ci: rangeOf(thirty), verdict: NotReproduced, why: "An untrained potential gathers pictures at centres that k-means has placed without the labels, so D first dips and then rises many times over; a trained one lowers it."}
		if float64(ten.Least) > input {
			j.verdict = OnlyByTheirs
		}
		return j
	}},
	{"ratio-rises", paper + ", section 3.1", "the between/within ratio rises although D does", whole, "0.89 to 2.10", func(r Results) judged {
		if r.Table1 == nil || len(r.Table1.Whole) == 0 {
			return judged{}
		}
		a, b := layerOf(r.Table1.Whole, false, layerInput, ratio), layerOf(r.Table1.Whole, false, layerDenoised, ratio)
		j := judged{measured: fmt.Sprintf("%.2f at the input, %s after 30 steps", float64(a.Median), b.text("%.2f")), ci: rangeOf(b), verdict: NotReproduced,
			why: "The ratio weighs the directions by their variance, D by its inverse: the widest directions separate better, the narrowest worse."}
		if b.Least > a.Greatest {
			j.verdict = Reproduced
		}
		return j
	}},
	{"no-law", paper + ", title and section 5", "energy-based models do not follow the law of equi-separation", "D on all test pictures after every step of networks trained by the exact gradient", "no law", func(r Results) judged {
		if r.Trained == nil {
			return judged{}
		}
		return judgeTrained(r.Trained)
	}},
	{"maintain-or-raise", paper + ", abstract", "DPNs maintain or raise separation fuzziness", "as above", "2.14 to 2.81", func(r Results) judged {
		if r.Trained == nil || len(r.Trained.Runs) == 0 {
			return judged{}
		}
		s := over(r.Trained.Runs, func(t TrainedRun) float64 {
			steps := t.Analysis.Steps
			return fuzziness(steps[len(steps)-1]) / fuzziness(steps[0])
		})
		j := judged{measured: fmt.Sprintf("factor %s from x_0 to x_n", s.text("%.2f")), ci: rangeOf(s), verdict: NotReproduced,
			why: "With a potential that has learned, the ascent lowers D."}
		if s.Least >= 1 {
			j.verdict = Reproduced
			j.why = "The ascent raises D in every training."
		} else if s.Greatest >= 1 {
			j.why = "The ascent lowers D in some trainings and raises it in others."
		}
		return j
	}},
	{"law-feed-forward", paper + ", section 1.1 (He and Su, PNAS 2023)", "feed-forward networks reduce log D by equal steps", "10 x 10 pixels, 100 training pictures a class, 600 epochs, D on the training data without the logits", "a straight line, rho below 1", func(r Results) judged {
		if r.Law == nil {
			return judged{}
		}
		return judgeLaw(r.Law)
	}},
	{"law-universal", paper + ", section 1.1", "the law is a universal principle of conventional networks", "as above, without BatchNorm and without ReLU", "universal", func(r Results) judged {
		if r.Law == nil {
			return judged{}
		}
		follow, all := 0, 0
		for _, n := range r.Law.Networks {
			if n.BatchNorm {
				continue
			}
			for _, run := range n.Runs {
				all++
				if run.Law != nil && run.Law.Follows() {
					follow++
				}
			}
		}
		j := judged{measured: fmt.Sprintf("%d of %d networks without BatchNorm follow it", follow, all), verdict: NotReproduced, why: "Without BatchNorm D hardly falls or bends, and in a linear network it rises."}
		if follow == all {
			j.verdict, j.why = Reproduced, "The networks without BatchNorm follow it, too."
		}
		return j
	}},
	{"potential-learns", paper + ", sections 2.1 and 2.2", "centres, precisions, weights and step size are learned", "training with the gradient cut after every step, as in the paper's listing", "learnable", func(r Results) judged {
		if r.Poster == nil {
			return judged{}
		}
		most := 0
		for _, p := range r.Poster.DPN {
			most = max(most, p.PotentialMoved)
		}
		j := judged{measured: fmt.Sprintf("%d numbers of the potential changed in %d epochs", most, len(r.Poster.DPN[0].Epochs)), verdict: NotReproduced,
			why: "x_current.detach() after every step cuts the only path that a gradient could take to the potential."}
		if most > 0 {
			j.verdict = Reproduced
		}
		return j
	}},
	{"no-collapse", paper + ", section 3.3", "pictures are not collapsed to single points but keep their own characteristics", "test pictures followed until they stand still, potential untrained", "structured manifold", func(r Results) judged {
		if r.Field == nil {
			return judged{}
		}
		f := r.Field.FixedPoints
		j := judged{measured: fmt.Sprintf("%d of %d pictures end at %d points", f.Converged, f.Samples, len(f.Points)), verdict: Reproduced,
			why: "The ascent has many ends."}
		if len(f.Points) <= 100 && f.ShareConverged > 0.9 {
			j.verdict = NotReproduced
			j.why = fmt.Sprintf("The centres are the only ends: the variety that 30 steps leave is that of an ascent cut short (4%% of the way is left), and %.0f%% of the pictures share the most frequent class of their end.", 100*f.Purity)
		}
		return j
	}},
	{"stable-points", paper + ", sections 1.2 and 3.3; overview", "features move to local maxima, which are stable", "as above", "after 30 steps", func(r Results) judged {
		if r.Field == nil {
			return judged{}
		}
		f := r.Field.FixedPoints
		j := judged{measured: fmt.Sprintf("%.0f%% stand still after 30 steps, %.0f%% after %d; median %d steps", 100*r.Field.After30, 100*f.ShareConverged, f.MaxSteps, f.StepsMedian), verdict: NotReproduced, why: "Not all reach a fixed point."}
		if f.ShareConverged > 0.99 {
			j.verdict, j.why = Reproduced, "All reach a maximum, though not within the 30 steps that the paper takes."
		}
		return j
	}},
	{"nearest-centre", poster, "noisy data move until they converge to the nearest clean centre", "as above", "nearest", func(r Results) judged {
		if r.Field == nil {
			return judged{}
		}
		j := judged{measured: fmt.Sprintf("%.1f%% end nearest to the centre that they started nearest to", 100*r.Field.Nearest), verdict: NotReproduced, why: "Many end elsewhere."}
		if r.Field.Nearest > 0.95 {
			j.verdict, j.why = Reproduced, "With A = I and 784 dimensions one component has nearly all of the responsibility from the start."
		}
		return j
	}},
	{"phi-rises", poster, "phi at each step tells how near the clean centres are", "1,000 test pictures, 30 steps, potential untrained", "higher is nearer", func(r Results) judged {
		if r.Field == nil {
			return judged{}
		}
		for _, s := range r.Field.Rises.Rises {
			if s.Factor > 0.99 && s.Factor < 1.01 {
				j := judged{measured: fmt.Sprintf("phi rises in %d of %d steps", s.Rises, s.Pairs), verdict: NotReproduced, why: "It falls in some."}
				if s.Falls == 0 {
					j.verdict, j.why = Reproduced, fmt.Sprintf("alpha is %.2g, and phi cannot fall below %.2g (2 over the largest eigenvalue of P).", s.Alpha, r.Field.Rises.StableAlpha)
				}
				return j
			}
		}
		return judged{}
	}},
	{"curl", "the documents' code (it draws the curl of the field)", "whether the ascent field rotates", "central differences and closed loops at 16 test pictures, beside a free network of the same size", "not given", func(r Results) judged {
		if r.Field == nil {
			return judged{}
		}
		f := r.Field.Comparison.Fields
		return judged{measured: fmt.Sprintf("asymmetry of the Jacobian %.1e (free network %.2g)", float64(f[0].Asymmetry), float64(f[len(f)-1].Asymmetry)), verdict: Reproduced,
			why: "A gradient has no curl: what is left is rounding."}
	}},
	{"poster-accuracy", poster + ", Results", "validation and test accuracy peak at over 86%", "published network, 10 steps, Adam 1e-3, 20 epochs", "over 86%", func(r Results) judged {
		if r.Poster == nil {
			return judged{}
		}
		s := over(r.Poster.DPN, func(p PosterRun) float64 { return 100 * p.TestAccuracy })
		v := over(r.Poster.DPN, func(p PosterRun) float64 { a, _ := p.BestAccuracy(); return 100 * a })
		l := over(r.Poster.Linear, func(p PosterRun) float64 { return 100 * p.TestAccuracy })
		j := judged{measured: fmt.Sprintf("%s, validation at its best %s", s.text("%.1f%%"), v.text("%.1f%%")), ci: rangeOf(s), verdict: NotReproduced,
			why: fmt.Sprintf("A linear classifier of the same pixels has %s.", l.text("%.1f%%"))}
		if s.Least > 86 && v.Least > 86 {
			j.verdict = Reproduced
		}
		return j
	}},
	{"poster-epoch", poster + ", Results", "validation accuracy and loss are at their best around epoch 17", "as above", "epoch 17", func(r Results) judged {
		if r.Poster == nil {
			return judged{}
		}
		return judgeBestEpoch(r.Poster)
	}},
	{"poster-loss", poster + ", Results", "validation loss has its optimum at 0.4", "as above", "0.4", func(r Results) judged {
		if r.Poster == nil {
			return judged{}
		}
		s := over(r.Poster.DPN, func(p PosterRun) float64 { return *p.Epochs[p.Best-1].ValLoss })
		return enclosed(s, 0.4, 0.1, "It depends on the rate, the number of steps and the seed of k-means.")
	}},
	{"poster-gap", poster + ", Results", "validation loss is consistently below training loss, which suggests good generalisation", "as above", "in every epoch", func(r Results) judged {
		if r.Poster == nil {
			return judged{}
		}
		s := over(r.Poster.DPN, func(p PosterRun) float64 { return float64(p.ValBelowTrain()) })
		all := len(r.Poster.DPN[0].Epochs)
		j := judged{measured: fmt.Sprintf("in %s of %d epochs", s.text("%.0f"), all), ci: rangeOf(s), verdict: NotReproduced, why: "Not in every epoch."}
		if int(s.Least) == all {
			j.verdict, j.why = Reproduced, "It says little: the last training pictures of MNIST are easier than the others, and the training loss is a mean over an epoch in which the weights still improve."
		}
		return j
	}},
	{"sota", overview, "it outperforms SOTA models at equivalent computational resources", "test accuracy beside a linear classifier of the same pixels", "outperforms", func(r Results) judged {
		if r.Poster == nil {
			return judged{}
		}
		d := over(r.Poster.DPN, func(p PosterRun) float64 { return 100 * p.TestAccuracy })
		l := over(r.Poster.Linear, func(p PosterRun) float64 { return 100 * p.TestAccuracy })
		j := judged{measured: fmt.Sprintf("%.1f%% at %d multiply-adds a picture; a linear classifier %.1f%% at %d", float64(d.Median), r.Poster.DPN[0].MACs, float64(l.Median), r.Poster.Linear[0].MACs), verdict: NotReproduced,
			why: "A linear classifier is better at a fraction of the cost."}
		if d.Least > l.Greatest {
			j.verdict, j.why = Untested, "It is ahead of a linear classifier; networks of equal cost are still to be compared with."
		}
		return j
	}},
	{"sota-clean", overview, "it outperforms SOTA models at equivalent computational resources: trained and tested on clean pictures", robustProtocol, "outperforms", outperforms(false, 0)},
	{"sota-gaussian-0.3", overview, "the same: trained on clean pictures, tested with Gaussian noise of 0.3", robustProtocol, "outperforms", outperforms(false, 1)},
	{"sota-gaussian-0.5", overview, "the same: trained on clean pictures, tested with Gaussian noise of 0.5", robustProtocol, "outperforms", outperforms(false, 2)},
	{"sota-saltpepper-0.3", overview, "the same: trained on clean pictures, tested with salt and pepper on 30% of the pixels", robustProtocol, "outperforms", outperforms(false, 3)},
	{"sota-noisy-training", overview, "the same: trained with noise on half of each minibatch", robustProtocol, "outperforms", outperforms(true, 0, 1, 2, 3)},
	{"low-dimension", poster + " and overview", "a low-dimensional feature space reduces cost and memory significantly", "multiply-adds a picture of presets, counted", "significantly", func(Results) judged {
		raw, _ := dpn.Preset("published")
		small, _ := dpn.Preset("compact")
		a := raw.Components * 784 * 784 * raw.Steps
		b := small.Components*small.Dim*small.Dim*small.Steps + 784*small.Dim
		return judged{measured: fmt.Sprintf("%d on 784 pixels, %d on 64 features", a, b), verdict: Reproduced, why: "k d² n multiply-adds a picture: d counts squared."}
	}},
	{"definite", overview + "; paper, section 2.1", "the factorisation A^T A guarantees positive definite precisions", "by argument", "guaranteed", func(Results) judged {
		return judged{measured: "A = 0 gives P = 0", verdict: NotReproduced, why: "A^T A is positive semidefinite only; nothing keeps A from becoming singular."}
	}},
	{"langevin", overview, "gradient ascent is a discretised version of Langevin dynamics", "by argument", "interpretation", untested("Langevin dynamics has a noise term, which the ascent lacks: it is the limit of zero temperature.")},
	{"k-means", overview + "; paper, section 2.2", "k-means is crucial for stability and faster convergence", "", "crucial", untested("No training from other first centres is part of these experiments.")},
	{"robustness", paper + ", section 4.3; overview; poster", "DPNs may be more robust to noise", "published network, 10 steps, and a linear classifier, trained on clean pictures; noisy test pictures", "may be", func(r Results) judged {
		if r.Poster == nil {
			return judged{}
		}
		return judgeRobustness(r.Poster)
	}},
	{"uncertainty", paper + ", section 4.3", "the landscape quantifies uncertainty", "", "may be", untested("Scores of uncertainty are not part of these experiments.")},
	{"generation", paper + ", section 4.3", "samples could be drawn by Langevin dynamics", "", "could be", untested("Sampling is not part of these experiments.")},
	{"industry", poster + ", Results", "with more resources, results comparable to models like ImageNet's", "", "anticipated", untested("It is a forecast.")},
}

// wholeText says what a figure is on all test pictures.
func wholeText(t *Table1, layer int, format string, figure func(separation.Layer) float64) string {
	if len(t.Whole) == 0 {
		return "On 32 pictures; the others were not measured in this run."
	}
	return fmt.Sprintf("On 32 pictures; all %d have "+format+".", t.Pictures, figure(t.Whole[0].Analysis.Layers[layer]))
}

// judgeTrained holds the paper's title against trained potentials.
func judgeTrained(t *Trained) judged {
	follow, falls := 0, 0
	var r []float64
	for _, run := range t.Runs {
		law := run.Analysis.StepsLaw
		if law == nil {
			continue
		}
		r = append(r, float64(law.Pearson))
		if law.Rho < 1 {
			falls++
		}
		if law.Follows() {
			follow++
		}
	}
	s := spread(r)
	j := judged{measured: fmt.Sprintf("D falls in %d of %d trainings, on a straight line in %d; Pearson %s", falls, len(t.Runs), follow, s.text("%.3f")), ci: rangeOf(s)}
	switch {
	case follow == len(t.Runs):
		j.verdict, j.why = OnlyByTheirs, "It holds for the potential that the paper never trained; every trained one follows the law along its steps."
	case falls > 0 && follow > 0:
		j.verdict, j.why = OnlyByTheirs, "Trained potentials lower D along their steps, some on a straight line, others on a bent one: the paper's rise is that of a potential that never learned."
	case falls > 0:
		j.verdict, j.why = OnlyByTheirs, "Trained potentials lower D along their steps, though not by equal factors: the law does not hold, but not for the paper's reason."
	default:
		j.verdict, j.why = Reproduced, "No trained potential lowers D along its steps."
	}
	return j
}

// judgeBestEpoch holds the epochs in which validation is at its best against "around epoch
// 17": within two epochs of it, from every seed.
func judgeBestEpoch(p *Poster) judged {
	const published, around = 17, 2
	if epochs := len(p.DPN[0].Epochs); epochs < published+around {
		return judged{why: fmt.Sprintf("Trainings of %d epochs cannot tell.", epochs)}
	}
	accuracy := over(p.DPN, func(p PosterRun) float64 { _, at := p.BestAccuracy(); return float64(at) })
	loss := over(p.DPN, func(p PosterRun) float64 { return float64(p.Best) })
	j := judged{measured: fmt.Sprintf("accuracy in epoch %s, loss in epoch %s of %d", accuracy.text("%.0f"), loss.text("%.0f"), len(p.DPN[0].Epochs)),
		verdict: NotReproduced, why: "Not from every seed within two epochs of it."}
	near := true
	for _, s := range []Spread{accuracy, loss} {
		near = near && s.Least >= published-around && s.Greatest <= published+around
	}
	if near {
		j.verdict, j.why = Reproduced, "From every seed within two epochs of it."
	}
	return j
}

// judgeRobustness holds the published network against a linear classifier under noise.
func judgeRobustness(p *Poster) judged {
	at := func(runs []PosterRun, i int) Spread {
		return over(runs, func(r PosterRun) float64 { return 100 * r.Noisy[i].Accuracy })
	}
	var text []string
	ahead := 0
	for i, n := range noises {
		d, l := at(p.DPN, i), at(p.Linear, i)
		text = append(text, fmt.Sprintf("%v %.1f%%, linear %.1f%%", n, float64(d.Median), float64(l.Median)))
		if d.Least > l.Greatest {
			ahead++
		}
	}
	j := judged{measured: strings.Join(text, "; "), verdict: NotReproduced, why: "Under noise it is not ahead of a linear classifier."}
	switch {
	case ahead == len(noises):
		j.verdict, j.why = Reproduced, "It loses less to noise than a linear classifier, which is better on clean pictures; networks of equal cost are not compared here."
	case ahead > 0:
		j.verdict, j.why = OnlyByTheirs, "It is ahead of a linear classifier under some noises only."
	}
	return j
}

// judgeLaw holds the law against the networks with BatchNorm.
func judgeLaw(l *LawResult) judged {
	follow, all := 0, 0
	var r []float64
	for _, n := range l.Networks {
		if !n.BatchNorm {
			continue
		}
		for _, run := range n.Runs {
			all++
			if run.Law == nil {
				continue
			}
			r = append(r, float64(run.Law.Pearson))
			if run.Law.Follows() {
				follow++
			}
		}
	}
	s := spread(r)
	j := judged{measured: fmt.Sprintf("%d of %d networks with BatchNorm follow it; Pearson %s", follow, all, s.text("%.3f")), ci: rangeOf(s), verdict: NotReproduced,
		why: "D does not fall on a line."}
	switch {
	case follow == all:
		j.verdict, j.why = Reproduced, "With BatchNorm, D falls by about the same factor in every layer."
	case follow > 0:
		j.verdict, j.why = OnlyByTheirs, "It holds where the depth suits the task and the rate; the deepest networks have done their work before their last layers, which bends the line (He and Su searched rates for each network)."
	}
	return j
}
