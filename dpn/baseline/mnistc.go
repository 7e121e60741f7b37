package baseline

import (
	"math"

	"dpnbench/dataset"
)

// MNISTC is how accurate a network is on MNIST-C (Mu and Gilmer, arXiv:1906.02337): the share of images
// that it classifies correctly.
type MNISTC struct {
	Name, Source string
	Clean        float64
	Corrupted    map[string]float64 // by the names of MNIST-C, such as shot_noise: see MNISTCNames
}

// MNISTCNames lists the corruptions of MNIST-C in the order of its publication.
func MNISTCNames() []string {
	var names []string
	for _, k := range dataset.CorruptionKinds() {
		if name := k.MNISTC(); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// sargolzaei is where the published rows come from.
const sargolzaei = "Sargolzaei and Rueda, ICPR 2024, arXiv:2408.11309 (without the normalisation of training)"

// PublishedMNISTC returns published rows: the CNN of PyTorch's MNIST example, which is the baseline of the
// errors on MNIST-C, and the best one found of a classifier that has learned from clean images only. Both were
// evaluated on levels from 0 to 1, but trained on normalised ones: see docs/mnist-c.md.
func PublishedMNISTC() []MNISTC {
	return []MNISTC{
		{"published CNN", sargolzaei, 0.9904, map[string]float64{
			"shot_noise": 0.9640, "impulse_noise": 0.7749, "glass_blur": 0.3966, "motion_blur": 0.4740, "shear": 0.9545,
			"scale": 0.8910, "rotate": 0.8989, "brightness": 0.8266, "translate": 0.4742, "stripe": 0.9540,
			"fog": 0.1435, "spatter": 0.9778, "dotted_line": 0.9819, "zigzag": 0.9040, "canny_edges": 0.7722}},
		{"published Hopfield", sargolzaei, 0.9887, map[string]float64{
			"shot_noise": 0.9771, "impulse_noise": 0.9590, "glass_blur": 0.8979, "motion_blur": 0.9082, "shear": 0.9556,
			"scale": 0.8842, "rotate": 0.8895, "brightness": 0.9698, "translate": 0.4436, "stripe": 0.9540,
			"fog": 0.9700, "spatter": 0.9796, "dotted_line": 0.9801, "zigzag": 0.9226, "canny_edges": 0.7734}},
	}
}

// MNISTCScores sums up a MNISTC against a baseline, with errors E = 1 - accuracy. Both readings of the mean
// corruption error are in use: the mean over corruptions of the ratios of errors, after its definition by
// Hendrycks and Dietterich, and the ratio of the sums. The relative errors are those beyond the clean one.
// NaN: an error of the baseline is not above 0.
type MNISTCScores struct {
	Mean              float64 // accuracy over the corruptions
	MCE               float64 // mean of E_c / E_c(baseline)
	RelativeMCE       float64 // mean of (E_c - E_clean) / (E_c - E_clean)(baseline)
	SummedMCE         float64 // sum of E_c / sum of E_c(baseline)
	SummedRelativeMCE float64 // sum of E_c - E_clean / that of the baseline
}

// Scores returns the scores of m against a baseline.
func (m MNISTC) Scores(base MNISTC) MNISTCScores {
	var s MNISTCScores
	var errors, baseErrors, beyond, baseBeyond float64
	names := MNISTCNames()
	n := float64(len(names))
	for _, name := range names {
		e, b := 1-m.Corrupted[name], 1-base.Corrupted[name]
		s.Mean += m.Corrupted[name]
		s.MCE += ratio(e, b)
		s.RelativeMCE += ratio(e-(1-m.Clean), b-(1-base.Clean))
		errors, baseErrors = errors+e, baseErrors+b
		beyond, baseBeyond = beyond+e-(1-m.Clean), baseBeyond+b-(1-base.Clean)
	}
	s.Mean, s.MCE, s.RelativeMCE = s.Mean/n, s.MCE/n, s.RelativeMCE/n
	s.SummedMCE, s.SummedRelativeMCE = ratio(errors, baseErrors), ratio(beyond, baseBeyond)
	return s
}

func ratio(a, b float64) float64 {
	if !(b > 0) {
		return math.NaN()
	}
	return a / b
}
