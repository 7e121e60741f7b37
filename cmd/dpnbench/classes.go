package main

import (
	"fmt"
	"strings"

	"dpnbench/dpn/layer"
	"dpnbench/internal/format"
)

// The largest numbers of classes whose confusion matrix is printed, and that are listed.
const (
	mostPredicted = 12
	mostListed    = 256
)

// printClasses prints the accuracy of every class that has images, with the numbers of predictions of
// each class, and which classes lack images. what names the images, in the singular.
func (a *app) printClasses(by layer.ByClass, what string) {
	matrix := len(by.Classes) <= mostPredicted
	head := []string{"class", what[strings.LastIndexByte(what, ' ')+1:] + "s", "accuracy", "95% interval"}
	if matrix {
		for p := range by.Classes {
			label := by.Classes[p].Label()
			if p == 0 {
				label = "predicted " + label
			}
			head = append(head, label)
		}
	}
	rows := [][]string{head}
	left := 0
	for y, s := range by.Classes {
		if s.Samples == 0 {
			continue
		}
		if len(rows) > mostListed {
			left++
			continue
		}
		row := []string{s.Label(), fmt.Sprint(s.Samples), format.Percent(*s.Accuracy, 1),
			fmt.Sprintf("%.1f to %s", 100*s.CI[0], format.Percent(s.CI[1], 1))}
		if matrix {
			for _, n := range by.Confusion[y] {
				row = append(row, fmt.Sprint(n))
			}
		}
		rows = append(rows, row)
	}
	a.table(rows)
	if left > 0 {
		a.printf("and %d more classes, in the numbers of --json\n", left)
	}
	if gaps := by.Gaps(what); gaps != "" {
		a.warn("%s\n", gaps)
	}
}

// balanced returns the balanced accuracy for a line of results, where the numbers of images differ much
// between classes.
func balanced(by layer.ByClass) string {
	if !by.Uneven() {
		return ""
	}
	return fmt.Sprintf("   balanced accuracy %.2f%%", 100*by.Balanced)
}

// lowestText says which class has the lowest accuracy, unless all have the same. sample names a sample.
func lowestText(by layer.ByClass, sample string) string {
	s := by.Lowest()
	if s == nil {
		return "none"
	}
	if s.Class == by.Highest().Class {
		return fmt.Sprintf("accuracy %.2f%% in every class", 100**s.Accuracy)
	}
	return fmt.Sprintf("lowest accuracy %.2f%% in %s (95%% interval %.1f to %.1f%%, %s)", 100**s.Accuracy,
		layer.Named(s.Label()), 100*s.CI[0], 100*s.CI[1], format.Count(s.Samples, sample))
}
