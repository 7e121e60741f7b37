package reproduce

import "fmt"

// lawStatements are the claims about the law of equi-separation.
var lawStatements = []statement{
	{"no-law", paper + ", title and section 5", "energy-based models do not follow the law of equi-separation",
		"D on all test images after each step of networks trained with the exact gradient", "no law",
		onTrained(judgeTrained)},
	{"maintain-or-raise", paper + ", abstract", "DPNs maintain or raise separation fuzziness", asAbove, "2.14 to 2.81",
		onTrained(judgeRise)},
	{"law-feed-forward", paper + ", section 1.1 (He and Su, PNAS 2023)",
		"feed-forward networks reduce log D by equal steps",
		"10 x 10 pixels, 100 training images per class, 600 epochs, networks of 4, 8 and 20 layers with BatchNorm, " +
			"each with SGD, momentum and Adam at the published rate, D on the training data without the logits",
		"a straight line, rho below 1", onLaw(judgeLaw)},
	{"law-universal", paper + ", section 1.1", "the law is a universal principle of conventional networks",
		"as above, other networks: without BatchNorm, without ReLU, residual, convolutional", "universal",
		onLaw(judgeUniversal)},
}

// lawStraight is Pearson's coefficient from which on the points of He and Su's figures are taken to lie on a line.
const lawStraight = -0.99

// lawOthers are the kinds of networks on which the law would have to hold to be universal.
var lawOthers = []string{lawPlain, lawLinear, lawResidual, lawCNN, lawSkewed, lawWidths}

// unknownD says why there is no verdict on trained potentials.
const unknownD = "D is not known after each step of every training."

// judgeTrained compares the paper's title with trained potentials. It is not tested where one has no line, because D is
// not known after each step.
func judgeTrained(t *Trained) judged {
	follow, falls := 0, 0
	if len(t.Runs) == 0 {
		return judged{}
	}
	var r []float64
	for _, run := range t.Runs {
		law := run.Analysis.StepsLaw
		if law == nil {
			return judged{why: unknownD}
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
	j := judged{ci: rangeOf(s), measured: fmt.Sprintf("D decreases in %d of %d trainings, on a straight "+
		"line in %d; Pearson %s",
		falls, len(t.Runs), follow, s.text("%.3f")),
		numbers: append(numbers(falls, len(t.Runs), follow), float64(s.Median))}
	switch {
	case follow == len(t.Runs):
		j.verdict, j.why = OnlyByTheirs, "It holds for the potential of the paper, which is untrained; "+
			"every trained one follows the law along its steps."
	case falls > 0 && follow > 0:
		j.verdict, j.why = OnlyByTheirs, "Trained potentials lower D along their steps, some on a straight line, "+
			"others not; the figures of the paper are those of an untrained potential."
	case falls > 0:
		j.verdict, j.why = OnlyByTheirs, "Trained potentials lower D along their steps, but not by equal factors: "+
			"the law does not hold, but for another reason than the paper's."
	default:
		j.verdict, j.why = Reproduced, "No trained potential lowers D along its steps."
	}
	return j
}

// judgeRise judges the change of D along the steps of trained potentials, if it is known for all.
func judgeRise(t *Trained) judged {
	if len(t.Runs) == 0 {
		return judged{}
	}
	s := over(t.Runs, func(t TrainedRun) float64 {
		steps := t.Analysis.Steps
		return fuzziness(steps[len(steps)-1]) / fuzziness(steps[0])
	})
	if !s.Least.IsFinite() || !s.Greatest.IsFinite() {
		return judged{why: unknownD}
	}
	j := judged{measured: fmt.Sprintf("factor %s from x_0 to x_n", s.text("%.2f")), ci: rangeOf(s),
		numbers: numbers(s.Median),
		verdict: NotReproduced, why: "The ascent lowers D in every training."}
	if s.Least >= 1 {
		j.verdict = Reproduced
		j.why = "The ascent raises D in every training."
	} else if s.Greatest >= 1 {
		j.why = "The ascent lowers D in some trainings and raises it in others."
	}
	return j
}

// judgeLaw judges the law on the published settings.
func judgeLaw(l *LawResult) judged {
	follow, all := lawCount(l, lawSettings)
	if all == 0 {
		return judged{}
	}
	var r []float64
	straight := 0
	best, bestAll := 0, 0 // at the rates of the lowest training loss
	for _, n := range l.Networks {
		if n.LowestLoss {
			f, a := n.count()
			best, bestAll = best+f, bestAll+a
		}
		if n.Kind != lawSettings {
			continue
		}
		for _, run := range n.Runs {
			if run.Law == nil {
				continue
			}
			r = append(r, float64(run.Law.Pearson))
			if run.Law.Pearson <= lawStraight {
				straight++
			}
		}
	}
	s := spread(r)
	in := fmt.Sprint(straight)
	if straight == 0 {
		in = "none"
	}
	text := lawText(l, LawNetwork.layers, lawSettings)
	j := judged{ci: rangeOf(s), numbers: append(numbers(follow, all, straight), float64(s.Median)), own: l.Known,
		verdict: NotReproduced, why: "None follows it: " + text + ".",
		measured: fmt.Sprintf("%d of %d trainings follow it; Pearson %s, at most %v in %s", follow, all,
			s.text("%.3f"), lawStraight, in)}
	if bestAll > 0 {
		j.measured += fmt.Sprintf("; at the rates of the lowest training loss %d of %d follow it", best, bestAll)
	}
	switch {
	case follow == all:
		j.verdict, j.why = Reproduced, "With BatchNorm and ReLU, each layer lowers D by about the same factor."
	case follow > 0:
		j.verdict, j.why = InPart, "It depends on depth and optimiser: "+text+"."
	}
	return j
}

// judgeUniversal judges the law on other networks.
func judgeUniversal(l *LawResult) judged {
	follow, all := lawCount(l, lawOthers...)
	if all == 0 {
		return judged{}
	}
	text := lawText(l, func(n LawNetwork) string { return n.Kind }, lawOthers...)
	j := judged{measured: fmt.Sprintf("%d of %d trainings of other networks follow it", follow, all), own: l.Known,
		numbers: numbers(follow, all), verdict: NotReproduced, why: "Not all follow it: " + text + "."}
	if follow == all {
		j.verdict, j.why = Reproduced, "The other networks also follow it: "+text+"."
	}
	return j
}
