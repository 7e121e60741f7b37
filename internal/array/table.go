package array

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// table is the cells of a CSV or TSV file, column by column.
type table struct {
	file  string
	names []string // of the columns, from the first line; empty if that is numbers
	// wanted is the column to keep as text, or -1. All others are numbers.
	wanted  int
	columns int
	texts   []string
	numbers []float64 // row after row, without the wanted column
	rows    int
}

// readTable reads text of comma- or tab-separated cells, which may be compressed by gzip. The first
// line is a header if a cell of another column is no number, or that of the wanted one is its name or a
// usual one. The column of the
// given name (or number, from 1) is kept as text; none if it is empty. memory bounds the bytes kept.
func readTable(file string, r io.Reader, column string, memory float64) (*table, error) {
	t := &table{file: file, wanted: -1}
	lines, err := t.lines(r)
	if err != nil {
		return nil, err
	}
	for {
		cells, err := lines.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		line, _ := lines.FieldPos(0)
		if t.columns == 0 {
			header, err := t.begin(cells, column)
			if err != nil {
				return nil, err
			}
			if header {
				continue
			}
		}
		if err := t.add(cells, line); err != nil {
			return nil, err
		}
		if memory -= 8 * float64(len(cells)); memory < 0 {
			return nil, fmt.Errorf("%s: line %d: more numbers than there is memory for: expected an NPY file", file,
				line)
		}
	}
	if t.rows == 0 {
		return nil, fmt.Errorf("%s: expected lines of numbers", file)
	}
	return t, nil
}

// lines returns a reader of the lines of r, unpacked if necessary.
func (t *table) lines(r io.Reader) (*csv.Reader, error) {
	var head [2]byte
	n, _ := io.ReadFull(r, head[:])
	r = io.MultiReader(bytes.NewReader(head[:n]), r)
	if n == 2 && head == [2]byte{0x1f, 0x8b} {
		z, err := gzip.NewReader(r)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", t.file, err)
		}
		r = z
	}
	lines := csv.NewReader(r)
	lines.ReuseRecord = true
	if name := strings.TrimSuffix(strings.ToLower(t.file), ".gz"); strings.HasSuffix(name, ".tsv") {
		lines.Comma = '\t'
	}
	return lines, nil
}

// labelNames are usual names of a column of labels, by which a header without numbers is told from a label.
var labelNames = []string{"label", "labels", "class", "target", "y"}

// begin sets the columns from the first line, and reports whether it is a header.
func (t *table) begin(cells []string, column string) (header bool, err error) {
	t.columns = len(cells)
	numbers := make([]bool, len(cells))
	for i, c := range cells {
		_, err := strconv.ParseFloat(strings.TrimSpace(c), 64)
		numbers[i] = err == nil
	}
	if column != "" {
		t.wanted = slices.IndexFunc(cells, func(c string) bool { return strings.TrimSpace(c) == column })
		if t.wanted < 0 {
			n, err := strconv.Atoi(column)
			if err != nil || n < 1 || n > len(cells) {
				return false, fmt.Errorf("%s: no column %.60q: expected one of the first line, or 1 to %d", t.file,
					column, len(cells))
			}
			t.wanted = n - 1
		}
	}
	for i, number := range numbers {
		name := strings.TrimSpace(cells[i])
		if !number && (i != t.wanted || name == column || slices.Contains(labelNames, strings.ToLower(name))) {
			header = true
		}
	}
	if header {
		for _, c := range cells {
			t.names = append(t.names, strings.TrimSpace(c))
		}
	}
	return header, nil
}

// add adds a line.
func (t *table) add(cells []string, line int) error {
	for i, c := range cells {
		if c = strings.TrimSpace(c); i == t.wanted {
			t.texts = append(t.texts, c)
			continue
		}
		v, err := strconv.ParseFloat(c, 64)
		if err != nil {
			return fmt.Errorf("%s: line %d, column %d: %.60q: expected a number", t.file, line, i+1, c)
		}
		t.numbers = append(t.numbers, v)
	}
	t.rows++
	return nil
}

// array returns the numbers.
func (t *table) array() (*Array, error) {
	a := &Array{File: t.file, DType: "<f8", element: littleEndian["f8"], data: floats(t.numbers)}
	width := t.columns
	if t.wanted >= 0 {
		width--
	}
	return a, a.setShape([]int{t.rows, width}, 8*int64(len(t.numbers)))
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
