package reproduce

import "fmt"

// ascentStatements are the claims about the potential and its ascent.
var ascentStatements = []statement{
	{"potential-learns", paper + ", sections 2.1 and 2.2", "centres, precisions, weights and step size are learned",
		"training with the gradient detached after each step, as in the paper's listing", "learnable",
		onPoster(judgeLearning)},
	{"no-collapse", paper + ", section 3.3",
		"images do not collapse to single points but keep their own characteristics",
		"test images followed until they converge, untrained potential", "structured manifold", onField(judgeCollapse)},
	{"stable-points", paper + ", sections 1.2 and 3.3; overview", "features move to local maxima, which are stable",
		asAbove, "after 30 steps", onField(judgeConvergence)},
	{"nearest-centre", poster, "noisy data move until they converge to the nearest clean centre", asAbove, "nearest",
		onField(judgeNearest)},
	{"phi-rises", poster, "phi at each step measures how near the clean centres are",
		"1,000 test images, 30 steps, untrained potential", "higher is nearer", onField(judgePhi)},
	{"curl", "the documents' code (it plots the curl of the field)", "whether the ascent field has rotation",
		"symmetry of the Hessian of phi at 16 test images, by central differences of the gradient",
		"not given", onField(judgeCurl)},
}

// judgeLearning judges whether training changes the potential.
func judgeLearning(p *Poster) judged {
	most := 0
	for _, run := range p.DPN {
		most = max(most, run.PotentialMoved)
	}
	j := judged{verdict: NotReproduced, numbers: numbers(most),
		measured: fmt.Sprintf("%d parameters of the potential changed in %d epochs", most, len(p.DPN[0].Epochs)),
		why:      "x_current.detach() after each step removes the only path of a gradient to the potential."}
	if most > 0 {
		j.verdict, j.why = Reproduced, "Training changed the potential although the gradient is cut after each step."
	}
	return j
}

// judgeCollapse judges where the ascent ends.
func judgeCollapse(x *Field) judged {
	f := x.FixedPoints
	j := judged{measured: fmt.Sprintf("%d of %d images end at %d points", f.Converged, f.Samples, len(f.Points)),
		numbers: numbers(f.Converged, f.Samples, len(f.Points)),
		verdict: Reproduced, why: fmt.Sprintf("%.0f%% of the images converge, to more than 100 points or not at all.",
			100*f.ShareConverged)}
	if f.ShareConverged > 0.9 {
		j.why = "The ascent has more than 100 end points."
	}
	if len(f.Points) <= 100 && f.ShareConverged > 0.9 {
		j.verdict = NotReproduced
		far := 0.0
		for _, p := range f.Points {
			far = max(far, float64(p.CentreDistance))
		}
		j.why = fmt.Sprintf("The images gather at a few points, at most %.3g from a centre; after 30 steps %.0f%% "+
			"have arrived. %.0f%% of the images belong to the most frequent class of their end point.",
			far, 100*x.After30, 100*f.Purity)
	}
	return j
}

// judgeConvergence judges how many images reach a fixed point.
func judgeConvergence(x *Field) judged {
	f := x.FixedPoints
	j := judged{verdict: NotReproduced, why: "At least 1% of the images reach no fixed point.",
		numbers: numbers(100*x.After30, 100*f.ShareConverged, float64(f.StepsMedian)),
		measured: fmt.Sprintf("%.0f%% have converged after 30 steps, %.0f%% after %d; median %d steps",
			100*x.After30, 100*f.ShareConverged, f.MaxSteps, f.StepsMedian)}
	if f.ShareConverged > 0.99 {
		j.verdict = Reproduced
		j.why = fmt.Sprintf("More than 99%% of the images reach a maximum, %.0f%% within the paper's 30 steps.",
			100*x.After30)
	}
	return j
}

// judgeNearest judges which centre the ascent ends at.
func judgeNearest(x *Field) judged {
	j := judged{numbers: numbers(100 * x.Nearest), verdict: NotReproduced,
		why:      fmt.Sprintf("%.1f%% end at another centre.", 100*(1-x.Nearest)),
		measured: fmt.Sprintf("%.1f%% end at the centre that was nearest at the start", 100*x.Nearest)}
	if x.Nearest > 0.95 {
		j.verdict = Reproduced
	}
	return j
}

// judgePhi judges whether phi rises at the published step size.
func judgePhi(x *Field) judged {
	for _, s := range x.Rises.Rises {
		if s.Factor <= 0.99 || s.Factor >= 1.01 {
			continue
		}
		j := judged{measured: fmt.Sprintf("phi rises in %d of %d steps", s.Rises, s.Pairs),
			numbers: numbers(s.Rises, s.Pairs), verdict: NotReproduced,
			why: fmt.Sprintf("phi decreases in %d steps.", s.Falls)}
		if s.Falls == 0 {
			j.verdict, j.why = Reproduced,
				fmt.Sprintf("alpha is %.2g; up to %.2g (2 over the largest eigenvalue of P) "+
					"phi cannot decrease.", s.Alpha, x.Rises.StableAlpha)
		}
		return j
	}
	return judged{}
}

// mostAsymmetry is the asymmetry of a Hessian, measured by differences, that rounding explains.
const mostAsymmetry = 1e-6

// judgeCurl judges whether the ascent field is a gradient field.
func judgeCurl(x *Field) judged {
	asymmetry := float64(x.Hessian.Asymmetry)
	j := judged{measured: fmt.Sprintf("asymmetry of the Hessian %.1e", asymmetry),
		numbers: numbers(asymmetry), verdict: NotReproduced,
		why: "The field is not the gradient of phi."}
	if asymmetry < mostAsymmetry {
		j.verdict, j.why = Reproduced, "It has none: the Hessian of phi is symmetric up to rounding."
	}
	return j
}
