package layer

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"

	"dpnbench/internal/stat"
)

// Confusion counts rows: those of class y that were classified as p are Confusion[y][p].
type Confusion [][]int

// mostConfusion is the largest number of classes of a Confusion, whose size is its square.
const mostConfusion = 1024

// Outcomes counts rows by class, and by whether they were classified correctly.
type Outcomes struct {
	samples, right []int
	confusion      Confusion // nil for more than mostConfusion classes
}

// NewOutcomes returns the counts of no rows.
func NewOutcomes(classes int) *Outcomes {
	o := &Outcomes{samples: make([]int, classes), right: make([]int, classes)}
	if classes <= mostConfusion {
		o.confusion = make(Confusion, classes)
		for y := range o.confusion {
			o.confusion[y] = make([]int, classes)
		}
	}
	return o
}

// Add counts rows with these labels and predictions.
func (o *Outcomes) Add(labels []uint16, predicted []int32) {
	for i, y := range labels {
		o.samples[y]++
		if predicted[i] == int32(y) {
			o.right[y]++
		}
		if o.confusion != nil {
			o.confusion[y][predicted[i]]++
		}
	}
}

// ClassScore is the accuracy of the rows of one class.
type ClassScore struct {
	Class    int         `json:"class"`
	Name     string      `json:"name,omitempty"` // empty: its number
	Samples  int         `json:"samples"`
	Right    int         `json:"right"`
	Accuracy *float64    `json:"accuracy"`    // nil without rows
	CI       *[2]float64 `json:"accuracy_ci"` // Wilson's 95% interval
}

// Label is what texts call the class: its name, or else its number.
func (s ClassScore) Label() string { return cmp.Or(s.Name, strconv.Itoa(s.Class)) }

// ByClass is the accuracy of every class.
type ByClass struct {
	Classes []ClassScore `json:"classes"`

	// Confusion has a row for each class, a column for each prediction; nil for more than 1024 classes.
	Confusion Confusion `json:"confusion"`

	// Balanced is the mean accuracy of the classes that have rows.
	Balanced float64 `json:"balanced_accuracy"`
}

// ByClass returns the accuracy of every class; names are those of the classes.
func (o *Outcomes) ByClass(names []string) ByClass {
	r := ByClass{Confusion: o.confusion}
	var sum, seen float64
	for y, n := range o.samples {
		s := ClassScore{Class: y, Samples: n, Right: o.right[y]}
		if names[y] != strconv.Itoa(y) {
			s.Name = names[y]
		}
		if n > 0 {
			v := float64(s.Right) / float64(n)
			low, high := stat.Wilson(v, n)
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
	var names []string
	for _, s := range r.Classes {
		counts, names = append(counts, s.Samples), append(names, s.Label())
	}
	return strings.Join(Gaps(counts, names, what), "; ")
}

// fewSamples is the number of samples of a class below which it is hardly learned, and its accuracy hardly
// measured.
const fewSamples = 10

// Gaps says which classes have none of their samples, and which have too few. counts holds the number of
// samples of each class, names what to call them.
func Gaps(counts []int, names []string, what string) []string {
	var none, few []string
	for y, n := range counts {
		switch {
		case n == 0:
			none = append(none, names[y])
		case n < fewSamples:
			few = append(few, fmt.Sprintf("%s (%d)", names[y], n))
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
	of := " of class "
	if len(classes) > 1 {
		of = " of classes "
	}
	if Named(classes[0]) == classes[0] {
		of = " of "
	}
	return []string{what + of + strings.Join(classes, ", ")}
}

// Named returns what to call a class in a sentence: "class cat", but a name that says so itself as it is.
func Named(class string) string {
	if len(class) >= 5 && strings.EqualFold(class[:5], "class") {
		return class
	}
	return "class " + class
}
