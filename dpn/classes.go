package dpn

import (
	"fmt"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/internal/format"
)

// classWarning says in one line which of the classes lack images to train or to validate on, or returns
// "". Without validation images those do not count.
func classWarning(train, val *dataset.Set, classes []string) string {
	count := func(labels []uint16) []int {
		n := make([]int, len(classes))
		for _, y := range labels {
			n[y]++
		}
		return n
	}
	trained, validated := count(train.Labels), count(val.Labels)
	var unseen []string
	for y, n := range trained {
		if n > 0 && validated[y] == 0 && val.Len() > 0 {
			unseen = append(unseen, classes[y])
		}
	}
	sample := train.Sample()
	parts := append(layer.Gaps(trained, classes, "training "+sample),
		layer.OfClasses("no validation "+sample, unseen)...)
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
		list = append(list, fmt.Sprintf("%d (%s)", s.Component, format.Count(s.Rows, "sample")))
	}
	if more := len(r.Small) - most; more > 0 {
		list = append(list, fmt.Sprintf("and %d more", more))
	}
	return []Warning{{Kind: "pooled", Text: fmt.Sprintf("the clusters of components %s vary in fewer than the %d "+
		"directions of rank: these components are flat along those of the pooled covariance of all clusters; "+
		"try fewer components or a lower rank", strings.Join(list, ", "), c.Rank)}}
}
