package array

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"
)

const (
	firstBlock = 1 << 16 // bytes that are read first
	mostBlock  = 1 << 20 // bytes of a block of usual lines
	mostLine   = 1 << 26 // bytes of a line, without its end

	mostColumns = 1 << 20
	cellBytes   = 16 // of a cell of the first line, beside its text
)

// block is some lines of a table.
type block struct {
	text     []byte
	line     int // number of the first line, from 1
	numbers  []float64
	narrow   []float32 // instead of numbers, with Narrow
	texts    []string
	distinct int // bytes of texts that differ
	rows     int
	shifts   []shift
	err      error
}

// shift says that the rows of a block from one on are in the lines of their numbers and add, up to the next shift.
type shift struct{ row, add int }

// read reads all lines: blocks of whole lines one after the other, which goroutines parse.
func (t *Table) read(r io.Reader) error {
	r, err := unpacked(r)
	if err != nil {
		return err
	}
	s := &splitter{r: r, line: 1}
	first, err := s.next(true)
	if err != nil {
		return err
	}
	for err == nil && first != nil && len(bytes.TrimRight(first.text, "\r\n")) == 0 {
		first, err = s.next(true)
	}
	if err != nil || first == nil {
		return err
	}
	t.head = first.line
	header, err := t.first(first)
	if err != nil {
		return err
	}
	var work sync.WaitGroup
	jobs := make(chan *block)
	var mutex sync.Mutex
	failed, kept := false, 0.0
	for range runtime.GOMAXPROCS(0) {
		work.Go(func() {
			for b := range jobs {
				t.parse(b)
				b.text = nil
				mutex.Lock()
				kept += float64(8*len(b.numbers)+8*len(b.narrow)) + float64(16*(len(b.texts)+len(b.shifts))+b.distinct)
				if b.err == nil && kept > t.options.Memory {
					b.err = fmt.Errorf("line %d: more numbers than there is memory for: expected an NPY file", b.line)
				}
				failed = failed || b.err != nil
				mutex.Unlock()
			}
		})
	}
	b := first
	if header {
		b, err = s.next(false)
	}
	for err == nil && b != nil {
		t.blocks = append(t.blocks, b)
		jobs <- b
		mutex.Lock()
		stop := failed
		mutex.Unlock()
		if stop {
			break
		}
		b, err = s.next(false)
	}
	close(jobs)
	work.Wait()
	for _, b := range t.blocks {
		if b.err != nil {
			return b.err
		}
	}
	return err
}

// first sets the columns from the first line, and reports whether it is a header.
func (t *Table) first(b *block) (header bool, err error) {
	b.text = bytes.TrimPrefix(b.text, []byte("\ufeff"))
	if onlyCR(b.text) {
		return false, errOnlyCR
	}
	if name := strings.TrimSuffix(strings.ToLower(t.File), ".gz"); strings.HasSuffix(name, ".tsv") {
		t.comma, t.named = '\t', true
	} else {
		t.comma = guessSeparator(b.text)
	}
	var cells []string
	memory := 0.0
	for rest, more := b.text, true; more; {
		if len(cells) == mostColumns {
			return false, fmt.Errorf("line %d: more than %d cells, the most columns of a table%s", b.line, mostColumns,
				t.separator())
		}
		var c []byte
		c, rest, more, err = t.cell(rest)
		if err != nil && isText(b.text) {
			return false, fmt.Errorf("line %d, column %d: %w%s", b.line, len(cells)+1, err, t.separator())
		}
		if err != nil || !isText(c) {
			return false, fmt.Errorf("line %d, column %d: expected text in UTF-8", b.line, len(cells)+1)
		}
		if memory += float64(cellBytes + len(c)); memory > t.options.Memory {
			return false, fmt.Errorf("line %d: more cells than there is memory for", b.line)
		}
		cells = append(cells, string(c))
	}
	return t.begin(cells)
}

// errOnlyCR is of text whose lines end as on old Macs.
var errOnlyCR = errors.New("lines that end with CR alone, expected LF or CR LF")

// onlyCR says whether text has line ends, but only CR, outside of quotes.
func onlyCR(text []byte) bool {
	text = bytes.TrimRight(text, "\r") // the last line is one without its end
	if bytes.IndexByte(text, '\r') < 0 || bytes.IndexByte(text, '\n') >= 0 {
		return false
	}
	quoted := false
	for _, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\r' && !quoted:
			return true
		}
	}
	return false
}

// isText says whether b is text in UTF-8. That of UTF-16 has zeros.
func isText(b []byte) bool { return utf8.Valid(b) && bytes.IndexByte(b, 0) < 0 }

// separators are the names of what separates cells.
var separators = map[byte]string{',': "comma", ';': "semicolon", '\t': "tab"}

// guessSeparator returns the separator that a line has most of outside quotes, of equally many the first one.
func guessSeparator(line []byte) byte {
	var counts [utf8.RuneSelf]int
	quoted := false
	for _, c := range line {
		quoted = quoted != (c == '"')
		if !quoted && c < utf8.RuneSelf {
			counts[c]++
		}
	}
	most := byte(',')
	for _, c := range []byte("\t;") {
		if counts[c] > counts[most] {
			most = c
		}
	}
	return most
}

// separator says in brackets which separator of cells was taken, and why.
func (t *Table) separator() string {
	why := "guessed from the first line"
	if t.named {
		why = "by the name of the file"
	}
	return fmt.Sprintf(" (separator: %s, %s)", separators[t.comma], why)
}

// unpacked returns what r holds, without the compression of gzip.
func unpacked(r io.Reader) (io.Reader, error) {
	var head [2]byte
	n, err := io.ReadFull(r, head[:])
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, err
	}
	r = io.MultiReader(bytes.NewReader(head[:n]), r)
	if n == 2 && head == [2]byte{0x1f, 0x8b} {
		return gzip.NewReader(r)
	}
	return r, nil
}

// splitter cuts text into blocks of whole lines.
type splitter struct {
	r    io.Reader
	rest []byte // read, but not yet in a block
	line int
	end  bool
}

// next returns the next lines, or only one; nil at the end.
func (s *splitter) next(one bool) (*block, error) {
	size := firstBlock
	if s.line > 1 {
		size = mostBlock
	}
	for {
		if one {
			if at := lineEnd(s.rest); at > 0 {
				return s.cut(at), nil
			}
		} else if len(s.rest) >= size/2 || s.end {
			if at := lastLineEnd(s.rest); at > 0 {
				return s.cut(at), nil
			}
		}
		if len(s.rest) > mostLine {
			if s.line == 1 && onlyCR(s.rest) {
				return nil, errOnlyCR
			}
			return nil, fmt.Errorf("line %d: longer than %d MiB, or a quote without its end", s.line, mostLine>>20)
		}
		if s.end {
			if len(s.rest) == 0 {
				return nil, nil
			}
			return s.cut(len(s.rest)), nil
		}
		if err := s.fill(min(max(size, 2*len(s.rest)), mostLine+1)); err != nil {
			return nil, err
		}
	}
}

// fill reads until there are size bytes, or the text ends.
func (s *splitter) fill(size int) error {
	if cap(s.rest) < size {
		s.rest = append(make([]byte, 0, size), s.rest...)
	}
	for len(s.rest) < size {
		n, err := s.r.Read(s.rest[len(s.rest):size])
		s.rest = s.rest[:len(s.rest)+n]
		if errors.Is(err, io.EOF) {
			s.end = true
			return nil
		}
		if err != nil {
			return fmt.Errorf("line %d: %w", s.line+bytes.Count(s.rest, []byte{'\n'}), err)
		}
	}
	return nil
}

// cut returns the first n bytes as a block.
func (s *splitter) cut(n int) *block {
	b := &block{text: s.rest[:n:n], line: s.line}
	s.line += bytes.Count(b.text, []byte{'\n'})
	s.rest = s.rest[n:]
	return b
}

// lineEnd returns the length of the first line of text, with its end; 0: there is no end.
func lineEnd(text []byte) int {
	quoted := false
	for i, c := range text {
		switch {
		case c == '"':
			quoted = !quoted
		case c == '\n' && !quoted:
			return i + 1
		}
	}
	return 0
}

// lastLineEnd returns the length of the whole lines of text; 0: there is no whole line. A line does not end within
// quotes.
func lastLineEnd(text []byte) int {
	quotes := bytes.Count(text, []byte{'"'})
	if quotes == 0 {
		return bytes.LastIndexByte(text, '\n') + 1
	}
	for i := len(text) - 1; i >= 0; i-- {
		switch {
		case text[i] == '"':
			quotes--
		case text[i] == '\n' && quotes%2 == 0:
			return i + 1
		}
	}
	return 0
}

// parse sets what b's text holds.
func (t *Table) parse(b *block) {
	lines := bytes.Count(b.text, []byte{'\n'}) + 1
	// A cell takes two bytes, so that many columns before many empty lines take no memory.
	size := int(min(float64(lines)*float64(t.width()), float64(len(b.text)/2+1)))
	if t.options.Narrow {
		b.narrow = make([]float32, 0, size)
	} else {
		b.numbers = make([]float64, 0, size)
	}
	known := map[string]string{} // texts repeat
	text, line, add := b.text, b.line, b.line
	for len(text) > 0 {
		switch {
		case text[0] == '\n':
			text, line = text[1:], line+1
			continue
		case text[0] == '\r' && len(text) > 1 && text[1] == '\n':
			text, line = text[2:], line+1
			continue
		}
		if line-b.rows != add {
			add = line - b.rows
			b.shifts = append(b.shifts, shift{b.rows, add})
		}
		before := len(text)
		var err error
		if text, err = t.row(b, text, known); err != nil {
			b.err = fmt.Errorf("line %d%w", line, err)
			return
		}
		line += bytes.Count(b.text[len(b.text)-before:len(b.text)-len(text)], []byte{'\n'})
		b.rows++
	}
}

// row adds the cells of a line to b, and returns the text after it.
func (t *Table) row(b *block, text []byte, known map[string]string) (rest []byte, err error) {
	for column, more := 0, true; more; column++ {
		if column == t.Columns {
			return nil, fmt.Errorf(": more than %d cells, expected as many as in the first line%s", t.Columns,
				t.separator())
		}
		if t.skips(column) {
			if _, text, more, err = t.cell(text); err != nil {
				return nil, fmt.Errorf(", column %s: %w", t.column(column), err)
			}
		} else if v, n := simple(text, t.comma); n > 0 && column != t.Column {
			more = text[n-1] != '\n'
			text = text[n:]
			b.add(v, t.options.Narrow)
		} else if text, more, err = t.other(b, text, column, known); err != nil {
			return nil, fmt.Errorf(", column %s: %w", t.column(column), err)
		}
		if !more && column+1 < t.Columns {
			return nil, fmt.Errorf(": %d cells, expected %d as in the first line%s", column+1, t.Columns,
				t.separator())
		}
	}
	return text, nil
}

// other adds a cell that is not simple, and returns the text after it, and whether another cell follows.
func (t *Table) other(b *block, text []byte, column int, known map[string]string) (rest []byte, more bool, err error) {
	c, rest, more, err := t.cell(text)
	if err != nil {
		return nil, false, err
	}
	if column == t.Column {
		s, ok := known[string(c)]
		if !ok {
			s = string(c)
			known[s] = s
			b.distinct += len(s)
		}
		if problem := noLabel(s); problem != "" && (t.options.Guess == nil || !t.options.Guess()) {
			return nil, false, errors.New(problem)
		}
		b.texts = append(b.texts, s)
		return rest, more, nil
	}
	v, err := strconv.ParseFloat(string(c), 64)
	if err != nil {
		return nil, false, t.noNumber(string(c))
	}
	infinite := math.IsInf(v, 0) || math.IsNaN(v) || t.options.Narrow && math.Abs(v) > math.MaxFloat32
	if t.options.Finite && infinite {
		return nil, false, fmt.Errorf("%.60q: expected a finite number of float32", c)
	}
	b.add(v, t.options.Narrow)
	return rest, more, nil
}

// column names a column in errors.
func (t *Table) column(i int) string {
	if t.Names == nil || t.Names[i] == "" {
		return strconv.Itoa(i + 1)
	}
	return fmt.Sprintf("%d (%.60q)", i+1, t.Names[i])
}

// title is a column's name, or else its number.
func (t *Table) title(i int) string {
	if t.Names == nil || t.Names[i] == "" {
		return strconv.Itoa(i + 1)
	}
	return strconv.Quote(t.Names[i])
}

func (b *block) add(v float64, narrow bool) {
	if narrow {
		b.narrow = append(b.narrow, float32(v))
	} else {
		b.numbers = append(b.numbers, v)
	}
}

// powers are those of ten up to 15 digits.
var powers = [16]float64{1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15}

// simple returns the number of a cell of at most 15 digits, perhaps a sign before and a point between them, which is
// the quotient of two exact numbers, and the length of the cell with the separator or line end after it; 0: it is
// another cell.
func simple(text []byte, comma byte) (v float64, n int) {
	i, point, digits := 0, -1, uint64(0)
	if len(text) > 0 && text[0] == '-' {
		i = 1
	}
	first := i
	for ; i < len(text); i++ {
		c := text[i]
		if d := c - '0'; d <= 9 {
			digits = 10*digits + uint64(d)
			continue
		}
		if c != '.' || point >= 0 {
			break
		}
		point = i
	}
	if i == len(text) || text[i] != comma && text[i] != '\n' {
		return 0, 0
	}
	v = float64(digits)
	count := i - first
	if point >= 0 {
		count--
		v /= powers[min(i-1-point, 15)]
	}
	if count < 1 || count > 15 {
		return 0, 0
	}
	if first == 1 {
		v = -v
	}
	return v, i + 1
}

// cell returns the first cell of a line without quotes and the space around it, the text after it and the separator or
// line end, and whether another cell follows in the line.
func (t *Table) cell(text []byte) (c, rest []byte, more bool, err error) {
	if len(text) > 0 && text[0] == '"' {
		return t.quoted(text)
	}
	end := len(text)
	for i, b := range text {
		if b == t.comma || b == '\n' {
			end = i
			break
		}
		if b == '"' {
			return nil, nil, false, errors.New(`expected quotes only around a whole cell, and as "" within`)
		}
	}
	c = bytes.TrimSpace(text[:end])
	return c, text[min(end+1, len(text)):], end < len(text) && text[end] == t.comma, nil
}

// quoted is cell for one in quotes.
func (t *Table) quoted(text []byte) (c, rest []byte, more bool, err error) {
	rest = text[1:]
	for {
		at := bytes.IndexByte(rest, '"')
		if at < 0 {
			return nil, nil, false, errors.New("a quote without its end")
		}
		c, rest = append(c, rest[:at]...), rest[at+1:]
		if len(rest) == 0 || rest[0] != '"' {
			break
		}
		c, rest = append(c, '"'), rest[1:]
	}
	c = bytes.TrimSpace(c)
	rest = bytes.TrimPrefix(rest, []byte{'\r'})
	switch {
	case len(rest) == 0:
		return c, nil, false, nil
	case rest[0] == t.comma, rest[0] == '\n':
		return c, rest[1:], rest[0] == t.comma, nil
	}
	return nil, nil, false, errors.New("text after the closing quote")
}

// noNumber says what is wrong with a cell, and what may help.
func (t *Table) noNumber(cell string) error {
	hint := ""
	if t.options.Hint != "" {
		hint = " (" + t.options.Hint + ")"
	}
	switch _, err := strconv.ParseFloat(strings.Replace(cell, ",", ".", 1), 64); {
	case cell == "":
		return errors.New("an empty cell: expected a number" + hint)
	case err == nil:
		return fmt.Errorf("%.60q: expected a number with a decimal point", cell)
	case strings.ContainsAny(cell, ";\t"):
		return fmt.Errorf("%.60q: expected a number%s", cell, t.separator())
	case t.Column < 0:
		return fmt.Errorf("%.60q: expected a number, as in all columns%s", cell, hint)
	}
	if t.options.Other != "" {
		hint = " (" + strings.TrimSuffix(t.options.Other+"; "+t.options.Hint, "; ") + ")"
	}
	if t.Names == nil {
		return fmt.Errorf("%.60q: expected a number, as in all columns but %d%s", cell, t.Column+1, hint)
	}
	return fmt.Errorf("%.60q: expected a number, as in all columns but %.60q%s", cell, t.Names[t.Column], hint)
}
