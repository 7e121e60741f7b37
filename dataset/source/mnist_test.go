package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
)

// folder writes an IDX folder: 6 training and 4 test images of 2 x 3 pixels,
// with the given files changed or, when nil, left out.
func folder(t *testing.T, change map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string][]byte{
		trainImages: idxBytes(counting(6*2*3), 6, 2, 3),
		trainLabels: idxBytes([]byte{0, 1, 2, 3, 4, 9}, 6),
		testImages:  idxBytes(counting(4*2*3), 4, 2, 3),
		testLabels:  idxBytes([]byte{5, 6, 7, 8}, 4),
	}
	maps.Copy(files, change)
	for name, b := range files {
		if b == nil {
			continue
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func equal(a, b *dataset.Set) bool {
	return a.Shape == b.Shape && slices.Equal(a.Labels, b.Labels) && bytes.Equal(a.Pixels, b.Pixels)
}

func TestOpenIDXFolder(t *testing.T) {
	dir := folder(t, nil)
	d, err := Open(dir+"/", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Train.Len() != 6 || d.Test.Len() != 4 || d.Train.Rows != 2 || d.Train.Cols != 3 || len(d.Classes) != 10 ||
		!d.Norm.Equal(dataset.NormalizationOf(d.Train)) || d.Name != dir {
		t.Errorf("%d and %d images of %d x %d, classes %q, %+v, name %q", d.Train.Len(), d.Test.Len(), d.Train.Rows,
			d.Train.Cols, d.Classes, d.Norm, d.Name)
	}
	if !bytes.Equal(d.Train.Pixels, counting(36)) || !slices.Equal(d.Train.Labels, []uint16{0, 1, 2, 3, 4, 9}) ||
		!slices.Equal(d.Test.Labels, []uint16{5, 6, 7, 8}) {
		t.Error("the content is not what was written")
	}
	part, err := Open(dir, Options{TrainSize: 4, TestSize: 1})
	if err != nil {
		t.Fatal(err)
	}
	if !equal(part.Train, d.Train.Slice(0, 4)) || !equal(part.Test, d.Test.Slice(0, 1)) {
		t.Error("sizes of 4 and 1 do not give the first images")
	}
	for _, only := range []bool{false, true} {
		_, err := Open(dir, Options{TestShare: 0.5, TestOnly: only, AnySplit: only})
		if err == nil || !strings.Contains(err.Error(), "has test samples") {
			t.Errorf("a share of the training images as test images beside those that are there: %v", err)
		}
	}
	share, err := Open(folder(t, map[string][]byte{testImages: nil, testLabels: nil}),
		Options{TestShare: 1, TestOnly: true})
	if err != nil || share.Train != nil || share.Test.Len() != 6 {
		t.Errorf("all training images as test images: %v", err)
	}
	only, err := Open(folder(t, map[string][]byte{trainImages: nil, trainLabels: []byte("not read")}),
		Options{TestOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if only.Train != nil || !equal(only.Test, d.Test) {
		t.Error("without training images, the test images are others")
	}
}

func TestIDXNames(t *testing.T) {
	images, labels := idxBytes(counting(4*2*3), 4, 2, 3), idxBytes([]byte{5, 6, 7, 8}, 4)
	for name, change := range map[string]map[string][]byte{
		"gzip":                 {testImages: nil, testImages + ".gz": gzipped(t, images)},
		"gzip under .gz-less":  {testImages: gzipped(t, images)},
		"plain under .gz":      {testImages: nil, testImages + ".gz": images},
		"dotted":               {testLabels: nil, "t10k-labels.idx1-ubyte": labels},
		"dotted gzip":          {testImages: nil, "t10k-images.idx3-ubyte.gz": gzipped(t, images)},
		"plain wins over gzip": {testLabels + ".gz": []byte("not looked at")},
	} {
		d, err := Open(folder(t, change), Options{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if !bytes.Equal(d.Test.Pixels, counting(24)) || !slices.Equal(d.Test.Labels, []uint16{5, 6, 7, 8}) {
			t.Errorf("%s: the content is not what was written", name)
		}
	}
}

// TestIDXClasses reads folders of one to 256 classes: the labels say how many.
func TestIDXClasses(t *testing.T) {
	for _, n := range []int{1, 3, 11, 256} {
		d, err := Open(folder(t, map[string][]byte{trainLabels: idxBytes([]byte{0, 0, 0, 0, 0, byte(n - 1)}, 6),
			testLabels: idxBytes(make([]byte, 4), 4)}), Options{TrainSize: 2})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(d.Classes, dataset.Numbered(n)) {
			t.Errorf("%d classes: %q", n, d.Classes)
		}
	}
}

func TestIDXErrors(t *testing.T) {
	for name, c := range map[string]struct {
		dir     string
		opt     Options
		want    []string // parts of the message
		missing bool     // errors.Is(err, fs.ErrNotExist)
	}{
		"no folder": {dir: "/no/such/folder", want: []string{"no file or folder /no/such/folder"}, missing: true},
		"no labels": {dir: folder(t, map[string][]byte{trainLabels: nil}), want: []string{trainLabels},
			missing: true},
		"no test images": {dir: folder(t, map[string][]byte{testImages: nil}), want: []string{testImages},
			missing: true},
		"more labels": {dir: folder(t, map[string][]byte{testLabels: idxBytes(counting(5)[:1], 1)}),
			want: []string{testImages, "4 images, expected 1", testLabels}},
		"wrong magic": {dir: folder(t, map[string][]byte{trainImages: []byte("PK\x03\x04 and so on, not IDX")}),
			want: []string{trainImages, "offset 0:"}},
		"images as labels": {dir: folder(t, map[string][]byte{testLabels: idxBytes(counting(24), 4, 2, 3)}),
			want: []string{testLabels, "number of dimensions 3, expected 1"}},
		"truncated": {dir: folder(t, map[string][]byte{trainImages: idxBytes(counting(30), 6, 2, 3)}),
			want: []string{trainImages, "offset 46:", "30 of the 36"}},
		"other size": {dir: folder(t, map[string][]byte{testImages: idxBytes(counting(36), 4, 3, 3)}),
			want: []string{testImages, "3 x 3", "2 x 3"}},
		"no images": {dir: folder(t, map[string][]byte{testImages: idxBytes(nil, 0, 2, 3)}),
			want: []string{testImages, "is 0"}},
		"more than it has": {dir: folder(t, nil), opt: Options{TestSize: 5},
			want: []string{"test size 5: ", testImages, "holds 4 images"}},
		"negative size": {dir: folder(t, nil), opt: Options{TrainSize: -1}, want: []string{"train size -1"}},
		"truncated gzip": {dir: folder(t, map[string][]byte{testImages: gzipped(t,
			idxBytes(counting(24), 4, 2, 3))[:30]}), want: []string{testImages, "offset"}},
		"unreadable folder": {dir: "no\x00folder", want: []string{"no\x00folder", "invalid"}},
	} {
		d, err := Open(c.dir, c.opt)
		if err == nil {
			t.Errorf("%s: accepted, %d images", name, d.Train.Len())
			continue
		}
		for _, w := range c.want {
			if !strings.Contains(err.Error(), w) {
				t.Errorf("%s: message %q lacks %q", name, err, w)
			}
		}
		if strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: message %q has more than one line", name, err)
		}
		if errors.Is(err, fs.ErrNotExist) != c.missing {
			t.Errorf("%s: %v: is fs.ErrNotExist: %t, want %t", name, err, !c.missing, c.missing)
		}
	}
}

// Runs when DPN_DATA names a folder with the files of the real MNIST.
func TestRealMNIST(t *testing.T) {
	dir := os.Getenv("DPN_DATA")
	if dir == "" {
		t.Skip("MNIST is not part of the project: set DPN_DATA to the folder of its four files")
	}
	d, err := Open("mnist", Options{})
	if err != nil {
		t.Fatal(err)
	}
	if d.Train.Len() != 60000 || d.Test.Len() != 10000 || d.Train.Rows != 28 || d.Train.Cols != 28 ||
		d.Name != "mnist" {
		t.Fatalf("%q: %d and %d images of %d x %d", d.Name, d.Train.Len(), d.Test.Len(), d.Train.Rows, d.Train.Cols)
	}
	if got, want := d.Train.Labels[:10], []uint16{5, 0, 4, 1, 9, 2, 1, 3, 1, 4}; !slices.Equal(got, want) {
		t.Errorf("training labels begin %v, want %v", got, want)
	}
	if got, want := d.Test.Labels[:10], []uint16{7, 2, 1, 0, 4, 1, 4, 9, 5, 9}; !slices.Equal(got, want) {
		t.Errorf("test labels begin %v, want %v", got, want)
	}
	var sum float64
	for _, v := range d.Train.Pixels {
		sum += float64(v)
	}
	if mean := fmt.Sprintf("%.4f", sum/255/float64(len(d.Train.Pixels))); mean != "0.1307" {
		t.Errorf("mean %s, want 0.1307", mean)
	}
	if len(d.Classes) != 10 || !d.Norm.Equal(dataset.MNISTNorm) {
		t.Errorf("%d classes, %+v", len(d.Classes), d.Norm)
	}
}
