package reproduce

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strings"

	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
)

// This file puts numbers of a run into words, so that no sentence states what was not measured.

// leastChange is the relative change of a figure that counts as one.
const leastChange = 1e-3

// course says how a figure goes, given its values in order: "rises", "first falls and then rises".
// Changes of less than 0.1% do not count.
func course(values []float64) string {
	if len(values) < 2 {
		return "has a single value"
	}
	var turns []bool // whether it rises, from turn to turn
	low, high := values[0], values[0]
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return "is not finite throughout"
		}
		low, high = min(low, v), max(high, v)
		rises := len(turns) > 0 && turns[len(turns)-1]
		falls := len(turns) > 0 && !rises
		switch {
		case !rises && v-low > leastChange*math.Abs(low):
			turns, high = append(turns, true), v
		case !falls && high-v > leastChange*math.Abs(high):
			turns, low = append(turns, false), v
		case rises:
			low = high // only a fall from the highest value counts
		case falls:
			high = low
		}
	}
	switch {
	case len(turns) == 0:
		return "does not change"
	case len(turns) > 2:
		return "rises and falls in turn"
	case len(turns) == 2 && turns[0]:
		return "first rises and then falls"
	case len(turns) == 2:
		return "first falls and then rises"
	case turns[0]:
		return "rises"
	}
	return "falls"
}

// tally joins words with their number, in the order in which they first appear: "rises", or "rises
// in 2 of 3, falls in 1 of 3".
func tally(words []string) string {
	count := map[string]int{}
	var order []string
	for _, w := range words {
		if count[w]++; count[w] == 1 {
			order = append(order, w)
		}
	}
	if len(order) == 1 {
		return order[0]
	}
	for i, w := range order {
		order[i] = fmt.Sprintf("%s in %d of %d", w, count[w], len(words))
	}
	return strings.Join(order, ", ")
}

// courseOf says how D goes along the layers of several runs.
func courseOf[T any](runs []T, layers func(T) []separation.Layer) string {
	var words []string
	for _, r := range runs {
		var d []float64
		for _, l := range layers(r) {
			d = append(d, fuzziness(l))
		}
		words = append(words, course(d))
	}
	return tally(words)
}

func placementSteps(p Placement) []separation.Layer { return p.Analysis.Steps }

func trainedSteps(r TrainedRun) []separation.Layer { return r.Analysis.Steps }

// bySeed says how much a figure varies with the seed.
func bySeed(s Spread) string {
	switch {
	case s.Seeds < 2:
		return "It was measured with a single seed."
	case s.Least == s.Greatest:
		return "It is the same for every seed."
	}
	return fmt.Sprintf("It varies with the seed, from %.3g to %.3g; the published one is that of a single training.",
		float64(s.Least), float64(s.Greatest))
}

// bySeedOf is bySeed for a row of Table 1.
func bySeedOf(_ *Table1, s Spread) string { return bySeed(s) }

// changed compares a figure of the denoised features with that of the input.
func changed(figure func(separation.Layer) float64) func(*Table1, Spread) string {
	return func(t *Table1, _ Spread) string {
		input := figure(t.Few[0].Analysis.Layers[layerInput])
		return fmt.Sprintf("At the input it is %.3g: denoising %s.", input, effect(t.Few, figure))
	}
}

// effect says what the ascent does to a figure.
func effect(places []Placement, figure func(separation.Layer) float64) string {
	var words []string
	for _, p := range places {
		layers := p.Analysis.Layers
		switch course([]float64{figure(layers[layerInput]), figure(layers[layerDenoised])}) {
		case "rises":
			words = append(words, "raises it")
		case "falls":
			words = append(words, "lowers it")
		case "does not change":
			words = append(words, "leaves it as it is")
		default:
			words = append(words, "leaves it undefined")
		}
	}
	return tally(words)
}

// displacementText explains the displacement by that of an image.
func displacementText(t *Table1) string {
	of := func(places []Placement, images int) float64 {
		return float64(over(places, func(p Placement) float64 { return p.Analysis.DisplacementL2 }).Median) /
			math.Sqrt(float64(images))
	}
	text := fmt.Sprintf("It is the Frobenius norm over the 32 images: %.3g an image (root mean square)",
		of(t.Few, table1Images))
	if len(t.Whole) > 0 {
		text += fmt.Sprintf("; all %d images after 30 steps have %.3g", t.Images, of(t.Whole, t.Images))
	}
	return text + "."
}

// layers names the published networks.
func (n LawNetwork) layers() string { return fmt.Sprintf("%d layers", n.Depth) }

// lawText lists what D does in the networks of some kinds, by the groups that name gives.
func lawText(l *LawResult, name func(LawNetwork) string, kinds ...string) string {
	var groups []string
	words := map[string][]string{}
	for _, n := range l.Networks {
		if !slices.Contains(kinds, n.Kind) {
			continue
		}
		group := name(n)
		if words[group] == nil {
			groups = append(groups, group)
		}
		for _, run := range n.Runs {
			_, said := follows(run.Law)
			words[group] = append(words[group], said)
		}
	}
	for i, g := range groups {
		groups[i] = g + ": " + tally(words[g])
	}
	return strings.Join(groups, "; ")
}

// lawCount counts the runs of the networks of some kinds, and those that follow the law.
func lawCount(l *LawResult, kinds ...string) (follow, all int) {
	for _, n := range l.Networks {
		if slices.Contains(kinds, n.Kind) {
			f, a := n.count()
			follow, all = follow+f, all+a
		}
	}
	return follow, all
}

// count counts the runs, and those that follow the law.
func (n LawNetwork) count() (follow, all int) {
	for _, run := range n.Runs {
		if run.Law != nil && run.Law.Follows() {
			follow++
		}
	}
	return follow, len(n.Runs)
}

// samplesText says how D depends on the number of images.
func samplesText(points []separation.CurvePoint) (text string) {
	var d []float64
	var n []int
	for _, p := range points {
		if p.Mean.IsFinite() {
			d, n = append(d, float64(p.Mean)), append(n, p.Samples)
		}
	}
	if len(d) < 2 {
		return sentences.Say("samples unknown")
	}
	return sentences.Say("samples course", "course", course(d), "first", d[0], "few", n[0], "last", d[len(d)-1],
		"many", n[len(n)-1])
}

// risesText says up to which step size phi rises.
func risesText(f *Field) string {
	rises := slices.Clone(f.Rises.Rises)
	sort.Slice(rises, func(i, j int) bool { return rises[i].AlphaLambda < rises[j].AlphaLambda })
	first := slices.IndexFunc(rises, func(r study.Rise) bool { return r.Share < 1 })
	switch {
	case len(rises) == 0:
		return sentences.Say("rises unknown")
	case first < 0:
		return sentences.Say("rises always", "last", rises[len(rises)-1].AlphaLambda)
	case first == 0:
		return sentences.Say("rises never", "first", rises[0].AlphaLambda, "share", rises[0].Share)
	}
	return sentences.Say("rises until", "safe", rises[first-1].AlphaLambda, "first", rises[first].AlphaLambda,
		"share", rises[first].Share)
}

// Words of compared, beside level.
const (
	better = "better"
	worse  = "worse"
)

// compared says how the accuracies of two lists of runs compare: every run of one is better than
// every run of the other, or the ranges overlap.
func compared(a, b Spread) string {
	switch {
	case a.Seeds == 0 || b.Seeds == 0:
		return "not measured"
	case a.Least > b.Greatest:
		return better
	case a.Greatest < b.Least:
		return worse
	}
	return level
}
