package reproduce

import "fmt"

const posterResults = poster + ", Results"

// posterStatements are the claims about the training of the poster.
var posterStatements = []statement{
	{"poster-accuracy", posterResults, "validation and test accuracy peak at over 86%",
		"published network, 10 steps, Adam 1e-3, 20 epochs", "over 86%", onPoster(judgeAccuracy)},
	{"poster-epoch", posterResults, "validation accuracy and loss are best around epoch 17", asAbove, "epoch 17",
		onPoster(judgeBestEpoch)},
	{"poster-loss", posterResults, "the best validation loss is 0.4", asAbove, "0.4",
		onPoster(func(p *Poster) judged {
			s := over(p.DPN, func(r PosterRun) float64 { return *r.Epochs[r.Best-1].ValLoss })
			return enclosed(s, 0.4, 0.1, bySeed(s))
		})},
	{"poster-gap", posterResults, "validation loss is consistently below training loss, which suggests good " +
		"generalisation",
		asAbove, "in every epoch", onPoster(judgeGap)},
}

func testPercent(r PosterRun) float64 { return 100 * r.TestAccuracy }

// judgeAccuracy judges the accuracies of the poster.
func judgeAccuracy(p *Poster) judged {
	s, l := over(p.DPN, testPercent), over(p.Linear, testPercent)
	v := over(p.DPN, func(r PosterRun) float64 { a, _ := r.BestAccuracy(); return 100 * a })
	j := judged{ci: rangeOf(s), numbers: numbers(s.Median, v.Median), verdict: NotReproduced,
		measured: fmt.Sprintf("%s, best validation accuracy %s", s.text("%.1f%%"), v.text("%.1f%%")),
		why:      fmt.Sprintf("A linear classifier on the same pixels has %s.", l.text("%.1f%%"))}
	if s.Least > 86 && v.Least > 86 {
		j.verdict = Reproduced
	}
	return j
}

// judgeBestEpoch compares the best epochs of validation with "around epoch 17": within two
// epochs of it, for every seed.
func judgeBestEpoch(p *Poster) judged {
	const published, around = 17, 2
	epochs := len(p.DPN[0].Epochs)
	if epochs < published+around {
		return judged{why: fmt.Sprintf("A training of %d epochs is too short to tell.", epochs)}
	}
	accuracy := over(p.DPN, func(p PosterRun) float64 { _, at := p.BestAccuracy(); return float64(at) })
	loss := over(p.DPN, func(p PosterRun) float64 { return float64(p.Best) })
	j := judged{numbers: numbers(accuracy.Median, loss.Median), verdict: NotReproduced,
		why: "Not within two epochs of it for every seed.",
		measured: fmt.Sprintf("accuracy in epoch %s, loss in epoch %s of %d",
			accuracy.text("%.0f"), loss.text("%.0f"), epochs)}
	near := true
	for _, s := range []Spread{accuracy, loss} {
		near = near && s.Least >= published-around && s.Greatest <= published+around
	}
	if near {
		j.verdict, j.why = Reproduced, "Within two epochs of it for every seed."
	}
	return j
}

// judgeGap counts the epochs with a validation loss below the training loss.
func judgeGap(p *Poster) judged {
	s := over(p.DPN, func(r PosterRun) float64 { return float64(r.ValBelowTrain()) })
	all := len(p.DPN[0].Epochs)
	j := judged{measured: fmt.Sprintf("in %s of %d epochs", s.text("%.0f"), all), ci: rangeOf(s),
		numbers: append(numbers(s.Median), float64(all)),
		verdict: NotReproduced, why: "Not in every epoch."}
	if int(s.Least) == all {
		j.verdict, j.why = Reproduced,
			"It is no evidence of generalisation: the training loss is a mean over an epoch, "+
				"during which the weights change; the validation loss is that of its end."
	}
	return j
}
