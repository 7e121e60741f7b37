//go:build parquet

package source

import (
	"bytes"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"dpnbench/dataset"

	"github.com/parquet-go/parquet-go"
)

type hubImage struct {
	Bytes []byte  `parquet:"bytes"`
	Path  *string `parquet:"path,optional"`
}

type hubRow struct {
	Image hubImage `parquet:"image"`
	Label int64    `parquet:"label"`
}

type featureRow struct {
	A     float64 `parquet:"a"`
	B     int32   `parquet:"b"`
	Class string  `parquet:"class"`
}

func parquetOf[T any](t testing.TB, rows []T, options ...parquet.WriterOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w := parquet.NewGenericWriter[T](&out, options...)
	if _, err := w.Write(rows); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func hubRows(t testing.TB, s *dataset.Set) []hubRow {
	rows := make([]hubRow, s.Len())
	for i, y := range s.Labels {
		rows[i] = hubRow{hubImage{Bytes: pngOf(t, s.Image(i), s.Rows, s.Cols)}, int64(y)}
	}
	return rows
}

func init() {
	writers["parquet"] = func(t testing.TB, d *dataset.Data) (string, Options) {
		dir := t.TempDir()
		names := parquet.KeyValueMetadata("huggingface",
			`{"info": {"features": {"label": {"names": ["0","1","2","3","4","5","6","7","8","9"]}}}}`)
		codecs := []parquet.WriterOption{parquet.Compression(&parquet.Snappy), parquet.Compression(&parquet.Zstd)}
		splits(d, func(name string, s *dataset.Set) {
			rows := hubRows(t, s)
			for shard, half := range [][]hubRow{rows[:20], rows[20:]} {
				b := parquetOf(t, half, names, codecs[shard])
				write(t, dir, fmt.Sprintf("%s-%05d-of-00002.parquet", name, shard), b)
			}
		})
		return dir, Options{}
	}
}

// Features and their names, and labels that are texts.
func TestParquetFeatures(t *testing.T) {
	path := write(t, t.TempDir(), "x.parquet", parquetOf(t, []featureRow{{1, 2, "cat"}, {-0.5, 4, "bird"}}))
	d, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(d.Train.Values, []float32{1, 2, -0.5, 4}) || !slices.Equal(d.Classes, []string{"bird", "cat"}) ||
		!slices.Equal(d.Features, []string{"a", "b"}) || !slices.Equal(d.Train.Labels, []uint16{1, 0}) {
		t.Errorf("%v, %q, %q, %v", d.Train.Values, d.Classes, d.Features, d.Train.Labels)
	}
}

// Each split fits into the memory, but not both.
func TestParquetMemory(t *testing.T) {
	dir, b := t.TempDir(), parquetOf(t, []featureRow{{1, 2, "cat"}, {-0.5, 4, "bird"}})
	write(t, dir, "train.parquet", b)
	write(t, dir, "test.parquet", b)
	for memory, want := range map[float64]string{15: "train.parquet: row 1 (counted from 0): the samples take",
		60:  "test.parquet: row 1 (counted from 0): the samples take 0.0 GB, 0.0 GB of memory are available beside",
		120: ""} {
		if _, err := Open(dir, Options{Memory: memory}); err == nil && want != "" ||
			err != nil && (want == "" || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v bytes: %v, want %q", memory, err, want)
		}
	}
}

type meantRow struct {
	U     uint32 `parquet:"u"`
	V     uint64 `parquet:"v"`
	P     int32  `parquet:"p,decimal(2:9)"`
	Q     int64  `parquet:"q,decimal(3:18)"`
	Class int64  `parquet:"class,decimal(1:18)"`
}

type datedRow struct {
	Day   int32  `parquet:"day,date"`
	When  int64  `parquet:"when,timestamp(microsecond)"`
	A     int32  `parquet:"a"`
	Class string `parquet:"class"`
}

type endRow struct {
	A    float64 `parquet:"a"`
	When int32   `parquet:"when,date"` // the labels, as the last column
}

type unsignedRow struct {
	A     float64 `parquet:"a"`
	Class uint32  `parquet:"class"`
}

// Unsigned and decimal columns, of features and of labels, and dates, which are no numbers.
func TestParquetNumbers(t *testing.T) {
	dated := parquetOf(t, []datedRow{{20000, 1.7e15, 1, "u"}, {20001, 1.8e15, 2, "v"}})
	for _, c := range []struct {
		file []byte
		drop []string
		want string
	}{
		{dated, nil, `column "day" of DATE: expected numbers, or a column image of images (--drop COLUMN`},
		{dated, []string{"day"}, `column "when" of TIMESTAMP(`},
		{dated, []string{"day", "when"}, "[1 2] [0 1] [u v] <nil>"},
		{parquetOf(t, []meantRow{{3e9, 1 << 63, 1234, -2500, 10}, {1, 2, -5, 1, 0}}), nil,
			"[3e+09 9.223372e+18 12.34 -2.5 1 2 -0.05 0.001] [1 0] [0 1] <nil>"},
		{parquetOf(t, []endRow{{1, 20000}}), nil, `column "when" of DATE: expected labels (--drop COLUMN`},
		{parquetOf(t, []meantRow{{Class: 15}}), nil, "label 1.5: expected a whole number"},
		{parquetOf(t, []unsignedRow{{1, 3e9}, {2, 0}}), nil, "[1 2] [1 0] [0 3000000000] <nil>"},
	} {
		d, err := Open(write(t, t.TempDir(), "x.parquet", c.file), Options{Drop: c.drop})
		got := fmt.Sprint(err)
		if err == nil {
			got = fmt.Sprint(d.Train.Values, d.Train.Labels, d.Classes, err)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
}

type indexedRow struct {
	ID    int64   `parquet:"id"`
	A     float64 `parquet:"a"`
	Kind  string  `parquet:"kind"`
	Index int64   `parquet:"__index_level_0__"`
}

type wideRow struct {
	When  string  `parquet:"when"`
	A     float64 `parquet:"a"`
	B     int32   `parquet:"b"`
	Class string  `parquet:"class"`
}

type swappedRow struct {
	B     int32   `parquet:"b"`
	A     float64 `parquet:"a"`
	Class string  `parquet:"class"`
}

// Columns that are left out, and those of a model in another order.
func TestParquetColumns(t *testing.T) {
	path := write(t, t.TempDir(), "x.parquet", parquetOf(t, []wideRow{{"x", 1, 2, "cat"}, {"y", -0.5, 4, "bird"}}))
	model := Options{Classes: []string{"bird", "cat"}, Features: []string{"b", "a"}, Shape: dataset.Vector(2)}
	for _, c := range []struct {
		opt       Options
		want, err string
	}{
		{Options{}, "", `column "when" of BYTE_ARRAY: expected numbers, or a column image of images (--drop`},
		{Options{Drop: []string{"when"}}, "[a b] [1 2 -0.5 4] [1 0] []", ""},
		{Options{Drop: []string{"then"}}, "", `--drop: no column "then"`},
		{model, `[b a] [2 1 4 -0.5] [1 0] [left out: column "when": the model has no feature of that name]`, ""},
	} {
		d, err := Open(path, c.opt)
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%v: %v, want %s", c.opt, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Errorf("%v: %v", c.opt, err)
			continue
		}
		if got := fmt.Sprint(d.Features, d.Train.Values, d.Train.Labels, d.Notes); got != c.want {
			t.Errorf("%s, want %s", got, c.want)
		}
	}
	path = write(t, t.TempDir(), "x.parquet", parquetOf(t, []indexedRow{{7, 1, "cat", 3}, {8, 2, "bird", 4}}))
	d, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	const want = `[a] [1 2] [1 0] [left out: columns "__index_level_0__", "id": by its name it numbers the rows]`
	if got := fmt.Sprint(d.Features, d.Train.Values, d.Train.Labels, d.Notes); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	model.Features = []string{"a", "id"} // also one that is called like the numbers of rows
	if d, err = Open(path, model); err != nil {
		t.Fatal(err)
	}
	if got := fmt.Sprint(d.Features, d.Train.Values); got != "[a id] [1 7 2 8]" {
		t.Errorf("a feature called id: %s", got)
	}
}

// Files of one data set have their columns in one order, unless they are put into that of a model.
func TestParquetOrder(t *testing.T) {
	one := parquetOf(t, []featureRow{{1, 2, "cat"}})
	other := parquetOf(t, []swappedRow{{4, -0.5, "bird"}})
	for _, second := range []string{"train-1.parquet", "test-0.parquet"} {
		dir := t.TempDir()
		write(t, dir, "train-0.parquet", one)
		path := write(t, dir, second, other)
		want := path + `: columns "b", "a", expected "a", "b" as in the file before`
		if _, err := Open(dir, Options{}); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
		model := Options{Classes: []string{"bird", "cat"}, Features: []string{"b", "a"}, Shape: dataset.Vector(2)}
		d, err := Open(dir, model)
		if err != nil {
			t.Fatal(err)
		}
		values := d.Train.Values
		if d.Test != nil {
			values = append(values, d.Test.Values...)
		}
		if got := fmt.Sprint(d.Features, values); got != "[b a] [2 1 4 -0.5]" {
			t.Errorf("%s: %s for a model", second, got)
		}
	}
}

type plainRow struct {
	A float64 `parquet:"a"`
	B int32   `parquet:"b"`
}

type numberedRow struct {
	A     float64 `parquet:"a"`
	B     int32   `parquet:"b"`
	Class int32   `parquet:"class"`
}

type plainImage struct {
	Image hubImage `parquet:"image"`
}

type namedImage struct {
	Image hubImage `parquet:"image"`
	Label string   `parquet:"label"`
}

// Files of a split hold samples and labels of one kind, and labels of the same classes.
func TestParquetKinds(t *testing.T) {
	const plain, named, numbered = "vectors without labels", "vectors with texts as labels",
		"vectors with numbers as labels"
	image := hubImage{Bytes: pngOf(t, []byte{1, 2, 3, 4}, 2, 2)}
	classes := func(list string) []byte {
		return parquetOf(t, []hubRow{{image, 1}}, parquet.KeyValueMetadata("huggingface",
			`{"info": {"features": {"label": {"names": [`+list+`]}}}}`))
	}
	files := map[string][]byte{
		plain:                           parquetOf(t, []plainRow{{1, 2}, {3, 4}}),
		named:                           parquetOf(t, []featureRow{{1, 2, "cat"}, {3, 4, "bird"}}),
		numbered:                        parquetOf(t, []numberedRow{{1, 2, 0}, {3, 4, 1}}),
		"images without labels":         parquetOf(t, []plainImage{{image}}),
		"images with texts as labels":   parquetOf(t, []namedImage{{image, "cat"}}),
		"images with numbers as labels": parquetOf(t, []hubRow{{image, 1}}),
		`2 classes ("a", "b")`:          classes(`"a", "b"`),
		`2 classes ("b", "a")`:          classes(`"b", "a"`),
	}
	for _, pair := range [][2]string{
		{numbered, plain}, {numbered, named}, {plain, numbered}, {plain, named}, {named, plain}, {named, numbered},
		{"images with numbers as labels", "images without labels"},
		{"images with numbers as labels", "images with texts as labels"},
		{"images without labels", "images with texts as labels"},
		{"images with texts as labels", "images with numbers as labels"},
		{"images with numbers as labels", numbered}, {named, "images with texts as labels"},
		{`2 classes ("a", "b")`, `2 classes ("b", "a")`},
	} {
		dir := t.TempDir()
		write(t, dir, "train-0.parquet", files[pair[0]])
		path := write(t, dir, "train-1.parquet", files[pair[1]])
		var opt Options
		if strings.HasPrefix(pair[0], "vectors") { // for a model, which tells features from labels
			opt = Options{Features: []string{"a", "b"}, Shape: dataset.Vector(2)}
		}
		want := fmt.Sprintf("%s: %s, expected %s as in the file before", path, pair[1], pair[0])
		if strings.Contains(pair[0], "classes") {
			want = fmt.Sprintf("%s: %s, expected %s of the file before", path, pair[1], `the 2 ("a", "b")`)
		}
		if _, err := Open(dir, opt); err == nil || err.Error() != want {
			t.Errorf("%v, want %s", err, want)
		}
	}
}

// A wrong label or level is that of a sample of the file that holds it.
func TestParquetSamples(t *testing.T) {
	image := hubImage{Bytes: pngOf(t, []byte{1, 2, 3, 4}, 2, 2)}
	names := parquet.KeyValueMetadata("huggingface", `{"info": {"features": {"label": {"names": ["a", "b"]}}}}`)
	pairs := func(s ...string) []featureRow {
		rows := []featureRow{}
		for _, s := range s {
			rows = append(rows, featureRow{1, 2, s})
		}
		return rows
	}
	for _, c := range []struct {
		first, second []byte
		opt           Options
		want          string
	}{
		{parquetOf(t, []hubRow{{image, 1}, {image, 0}}, names), parquetOf(t, []hubRow{{image, 1}, {image, 2}}, names),
			Options{}, "label 2 of sample 1 (counted from 0), expected 0 to 1"},
		{parquetOf(t, pairs("u", "v", "u")), parquetOf(t, pairs("v", "w")), Options{Classes: []string{"u", "v"}},
			`label "w" of sample 1 (counted from 0) is none of the 2 classes`},
		{parquetOf(t, pairs("u", "v", "u")), parquetOf(t, []featureRow{{1, 2, "u"}, {1, 300, "u"}}),
			Options{Rows: 1, Cols: 2}, "sample 1 (counted from 0), feature 1 (counted from 0): 300: expected a level"},
	} {
		dir := t.TempDir()
		write(t, dir, "train-0.parquet", c.first)
		path := write(t, dir, "train-1.parquet", c.second)
		if _, err := Open(dir, c.opt); err == nil || !strings.HasPrefix(err.Error(), path+": "+c.want) {
			t.Errorf("%v, want %s: %s", err, path, c.want)
		}
		if _, err := Open(dir, Options{TrainSize: 9}); err != nil && c.opt.Rows > 0 &&
			!strings.HasSuffix(err.Error(), dir+" (train) holds 5 vectors") {
			t.Errorf("more samples than there are: %v", err)
		}
	}
	broken := parquetOf(t, []hubRow{{image, 1}, {hubImage{Bytes: []byte{1}}, 0}}, names)
	path := write(t, t.TempDir(), "x.parquet", broken)
	if d, err := Open(path, Options{TrainSize: 1}); err != nil || d.Train.Len() != 1 || len(d.Classes) != 2 {
		t.Errorf("the first image, before one that is none: %v, %v", d, err)
	}
}

type titledImage struct {
	At    time.Time `parquet:"at,timestamp"`
	Name  string    `parquet:"name"`
	Image hubImage  `parquet:"image"`
	Label string    `parquet:"label"`
}

// Columns before that of the images are left out as those behind it. Of images that nobody wants no bytes are kept.
func TestParquetImages(t *testing.T) {
	image := hubImage{Bytes: pngOf(t, dataset.Noise(1, 0, 1, dataset.Grey(100, 100)).Pixels, 100, 100)}
	var rows []titledImage
	for i := range 60 {
		rows = append(rows, titledImage{Name: "x", Image: image, Label: []string{"cat", "bird", "dog"}[i%3]})
	}
	path := write(t, t.TempDir(), "x.parquet", parquetOf(t, rows))
	const most = 400_000
	if size := len(rows) * len(image.Bytes); size < most {
		t.Fatalf("%d bytes of images", size)
	}
	d, err := Open(path, Options{TrainSize: 2, Memory: most})
	if err != nil {
		t.Fatal(err)
	}
	const want = `2 [bird cat dog] [1 0] [left out: columns "at", "name": beside a column of images]`
	if got := fmt.Sprint(d.Train.Len(), d.Classes, d.Train.Labels, d.Notes); got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if _, err := Open(path, Options{Memory: most}); err == nil || !strings.Contains(err.Error(), "memory") {
		t.Errorf("all images: %v", err)
	}
}

func TestParquetErrors(t *testing.T) {
	good := parquetOf(t, []featureRow{{1, 2, "cat"}, {-0.5, 4, "bird"}})
	damaged := slices.Clone(good)
	for i := 4; i < 60; i++ {
		damaged[i] ^= 0x55
	}
	nan := 0.0
	for name, b := range map[string][]byte{
		"empty":     nil,
		"text":      []byte("a,b,c\n1,2,3\n"),
		"truncated": good[:len(good)-9],
		"cut":       append(slices.Clone(good[:30]), good[60:]...),
		"damaged":   damaged,
		"not there": parquetOf(t, []featureRow{}),
		"nan":       parquetOf(t, []featureRow{{nan / nan, 1, "a"}}),
		"broken":    parquetOf(t, []hubRow{{hubImage{Bytes: []byte("no image")}, 1}}),
	} {
		path := write(t, t.TempDir(), "x.parquet", b)
		_, err := Open(path, Options{})
		if err == nil || !strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want one line with the file", name, err)
		}
	}
	for want, b := range map[string][]byte{
		`row 1 (counted from 0): column "a": "NaN": expected a finite number`: parquetOf(t, []featureRow{{1, 2, "a"},
			{nan / nan, 3, "b"}}),
		"x.parquet, row 0 (counted from 0): expected": parquetOf(t, []hubRow{{hubImage{Bytes: []byte("x")}, 1}}),
	} {
		if _, err := Open(write(t, t.TempDir(), "x.parquet", b), Options{}); !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	path := write(t, t.TempDir(), "x.parquet", good)
	const want = "row 1 (counted from 0): "
	if _, err := Open(path, Options{Memory: 10}); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("more than the memory: %v", err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Error(err)
	}
}

// FuzzParquet looks for crashes only: the module allocates what the header of a page claims.
func FuzzParquet(f *testing.F) {
	f.Add(parquetOf(f, []featureRow{{1, 2, "cat"}, {-0.5, 4, "bird"}}))
	f.Add(parquetOf(f, []hubRow{{hubImage{Bytes: pngOf(f, []byte{1, 2, 3, 4}, 2, 2)}, 1}}))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := parquetReader{opt: Options{Memory: 1 << 20}, p: &part{file: "x"}}
		if err := r.read("x", bytes.NewReader(b), int64(len(b))); err == nil && len(r.p.values) > 1<<18 {
			t.Fatalf("%d numbers", len(r.p.values))
		}
	})
}
