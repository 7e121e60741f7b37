package sweep

import (
	"cmp"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"sort"
	"strconv"
	"strings"

	"dpnbench/dpn"
	"dpnbench/dpn/separation"
)

// States of a run.
const (
	Missing  = "missing"
	Begun    = "begun" // its training can go on
	Finished = "finished"
	Failed   = "failed" // a number was not finite, or precisions not positive definite
)

// Settings are names and values as JSON has them.
type Settings map[string]json.RawMessage

// settings returns values as JSON: numbers and truths as they are, texts in quotation marks.
func settings(list []Setting) Settings {
	s := Settings{}
	for _, v := range list {
		if text := dpn.CheckSetting(v.Name, v.Value) == nil; text || !json.Valid([]byte(v.Value)) {
			s[v.Name], _ = json.Marshal(v.Value)
		} else {
			s[v.Name] = json.RawMessage(v.Value)
		}
	}
	return s
}

// Result is what is known of a run.
type Result struct {
	Run           `json:"-"`
	Number        int              `json:"index"`
	Of            int              `json:"rung"` // from 1
	Values        Settings         `json:"settings"`
	Folder        string           `json:"folder"`
	Status        string           `json:"status"`
	Error         string           `json:"error,omitempty"` // of a failed one
	ValLoss       separation.Float `json:"val_loss"`        // of the best epoch
	ValAccuracy   separation.Float `json:"val_accuracy"`
	BestEpoch     int              `json:"best_epoch"`
	Curve         Curve            `json:"val_loss_by_epoch"`
	Updates       int              `json:"updates"`
	Seconds       float64          `json:"seconds"`
	WeightsSHA256 string           `json:"weights_sha256"`

	Data         string           `json:"-"` // its name; empty for a run that has not finished
	TestLoss     separation.Float `json:"-"` // only that of the best run is shown
	TestAccuracy separation.Float `json:"-"`
	TestSamples  int              `json:"-"`
}

// Curve is the validation loss after each epoch.
type Curve []separation.Float

// NewResult returns the result of a run that is not there yet.
func NewResult(r Run, folder string) *Result {
	nan := separation.Float(math.NaN())
	return &Result{Run: r, Number: r.Index, Of: r.Rung + 1, Values: settings(r.Varied), Folder: folder,
		Status: Missing, ValLoss: nan, ValAccuracy: nan, TestLoss: nan, TestAccuracy: nan}
}

// Ended says whether nothing is left to train.
func (r *Result) Ended() bool { return r.Status == Finished || r.Status == Failed }

var unsafe = regexp.MustCompile(`[^A-Za-z0-9.,=+-]`)

// Folder is the name of the folder of a run: what varies, and a hash of all settings.
func (r Run) Folder() string {
	var all, names strings.Builder
	for _, s := range r.Settings {
		fmt.Fprintf(&all, "%s=%q\n", s.Name, s.Value)
	}
	for _, s := range r.Varied {
		names.WriteString(s.Name + "=" + s.Value + "_")
	}
	name := unsafe.ReplaceAllString(names.String(), "_")
	const most = 80 // characters, beside the hash
	name = name[:min(len(name), most)]
	return name + fmt.Sprintf("%x", sha256.Sum256([]byte(all.String())))[:8]
}

// Text names what varies: "lr 0.01, components 10".
func Text(list []Setting) string {
	var parts []string
	for _, s := range list {
		parts = append(parts, s.Name+" "+cmp.Or(s.Value, `""`))
	}
	return strings.Join(parts, ", ")
}

// Spread is a number over seeds.
type Spread struct {
	Mean separation.Float `json:"mean"`
	SD   separation.Float `json:"sd"` // with n - 1; null for one run
	Min  separation.Float `json:"min"`
	Max  separation.Float `json:"max"`
}

func spread(x []float64) Spread {
	s := Spread{Min: separation.Float(math.Inf(1)), Max: separation.Float(math.Inf(-1))}
	sum, squares, n := 0.0, 0.0, float64(len(x))
	for _, v := range x {
		sum += v
		s.Min, s.Max = min(s.Min, separation.Float(v)), max(s.Max, separation.Float(v))
	}
	for _, v := range x {
		squares += float64((v - sum/n) * (v - sum/n))
	}
	s.Mean, s.SD = separation.Float(sum/n), separation.Float(math.NaN())
	if n > 1 {
		s.SD = separation.Float(math.Sqrt(squares / (n - 1)))
	}
	return s
}

// Group is a setting, trained with each seed.
type Group struct {
	Rank     int       `json:"rank"` // from 1
	Values   Settings  `json:"settings"`
	Of       int       `json:"rung"` // the last one that it was trained in, from 1
	Runs     []*Result `json:"-"`
	Numbers  []int     `json:"runs"` // their indices
	Failed   int       `json:"failed"`
	Loss     Spread    `json:"val_loss"` // over the runs that did not fail
	Accuracy Spread    `json:"val_accuracy"`
	Seconds  float64   `json:"seconds"` // mean

	settings []Setting
}

// score is what settings are compared by; less is better.
func score(by string, loss, accuracy separation.Float) [2]float64 {
	if by == ByAccuracy {
		return [2]float64{float64(-accuracy), float64(loss)}
	}
	return [2]float64{float64(loss), float64(-accuracy)}
}

// Rank returns the settings of ended runs, the best first: those of the last rung, and within a rung by their mean
// over the seeds. A setting of which a run failed comes after the others of its rung, one of which all runs failed
// after all others. Equal ones keep the order of the plan.
func (p *Plan) Rank(results []*Result) []*Group {
	last := map[int]*Group{}
	var groups []*Group
	for _, r := range results {
		g := last[r.Point]
		if g == nil {
			g = &Group{settings: r.Varied[:len(p.Axes)], Values: settings(r.Varied[:len(p.Axes)])}
			last[r.Point] = g
			groups = append(groups, g)
		}
		if r.Of > g.Of {
			g.Of, g.Runs = r.Of, nil
		}
		if r.Of == g.Of {
			g.Runs = append(g.Runs, r)
		}
	}
	for _, g := range groups {
		var loss, accuracy []float64
		for _, r := range g.Runs {
			g.Numbers = append(g.Numbers, r.Index)
			g.Seconds += r.Seconds / float64(len(g.Runs))
			if r.Status == Failed {
				g.Failed++
				continue
			}
			loss, accuracy = append(loss, float64(r.ValLoss)), append(accuracy, float64(r.ValAccuracy))
		}
		g.Loss, g.Accuracy = spread(loss), spread(accuracy)
	}
	none := func(g *Group) int { return g.Failed / len(g.Runs) } // 1 if no run is left
	sort.SliceStable(groups, func(i, j int) bool {
		a, b := groups[i], groups[j]
		x, y := score(p.By, a.Loss.Mean, a.Accuracy.Mean), score(p.By, b.Loss.Mean, b.Accuracy.Mean)
		return cmp.Or(cmp.Compare(none(a), none(b)), cmp.Compare(b.Of, a.Of),
			cmp.Compare(min(a.Failed, 1), min(b.Failed, 1)), slices.Compare(x[:], y[:]),
			cmp.Compare(a.Runs[0].Point, b.Runs[0].Point)) < 0
	})
	for i, g := range groups {
		g.Rank = i + 1
	}
	return groups
}

// Next returns the points of the rung after that of the results, all of which have ended.
func (p *Plan) Next(results []*Result) (points []int) {
	groups := p.Rank(results)
	for _, g := range groups[:p.Kept(results[0].Rung+1)] {
		points = append(points, g.Runs[0].Point)
	}
	slices.Sort(points)
	return points
}

// Report is the JSON of a sweep.
type Report struct {
	Format  int       `json:"format"`
	File    string    `json:"file"`
	Method  string    `json:"method"`
	By      string    `json:"by"`
	Fixed   Settings  `json:"settings"` // of all runs
	Varied  []string  `json:"varied"`   // without the seed
	Seeds   []string  `json:"seeds"`
	Data    string    `json:"data"`
	Table   []*Group  `json:"table"` // the best setting first
	Best    *Best     `json:"best"`  // null if all runs of the last rung of every setting failed
	Runs    []*Result `json:"runs"`
	Seconds float64   `json:"seconds"` // of all runs

	plan *Plan
}

// Best is the best run of the best setting. The test samples had no part in choosing it.
type Best struct {
	Index         int              `json:"index"`
	Folder        string           `json:"folder"`
	Settings      Settings         `json:"settings"`
	TestLoss      separation.Float `json:"test_loss"` // null without test samples
	TestAccuracy  separation.Float `json:"test_accuracy"`
	WeightsSHA256 string           `json:"weights_sha256"`

	*Result `json:"-"`
}

// Report compares the results of all runs.
func (p *Plan) Report(results []*Result) *Report {
	r := &Report{Format: 1, File: p.File, Method: p.Method, By: p.By, Fixed: settings(p.Fixed), Varied: []string{},
		Seeds: append([]string{}, p.Seeds...), Table: p.Rank(results), Runs: results, plan: p}
	for _, a := range p.Axes {
		r.Varied = append(r.Varied, a.Name)
	}
	var data []string
	for _, s := range results {
		r.Seconds += s.Seconds
		if s.Data != "" && !slices.Contains(data, s.Data) {
			data = append(data, s.Data)
		}
	}
	r.Data = strings.Join(data, ", ")
	var best *Result
	var least [2]float64
	for _, s := range r.Table[0].Runs {
		x := score(p.By, s.ValLoss, s.ValAccuracy)
		if s.Status == Finished && (best == nil || slices.Compare(x[:], least[:]) < 0) {
			best, least = s, x
		}
	}
	if best != nil {
		r.Best = &Best{Index: best.Index, Folder: best.Folder, Settings: settings(best.Varied),
			TestLoss: best.TestLoss, TestAccuracy: best.TestAccuracy, WeightsSHA256: best.WeightsSHA256, Result: best}
	}
	return r
}

// Rows are the table of settings, the best first, at most so many (0: all). The first row is the header.
func (r *Report) Rows(most int) [][]string {
	head := []string{"rank"}
	head = append(head, r.Varied...)
	if r.Method == Halving {
		head = append(head, "epochs")
	}
	several := len(r.Seeds) > 1
	head = append(head, "val loss")
	if several {
		head = append(head, "sd", "range")
	}
	head = append(head, "accuracy")
	if several {
		head = append(head, "sd")
	}
	head = append(head, "time")
	failed := slices.ContainsFunc(r.Table, func(g *Group) bool { return g.Failed > 0 })
	if failed {
		head = append(head, "failed")
	}
	rows := [][]string{head}
	for _, g := range r.Table {
		if most > 0 && len(rows) > most {
			break
		}
		row := []string{strconv.Itoa(g.Rank)}
		for _, s := range g.settings {
			row = append(row, cmp.Or(s.Value, `""`))
		}
		if r.Method == Halving {
			row = append(row, strconv.Itoa(r.plan.Epochs[g.Of-1]))
		}
		row = append(row, number("%.4f", g.Loss.Mean, 1))
		if several {
			row = append(row, number("%.4f", g.Loss.SD, 1), g.Loss.between())
		}
		row = append(row, number("%.2f%%", g.Accuracy.Mean, 100))
		if several {
			row = append(row, number("%.2f", g.Accuracy.SD, 100))
		}
		row = append(row, fmt.Sprintf("%.1f s", g.Seconds))
		if failed {
			row = append(row, strconv.Itoa(g.Failed))
		}
		rows = append(rows, row)
	}
	return rows
}

// between is the range.
func (s Spread) between() string {
	if !s.Mean.IsFinite() {
		return "-"
	}
	return number("%.4f", s.Min, 1) + " to " + number("%.4f", s.Max, 1)
}

func number(format string, v separation.Float, times float64) string {
	switch {
	case !v.IsFinite():
		return "-"
	case math.Abs(float64(v)) >= 1e5:
		format = "%.3g"
	}
	return fmt.Sprintf(format, times*float64(v))
}

// WriteCSV writes a row for each run.
func (r *Report) WriteCSV(w io.Writer) error {
	out := csv.NewWriter(w)
	head := append([]string{"index", "rung", "epochs"}, r.Varied...)
	out.Write(append(head, "seed", "status", "val_loss", "val_accuracy", "best_epoch", "updates", "seconds",
		"weights_sha256", "folder"))
	exact := func(v float64) string {
		if math.IsNaN(v) {
			return ""
		}
		return strconv.FormatFloat(v, 'g', -1, 64)
	}
	for _, s := range r.Runs {
		row := []string{strconv.Itoa(s.Index), strconv.Itoa(s.Of), strconv.Itoa(len(s.Curve))}
		for _, v := range s.Varied[:len(r.Varied)] {
			row = append(row, v.Value)
		}
		seed := ""
		if len(s.Varied) > len(r.Varied) {
			seed = s.Varied[len(r.Varied)].Value
		}
		out.Write(append(row, seed, s.Status, exact(float64(s.ValLoss)), exact(float64(s.ValAccuracy)),
			strconv.Itoa(s.BestEpoch), strconv.Itoa(s.Updates), exact(s.Seconds), s.WeightsSHA256, s.Folder))
	}
	out.Flush()
	return out.Error()
}
