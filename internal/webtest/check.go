// Package webtest checks pages in tests: their markup, and their layout in a browser.
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
	inline   = regexp.MustCompile(`\s(src|href)="data:image/png;base64,[A-Za-z0-9+/=&#;]*"`)
	external = regexp.MustCompile(`(?i)(\s(src|srcset|href|data|action|poster)\s*=\s*"[^#"]|url\(|@import|//[a-z])`)
	link     = regexp.MustCompile(`href="#([^"]*)"`)
	image    = regexp.MustCompile(`<img [^>]*>`)
	header   = regexp.MustCompile(`<th[ >][^>]*`)
)

// Check checks the rules for every page: balanced elements, unique ids, links only to ids of the
// page, a name for every image, a scope for every header of a table, nothing loaded from elsewhere,
// and no traces of failed formatting.
func Check(t *testing.T, page string) {
	t.Helper()
	markup := script.ReplaceAllString(style.ReplaceAllString(page, ""), "")
	checkBalance(t, markup)
	checkNames(t, page, markup)
	checkLinks(t, page, markup)
	own := strings.ReplaceAll(comment.ReplaceAllString(inline.ReplaceAllString(page, ""), ""),
		` xmlns="http://www.w3.org/2000/svg"`, "")
	if at := external.FindStringIndex(own); at != nil {
		t.Errorf("loads something from elsewhere: %q", own[max(0, at[0]-40):min(len(own), at[1]+40)])
	}
	for _, bad := range []string{"ZgotmplZ", "NaN", "Inf", "%!", "<no value>"} {
		if strings.Contains(strings.ReplaceAll(own, "parseFloat", ""), bad) {
			t.Errorf("the page contains %q", bad)
		}
	}
}

// checkBalance checks that every element is closed in order.
func checkBalance(t *testing.T, markup string) {
	t.Helper()
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
}

// checkNames checks that images have a text and headers a scope.
func checkNames(t *testing.T, page, markup string) {
	t.Helper()
	for _, svg := range SVG.FindAllString(page, -1) {
		if err := xml.Unmarshal([]byte(svg), new(struct{})); err != nil {
			t.Errorf("an SVG is not well-formed: %v", err)
		}
		titled := strings.Count(svg, "<title>") == 1 && !strings.Contains(svg, "<title></title>")
		if !strings.Contains(svg, `role="img"`) || !titled && !strings.Contains(svg, `aria-label="`) {
			t.Errorf("an SVG without a name: %.200s", svg)
		}
	}
	for _, img := range image.FindAllString(markup, -1) {
		if !strings.Contains(img, ` alt="`) || strings.Contains(img, ` alt=""`) {
			t.Errorf("an image without a text: %.200s", img)
		}
	}
	for _, th := range header.FindAllString(markup, -1) {
		if !strings.Contains(th, ` scope="`) {
			t.Errorf("a header without a scope: %s", th)
		}
	}
}

// checkLinks checks that ids are unique and that links lead to one of them.
func checkLinks(t *testing.T, page, markup string) {
	t.Helper()
	seen := map[string]bool{}
	for _, m := range id.FindAllStringSubmatch(page, -1) {
		if seen[m[1]] {
			t.Errorf("id %q twice", m[1])
		}
		seen[m[1]] = true
	}
	for _, m := range link.FindAllStringSubmatch(markup, -1) {
		if !seen[m[1]] {
			t.Errorf("a link to #%s, which is not there", m[1])
		}
	}
}
