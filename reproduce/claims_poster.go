package reproduce

import (
	"fmt"
	"math"
)

const (
	posterResults = poster + ", Results"

	posterProtocol = "published network, 10 steps, Adam 1e-3 at a constant rate, 20 epochs; the poster's extractor " +
		"and noisy training images are not in it"
)

// posterStatements are the claims about the training of the poster.
var posterStatements = []statement{
	{"poster-accuracy", posterResults, "validation and test accuracy peak at over 86%, with a validation loss of 0.4",
		posterProtocol, "over 86%, 0.4", onPoster(judgeAccuracy)},
	{"poster-epoch", posterResults, "validation accuracy and loss are best around epoch 17", posterProtocol, "epoch 17",
		onPoster(judgeBestEpoch)},
	{"poster-loss", posterResults, "the best validation loss is 0.4", posterProtocol, "0.4",
		onPoster(func(p *Poster) judged {
			s := over(p.DPN, lowestLoss)
			return enclosed(s, 0.4, 0.1, bySeed(s))
		})},
	{"poster-gap", posterResults, "validation loss is consistently below training loss, which suggests good " +
		"generalisation", posterProtocol, "in every epoch", onPoster(judgeGap)},
	{"poster-steady", posterResults, "validation loss steadily decreases until its best epoch", posterProtocol,
		"steadily", onPoster(judgeSteady)},
	{"poster-overfitting", posterResults, "there are no signs of overfitting", posterProtocol, "none",
		onPoster(judgeOverfitting)},
	{"poster-network", poster + ", Neural Architecture and Results", "a feature extractor, noisy training images and " +
		"the ascent reach over 86%, a validation loss of 0.4, around epoch 17",
		"linear map to 64 features, never trained, Gaussian noise of 0.5 on half of each minibatch, published " +
			"potential, 10 steps, Adam 1e-3 at a constant rate, 20 epochs", "over 86%, 0.4, epoch 17",
		onPoster(judgePosterNetwork)},
	{"poster-cosine", posterResults, "the same figures, with a schedule that no document states",
		"published network, 10 steps, Adam 1e-3 falling to 0 by half a cosine, 5 epochs", "over 86%, 0.4, epoch 17",
		onPoster(judgeCosine)},
}

func testPercent(r PosterRun) float64 { return 100 * r.TestAccuracy }

func lowestLoss(r PosterRun) float64 { return *r.Epochs[r.Best-1].ValLoss }

func bestPercent(r PosterRun) float64 { a, _ := r.BestAccuracy(); return 100 * a }

// as86 reports whether a run has the accuracies of the poster, and as04 whether it has its loss, as printed.
func as86(r PosterRun) bool { return r.TestAccuracy > 0.86 && bestPercent(r) > 86 }

func as04(r PosterRun) bool { return math.Abs(lowestLoss(r)-0.4) <= 0.05 }

// as17 reports whether a run is best within two epochs of 17, by accuracy and by loss.
func as17(r PosterRun) bool {
	_, at := r.BestAccuracy()
	return max(at, r.Best) <= 19 && min(at, r.Best) >= 15
}

// count counts the runs for which f holds.
func count(runs []PosterRun, f func(PosterRun) bool) int {
	n := 0
	for _, r := range runs {
		if f(r) {
			n++
		}
	}
	return n
}

// judgeAccuracy judges the accuracies of the poster together with its loss.
func judgeAccuracy(p *Poster) judged {
	s, l, loss := over(p.DPN, testPercent), over(p.Linear, testPercent), over(p.DPN, lowestLoss)
	v := over(p.DPN, bestPercent)
	over86 := count(p.DPN, as86)
	both := count(p.DPN, func(r PosterRun) bool { return as86(r) && as04(r) })
	j := judged{ci: rangeOf(s), numbers: numbers(s.Median, v.Median, loss.Median), verdict: NotReproduced,
		measured: fmt.Sprintf("%s, best validation accuracy %s, with a loss of %s", s.text("%.1f%%"), v.text("%.1f%%"),
			loss.text("%.2f")),
		why: fmt.Sprintf("%d of %d runs have both; %d have the accuracy. A linear classifier on the same pixels "+
			"has %s.", both, len(p.DPN), over86, l.text("%.1f%%"))}
	switch {
	case both == len(p.DPN):
		j.verdict = Reproduced
	case over86 == len(p.DPN):
		j.verdict = InPart
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
	near := count(p.DPN, as17)
	j := judged{numbers: numbers(accuracy.Median, loss.Median), verdict: NotReproduced,
		why: fmt.Sprintf("Both are within two epochs of it for %d of %d seeds.", near, len(p.DPN)),
		measured: fmt.Sprintf("accuracy in epoch %s, loss in epoch %s of %d",
			accuracy.text("%.0f"), loss.text("%.0f"), epochs)}
	if near == len(p.DPN) {
		j.verdict = Reproduced
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

// rises counts the epochs up to the best one whose validation loss is above that of the epoch before.
func rises(r PosterRun) float64 {
	n := 0
	for i := 1; i < r.Best; i++ {
		if *r.Epochs[i].ValLoss > *r.Epochs[i-1].ValLoss {
			n++
		}
	}
	return float64(n)
}

// judgeSteady judges whether the validation loss falls in every epoch up to the best one.
func judgeSteady(p *Poster) judged {
	s := over(p.DPN, rises)
	best := over(p.DPN, func(r PosterRun) float64 { return float64(r.Best) })
	j := judged{ci: rangeOf(s), numbers: numbers(s.Median, best.Median), verdict: NotReproduced,
		measured: fmt.Sprintf("it rises in %s epochs before the best one, %s", s.text("%.0f"), best.text("%.0f")),
		why:      "It also rises in between."}
	switch {
	case s.Greatest == 0:
		j.verdict, j.why = Reproduced, "It falls in every epoch up to the best one."
	case float64(s.Greatest) <= 0.25*float64(best.Least):
		j.verdict, j.why = InPart, "It falls in most epochs, not in all."
	}
	return j
}

// mostOverfitting is the relative rise of the validation loss after its lowest value that counts as none.
const mostOverfitting = 0.01

// judgeOverfitting judges whether the validation loss rises again, or lies above the training loss.
func judgeOverfitting(p *Poster) judged {
	again := over(p.DPN, func(r PosterRun) float64 { return *r.Epochs[len(r.Epochs)-1].ValLoss/lowestLoss(r) - 1 })
	gap := over(p.DPN, func(r PosterRun) float64 {
		last := r.Epochs[len(r.Epochs)-1]
		return *last.ValLoss - last.TrainLoss
	})
	j := judged{ci: rangeOf(gap), numbers: []float64{100 * float64(again.Greatest), float64(gap.Median)},
		verdict: NotReproduced,
		measured: fmt.Sprintf("the last validation loss is at most %.1f%% above the lowest, and %s beyond the "+
			"training loss", 100*float64(again.Greatest), gap.text("%+.3f")),
		why: "Validation loss rises again, or is above the training loss."}
	if float64(again.Greatest) <= mostOverfitting && gap.Greatest <= 0 {
		j.verdict, j.why = Reproduced, "Only a linear classifier of fixed features is trained, which has little to "+
			"overfit with."
	}
	return j
}

// asPoster counts which of the poster's figures runs have: all three is reproduced, some of them in part.
func asPoster(runs []PosterRun, all string) judged {
	if len(runs) == 0 {
		return judged{}
	}
	s, loss := over(runs, testPercent), over(runs, lowestLoss)
	best := over(runs, func(r PosterRun) float64 { return float64(r.Best) })
	a, b, c := count(runs, as86), count(runs, as04), count(runs, as17)
	joint := count(runs, func(r PosterRun) bool { return as86(r) && as04(r) && as17(r) })
	j := judged{ci: rangeOf(s), numbers: numbers(s.Median, loss.Median, best.Median), verdict: NotReproduced,
		measured: fmt.Sprintf("%s, loss %s, lowest in epoch %s of %d", s.text("%.1f%%"), loss.text("%.3f"),
			best.text("%.0f"), len(runs[0].Epochs)),
		why: fmt.Sprintf("Of %d runs, %d have the accuracy, %d the loss, %d the epoch, and %d all three.", len(runs), a,
			b, c, joint)}
	switch n := len(runs); {
	case joint == n:
		j.verdict = all
	case a == n || b == n || c == n:
		j.verdict = InPart
	}
	return j
}

func judgePosterNetwork(p *Poster) judged { return asPoster(p.Extractor, Reproduced) }

func judgeCosine(p *Poster) judged { return asPoster(p.Cosine, BeyondTheirs) }
