package dpn

import (
	"fmt"
	"strings"
)

// fewSamples is the number of images of a class below which it is hardly learned, and its accuracy
// hardly measured.
const fewSamples = 10

// classWarning says in one line which of the classes lack images to train or to validate on, or returns
// "". Without validation images those do not count.
func classWarning(train, val []byte, classes int) string {
	count := func(labels []byte) []int {
		n := make([]int, classes)
		for _, y := range labels {
			n[y]++
		}
		return n
	}
	trained, validated := count(train), count(val)
	var none, few, unseen []string
	for y, n := range trained {
		switch {
		case n == 0:
			none = append(none, fmt.Sprint(y))
		case n < fewSamples:
			few = append(few, fmt.Sprintf("%d (%d)", y, n))
		}
		if n > 0 && validated[y] == 0 && len(val) > 0 {
			unseen = append(unseen, fmt.Sprint(y))
		}
	}
	var parts []string
	add := func(what string, list []string) {
		const most = 10
		if more := len(list) - most; more > 0 {
			list = append(list[:most], fmt.Sprintf("and %d more", more))
		}
		if len(list) > 0 {
			parts = append(parts, what+" of class "+strings.Join(list, ", "))
		}
	}
	add("no training image", none)
	add(fmt.Sprintf("fewer than %d training images", fewSamples), few)
	add("no validation image", unseen)
	return strings.Join(parts, "; ")
}

// warnings says of which clusters the components have the pooled covariance.
func (r *InitResult) warnings(c Config) []Warning {
	if len(r.Small) == 0 {
		return nil
	}
	const most = 5
	var list []string
	for _, s := range r.Small[:min(len(r.Small), most)] {
		list = append(list, fmt.Sprintf("%d (%d images)", s.Component, s.Rows))
	}
	if more := len(r.Small) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return []Warning{{Kind: "pooled", Text: fmt.Sprintf("the clusters of components %s vary in fewer than the %d "+
		"directions of rank: these components are flat along those of the pooled covariance of all clusters; "+
		"try fewer components or a lower rank", strings.Join(list, ", "), c.Rank)}}
}
