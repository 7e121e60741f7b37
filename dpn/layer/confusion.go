package layer

import (
	"fmt"
	"strings"

	"dpnbench/internal/stat"
)

// Confusion counts rows: those of class y that were classified as p are Confusion[y][p].
type Confusion [][]int

// NewConfusion returns the counts of no rows.
func NewConfusion(classes int) Confusion {
	c := make(Confusion, classes)
	for y := range c {
		c[y] = make([]int, classes)
	}
	return c
}

// Add counts rows with these labels and predictions.
func (c Confusion) Add(labels []uint16, predicted []int32) {
	for i, y := range labels {
		c[y][predicted[i]]++
	}
}

// ClassScore is the accuracy of the rows of one class.
type ClassScore struct {
	Class    int         `json:"class"`
	Samples  int         `json:"samples"`
	Right    int         `json:"right"`
	Accuracy *float64    `json:"accuracy"`    // nil without rows
	CI       *[2]float64 `json:"accuracy_ci"` // Wilson's 95% interval
}

// ByClass is the accuracy of every class.
type ByClass struct {
	Classes   []ClassScore `json:"classes"`
	Confusion Confusion    `json:"confusion"` // a row for each class, a column for each prediction

	// Balanced is the mean accuracy of the classes that have rows.
	Balanced float64 `json:"balanced_accuracy"`
}

// ByClass returns the accuracy of every class.
func (c Confusion) ByClass() ByClass {
	r := ByClass{Confusion: c}
	var sum, seen float64
	for y, row := range c {
		s := ClassScore{Class: y, Right: row[y]}
		for _, n := range row {
			s.Samples += n
		}
		if s.Samples > 0 {
			v := float64(s.Right) / float64(s.Samples)
			low, high := stat.Wilson(v, s.Samples)
			s.Accuracy, s.CI = &v, &[2]float64{low, high}
			sum += v
			seen++
		}
		r.Classes = append(r.Classes, s)
	}
	r.Balanced = sum / max(seen, 1)
	return r
}

// uneven is the ratio of the numbers of rows of two classes from which the accuracy of all rows says
// little about that of the smaller class.
const uneven = 1.5

// Uneven says whether the numbers of rows differ so much between classes that the balanced accuracy
// belongs beside the accuracy.
func (r ByClass) Uneven() bool {
	least, most := r.Sizes()
	return float64(most) > uneven*float64(least)
}

// Sizes returns the numbers of rows of the smallest and the largest class. Classes without rows do not
// count.
func (r ByClass) Sizes() (least, most int) {
	for _, s := range r.Classes {
		if s.Samples > 0 && (least == 0 || s.Samples < least) {
			least = s.Samples
		}
		most = max(most, s.Samples)
	}
	return least, most
}

// Lowest returns the class with the lowest accuracy, the first of equals; nil without rows.
func (r ByClass) Lowest() *ClassScore {
	return r.extreme(func(v, than float64) bool { return v < than })
}

// Highest returns the class with the highest accuracy, the first of equals; nil without rows.
func (r ByClass) Highest() *ClassScore {
	return r.extreme(func(v, than float64) bool { return v > than })
}

func (r ByClass) extreme(beyond func(v, than float64) bool) *ClassScore {
	var found *ClassScore
	for i, s := range r.Classes {
		if s.Accuracy != nil && (found == nil || beyond(*s.Accuracy, *found.Accuracy)) {
			found = &r.Classes[i]
		}
	}
	return found
}

// Gaps says in one line which classes have no rows, or too few for their accuracy to say much; "" if
// none. what names the rows, in the singular.
func (r ByClass) Gaps(what string) string {
	var counts []int
	for _, s := range r.Classes {
		counts = append(counts, s.Samples)
	}
	return strings.Join(Gaps(counts, what), "; ")
}

// fewSamples is the number of samples of a class below which it is hardly learned, and its accuracy hardly
// measured.
const fewSamples = 10

// Gaps says which classes have none of their samples, and which have too few. counts holds the number of
// samples of each class.
func Gaps(counts []int, what string) []string {
	var none, few []string
	for y, n := range counts {
		switch {
		case n == 0:
			none = append(none, fmt.Sprint(y))
		case n < fewSamples:
			few = append(few, fmt.Sprintf("%d (%d)", y, n))
		}
	}
	return append(OfClasses("no "+what, none), OfClasses(fmt.Sprintf("fewer than %d %ss", fewSamples, what), few)...)
}

// OfClasses says what holds of classes: no part if there are none.
func OfClasses(what string, classes []string) []string {
	const most = 10
	if len(classes) == 0 {
		return nil
	}
	if more := len(classes) - most; more > 0 {
		classes = append(classes[:most:most], fmt.Sprintf("and %d more", more))
	}
	return []string{what + " of class " + strings.Join(classes, ", ")}
}
