package study

import (
	"context"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/baseline"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
)

// TestPrototypes holds the rule on the untrained potential with precisions I, whose most
// responsible component is the nearest centre, against package baseline's nearest centre.
func TestPrototypes(t *testing.T) {
	ctx, d, e := context.Background(), digits(t, 300, potential.BlockRows+60), newEngine(t)
	c := tiny()
	c.Extractor, c.LayerNorm, c.Form, c.Scale = "identity", false, potential.FormDiag, 1
	c.Alpha, c.Components, c.Init = 0.1, 20, "classwise"
	m := newModel(t, c, d)
	r, err := m.Init(ctx, e, d.Train)
	if err != nil {
		t.Fatal(err)
	}
	major, err := MajorityLabels(r.Clusters.Assignment, d.Train.Labels, 20)
	if err != nil {
		t.Fatal(err)
	}
	for i, y := range major {
		if int(y) != i/2 {
			t.Errorf("centre %d of 2 a class has the majority label %d", i, y)
		}
	}
	p, err := NewPrototypes(ctx, e, m, d.Train, 0)
	if err != nil {
		t.Fatal(err)
	}
	nearest, err := baseline.NewNearest(r.Clusters.Centres, p.Labels)
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"gaussian:0", "saltpepper:0.2"} {
		c, _ := dataset.ParseCorruption(text)
		s, err := baseline.Corrupted(e, d.Test, d.Norm, c, 3)
		if err != nil {
			t.Fatal(err)
		}
		classes, err := nearest.Predict(ctx, e, s)
		if err != nil {
			t.Fatal(err)
		}
		right := 0.0
		for i, y := range classes {
			if y == s.Labels[i] {
				right++
			}
		}
		got, err := p.Accuracy(ctx, e, d.Test, c, 3)
		if want := right / float64(s.Len()); err != nil || got != want || !(got >= 0.5) {
			t.Errorf("%s: the rule has %v right, the nearest centre %v, %v", text, got, want, err)
		}
	}

	// Few steps do not change which component is most responsible for a training image.
	after, err := NewPrototypes(ctx, e, m, d.Train, 3)
	if err != nil || !slices.Equal(after.Labels, p.Labels) || after.Steps != 3 {
		t.Errorf("labels %v after 3 steps, %v at first, %v", after.Labels, p.Labels, err)
	}
	none := d.Test.Slice(0, 0)
	if _, err := NewPrototypes(ctx, e, m, none, 0); err == nil || !strings.Contains(err.Error(), "of no images") {
		t.Errorf("labels by no images: %v", err)
	}
	if _, err := p.Accuracy(ctx, e, none, dataset.Corruption{Name: "gaussian"}, 1); err == nil ||
		!strings.Contains(err.Error(), "of no images") {
		t.Errorf("accuracy on no images: %v", err)
	}
	if _, err := NewPrototypes(ctx, e, m, d.Train, -1); err == nil {
		t.Error("-1 steps were accepted")
	}
	if _, err := p.Accuracy(ctx, e, d.Test, dataset.Corruption{Name: "fog"}, 1); err == nil {
		t.Error("the corruption fog was accepted")
	}
}

func TestMajorityLabels(t *testing.T) {
	got, err := MajorityLabels([]int32{0, 0, 0, 2, 2}, []uint16{7, 4, 7, 3, 1}, 3)
	if want := []uint16{7, 0, 1}; err != nil || !slices.Equal(got, want) { // without rows 0, the lower one of equals
		t.Errorf("%v, %v, want [7 0 1]", got, err)
	}
	for _, c := range []struct {
		assignment []int32
		k          int
		want       string
	}{
		{[]int32{0, 7}, 2, "row 1 is assigned to centre 7, expected 0 to 1"},
		{[]int32{-1, 1}, 2, "row 0 is assigned to centre -1"},
		{[]int32{0, 0}, -1, "row 0 is assigned to centre 0"},
		{[]int32{0, 0, 1}, 2, "2 labels for 3 assigned rows"},
	} {
		if _, err := MajorityLabels(c.assignment, []uint16{0, 1}, c.k); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%v of %d centres: %v, want %q", c.assignment, c.k, err, c.want)
		}
	}
}

// TestCost counts networks of each kind by hand.
func TestCost(t *testing.T) {
	d := digits(t, 100, 10)
	for _, c := range []struct {
		preset          string
		macs, potential int
	}{
		{"raw", 20*784*(2*8+3)*10 + 7840, 20*784*10 + 20 + 1},
		{"published", 20*784*784*30 + 7840, 20*784*785 + 20 + 1},
	} {
		config, err := dpn.Preset(c.preset)
		if err != nil {
			t.Fatal(err)
		}
		config.ValSize = 0
		m := newModel(t, config, d)
		if want := (layer.Cost{MACs: c.macs, Parameters: c.potential + 7850}); m.Cost() != want ||
			m.MACs() != want.MACs ||
			m.Parameters() != want.Parameters {
			t.Errorf("%s: %+v, want %+v", c.preset, m.Cost(), want)
		}
		if c.preset != "raw" {
			continue
		}
		p := &Prototypes{Steps: 2, m: m}
		if want := (layer.Cost{MACs: 20*784*(2*8+3)*2 + 20*784*(8+2), Parameters: c.potential}); p.Cost() != want {
			t.Errorf("the rule after 2 steps: %+v, want %+v", p.Cost(), want)
		}
	}
	n, err := baseline.NewNearest(engine.NewMatrix(30, 784), make([]uint16, 30))
	if want := (layer.Cost{MACs: 30 * 784, Parameters: 30*784 + 30}); err != nil || n.Cost() != want {
		t.Errorf("nearest of 30 centres: %+v, want %+v, %v", n.Cost(), want, err)
	}
}
