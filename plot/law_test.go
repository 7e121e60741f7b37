package plot

import (
	"regexp"
	"strings"
	"testing"
)

// Each value of D stands on paper that covers the law, below the points.
func TestValuesOnPaper(t *testing.T) {
	d := []float64{10, 9.5, 9}
	names := []string{"a", "b", "c"}
	e, err := Embed(Layers{Names: names, D: d, Law: fitted(t, names, d)}, "", false)
	if err != nil {
		t.Fatal(err)
	}
	svg := string(e.SVG[0])
	line := strings.LastIndex(svg, "stroke:"+hex(vermillion))
	onPaper := regexp.MustCompile(`<path d="[^"]*" style="fill:` + hex(paper) +
		`"? ?/?>\n<text [^>]*>(10\.0|9\.50|9\.00)<`)
	places := onPaper.FindAllStringIndex(svg, -1)
	if len(places) != len(d) || line < 0 || places[0][0] < line {
		t.Errorf("values on paper at %v, the law at %d: want %d after it\n%s", places, line, len(d), svg)
	}
}
