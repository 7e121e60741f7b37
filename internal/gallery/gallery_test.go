// Package gallery holds docs/gallery.md to what the program draws: see the target gallery of the Makefile.
package gallery

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"dpnbench/internal/webtest"
	"dpnbench/plot"
)

var program = flag.String("program", "", "`FILE` of dpnbench (absolute): draw the page anew")

const (
	pageFile = "../../docs/gallery.md"
	figures  = "../../docs/gallery"
)

// figure is a figure of the page.
type figure struct {
	from    string // its file in the folder of the model: a page of results, or SVG
	title   string // how its description begins
	element string // what is shown of the page, in JavaScript
	prepare string // what is done before
}

// shown are the figures by the beginning of the names of their files.
var shown = map[string]figure{
	"walk": {from: "analysis/report.html", element: "walk", prepare: `(() => {
		const set = (part, value, event) => {
			const e = document.querySelector('.walk [data-part=' + part + ']');
			e.value = value;
			e.dispatchEvent(new Event(event, {bubbles: true}));
		};
		const options = [...document.querySelectorAll('.walk option')];
		set('item', options.find(o => o.text.includes('label 8')).value, 'change');
		set('step', 2, 'input');
	})()`},
	"strips":    inPage("analysis", "Images along the ascent"),
	"pca":       inPage("analysis", "Principal components"),
	"steps":     inPage("analysis", "Separation fuzziness over ascent steps"),
	"centres":   inPage("analysis", "Centres"),
	"variance":  inPage("analysis", "Variance of each pixel"),
	"histogram": inPage("uncertainty", "Score “scaled”, test images against rotated"),
	"examples":  inPage("uncertainty", "Examples of each kind"),
	"denoise":   {from: "denoised/gaussian-0.5.svg", element: "title.closest('svg')"},
	"sample":    {from: "samples/samples.svg", element: "title.closest('svg')"},
}

// inPage is a figure with its caption.
func inPage(folder, title string) figure {
	return figure{from: folder + "/report.html", title: title, element: "title.closest('figure')"}
}

var (
	training = regexp.MustCompile(`(?m)^    \./dpnbench (train .*)$`)
	section  = regexp.MustCompile(`(?m)^## .+\n\n    \./dpnbench (.+)\n\n` +
		`<picture><source media="\(prefers-color-scheme: dark\)" srcset="gallery/(\w+)-dark\.png">\n` +
		`<img src="gallery/(\w+)-light\.png"\nalt="([^"]*)"></picture>\n`)
	model = regexp.MustCompile(`--model (\S+)/model\.safetensors`)
)

// entry is a section of the page.
type entry struct {
	command string
	name    string // of the figure
	alt     []int  // where the page describes it
}

// read returns the page, the commands that train its networks, and its sections.
func read(t *testing.T) (page string, trainings []string, sections []entry) {
	t.Helper()
	b, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	page = string(b)
	for _, m := range training.FindAllStringSubmatch(page, -1) {
		trainings = append(trainings, m[1])
	}
	for _, m := range section.FindAllStringSubmatchIndex(page, -1) {
		e := entry{page[m[2]:m[3]], page[m[4]:m[5]], m[8:10]}
		if light := page[m[6]:m[7]]; light != e.name {
			t.Errorf("the light figure of %s is %s", e.name, light)
		}
		sections = append(sections, e)
	}
	if n := strings.Count(page, "\n## "); n != len(sections) || n != len(shown) {
		t.Fatalf("%d headings, %d sections of a command and a figure, %d figures known", n, len(sections), len(shown))
	}
	return page, trainings, sections
}

// TestPage checks that every section shows a figure that is known, by a command for a network of the page, and that
// there are no other files.
func TestPage(t *testing.T) {
	_, trainings, sections := read(t)
	var files []string
	for _, e := range sections {
		if _, ok := shown[e.name]; !ok {
			t.Errorf("nobody knows how to draw %s", e.name)
		}
		of := model.FindStringSubmatch(e.command)
		trained := func(s string) bool { return strings.HasSuffix(s, "--out "+of[1]) }
		if of == nil || !slices.ContainsFunc(trainings, trained) {
			t.Errorf("%q: expected a model of %q", e.command, trainings)
		}
		files = append(files, e.name+"-dark.png", e.name+"-light.png")
	}
	there, err := os.ReadDir(figures)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range there {
		names = append(names, f.Name())
	}
	if slices.Sort(files); !slices.Equal(names, files) {
		t.Errorf("docs/gallery has %q, the page shows %q", names, files)
	}
}

// TestGallery makes the figures and what the page says of each to those who do not see it.
func TestGallery(t *testing.T) {
	if *program == "" {
		t.Skip("takes minutes and changes the page: make gallery")
	}
	page, trainings, sections := read(t)
	dir := t.TempDir()
	ran := map[string]bool{}
	run := func(command string) {
		if !ran[command] {
			t.Log(command)
			c := exec.Command(*program, append(strings.Fields(command), "--quiet")...)
			c.Dir = dir
			if out, err := c.CombinedOutput(); err != nil {
				t.Fatalf("%s: %v: %s", command, err, out)
			}
			ran[command] = true
		}
	}
	for _, command := range trainings {
		run(command)
	}
	for _, e := range sections {
		run(e.command)
	}
	c := camera{t, webtest.Start(t)}
	for _, e := range slices.Backward(sections) {
		f := shown[e.name]
		file := filepath.Join(dir, model.FindStringSubmatch(e.command)[1], filepath.FromSlash(f.from))
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		alt := ""
		if filepath.Ext(file) == ".svg" {
			text = framed(text)
		}
		for _, scheme := range []string{"dark", "light"} {
			var b []byte
			b, alt = c.take(text, f, scheme)
			if err := os.WriteFile(filepath.Join(figures, e.name+"-"+scheme+".png"), b, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		page = page[:e.alt[0]] + filled(alt) + page[e.alt[1]:]
	}
	if err := os.WriteFile(pageFile, []byte(page), 0o666); err != nil {
		t.Fatal(err)
	}
}

// framed is a page that shows a figure in the colours of the reader.
func framed(svg []byte) []byte {
	svg = svg[max(0, bytes.Index(svg, []byte("<svg "))):]
	return fmt.Appendf(nil, "<!DOCTYPE html><html lang=\"en\"><title>Figure</title><style>\n"+
		":root{color-scheme:light dark}\nbody{margin:0}svg{display:block;width:640px;height:auto}\n"+
		"@media(prefers-color-scheme:dark){\n%s}\n</style>\n"+
		"<body>%s", plot.DarkStyle("svg"), svg)
}

// filled breaks the description of a figure into lines for the attribute alt.
func filled(text string) string {
	const columns = 106
	var b strings.Builder
	at := len(`alt="`)
	for i, w := range strings.Fields(strings.ReplaceAll(text, `"`, "'")) {
		if n := len([]rune(w)); at+1+n > columns {
			b.WriteByte('\n')
			at = n
		} else {
			if i > 0 {
				b.WriteByte(' ')
			}
			at += 1 + n
		}
		b.WriteString(w)
	}
	return b.String()
}
