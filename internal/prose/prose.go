// Package prose keeps the sentences of pages in template files, apart from the code that
// computes the numbers in them.
//
//	//go:embed prose/*.tmpl
//	var files embed.FS
//	var text = prose.Parse(files, "prose/*.tmpl")
//
//	text.Say("accuracy", "share", 0.971, "images", 10000)
//
// where a file of prose/ contains
//
//	{{define "accuracy"}}
//	{{percent .share}} of {{thousands .images}} images are classified correctly.
//	{{end}}
//
// Templates have the functions num (three significant digits), number (with decimals), percent
// (of a share, one decimal, or as many as a second argument says), factor, thousands, count (1 image,
// 2,000 images), interval, percents and factors (two ends), and list (words joined by commas).
package prose

import (
	"fmt"
	"io/fs"
	"math"
	"reflect"
	"strings"
	"text/template/parse"

	"dpnbench/internal/format"
	"dpnbench/internal/template"
)

// Set is a set of named sentences and paragraphs.
type Set struct{ t *template.Set }

// Parse reads templates from files that match a pattern. It panics if one is malformed.
func Parse(files fs.FS, pattern string) Set {
	return ParseAs(files, pattern, func(text string) string { return text })
}

// ParseAs is Parse of files whose texts are first changed: other words for other readers.
func ParseAs(files fs.FS, pattern string, change func(text string) string) Set {
	t := template.Text(template.Funcs{
		"num":       func(v any) string { return Num(float(v)) },
		"number":    func(v any, decimals int) string { return format.Number(float(v), decimals) },
		"percent":   percent,
		"thousands": format.Thousands,
		"count":     format.CountThousands,
		"factor":    func(v any) string { return format.Factor(float(v)) },
		"factors":   func(ci any) string { return ends(ci, format.Factor) },
		"interval":  func(ci any) string { return ends(ci, Num) },
		"percents":  func(ci any) string { return ends(ci, func(v float64) string { return percent(v) }) },
		"list":      func(words []string) string { return strings.Join(words, ", ") },
	})
	return Set{t.ParseFS(files, pattern, change)}
}

// Say returns the text of a name as a single line. The values are pairs of a key and what the
// template shows for it. A name or key that does not exist is a mistake of the program: Say
// panics (package prosetest finds such calls).
func (p Set) Say(name string, values ...any) string {
	m := make(map[string]any, len(values)/2)
	for i := 0; i < len(values); i += 2 {
		m[values[i].(string)] = values[i+1]
	}
	said, err := p.t.Execute(name, m)
	if err != nil {
		panic(fmt.Sprintf("prose: %q: %v", name, err))
	}
	return join(said)
}

// join makes one line of text. No-break spaces stay.
func join(s string) string {
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || r == '\n' || r == '\t' }), " ")
}

// Templates returns the templates by name, for tests.
func (p Set) Templates() map[string]*parse.Tree { return p.t.Trees() }

// Num prints three significant digits, a dash for NaN and ∞ for +Inf.
func Num(v float64) string {
	switch {
	case math.IsNaN(v):
		return "–"
	case math.IsInf(v, 1):
		return "∞"
	}
	return format.Significant(v)
}

func percent(v any, decimals ...int) string {
	return format.Percent(float(v), append(decimals, 1)[0])
}

// ends prints the two ends of an interval, or a dash if there are not two.
func ends(ci any, print func(float64) string) string {
	v := reflect.ValueOf(ci)
	if v.Len() != 2 {
		return "–"
	}
	return print(v.Index(0).Float()) + " to " + print(v.Index(1).Float())
}

// float returns a number of any type.
func float(v any) float64 {
	r := reflect.ValueOf(v)
	switch {
	case r.CanFloat():
		return r.Float()
	case r.CanInt():
		return float64(r.Int())
	}
	panic(fmt.Sprintf("%v (%T) is no number", v, v))
}
