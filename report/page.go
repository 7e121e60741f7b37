package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"os"
	"path/filepath"
	"unicode/utf8"

	"dpnbench/internal/atomicfile"
	"dpnbench/internal/format"
	"dpnbench/plot"
)

//go:embed page.css
var pageCSS string

//go:embed page.html.tmpl
var pageText string

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"style":      PageStyle,
	"walkStyle":  func() template.CSS { return template.CSS(walkCSS) },
	"walkScript": func() template.JS { return template.JS(walkJS) },
}).Parse(pageText))

// PageStyle returns the style of all pages: that of [Page] and of the pages of benchmarks.
func PageStyle() template.CSS { return template.CSS(pageCSS) }

// Page is an HTML page that needs no other file and no network, for screens from that of
// a phone up and for print. All strings are plain text.
type Page struct {
	Kind     string // what the page is, above the title
	Title    string
	Warnings []string // why not to trust the page
	Summary  []string // what was found, in plain words: a sentence or two each
	Facts    []Fact   // how it was found: data, model, settings, machine
	Sections []Section
}

// Fact is a name and what it stands for.
type Fact struct{ Name, Text string }

// Section is a heading with blocks: [Text], [List], [Table], [Figures] and [Walk].
type Section struct {
	Title  string
	Blocks []Block
}

// Block is a part of a section.
type Block interface {
	view(b *builder) (blockView, error)
}

// Text is a paragraph.
type Text string

// List is a list of sentences.
type List []string

// Table is a table; on a narrow screen it scrolls in a box of its own.
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

// Row is a row of a table: a cell for each column, of which the first names the row.
type Row struct {
	Cells []string
	// Verdict stands in a column of its own, the second one, which a table has if one of
	// its rows has a verdict, in its own words unless Said has others.
	Verdict Verdict
	Said    string
	// Note is a second, small line in the first cell.
	Note string
}

// Verdict is what became of a claim, in words and a colour.
type Verdict string

// The verdicts.
const (
	Unjudged Verdict = ""
	Holds    Verdict = "holds"
	Partly   Verdict = "holds in part"
	Fails    Verdict = "does not hold"
)

// Figures are figures side by side, where the screen is wide enough.
type Figures []Shown

// Shown is a figure on a page.
type Shown struct {
	Figure  plot.Figure
	Caption string
	Alt     string // what to see, read out after the title of the figure
	Wide    bool   // across the page; on a narrow screen it scrolls in a box of its own
}

// Limits of a page: more is a mistake, and no browser would show it.
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

// Save writes the page to the file path, whole or not at all, creating the folder if there
// is none.
func (p Page) Save(path string) error {
	b, err := p.html()
	if err != nil {
		return fmt.Errorf("report: page %s: %w", path, err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o777); err != nil {
		return fmt.Errorf("report: page %s: %w", path, err)
	}
	if err := atomicfile.Write(path, func(w io.Writer) error { _, err := w.Write(b); return err }); err != nil {
		return fmt.Errorf("report: page %s: %w", path, err)
	}
	return nil
}

func (p Page) html() ([]byte, error) {
	v := pageView{Page: p}
	var b builder
	for i, s := range p.Sections {
		section := sectionView{ID: fmt.Sprintf("section-%d", i+1), Title: s.Title}
		for j, block := range s.Blocks {
			if block == nil {
				return nil, fmt.Errorf("section %q: block %d is nil", s.Title, j)
			}
			view, err := block.view(&b)
			if err != nil {
				return nil, fmt.Errorf("section %q: %w", s.Title, err)
			}
			section.Blocks = append(section.Blocks, view)
		}
		v.Sections = append(v.Sections, section)
	}
	v.Walks = b.walks
	var out bytes.Buffer
	if err := pageTemplate.Execute(&out, v); err != nil {
		return nil, err
	}
	return bytes.ToValidUTF8(out.Bytes(), []byte("\ufffd")), nil
}

// builder counts what a page has, for numbers and ids.
type builder struct{ tables, figures, walks int }

// pageView is what the template shows.
type pageView struct {
	Page
	Sections []sectionView
	Walks    int
}

type sectionView struct {
	ID, Title string
	Blocks    []blockView
}

// blockView is one of its fields.
type blockView struct {
	Text    string
	List    []string
	Table   *tableView
	Figures []figureView
	Walk    *walkView
}

type tableView struct {
	Table
	ID     string
	Judged bool
	Lines  []lineView
}

type lineView struct{ Cells []cellView }

type cellView struct {
	Text, Class string
	Note        string
	Head        bool
}

type figureView struct {
	Shown
	ID     string
	Number int
	SVG    template.HTML
}

func (t Text) view(*builder) (blockView, error) { return blockView{Text: string(t)}, nil }

func (l List) view(*builder) (blockView, error) { return blockView{List: l}, nil }

// longCell is from how many letters on a cell is broken into lines.
const longCell = 32

func (t Table) view(b *builder) (blockView, error) {
	b.tables++
	v := tableView{Table: t, ID: fmt.Sprintf("table-%d", b.tables)}
	if len(t.Columns) == 0 {
		return blockView{}, fmt.Errorf("table %q has no columns", t.Caption)
	}
	if n := len(t.Columns) * len(t.Rows); n > mostTableCells {
		return blockView{}, fmt.Errorf("table %q has %s cells: want at most %s", t.Caption, format.Thousands(n), format.Thousands(mostTableCells))
	}
	for _, r := range t.Rows {
		v.Judged = v.Judged || r.Verdict != Unjudged || r.Said != ""
	}
	classes := map[Verdict]string{Holds: "verdict holds", Partly: "verdict partly", Fails: "verdict fails", Unjudged: ""}
	for i, r := range t.Rows {
		if len(r.Cells) != len(t.Columns) {
			return blockView{}, fmt.Errorf("table %q: row %d has %d cells for %d columns", t.Caption, i, len(r.Cells), len(t.Columns))
		}
		class, known := classes[r.Verdict]
		if !known {
			return blockView{}, fmt.Errorf("table %q: row %d has the verdict %q, which is none of ours", t.Caption, i, r.Verdict)
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
			case max(utf8.RuneCountInString(text), utf8.RuneCountInString(c.Note)) > longCell:
				c.Class = "text"
			}
			line.Cells = append(line.Cells, c)
			if v.Judged && j == 0 { // in sight on a phone
				line.Cells = append(line.Cells, cellView{Text: said, Class: class})
			}
		}
		v.Lines = append(v.Lines, line)
	}
	return blockView{Table: &v}, nil
}

func (f Figures) view(b *builder) (blockView, error) {
	var v blockView
	for _, s := range f {
		if b.figures++; b.figures > mostFigures {
			return v, fmt.Errorf("more than %d figures", mostFigures)
		}
		if s.Figure == nil {
			return v, fmt.Errorf("figure %d is nil", b.figures)
		}
		svg, err := plot.Inline(s.Figure, s.Alt, s.Wide)
		if err != nil {
			return v, err
		}
		v.Figures = append(v.Figures, figureView{
			Shown: s, ID: fmt.Sprintf("figure-%d", b.figures), Number: b.figures,
			SVG: template.HTML(svg), // escaped where it was drawn
		})
	}
	return v, nil
}
