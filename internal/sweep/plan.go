package sweep

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"dpnbench/dpn"
	"dpnbench/engine/num"
)

// Methods of choosing settings.
const (
	Grid    = "grid"
	Random  = "random"
	Halving = "halving"
)

// What settings are compared by, on the validation samples.
const (
	ByLoss     = "loss"
	ByAccuracy = "accuracy"
)

// Limits of a plan.
const (
	mostRuns   = 10_000
	mostTries  = 100 // draws for each point that is asked for, if points repeat
	drawDigits = 4   // significant digits of a drawn number
)

// Setting is a setting of train with the text of its flag.
type Setting struct{ Name, Value string }

// Axis is a setting that varies.
type Axis struct {
	Name    string
	Numeric bool     // its values are numbers
	Log     bool     // a range that is even in the logarithm
	list    []string // of values; nil: a range
	whole   bool     // whole numbers only
	from    float64
	to      float64
	count   int // of values in a grid
}

// Plan says what to train.
type Plan struct {
	File   string
	Method string
	By     string
	Fixed  []Setting // of all runs
	Axes   []Axis    // what varies but the seed, in the order of dpn.SettingNames
	Seeds  []string  // empty: that of Fixed or of the preset
	Points [][]string
	Draws  int   // of points that were asked for; 0: all
	Epochs []int // of the rungs of Halving; nil without
	keep   int   // one of so many points goes on to the next rung
}

// Run is a training.
type Run struct {
	Index    int // in the plan
	Rung     int // from 0
	Point    int
	Settings []Setting // all, as flags of train
	Varied   []Setting // of them those that vary, the seed last
}

// Load reads a plan. Errors name the file and the key.
func Load(path string) (*Plan, error) {
	settings, tables, err := dpn.ReadTables(path, "sweep", "vary")
	if err != nil {
		return nil, err
	}
	p := &Plan{File: path}
	if err := p.read(settings, tables["sweep"], tables["vary"]); err != nil {
		return nil, fmt.Errorf("config %s: %w", path, err)
	}
	return p, nil
}

func (p *Plan) read(settings, options, vary map[string]any) error {
	if len(vary) == 0 {
		return errors.New("nothing varies: expected a table [vary] with settings, such as lr = [0.001, 0.01]")
	}
	for _, name := range slices.Sorted(maps.Keys(vary)) {
		if _, twice := settings[name]; twice {
			return fmt.Errorf("%s: given at the top and in [vary]; expected one of the two", name)
		}
		if !slices.Contains(dpn.SettingNames(), name) {
			return fmt.Errorf("vary.%s: unknown setting; expected one of dpnbench train --help", name)
		}
	}
	o := table{options, nil}
	p.Method = o.word("method", Grid, Random, Halving)
	p.By = o.word("by", ByLoss, ByAccuracy)
	p.Draws = o.number("draws", 0, 1, mostRuns)
	seed := o.number("draw-seed", 1, 0, math.MaxInt32)
	p.keep = o.number("keep-one-of", 3, 2, 100)
	least := o.number("least-epochs", 1, 1, 1_000_000)
	if err := o.end(); err != nil {
		return err
	}
	used := map[string][]string{"draws": {Random, Halving}, "draw-seed": {Random, Halving}, "keep-one-of": {Halving},
		"least-epochs": {Halving}}
	for _, name := range slices.Sorted(maps.Keys(options)) {
		if methods := used[name]; methods != nil && !slices.Contains(methods, p.Method) {
			return fmt.Errorf("sweep.%s: method %q does not use it; expected it only with %s", name, p.Method,
				strings.Join(methods, " and "))
		}
	}
	if p.Method == Random && p.Draws == 0 {
		return errors.New(`sweep.draws: expected the number of settings to draw with method "random"`)
	}
	for _, name := range dpn.SettingNames() {
		if v, ok := settings[name]; ok {
			p.Fixed = append(p.Fixed, Setting{name, text(v)})
		}
		if v, ok := vary[name]; ok {
			if err := p.axis(name, v, p.Draws > 0); err != nil {
				return err
			}
		}
	}
	if p.Draws > 0 {
		p.draw(p.Draws, uint64(seed))
	} else if err := p.grid(); err != nil {
		return err
	}
	if p.Method == Halving {
		epochs, ok := settings["epochs"].(int64)
		if !ok || vary["epochs"] != nil {
			return errors.New(`epochs: method "halving" needs it at the top, as that of the last rung`)
		}
		if int64(least) > max(epochs, 1) { // training refuses epochs below 1
			return fmt.Errorf("sweep.least-epochs: got %d, expected a whole number from 1 to epochs, which is %d",
				least, epochs)
		}
		p.rungs(int(epochs), least)
	}
	if n := p.Runs(); n > mostRuns {
		return fmt.Errorf("%d runs, expected at most %d", n, mostRuns)
	}
	return nil
}

// table reads the options of a sweep, and keeps the first error.
type table struct {
	values map[string]any
	known  []string
}

func (t *table) word(name string, of ...string) string {
	t.known = append(t.known, name)
	v, given := t.values[name]
	if s, ok := v.(string); ok && slices.Contains(of, s) {
		return s
	}
	if given {
		t.values[name] = fmt.Errorf("sweep.%s: got %v, expected one of %s", name, v, strings.Join(of, ", "))
	}
	return of[0]
}

func (t *table) number(name string, otherwise, lo, hi int) int {
	t.known = append(t.known, name)
	v, given := t.values[name]
	if n, ok := v.(int64); ok && n >= int64(lo) && n <= int64(hi) {
		return int(n)
	}
	if given {
		t.values[name] = fmt.Errorf("sweep.%s: got %v, expected a whole number from %d to %d", name, v, lo, hi)
	}
	return otherwise
}

func (t *table) end() error {
	for _, name := range slices.Sorted(maps.Keys(t.values)) {
		if err, wrong := t.values[name].(error); wrong {
			return err
		}
		if !slices.Contains(t.known, name) {
			return fmt.Errorf("sweep.%s: unknown; expected one of %s", name, strings.Join(t.known, ", "))
		}
	}
	return nil
}

// text is a value as its flag takes it.
func text(v any) string {
	if f, ok := v.(float64); ok {
		return strconv.FormatFloat(f, 'g', -1, 64)
	}
	return fmt.Sprint(v)
}

// axis reads what a setting varies over. drawn: at random.
func (p *Plan) axis(name string, v any, drawn bool) error {
	a := Axis{Name: name}
	switch v := v.(type) {
	case []any:
		for _, item := range v {
			if err := dpn.CheckSetting(name, item); err != nil {
				return fmt.Errorf("vary.%w", err)
			}
			if slices.Contains(a.list, text(item)) {
				return fmt.Errorf("vary.%s: %v is given twice", name, item)
			}
			a.list = append(a.list, text(item))
			_, word := item.(string)
			_, truth := item.(bool)
			a.Numeric = !word && !truth
		}
		if len(v) == 0 {
			return fmt.Errorf("vary.%s: expected at least one value", name)
		}
	case map[string]any:
		if err := a.setRange(v, drawn); err != nil {
			return fmt.Errorf("vary.%s: %w", name, err)
		}
	default:
		return fmt.Errorf("vary.%s: expected a list of values, such as [1, 2], or a range, such as "+
			"{ from = 1, to = 2 }", name)
	}
	switch {
	case name != "seed":
		p.Axes = append(p.Axes, a)
	case a.list == nil:
		return errors.New("vary.seed: expected a list, such as [1, 2, 3]")
	default:
		p.Seeds = a.list
	}
	return nil
}

// setRange reads a range.
func (a *Axis) setRange(v map[string]any, drawn bool) error {
	const expected = "expected from and to, numbers with from below to"
	a.Numeric = true
	for key, to := range map[string]*float64{"from": &a.from, "to": &a.to} {
		if err := dpn.CheckSetting(a.Name, v[key]); err != nil || v[key] == nil {
			return errors.New(expected + " of the type of the setting")
		}
		switch n := v[key].(type) {
		case int64:
			*to = float64(n)
		case float64:
			*to = n
		default:
			return errors.New("a range of what has no numbers; expected a list of values")
		}
	}
	a.whole = dpn.CheckSetting(a.Name, 0.5) != nil
	var ok bool
	for _, key := range slices.Sorted(maps.Keys(v)) {
		switch value := v[key]; key {
		case "from", "to":
		case "log":
			if a.Log, ok = value.(bool); !ok {
				return fmt.Errorf("log: got %v, expected true or false", value)
			}
		case "count":
			n, ok := value.(int64)
			if !ok || n < 2 || n > mostRuns || drawn {
				return fmt.Errorf("count: got %v, expected a whole number from 2 to %d, in a grid", value, mostRuns)
			}
			a.count = int(n)
		default:
			return fmt.Errorf("unknown %q; expected from, to, log and count", key)
		}
	}
	switch {
	case !(a.from < a.to) || math.IsInf(a.to-a.from, 0):
		return errors.New(expected)
	case a.Log && a.from <= 0:
		return errors.New("from: expected a number above 0 with log = true")
	case !drawn && a.count == 0:
		return errors.New("expected count, the number of values in the grid")
	}
	return nil
}

// at returns the value at a share u of the range, 0 <= u <= 1. Numbers within it are rounded, so that the text of a
// flag is short and the same on every machine.
func (a Axis) at(u float64) string {
	v := a.from + float64(u*(a.to-a.from))
	if a.Log {
		v = a.from * math.Pow(a.to/a.from, u)
	}
	switch {
	case u == 0:
		v = a.from
	case u == 1:
		v = a.to
	case a.whole:
		v = math.Round(v)
	default:
		v, _ = strconv.ParseFloat(strconv.FormatFloat(v, 'g', drawDigits, 64), 64)
	}
	v = min(max(v, a.from), a.to)
	if a.whole {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return text(v)
}

// drawn returns a value of the range, each whole number as likely as any other, or on the log scale as its share of it.
// In a range of very many whole numbers the ends, to which at gives half a share, do not matter.
func (a Axis) drawn(r *num.Rand) string {
	switch {
	case !a.whole || a.to-a.from >= math.MaxInt32:
		return a.at(r.Float64())
	case !a.Log:
		return strconv.FormatFloat(a.from+float64(r.Intn(int(a.to-a.from)+1)), 'f', 0, 64)
	}
	first, end := a.from-0.5, a.to+0.5
	v := math.Round(first * math.Pow(end/first, r.Float64()))
	return strconv.FormatFloat(min(max(v, a.from), a.to), 'f', 0, 64)
}

// values are those in a grid.
func (a Axis) values() []string {
	list := a.list
	for i := range a.count {
		if v := a.at(float64(i) / float64(a.count-1)); !slices.Contains(list, v) { // whole numbers may repeat
			list = append(list, v)
		}
	}
	return list
}

// grid sets the points to all combinations, the last setting varying fastest.
func (p *Plan) grid() error {
	p.Points = [][]string{nil}
	for _, a := range p.Axes {
		var next [][]string
		values := a.values()
		if len(p.Points)*len(values) > mostRuns {
			return fmt.Errorf("more than %d runs", mostRuns)
		}
		for _, point := range p.Points {
			for _, v := range values {
				next = append(next, append(slices.Clone(point), v))
			}
		}
		p.Points = next
	}
	return nil
}

// draw sets the points to n that differ, or as many as there are. Draw i depends on the seed and i only: more draws
// keep those before them.
func (p *Plan) draw(n int, seed uint64) {
	seen := map[string]bool{}
	for i := 0; i < n*mostTries && len(p.Points) < n; i++ {
		r := num.NewRand(seed, uint64(i))
		var point []string
		for _, a := range p.Axes {
			if a.list != nil {
				point = append(point, a.list[r.Intn(len(a.list))])
			} else {
				point = append(point, a.drawn(r))
			}
		}
		if key := strings.Join(point, "\x00"); !seen[key] {
			seen[key] = true
			p.Points = append(p.Points, point)
		}
	}
}

// rungs sets the epochs of each rung: from the last one, which has all, backwards while there are points to drop and
// epochs to save.
func (p *Plan) rungs(epochs, least int) {
	p.Epochs = []int{epochs}
	for n := len(p.Points); n >= p.keep && p.Epochs[0]/p.keep >= least; n /= p.keep {
		p.Epochs = append([]int{p.Epochs[0] / p.keep}, p.Epochs...)
	}
}

// Rungs is the number of rungs, 1 but with Halving.
func (p *Plan) Rungs() int { return max(1, len(p.Epochs)) }

// Kept is the number of points in a rung.
func (p *Plan) Kept(rung int) int {
	n := len(p.Points)
	for range rung {
		n /= p.keep
	}
	return n
}

// each is the number of runs of a point in a rung.
func (p *Plan) each() int { return max(1, len(p.Seeds)) }

// First is the index of the first run of a rung; that of the rung after the last one is the number of all runs.
func (p *Plan) First(rung int) (n int) {
	for k := range rung {
		n += p.Kept(k) * p.each()
	}
	return n
}

// Runs is the number of all runs.
func (p *Plan) Runs() int { return p.First(p.Rungs()) }

// Rung returns the runs of a rung with some of the points, a point after the other, each with all seeds.
func (p *Plan) Rung(rung int, points []int) (runs []Run) {
	seeds := p.Seeds
	if len(seeds) == 0 {
		seeds = []string{""}
	}
	for _, point := range points {
		for _, seed := range seeds {
			r := Run{Index: p.First(rung) + len(runs), Rung: rung, Point: point}
			for i, a := range p.Axes {
				r.Varied = append(r.Varied, Setting{a.Name, p.Points[point][i]})
			}
			if seed != "" {
				r.Varied = append(r.Varied, Setting{"seed", seed})
			}
			r.Settings = append(slices.Clone(p.Fixed), r.Varied...)
			for i, s := range r.Settings {
				if p.Epochs != nil && s.Name == "epochs" {
					r.Settings[i].Value = strconv.Itoa(p.Epochs[rung])
				}
			}
			order := dpn.SettingNames()
			sort.Slice(r.Settings, func(i, j int) bool {
				return slices.Index(order, r.Settings[i].Name) < slices.Index(order, r.Settings[j].Name)
			})
			runs = append(runs, r)
		}
	}
	return runs
}

// All are the points of the first rung.
func (p *Plan) All() []int {
	all := make([]int, len(p.Points))
	for i := range all {
		all[i] = i
	}
	return all
}
