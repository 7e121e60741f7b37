// Package templatetest compares package template with html/template.
package templatetest

import (
	htmltemplate "html/template"
	"strings"
	"testing"

	"dpnbench/internal/template"
)

// Equal checks that html/template makes got of the data, too. It looks at the place of each value:
// a value that the text shows in a place where package template does not escape enough makes a
// difference, if the data hold strings with markup there.
func Equal(t *testing.T, text, name string, funcs template.Funcs, data any, got string) {
	t.Helper()
	std, err := htmltemplate.New(name).Funcs(htmltemplate.FuncMap(funcs)).Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	var want strings.Builder
	if err := std.ExecuteTemplate(&want, name, data); err != nil {
		t.Fatal(err)
	}
	if want.String() == got {
		return
	}
	a, b := strings.Split(got, "\n"), strings.Split(want.String(), "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			t.Fatalf("line %d is\n%q, by html/template\n%q", i+1, a[i], b[i])
		}
	}
	t.Fatalf("%d lines, by html/template %d", len(a), len(b))
}
