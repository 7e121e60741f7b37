package separation

import (
	"fmt"
	"math"
	"strings"

	"dpnbench/internal/format"
)

// noiseLimit is the noise share above which D is unreliable.
const noiseLimit = 0.1

// warning returns Layer.Warning.
func (l Layer) warning() string {
	switch {
	case l.deficient():
		return l.deficiency()
	case float64(l.NoiseShare) > noiseLimit:
		return noisy(l.noisePercent(), l.smallestClass())
	}
	return ""
}

// deficient reports whether the class means span fewer directions than possible.
func (l Layer) deficient() bool { return l.Rank < l.fullRank() }

func (l Layer) fullRank() int { return min(l.Dim, l.Classes-1) }

func (l Layer) deficiency() string {
	return fmt.Sprintf("the class means span %s of %d: D says nothing of the others", format.Count(l.Rank, "direction"),
		l.fullRank())
}

func (l Layer) noisePercent() string {
	return fmt.Sprintf("%.0f%%", 100*min(1, float64(l.NoiseShare)))
}

func (l Layer) smallestClass() int {
	least := math.MaxInt
	for _, n := range l.ClassCounts {
		least = min(least, n)
	}
	return least
}

func noisy(percent string, smallest int) string {
	return fmt.Sprintf(
		"about %s of the smallest eigenvalue of SSb is the sampling noise of class means "+
			"(%s in the smallest class): D is too small",
		percent, format.Count(smallest, "sample"))
}

// Warnings combines the warnings of layers, or of the steps of an ascent: one sentence per reason,
// which names its layers. A run of layers is written as its first and last one.
func Warnings(layers []Layer) []string {
	var out []string
	reasons := map[string]bool{}
	for _, l := range layers {
		if l.Warning == "" || !l.deficient() || reasons[l.deficiency()] {
			continue
		}
		reason := l.deficiency()
		reasons[reason] = true
		out = append(out, runs(layers, func(o Layer) bool { return o.Warning == reason })+": "+reason)
	}
	var least, most *Layer
	for i := range layers {
		l := &layers[i]
		if l.Warning == "" || l.deficient() {
			continue
		}
		if least == nil || l.NoiseShare < least.NoiseShare {
			least = l
		}
		if most == nil || l.NoiseShare > most.NoiseShare {
			most = l
		}
	}
	if least != nil {
		percent := least.noisePercent()
		if percent != most.noisePercent() {
			percent = strings.TrimSuffix(percent, "%") + " to " + most.noisePercent()
		}
		out = append(out, runs(
			layers,
			func(l Layer) bool { return l.Warning != "" && !l.deficient() },
		)+": "+noisy(percent, most.smallestClass()))
	}
	return out
}

// runs names the affected layers, runs of them by their ends.
func runs(layers []Layer, meant func(Layer) bool) string {
	var names []string
	for i := 0; i < len(layers); i++ {
		if !meant(layers[i]) {
			continue
		}
		from := i
		for i+1 < len(layers) && meant(layers[i+1]) {
			i++
		}
		switch i - from {
		case 0:
			names = append(names, layers[i].Name)
		case 1:
			names = append(names, layers[from].Name, layers[i].Name)
		default:
			names = append(names, layers[from].Name+" to "+layers[i].Name)
		}
	}
	return strings.Join(names, ", ")
}
