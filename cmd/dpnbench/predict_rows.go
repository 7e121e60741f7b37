package main

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"sort"
	"strconv"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/quote"
)

// predictRows is the number of samples that are classified, and whose rows are written, at a time.
const predictRows = 512

// predicted are the predictions of samples.
type predicted struct {
	models dpn.Ensemble
	set    *dataset.Set
	names  []string // of images; nil: none
	top    int      // classes in a row; 0: the probabilities of all
	quoted bool     // rows go to a terminal, perhaps
	keep   bool     // rows in the result
	result predictResult

	right, unknown int
}

// write classifies the samples and writes their rows.
func (r *predicted) write(ctx context.Context, e *engine.Engine, w io.Writer,
	report func(done, all int)) error {
	n := r.set.Len()
	r.result.Predictions = []samplePrediction{}
	table := csv.NewWriter(w)
	if err := table.Write(r.cells(r.head())); err != nil {
		return err
	}
	for lo := 0; lo < n; lo += predictRows {
		s := r.set.Slice(lo, min(lo+predictRows, n))
		x, err := r.models.Predictions(ctx, e, s)
		if bad, ok := errors.AsType[*dpn.OutputError](err); ok {
			bad.Row += lo
		}
		if err != nil {
			return err
		}
		for i := range s.Len() {
			if err := table.Write(r.cells(r.row(lo+i, x, i))); err != nil {
				return err
			}
		}
		report(lo+s.Len(), n)
	}
	if r.set.Labelled() && n > 0 {
		accuracy := float64(r.right) / float64(n)
		r.result.Accuracy = &accuracy
	}
	if r.models[0].UnknownBelow != nil {
		r.result.Unknown = &r.unknown
	}
	table.Flush()
	return table.Error()
}

// head returns the first row.
func (r *predicted) head() []string {
	head := []string{"sample", "class"}
	if r.set.Labelled() {
		head = append(head, "label")
	}
	head = append(head, "unknown", "potential")
	for i := range r.top {
		head = append(head, fmt.Sprintf("class_%d", i+1), fmt.Sprintf("p_%d", i+1))
	}
	if r.top == 0 {
		for _, class := range r.models[0].Classes {
			head = append(head, "p_"+class)
		}
	}
	return head
}

// row returns the row of sample n, which is number i of x, and counts it.
func (r *predicted) row(n int, x *dpn.Predictions, i int) []string {
	classes, class, p := r.models[0].Classes, x.Classes[i], x.Probabilities.Row(i)
	one := samplePrediction{Index: n, Class: classes[class], Potential: x.Phi[i]}
	name, unknown := strconv.Itoa(n), ""
	if r.names != nil {
		one.File = r.names[n]
		name = sheetText(one.File)
	}
	cells := []string{name, sheetText(one.Class)}
	if r.set.Labelled() {
		y := int(r.set.Labels[n])
		if y == class {
			r.right++
		}
		one.Label = &classes[y]
		cells = append(cells, sheetText(classes[y]))
	}
	if x.Unknown != nil {
		one.Unknown = &x.Unknown[i]
		if unknown = strconv.FormatBool(x.Unknown[i]); x.Unknown[i] {
			r.unknown++
		}
	}
	cells = append(cells, unknown, shortest(float32(x.Phi[i])))
	if r.top == 0 {
		one.Probabilities = p
		for _, v := range p {
			cells = append(cells, shortest(v))
		}
	}
	for _, y := range likely(p, class, r.top) {
		one.Top = append(one.Top, likelyClass{classes[y], p[y]})
		cells = append(cells, sheetText(classes[y]), shortest(p[y]))
	}
	if r.keep {
		r.result.Predictions = append(r.result.Predictions, one)
	}
	return cells
}

// likely returns the n most likely classes, the one that was predicted first: others may have its probability after
// rounding.
func likely(p []float32, predicted, n int) []int {
	if n == 0 {
		return nil
	}
	all := make([]int, len(p))
	for y := range all {
		all[y] = y
	}
	sort.Slice(all, func(i, j int) bool {
		a, b := all[i], all[j]
		return b != predicted && (a == predicted || p[a] > p[b] || p[a] == p[b] && a < b)
	})
	return all[:n]
}

// shortest returns the shortest text that means v.
func shortest(v float32) string { return strconv.FormatFloat(float64(v), 'g', -1, 32) }

// sheetText returns a name that a spreadsheet takes for a text: one that it would take for a formula, because it begins
// as one and is no number, gets an apostrophe before it.
func sheetText(name string) string {
	if !slices.ContainsFunc([]string{"=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"},
		func(begin string) bool { return strings.HasPrefix(name, begin) }) {
		return name
	}
	if _, err := strconv.ParseFloat(name, 64); err == nil {
		return name
	}
	return "'" + name
}

// cells returns a row as it is written.
func (r *predicted) cells(row []string) []string {
	if r.quoted {
		for i, cell := range row {
			row[i] = quote.Text(cell)
		}
	}
	return row
}

// summary says in one line what was found.
func (r *predicted) summary() string {
	parts := []string{strconv.Itoa(r.set.Len())}
	if a := r.result.Accuracy; a != nil {
		parts = append(parts, fmt.Sprintf("accuracy %.2f%%", 100**a))
	}
	if u := r.result.Unknown; u != nil {
		parts = append(parts, fmt.Sprintf("%d look unknown (%.1f%%)", *u, 100*float64(*u)/float64(max(r.set.Len(), 1))))
	}
	return strings.Join(parts, "   ")
}
