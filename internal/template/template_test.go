package template_test

import (
	"errors"
	htmltemplate "html/template"
	"strings"
	"testing"
	texttemplate "text/template"

	"dpnbench/internal/template"
	"dpnbench/internal/template/templatetest"
)

type inner struct {
	Name string
	N    int
	Rate float64
}

type outer struct {
	inner
	*Part
	Items  []inner
	None   []string
	Markup htmltemplate.HTML
	Any    any
	Err    error
	N2     *int
	hidden int
}

type Part struct{ Words []string }

var funcs = template.Funcs{
	"twice":  func(v float64) float64 { return 2 * v },
	"join":   strings.Join,
	"within": func(o outer) string { return o.Name },
	"sum": func(first int, more ...int) int {
		for _, v := range more {
			first += v
		}
		return first
	},
}

var number = 2

func data() outer {
	return outer{inner: inner{`<a href="x">+'&` + "\x00", 3, 0.5}, Part: &Part{[]string{"a", "b"}},
		Items: []inner{{"one", 1, 1.5}, {"", 2, 0}}, Markup: "<b>bold</b>", Any: []string{"x"},
		Err: errors.New("<failed>"), N2: &number}
}

// TestLikeTheStandardLibrary executes what the project's templates use, and compares with
// text/template and html/template.
func TestLikeTheStandardLibrary(t *testing.T) {
	for _, text := range []string{
		`{{.Name}} {{.N}} {{.Rate}} {{.Markup}} {{.Words}}`,
		`{{.Err}} {{.N2}}`,
		`<p title="{{.Name}}">{{with .Any}}{{index . 0}}{{end}}</p>`,
		`{{range $i, $item := .Items}}{{$i}}: {{.Name}} {{$item.N}} {{$.N}},{{end}}`,
		`{{range .None}}{{.}}{{else}}none{{end}}`,
		`{{range $x := .Items}}{{$x.N}}{{end}}`,
		`{{if .None}}a{{else if eq .N 3}}b{{else}}c{{end}} {{if and .N (eq .Name "x")}}d{{end}}{{or .None .Name}}`,
		`{{if not .None}}e{{end}} {{if ge .N 3}}f{{end}} {{len .Items}}`,
		`{{printf "%03d %s" .N "g"}} {{- "" }} {{/* h */}}`,
		`{{twice .Rate}} {{twice 3}} {{join .Words "; "}} {{within .}} {{sum 1}} {{sum 1 2 3}} {{1.5}}`,
		`{{$v := .N}}{{with .Name}}{{$v}}{{$v := 7}}{{$v}}{{end}}{{$v}}{{define "other"}}{{end}}`,
		`{{with $x := .Words}}{{index $x 1}}{{end}}{{with .None}}{{else}}no{{end}}`,
	} {
		got, err := template.HTML(funcs).Parse("t", text).Execute("t", data())
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		templatetest.Equal(t, text, "t", funcs, data(), got)

		plain := strings.ReplaceAll(text, "{{.Markup}}", "")
		var want strings.Builder
		std := texttemplate.Must(texttemplate.New("t").Funcs(texttemplate.FuncMap(funcs)).Parse(plain))
		if err := std.Execute(&want, data()); err != nil {
			t.Fatal(err)
		}
		if got, err := template.Text(funcs).Parse("t", plain).Execute("t", data()); err != nil || got != want.String() {
			t.Errorf("%s: %q, %v, want %q", plain, got, err, want.String())
		}
	}
}

// TestMistakes executes templates that do not fit the data, or use what is not supported.
func TestMistakes(t *testing.T) {
	for text, want := range map[string]string{
		`{{.Missing}}`:                       `no field or key "Missing"`,
		`{{.hidden}}`:                        `no field or key "hidden"`,
		`{{.Name.More}}`:                     `no field or key "More"`,
		`{{.N | printf "%d"}}`:               "not supported",
		`{{template "t" .}}`:                 "not supported",
		`{{range .N}}{{end}}`:                "no slice",
		`{{range .Items}}{{break}}{{end}}`:   "not supported",
		`{{twice .Name}}`:                    "argument 1 of twice is a string, want a float64",
		`{{twice}}`:                          "twice has 0 arguments, want 1",
		`{{twice 1 2}}`:                      "twice has 2 arguments, want 1",
		`{{eq .N .Name}}`:                    "cannot compare",
		`{{.N 1}}`:                           "no function",
		`{{$x := 1}}{{$x = 2}}`:              "not supported",
		`{{if 1}}{{.Any.X}}{{end}}`:          `no field or key "X"`,
		`{{range $a, $b := .Name}}x{{end}}ä`: "no slice",
	} {
		got, err := template.HTML(funcs).Parse("t", text).Execute("t", data())
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %q, %v, want %q", text, got, err, want)
		}
	}
	if _, err := template.Text(nil).Execute("none", nil); err == nil || !strings.Contains(err.Error(), "no template") {
		t.Errorf("no template: %v", err)
	}
	if _, err := template.Text(nil).Parse("t", "{{.}}").Execute("t", htmltemplate.HTML("<b>")); err == nil {
		t.Error("markup in a text: no error")
	}
	for _, text := range []string{"{{", "{{unknown .}}", "{{if}}"} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%s: no panic", text)
				}
			}()
			template.Text(nil).Parse("t", text)
		}()
	}
}
