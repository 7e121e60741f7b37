package report

import (
	"fmt"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/plot"
)

// TestSeparationWithoutLaw checks what the page says where no law was fitted, and where one layer has all the load.
func TestSeparationWithoutLaw(t *testing.T) {
	for n, want := range map[int]string{leastPoints - 1: "too few layers", leastPoints: "some D has no logarithm"} {
		s := Separation{Depth: &separation.Depth{Layers: make([]separation.Layer, n)}}
		if got := strings.Join(s.summary(), " "); !strings.Contains(got, want) {
			t.Errorf("%d layers: %q, want %q in it", n, got, want)
		}
	}
	for _, c := range []struct {
		layers, loads int
		last, want    string
	}{{1, 0, "", "one layer"}, {2, 0, separation.LogitsName, "one layer only, not counting logits"},
		{2, 0, "", "does not fall"}, {2, 0, "", "some D has no logarithm"}, {2, 1, "", "whole load"}, {3, 2, "", ""}} {
		s := Separation{Depth: &separation.Depth{Loads: make([]separation.Load, c.loads),
			Layers: make([]separation.Layer, c.layers)}}
		s.Depth.Layers[c.layers-1].Name = c.last
		_, err := s.loads()
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%d layers, %d loads: %v, want an error with %q", c.layers, c.loads, err, c.want)
		}
	}
}

// TestSeparationFault checks why the page says that D does not follow the law, in words of layers.
func TestSeparationFault(t *testing.T) {
	for _, c := range []struct {
		d    []float64
		want string
	}{
		{[]float64{8, 4, 3, 2.6, 2.5}, "in the layer but falls more and more slowly"},
		{[]float64{8, 4, 3, 4, 8.5}, "in the layer but bends upwards"},
		{[]float64{8, 7, 6, 7, 9}, "in the layer but bends upwards"},
		{[]float64{1, 1.5, 1.2, 1.9}, "the factor per layer"},
	} {
		var names []string
		depth := &separation.Depth{}
		for i, d := range c.d {
			names = append(names, fmt.Sprint(i))
			depth.Layers = append(depth.Layers, separation.Layer{Name: names[i], Fuzziness: separation.Float(d)})
		}
		for i, share := range separation.LoadShares(c.d) {
			depth.Loads = append(depth.Loads, separation.Load{Layer: names[i+1], Share: share})
		}
		law, err := separation.FitLaw(names, c.d)
		if err != nil {
			t.Fatal(err)
		}
		depth.Law = &law
		if got := strings.Join(Separation{Depth: depth}.summary(), " "); !strings.Contains(got, c.want) {
			t.Errorf("D %v: %q, want %q in it", c.d, got, c.want)
		}
	}
}

// Every figure over layers and epochs names them as the tables do, also if their names are numbers.
func TestSeparationNames(t *testing.T) {
	names := []string{"input", "1", "3", "4"}
	var layers []separation.Layer
	depth := &separation.Depth{}
	for i, name := range names {
		d := separation.Float(8 - 2*i)
		layers = append(layers, separation.Layer{Name: name, Fuzziness: d, Compression: d, Discrimination: 1 / d})
		if i > 0 {
			depth.Loads = append(depth.Loads, separation.Load{Layer: name, Share: 1.0 / 3})
		}
	}
	depth.Layers = layers
	s := Separation{Depth: depth, Epochs: []SeparationEpoch{{"e010", depth}, {"e100", depth}}}
	for name, want := range map[string][]string{"layers": names, "loads": names[1:], "accuracy": names,
		"compression": names, "discrimination": names, "epochs": {"e010", "e100"}} {
		for _, figure := range s.Figures() {
			if figure.Name != name {
				continue
			}
			e, err := plot.Embed(figure.Figure, "", false)
			if err != nil {
				t.Fatal(name, err)
			}
			svg := string(e.SVG[0])
			at := 0
			for _, label := range want { // of the x axis, in order
				i := strings.Index(svg[at:], ">"+label+"</text>")
				if i < 0 {
					t.Errorf("figure %s: no %q after %d bytes", name, label, at)
					break
				}
				at += i
			}
		}
	}
}

// TestFeaturesFact names the features of networks on images and on vectors.
func TestFeaturesFact(t *testing.T) {
	for want, m := range map[string]*dpn.Model{
		"pixels":                {Shape: dataset.Grey(2, 3), Config: dpn.Config{Extractor: "identity"}},
		"the input":             {Shape: dataset.Vector(4), Config: dpn.Config{Extractor: "identity"}},
		"the input, normalised": {Shape: dataset.Vector(4), Config: dpn.Config{Extractor: "identity", LayerNorm: true}},
	} {
		if got := featuresFact(m); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestSeparationCells holds the cells of the tables against numbers that all differ.
func TestSeparationCells(t *testing.T) {
	one, two := separation.Layer{Name: "a", NC1: 1.5}, separation.Layer{Name: "b", NC1: 2.5, FuzzinessBalanced: 3.5,
		Compression: 4.5, Discrimination: 5.5, StableRank: 6.5}
	two.NC1Balanced, two.NC1Trace, two.NC2Norms, two.NC2Angles, two.NC2MaxAngle, two.NC2Frame = 11, 12, 13, 14, 15, 16
	two.Test = &separation.Test{NearestMeanAccuracy: 0.17}
	two.Duality = &separation.Duality{Simplex: separation.Simplex{NC2Norms: 21, NC2Angles: 22, NC2MaxAngle: 23,
		NC2Frame: 24}, NC3: 25, NC3Frame: 26, NC4: 0.27, Accuracy: 0.28}
	depth := &separation.Depth{Layers: []separation.Layer{one, two}, Loads: []separation.Load{{Layer: "b", Share: 0.31,
		Limit: 0.32, CI: []separation.Float{0.33, 0.34}}}}
	depth.DiscriminationLine = &separation.Line{Points: 4, Slope: 41, SlopeCI: []separation.Float{42, 43},
		Pearson: 0.44}
	s := Separation{Depth: depth}
	for want, rows := range map[string][]Row{
		"b 2.50 11.0 12.0 13.0 14.0 15.0 16.0 –":                          s.collapseTable().Rows,
		"b 28.0% 21.0 22.0 23.0 24.0 25.0 26.0 27.0%":                     s.classifierTable().Rows,
		"b 3.50 31.0% 32.0% 33.0% to 34.0% 4.50 5.50 6.50 17.0%":          s.depthTable().Rows,
		text.Say("discrimination row") + " 4 41.0 42.0 to 43.0 0.440 – –": s.lawTable().Rows,
	} {
		if got := strings.Join(rows[len(rows)-1].Cells, " "); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
