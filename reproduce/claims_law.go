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
		"10 x 10 pixels, 100 training images per class, 600 epochs, D on the training data without the logits",
		"a straight line, rho below 1", onLaw(judgeLaw)},
	{"law-universal", paper + ", section 1.1", "the law is a universal principle of conventional networks",
		"as above, without BatchNorm and without ReLU", "universal", onLaw(judgeUniversal)},
}

// judgeTrained compares the paper's title with trained potentials.
func judgeTrained(t *Trained) judged {
	follow, falls := 0, 0
	if len(t.Runs) == 0 {
		return judged{}
	}
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

// judgeRise judges the change of D along the steps of trained potentials.
func judgeRise(t *Trained) judged {
	if len(t.Runs) == 0 {
		return judged{}
	}
	s := over(t.Runs, func(t TrainedRun) float64 {
		steps := t.Analysis.Steps
		return fuzziness(steps[len(steps)-1]) / fuzziness(steps[0])
	})
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

// judgeLaw judges the law on the networks with BatchNorm.
func judgeLaw(l *LawResult) judged {
	follow, all := lawCount(l, true)
	var r []float64
	for _, n := range l.Networks {
		for _, run := range n.Runs {
			if n.BatchNorm && run.Law != nil {
				r = append(r, float64(run.Law.Pearson))
			}
		}
	}
	s := spread(r)
	j := judged{ci: rangeOf(s), numbers: append(numbers(follow, all), float64(s.Median)),
		verdict: NotReproduced, why: "None follows it: " + lawText(l, true) + ".",
		measured: fmt.Sprintf("%d of %d networks with BatchNorm follow it; Pearson %s", follow, all, s.text("%.3f"))}
	switch {
	case all == 0:
		return judged{}
	case follow == all:
		j.verdict, j.why = Reproduced, "With BatchNorm, each layer lowers D by about the same factor."
	case follow > 0:
		j.verdict, j.why = OnlyByTheirs, "It depends on the network: "+lawText(l, true)+"."
	}
	return j
}

// judgeUniversal judges the law on the networks without BatchNorm.
func judgeUniversal(l *LawResult) judged {
	follow, all := lawCount(l, false)
	if all == 0 {
		return judged{}
	}
	j := judged{measured: fmt.Sprintf("%d of %d networks without BatchNorm follow it", follow, all),
		numbers: numbers(follow, all), verdict: NotReproduced,
		why: "Not all follow it: " + lawText(l, false) + "."}
	if follow == all {
		j.verdict, j.why = Reproduced, "The networks without BatchNorm also follow it."
	}
	return j
}
