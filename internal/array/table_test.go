package array

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpnbench/internal/fuzzlimit"
	"dpnbench/internal/longtest"
)

// last chooses the last column.
func last(first []string) (int, error) { return len(first) - 1, nil }

// A large table, in blocks that several goroutines parse, has the cells that encoding/csv reads.
func TestTableBlocks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, end := range []string{"\n", "\r\n"} {
		var text strings.Builder
		text.WriteString("a,b," + `"c ""quoted"""` + ",d,kind" + end)
		for range 60000 {
			fmt.Fprintf(&text, "%d,%v,%.3f,", r.IntN(1000), r.NormFloat64(), r.NormFloat64())
			fmt.Fprintf(&text, "%q,", strconv.Itoa(r.IntN(9)))
			text.WriteString([]string{"cat", `"dog, small"`, "\"two\nlines\"", " bird "}[r.IntN(4)] + end)
			if r.IntN(100) == 0 {
				text.WriteString(end)
			}
		}
		table, err := ReadTable("x.csv", strings.NewReader(text.String()), TableOptions{Column: last, Finite: true})
		if err != nil {
			t.Fatal(err)
		}
		rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
		if err != nil {
			t.Fatal(err)
		}
		a, err := table.array()
		if err != nil || len(table.blocks) < 3 || table.Rows != len(rows)-1 || !slices.Equal(table.Names, rows[0]) {
			t.Fatalf("%v, %d blocks, %d rows, names %q", err, len(table.blocks), table.Rows, table.Names)
		}
		x := make([]float64, a.Len()*a.Width())
		if err := a.ReadRows(x, 0); err != nil {
			t.Fatal(err)
		}
		for i, row := range rows[1:] {
			for j, c := range row[:4] {
				if v, err := strconv.ParseFloat(c, 64); err != nil || v != x[4*i+j] {
					t.Fatalf("row %d, column %d: %v, want %s", i, j, x[4*i+j], c)
				}
			}
			if want := strings.TrimSpace(row[4]); table.Texts[i] != want {
				t.Fatalf("row %d: %q, want %q", i, table.Texts[i], want)
			}
		}
	}
}

// Headers, separators, and what is neither.
func TestTableForms(t *testing.T) {
	for _, c := range []struct {
		file, text string
		names      []string
		texts      []string
		numbers    []float32
	}{
		{"x.csv", "5.1,3,setosa\n4,2,other", nil, []string{"setosa", "other"}, []float32{5.1, 3, 4, 2}},
		{"x.csv", "a;b;k\n1;2;x\n", []string{"a", "b", "k"}, []string{"x"}, []float32{1, 2}},
		{"x.csv", "a\tb\tk\n1\t2\tx\n", []string{"a", "b", "k"}, []string{"x"}, []float32{1, 2}},
		{"x.csv", "a;\"b,c,d\";k\n1;2;x\n", []string{"a", "b,c,d", "k"}, []string{"x"}, []float32{1, 2}},
		{"x.csv", "a;b, cm;k\n1;2;x\n", []string{"a", "b, cm", "k"}, []string{"x"}, []float32{1, 2}},
		{"x.csv", "a\tb;c, d\tk\n1\t2\tx\n", []string{"a", "b;c, d", "k"}, []string{"x"}, []float32{1, 2}},
		{"x.csv", "a,b;c;d,\"k;\tl\"\n1,2,x\n", []string{"a", "b;c;d", "k;\tl"}, []string{"x"}, []float32{1, 2}},
		{"x.tsv", "a\tb,c\tk\n1\t2\tx\n", []string{"a", "b,c", "k"}, []string{"x"}, []float32{1, 2}},
		{"x.csv", "\ufeff0,1,label\n7,8,9\n", []string{"0", "1", "label"}, []string{"9"}, []float32{7, 8}},
		{"x.csv", "\n\n,0,k\n7,8,9\n", nil, nil, nil},
		{"x.csv", ",a,k\n0,8,9\n", []string{"", "a", "k"}, []string{"9"}, []float32{0, 8}},
		{"x.csv", "1100.5,1102.5,Label\n7,8,9\n", []string{"1100.5", "1102.5", "Label"}, []string{"9"},
			[]float32{7, 8}},
		{"x.csv", "1.5,2,target\n7,8,other\n1,2,target\n", nil, nil, nil},
		{"x.csv", "1,2,y\n7,8,n\n1,2,y\n", nil, nil, nil},
		{"x.csv", "a,label\n1,x\n2,label\n", []string{"a", "label"}, []string{"x", "label"}, []float32{1, 2}},
		{"x.csv", "1.5,2,y\n7,8,n\n", nil, []string{"y", "n"}, []float32{1.5, 2, 7, 8}},
		{"x.csv", "1,2,Y\n7,8,9\n", []string{"1", "2", "Y"}, []string{"9"}, []float32{7, 8}},
		{"x.csv", "0,1,2\n7,8,2\n", []string{"0", "1", "2"}, []string{"2"}, []float32{7, 8}},
		{"x.csv", ",0,1,2\n0,7,8,9\n", []string{"", "0", "1", "2"}, []string{"9"}, []float32{0, 7, 8}},
		{"x.csv", "0,1\n1,0\n", nil, []string{"1", "0"}, []float32{0, 1}},
		{"x.csv", "0,1,2.0\n7,8,9\n", nil, []string{"2.0", "9"}, []float32{0, 1, 7, 8}},
		{"x.csv", "\"1\",\"2\",\"3\"\n", nil, []string{"3"}, []float32{1, 2}},
		{"x.csv", "1,\"a\rb\"\r", nil, []string{"a\rb"}, []float32{1}},
		{"x.csv", "1e-3,-0.25,a\n+4,123456789012345678,a\n", nil, []string{"a", "a"},
			[]float32{1e-3, -0.25, 4, 123456789012345678}},
	} {
		o := TableOptions{Column: last, Header: LabelNames, Narrow: true}
		table, err := ReadTable(c.file, strings.NewReader(c.text), o)
		if c.texts == nil {
			if err == nil {
				t.Errorf("%q: names %q", c.text, table.Names)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		x := table.Floats()
		if !slices.Equal(table.Names, c.names) || !slices.Equal(table.Texts, c.texts) || !slices.Equal(x, c.numbers) {
			t.Errorf("%q: names %q, texts %q, numbers %v", c.text, table.Names, table.Texts, x)
		}
	}
}

// utf16 returns ASCII in little-endian UTF-16.
func utf16(text string) string {
	wide := ""
	for _, c := range text {
		wide += string(c) + "\x00"
	}
	return wide
}

// Rows know their lines: below a header and empty lines, and beside cells of several.
func TestTableLines(t *testing.T) {
	var text strings.Builder
	text.WriteString("\n\na,b,k\n")
	line, lines := 4, []int{}
	for i := range 60000 { // several blocks
		lines = append(lines, line)
		row := "12345678,1234567890123,v\n"
		switch {
		case i%7 == 0:
			row = "1,2,\"x\n\ny\"\n"
		case i%5 == 0:
			row = "3,4,u\r\n\r\n\n"
		}
		text.WriteString(row)
		line += strings.Count(row, "\n")
	}
	table, err := ReadTable("x.csv", strings.NewReader(text.String()), TableOptions{Column: last})
	if err != nil {
		t.Fatal(err)
	}
	if len(table.blocks) < 2 || table.Rows != len(lines) {
		t.Fatalf("%d blocks of %d rows", len(table.blocks), table.Rows)
	}
	for i := 0; i < len(lines); i += 101 {
		if got := table.Line(i); got != lines[i] {
			t.Fatalf("row %d: line %d, want %d", i, got, lines[i])
		}
	}
}

// What is wrong is named by its line and column.
func TestTableErrors(t *testing.T) {
	longtest.Native(t)
	long := strings.Repeat("1,2,3\n", 400000)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, long)
	z.Close()
	for _, c := range []struct{ text, want string }{
		{"", "x.csv: expected lines of numbers"},
		{"a,b,k\n", "expected lines of numbers below the header"},
		{"a,a,k\n1,2,x\n", `line 1: columns 1 and 2 are both called "a"`},
		{"\n\na,a,k\n1,2,x\n", `line 3: columns 1 and 2 are both called "a"`},
		{"a,b,k\n1,2,x\n\n1,2\n", "line 4: 2 cells, expected 3"},
		{"a,b,k\n1,2,x,4\n", "line 2: more than 3 cells"},
		{"len, cm;label\n1,5;2,5;x\n", "line 2: more than 2 cells, expected as many as in the first line " +
			"(separator: comma, guessed from the first line)"},
		{"a;b;k\n1;2\n", "line 2: 2 cells, expected 3 as in the first line (separator: semicolon, guessed from"},
		{"len, cm;label\n1;2,5;x\n", `"1;2": expected a number (separator: comma, guessed from the first line)`},
		{"a,b,k\n1,,x\n", `line 2, column 2 ("b"): an empty cell: expected a number`},
		{"a;b;k\n1,5;1;x\n", `line 2, column 1 ("a"): "1,5": expected a number with a decimal point`},
		{"a,b,k\n1,red,x\n", `line 2, column 2 ("b"): "red": expected a number, as in all columns but "k"`},
		{"1,2,x\n1,red,x\n", `line 2, column 2: "red": expected a number, as in all columns but 3`},
		{"a,b,k\n1,2,\n", `line 2, column 3 ("k"): an empty cell: expected a label`},
		{"a,b,k\n1,2,\xff\n", `line 2, column 3 ("k"): "\xff": expected a label in UTF-8`},
		{"5.1,?,k\n1,2,x\n", `line 1, column 2: "?": expected a number`},
		{"a,b,k\n1,nan,x\n", `line 2, column 2 ("b"): "nan": expected a finite number`},
		{"a,b,k\n1,1e39,x\n", `expected a finite number`},
		{"a,b,k\n1,1e999,x\n", `expected a number`},
		{"a,b,k\n1,\"2,x\n", "a quote without its end"},
		{"a,b,k\n1,2\"3,x\n", "expected quotes only around a whole cell"},
		{"a,b,k;\"l\"\n", `and as "" within (separator: comma, guessed from the first line)`},
		{"a,b,k\n1,\"2\"3,x\n", "text after the closing quote"},
		{"a,b,k\n1,2,\xff\n", "UTF-8"},
		{"a,\xff,k\n1,2,x\n", "line 1, column 2: expected text in UTF-8"},
		{"\xff\xfe" + utf16("\"a\",b,k\n1,2,x\n"), "line 1, column 1: expected text in UTF-8"},
		{utf16("\"a\",b,k\n1,2,x\n"), "line 1, column 1: expected text in UTF-8"},
		{utf16("a,b,k\n1,2,x\n"), "line 1, column 1: expected text in UTF-8"},
		{"a,b,k\r1,2,x\r", "x.csv: lines that end with CR alone, expected LF or CR LF"},
		{"\"a\",b,k\r\r1,2,x", "x.csv: lines that end with CR alone"},
		{"1,2\r1,\"2", "x.csv: lines that end with CR alone"},
		{strings.Repeat("1,2\r", mostLine/4+1), "x.csv: lines that end with CR alone"},
		{long + "1,x,3\n" + long, "line 400001, column 2"},
		{packed.String()[:packed.Len()/2], "unexpected EOF"},
	} {
		o := TableOptions{Column: last, Finite: true, Narrow: true}
		_, err := ReadTable("x.csv", strings.NewReader(c.text), o)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%.30q: %v, want %q", c.text, err, c.want)
		}
	}
	_, err := ReadTable("x.tsv", strings.NewReader("a\tb\n1\n"), TableOptions{})
	if err == nil || !strings.HasSuffix(err.Error(), "(separator: tab, by the name of the file)") {
		t.Errorf("a file of tabs: %v", err)
	}
	both := TableOptions{Column: func([]string) (int, error) { return 1, nil },
		Skip: func([]string) ([]int, error) { return []int{1}, nil }}
	_, err = ReadTable("x.csv", strings.NewReader("a,b\n1,x\n"), both)
	if err == nil || err.Error() != `x.csv: column 2 ("b") is left out, and the one of texts` {
		t.Errorf("texts that are left out: %v", err)
	}
	_, err = ReadTable("x.csv", strings.NewReader(long), TableOptions{Memory: 1e6})
	if err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("more than the memory: %v", err)
	}
	broken := io.MultiReader(strings.NewReader("1,2\n"), failing{})
	if _, err := ReadTable("x.csv", broken, TableOptions{}); !errors.Is(err, errFailing) {
		t.Errorf("an unreadable file: %v", err)
	}
}

// A line has at most mostLine bytes and, if it is the first, mostColumns cells, which count as memory.
func TestTableLimits(t *testing.T) {
	longtest.Native(t)
	spaces, cells := strings.Repeat(" ", mostLine-1), strings.Repeat("1,", mostColumns-1)
	for _, c := range []struct {
		text string
		o    TableOptions
		want string
	}{
		{spaces + "1", TableOptions{}, ""},
		{spaces + "1\n1\n", TableOptions{}, ""},
		{spaces + "11", TableOptions{}, "x.csv: line 1: longer than 64 MiB, or a quote without its end"},
		{"1\n" + spaces + "11\n", TableOptions{}, "x.csv: line 2: longer than 64 MiB, or a quote without its end"},
		{cells + "1\n", TableOptions{}, ""},
		{cells + "1,1\n", TableOptions{}, "x.csv: line 1: more than 1048576 cells, the most columns of a table " +
			"(separator: comma, guessed from the first line)"},
		{cells + "1\n", TableOptions{Memory: 17<<20 - 1}, "x.csv: line 1: more cells than there is memory for"},
		{cells + "1\n", TableOptions{Memory: 17 << 20}, ""},
	} {
		if _, err := ReadTable("x.csv", strings.NewReader(c.text), c.o); err == nil && c.want != "" ||
			err != nil && err.Error() != c.want {
			t.Errorf("%d bytes, %v: %v, want %q", len(c.text), c.o.Memory, err, c.want)
		}
	}
}

var errFailing = errors.New("input/output error")

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errFailing }

func FuzzTable(f *testing.F) {
	f.Add([]byte("a,b\n1,2\n3,4\n"), "b", false)
	f.Add([]byte("1,cat\n3,dog\n"), "2", true)
	f.Add([]byte("1,2\n"), "", true)
	f.Add([]byte("a,b,c\n1,2,3\n"), "b", true)
	f.Add([]byte("a;\"b\n\"\n1;\"2\"\r\n"), "a", true)
	f.Fuzz(func(t *testing.T, b []byte, column string, narrow bool) {
		var table *Table
		var err error
		fuzzlimit.Check(t, 64*len(b)+4<<20, func() {
			choose := func(first []string) (int, error) { return FindColumn(column, first, true) }
			o := TableOptions{Column: choose, Header: LabelNames, Memory: 1 << 20, Narrow: narrow,
				Skip: func(first []string) ([]int, error) {
					if narrow && len(first) > 2 {
						return []int{1}, nil
					}
					return nil, nil
				}}
			table, err = ReadTable("x.csv", bytes.NewReader(b), o)
		})
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: expected one line", err)
			}
			return
		}
		if column != "" && len(table.Texts) != table.Rows {
			t.Fatalf("%d texts in %d rows", len(table.Texts), table.Rows)
		}
		width := table.width()
		if narrow {
			if x := table.Floats(); len(x) != table.Rows*width {
				t.Fatalf("%d numbers in %d rows of %d", len(x), table.Rows, width)
			}
			return
		}
		if width > 0 {
			a, err := table.array()
			if err != nil {
				t.Fatal(err)
			}
			use(t, []*Array{a}, len(b))
		}
	})
}

// BenchmarkTable reads rows of bytes as text, and of normal numbers.
func BenchmarkTable(b *testing.B) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name string
		cell func() string
	}{
		{"bytes", func() string { return strconv.Itoa(max(0, r.IntN(500)-245)) }},
		{"decimals", func() string { return strconv.FormatFloat(r.NormFloat64(), 'f', 6, 64) }},
		{"floats", func() string { return fmt.Sprint(r.NormFloat64()) }},
	} {
		var text bytes.Buffer
		for text.Len() < 32<<20 {
			for range 784 {
				text.WriteString(c.cell() + ",")
			}
			text.WriteString("cat\n")
		}
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(text.Len()))
			for b.Loop() {
				o := TableOptions{Column: last, Finite: true, Narrow: true}
				if _, err := ReadTable("x.csv", bytes.NewReader(text.Bytes()), o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
