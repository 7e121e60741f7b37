package reproduce

import (
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn"
)

const (
	section22 = paper + ", section 2.2"

	listing     = "training with the gradient detached after each step, as in the paper's listing"
	andExact    = "; and preset compact with the exact gradient"
	centresFrom = "published network, 10 steps, 20 epochs, and preset compact with the exact gradient: centres by " +
		"k-means, against centres drawn from the training images"
)

// learningStatements are the claims about what training changes.
var learningStatements = []statement{
	{"potential-learns", section21 + " and 2.2", "centres, precisions, weights and step size are learned", listing,
		"learnable", onPoster(judgeLearning)},
	{"end-to-end", overview, "the network is trainable end to end",
		"a network with an extractor, by the paper's listing" + andExact, "end to end", onPoster(judgeEndToEnd)},
	{"learnable-step", poster + "; " + overview, "the step size is a trainable parameter", listing + andExact,
		"trainable", onPoster(judgeTrainableStep)},
	{"local-geometry", overview, "components capture local geometry by their precisions", listing, "capture",
		onPoster(judgeGeometry)},
	{"k-means", overview + "; " + section22, "k-means is crucial for training stability and faster convergence",
		centresFrom, "crucial", onPoster(judgeKMeans)},
	{"detach-memory", overview, "detaching prevents memory overflow",
		"the paper's network on 60,000 images: memory of training, estimated", "needed", judgeMemory},
	{"definite", overview + "; " + section21, "the factorisation A^T A guarantees positive definite precisions",
		"by argument", "guaranteed", func(Results) judged {
			return judged{measured: "A = 0 gives P = 0", verdict: NotReproduced,
				why: "A^T A is only positive semidefinite; nothing prevents A from becoming singular."}
		}},
}

// most returns the greatest of a count over runs.
func most(runs []PosterRun, f func(PosterRun) int) int {
	n := 0
	for _, r := range runs {
		n = max(n, f(r))
	}
	return n
}

func potentialMoved(r PosterRun) int { return r.PotentialMoved }

func extractorMoved(r PosterRun) int { return r.ExtractorMoved }

// judgeLearning judges whether training changes the potential.
func judgeLearning(p *Poster) judged {
	n := most(p.DPN, potentialMoved)
	j := judged{verdict: NotReproduced, numbers: numbers(n),
		measured: fmt.Sprintf("%d parameters of the potential changed in %d epochs", n, len(p.DPN[0].Epochs)),
		why:      "x_current.detach() after each step removes the only path of a gradient to the potential."}
	if n > 0 {
		j.verdict, j.why = Reproduced, "Training changed the potential although the gradient is cut after each step."
	}
	return j
}

// judgeEndToEnd judges whether a gradient comes to potential and extractor.
func judgeEndToEnd(p *Poster) judged {
	if len(p.Extractor) == 0 || len(p.Exact) == 0 {
		return judged{}
	}
	all := func(r PosterRun) int { return min(r.PotentialMoved, r.ExtractorMoved) }
	cut := most(p.Extractor, func(r PosterRun) int { return r.PotentialMoved + r.ExtractorMoved })
	potential, extractor := most(p.Exact, potentialMoved), most(p.Exact, extractorMoved)
	j := judged{verdict: NotReproduced, numbers: numbers(cut, potential, extractor),
		measured: fmt.Sprintf("%d parameters of extractor and potential changed by the listing; %d of the potential "+
			"and %d of the extractor with the exact gradient", cut, potential, extractor),
		why: "Training leaves parts of the network as they were."}
	switch {
	case most(p.Extractor, all) > 0:
		j.verdict, j.why = Reproduced, "Training by the listing changes extractor and potential."
	case most(p.Exact, all) > 0:
		j.verdict = BeyondTheirs
		j.why = "By the listing only the classifier learns; with the exact gradient all parts do."
	}
	return j
}

// judgeTrainableStep judges whether training changes alpha.
func judgeTrainableStep(p *Poster) judged {
	if len(p.Exact) == 0 {
		return judged{}
	}
	alpha := func(r PosterRun) float64 { return r.Alpha }
	a, b := over(p.DPN, alpha), over(p.Exact, alpha)
	first := func(preset string) float64 {
		c, _ := dpn.Preset(preset)
		return float64(float32(c.Alpha))
	}
	a0, b0 := first("published"), first("compact")
	j := judged{numbers: []float64{a0, float64(a.Median), b0, float64(b.Median)}, verdict: NotReproduced,
		measured: fmt.Sprintf("from %.3g to %s by the listing, from %.3g to %s with the exact gradient", a0,
			a.text("%.3g"), b0, b.text("%.3g")),
		why: "Training does not change it."}
	switch {
	case !a.Encloses(a0):
		j.verdict, j.why = Reproduced, "Training by the listing changes it."
	case !b.Encloses(b0):
		j.verdict, j.why = BeyondTheirs, "The listing detaches the state, too; with the exact gradient it learns."
	}
	return j
}

// judgeGeometry judges the precisions after training by the listing.
func judgeGeometry(p *Poster) judged {
	n := most(p.DPN, potentialMoved)
	j := judged{verdict: NotReproduced, numbers: numbers(n),
		measured: fmt.Sprintf("%d parameters of the potential changed", n),
		why:      "All precisions stay the identity, which is the same in every direction and at every centre."}
	if n > 0 {
		j.verdict, j.why = InPart, "The potential changed; whether its precisions follow the data was not measured."
	}
	return j
}

// epochsTo returns the first epoch whose validation loss is at most loss, or one more than there are.
func epochsTo(r PosterRun, loss float64) float64 {
	for i, e := range r.Epochs {
		if *e.ValLoss <= loss {
			return float64(i + 1)
		}
	}
	return float64(len(r.Epochs) + 1)
}

// judgeKMeans compares centres by k-means with drawn ones: the loss at the end, and the epochs to the loss that the
// worst run of the other has at its best.
func judgeKMeans(p *Poster) judged {
	if len(p.Samples) < leastSeeds || len(p.Exact) < leastSeeds {
		return judged{why: fmt.Sprintf("It takes at least %d seeds.", leastSeeds)}
	}
	type pair struct{ kmeans, drawn []PosterRun }
	ahead, faster := 0, 0
	var text string
	var values []float64
	for i, q := range []pair{{p.DPN, p.Samples}, {p.Exact, p.ExactSamples}} {
		a, b := over(q.kmeans, lowestLoss), over(q.drawn, lowestLoss)
		if a.Greatest < b.Least {
			ahead++
		}
		goal := float64(max(a.Greatest, b.Greatest)) // that every run reaches
		to := func(r PosterRun) float64 { return epochsTo(r, goal) }
		ta, tb := over(q.kmeans, to), over(q.drawn, to)
		if ta.Greatest < tb.Least {
			faster++
		}
		text += fmt.Sprintf("%s loss %s by k-means and %s drawn, epochs to %.3g: %s and %s",
			[]string{"listing:", "; exact gradient:"}[i], a.text("%.3f"), b.text("%.3f"), goal, ta.text("%.0f"),
			tb.text("%.0f"))
		values = append(values, numbers(a.Median, b.Median, ta.Median, tb.Median)...)
	}
	return judged{measured: text, numbers: values, verdict: inAll(ahead+faster, 4),
		why: fmt.Sprintf("Every seed of k-means is better than every drawn one in %d of 2 networks, and faster in %d; "+
			"no training failed.", ahead, faster)}
}

// commonMemory is the memory of a small computer, in bytes.
const commonMemory = 4 << 30

// judgeMemory estimates the memory of training with the exact gradient.
func judgeMemory(Results) judged {
	bytes := func(preset string) float64 {
		c, _ := dpn.Preset(preset)
		return c.TrainingBytes(dataset.Grey(28, 28), 10, 60000)
	}
	cut, exact := bytes("published"), bytes("paper")
	j := judged{measured: fmt.Sprintf("%.2f GB with the exact gradient through 30 steps, %.2f GB without", exact/1e9,
		cut/1e9), numbers: []float64{exact / 1e9, cut / 1e9}, verdict: NotReproduced,
		why: fmt.Sprintf("The states of all steps of a minibatch fit into %d GB.", commonMemory>>30)}
	if exact > commonMemory {
		j.verdict, j.why = Reproduced, fmt.Sprintf("Training with the exact gradient takes more than %d GB.",
			commonMemory>>30)
	}
	return j
}
