package source

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"dpnbench/dataset"
	"dpnbench/internal/array"
	"dpnbench/internal/regular"
)

func cores() int { return runtime.GOMAXPROCS(0) }

// noLabel is the setting for a table without labels.
const noLabel = "none"

// tablesOf returns the tables of training and of test samples that path names, empty for none: those of a folder, two
// with a comma between them, or one.
func tablesOf(path string) (train, test string, err error) {
	if !holds(path, isTable) {
		train, test = pair(path)
		return train, test, nil
	}
	files, err := splitFiles(path, isTable)
	if err != nil {
		return "", "", err
	}
	names := append(files[trainSplit], files[testSplit]...)
	if len(names) == 0 || len(files[trainSplit]) > 1 || len(files[testSplit]) > 1 {
		return "", "", fmt.Errorf("folder %s: found %s: expected train.csv and test.csv, or one file for --data", path,
			list(names))
	}
	for _, name := range files[trainSplit] {
		train = name
	}
	for _, name := range files[testSplit] {
		test = name
	}
	return train, test, nil
}

// readTables reads the CSV or TSV files that path names.
func readTables(path string, opt Options) (*content, error) {
	train, test, err := tablesOf(path)
	if err != nil {
		return nil, err
	}
	c := &content{name: path}
	if train != "" {
		if c.train, c.features, err = readTable(train, opt); err != nil {
			return nil, err
		}
	}
	if test == "" {
		return c, nil
	}
	var features []string
	if c.test, features, err = readTable(test, opt); err != nil {
		return nil, err
	}
	if c.train == nil {
		c.features = features
	} else if !slices.Equal(features, c.features) && features != nil && c.features != nil {
		return nil, fmt.Errorf("%s: other columns than in %s", test, train)
	}
	return c, nil
}

// pair returns the files that path names: one that is there, or two with a comma between them.
func pair(path string) (first, second string) {
	first, second, ok := strings.Cut(path, ",")
	switch {
	case !ok || exists(path):
		return path, ""
	case second == "":
		return first, ""
	}
	return first, beside(first, second)
}

// beside returns the second of a pair, which may be in the folder of the first.
func beside(first, second string) string {
	if _, err := os.Stat(second); err != nil && !filepath.IsAbs(second) {
		if path := filepath.Join(filepath.Dir(first), second); exists(path) {
			return path
		}
	}
	return second
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readTable reads one table.
func readTable(path string, opt Options) (*part, []string, error) {
	f, err := openTable(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return tableOf(path, f, labelColumn(opt.Label), opt)
}

func openTable(path string) (*os.File, error) {
	f, _, err := regular.Open(path)
	return f, err
}

// tableOf reads a table from r; path is for errors. label says which column is that of the labels.
func tableOf(path string, r io.Reader, label func(first []string) (int, error), opt Options) (*part, []string, error) {
	t, err := array.ReadTable(path, opt.reader(r), array.TableOptions{Column: label,
		Header: append([]string{strings.ToLower(opt.Label)}, array.LabelNames...), Finite: true, Narrow: true,
		Memory: opt.Memory})
	if err != nil {
		return nil, nil, err
	}
	width := t.Columns
	names := slices.Clone(t.Names)
	p := &part{file: path}
	if t.Column >= 0 {
		width--
		p.texts = t.Texts
		if names != nil {
			names = slices.Delete(names, t.Column, t.Column+1)
		}
	}
	p.values = t.Floats()
	if names != nil && width > 1 && namesIndex(names[0]) && isIndex(p.values, width) {
		p.values, names = dropFirst(p.values, width), names[1:]
		width--
	}
	if width == 0 {
		return nil, nil, fmt.Errorf("%s: expected columns of features beside the one of labels, with "+
			"commas, semicolons or tabs between them", path)
	}
	p.Shape = dataset.Vector(width)
	for i, s := range p.texts {
		if v, err := strconv.ParseFloat(s, 64); err == nil && v != float64(int64(v)) {
			return nil, nil, fmt.Errorf("%s: row %d: label %.40q in column %s: expected a class, no number with a "+
				"fraction (--label)", path, i+1, s, column(t))
		}
	}
	return p, names, nil
}

func column(t *array.Table) string {
	if t.Names == nil {
		return strconv.Itoa(t.Column + 1)
	}
	return strconv.Quote(t.Names[t.Column])
}

// labelColumn returns the choice of the column of labels: that of the name or number, or else the one with a usual
// name, or the last.
func labelColumn(label string) func(first []string) (int, error) {
	switch label {
	case noLabel:
		return nil
	case "":
		return func(first []string) (int, error) {
			for i, name := range first {
				if slices.Contains(array.LabelNames, strings.ToLower(name)) {
					return i, nil
				}
			}
			return len(first) - 1, nil
		}
	}
	return array.ColumnNamed(label)
}

// namesIndex says whether a first column of a name holds the numbers of the rows: pandas and R give it none.
func namesIndex(name string) bool {
	return name == "" || name == "Unnamed: 0" || strings.EqualFold(name, "id")
}

// isIndex says whether the first column holds whole numbers.
func isIndex(values []float32, width int) bool {
	for i := 0; i < len(values); i += width {
		if v := float64(values[i]); v != math.Trunc(v) {
			return false
		}
	}
	return true
}

// dropFirst removes the first column.
func dropFirst(values []float32, width int) []float32 {
	out := values[:0]
	for i := 0; i < len(values); i += width {
		out = append(out, values[i+1:i+width]...)
	}
	return out
}
