package check

import (
	"fmt"
	"slices"
	"strings"
)

// condition is what an argument fulfils in all failing cases.
type condition struct {
	text  string
	holds func(t tried) bool
}

// common describes what failing cases share and passing ones do not: values of arguments, any but the usual
// value, sizes from some number on, or that are not a multiple of a power of two. A condition is left out if those
// before it leave fewer than two passing cases for it to exclude.
func (f *Function) common(failing, all []tried) string {
	if len(failing) < 2 {
		return ""
	}
	var found []string
	rest := all
	for _, c := range f.conditions(failing) {
		var matching []tried
		for _, t := range rest {
			if c.holds(t) {
				matching = append(matching, t)
			}
		}
		if len(rest)-len(matching) >= 2 {
			found = append(found, c.text)
			rest = matching
		}
	}
	return strings.Join(found, ", ")
}

// conditions lists what holds in all failing cases, the simplest first. From few cases nothing follows but
// unusual values.
func (f *Function) conditions(failing []tried) []condition {
	many := len(failing) >= 30
	every := func(holds func(t tried) bool) bool {
		return !slices.ContainsFunc(failing, func(t tried) bool { return !holds(t) })
	}
	var lists [5][]condition
	add := func(order int, text string, holds func(t tried) bool) bool {
		ok := every(holds)
		if ok {
			lists[order] = append(lists[order], condition{text, holds})
		}
		return ok
	}
	for i, a := range f.args {
		if a.name == seedArg.name {
			continue
		}
		first := failing[0].values[i]
		order := 0
		if first == a.usual {
			order = 4
		}
		if first != a.usual || many && a.name != offsetArg.name && a.name != dataArg.name {
			equal := func(t tried) bool { return t.values[i] == first }
			if add(order, fmt.Sprintf("%s=%d", a.name, first), equal) {
				continue
			}
		}
		if !a.isSize {
			add(1, fmt.Sprintf("%s not %d", a.name, a.usual), func(t tried) bool { return t.values[i] != a.usual })
			continue
		}
		if !many {
			continue
		}
		least := first
		for _, t := range failing {
			least = min(least, t.values[i])
		}
		if least > a.usual {
			add(2, fmt.Sprintf("%s>=%d", a.name, least), func(t tried) bool { return t.values[i] >= least })
		}
		for unit := 2; unit <= 16; unit *= 2 {
			text := fmt.Sprintf("%s not a multiple of %d", a.name, unit)
			if add(3, text, func(t tried) bool { return t.values[i]%unit != 0 }) {
				break
			}
		}
	}
	threads := failing[0].threads
	if threads > 1 {
		add(0, fmt.Sprintf("%d threads", threads), func(t tried) bool { return t.threads == threads })
	}
	return slices.Concat(lists[:]...)
}
