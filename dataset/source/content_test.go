package source

import (
	"bytes"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/internal/fuzzlimit"
)

// FuzzRoles gives arrays, labels and class names of any kind to a data set.
func FuzzRoles(f *testing.F) {
	f.Add("x_train", "y_train", []byte("abcdef"), []byte("1,2"), "3,1,1,2", 0.5, true)
	f.Add("emnist-test-images-idx3", "labels", []byte("abcdef"), []byte("cat,dog"), "2,3", 0.0, false)
	f.Add("X", "target", []byte("abcdef"), []byte("0,0,-7,99999999"), "6", 0.2, false)
	f.Fuzz(func(t *testing.T, x, y string, data, labels []byte, classes string, share float64, image bool) {
		if len(data) > 1<<12 || len(labels) > 1<<12 {
			return
		}
		n := len(x) + len(y) + len(data) + len(labels) + len(classes)
		fuzzlimit.Check(t, 1024*n+8<<20, func() {
			if _, err := assign("x", []string{x, y}); err != nil && strings.Contains(err.Error(), "\n") {
				t.Fatalf("%q: expected one line", err)
			}
			p := &part{Shape: dataset.Vector(1)}
			if image {
				p.Shape, p.pixels = dataset.Grey(1, 1), bytes.Clone(data)
			} else {
				for _, b := range data {
					p.values = append(p.values, float32(b))
				}
			}
			for l := range strings.SplitSeq(string(labels), ",") {
				p.texts = append(p.texts, l)
			}
			for len(p.texts) < p.size() {
				p.texts = append(p.texts, p.texts...)
			}
			p.texts = p.texts[:p.size()]
			c := &content{name: "x", train: p}
			if classes != "" && image {
				c.classes = strings.Split(classes, ",")
			}
			if !(share >= 0 && share < 1) {
				share = 0
			}
			d, err := c.data(Options{TestShare: share, Seed: uint64(n)})
			if err == nil {
				err = d.Check()
				if n := d.Train.Len(); err != nil || d.Test != nil && n+d.Test.Len() != len(data) {
					t.Fatalf("%v, %d training samples of %d", err, n, len(data))
				}
			}
		})
	})
}
