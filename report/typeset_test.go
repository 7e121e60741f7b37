package report

import (
	"strings"
	"testing"
)

// Texts are set as formulas and commands.
func TestTypesetting(t *testing.T) {
	for text, want := range map[string]string{
		"from x_0 to x_n, max_n": "from x<sub>0</sub> to x<sub>n</sub>, max_n", "A^T A & B": "A<sup>T</sup> A &amp; B",
		"-1.5 (-2 to 3), 4-5": "−1.5 (−2 to 3), 4-5", "between/within": "between/<wbr>within",
		"10 x 10 pixels, 2 x": "10 × 10 pixels, 2 x",
	} {
		if got := string(formulas(text)); got != want {
			t.Errorf("%q is set as %q, want %q", text, got, want)
		}
	}
	if got, want := string(Words("run --out <a>")), `run <span class="word">--out</span> &lt;a&gt;`; got != want {
		t.Errorf("a command is set as %q, want %q", got, want)
	}
	for i, want := range []string{"", "one", "two", "", "two", ""} {
		if got := apart(append(make([]figureView, i), figureView{Whole: true})); got != want {
			t.Errorf("%d figures are set as %q, want %q", i, got, want)
		}
	}
	table := Table{Columns: make([]Column, 4), Rows: []Row{{Cells: []string{"–", "–", "1", "–"}},
		{Cells: []string{"–", "–", "–", "2"}}}}
	if table.dropEmpty(); len(table.Columns) != 3 || strings.Join(table.Rows[1].Cells, " ") != "– – 2" {
		t.Errorf("without an empty column %q", table.Rows)
	}
}
