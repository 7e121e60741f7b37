package main

import (
	"strings"

	"dpnbench/internal/quote"
)

// gapOfTable are the columns of a terminal between those of a table.
const gapOfTable = 2

// tones are the words of a table, by the title of their column, that are good or bad.
var tones = map[string]map[string]tone{
	"bits equal":  {"yes": good, "NO": bad},
	"hash":        {"as": good, "NOT": bad},
	"law follows": {"yes": good},
	"verdict":     {"slower": bad, "faster": good},
	"note":        {"!": doubtful},
}

// table is rows of cells that are printed in aligned columns. The first row is the header.
type table struct {
	rows   [][]string
	keys   int  // first columns, which name the row
	colour bool // paint what is good or bad
}

// text lays the table out for so many columns of a terminal; 0: any. Of one that is wider, columns move below the
// others, beside the names of the rows; if that is too wide as well, each row becomes a list.
func (t table) text(columns int) string {
	var b strings.Builder
	widths := t.widths()
	var names []int
	used := 0
	for c := range min(t.keys, len(widths)) {
		names = append(names, c)
		used += gapOfTable + widths[c]
	}
	part, at := names, used
	for c := len(names); c < len(widths); {
		group, w := []int{}, 0
		for begun := c; c == begun || c < len(widths) && c < len(t.rows[0]) && t.rows[0][c] == ""; c++ {
			group = append(group, c) // a column without a title belongs to the one before
			w += gapOfTable + widths[c]
		}
		if columns > 0 && used+w > columns {
			return t.list(columns)
		}
		if columns > 0 && at+w > columns {
			t.write(&b, part, widths)
			b.WriteString("\n")
			part, at = names, used
		}
		part = append(part[:len(part):len(part)], group...)
		at += w
	}
	t.write(&b, part, widths)
	return b.String()
}

// widths returns that of each column.
func (t table) widths() []int {
	var widths []int
	for _, r := range t.rows {
		for c, cell := range r {
			if c == len(widths) {
				widths = append(widths, 0)
			}
			widths[c] = max(widths[c], columnsOf(quote.Text(cell)))
		}
	}
	return widths
}

// write writes some columns, aligned to the right.
func (t table) write(b *strings.Builder, columns, widths []int) {
	for r, row := range t.rows {
		for _, c := range columns {
			if c >= len(row) {
				break
			}
			cell := quote.Text(row[c])
			b.WriteString(strings.Repeat(" ", gapOfTable+widths[c]-columnsOf(cell)) + t.tone(r, c).paint(cell))
		}
		b.WriteString("\n")
	}
}

// list writes each row as lines of a title and a cell.
func (t table) list(columns int) string {
	var b strings.Builder
	for r, row := range t.rows[1:] {
		for c, cell := range row {
			title := ""
			if c < len(t.rows[0]) {
				title = quote.Text(t.rows[0][c])
			}
			line := strings.TrimSpace(title + "  " + quote.Text(cell))
			if c >= t.keys {
				line = "  " + line
			}
			b.WriteString(t.tone(r+1, c).paint(folded(line, columns)) + "\n")
		}
	}
	return b.String()
}

// tone returns the colour of a cell.
func (t table) tone(row, column int) tone {
	if !t.colour || row == 0 || column >= len(t.rows[0]) || column >= len(t.rows[row]) {
		return plain
	}
	title, cell := t.rows[0][column], t.rows[row][column]
	if title == "failed" && cell != "0" {
		return bad
	}
	word, _, _ := strings.Cut(cell, " ")
	return tones[title][word]
}
