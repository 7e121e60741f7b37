package report

import (
	"html"
	htmltemplate "html/template"
	"regexp"
	"strings"
)

var (
	indexed    = regexp.MustCompile(`\bx_(n|\d+)\b`)
	transposed = regexp.MustCompile(`\bA\^T\b`)
	negative   = regexp.MustCompile(`(^|[ (])-(\d)`)
	times      = regexp.MustCompile(`(\d) x (\d)`)
	ratio      = regexp.MustCompile(`([a-z])/([a-z])`)
	interval   = regexp.MustCompile(`^[-−\d.,%]+ to [-−\d.,%]+$`)
)

// formulas is a text as HTML, with its indices below and above the line and its signs as in print.
func formulas(text string) htmltemplate.HTML {
	out := indexed.ReplaceAllString(html.EscapeString(text), "x<sub>$1</sub>")
	out = negative.ReplaceAllString(out, "$1−$2")
	out = times.ReplaceAllString(out, "$1 × $2")
	out = ratio.ReplaceAllString(out, "$1/<wbr>$2") // where a narrow column may end a line
	return htmltemplate.HTML(transposed.ReplaceAllString(out, "A<sup>T</sup>"))
}

// longFact is the number of letters from which a fact is twice as wide as others.
const longFact = 60

// Words is a text as HTML in which no line ends within a flag, as browsers end lines after a hyphen.
func Words(text string) htmltemplate.HTML {
	fields := strings.Fields(html.EscapeString(text))
	for i, f := range fields {
		if strings.HasPrefix(f, "-") {
			fields[i] = `<span class="word">` + f + "</span>"
		}
	}
	return htmltemplate.HTML(strings.Join(fields, " "))
}

// apart is the class of figures that would leave most of a row of three empty: a single one has its text beside
// it, two or four are two in a row.
func apart(figures []figureView) string {
	narrow := 0
	for _, f := range figures {
		if !f.Whole {
			narrow++
		}
	}
	switch narrow {
	case 1:
		return "one"
	case 2, 4:
		return "two"
	}
	return ""
}
