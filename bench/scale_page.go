package bench

import (
	"fmt"
	"strconv"

	"dpnbench/internal/format"
	"dpnbench/plot"
	"dpnbench/report"
)

// Scale is the JSON of bench scale.
type Scale struct {
	Format  int          `json:"format"`
	Machine string       `json:"machine"`
	Tier    string       `json:"tier"`
	Threads int          `json:"threads"` // of a rank
	Network Network      `json:"network"` // that is simulated
	Batch   int          `json:"batch"`   // of strong scaling
	Costs   []ScaleCost  `json:"costs"`
	Points  []Scaled     `json:"points"`
	Here    Network      `json:"here"` // messages between two ranks, measured
	Checks  []ScaleCheck `json:"checks"`
}

// at returns a point.
func (s *Scale) at(preset string, weak bool, ranks int) *Scaled {
	for i := range s.Points {
		if p := &s.Points[i]; p.Preset == preset && p.Weak == weak && p.Ranks == ranks {
			return p
		}
	}
	return nil
}

// shownRanks are those of the table.
var shownRanks = []int{2, 8, 64, mostRanks}

// Rows are a row for each preset: an update of one rank, and the efficiency of more. The first row is the header.
func (s *Scale) Rows() [][]string {
	head := []string{"preset", "parameters", "update"}
	for _, kind := range []string{"strong", "weak"} {
		for _, r := range shownRanks {
			head = append(head, kind+" "+strconv.Itoa(r))
		}
	}
	rows := [][]string{head}
	for _, c := range s.Costs {
		one, _ := c.Update(1, float64(c.Batch), Network{})
		row := []string{c.Preset, format.Thousands(c.Parameters), FormatSeconds(one)}
		for _, weak := range []bool{false, true} {
			for _, r := range shownRanks {
				cell := "-"
				if p := s.at(c.Preset, weak, r); p != nil {
					cell = fmt.Sprintf("%.0f%%", 100*p.Efficiency)
				}
				row = append(row, cell)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// CheckRows are a row for each number of ranks that was measured.
func (s *Scale) CheckRows() [][]string {
	rows := [][]string{{"preset", "ranks", "batch", "predicted", "measured", "measured/predicted"}}
	for _, c := range s.Checks {
		rows = append(rows, []string{c.Preset, strconv.Itoa(c.Ranks), strconv.Itoa(c.Batch), FormatSeconds(c.Predicted),
			FormatSeconds(c.Measured), fmt.Sprintf("%.2f", c.Measured/c.Predicted)})
	}
	return rows
}

// Said states the model.
func (n Network) Said() string {
	return fmt.Sprintf("a message takes %s plus its bytes at %s; %.0f%% of the messages are hidden behind computing; "+
		"the computing of ranks varies by %.1f%% (standard deviation), and all wait for the slowest",
		FormatSeconds(n.Latency), fmt.Sprintf("%.3g GB/s", n.Bandwidth/1e9), 100*n.Overlap, 100*n.Stragglers)
}

// Page shows the table and a figure of both kinds of scaling.
func (s *Scale) Page() report.Page {
	p := report.Page{Kind: "dpnbench bench scale", Title: "Training on 1 to 1,024 ranks, simulated",
		Summary: []string{"The costs of computing are measured here. The model: " + s.Network.Said() + ".",
			"Between two ranks here: " + s.Here.Measured() + "."},
		Facts: []report.Fact{{Name: "machine", Text: s.Machine}, {Name: "a rank", Text: s.Tier + ", " +
			format.Count(s.Threads, "thread")}}}
	var figures report.Figures
	for _, weak := range []bool{false, true} {
		f := plot.Lines{Title: fmt.Sprintf("Strong scaling: a minibatch of %s samples",
			format.Thousands(s.Batch)), X: "ranks (log scale)", Y: "efficiency (%)", From: 0, To: 100}
		if weak {
			f.Title = "Weak scaling: the preset's batch on every rank"
		}
		for i, c := range s.Costs {
			line := plot.Series{Name: c.Preset, Colour: i, Dash: i / 10, Curve: true}
			for _, x := range s.Points {
				if x.Preset == c.Preset && x.Weak == weak {
					line.Points = append(line.Points, plot.Point{X: float64(x.Ranks), Y: 100 * x.Efficiency})
				}
			}
			f.Series = append(f.Series, line)
		}
		figures = append(figures, report.Shown{Figure: f})
	}
	table := func(caption string, rows [][]string) report.Table {
		t := report.Table{Caption: caption}
		for i, name := range rows[0] {
			t.Columns = append(t.Columns, report.Column{Name: name, Number: i > 0})
		}
		for _, r := range rows[1:] {
			t.Rows = append(t.Rows, report.Row{Cells: r})
		}
		return t
	}
	p.Sections = []report.Section{{ID: "scaling", Title: "Scaling", Blocks: []report.Block{figures,
		table("An update of the preset's batch on one rank, and the efficiency of more.", s.Rows())}}}
	if len(s.Checks) > 0 {
		p.Sections = append(p.Sections, report.Section{ID: "check", Title: "The model beside ranks in one process",
			Blocks: []report.Block{table("Ranks of one thread on this machine, more than it has cores; messages are "+
				"copied.", s.CheckRows())}})
	}
	return p
}

// Measured states what was measured of messages.
func (n Network) Measured() string {
	return FormatSeconds(n.Latency) + " a message, " + fmt.Sprintf("%.3g GB/s", n.Bandwidth/1e9)
}
