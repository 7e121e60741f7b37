package report

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"html"
	htmltemplate "html/template"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/internal/quote"
	"dpnbench/internal/template"
	"dpnbench/plot"
)

//go:embed page.css
var pageCSS string

//go:embed page.html.tmpl
var pageText string

// pageStyle is the style of all pages: the figures follow the colours of the page, but not in print.
var pageStyle = htmltemplate.CSS(pageCSS + "@media screen and (prefers-color-scheme: dark) {\n" +
	plot.DarkStyle("figure svg") + "}\n")

var pageFuncs = template.Funcs{
	"style":      func() htmltemplate.CSS { return pageStyle },
	"walkStyle":  func() htmltemplate.CSS { return htmltemplate.CSS(walkCSS) },
	"walkScript": func() htmltemplate.JS { return htmltemplate.JS(walkJS) },
	"formulas":   formulas,
	"words":      Words,
	"long":       func(text string) bool { return utf8.RuneCountInString(text) > longFact },
	"apart":      apart,
}

var pageTemplate = template.HTML(pageFuncs).Parse("page", pageText)

// Page is an HTML page that needs no other file and no network, for screens of any width and
// for print. All strings are plain text.
type Page struct {
	Kind     string // kind of page, shown above the title
	Title    string
	Warnings []string // reasons for caution
	Summary  []string // what was found: a sentence or two each
	First    Figures  // beside the summary, on the first screen; one at best
	Facts    []Fact   // data, model, settings, machine
	Sections []Section

	Style  htmltemplate.CSS // beyond the style of all pages
	Script htmltemplate.JS  // run once, at the end of the page
}

// Fact is a name and its value.
type Fact struct{ Name, Text string }

// Section is a heading with blocks: [Text], [List], [Table], [Figures], [Walk] and [Markup].
type Section struct {
	ID     string // address within the page: letters, digits and hyphens; empty: its number
	Title  string
	Blocks []Block
}

// Block is a part of a section.
type Block interface {
	view(b *builder) (blockView, error)
}

// Fold returns blocks that the reader opens by a click on a summary.
func Fold(summary string, blocks ...Block) []Block {
	start := "<details class=\"fold\"><summary>" + html.EscapeString(format.Printable(summary)) + "</summary>"
	return slices.Concat([]Block{Markup(start)}, blocks, []Block{Markup("</details>")})
}

// Beside returns two groups of blocks, side by side if the screen is wide enough.
func Beside(left, right []Block) []Block {
	return slices.Concat([]Block{Markup(`<div class="beside"><div>`)}, left, []Block{Markup("</div><div>")}, right,
		[]Block{Markup("</div></div>")})
}

// Text is a paragraph.
type Text string

// List is a list of sentences.
type List []string

// Markup is HTML that the caller has escaped.
type Markup htmltemplate.HTML

// Table is a table, which scrolls in its own box on a narrow screen. One without rows is left out.
type Table struct {
	Caption string
	Columns []Column
	Rows    []Row
}

// Column is the head of a column.
type Column struct {
	Name   string
	Number bool // aligned to the right
}

// Row is a row of a table: a cell for each column. The first cell names the row.
type Row struct {
	Cells []string
	// Verdict is shown in a second column, which a table has if any of its rows has a verdict.
	// Said replaces its words.
	Verdict Verdict
	Said    string
	// Note is a small second line in the first cell.
	Note string
}

// Verdict is the result of testing a claim, shown in words and a colour.
type Verdict string

// The verdicts.
const (
	Unjudged Verdict = ""
	Holds    Verdict = "holds"
	Partly   Verdict = "holds in part"
	Fails    Verdict = "does not hold"
)

// Figures are figures, side by side if the screen is wide enough.
type Figures []Shown

// Shown is a figure on a page.
type Shown struct {
	Figure  plot.Figure
	Title   string // on the page; empty: that of the figure
	Caption string
	Alt     string // text alternative, read out after the title of the figure
	Wide    bool   // as wide as the page; it scrolls in its own box on a narrow screen
}

// Limits of a page: more is a mistake, which no browser would show.
const (
	mostTableCells = 100_000
	mostFigures    = 300
)

// Write writes the page. The same page gives the same bytes.
func (p Page) Write(w io.Writer) error {
	b, err := p.html()
	if err != nil {
		return fmt.Errorf("report: page %q: %w", p.Title, err)
	}
	_, err = w.Write(b)
	return err
}

// Save writes the page to a file, whole or not at all, and creates the folder if needed.
func (p Page) Save(path string) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("report: page %s: %w", path, err)
	}
	return output.Write(path, p.Write)
}

func (p Page) html() ([]byte, error) {
	v, err := p.view()
	if err != nil {
		return nil, err
	}
	out, err := pageTemplate.Execute("page", v)
	if err != nil {
		return nil, err
	}
	return []byte(quote.Lines(unbroken(strings.ToValidUTF8(out, "\ufffd")))), nil
}

var product = regexp.MustCompile(`(\d) × (\d)`)

// unbroken keeps the end of a line out of formulas.
func unbroken(text string) string {
	text = strings.ReplaceAll(text, "N → ∞", "N\u00a0→\u00a0∞")
	return product.ReplaceAllString(text, "$1\u00a0×\u00a0$2")
}

var sectionID = regexp.MustCompile(`^[A-Za-z0-9-]*$`)

// view returns what the template shows.
func (p Page) view() (pageView, error) {
	v := pageView{Page: p}
	var b builder
	if len(p.First) > 0 {
		first, err := p.First.view(&b)
		if err != nil {
			return v, err
		}
		if plot.HasPanels(p.First[0].Figure) {
			return v, errors.New("the figure beside the summary has panels, which have no room there")
		}
		v.First = first.Markup
	}
	for i, s := range p.Sections {
		if !sectionID.MatchString(s.ID) {
			return v, fmt.Errorf("section %q: ID %q, want letters, digits and hyphens", s.Title, s.ID)
		}
		section := sectionView{ID: cmp.Or(s.ID, fmt.Sprintf("section-%d", i+1)), Title: s.Title}
		for j, block := range s.Blocks {
			if block == nil {
				return v, fmt.Errorf("section %q: block %d is nil", s.Title, j)
			}
			view, err := block.view(&b)
			if err != nil {
				return v, fmt.Errorf("section %q: %w", s.Title, err)
			}
			section.Blocks = append(section.Blocks, view)
		}
		v.Sections = append(v.Sections, section)
	}
	v.Walks = b.walks
	return v, nil
}

// builder counts the blocks of a page, for numbers and ids.
type builder struct{ tables, figures, walks int }

// pageView is what the template shows.
type pageView struct {
	Page
	First    htmltemplate.HTML
	Sections []sectionView
	Walks    int
}

type sectionView struct {
	ID, Title string
	Blocks    []blockView
}

// blockView is a block: one of the fields is set.
type blockView struct {
	Text   string
	List   []string
	Markup htmltemplate.HTML
	Table  *tableView
	Walk   *walkView
}

type tableView struct {
	Table
	ID      string
	Judged  bool
	Stacked bool // on a phone, where long texts have no room beside each other
	Lines   []lineView
}

type lineView struct{ Cells []cellView }

type cellView struct {
	Text, Class string
	Label       string // of a stacked table: the column
	Note        string
	Head        bool
}

type figureView struct {
	Shown
	ID      string
	Number  int
	Title   string
	Note    string
	Legend  htmltemplate.HTML
	Images  []htmltemplate.HTML
	Panels  bool
	Whole   bool // as wide as the page
	Caption string
}

func (t Text) view(*builder) (blockView, error) { return blockView{Text: string(t)}, nil }

func (m Markup) view(*builder) (blockView, error) {
	return blockView{Markup: htmltemplate.HTML(m)}, nil
}

func (l List) view(*builder) (blockView, error) { return blockView{List: l}, nil }

// longCell is the number of letters from which a cell wraps.
const longCell = 32

func (t Table) view(b *builder) (blockView, error) {
	if len(t.Columns) == 0 {
		return blockView{}, fmt.Errorf("table %q has no columns", t.Caption)
	}
	if len(t.Rows) == 0 {
		return blockView{}, nil
	}
	b.tables++
	v := tableView{Table: t, ID: fmt.Sprintf("table-%d", b.tables)}
	if n := len(t.Columns) * len(t.Rows); n > mostTableCells {
		return blockView{}, fmt.Errorf("table %q has %s cells: want at most %s",
			t.Caption, format.Thousands(n), format.Thousands(mostTableCells))
	}
	for _, r := range t.Rows {
		v.Judged = v.Judged || r.Verdict != Unjudged || r.Said != ""
	}
	classes := map[Verdict]string{Holds: "verdict holds", Partly: "verdict partly", Fails: "verdict fails",
		Unjudged: ""}
	for i, r := range t.Rows {
		if len(r.Cells) != len(t.Columns) {
			return blockView{}, fmt.Errorf("table %q: row %d has %d cells for %d columns",
				t.Caption, i, len(r.Cells), len(t.Columns))
		}
		class, known := classes[r.Verdict]
		if !known {
			return blockView{}, fmt.Errorf("table %q: row %d has the verdict %q, expected Holds, Partly, Fails or none",
				t.Caption, i, r.Verdict)
		}
		said := r.Said
		if said == "" {
			said = string(r.Verdict)
		}
		var line lineView
		for j, text := range r.Cells {
			c := cellView{Text: text, Head: j == 0}
			if c.Head {
				c.Note = r.Note
			}
			switch {
			case t.Columns[j].Number:
				c.Class = "n"
				if interval.MatchString(text) {
					c.Class = "n word"
				}
			case max(utf8.RuneCountInString(text), utf8.RuneCountInString(c.Note)) > longCell:
				c.Class = "text"
				v.Stacked = true
			}
			line.Cells = append(line.Cells, c)
			if v.Judged && j == 0 { // visible on a phone without scrolling
				line.Cells = append(line.Cells, cellView{Text: said, Class: class})
			}
		}
		v.Lines = append(v.Lines, line)
	}
	v.label()
	return blockView{Table: &v}, nil
}

func (f Figures) view(b *builder) (blockView, error) {
	var views []figureView
	for _, s := range f {
		if b.figures++; b.figures > mostFigures {
			return blockView{}, fmt.Errorf("more than %d figures", mostFigures)
		}
		if s.Figure == nil {
			return blockView{}, fmt.Errorf("figure %d is nil", b.figures)
		}
		e, err := plot.Embed(s.Figure, s.Alt, s.Wide)
		if err != nil {
			return blockView{}, err
		}
		view := figureView{Shown: s, ID: fmt.Sprintf("figure-%d", b.figures), Number: b.figures,
			Title: format.Printable(cmp.Or(s.Title, e.Title)), Note: format.Printable(e.Note),
			Caption: strings.TrimSpace(s.Caption), Panels: len(e.SVG) > 1, Whole: s.Wide || len(e.SVG) > 1,
			Legend: htmltemplate.HTML(e.Legend)} // escaped where it was drawn, as the images are
		for _, svg := range e.SVG {
			view.Images = append(view.Images, htmltemplate.HTML(svg))
		}
		views = append(views, view)
	}
	out, err := pageTemplate.Execute("figures", views)
	return blockView{Markup: htmltemplate.HTML(out)}, err
}

// label names the column in each cell of a stacked table.
func (t *tableView) label() {
	if !t.Stacked {
		return
	}
	for _, line := range t.Lines {
		column := 0
		for i := range line.Cells {
			if t.Judged && i == 1 {
				line.Cells[i].Label = "verdict"
				continue
			}
			line.Cells[i].Label = t.Columns[column].Name
			column++
		}
	}
}
