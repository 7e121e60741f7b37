package source

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
)

// Tables of two splits: pairs whose second file is in the folder of the first, names with a comma, and folders. What is
// read are input files, so that no output replaces them.
func TestPairs(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, filepath.FromSlash(name)) }
	write(t, dir, "a/train.csv", []byte("1,2,x\n3,4,z\n5,6,x\n"))
	write(t, dir, "a/test.csv", []byte("1,2,x\n"))
	write(t, dir, "b,c/train.csv", []byte("1,2,x\n3,4,z\n5,6,x\n"))
	write(t, dir, "b,c/test.csv", []byte("1,2,x\n"))
	write(t, dir, "d,e.csv", []byte("1,2,x\n3,4,z\n5,6,x\n"))
	write(t, dir, "only/test.csv", []byte("1,2,x\n"))
	write(t, dir, "two/one.csv", []byte("1,2,x\n"))
	write(t, dir, "two/other.csv", []byte("1,2,x\n"))
	write(t, dir, "tests/test-a.csv", []byte("1,2,x\n"))
	write(t, dir, "tests/test-b.csv", []byte("1,2,x\n"))
	classes := []string{"x", "z"}
	for _, c := range []struct {
		spec        string
		files       string
		train, test int // samples
		err         string
	}{
		{"a/train.csv,test.csv", "a/train.csv a/test.csv", 3, 1, ""},
		{"a", "a/test.csv a/train.csv", 3, 1, ""},
		{"b,c", "b,c/test.csv b,c/train.csv", 3, 1, ""},
		{"b,c/train.csv", "b,c/train.csv", 3, 0, ""},
		{"d,e.csv", "d,e.csv", 3, 0, ""},
		{"only", "only/test.csv", 0, 1, ""},
		{"two", "two/one.csv two/other.csv", 0, 0, "expected train.csv and test.csv, or one file"},
		{"tests", "tests/test-a.csv tests/test-b.csv", 0, 0, "expected train.csv and test.csv, or one file"},
	} {
		var files []string
		for _, f := range InputFiles(in(c.spec)) {
			files = append(files, filepath.ToSlash(strings.TrimPrefix(f, dir+string(filepath.Separator))))
		}
		if want := strings.Fields(c.files); !slices.Equal(files, want) {
			t.Errorf("%s: files %q, want %q", c.spec, files, want)
		}
		d, err := Open(in(c.spec), Options{TestOnly: c.train == 0, Classes: classes})
		some, _, samplesErr := OpenSamples(context.Background(), []string{in(c.spec)}, nil, dataset.Vector(2),
			Options{Classes: classes})
		if c.err != "" {
			for _, err := range []error{err, samplesErr} {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("%s: error %v, want %q", c.spec, err, c.err)
				}
			}
			continue
		}
		if err != nil || samplesErr != nil {
			t.Errorf("%s: %v, %v", c.spec, err, samplesErr)
			continue
		}
		size := func(s *dataset.Set) int {
			if s == nil {
				return 0
			}
			return s.Len()
		}
		want := c.test
		if want == 0 {
			want = c.train
		}
		if size(d.Train) != c.train || size(d.Test) != c.test || some.Test.Len() != want {
			t.Errorf("%s: %d training, %d test samples, %d to classify", c.spec, size(d.Train), size(d.Test),
				some.Test.Len())
		}
	}
}
