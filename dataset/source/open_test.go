package source

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
)

func TestOpenDigits(t *testing.T) {
	d, err := Open("digits", Options{TrainSize: 30, TestSize: 20, Seed: 5})
	if err != nil {
		t.Fatal(err)
	}
	if !equal(d.Train, dataset.Digits(5, 0, 30)) || !equal(d.Test, dataset.Digits(5, dataset.TestFirst, 20)) {
		t.Error("the splits are not the digits from 0 and from TestFirst on")
	}
	if d.Name != "digits" || len(d.Classes) != 10 || !d.Norm.Equal(dataset.DigitsNorm) {
		t.Errorf("name %q, %q, %+v", d.Name, d.Classes, d.Norm)
	}
	only, err := Open("digits", Options{TrainSize: 30, TestSize: 20, Seed: 5, TestOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if only.Train != nil || !equal(only.Test, d.Test) {
		t.Error("without training digits: others for testing, or some for training")
	}
}

// TestOpenInterrupted opens digits with a context that has ended.
func TestOpenInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, o := range []Options{{TrainSize: 1, TestSize: 1}, {TrainSize: 1000, TestSize: 1}} {
		if _, err := OpenContext(ctx, "digits", o); !errors.Is(err, context.Canceled) {
			t.Errorf("%+v: error %v, want that of the context", o, err)
		}
	}
}

func TestOpenDigitsSizes(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: draws 70,000 digits, minutes under emulation")
	}
	d, err := Open("digits", Options{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	if d.Train.Len() != 60_000 || d.Test.Len() != 10_000 {
		t.Errorf("%d and %d digits, want 60,000 and 10,000", d.Train.Len(), d.Test.Len())
	}
}

func TestOpenFolder(t *testing.T) {
	dir := folder(t, nil)
	d, err := Open(dir, Options{TestSize: 2})
	if err != nil {
		t.Fatal(err)
	}
	if d.Name != dir || d.Train.Len() != 6 || d.Test.Len() != 2 {
		t.Errorf("%q: %d and %d images", d.Name, d.Train.Len(), d.Test.Len())
	}
}

func TestOpenMNISTLooksInTwoPlaces(t *testing.T) {
	if runtime.GOOS == "windows" || runtime.GOOS == "darwin" {
		t.Skip("this system keeps its caches where the test cannot put one: XDG_CACHE_HOME does not count")
	}
	cache := t.TempDir()
	t.Setenv("XDG_CACHE_HOME", cache)
	empty := t.TempDir()
	t.Setenv("DPN_DATA", empty)

	_, err := Open("mnist", Options{})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("without MNIST the error is %v, want fs.ErrNotExist", err)
	}
	inCache := filepath.Join(cache, "dpnbench", "mnist")
	for _, w := range []string{empty, "DPN_DATA", inCache, "dpnbench data fetch mnist"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("message %q lacks %q", err, w)
		}
	}

	if dir, err := CacheDir("mnist"); err != nil || dir != inCache {
		t.Errorf("CacheDir is %q, %v, want %q", dir, err, inCache)
	}
	if err := os.MkdirAll(filepath.Dir(inCache), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(folder(t, nil), inCache); err != nil {
		t.Fatal(err)
	}
	if d, err := Open("mnist", Options{}); err != nil {
		t.Errorf("MNIST in the cache directory: %v", err)
	} else if d.Name != "mnist" || d.Train.Len() != 6 {
		t.Errorf("MNIST in the cache directory: %q, %d images", d.Name, d.Train.Len())
	}

	t.Setenv("DPN_DATA", folder(t, map[string][]byte{trainLabels: idxBytes([]byte{1, 1, 1, 1, 1, 1}, 6)}))
	if d, err := Open("mnist", Options{}); err != nil || d.Train.Labels[0] != 1 {
		t.Errorf("MNIST in DPN_DATA does not come first: %v", err)
	}

	// A broken DPN_DATA is reported, not passed over.
	t.Setenv("DPN_DATA", folder(t, map[string][]byte{testLabels: nil}))
	if _, err := Open("mnist", Options{}); err == nil || !strings.Contains(err.Error(), testLabels) {
		t.Errorf("half of MNIST in DPN_DATA gives %v", err)
	}
}

// The classes of Fashion-MNIST have names, which its files lack, also for a model that knows them when the files are
// named by their folder. A model that knows them by numbers keeps those.
func TestNamedClasses(t *testing.T) {
	data := t.TempDir()
	inner := filepath.Join(data, "fashion-mnist")
	if err := os.Rename(folder(t, nil), inner); err != nil {
		t.Fatal(err)
	}
	t.Setenv("DPN_DATA", data)
	d, err := Open("fashion-mnist", Options{})
	if err != nil {
		t.Fatal(err)
	}
	names := d.Classes
	if len(names) != 10 || names[0] != "T-shirt/top" || names[9] != "Ankle boot" {
		t.Fatalf("classes %q", names)
	}
	numbers := dataset.Numbered(10)
	for _, c := range []struct {
		spec        string
		known, want []string
	}{
		{"fashion-mnist", names, names},
		{"fashion-mnist", numbers, numbers},
		{inner, names, names},
		{inner, numbers, numbers},
		{inner, nil, dataset.Numbered(len(names))},
	} {
		got, err := Open(c.spec, Options{Classes: c.known})
		if err != nil {
			t.Errorf("%s for a model of %q: %v", c.spec, c.known, err)
			continue
		}
		if c.known == nil { // as many as occur
			c.want = c.want[:len(got.Classes)]
		}
		byNumber := c.spec == "fashion-mnist" && slices.Equal(c.known, numbers)
		if noted := slices.ContainsFunc(got.Notes, func(note string) bool {
			return strings.Contains(note, `"T-shirt/top" for "0"`)
		}); noted != byNumber {
			t.Errorf("%s for a model of %q: notes %q", c.spec, c.known, got.Notes)
		}
		if !slices.Equal(got.Classes, c.want) || !slices.Equal(got.Train.Labels, d.Train.Labels) {
			t.Errorf("%s for a model of %q: classes %q, labels %v, want %q, %v", c.spec, c.known, got.Classes,
				got.Train.Labels, c.want, d.Train.Labels)
		}
	}
	if _, err := Open(inner, Options{Classes: []string{"a", "b"}}); err == nil {
		t.Error("numbers are accepted for other classes with names")
	}
}

// TestAbsolute names data from a folder in which their relative names do not hold.
func TestAbsolute(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	here, err := os.Getwd() // dir, but for links
	if err != nil {
		t.Fatal(err)
	}
	for spec, want := range map[string]string{
		"": "", "digits": "digits", "mnist": "mnist", "fashion-mnist": "fashion-mnist",
		"./mnist":        filepath.Join(here, "mnist"),
		"mnist-c:sub":    "mnist-c:" + filepath.Join(here, "sub"),
		"x.npy":          filepath.Join(here, "x.npy"),
		"x.npy,y.npy":    filepath.Join(here, "x.npy") + "," + filepath.Join(here, "y.npy"),
		"a/x.npy,y.npy":  filepath.Join(here, "a", "x.npy") + "," + filepath.Join(here, "y.npy"),
		"x.csv,b/y.csv":  filepath.Join(here, "x.csv") + "," + filepath.Join(here, "b", "y.csv"),
		"x.csv,":         filepath.Join(here, "x.csv,"),
		here + "/z.csv":  filepath.Join(here, "z.csv"),
		"mnist-c:" + dir: "mnist-c:" + dir,
	} {
		if got, err := Absolute(spec); got != want || err != nil {
			t.Errorf("Absolute(%q) = %q, %v, want %q", spec, got, err, want)
		}
	}
	if err := os.Mkdir("sub", 0o755); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"x.csv", "sub/y.csv"} {
		if err := os.WriteFile(name, []byte("a,label\n1,0\n2,1\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	spec, err := Absolute("x.csv,sub/y.csv")
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(other)
	if d, err := Open(spec, Options{}); err != nil || d.Test.Len() != 2 {
		t.Errorf("%s: %v", spec, err)
	}
}

// TestNoCleanImages compares images of MNIST-C with none.
func TestNoCleanImages(t *testing.T) {
	_, err := OpenMNISTC(context.Background(), t.TempDir(), "fog", nil, Options{})
	if err == nil || !strings.Contains(err.Error(), "clean images: no samples") {
		t.Errorf("error %v", err)
	}
}

// A column of images without rows has no image to take the shape from.
func TestNoImages(t *testing.T) {
	if _, err := decodeAll("x.parquet", nil, Options{}); err == nil || err.Error() !=
		"x.parquet: expected images, found none" {
		t.Errorf("error %v", err)
	}
}

func TestOpenErrors(t *testing.T) {
	for _, c := range []struct {
		spec, want string
		opt        Options
	}{
		{spec: "", want: `"digits", "mnist", "fashion-mnist", or a file or folder`},
		{spec: "mnits", want: `"mnits" is neither "digits", "mnist", "fashion-mnist" nor a file or folder`},
		{spec: "./mnits", want: "no file or folder ./mnits"},
		{spec: "digits", opt: Options{TestSize: -3}, want: "test size -3"},
		{spec: "digits", opt: Options{TrainSize: maxDigits + 1},
			want: "train size 10000001: expected at most 10000000"},
	} {
		_, err := Open(c.spec, c.opt)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("Open(%q, %+v): %v, want one line with %q", c.spec, c.opt, err, c.want)
		}
	}
}
