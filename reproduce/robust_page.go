package reproduce

import (
	"fmt"
	"math"
	"strings"

	"dpnbench/dataset"
	"dpnbench/internal/format"
	"dpnbench/plot"
	"dpnbench/report"
)

var trainingNames = map[bool]string{false: "clean images", true: "noise on half of each minibatch"}

// seeds returns the number of runs of all networks but the costliest.
func (r *Robust) seeds() int {
	for _, n := range r.Networks {
		if n.Name != costliest {
			return len(n.Runs)
		}
	}
	return 0
}

// SeedsText says over how many seeds the figures are.
func (r *Robust) SeedsText() string {
	text := format.Count(r.seeds(), "seed")
	for _, n := range r.Networks {
		if n.Name == costliest && len(n.Runs) != r.seeds() {
			text += fmt.Sprintf(", of %s %d", costliest, len(n.Runs))
		}
	}
	return text
}

// RobustTable has a row for each network: cost, and the accuracy in every setting as mean
// (least to greatest over seeds).
func RobustTable(r *Robust) [][]string {
	rows := [][]string{append(append([]string{"trained on", "network", "million multiply-adds", "thousand parameters"},
		robustSettings()...), "suite, seed 1")}
	for _, n := range r.Networks {
		training := "clean"
		if n.Noisy {
			training = "noisy"
		}
		cells := []string{training, n.Name, fmt.Sprintf("%.3f", float64(n.MACs)/1e6),
			fmt.Sprintf("%.1f", float64(n.Parameters)/1e3)}
		for i := range robustSettings() {
			cells = append(cells, spreadText(n.at(i)))
		}
		suite := "–"
		if v := n.Runs[0].SuiteAccuracy; v != nil {
			suite = fmt.Sprintf("%.1f%%", 100**v)
		}
		rows = append(rows, append(cells, suite))
	}
	return rows
}

// robustTable is the part of RobustTable of one training.
func robustTable(r *Robust, noisy bool) report.Table {
	rows := RobustTable(r)
	t := report.Table{Caption: sentences.Say("robust table", "training", trainingNames[noisy], "seeds", r.SeedsText())}
	for i, name := range rows[0][1:] {
		t.Columns = append(t.Columns, report.Column{Name: name, Number: i > 0})
	}
	for i, n := range r.Networks {
		if n.Noisy == noisy {
			t.Rows = append(t.Rows, report.Row{Cells: rows[i+1][1:]})
		}
	}
	return t
}

var verdictOfWord = map[string]report.Verdict{ahead: report.Holds, level: report.Partly, behind: report.Fails,
	notJudged: report.Unjudged}

// verdictsTable has the verdict of every setting.
func verdictsTable(r *Robust) report.Table {
	t := report.Table{Caption: strings.TrimSuffix(sentences.Say("robust verdicts"), "."),
		Columns: []report.Column{{Name: "trained on"}, {Name: "tested on"}, {Name: "DPN"},
			{Name: "accuracy", Number: true},
			{Name: "best baseline"}, {Name: "accuracy", Number: true},
			{Name: "difference, points (95% interval)", Number: true}}}
	for _, v := range r.Verdicts() {
		t.Rows = append(t.Rows, report.Row{Verdict: verdictOfWord[v.Word], Said: v.Word,
			Cells: []string{trainingNames[v.Noisy], v.Setting, v.DPN, spreadText(v.Ours), v.Rival, spreadText(v.Theirs),
				v.Margin().String()}})
	}
	return t
}

// differencesTable has the differences between the DPN of a training and each baseline of no greater cost.
func differencesTable(r *Robust, noisy bool) (t report.Table) {
	dpn := r.judged(noisy)
	if dpn == nil {
		return t
	}
	t.Caption = sentences.Say("robust differences", "dpn", dpn.Name, "training", trainingNames[noisy])
	t.Columns = []report.Column{{Name: "baseline"}}
	for _, name := range robustSettings() {
		t.Columns = append(t.Columns, report.Column{Name: name, Number: true})
	}
	for _, n := range r.rivals(dpn) {
		cells := []string{n.Name}
		for i := range robustSettings() {
			cells = append(cells, gap(dpn.at(i), n.at(i)).String())
		}
		t.Rows = append(t.Rows, report.Row{Cells: cells})
	}
	return t
}

// robustBlocks is the section of the page.
func robustBlocks(r *Robust, figures report.Figures) []report.Block {
	intro := report.Text(sentences.Say("robust intro", "images", r.Images, "kinds", len(dataset.RobustnessSuite())/3))
	blocks := []report.Block{intro, verdictsTable(r)}
	if text := ruleText(r); text != "" {
		blocks = append(blocks, report.Text(text))
	}
	for _, noisy := range []bool{false, true} {
		blocks = append(blocks, robustTable(r, noisy))
		if t := differencesTable(r, noisy); len(t.Rows) > 0 {
			blocks = append(blocks, t)
		}
	}
	return append(blocks, figures)
}

// ruleText compares a network with the prototype rule at x_0, which has neither ascent nor
// classifier.
func ruleText(r *Robust) string {
	var dpn, rule *RobustNetwork
	for i, n := range r.Networks {
		switch {
		case n.Name == equalCost[false] && !n.Noisy:
			dpn = &r.Networks[i]
		case n.Kind == kindRule && rule == nil:
			rule = &r.Networks[i]
		}
	}
	if dpn == nil || rule == nil {
		return ""
	}
	var list []string
	most := 0.0
	for i, name := range robustSettings() {
		a, b := float64(dpn.at(i).Mean), float64(rule.at(i).Mean)
		most = max(most, math.Abs(a-b))
		list = append(list, fmt.Sprintf("%s %.2f%% against %.2f%%", name, a, b))
	}
	return sentences.Say("rule", "dpn", dpn.Name, "rule", rule.Name, "settings", list, "close", most <= 0.5, "most",
		most)
}

// robustFigureNames are the names of the figures of each training.
var robustFigureNames = map[bool]string{false: "robust-clean", true: "robust-noisy"}

// robustFigure shows the accuracies of one training: a row a network, a dot a setting.
func robustFigure(r *Robust, noisy bool) plot.Dots {
	d := plot.Dots{Title: "Trained on " + trainingNames[noisy], X: "test accuracy, %",
		Note: sentences.Say("robust note")}
	for i, name := range robustSettings() {
		s := plot.Series{Name: name, Colour: i}
		for _, n := range r.Networks {
			if n.Noisy != noisy {
				continue
			}
			if i == 0 {
				d.Groups = append(d.Groups, fmt.Sprintf("%s, %.2f M", n.Name, float64(n.MACs)/1e6))
			}
			v := n.at(i)
			p := plot.Point{Y: float64(v.Mean), Low: float64(v.Least), High: float64(v.Greatest)}
			if v.Seeds == 0 {
				p.Y = math.NaN()
			}
			s.Points = append(s.Points, p)
		}
		d.Series = append(d.Series, s)
	}
	return d
}
