package reproduce

import (
	"fmt"
	"math"
	"strings"

	"dpnbench/dpn"
)

const (
	robustProtocol = "a DPN of a million multiply-adds compared with a linear classifier, MLP, MLP with dropout, CNN " +
		"and nearest class means of at most the same cost: same images, same noise, same seeds; all test images"

	posterIntroduction = poster + ", Introduction"
	outperformsSOTA    = "it outperforms SOTA models at equivalent computational resources"
	testedWith         = "the same, trained on clean images, tested with "

	againstBoth = "published network, 10 steps, against a linear classifier and an MLP of 640, 512 and 256 units, " +
		"trained on clean images"
)

// costStatements are the claims about accuracy at equal cost.
var costStatements = []statement{
	{"sota", posterIntroduction, outperformsSOTA, againstBoth + "; clean test images", "outperforms",
		onPoster(judgeSOTA)},
	{"low-dimension", poster + ", Neural Architecture", "a low-dimensional feature space reduces cost and memory " +
		"significantly", "multiply-adds per image and bytes of parameters, counted: preset published on 784 pixels, " +
		"compact on 64 features", "significantly", judgeDimension},
	{"robustness", section43 + "; " + overview + "; " + poster, "DPNs may be more robust to noise than traditional " +
		"architectures", againstBoth + "; noisy test images", "may be", onPoster(judgeRobustness)},
	{"adapts-to-noise", poster, "learning clean centres gives good adaptability to noise types",
		againstBoth + "; accuracy that noise costs", "good", onPoster(judgeAdaptability)},
	{"structure-preservation", section43, "unlike traditional networks, DPNs preserve structural information",
		"all test images: share of the 10 nearest neighbours in the input that are kept by the published network, 30 " +
			"steps, and by the last hidden layer of an MLP", "appear to preserve", onPoster(judgeStructure)},
	{"uncertainty", section43, "the landscape quantifies uncertainty",
		"published network, 10 steps, seed 1: does phi where the ascent ends detect noise, inverted, rotated and " +
			"misclassified images?", "may be", onPoster(judgeUncertainty)},
	{"near-maxima", section43, "regions with several near maxima correspond to uncertainty",
		"published network, 10 steps, seed 1: does the entropy of the responsibilities at x_0 detect the same?",
		"might correspond", onPoster(judgeNearMaxima)},
}

// robustStatements are the comparisons of reproduce robust, with presets made for it.
var robustStatements = []statement{
	{"sota-clean", posterIntroduction, outperformsSOTA + ": trained and tested on clean images", robustProtocol,
		"outperforms", outperforms(false, 0)},
	{"sota-gaussian-0.3", posterIntroduction, testedWith + "Gaussian noise of 0.3", robustProtocol, "outperforms",
		outperforms(false, 1)},
	{"sota-gaussian-0.5", posterIntroduction, testedWith + "Gaussian noise of 0.5", robustProtocol, "outperforms",
		outperforms(false, 2)},
	{"sota-saltpepper-0.3", posterIntroduction, testedWith + "salt-and-pepper noise on 30% of the pixels",
		robustProtocol, "outperforms", outperforms(false, 3)},
	{"sota-noisy-training", posterIntroduction, "the same, trained with noise on half of each minibatch",
		robustProtocol, "outperforms", outperforms(true, 0, 1, 2, 3)},
}

// otherStatements are those that say nothing that can be measured.
var otherStatements = []statement{
	{"cnn-relearns", poster, "CNN models need to relearn the entire mapping and lack an explicit model of noise", "",
		"we found", notTestable("It names no network, noise or figure; the potential has no parameter for noise, " +
			"either.")},
	{"einsum", overview, "torch.einsum makes the quadratic terms efficient", "", "efficient",
		notTestable("It compares the authors' program, which is not public, with no other.")},
	{"novelty", overview + "; " + paper + ", section 5", "DPNs are a novel architecture and paradigm", "", "novel",
		notTestable("No measurement decides what is new.")},
	{"industry", posterResults, "with more resources, results comparable to models like ImageNet's", "", "anticipated",
		notTestable("It is a forecast.")},
	{"safety", section43, "DPNs are well suited for medical diagnosis, scientific discovery and safety-critical " +
		"systems", "", "might be", notTestable("It is a forecast without data of such a field.")},
}

// rivals are the baselines of the poster's trainings.
func (p *Poster) rivals() []struct {
	name string
	runs []PosterRun
} {
	return []struct {
		name string
		runs []PosterRun
	}{{"linear classifier", p.Linear}, {"MLP", p.MLP}}
}

// judgeSOTA compares the published network with the baselines.
func judgeSOTA(p *Poster) judged {
	d := over(p.DPN, testPercent)
	j := judged{ci: rangeOf(d), numbers: []float64{float64(d.Median), float64(p.DPN[0].MACs)},
		measured: fmt.Sprintf("%.1f%% at %d multiply-adds per image", float64(d.Median), p.DPN[0].MACs)}
	var said []string
	ahead := 0
	for _, r := range p.rivals() {
		if len(r.runs) == 0 {
			return judged{}
		}
		s, macs := over(r.runs, testPercent), r.runs[0].MACs
		word := compared(d, s)
		if word == better {
			ahead++
		}
		j.measured += fmt.Sprintf("; %s %.1f%% at %d", r.name, float64(s.Median), macs)
		j.numbers = append(j.numbers, float64(s.Median), float64(macs))
		than := "than"
		if word == level {
			than = "with"
		}
		said = append(said, fmt.Sprintf("%s %s the %s, which takes %.3g%% of its multiply-adds", word, than, r.name,
			100*float64(macs)/float64(p.DPN[0].MACs)))
	}
	j.verdict, j.why = NotReproduced, "Every seed compared with every seed, it is "+strings.Join(said, "; ")+"."
	if ahead == len(p.rivals()) {
		j.verdict = Reproduced
	}
	return j
}

// judgeDimension counts multiply-adds and parameters of two presets.
func judgeDimension(Results) judged {
	raw, _ := dpn.Preset("published")
	small, _ := dpn.Preset("compact")
	a := raw.Components * 784 * 784 * raw.Steps
	b := small.Components*small.Dim*small.Dim*small.Steps + 784*small.Dim
	m := 4 * raw.Components * 784 * 785
	n := 4 * (small.Components*small.Dim*(small.Dim+1) + 784*small.Dim)
	cost, memory := float64(a)/float64(b), float64(m)/float64(n)
	j := judged{numbers: numbers(a, m, b, n), verdict: NotReproduced,
		measured: fmt.Sprintf("%.0f million multiply-adds and %.1f MB on 784 pixels, "+
			"%.2f million and %.2f MB on 64 features",
			float64(a)/1e6, float64(m)/1e6, float64(b)/1e6, float64(n)/1e6),
		why: fmt.Sprintf("%.0f times less cost and %.0f times less memory: the ascent takes k d² n multiply-adds and "+
			"k d² numbers.", cost, memory)}
	switch {
	case min(cost, memory) >= 10:
		j.verdict = Reproduced
	case max(cost, memory) >= 10:
		j.verdict = InPart
	}
	return j
}

// underNoise compares a figure of the published network with those of the baselines under each noise; more is
// better. text introduces the figures.
func underNoise(p *Poster, text string, figure func(r PosterRun, noise int) float64) (j judged, ahead, all int) {
	var parts []string
	for i, n := range noises {
		of := func(r PosterRun) float64 { return figure(r, i) }
		d := over(p.DPN, of)
		part := fmt.Sprintf("%v %.1f", n, float64(d.Median))
		j.numbers = append(j.numbers, float64(d.Median))
		for _, r := range p.rivals() {
			if len(r.runs) == 0 {
				return judged{}, 0, 0
			}
			s := over(r.runs, of)
			part += fmt.Sprintf(", %s %.1f", r.name, float64(s.Median))
			j.numbers = append(j.numbers, float64(s.Median))
			all++
			if compared(d, s) == better {
				ahead++
			}
		}
		parts = append(parts, part)
	}
	j.measured, j.verdict = text+strings.Join(parts, "; "), NotReproduced
	return j, ahead, all
}

// judgeRobustness compares the published network with the baselines under noise.
func judgeRobustness(p *Poster) judged {
	j, ahead, all := underNoise(p, "accuracy in %: ", func(r PosterRun, i int) float64 {
		return 100 * r.Noisy[i].Accuracy
	})
	if all == 0 {
		return judged{}
	}
	mlp := 0
	for i := range noises {
		of := func(r PosterRun) float64 { return r.Noisy[i].Accuracy }
		if compared(over(p.DPN, of), over(p.MLP, of)) == worse {
			mlp++
		}
	}
	j.why = fmt.Sprintf("Every seed is better than every seed of a baseline in %d of %d comparisons; the MLP, which "+
		"takes %.2g%% of the multiply-adds, is better under %d of %d kinds of noise.", ahead, all,
		100*float64(p.MLP[0].MACs)/float64(p.DPN[0].MACs), mlp, len(noises))
	switch {
	case ahead == all:
		j.verdict = Reproduced
	case mlp == 0 && ahead > 0:
		j.verdict = InPart
	}
	return j
}

// judgeAdaptability compares what noise costs.
func judgeAdaptability(p *Poster) judged {
	j, ahead, all := underNoise(p, "points lost, as negative numbers: ", func(r PosterRun, i int) float64 {
		return 100 * (r.Noisy[i].Accuracy - r.TestAccuracy)
	})
	if all == 0 {
		return judged{}
	}
	j.why = fmt.Sprintf("Noise costs every seed less than every seed of a baseline in %d of %d comparisons.",
		ahead, all)
	j.verdict = inAll(ahead, all)
	return j
}

// judgeStructure compares the neighbours kept.
func judgeStructure(p *Poster) judged {
	if len(p.MLP) == 0 {
		return judged{}
	}
	kept := func(r PosterRun) float64 { return 100 * r.Kept }
	d, m := over(p.DPN, kept), over(p.MLP, kept)
	word := compared(d, m)
	j := judged{ci: rangeOf(d), numbers: numbers(d.Median, m.Median), verdict: NotReproduced,
		measured: fmt.Sprintf("%s kept, by the MLP %s", d.text("%.1f%%"), m.text("%.1f%%")),
		why:      fmt.Sprintf("Every seed compared with every seed, the published network is %s.", word)}
	if word == better {
		j.verdict = OnlyByTheirs
		j.why += " Only at 30 steps: its ascents have not ended (see the row on collapse)."
	}
	return j
}

// judgeNearMaxima judges whether the entropy of the responsibilities detects doubt.
func judgeNearMaxima(p *Poster) judged {
	return judgeDetected(p, "the entropy", func(d Detected) (float64, [2]float64) { return d.Entropy, d.EntropyCI })
}

// judgeUncertainty judges whether the potential tells what the network does not know.
func judgeUncertainty(p *Poster) judged {
	return judgeDetected(p, "phi", func(d Detected) (float64, [2]float64) { return d.Phi, d.PhiCI })
}

// judgeDetected judges a score by its AUROC in every task.
func judgeDetected(p *Poster, name string, score func(Detected) (auroc float64, ci [2]float64)) judged {
	if len(p.Detected) == 0 {
		return judged{}
	}
	var text []string
	detected, reverse, ahead := 0, 0, 0
	worst, least := "", math.Inf(1)
	for _, d := range p.Detected {
		auroc, ci := score(d)
		text = append(text, fmt.Sprintf("%s: AUROC of %s %.3f, of the largest softmax %.3f", d.Task, name, auroc,
			d.Softmax))
		switch {
		case ci[0] > 0.5:
			detected++
		case ci[1] < 0.5:
			reverse++
		}
		if auroc > d.Softmax {
			ahead++
		}
		if auroc < least {
			worst, least = d.Task, auroc
		}
	}
	all := len(p.Detected)
	return judged{numbers: numbers(detected, all, ahead, reverse), measured: strings.Join(text, "; "),
		verdict: inAll(detected, all),
		why: fmt.Sprintf("%s is better than chance in %d of %d tasks and worse in %d (worst: %s), and better than the "+
			"largest softmax in %d.", strings.ToUpper(name[:1])+name[1:], detected, all, reverse, worst, ahead)}
}
