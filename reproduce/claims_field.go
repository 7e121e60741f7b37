package reproduce

import (
	"fmt"
	"math"
	"strings"
)

const noiseProtocol = "all test images under Gaussian noise of 0.3 and 0.5 and salt-and-pepper noise on 30% of the " +
	"pixels, and clean; 30 steps, untrained potential"

// fieldStatements are the claims about denoising, and about the computation of the potential.
var fieldStatements = []statement{
	{"denoises", overview + "; " + section43, "the ascent actively denoises and improves features", noiseProtocol,
		"denoises", onField(judgeDenoises)},
	{"one-pass", overview, "iterative refinement is better than a single feed-forward pass",
		noiseProtocol + ", against one step that is as long", "rather than a single pass", onField(judgeOnePass)},
	{"autoamplifier", poster, "the ascent boosts primary signals and reduces background noise", noiseProtocol,
		"boosts and reduces", onField(judgeAmplifier)},
	{"langevin", overview, "gradient ascent is a discretised version of Langevin dynamics",
		"unadjusted Langevin chains from test images, at the step size of the ascent, untrained potential",
		"interpretation", onField(judgeLangevin)},
	{"generation", section43, "samples could be drawn by Langevin dynamics",
		"Metropolis-adjusted Langevin chains from test images, untrained potential", "could be",
		onField(judgeSampling)},
	{"log-sum-exp", overview + "; " + poster, "the log-sum-exp trick prevents numerical overflow",
		"all test images, untrained potential, plain sum in float32", "prevents overflow", onField(judgeLogSumExp)},
	{"positive-weights", overview + "; " + section21, "w = exp(c) keeps weights positive and gradients stable",
		"the derivative of phi by c is r: bounds over all test images, untrained potential", "stable",
		onField(judgeWeights)},
	{"variational", overview, "the potential relates to free energy and variational inference",
		"all test images: phi against its variational form, the expected log term plus the entropy of r", "relates",
		onField(judgeVariational)},
	{"optimal-step", overview, "a learnable step size gives optimal convergence",
		"1,000 test images followed until they converge, with the published step size and with 1; untrained " +
			"potential", "optimal", onField(judgeStepSize)},
}

// judgeDenoises judges the gain in signal-to-noise ratio.
func judgeDenoises(x *Field) judged {
	if len(x.Noise) == 0 {
		return judged{}
	}
	var text []string
	var values []float64
	gains := 0
	for _, n := range x.Noise[1:] {
		text = append(text, fmt.Sprintf("%s %.2f to %.2f dB", n.Corruption, float64(n.Gain.Before),
			float64(n.Gain.After)))
		values = append(values, numbers(n.Gain.Before, n.Gain.After)...)
		if n.Gain.CI[0] > 0 {
			gains++
		}
	}
	clean, all := float64(x.Noise[0].After), len(x.Noise)-1
	j := judged{numbers: append(values, clean), verdict: NotReproduced,
		measured: "signal-to-noise ratio: " + strings.Join(text, "; ") + fmt.Sprintf("; clean images end at %.2f dB",
			clean),
		why: fmt.Sprintf("The ratio rises under %d of %d kinds of noise.", gains, all)}
	switch {
	case gains == all && clean >= 20:
		j.verdict = Reproduced
	case gains > 0:
		j.verdict = InPart
		j.why += fmt.Sprintf(" Clean images lose: what is left of them differs from them by %.0f%% of their energy.",
			100*math.Pow(10, -clean/10))
	}
	return j
}

// judgeOnePass compares the steps with a single one.
func judgeOnePass(x *Field) judged {
	if len(x.Noise) == 0 {
		return judged{}
	}
	var text []string
	var values []float64
	ahead := 0
	for _, n := range x.Noise[1:] {
		text = append(text, fmt.Sprintf("%s %+.2f dB (%s)", n.Corruption, float64(n.OnePass), between("%+.2f", n.CI)))
		values = append(values, float64(n.OnePass))
		if n.CI[0] > 0 {
			ahead++
		}
	}
	all := len(x.Noise) - 1
	j := judged{numbers: values, verdict: inAll(ahead, all),
		measured: "30 steps over one step of the same length: " + strings.Join(text, "; "),
		why: fmt.Sprintf("They are ahead under %d of %d kinds of noise: with P = I an ascent towards a single centre "+
			"is a straight line.", ahead, all)}
	if ahead == all {
		j.why = "They are ahead under every noise."
	}
	return j
}

// judgeAmplifier judges signal and background apart.
func judgeAmplifier(x *Field) judged {
	if len(x.Noise) == 0 {
		return judged{}
	}
	var text []string
	var values []float64
	boosted, reduced := 0, 0
	for _, n := range x.Noise[1:] {
		text = append(text, fmt.Sprintf("%s: ink %.2f to %.2f, background %.2f to %.2f", n.Corruption, n.Ink[0],
			n.Ink[1], n.Background[0], n.Background[1]))
		values = append(values, n.Ink[0], n.Ink[1], n.Background[0], n.Background[1])
		if n.Ink[1] > n.Ink[0] {
			boosted++
		}
		if n.Background[1] < n.Background[0] {
			reduced++
		}
	}
	all := len(x.Noise) - 1
	return judged{numbers: values, verdict: inAll(boosted+reduced, 2*all), measured: strings.Join(text, "; "),
		why: fmt.Sprintf("The background becomes fainter under %d of %d kinds of noise, the ink stronger under %d.",
			reduced, all, boosted)}
}

// judgeLogSumExp judges what the log-sum-exp prevents.
func judgeLogSumExp(x *Field) judged {
	l := x.LogSumExp
	if l == nil {
		return judged{}
	}
	j := judged{numbers: numbers(l.Overflow, l.Underflow, l.Lost, l.Images), verdict: NotReproduced,
		measured: fmt.Sprintf("the plain sum overflows at %d and underflows to 0 at %d of %d images, the log-sum-exp "+
			"is not finite at %d", l.Overflow, l.Underflow, l.Images, l.Lost),
		why: "The plain sum would do as well."}
	switch {
	case l.Lost > 0:
		j.why = "Not even the log-sum-exp is finite at all images."
	case l.Overflow > 0:
		j.verdict, j.why = Reproduced, "It is finite at all images."
	case l.Underflow > 0:
		j.verdict, j.why = InPart, "It is needed against underflow, whose logarithm is infinite; the exponents are at "+
			"most c, so that nothing overflows."
	}
	return j
}

// judgeWeights judges the parametrisation of the weights.
func judgeWeights(x *Field) judged {
	l := x.LogSumExp
	if l == nil {
		return judged{}
	}
	j := judged{numbers: numbers(l.LeastR, l.GreatestR), verdict: NotReproduced,
		measured: fmt.Sprintf("derivatives from %.2g to %.3g", l.LeastR, l.GreatestR),
		why:      "The derivative by c leaves the range from 0 to 1."}
	if l.LeastR >= 0 && l.GreatestR <= 1+1e-6 {
		j.verdict, j.why = Reproduced, fmt.Sprintf("exp(c) is above 0 in float32 for c above %.0f, and the derivative "+
			"by c stays from 0 to 1.", math.Log(math.SmallestNonzeroFloat32))
	}
	return j
}

// mostFreeEnergyError is the relative error that float32 explains.
const mostFreeEnergyError = 1e-5

// judgeVariational judges the variational form of the potential.
func judgeVariational(x *Field) judged {
	l := x.LogSumExp
	if l == nil {
		return judged{}
	}
	j := judged{numbers: numbers(l.FreeEnergy), verdict: NotReproduced,
		measured: fmt.Sprintf("largest relative difference %.1e", l.FreeEnergy),
		why:      "The potential is not minus the free energy of its responsibilities."}
	if l.FreeEnergy <= mostFreeEnergyError {
		j.verdict, j.why = Reproduced, "-phi is the variational free energy at its minimum over r, up to rounding; "+
			"this is an identity of the log of every mixture."
	}
	return j
}

// judgeStepSize compares the published step size with 1.
func judgeStepSize(x *Field) judged {
	if x.StepSize == nil {
		return judged{}
	}
	a, b := x.StepSize.Alphas[0], x.StepSize.Alphas[1]
	j := judged{numbers: numbers(a.Alpha, float64(a.Median), b.Alpha, float64(b.Median)), verdict: NotReproduced,
		measured: fmt.Sprintf("median %d steps to a standstill with the published %.3g, which training by the "+
			"listing never changes; %d with %.3g", a.Median, a.Alpha, b.Median, b.Alpha),
		why: fmt.Sprintf("A step size of %.3g converges in fewer steps.", b.Alpha)}
	if a.Median <= b.Median || b.Converged < a.Converged {
		j.verdict, j.why = Reproduced, "The other step size is no better."
	}
	return j
}
