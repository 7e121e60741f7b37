package array

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Table is the cells of a CSV or TSV file: columns of numbers, and at most one of texts. Others may be left out.
type Table struct {
	File    string
	Names   []string // of the columns, from the first line; nil if that is no header
	Column  int      // the one of texts; -1: none
	Columns int
	Rows    int
	Texts   []string // of each row

	options TableOptions
	skip    []bool // columns that are left out; nil: none
	comma   byte
	named   bool // comma is that of the file's name, not a guess
	head    int  // the line of the first line that is not empty
	blocks  []*block
}

// TableOptions are the settings of ReadTable.
type TableOptions struct {
	// Skip returns which columns are left out, whatever they hold, by the cells of the first line; nil: none.
	Skip func(first []string) ([]int, error)
	// Column returns, after Skip, which column is texts, or -1 for none.
	Column func(first []string) (int, error)
	// Header are texts, in lower case, one of which in a cell makes the first line a header, whatever the others hold;
	// but "y", which may be a class, only if no other cell has a fraction.
	Header []string
	// Guess, if set, says after Skip and Column that the texts may be no labels. Otherwise they must not be empty, and
	// in UTF-8.
	Guess func() bool
	// Named, if set, says after Skip and Column that the first line is a header, whatever it holds.
	Named func() bool
	// Unnamed, if set, is told that the first line is no header, before Skip and Column are called once more: its cells
	// are no names.
	Unnamed func()
	Hint    string  // what to do about a column that is not numbers, for errors; empty: nothing
	Other   string  // what to do if Column chose the wrong column, for errors; empty: nothing
	Finite  bool    // refuse numbers that are infinite or NaN
	Narrow  bool    // keep numbers as float32, for Floats
	Memory  float64 // bounds, in bytes, what is kept; 0: no limit
}

// ReadTable reads text of comma- or tab-separated cells, on all cores. It may be compressed by gzip. The first line is
// a header if o.Named says so, if a cell is one of o.Header, if one of another column than that of texts is no number
// and none has a fraction, or if the cells are 0, 1, 2 and so on.
// The file's name says which cells are separated by tabs; in a file of another name the separator is that of commas,
// tabs and semicolons which the first line has most of, outside quotes.
func ReadTable(file string, r io.Reader, o TableOptions) (*Table, error) {
	if o.Memory == 0 {
		o.Memory = math.Inf(1)
	}
	t := &Table{File: file, Column: -1, options: o}
	if err := t.read(r); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	for _, b := range t.blocks {
		t.Rows += b.rows
		t.Texts = append(t.Texts, b.texts...)
		b.texts = nil
	}
	if t.Rows == 0 {
		below := ""
		if t.Names != nil {
			below = " below the header"
		}
		return nil, fmt.Errorf("%s: expected lines of numbers%s", file, below)
	}
	return t, t.checkHeader()
}

// checkHeader refuses a first line that is a header only because of a class that has a usual name of labels: it is a
// sample.
func (t *Table) checkHeader() error {
	if t.Names == nil || t.Column < 0 || t.options.Named != nil && t.options.Named() || counted(t.Names) {
		return nil
	}
	name := t.Names[t.Column]
	for i, c := range t.Names {
		if _, err := strconv.ParseFloat(c, 64); i != t.Column && c != "" && err != nil {
			return nil
		}
	}
	if !slices.Contains(t.Texts, name) {
		return nil
	}
	return fmt.Errorf("%s: line %d: %.40q is a class and a usual name of the labels: expected a header above it",
		t.File, t.head, name)
}

// FindColumn returns the column of a number from 1 or of a name; -1 if that is empty. A number comes first, because
// the cells of a first line that is no header may hold it, too; named says that it is one, so that they are names.
// Where they are 0, 1, 2 and so on, a number that is another one's name is refused.
func FindColumn(column string, first []string, named bool) (int, error) {
	if column == "" {
		return -1, nil
	}
	if n, err := strconv.Atoi(column); err == nil && n >= 1 && n <= len(first) {
		if named && counted(first) && first[n-1] != column && slices.Contains(first, column) {
			return 0, fmt.Errorf("column %s may be number %[1]s or the one called %[1]q, for the first line counts "+
				"from 0: expected other names there, or none (header=False in pandas)", column)
		}
		return n - 1, nil
	}
	names := ""
	if named {
		if at := slices.Index(first, column); at >= 0 {
			return at, nil
		}
		names = cellsOf(first) + " or "
	}
	return 0, fmt.Errorf("no column %.60q: expected %s1 to %d", column, names, len(first))
}

// cellsOf lists the cells of a line, at most 10 of them.
func cellsOf(cells []string) string {
	const most = 10
	text := ""
	for _, c := range cells[:min(len(cells), most)] {
		text += fmt.Sprintf("%.30q, ", c)
	}
	if len(cells) > most {
		return text + "..."
	}
	return strings.TrimSuffix(text, ", ")
}

// begin sets the columns from the first line, and reports whether it is a header.
func (t *Table) begin(cells []string) (header bool, err error) {
	t.Columns = len(cells)
	if err = t.choose(cells); err != nil {
		t.skip, t.Column = nil, len(cells)-1 // as most tables, to tell whether there are names to list
	}
	if header = t.isHeader(cells); !header && t.options.Unnamed != nil {
		t.options.Unnamed()
		err = t.choose(cells)
	}
	if err != nil || !header {
		return false, err
	}
	seen := map[string]int{}
	for i, c := range cells {
		if first, ok := seen[c]; ok && c != "" {
			return false, fmt.Errorf("line %d: columns %d and %d are both called %.60q", t.head, first+1, i+1, c)
		}
		seen[c] = i
	}
	t.Names = cells
	return true, nil
}

// choose sets which columns are left out, and that of texts.
func (t *Table) choose(cells []string) (err error) {
	t.skip, t.Column = nil, -1
	if t.options.Skip != nil {
		list, err := t.options.Skip(cells)
		if err != nil {
			return err
		}
		for _, i := range list {
			if t.skip == nil {
				t.skip = make([]bool, len(cells))
			}
			t.skip[i] = true
		}
	}
	if t.options.Column == nil {
		return nil
	}
	if t.Column, err = t.options.Column(cells); err == nil && t.Column >= 0 && t.skips(t.Column) {
		err = fmt.Errorf("column %d (%.60q) is left out, and the one of texts", t.Column+1, cells[t.Column])
	}
	return err
}

// yes is a usual name of labels, but also a class, the other of n. With numbers that have fractions it makes no header.
const yes = "y"

// isHeader says whether the first line is a header.
func (t *Table) isHeader(cells []string) bool {
	if t.options.Named != nil && t.options.Named() || counted(cells) {
		return true
	}
	text, fraction := false, false
	for i, c := range cells {
		v, err := strconv.ParseFloat(c, 64)
		switch {
		case c == "":
		case strings.EqualFold(c, yes) && slices.Contains(t.options.Header, yes):
			text = true
		case err != nil && slices.Contains(t.options.Header, strings.ToLower(c)):
			return true // also of columns called 1100.5, 1102.5, ...
		case i == t.Column || t.skips(i):
		case err != nil:
			text = true
		case v != math.Trunc(v):
			fraction = true
		}
	}
	return text && !fraction
}

// counted says whether the cells are 0, 1, 2 and so on: what pandas calls columns without names, perhaps behind the
// empty cell above its row numbers. Two cells may well be a sample.
func counted(cells []string) bool {
	if cells[0] == "" {
		cells = cells[1:]
	}
	for i, c := range cells {
		if c != strconv.Itoa(i) {
			return false
		}
	}
	return len(cells) >= 3
}

// skips says whether a column is left out.
func (t *Table) skips(column int) bool { return t.skip != nil && t.skip[column] }

// width returns the number of numbers in a row.
func (t *Table) width() int {
	n := 0
	for i := range t.Columns {
		if i != t.Column && !t.skips(i) {
			n++
		}
	}
	return n
}

// NumberNames returns the names of the columns of numbers; nil without a header.
func (t *Table) NumberNames() []string {
	var names []string
	for i, name := range t.Names {
		if i != t.Column && !t.skips(i) {
			names = append(names, name)
		}
	}
	return names
}

// Line returns the number, from 1, of the line that holds a row, or begins it.
func (t *Table) Line(row int) int {
	at := 0
	for ; row >= t.blocks[at].rows; at++ {
		row -= t.blocks[at].rows
	}
	add := t.blocks[at].line
	for _, s := range t.blocks[at].shifts {
		if s.row <= row {
			add = s.add
		}
	}
	return row + add
}

// Floats returns the numbers, row after row, without other columns. It may be called once.
func (t *Table) Floats() []float32 {
	all := make([]float32, 0, t.Rows*t.width())
	for _, b := range t.blocks {
		all = append(all, b.narrow...)
		b.narrow = nil
	}
	return all
}

// array returns the numbers, without those of the rows.
func (t *Table) array() (*Array, error) {
	all := make(floats, 0, t.Rows*t.width())
	for _, b := range t.blocks {
		all = append(all, b.numbers...)
		b.numbers = nil
	}
	a := &Array{File: t.File, DType: "<f8", element: littleEndian["f8"]}
	width, names := t.width(), t.NumberNames()
	if HasIndex(names, all) {
		a.Index, all = cmp.Or(names[0], "1"), DropFirst(all, width)
		width--
	}
	a.data = all
	return a, a.setShape([]int{t.Rows, width}, 8*int64(len(all)))
}

// floats are numbers in memory, read as the bytes of a file.
type floats []float64

func (f floats) ReadAt(b []byte, offset int64) (int, error) {
	n := 0
	for at := int(offset / 8); n+8 <= len(b) && at < len(f); at++ {
		binary.LittleEndian.PutUint64(b[n:], math.Float64bits(f[at]))
		n += 8
	}
	if n < len(b) {
		return n, io.EOF
	}
	return n, nil
}
