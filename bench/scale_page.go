package bench

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

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

// above reports whether an efficiency is shown as more than 100%.
func (x *Scaled) above() bool { return x.Efficiency >= 1.005 }

// Above explains efficiencies above 100%: a sentence or two for each kind of scaling that has any.
func (s *Scale) Above() (out []string) {
	for _, weak := range []bool{false, true} {
		var above []*Scaled // the largest of each preset
		for _, c := range s.Costs {
			most := &Scaled{}
			for i := range s.Points {
				if x := &s.Points[i]; x.Preset == c.Preset && x.Weak == weak && x.Efficiency > most.Efficiency {
					most = x
				}
			}
			if most.above() {
				above = append(above, most)
			}
		}
		sort.SliceStable(above, func(i, j int) bool { return above[i].Efficiency > above[j].Efficiency })
		var which []string
		for _, x := range above[:min(len(above), namedAbove)] {
			which = append(which, fmt.Sprintf("%s %.0f%% on %s: %s", x.Preset, 100*x.Efficiency,
				format.Count(x.Ranks, "rank"), s.why(x)))
		}
		if more := len(above) - len(which); more > 0 {
			which = append(which, "and "+format.Count(more, "other preset"))
		}
		switch list := strings.Join(which, "; "); {
		case list != "" && weak:
			out = append(out, sentences.Say("weak above", "which", list))
		case list != "":
			out = append(out, sentences.Say("strong above", "which", list))
		}
	}
	return out
}

// namedAbove is the number of presets that Above names.
const namedAbove = 3

// why gives the two costs whose ratio takes an efficiency above 100%. Stragglers, messages and additions only lower it.
func (s *Scale) why(x *Scaled) string {
	c := s.Costs[slices.IndexFunc(s.Costs, func(c ScaleCost) bool { return c.Preset == x.Preset })]
	if x.Weak {
		one, _ := c.Update(1, float64(c.Batch), Network{})
		return FormatSeconds(c.Sharded) + " of " + FormatSeconds(one)
	}
	each := func(samples float64) string {
		return fmt.Sprintf("%s each of %s", FormatSeconds(c.computing(samples)/samples), format.Thousands(int(samples)))
	}
	return each(float64(x.Batch)) + ", " + each(x.part())
}

// part is the number of samples of a rank that has the most, in strong scaling.
func (x *Scaled) part() float64 { return math.Ceil(float64(x.Batch) / float64(x.Ranks)) }

// lines is the figure of a kind of scaling. Lines of a colour differ in their dashes and marks, too.
func (s *Scale) lines(weak bool) report.Shown {
	f := plot.Lines{X: "ranks (log scale)", Y: "efficiency (%)", From: 0, To: 100,
		Title: fmt.Sprintf("Strong scaling: a minibatch of %s samples", format.Thousands(s.Batch))}
	key := "strong caption"
	if weak {
		f.Title, key = "Weak scaling: the preset's batch on every rank", "weak caption"
	}
	above := false
	for i, c := range s.Costs {
		line := plot.Series{Name: c.Preset, Colour: i, Dash: i / markShapes}
		for j := range s.Points {
			if x := &s.Points[j]; x.Preset == c.Preset && x.Weak == weak {
				line.Points = append(line.Points, plot.Point{X: float64(x.Ranks), Y: 100 * x.Efficiency})
				above = above || x.above()
			}
		}
		f.Series = append(f.Series, line)
	}
	return report.Shown{Figure: f, Caption: sentences.Say(key, "batch", format.Thousands(s.Batch), "above", above)}
}

// markShapes is the number of shapes of marks in a figure of lines.
const markShapes = 5

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
	scaling := []report.Block{report.Figures{s.lines(false), s.lines(true)},
		table("An update of the preset's batch on one rank, and the efficiency of more.", s.Rows())}
	for _, said := range s.Above() {
		scaling = append(scaling, report.Text(said))
	}
	p.Sections = []report.Section{{ID: "scaling", Title: "Scaling", Blocks: scaling}}
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
