// Package webtest checks pages in tests: their markup, and what a browser makes of them.
package webtest

import (
	"encoding/xml"
	"io"
	"regexp"
	"strings"
	"testing"
)

var (
	// SVG finds the figures of a page.
	SVG = regexp.MustCompile(`(?s)<svg .*?</svg>`)

	style    = regexp.MustCompile(`(?s)<style>.*?</style>`)
	script   = regexp.MustCompile(`(?s)<script[ >].*?</script>`)
	comment  = regexp.MustCompile(`(?m)^\s*//.*$`)
	id       = regexp.MustCompile(`\sid="([^"]*)"`)
	picture  = regexp.MustCompile(`\s(src|href)="data:image/png;base64,[A-Za-z0-9+/=&#;]*"`)
	external = regexp.MustCompile(`(?i)(\s(src|srcset|href|data|action|poster)\s*=\s*"[^#"]|url\(|@import|//[a-z])`)
	link     = regexp.MustCompile(`href="#([^"]*)"`)
	image    = regexp.MustCompile(`<img [^>]*>`)
	header   = regexp.MustCompile(`<th[ >][^>]*`)
)

// Check checks what holds for every page: balanced elements, ids that differ, links that
// lead somewhere, a name for every picture, a scope for every header of a table, and
// nothing from elsewhere.
func Check(t *testing.T, page string) {
	t.Helper()
	markup := script.ReplaceAllString(style.ReplaceAllString(page, ""), "")
	d := xml.NewDecoder(strings.NewReader(markup))
	d.Strict = false
	d.AutoClose = []string{"meta", "input", "img"}
	d.Entity = xml.HTMLEntity
	var open []string
	for {
		token, err := d.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the page is not well-formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			open = append(open, e.Name.Local)
		case xml.EndElement:
			if len(open) == 0 || open[len(open)-1] != e.Name.Local {
				t.Fatalf("</%s> within %v", e.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		t.Errorf("%v stay open", open)
	}
	for _, svg := range SVG.FindAllString(page, -1) {
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
			t.Errorf("an SVG is not well-formed: %v", err)
		}
		named := strings.Count(svg, "<title>") == 1 && !strings.Contains(svg, "<title></title>") || strings.Contains(svg, `aria-label="`)
		if !strings.Contains(svg, `role="img"`) || !named {
			t.Errorf("an SVG without a name: %.200s", svg)
		}
	}
	for _, img := range image.FindAllString(markup, -1) {
		if !strings.Contains(img, ` alt="`) || strings.Contains(img, ` alt=""`) {
			t.Errorf("a picture without a text: %.200s", img)
		}
	}
	for _, th := range header.FindAllString(markup, -1) {
		if !strings.Contains(th, ` scope="`) {
			t.Errorf("a header without a scope: %s", th)
		}
	}
	seen := map[string]bool{}
	for _, m := range id.FindAllStringSubmatch(page, -1) {
		if seen[m[1]] {
			t.Errorf("id %q twice", m[1])
		}
		seen[m[1]] = true
	}
	without := strings.ReplaceAll(comment.ReplaceAllString(picture.ReplaceAllString(page, ""), ""), ` xmlns="http://www.w3.org/2000/svg"`, "")
	if at := external.FindStringIndex(without); at != nil {
		t.Errorf("something from elsewhere: %q", without[max(0, at[0]-40):min(len(without), at[1]+40)])
	}
	for _, m := range link.FindAllStringSubmatch(markup, -1) {
		if !seen[m[1]] {
			t.Errorf("a link to #%s, which is not there", m[1])
		}
	}
	for _, bad := range []string{"ZgotmplZ", "NaN", "Inf", "%!", "<no value>"} {
		if strings.Contains(strings.ReplaceAll(without, "parseFloat", ""), bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
}
