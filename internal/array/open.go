package array

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
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
	// WithoutLabels leaves out, unless Without does, the column of UsualLabels.
	WithoutLabels bool
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

// Memory returns how many bytes its arrays take in memory: those that cannot be read in place.
func (f *File) Memory() float64 {
	all := 0.0
	for _, a := range f.Arrays {
		switch data := a.data.(type) {
		case *bytes.Reader:
			all += float64(data.Size())
		case floats:
			all += 8 * float64(len(data))
		}
	}
	return all
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
		out.Arrays, err = readSafetensors(path, f, size, name, o.Want)
	case ".csv", ".tsv":
		var a *Array
		if a, err = readCSV(path, name, f, o); err == nil {
			out.Arrays = []*Array{a}
		}
		f.Close()
		out.f = nil
	default:
		err = fmt.Errorf("%s: expected a file .npy, .npz, .safetensors, .csv or .tsv", path)
	}
	if err == nil && len(out.Arrays) == 0 {
		if err = fmt.Errorf("%s: no arrays in the file", path); o.Want != nil {
			err = fmt.Errorf("%w beside labels", err)
		}
	}
	if err != nil {
		out.Close()
		return nil, err
	}
	return out, nil
}

// readCSV reads the numbers of a table, without a column of labels.
func readCSV(path, name string, f *os.File, o Options) (*Array, error) {
	if name != "" {
		return nil, fmt.Errorf("%s:%s: expected %s, all columns of which are features", path, name, path)
	}
	table := o.table(o.Without)
	if o.Without == "" && o.WithoutLabels {
		table.Column = func(first []string) (int, error) { return UsualLabels(first, nil), nil }
	}
	t, err := ReadTable(path, f, table)
	if err != nil {
		return nil, err
	}
	if t.width() == 0 {
		return nil, fmt.Errorf("%s: expected columns of features beside %s, the one of labels", path,
			t.column(t.Column))
	}
	a, err := t.array()
	if err == nil && t.Column >= 0 {
		a.Labels = t.title(t.Column)
	}
	return a, err
}

// table returns the settings of a table whose column of a name, or number from 1, is texts; none if it is empty.
func (o Options) table(column string) TableOptions {
	named := true
	choose := func(first []string) (int, error) { return FindColumn(column, first, named) }
	header := append([]string{strings.ToLower(column)}, LabelNames...)
	return TableOptions{Column: choose, Unnamed: func() { named = false }, Header: header, Memory: o.Memory}
}

// open opens a regular file. Errors begin with the path.
func open(path string) (*os.File, int64, error) {
	f, size, err := regular.Open(path)
	if err != nil {
		err = fmt.Errorf("%s: %w", path, regular.Cause(err))
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
