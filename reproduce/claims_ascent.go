package reproduce

import "fmt"

const ends = "all test images followed until they converge, untrained potential"

// ascentStatements are the claims about where the ascent goes.
var ascentStatements = []statement{
	{"no-collapse", section33, "images of a class do not collapse to a single point but keep their own characteristics",
		"all test images: 10 nearest neighbours kept after 30 steps; then followed until they converge",
		"structured manifold", onField(judgeCollapse)},
	{"stable-points", paper + ", sections 1.2 and 3.3; " + overview, "features move to local maxima, which are stable",
		ends, "after 30 steps", onField(judgeConvergence)},
	{"nearest-centre", poster, "noisy data move until they converge to the nearest clean centre", ends, "nearest",
		onField(judgeNearest)},
	{"same-class", section33, "images of the same class tend to move toward similar regions", ends, "tend to",
		onField(judgeRegions)},
	{"phi-nearness", poster, "phi at each step indicates how near the clean centres are: higher is nearer",
		"1,000 test images at each of 30 steps, untrained potential: rank correlation of phi with the distance to " +
			"the nearest centre", "higher is nearer", onField(judgeNearness)},
	{"free-energy", section42 + ", point 3", "the system evolves toward configurations that minimise free energy",
		"1,000 test images, 30 steps, untrained potential; the free energy is -phi", "minimise", onField(judgePhi)},
}

// Limits of judgeCollapse: the least share of neighbours kept by images that keep their characteristics, the most
// end points and the least share of converged images of a collapse.
const (
	leastKept     = 0.5
	mostPoints    = 100
	leastGathered = 0.9
)

// judgeCollapse judges what is left of the differences between images after 30 steps and at the end.
func judgeCollapse(x *Field) judged {
	f := x.FixedPoints
	if len(x.PointsOfClass) != 2 {
		return judged{why: "No image converged."}
	}
	gathered := len(f.Points) <= mostPoints && f.ShareConverged > leastGathered
	j := judged{verdict: NotReproduced,
		measured: fmt.Sprintf("after 30 steps %.0f%% of the 10 nearest neighbours are kept; %d of %d images end at %d "+
			"points, 90%% of a class at %d to %d", 100*x.Kept30, f.Converged, f.Samples, len(f.Points),
			x.PointsOfClass[0], x.PointsOfClass[1]),
		numbers: append([]float64{100 * x.Kept30}, numbers(f.Converged, f.Samples, len(f.Points), x.PointsOfClass[0],
			x.PointsOfClass[1])...),
		why: "After 30 steps most of an image's neighbours are others."}
	switch kept := x.Kept30 >= leastKept; {
	case kept && gathered:
		far := 0.0
		for _, p := range f.Points {
			far = max(far, float64(p.CentreDistance))
		}
		j.verdict, j.why = OnlyByTheirs, fmt.Sprintf("It is so only because the ascent stops early: the images "+
			"gather at a few points, at most %.3g from a centre, and all images at a point are one.", far)
	case kept:
		j.verdict, j.why = Reproduced, fmt.Sprintf("Continued ascents take %.0f%% of the images to a standstill, "+
			"at %d points.", 100*f.ShareConverged, len(f.Points))
	}
	return j
}

// judgeConvergence judges how many images reach a fixed point.
func judgeConvergence(x *Field) judged {
	f := x.FixedPoints
	j := judged{verdict: NotReproduced, why: fmt.Sprintf("%.0f%% of the images reach no fixed point.",
		100*(1-f.ShareConverged)),
		numbers: numbers(100*x.After30, 100*f.ShareConverged, float64(f.StepsMedian)),
		measured: fmt.Sprintf("%.0f%% have converged after 30 steps, %.0f%% after %d; median %d steps",
			100*x.After30, 100*f.ShareConverged, f.MaxSteps, f.StepsMedian)}
	switch {
	case x.After30 > 0.99:
		j.verdict, j.why = Reproduced, "More than 99% of the images reach a maximum within the paper's 30 steps."
	case f.ShareConverged > 0.99:
		j.verdict = BeyondTheirs
		j.why = fmt.Sprintf("More than 99%% of the images reach a maximum, but only %.0f%% within the paper's 30 "+
			"steps.", 100*x.After30)
	}
	return j
}

// judgeNearest judges which centre the ascent ends at.
func judgeNearest(x *Field) judged {
	f := x.FixedPoints
	j := judged{numbers: numbers(100*x.Nearest, 100*x.After30, 100*x.Nearest30), verdict: NotReproduced,
		why: fmt.Sprintf("%.1f%% end at another centre.", 100*(1-x.Nearest)),
		measured: fmt.Sprintf("%.1f%% end at the centre that was nearest at the start; after 30 steps %.0f%% have "+
			"converged, and it is still the nearest of %.1f%%", 100*x.Nearest, 100*x.After30, 100*x.Nearest30)}
	switch {
	case x.Nearest > 0.95 && x.After30 > 0.99:
		j.verdict, j.why = Reproduced, "They converge within 30 steps."
	case x.Nearest > 0.95:
		j.verdict = BeyondTheirs
		j.why = fmt.Sprintf("They move towards it, and arrive after %d steps (median), not 30.", f.StepsMedian)
	}
	return j
}

// judgeRegions judges whether images of a class end together.
func judgeRegions(x *Field) judged {
	f := x.FixedPoints
	j := judged{numbers: numbers(100*f.Purity, 100*x.StartPurity), verdict: NotReproduced,
		measured: fmt.Sprintf("%.0f%% of the images have the most frequent class of their end point; %.0f%% that of "+
			"their nearest centre at the start", 100*f.Purity, 100*x.StartPurity),
		why: "Images of a class do not end together more than others."}
	switch {
	case f.Purity > 0.5 && f.Purity > 2*x.LargestClass:
		j.verdict, j.why = Reproduced, fmt.Sprintf("The ascent itself adds %.1f percentage points: k-means has "+
			"placed the regions.", 100*(f.Purity-x.StartPurity))
	case f.Purity > 2*x.LargestClass:
		j.verdict, j.why = InPart, "More often than by chance, but for less than half of the images."
	}
	return j
}

// judgeNearness judges whether phi ranks images by their distance to the nearest centre.
func judgeNearness(x *Field) judged {
	if x.Nearness == nil {
		return judged{}
	}
	all, weakest := float64(x.Nearness.Spearman), float64(x.Nearness.Weakest)
	j := judged{numbers: numbers(all, weakest), verdict: NotReproduced,
		measured: fmt.Sprintf("rank correlation %.4f over images and steps, %.4f at the weakest step", all, weakest),
		why:      "A higher phi does not mean a smaller distance."}
	switch {
	case weakest <= -0.95:
		j.verdict, j.why = Reproduced, "With P = I and equal weights, phi is minus half the squared distance to the "+
			"nearest centre, up to the log of the sum."
	case weakest < -0.5:
		j.verdict, j.why = InPart, "The ranks agree only roughly."
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
