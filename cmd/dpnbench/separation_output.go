package main

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpnbench/dpn/separation"
	"dpnbench/internal/array"
	"dpnbench/internal/format"
	"dpnbench/plot"
	"dpnbench/report"
)

// found returns what was measured, for page and tables.
func (z *features) found(r *separationResult) report.Separation {
	s := report.Separation{Depth: r.Depth, Draws: z.draws, Seed: z.seed, Tier: r.Tier, Threads: r.Threads}
	first, _ := array.Split(z.features[0])
	s.Name = strings.SplitN(filepath.Base(first), ".", 2)[0]
	if len(z.features) > 1 {
		last, _ := array.Split(z.features[len(z.features)-1])
		s.Name += " to " + strings.SplitN(filepath.Base(last), ".", 2)[0]
	}
	for _, f := range r.Features {
		if n := len(s.Files); n == 0 || s.Files[n-1] != f.File {
			s.Files = append(s.Files, f.File)
		}
	}
	for _, e := range r.Epochs {
		s.Epochs = append(s.Epochs, report.SeparationEpoch{Name: e.Name, Depth: e.Depth})
	}
	return s
}

// print prints the tables and the warnings.
func (z *features) print(s report.Separation) {
	d := s.Depth
	z.printf("%s of %d classes, %s\n", format.Count(d.Samples, "sample"), d.Classes,
		format.Count(len(d.Layers), "layer"))
	z.printLayers(d)
	z.printCollapse(d)
	for _, w := range s.Warnings() {
		z.warn("%s\n", w)
	}
	for _, l := range d.Layers {
		if c := l.Duality; c != nil {
			z.printf("classifier of %s: accuracy on the %s samples %.2f%%, NC2 %s, NC3 %s (frame %s), NC4 %.2f%%\n",
				l.Name, l.Classified(), 100*c.Accuracy, decimals(float64(c.NC2Frame), 4), decimals(float64(c.NC3), 4),
				decimals(float64(c.NC3Frame), 4), 100*c.NC4)
		}
	}
	if e := d.EffectiveDepth; e.Index >= 0 {
		z.printf("effective depth: %d, that of layer %s, the first where the nearest class mean errs on at most "+
			"%.0f%%\n",
			e.Index, e.Layer, 100*e.Error)
	} else {
		z.printf("effective depth: none, the nearest class mean errs on more than %.0f%% at every layer\n", 100*e.Error)
	}
	z.printLaws(s)
	z.printCKA(d)
	z.printEpochs(s)
}

// printOrder says which rows of the classifier belong to classes that have no numbers.
func (z *features) printOrder(names []string) {
	if last := len(names) - 1; last > 0 && len(z.classifier) > 0 {
		z.warn("row 0 of --classifier is taken as that of %.60q, row %d as that of %.60q: classes that are texts "+
			"are in alphabetical order\n", names[0], last, names[last])
	}
}

func (z *features) printLayers(d *separation.Depth) {
	rows := [][]string{{"layer", "dim", "D", "N to inf", "95% interval", "betw/with", "NCM", "NCM test", "probe",
		"rank"}}
	for _, l := range d.Layers {
		limit, test, probe := math.NaN(), math.NaN(), math.NaN()
		if l.FuzzinessLimit != nil {
			limit = float64(*l.FuzzinessLimit)
		}
		if l.Test != nil {
			test = l.Test.NearestMeanAccuracy
		}
		if l.Probe != nil {
			probe = l.ProbeAccuracy
		}
		rows = append(rows, []string{l.Name, fmt.Sprint(l.Dim), decimals(float64(l.Fuzziness), 4), decimals(limit, 4),
			intervalText(l.FuzzinessCI, 4), decimals(float64(l.BetweenWithinRatio), 3),
			decimals(l.NearestMeanAccuracy, 4), decimals(test, 4), decimals(probe, 4), fmt.Sprint(l.Rank)})
	}
	z.table(rows)
}

func (z *features) printCollapse(d *separation.Depth) {
	rows := [][]string{{"layer", "load", "N to inf", "95% interval", "compress", "discrim", "NC1", "NC2", "VCI", "CDNV",
		"rank"}}
	loads := map[string]separation.Load{}
	for _, l := range d.Loads {
		loads[l.Layer] = l
	}
	for _, l := range d.Layers {
		load, ok := loads[l.Name]
		if !ok {
			load = separation.Load{Share: math.NaN(), Limit: separation.Float(math.NaN())}
		}
		vci := math.NaN()
		if l.Spread != nil {
			vci = float64(l.VariabilityCollapse)
		}
		rows = append(rows, []string{l.Name, decimals(load.Share, 3), decimals(float64(load.Limit), 3),
			intervalText(load.CI, 3), decimals(float64(l.Compression), 3), decimals(float64(l.Discrimination), 3),
			decimals(float64(l.NC1), 3), decimals(float64(l.NC2Frame), 3), decimals(vci, 4),
			decimals(float64(l.ClassDistanceVariance), 3), decimals(float64(l.StableRank), 1)})
	}
	z.table(rows)
}

func (z *features) printLaws(s report.Separation) {
	rows := [][]string{{"law of", "points", "rho", "95% interval", "Pearson r", "shape", "law follows"}}
	for _, l := range s.Laws() {
		rows = append(rows, []string{l.Over, fmt.Sprint(l.Law.Points), decimals(l.Law.Rho, 4),
			intervalText(l.Law.RhoCI, 4), decimals(float64(l.Law.Pearson), 3), l.Law.Shape(), l.Verdict()})
	}
	if len(rows) > 1 {
		z.table(rows)
	}
	if line := s.Depth.DiscriminationLine; line != nil && line.Points > 3 {
		z.printf("discrimination changes by %s a layer (95%% interval %s), Pearson r %s\n", decimals(line.Slope, 4),
			intervalText(line.SlopeCI, 4), decimals(float64(line.Pearson), 3))
	}
}

// mostPrinted is the largest number of layers whose CKA is printed.
const mostPrinted = 12

// mostShort is the length of names that head columns of the table of CKA; of longer ones their numbers do.
const mostShort = 6

func (z *features) printCKA(d *separation.Depth) {
	if len(d.CKA) < 2 || len(d.CKA) > mostPrinted {
		return
	}
	head := []string{"CKA"}
	short := !slices.ContainsFunc(d.Layers, func(l separation.Layer) bool { return len(l.Name) > mostShort })
	name := func(i int) string {
		if short {
			return d.Layers[i].Name
		}
		return "#" + strconv.Itoa(i)
	}
	for i := range d.Layers {
		head = append(head, name(i))
	}
	rows := [][]string{head}
	for i, l := range d.Layers {
		row := []string{l.Name}
		if !short {
			row[0] += " " + name(i)
		}
		for _, v := range d.CKA[i] {
			row = append(row, decimals(float64(v), 3))
		}
		rows = append(rows, row)
	}
	z.table(rows)
}

func (z *features) printEpochs(s report.Separation) {
	if len(s.Epochs) < 2 {
		return
	}
	rows := [][]string{{"epoch", "D first", "D last", "rho", "95% interval", "Pearson r", "law follows"}}
	for _, e := range s.Epochs {
		layers := slices.DeleteFunc(slices.Clone(e.Depth.Layers), func(l separation.Layer) bool {
			return l.Name == separation.LogitsName && len(e.Depth.Layers) > 1
		})
		row := []string{e.Name, decimals(float64(layers[0].Fuzziness), 4),
			decimals(float64(layers[len(layers)-1].Fuzziness), 4), "-", "-", "-", "-"}
		for _, l := range (report.Separation{Depth: e.Depth}).Laws() {
			if l.Over == "D" {
				copy(row[3:], []string{decimals(l.Law.Rho, 4), intervalText(l.Law.RhoCI, 4),
					decimals(float64(l.Law.Pearson), 3), l.Verdict()})
				break
			}
		}
		rows = append(rows, row)
	}
	z.table(rows)
}

// mostPanelled is the largest number of samples in a panel.
const mostPanelled = 1000

// panels projects evenly spaced samples of each layer to its principal components, and names the
// classes; none if there are too many.
func panels(r *separationResult, layers []separation.LayerInput) ([]plot.Panel, []string, error) {
	if r.Classes > 256 {
		return nil, nil, nil
	}
	index := map[int]uint16{}
	var names []string
	for k, label := range r.Layers[0].ClassLabels {
		index[label] = uint16(k)
		name := fmt.Sprint(label)
		if r.ClassNames != nil {
			name = r.ClassNames[label]
		}
		names = append(names, name)
	}
	var out []plot.Panel
	for i, l := range layers {
		s := l.Input.(separation.Samples)
		some := min(s.Len(), mostPanelled)
		set := separation.Set{Dim: s.Width(), X: make([]float32, some*s.Width()), Labels: make([]uint16, some)}
		row := make([]float64, s.Width())
		for j := range some {
			at := int(int64(j) * int64(s.Len()) / int64(some))
			if err := s.ReadRows(row, at); err != nil {
				return nil, nil, err
			}
			for k, v := range row {
				set.X[j*len(row)+k] = float32(v)
			}
			set.Labels[j] = index[s.Labels[at]]
		}
		p, err := report.NewPanel(r.Layers[i], set)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, p)
	}
	return out, names, nil
}
