package source

import (
	"fmt"
	"slices"
	"strings"
)

// The splits and contents that a file or an array may be by its name.
const (
	trainSplit = "train"
	testSplit  = "test"

	samplesOf = "samples"
	labelsOf  = "labels"
	classesOf = "class names"
	featureOf = "feature names"
)

// role is what a file or an array is for.
type role struct{ split, what string } // split is empty for the only one

func (r role) String() string { return strings.TrimSpace(r.split + " " + r.what) }

// words are those by which names say it. The longer names of NumPy's programs come first.
var words = []struct {
	what  string
	words []string
}{
	{classesOf, []string{"classes", "class_names", "target_names", "label_names"}},
	{featureOf, []string{"feature_names"}},
	{labelsOf, []string{"y", "labels", "label", "targets", "target"}},
	{samplesOf, []string{"x", "images", "image", "imgs", "data", "features", "samples", "inputs"}},
}

// roleOf returns what name says, such as x_train, X, target, train-images-idx3-ubyte or emnist-letters-test-labels.
func roleOf(name string) (r role, ok bool) {
	name = strings.ToLower(name)
	for _, w := range words[:2] {
		if slices.Contains(w.words, name) {
			return role{what: w.what}, true
		}
	}
	parts := strings.FieldsFunc(name, func(c rune) bool { return strings.ContainsRune("-_. /", c) })
	for _, p := range parts {
		switch p {
		case "train", "training":
			r.split = trainSplit
		case "test", "t10k", "testing":
			r.split = testSplit
		case "val", "valid", "validation", "dev", "extra": // nobody asks for these
			return role{split: "other"}, false
		}
	}
	for _, w := range words[2:] {
		for _, p := range parts {
			if slices.Contains(w.words, p) {
				r.what = w.what
				return r, true
			}
		}
	}
	return r, false
}

// assign returns which of the names has which role; those of no role are left out. where is for errors.
func assign(where string, names []string) (map[role]string, error) {
	of := map[role]string{}
	for _, name := range names {
		r, ok := roleOf(name)
		if !ok {
			continue
		}
		if first, ok := of[r]; ok {
			return nil, fmt.Errorf("%s: %s and %s may both be the %v: expected one of them, or a longer name for "+
				"--data", where, first, name, r)
		}
		of[r] = name
	}
	for r := range of { // one without a split belongs to the training samples
		if r.split == "" && r.what != classesOf && r.what != featureOf {
			if other, ok := of[role{trainSplit, r.what}]; ok {
				return nil, fmt.Errorf("%s: %s and %s may both be the training %s", where, other, of[r], r.what)
			}
			of[role{trainSplit, r.what}] = of[r]
			delete(of, r)
		}
	}
	if of[role{trainSplit, samplesOf}] == "" && of[role{testSplit, samplesOf}] == "" {
		return nil, fmt.Errorf("%s: found %s, expected x_train and y_train (and x_test, y_test), X and y, data and "+
			"target, or images and labels", where, list(names))
	}
	return of, nil
}

// noRole is why files or arrays are left out.
const noRole = "no name of training or test samples or labels"

// withoutRole returns the names that say no role.
func withoutRole(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool { _, ok := roleOf(name); return ok })
}

// list lists names, not all of many.
func list(names []string) string {
	const most = 8
	if len(names) == 0 {
		return "nothing"
	}
	out := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		out = append(out, fmt.Sprintf("%.40q", n))
	}
	text := strings.Join(out, ", ")
	if len(names) > most {
		text += fmt.Sprintf(" and %d more", len(names)-most)
	}
	return text
}
