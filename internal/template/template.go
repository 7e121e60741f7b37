// Package template executes templates in the syntax of text/template and html/template.
//
// Those two packages call methods by name, which keeps the linker from leaving out any exported
// method of any type: 4 MB of the program. This package calls functions and reads fields only. It
// knows what the project's templates use: fields of structs and maps, variables, if, range, with,
// else, functions, and the predefined and, or, not, eq, ge, len, index and printf. Anything else is
// an error.
//
// The strings that an HTML template shows are escaped as html/template does it in text and in
// quoted attributes. Unlike html/template it does not look at the place: a template may show
// values in these two places only, and trusted ones (HTML, CSS, JS of html/template) anywhere.
// Package templatetest compares the two.
package template

import (
	"fmt"
	"html/template"
	"io/fs"
	"maps"
	"path"
	"reflect"
	"slices"
	"strings"
	"text/template/parse"
)

// Funcs are functions by name. They return a value, or a value and an error.
type Funcs map[string]any

// Set is a set of templates by name.
type Set struct {
	trees map[string]*parse.Tree
	funcs Funcs
	html  bool
}

// Text returns an empty set of templates of text. A key that a map lacks is an error.
func Text(funcs Funcs) *Set { return newSet(funcs, false) }

// HTML returns an empty set of templates of HTML.
func HTML(funcs Funcs) *Set { return newSet(funcs, true) }

func newSet(funcs Funcs, html bool) *Set {
	s := &Set{trees: map[string]*parse.Tree{}, funcs: maps.Clone(predefined), html: html}
	maps.Copy(s.funcs, funcs)
	return s
}

// Parse adds the template of a text, and those that it defines. It panics if the text is
// malformed, which is a mistake of the program.
func (s *Set) Parse(name, text string) *Set {
	trees, err := parse.Parse(name, text, "", "", s.funcs)
	if err != nil {
		panic(fmt.Sprintf("template: %v", err))
	}
	maps.Copy(s.trees, trees)
	return s
}

// ParseFS adds the templates of the files that match a pattern, whose texts are first changed. It panics if there is
// none.
func (s *Set) ParseFS(files fs.FS, pattern string, change func(text string) string) *Set {
	names, err := fs.Glob(files, pattern)
	if err != nil || len(names) == 0 {
		panic(fmt.Sprintf("template: no files %s: %v", pattern, err))
	}
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			panic(fmt.Sprintf("template: %v", err))
		}
		s.Parse(path.Base(name), change(string(text)))
	}
	return s
}

// Trees returns the templates, for tests.
func (s *Set) Trees() map[string]*parse.Tree { return s.trees }

// Execute returns what a template makes of data.
func (s *Set) Execute(name string, data any) (text string, err error) {
	tree := s.trees[name]
	if tree == nil {
		return "", fmt.Errorf("no template %q among %q", name, slices.Sorted(maps.Keys(s.trees)))
	}
	e := &execution{set: s, variables: []variable{{"$", reflect.ValueOf(data)}}}
	defer func() {
		if v := recover(); v != nil {
			mistake, ok := v.(mistake)
			if !ok {
				panic(v)
			}
			err = fmt.Errorf("template %q: %s", name, string(mistake))
		}
	}()
	e.list(tree.Root, e.variables[0].value)
	return e.out.String(), nil
}

// mistake is the panic of an execution, which Execute returns as an error.
type mistake string

// show writes a value.
func (e *execution) show(v reflect.Value) {
	for v.Kind() == reflect.Interface || v.Kind() == reflect.Pointer && !printsItself(v) {
		v = v.Elem()
	}
	if !v.IsValid() {
		panic(mistake("a value is nil"))
	}
	switch x := v.Interface().(type) {
	case template.HTML:
		e.trusted(string(x))
	case template.CSS:
		e.trusted(string(x))
	case template.JS:
		e.trusted(string(x))
	default:
		text := fmt.Sprint(x)
		if e.set.html {
			text = escaper.Replace(text)
		}
		e.out.WriteString(text)
	}
}

func printsItself(v reflect.Value) bool {
	switch v.Interface().(type) {
	case error, fmt.Stringer:
		return true
	}
	return false
}

func (e *execution) trusted(s string) {
	if !e.set.html {
		panic(mistake("HTML in a text"))
	}
	e.out.WriteString(s)
}

// escaper replaces what html/template replaces in text and quoted attributes.
var escaper = strings.NewReplacer("\x00", "\ufffd", `"`, "&#34;", "&", "&amp;", "'", "&#39;", "+", "&#43;",
	"<", "&lt;", ">", "&gt;")
