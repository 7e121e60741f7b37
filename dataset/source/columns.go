package source

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dpnbench/internal/array"
)

// columns chooses the columns of a table by its first line: that of the labels, those of the features, and those that
// are left out.
type columns struct {
	opt     Options
	unnamed bool // the first line is no header: its cells are no names that somebody asks for

	at      int      // the column of the labels; -1: none
	dropped []int    // which opt.Drop names
	named   bool     // the features are those of the model, by their names
	guessed bool     // the labels are the only column that is no feature of the model
	unused  []string // names of the columns that nobody asked to drop, and that are no features of the model
	numbers []string // names of columns that number the rows
}

// Columns splits a list of columns, such as id,"last, first",3. "none" stands for no columns.
func Columns(list string) ([]string, error) {
	if list == "" || list == noColumns {
		return nil, nil
	}
	r := csv.NewReader(strings.NewReader(list))
	r.TrimLeadingSpace = true
	names, err := r.Read()
	if err != nil || slices.Contains(names, "") {
		return nil, fmt.Errorf("%.60q: expected names or numbers of columns, with commas between them", list)
	}
	return names, nil
}

// model says whether the table is for a model, which knows its features.
func (c *columns) model() bool { return c.opt.Shape.Len() > 0 }

// find returns the column of a number or, in a header, of a name.
func (c *columns) find(column string, first []string) (int, error) {
	return array.FindColumn(column, first, !c.unnamed)
}

// skip returns which columns are left out, and finds that of the labels.
func (c *columns) skip(first []string) ([]int, error) {
	for _, name := range c.opt.Drop {
		at, err := c.find(name, first)
		switch {
		case err == nil:
			c.dropped = append(c.dropped, at)
		case !c.opt.DropIfThere:
			return nil, fmt.Errorf("--drop: %w", err)
		}
	}
	asked := len(c.dropped)
	for i, name := range first {
		if name == pandasIndex {
			c.dropped, c.numbers = append(c.dropped, i), append(c.numbers, name)
		}
	}
	named, err := c.byName(first)
	if err != nil {
		return nil, err
	}
	if !named && c.opt.DropIfThere && asked > 0 {
		if err := c.dropIfThere(first, asked); err != nil {
			return nil, err
		}
	}
	if c.opt.LabelIfThere && !c.hasLabel(first, named) {
		c.opt.Label = ""
	}
	if named {
		return c.skipOthers(first)
	}
	c.at, err = c.labels(first)
	return c.dropped, err
}

// dropIfThere drops nothing after all if the columns to drop, the first ones of dropped, are those of another table,
// which this one, without names of the features, does not have by its width. A width that fits with and without them is
// an error, unless the header names them.
func (c *columns) dropIfThere(first []string, asked int) error {
	kept := columns{opt: c.opt, dropped: c.dropped[asked:]}
	with, without, d := kept.rest(first), c.rest(first), c.opt.Shape.Len()
	switch {
	case without != d && without != d+1, with == d+1 && c.opt.givenLabel() && c.opt.Label != noLabel:
		c.dropped = kept.dropped
		if c.opt.LabelIfThere {
			c.opt.Label = LabelWithout(c.opt.Label, c.opt.Drop)
		}
	case without == d && with == d+1 && !c.opt.givenLabel() && (c.unnamed || allNumbers(c.opt.Drop)):
		return fmt.Errorf("%d columns are the %d features of the model and either a label or what its training "+
			"dropped (%s): expected --drop none for the first, --label none for the second", with, d, list(c.opt.Drop))
	}
	return nil
}

// allNumbers says whether all columns are given by their numbers.
func allNumbers(columns []string) bool {
	return !slices.ContainsFunc(columns, func(c string) bool { _, err := strconv.Atoi(c); return err != nil })
}

// LabelWithout returns the column of labels of a table from which columns are gone: a number is less by those before
// it.
func LabelWithout(label string, gone []string) string {
	n, err := strconv.Atoi(label)
	if err != nil {
		return label
	}
	before := 0
	for i, column := range gone {
		if k, err := strconv.Atoi(column); err == nil && k < n && !slices.Contains(gone[:i], column) {
			before++
		}
	}
	return strconv.Itoa(n - before)
}

// hasLabel says whether the table has the column of labels that the table of a model had.
func (c *columns) hasLabel(first []string, named bool) bool {
	if named {
		return slices.Contains(first, c.opt.Label) && !slices.Contains(c.opt.Features, c.opt.Label)
	}
	if _, usual := array.LabelColumn(first, c.drops); usual {
		return false
	}
	at, err := c.find(c.opt.Label, first)
	return err == nil && !c.drops(at) && c.rest(first) == c.opt.Shape.Len()+1
}

// skipLabels is skip with the column of the labels, which may hold anything.
func (c *columns) skipLabels(first []string) ([]int, error) {
	list, err := c.skip(first)
	if err == nil && c.at >= 0 {
		list = append(slices.Clone(list), c.at)
		c.at, c.guessed = -1, false
	}
	return list, err
}

// header returns the names, in lower case, of the columns that are no features, by which a header is told.
func (c *columns) header() []string {
	names := slices.Clone(array.LabelNames)
	for _, name := range append([]string{c.opt.Label}, c.opt.Drop...) {
		if name != "" {
			names = append(names, strings.ToLower(name))
		}
	}
	return names
}

// label returns the column of the labels.
func (c *columns) label([]string) (int, error) { return c.at, nil }

// byName says whether the first line names all features of the model. That of some of them, not all, is an error. Names
// that are numbers may also be a sample, unless there is a name of labels, or all are there and some have fractions.
func (c *columns) byName(first []string) (bool, error) {
	found, missing, header, fraction := 0, "", false, false
	left := counts(first)
	for _, name := range c.opt.Features {
		if left[name] == 0 {
			missing = name
			continue
		}
		v, err := strconv.ParseFloat(name, 64)
		header = header || err != nil
		fraction = fraction || v != math.Trunc(v)
		left[name]--
		found++
	}
	header = header || fraction && found == len(c.opt.Features) || slices.ContainsFunc(first, array.NamesLabels)
	switch {
	case !header || found == 0:
		return false, nil
	case found < len(c.opt.Features):
		return false, fmt.Errorf("no column %.60q, a feature of the model: found %s", missing, list(first))
	}
	return true, nil
}

// counts returns how often each name occurs: more than once only the empty one, of columns without a name, and those
// of the parts of a Parquet column.
func counts(names []string) map[string]int {
	n := map[string]int{}
	for _, name := range names {
		n[name]++
	}
	return n
}

// skipOthers returns which columns are neither features of the model nor labels.
func (c *columns) skipOthers(first []string) ([]int, error) {
	c.named, c.at = true, -1
	var others, open []int // open: which may be labels
	left := counts(c.opt.Features)
	for i, name := range first {
		if left[name] > 0 {
			left[name]--
			continue
		}
		others = append(others, i)
		if !c.drops(i) && !(i == 0 && array.NamesIndex(name)) {
			open = append(open, i)
		}
	}
	for _, at := range c.dropped {
		if !c.opt.DropIfThere && !slices.Contains(others, at) {
			return nil, fmt.Errorf("--drop: column %.60q is a feature of the model", first[at])
		}
	}
	closed := func(i int) bool { // open ascends, and may be long
		_, ok := slices.BinarySearch(open, i)
		return !ok
	}
	switch usual := array.UsualLabels(first, closed); {
	case c.opt.Label == noLabel:
	case c.opt.Label != "":
		at, err := c.find(c.opt.Label, first)
		if err != nil {
			return nil, fmt.Errorf("--label: %w", err)
		}
		if !slices.Contains(others, at) {
			return nil, fmt.Errorf("--label: column %.60q is a feature of the model", first[at])
		}
		c.at = at
	case usual >= 0:
		c.at = usual
	case len(open) == 1:
		c.at, c.guessed = open[0], true
	}
	others = slices.DeleteFunc(others, func(i int) bool { return i == c.at })
	for _, i := range others {
		if !c.drops(i) {
			c.unused = append(c.unused, cmp.Or(first[i], strconv.Itoa(i+1)))
		}
	}
	return others, nil
}

// labels returns the column of the labels, which is none of the dropped ones: that of the name or number, or else the
// one with the most usual name, or the last. For a model it is none if there are only as many columns as features.
func (c *columns) labels(first []string) (int, error) {
	switch c.opt.Label {
	case noLabel:
		return -1, nil
	case "":
	default:
		at, err := c.find(c.opt.Label, first)
		if err == nil && c.drops(at) {
			err = fmt.Errorf("column %.60q is dropped (--drop)", c.opt.Label)
		}
		if err != nil {
			return -1, fmt.Errorf("--label: %w", err)
		}
		return at, nil
	}
	at, usual := array.LabelColumn(first, c.drops)
	n, d := c.rest(first), c.opt.Shape.Len()
	switch {
	case c.model() && n == d:
		return -1, nil
	case usual:
		return at, nil
	case c.model() && n != d+1:
		return -1, fmt.Errorf("%d columns, expected the %d numbers of a sample of the model (%v), and perhaps a label "+
			"(%s)", n, d, c.opt.Shape, dropHint)
	}
	return at, nil
}

// drops says whether a column is dropped.
func (c *columns) drops(column int) bool { return slices.Contains(c.dropped, column) }

// rest returns the number of columns that are not dropped. For a model one that holds the numbers of the rows does not
// count.
func (c *columns) rest(first []string) int {
	n, index := 0, !c.model()
	for i, name := range first {
		if c.drops(i) {
			continue
		}
		if n == 0 && !index && array.NamesIndex(name) {
			index = true
			continue
		}
		n++
	}
	return n
}

// pandasIndex is what pandas calls the numbers of the rows in files that name every column.
const pandasIndex = "__index_level_0__"

// dropHint says what to do with columns that are no numbers.
const dropHint = "--drop COLUMN leaves one out"

// labelHint says what to do if the column of the labels was guessed, and is another one.
func labelHint(opt Options) string {
	if opt.givenLabel() {
		return ""
	}
	return "--label COLUMN if another one holds the labels"
}

// note adds to the notes of a part which columns are left out that nobody asked to drop.
func (c *columns) note(p *part) {
	why := "the model has no feature of that name"
	if c.at < 0 && c.opt.Label == "" && !c.opt.unlabelled {
		why += " (--label COLUMN if one holds the labels)"
	}
	p.note("column", c.unused, why)
	p.note("column", c.numbers, "by its name it numbers the rows")
}

// arrange puts the columns of rows of numbers, which have the names from, into the order of the names to. Both have the
// same names; equal ones keep their order.
func arrange(values []float32, from, to []string) {
	if slices.Equal(from, to) {
		return
	}
	places := map[string][]int{}
	for i, name := range from {
		places[name] = append(places[name], i)
	}
	at := make([]int, len(to))
	for j, name := range to {
		at[j], places[name] = places[name][0], places[name][1:]
	}
	row := make([]float32, len(to))
	for ; len(values) > 0; values = values[len(to):] {
		copy(row, values)
		for j, i := range at {
			values[j] = row[i]
		}
	}
}
