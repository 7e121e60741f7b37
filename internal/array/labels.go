package array

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"dpnbench/internal/format"
)

// LabelNames are usual names of a column of labels, the most usual first, by which a header is told from a label.
var LabelNames = []string{"label", "labels", "class", "target", "y"}

// Label returns a number as a label, if it is one: whole, an int, and less than 2^53 in size, from where on float64
// leaves whole numbers out.
func Label(v float64) (label int, ok bool) {
	if v != math.Trunc(v) || !(math.Abs(v) < 1<<53) {
		return 0, false
	}
	n := int64(v)
	return int(n), int64(int(n)) == n
}

// TextLabel returns the text of a number as a label, if it is one, also as other programs write whole numbers: 1.0,
// 1.000e+00.
func TextLabel(text string) (label int, ok bool) {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, false
	}
	return Label(v)
}

// ExpectedLabel says what Label refuses.
var ExpectedLabel = fmt.Sprintf("expected a whole number, less than 2^%d in size", min(53, strconv.IntSize-1))

// NamesLabels says whether a name is a usual one of a column of labels.
func NamesLabels(name string) bool { return slices.Contains(LabelNames, strings.ToLower(name)) }

// UsualLabels returns the column with the most usual name of labels, so label, and not y, of a table with both. Columns
// for which out is true are left out, unless it is nil. -1: none has such a name.
func UsualLabels(first []string, out func(column int) bool) int {
	for _, usual := range LabelNames {
		for i, name := range first {
			if (out == nil || !out(i)) && strings.EqualFold(name, usual) {
				return i
			}
		}
	}
	return -1
}

// LabelColumn returns the column of the labels of a table if none is named: that of UsualLabels, or else the last, but
// for those that are left out; -1 if all are.
func LabelColumn(first []string, out func(column int) bool) (at int, usual bool) {
	if at = UsualLabels(first, out); at >= 0 {
		return at, true
	}
	for at = len(first) - 1; at >= 0 && out != nil && out(at); at-- {
	}
	return at, false
}

// noClass returns the first label that is a number with a fraction, or NaN, which is a missing one, if all others are
// whole numbers; -1 if there is none.
func noClass(labels []string) int {
	nan, numbers := -1, true
	for i, s := range labels {
		switch v, err := strconv.ParseFloat(s, 64); {
		case err != nil || math.IsInf(v, 0): // names
			numbers = false
		case math.IsNaN(v):
			if nan < 0 {
				nan = i
			}
		case v != math.Trunc(v):
			return i
		}
	}
	if numbers {
		return nan
	}
	return -1
}

// noLabel says why a cell is no label, or returns "".
func noLabel(text string) string {
	switch {
	case text == "":
		return "an empty cell: expected a label"
	case !utf8.ValidString(text):
		return fmt.Sprintf("%.60q: expected a label in UTF-8", text)
	}
	return ""
}

// missingLabels are what other programs write for a label that is missing, in lower case.
var missingLabels = []string{"", "na", "nan", "null", "n/a"}

// NoteMissing notes classes whose names are usual for a label that is missing. of are labels of samples.
func NoteMissing(classes []string, of ...[]int) (notes []string) {
	for y, class := range classes {
		if !slices.Contains(missingLabels, strings.ToLower(class)) {
			continue
		}
		n := 0
		for _, labels := range of {
			for _, label := range labels {
				if label == y {
					n++
				}
			}
		}
		if n > 0 {
			notes = append(notes, fmt.Sprintf("class %q: %s, perhaps of missing labels: leave them out if so", class,
				format.Count(n, "sample")))
		}
	}
	return notes
}

// CheckLabels refuses labels, the column of texts, that noLabel or noClass finds. The hint says how to choose another
// column.
func (t *Table) CheckLabels(hint string) error {
	for i, text := range t.Texts {
		if problem := noLabel(text); problem != "" {
			return fmt.Errorf("%s: line %d, column %s: %s (%s)", t.File, t.Line(i), t.title(t.Column), problem, hint)
		}
	}
	if i := noClass(t.Texts); i >= 0 {
		return fmt.Errorf("%s: line %d: label %.40q in column %s: expected a class, no number with a fraction, nor "+
			"NaN among numbers (%s)", t.File, t.Line(i), t.Texts[i], t.title(t.Column), hint)
	}
	return nil
}

// CheckLabels refuses labels, the texts of the array, that noClass finds.
func (a *Array) CheckLabels(texts []string) error {
	if i := noClass(texts); i >= 0 {
		return fmt.Errorf("%s: row %d (counted from 0): label %.40q: expected a class, no number with a fraction, nor "+
			"NaN among numbers", a.Title(), i, texts[i])
	}
	return nil
}

// Labels are the classes of samples.
type Labels struct {
	Of    []int    // the class of each sample
	Names []string // of classes that are texts: class 0, 1, ...
	// Column is the number, from 1, of the column that was chosen in a table of several without being named; 0: none.
	Column int
	// ColumnName is its name in quotes, or else its number.
	ColumnName string
}

// ReadLabels reads labels: whole numbers (one for each row) or, but of safetensors, texts, whose classes are numbered
// in alphabetical order. A column of a table is named by FILE:COLUMN, or else that of LabelColumn.
func ReadLabels(spec string, o Options) (*Labels, error) {
	path, name := Split(spec)
	switch extension(path) {
	case ".csv", ".tsv":
		return readTextLabels(path, name, o)
	}
	o.Texts = true
	f, err := Open(spec, o)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if len(f.Arrays) > 1 {
		return nil, fmt.Errorf("%s: %d arrays: expected the name of one, as in %s:%s", path, len(f.Arrays), path,
			f.Arrays[len(f.Arrays)-1].Name)
	}
	a := f.Arrays[0]
	if a.Width() != 1 {
		return nil, fmt.Errorf("%s: shape %v: expected one label a row", a.Title(), a.Shape)
	}
	if texts, err := a.Texts(); err == nil {
		if err := a.CheckLabels(texts); err != nil {
			return nil, err
		}
		return named(texts), nil
	}
	values := make([]float64, a.Len())
	if err := a.ReadRows(values, 0); err != nil {
		return nil, err
	}
	out := &Labels{Of: make([]int, a.Len())}
	for i, v := range values {
		var ok bool
		if out.Of[i], ok = Label(v); !ok {
			return nil, fmt.Errorf("%s: row %d (counted from 0): label %v: %s", a.Title(), i, v, ExpectedLabel)
		}
	}
	return out, nil
}

func readTextLabels(path, column string, o Options) (*Labels, error) {
	f, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	table := o.table(column)
	table.Hint = path + ":COLUMN takes labels from the column of that name, whatever others hold"
	usual := false
	if column == "" {
		table.Column = func(first []string) (at int, err error) {
			at, usual = LabelColumn(first, nil)
			return at, nil
		}
	}
	choose := table.Column
	table.Skip = func(first []string) (others []int, err error) {
		at, err := choose(first)
		_, number := strconv.Atoi(column)
		if named := column != "" && number != nil; err != nil || !named && !usual {
			return nil, err
		}
		for i := range first { // of a header, so that others may be texts
			if i != at {
				others = append(others, i)
			}
		}
		return others, nil
	}
	t, err := ReadTable(path, f, table)
	if err != nil {
		return nil, err
	}
	if err := t.CheckLabels(path + ":COLUMN takes another column"); err != nil {
		return nil, err
	}
	out := named(t.Texts)
	if column == "" && t.Columns > 1 {
		out.Column, out.ColumnName = t.Column+1, t.title(t.Column)
	}
	return out, nil
}

// named numbers labels that are texts: by value if all are whole numbers, else by their alphabetical order.
func named(texts []string) *Labels {
	out := &Labels{Of: make([]int, len(texts))}
	numbers := true
	for i, text := range texts {
		v, ok := TextLabel(text)
		numbers = numbers && ok
		out.Of[i] = v
	}
	if numbers {
		return out
	}
	out.Names = slices.Compact(slices.Sorted(slices.Values(texts)))
	for i, text := range texts {
		out.Of[i], _ = slices.BinarySearch(out.Names, text)
	}
	return out
}
