package array

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpnbench/internal/regular"

	"codeberg.org/sbinet/npyio/npy"
)

// Options are the settings of Open and ReadLabels.
type Options struct {
	// Memory bounds, in bytes, what is read into memory of a file that cannot be read in place; 0: no
	// limit.
	Memory float64
	// Without is a column of a CSV or TSV file that is left out, by its name or number from 1.
	Without string
	// Want, if set, selects arrays of NPZ files by their names.
	Want func(name string) bool
	// Texts opens arrays of texts, too, in NPY and NPZ files.
	Texts bool
	// Format is npy, npz, safetensors, csv or tsv, whatever the file's name says; empty: by the end of the name, or
	// else by the first bytes.
	Format string
}

// File is an open file of arrays.
type File struct {
	Path   string
	Arrays []*Array // at least one, in the order of the file
	Order  bool     // whether that order is one that somebody chose, as in NPZ files
	f      *os.File // nil if everything is in memory
}

// Close closes the file. Its arrays cannot be read any more.
func (f *File) Close() error {
	if f.f == nil {
		return nil
	}
	return f.f.Close()
}

// Split splits the name of a file and of an array (or column) in it, FILE:NAME. The name is empty if
// there is none.
func Split(spec string) (path, name string) {
	for _, kind := range []string{".npz", ".safetensors", ".csv", ".tsv", ".csv.gz", ".tsv.gz"} {
		if at := strings.LastIndex(strings.ToLower(spec), kind+":"); at >= 0 {
			return spec[:at+len(kind)], spec[at+len(kind)+1:]
		}
	}
	return spec, ""
}

// Open opens the arrays of a file: .npy, .npz, .safetensors, .csv or .tsv. With FILE:NAME only the array of that name
// is opened.
func Open(spec string, o Options) (*File, error) {
	path, name := Split(spec)
	f, size, err := open(path)
	if err != nil {
		return nil, err
	}
	if o.Memory == 0 {
		o.Memory = math.Inf(1)
	}
	out := &File{Path: path, f: f}
	switch kindOf(path, f, o.Format) {
	case ".npy":
		var a *Array
		a, err = readNPY(path, "", f, size, o.Texts)
		out.Arrays = []*Array{a}
	case ".npz":
		out.Arrays, err = readNPZ(path, f, size, name, o)
		out.Order = true
	case ".safetensors":
		out.Arrays, err = readSafetensors(path, f, size, name)
	case ".csv", ".tsv":
		var t *Table
		if t, err = ReadTable(path, f, o.table(o.Without)); err == nil {
			var a *Array
			a, err = t.array()
			out.Arrays = []*Array{a}
		}
		f.Close()
		out.f = nil
	default:
		err = fmt.Errorf("%s: expected a file .npy, .npz, .safetensors, .csv or .tsv", path)
	}
	if err == nil && len(out.Arrays) == 0 {
		err = fmt.Errorf("%s: no array %.60q in the file", path, name)
		if name == "" {
			err = fmt.Errorf("%s: no arrays in the file", path)
		}
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// table returns the settings of a table whose column of a name, or number from 1, is texts; none if it is empty.
func (o Options) table(column string) TableOptions {
	names := []string{strings.ToLower(column)}
	return TableOptions{Column: ColumnNamed(column), Header: append(names, LabelNames...), Memory: o.Memory}
}

// open opens a regular file. Errors begin with the path.
func open(path string) (*os.File, int64, error) {
	f, size, err := regular.Open(path)
	var at *fs.PathError
	if errors.As(err, &at) {
		err = fmt.Errorf("%s: %w", path, at.Err)
	}
	return f, size, err
}

// extension returns the end of a file name, without that of gzip.
func extension(path string) string {
	path = strings.ToLower(path)
	if name := strings.TrimSuffix(path, ".gz"); strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".tsv") {
		path = name
	}
	return filepath.Ext(path)
}

// kindOf returns the end of the name that a file should have.
func kindOf(path string, f io.ReaderAt, format string) string {
	if format != "" {
		return "." + format
	}
	kind := extension(path)
	if slices.Contains([]string{".npy", ".npz", ".safetensors", ".csv", ".tsv"}, kind) {
		return kind
	}
	var head [6]byte
	n, _ := f.ReadAt(head[:], 0) // a shorter file is of no kind
	switch {
	case bytes.HasPrefix(head[:n], npy.Magic[:]):
		return ".npy"
	case bytes.HasPrefix(head[:n], []byte("PK\x03\x04")):
		return ".npz"
	}
	return kind
}

// Labels are the classes of samples.
type Labels struct {
	Of    []int    // the class of each sample
	Names []string // of classes that are texts: class 0, 1, ...
}

// ReadLabels reads labels: whole numbers (one for each row) or, but of safetensors, texts, whose classes are numbered
// in alphabetical order. A column of a table is named by FILE:COLUMN.
func ReadLabels(spec string, o Options) (*Labels, error) {
	path, name := Split(spec)
	switch extension(path) {
	case ".csv", ".tsv":
		return readTextLabels(path, name, o)
	}
	o.Texts = true
	f, err := Open(spec, o)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if len(f.Arrays) > 1 {
		return nil, fmt.Errorf("%s: %d arrays: expected the name of one, as in %s:%s", path, len(f.Arrays), path,
			f.Arrays[len(f.Arrays)-1].Name)
	}
	a := f.Arrays[0]
	if a.Width() != 1 {
		return nil, fmt.Errorf("%s: shape %v: expected one label a row", a.Title(), a.Shape)
	}
	if texts, err := a.Texts(); err == nil {
		return named(texts), nil
	}
	values := make([]float64, a.Len())
	if err := a.ReadRows(values, 0); err != nil {
		return nil, err
	}
	out := &Labels{Of: make([]int, a.Len())}
	for i, v := range values {
		if v != math.Trunc(v) || math.Abs(v) > 1<<53 {
			return nil, fmt.Errorf("%s: row %d: label %v: expected a whole number", a.Title(), i, v)
		}
		out.Of[i] = int(v)
	}
	return out, nil
}

func readTextLabels(path, column string, o Options) (*Labels, error) {
	f, _, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	if column == "" {
		column = "1"
	}
	table := o.table(column)
	if _, err := strconv.Atoi(column); err != nil { // of a header, so that others may be texts
		table.Skip = func(first []string) (others []int, err error) {
			at, err := table.Column(first)
			for i := range first {
				if i != at {
					others = append(others, i)
				}
			}
			return others, err
		}
	}
	t, err := ReadTable(path, f, table)
	if err != nil {
		return nil, err
	}
	return named(t.Texts), nil
}

// named numbers labels that are texts: by value if all are whole numbers, else by their alphabetical order.
func named(texts []string) *Labels {
	out := &Labels{Of: make([]int, len(texts))}
	numbers := true
	for i, text := range texts {
		v, err := strconv.Atoi(text)
		numbers = numbers && err == nil
		out.Of[i] = v
	}
	if numbers {
		return out
	}
	out.Names = slices.Compact(slices.Sorted(slices.Values(texts)))
	for i, text := range texts {
		out.Of[i], _ = slices.BinarySearch(out.Names, text)
	}
	return out
}
