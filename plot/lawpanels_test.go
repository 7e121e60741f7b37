package plot

import (
	"fmt"
	"strings"
	"testing"
)

// lawPanels are panels with D of two trainings each, one of them without a law.
func lawPanels(t *testing.T, n int) LawPanels {
	a := LawPanels{Title: "Grid", Note: "a note"}
	for i := range n {
		p := LawPanel{Title: fmt.Sprintf("network %d", i), Names: layerNames, D: [][]float64{layerD, {9, 5, 1, nan}}}
		if i > 0 {
			p.Law = fitted(t, layerNames[:3], layerD[:3])
		}
		a.Panels = append(a.Panels, p)
	}
	return a
}

func TestLawPanels(t *testing.T) {
	svg, err := titled(lawPanels(t, 5))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"network 0", "network 4", "first training", "other seeds", "left out of the fit",
		"law fitted to the first", "a note"} {
		if !strings.Contains(string(svg), want) {
			t.Errorf("nothing of %q", want)
		}
	}
	empty := LawPanels{Panels: []LawPanel{{Title: "none", Names: layerNames[:2], D: [][]float64{{nan, nan}}}}}
	if svg, err := titled(empty); err != nil || strings.Contains(string(svg), "other seeds") {
		t.Errorf("a network without values: %v", err)
	}
	for want, change := range map[string]func(a *LawPanels){
		"nothing to draw":        func(a *LawPanels) { a.Panels = nil },
		"201 panels":             func(a *LawPanels) { a.Panels = make([]LawPanel, 201) },
		"panel 1: 2 values of D": func(a *LawPanels) { a.Panels[1].D[1] = layerD[:2] },
		"panel 2: the law was":   func(a *LawPanels) { a.Panels[2].Names = digits[:4] },
	} {
		a := lawPanels(t, 3)
		change(&a)
		if err := Check(a); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}
