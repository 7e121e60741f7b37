//go:build parquet

package source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/dataset"
	"dpnbench/internal/array"
	"dpnbench/internal/regular"

	"github.com/parquet-go/parquet-go"
	logical "github.com/parquet-go/parquet-go/format"
)

// readParquet reads Parquet files as data hubs store them: a file, a pair of them, or a folder (or its folder data)
// with any number of files for each split.
func readParquet(path string, opt Options) (*content, error) {
	files := map[string][]string{}
	isParquet := hasExtension(".parquet")
	c := &content{name: filepath.Clean(path)}
	if holds(path, isParquet) {
		var err error
		if files, c.notes, err = splitFiles(path, isParquet); err != nil {
			return nil, err
		}
	} else {
		train, test := pair(path)
		files[trainSplit] = []string{train}
		if test != "" {
			files[testSplit] = []string{test}
		}
	}
	left := opt // without the memory of the split before
	for _, s := range []struct {
		name string
		to   **part
	}{{trainSplit, &c.train}, {testSplit, &c.test}} {
		if len(files[s.name]) == 0 || s.to == &c.train && opt.skipsTraining() && len(files[testSplit]) > 0 {
			continue
		}
		p, err := c.readShards(s.name, files[s.name], left)
		if err != nil {
			return nil, err
		}
		*s.to = p
		left = left.less(p.bytes())
	}
	return c, c.sameChannels(opt)
}

// readShards reads the files of a split.
func (c *content) readShards(split string, files []string, opt Options) (*part, error) {
	p := &part{file: title(c.name, split, files)}
	r := parquetReader{opt: opt, p: p, most: opt.wanted(split), features: c.features, classes: c.classes}
	for _, path := range files {
		p.files = append(p.files, opening{path, r.samples()})
		if err := r.file(path); err != nil {
			return nil, err
		}
	}
	c.features, c.classes = r.features, r.classes
	if r.images == nil {
		if r.width == 0 || len(p.values) == 0 {
			return nil, fmt.Errorf("%s: expected rows of numbers", p.file)
		}
		p.Shape = dataset.Vector(r.width)
		return p, nil
	}
	images, err := decodeAll(p.file, r.images[:opt.first(split, len(r.images))], opt)
	if err != nil {
		return nil, err
	}
	images.labels, images.texts, images.notes, images.files = p.labels, p.texts, p.notes, p.files
	return images, nil
}

// parquetReader collects the rows of some files.
type parquetReader struct {
	opt      Options
	p        *part
	images   []imageFile
	most     int      // how many images are wanted, of which the bytes are kept; 0: all
	features []string // names, of all files
	classes  []string // also of all files
	kind     string   // what kind of samples and labels the files hold; empty: none is read yet
	width    int
	memory   float64
}

// samples returns how many samples are read.
func (r *parquetReader) samples() int {
	if r.width == 0 {
		return len(r.images)
	}
	return len(r.p.values) / r.width
}

// The columns of a file: those that are not used are -1.
type parquetColumns struct {
	image, label int
	paths        []string                   // of all columns
	features     []int                      // in ascending order
	names        []string                   // of the features, as far as they have any
	meant        []logical.LogicalTypeValue // what the numbers of all columns mean, such as decimals; nil: themselves
}

func (c parquetColumns) isFeature(column int) bool {
	_, ok := slices.BinarySearch(c.features, column)
	return ok
}

func (r *parquetReader) file(path string) error {
	f, size, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := r.read(path, f, size); err != nil {
		if r.opt.stopped() != nil {
			return err
		}
		return fmt.Errorf("%s: %w", path, problemOf(err))
	}
	return nil
}

// read reads the rows of a file.
func (r *parquetReader) read(path string, f io.ReaderAt, size int64) (err error) {
	defer func() { // the module takes a file's structure for granted
		if x := recover(); x != nil {
			err = fmt.Errorf("damaged: %.100q", fmt.Sprint(x))
		}
	}()
	file, err := parquet.OpenFile(f, size, parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return err
	}
	columns, err := r.columns(file)
	if err != nil {
		return err
	}
	if err := r.alike(file.Schema(), columns); err != nil {
		return err
	}
	row, before := 0, len(r.p.values)
	for _, group := range file.RowGroups() {
		if err := r.group(path, group, columns, &row); err != nil {
			return err
		}
	}
	if columns.names != nil {
		arrange(r.p.values[before:], columns.names, r.features)
	}
	return nil
}

// columns chooses the columns of images or features, and of labels.
func (r *parquetReader) columns(file *parquet.File) (parquetColumns, error) {
	c := parquetColumns{image: -1, label: -1}
	schema := file.Schema()
	paths := schema.Columns()
	names := make([]string, len(paths))
	c.paths = make([]string, len(paths))
	c.meant = make([]logical.LogicalTypeValue, len(paths))
	for i, p := range paths {
		names[i], c.paths[i] = p[0], strings.Join(p, ".")
		leaf, _ := schema.Lookup(p...)
		if t := leaf.Node.Type().LogicalType(); t != nil {
			c.meant[i] = t.Value
		}
	}
	choice := columns{opt: r.opt}
	if slices.ContainsFunc(paths, func(p []string) bool {
		leaf, _ := schema.Lookup(p...)
		return isImageColumn(p) || leaf.MaxRepetitionLevel > 0
	}) { // columns are no features
		choice.opt.Features, choice.opt.Shape = nil, dataset.Shape{}
	}
	skip, err := choice.skip(names)
	if err != nil {
		return c, err
	}
	c.label = choice.at
	if c.label >= 0 && !r.opt.unlabelled && isTime(c.meant[c.label]) {
		return c, fmt.Errorf("column %q of %s: expected labels (%s)", c.paths[c.label], c.meant[c.label], dropHint)
	}
	r.p.notes = nil // every file has its own
	var features, texts []string
	var problem error // unless there are images
	repeated := false
	for i, p := range paths {
		leaf, _ := schema.Lookup(p...)
		switch kind := leaf.Node.Type().Kind(); {
		case i == c.label || slices.Contains(skip, i):
		case kind == parquet.ByteArray && isImageColumn(p):
			if c.image >= 0 {
				return c, fmt.Errorf("columns %q and %q of images, expected one", names[c.image], p[0])
			}
			c.image = i
		case len(p) == 2 && p[1] == "path" && !choice.named: // the name of an image
		case i == 0 && array.NamesIndex(p[0]) && !choice.named && (kind == parquet.Int32 || kind == parquet.Int64):
			choice.numbers = append(choice.numbers, p[0])
		case kind == parquet.ByteArray || kind == parquet.FixedLenByteArray || kind == parquet.Int96 ||
			isTime(c.meant[i]):
			what := kind.String()
			if isTime(c.meant[i]) {
				what = c.meant[i].String()
			}
			if problem == nil {
				problem = fmt.Errorf("column %q of %s: expected numbers, or a column image of images (%s)", c.paths[i],
					what, dropHint)
			}
			texts = append(texts, p[0])
		default:
			c.features = append(c.features, i)
			features = append(features, p[0])
			repeated = repeated || leaf.MaxRepetitionLevel > 0
		}
	}
	if c.image < 0 && problem != nil {
		return c, problem
	}
	choice.note(r.p)
	if c.image >= 0 {
		c.features = nil
		r.p.note("column", append(features, texts...), "beside a column of images")
		r.images = slices.Grow(r.images, 1)
		if c.label >= 0 && choice.opt.Label == "" && !array.NamesLabels(names[c.label]) &&
			len(paths[c.label]) > 1 {
			c.label = -1 // the last column, part of an image
		}
	} else if !repeated {
		c.names = features
		if choice.named {
			features = r.opt.Features
		}
		if r.features != nil && !slices.Equal(features, r.features) {
			return c, fmt.Errorf("columns %s, expected %s as in the file before", list(features), list(r.features))
		}
		r.features = features
	}
	if r.opt.unlabelled {
		c.label = -1
	}
	if c.label < 0 {
		return c, nil
	}
	switch classes := hubClasses(file, names[c.label]); {
	case r.classes == nil:
		r.classes = classes
	case classes != nil && !slices.Equal(classes, r.classes):
		return c, fmt.Errorf("%d classes (%s), expected the %d (%s) of the file before", len(classes), someOf(classes),
			len(r.classes), someOf(r.classes))
	}
	return c, nil
}

// alike refuses a file whose samples or labels are of another kind than those of the file before.
func (r *parquetReader) alike(schema *parquet.Schema, c parquetColumns) error {
	kind := "vectors"
	if c.image >= 0 {
		kind = "images"
	}
	if c.label < 0 {
		kind += " without labels"
	} else if leaf, _ := schema.Lookup(schema.Columns()[c.label]...); leaf.Node.Type().Kind() == parquet.ByteArray {
		kind += " with texts as labels"
	} else {
		kind += " with numbers as labels"
	}
	if r.kind != "" && kind != r.kind {
		return fmt.Errorf("%s, expected %s as in the file before", kind, r.kind)
	}
	r.kind = kind
	return nil
}

// isTime says whether numbers mean dates or times, whose units differ between the programs that write them.
func isTime(meant logical.LogicalTypeValue) bool {
	switch meant.(type) {
	case *logical.DateType, *logical.TimeType, *logical.TimestampType:
		return true
	}
	return false
}

// isImageColumn says whether a column of bytes holds images, by its path.
func isImageColumn(p []string) bool {
	return len(p) == 2 && p[1] == "bytes" || len(p) == 1 && (p[0] == "image" || p[0] == "img")
}

// hubClasses returns the names of classes that data hubs store with a file.
func hubClasses(file *parquet.File, column string) []string {
	text, _ := file.Lookup("huggingface")
	var meta struct {
		Info struct {
			Features map[string]struct {
				Names []string `json:"names"`
			} `json:"features"`
		} `json:"info"`
	}
	if json.Unmarshal([]byte(text), &meta) != nil {
		return nil
	}
	return meta.Info.Features[column].Names
}

// group reads the rows of a row group.
func (r *parquetReader) group(path string, group parquet.RowGroup, c parquetColumns, row *int) error {
	rows := group.Rows()
	defer rows.Close()
	some := make([]parquet.Row, 64)
	for {
		if err := r.opt.stopped(); err != nil {
			return err
		}
		n, err := rows.ReadRows(some)
		for _, values := range some[:n] {
			if err := r.row(path, values, c, *row); err != nil {
				return fmt.Errorf("row %d (counted from 0): %w", *row, err)
			}
			*row++
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if n == 0 {
			return io.ErrNoProgress
		}
	}
}

// row adds a row.
func (r *parquetReader) row(path string, values parquet.Row, c parquetColumns, row int) error {
	before := len(r.p.values)
	var problem error
	labelled, found := false, false
	for _, v := range values {
		switch column := v.Column(); {
		case column == c.label && !labelled:
			labelled = true
			problem = errors.Join(problem, r.label(v, c.meant[column]))
		case column == c.image && !found:
			found = true
			if v.IsNull() {
				return errors.New("no image")
			}
			var content []byte
			if r.most == 0 || len(r.images) < r.most {
				content = slices.Clone(v.ByteArray())
			}
			name := fmt.Sprintf("%s, row %d (counted from 0)", path, row)
			r.images = append(r.images, imageFile{path: name, content: content})
			r.memory += float64(len(content))
		case c.isFeature(column):
			x, ok := parquetNumber(v, c.meant[column])
			if !ok || math.IsNaN(x) || math.Abs(x) > math.MaxFloat32 {
				return fmt.Errorf("column %.60q: %.40q: expected a finite number", c.paths[column], v.String())
			}
			r.p.values = append(r.p.values, float32(x))
			r.memory += 4
		}
	}
	if c.label >= 0 && !labelled || c.image >= 0 && !found { // a damaged file
		return errors.New("no label or no image")
	}
	if text := r.opt.tooLarge(r.memory); text != "" {
		return errors.New(text)
	}
	if width := len(r.p.values) - before; c.image < 0 && width != r.width {
		if r.width > 0 || width == 0 {
			return fmt.Errorf("%d features, expected %d as in the first row", width, r.width)
		}
		r.width = width
	}
	return problem
}

// label adds a label.
func (r *parquetReader) label(v parquet.Value, meant logical.LogicalTypeValue) error {
	if v.Kind() == parquet.ByteArray && !v.IsNull() {
		r.p.texts = append(r.p.texts, string(v.ByteArray()))
		return nil
	}
	if x, ok := parquetNumber(v, meant); ok {
		y, ok := array.Label(x)
		if !ok {
			return fmt.Errorf("label %v: %s, or a text", x, array.ExpectedLabel)
		}
		r.p.labels = append(r.p.labels, y)
		return nil
	}
	return fmt.Errorf("label %.40q: %s, or a text", v.String(), array.ExpectedLabel)
}

// parquetNumber returns the number of a value, of a column whose numbers mean what meant says.
func parquetNumber(v parquet.Value, meant logical.LogicalTypeValue) (float64, bool) {
	if v.IsNull() {
		return 0, false
	}
	unsigned, unit := false, 1.0
	switch t := meant.(type) {
	case *logical.IntType:
		unsigned = !t.IsSigned
	case *logical.DecimalType:
		unit = math.Pow10(int(t.Scale))
	}
	switch v.Kind() {
	case parquet.Boolean:
		if v.Boolean() {
			return 1, true
		}
		return 0, true
	case parquet.Int32:
		if unsigned {
			return float64(v.Uint32()), true
		}
		return float64(v.Int32()) / unit, true
	case parquet.Int64:
		if unsigned {
			return float64(v.Uint64()), true
		}
		return float64(v.Int64()) / unit, true
	case parquet.Float:
		return float64(v.Float()), true
	case parquet.Double:
		return v.Double(), true
	}
	return 0, false
}
