package reproduce

import (
	"fmt"

	"dpnbench/dpn/separation"
)

// Indices of the layers in an analysis.
const (
	layerInput    = 0
	layerFeatures = 1
	layerDenoised = 2
	layerLogits   = 3
)

const (
	row0, row1, row2, row3 = paper + ", Table 1, row 0", paper + ", Table 1, row 1",
		paper + ", Table 1, row 2", paper + ", Table 1, row 3"
	section31, section32 = paper + ", section 3.1", paper + ", section 3.2"

	first32Trained = first32 + ", classifier trained for 5 epochs"

	tableDigit = 0.01 // of Table 1, whose figures have two decimals
)

// table1Statements are the claims of the paper's Table 1 and its section 3.
var table1Statements = []statement{
	{"table1-input-d", row0, "D of the input is 2.14", first32, "2.14",
		inputRow(2.14, fuzziness, func(t *Table1) string {
			why := "This is the value of 32 images"
			if len(t.Whole) > 0 {
				l := t.Whole[0].Analysis.Layers[layerInput]
				why += fmt.Sprintf(": all %d have %.2f", t.Images, float64(l.Fuzziness))
				why += limitText(l.Sampling)
			}
			return why + "."
		})},
	{"table1-input-distance", row0, "mean distance between class means of the input", first32, "24.51",
		inputRow(24.51, distance, func(t *Table1) string { return wholeText(t, "%.2f", distance) })},
	{"table1-input-ratio", row0, "between/within variance ratio of the input", first32, "0.89",
		inputRow(0.89, ratio, func(t *Table1) string { return wholeText(t, "%.2f", ratio) })},
	{"pca-input-1", section32, "explained variance of the input, first component", first32, "0.16",
		inputRow(0.16, component(0), func(t *Table1) string { return wholeText(t, "%.3f", component(0)) })},
	{"pca-input-2", section32, "explained variance of the input, second component", first32, "0.11",
		inputRow(0.11, component(1), func(t *Table1) string { return wholeText(t, "%.3f", component(1)) })},
	{"table1-features", row1, "feature extraction changes none of the figures", first32, "2.14 / 24.51 / 0.89",
		onTable1(judgeFeatures)},
	{"table1-denoised-d", row2, "D after denoising is 2.81", first32, "2.81",
		seedsRow(layerDenoised, 2.81, fuzziness, bySeedOf)},
	{"table1-denoised-distance", row2, "mean distance between class means after denoising", first32, "18.24",
		seedsRow(layerDenoised, 18.24, distance, changed(distance))},
	{"table1-denoised-ratio", row2, "between/within variance ratio after denoising", first32, "2.10",
		seedsRow(layerDenoised, 2.10, ratio, changed(ratio))},
	{"displacement", section31, "L2 distance of 69.6 between features before and after denoising", first32, "69.6",
		onTable1(func(t *Table1) judged {
			s := over(t.Few, func(p Placement) float64 { return p.Analysis.DisplacementL2 })
			return enclosed(s, 69.6, 0.1, displacementText(t))
		})},
	{"pca-denoised-1", section32, "explained variance after denoising, first component", first32, "0.28",
		seedsRow(layerDenoised, 0.28, component(0), changed(component(0)))},
	{"pca-denoised-2", section32, "explained variance after denoising, second component", first32, "0.18",
		seedsRow(layerDenoised, 0.18, component(1), changed(component(1)))},
	{"table1-logits-d", row3, "D of the logits is 9.53", first32Trained, "9.53",
		seedsRow(layerLogits, 9.53, fuzziness, bySeedOf)},
	{"table1-logits-ratio", row3, "between/within variance ratio of the logits", first32Trained, "8.21",
		seedsRow(layerLogits, 8.21, ratio, bySeedOf)},
	{"table1-logits-distance", row3, "mean distance between class means of the logits", first32Trained, "17.17",
		seedsRow(layerLogits, 17.17, distance, bySeedOf)},
	{"pca-logits-1", section32, "explained variance of the logits, first component", first32Trained, "0.55",
		seedsRow(layerLogits, 0.55, component(0), bySeedOf)},
	{"pca-logits-2", section32, "explained variance of the logits, second component", first32Trained, "0.18",
		seedsRow(layerLogits, 0.18, component(1), bySeedOf)},
	{"logits-triple", section31, "D more than triples from denoised features to logits", first32Trained, "2.81 to 9.53",
		onTable1(judgeLogits)},
	{"denoising-raises-d", section31, "denoising does not lower D but raises it slightly", allTests, "2.14 to 2.81",
		onTable1(judgeDenoising)},
	{"ratio-rises", section31, "the between/within ratio rises although D does", allTests, "0.89 to 2.10",
		onTable1(judgeRatio)},
}

func fuzziness(l separation.Layer) float64 { return float64(l.Fuzziness) }
func distance(l separation.Layer) float64  { return l.MeanDistance }
func ratio(l separation.Layer) float64     { return float64(l.BetweenWithinRatio) }
func component(i int) func(separation.Layer) float64 {
	return func(l separation.Layer) float64 { return l.ExplainedVariance[i] }
}

// layerOf returns the spread of a layer's figure over the placements, with trained over those
// with a trained classifier.
func layerOf(places []Placement, trained bool, layer int, figure func(separation.Layer) float64) Spread {
	var v []float64
	for _, p := range places {
		if !trained || p.Trained {
			v = append(v, figure(p.Analysis.Layers[layer]))
		}
	}
	return spread(v)
}

// stepOf returns D after a step over the placements measured on all images.
func stepOf(places []Placement, step int) Spread {
	return over(places, func(p Placement) float64 { return float64(p.Analysis.Steps[step].Fuzziness) })
}

// inputRow judges a figure in the input's row of Table 1.
func inputRow(published float64, figure func(separation.Layer) float64,
	why func(t *Table1) string) func(Results) judged {
	return onTable1(func(t *Table1) judged {
		return printed(figure(t.Few[0].Analysis.Layers[layerInput]), published, tableDigit, why(t))
	})
}

// seedsRow judges a figure in another row of Table 1 by its range over seeds.
func seedsRow(layer int, published float64, figure func(separation.Layer) float64,
	why func(*Table1, Spread) string) func(Results) judged {
	return onTable1(func(t *Table1) judged {
		s := layerOf(t.Few, layer == layerLogits, layer, figure)
		if s.Seeds == 0 {
			return judged{why: noClassifier}
		}
		return enclosed(s, published, tableDigit, why(t, s))
	})
}

const noClassifier = "No classifier was trained in this run."

// wholeText states a figure of the input on all test images.
func wholeText(t *Table1, format string, figure func(separation.Layer) float64) string {
	if len(t.Whole) == 0 {
		return "Measured on 32 images; this run did not measure all."
	}
	return fmt.Sprintf("Measured on 32 images; all %d have "+format+".",
		t.Images, figure(t.Whole[0].Analysis.Layers[layerInput]))
}

// limitText continues a sentence about D with its estimate for N → ∞ images.
func limitText(s *separation.Sampling) string {
	switch {
	case s == nil:
		return ""
	case !s.Limit.IsFinite() || len(s.CI) != 2:
		return ", too few to estimate the limit N → ∞"
	}
	text := fmt.Sprintf("; the estimate for N → ∞ images of the same sources, such as writers, is %.2f (95%% "+
		"interval %.2f to %.2f", float64(s.Limit), float64(s.CI[0]), float64(s.CI[1]))
	if s.Blocks > 0 {
		text += fmt.Sprintf(", from draws of blocks of consecutive images, whose means vary %.1f times as much as in "+
			"random order", float64(s.Order))
	}
	return text + ")"
}

// judgeFeatures compares the figures of the features with those of the input.
func judgeFeatures(t *Table1) judged {
	layers := t.Few[0].Analysis.Layers
	input, l := layers[layerInput], layers[layerFeatures]
	j := judged{measured: fmt.Sprintf("%.2f / %.2f / %.2f", fuzziness(l), distance(l), ratio(l)),
		numbers: numbers(fuzziness(l), distance(l), ratio(l)),
		verdict: NotReproduced, why: "The features differ from the pixels."}
	if fuzziness(l) == fuzziness(input) && distance(l) == distance(input) && ratio(l) == ratio(input) {
		j.verdict, j.why = Reproduced, "The features are the pixels."
	}
	return j
}

// judgeLogits judges the factor of D from the denoised features to the logits.
func judgeLogits(t *Table1) judged {
	var v []float64
	for _, p := range t.Few {
		if p.Trained {
			v = append(v, fuzziness(p.Analysis.Layers[layerLogits])/fuzziness(p.Analysis.Layers[layerDenoised]))
		}
	}
	s := spread(v)
	if s.Seeds == 0 {
		return judged{why: noClassifier}
	}
	if s.Seeds < leastSeeds {
		return tooFew(s, "%.2f")
	}
	large := 0
	for _, f := range v {
		if f > 3 {
			large++
		}
	}
	const published = 3.39 // 9.53 / 2.81
	j := judged{ci: oneMore(s), numbers: numbers(s.Median), verdict: NotReproduced,
		why: fmt.Sprintf("The published factor is %.2f; here it is above 3 for %d of %d seeds.", published, large,
			len(v)),
		measured: fmt.Sprintf("factor %.2f (%s over %d seeds)", float64(s.Median), s.text("%.2f"), s.Seeds)}
	if ci := j.ci; float64(ci[0]) <= published && published <= float64(ci[1]) {
		j.verdict = OnlyByTheirs
	}
	return j
}

// judgeDenoising judges D along the steps of the untrained potential on all test images.
func judgeDenoising(t *Table1) judged {
	if len(t.Whole) == 0 {
		return judged{}
	}
	ten, thirty := stepOf(t.Whole, table1Steps), stepOf(t.Whole, paperSteps)
	input := float64(t.Whole[0].Analysis.Layers[layerInput].Fuzziness)
	j := judged{ci: rangeOf(thirty), numbers: numbers(separation.Float(input), ten.Median, thirty.Median),
		verdict: NotReproduced,
		measured: fmt.Sprintf("%.2f at the input, %s after 10 steps, %s after 30", input, ten.text("%.1f"),
			thirty.text("%.1f")),
		why: fmt.Sprintf("An untrained potential moves images to centres that k-means placed without labels: D %s.",
			courseOf(t.Whole, placementSteps))}
	if float64(ten.Least) > input {
		j.verdict = OnlyByTheirs
	}
	return j
}

// judgeRatio judges the between/within ratio on all test images.
func judgeRatio(t *Table1) judged {
	if len(t.Whole) == 0 {
		return judged{}
	}
	a, b := layerOf(t.Whole, false, layerInput, ratio), layerOf(t.Whole, false, layerDenoised, ratio)
	j := judged{ci: rangeOf(b), numbers: numbers(a.Median, b.Median), verdict: NotReproduced,
		measured: fmt.Sprintf("%.2f at the input, %s after 30 steps", float64(a.Median), b.text("%.2f")),
		why: fmt.Sprintf("The ratio weights directions by their variance, D by its inverse. As to the ratio, the "+
			"ascent %s; as to D, it %s.", effect(t.Whole, ratio), effect(t.Whole, fuzziness))}
	if b.Least > a.Greatest {
		j.verdict = Reproduced
	}
	return j
}
