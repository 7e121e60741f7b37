package dpn

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
)

func TestPrefixHashes(t *testing.T) {
	s := digits(t, 1, 100).Test
	all := prefixHashes(s)
	for _, n := range []int{1, 2, 3, 64, 99, 100} {
		if !sameImages(all, prefixHashes(s.Slice(0, n))) {
			t.Errorf("the first %d images are taken for others", n)
		}
	}
	for name, change := range map[string]func(s *dataset.Set){
		"first pixel": func(s *dataset.Set) { s.Pixels[0] ^= 1 },
		"last pixel":  func(s *dataset.Set) { s.Pixels[len(s.Pixels)-1] ^= 1 },
		"last label":  func(s *dataset.Set) { s.Labels[len(s.Labels)-1] ^= 1 },
	} {
		other := &dataset.Set{Pixels: slices.Clone(s.Pixels), Labels: slices.Clone(s.Labels), Shape: s.Shape}
		if change(other); sameImages(all, prefixHashes(other)) {
			t.Errorf("%s: not noticed", name)
		}
	}
	if !sameImages("", all) || !sameImages("x,:,1:", "y") {
		t.Error("images differ from what is not known")
	}
}

// TestOrigin saves and loads what a model says about its images.
func TestOrigin(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	d := digits(t, 20, 10)
	d.Name = "images"
	c := tiny()
	c.Data = "images"
	m := newModel(t, c, d)
	path := filepath.Join("runs", "a", ModelFile)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := m.Save(path); err != nil {
		t.Fatal(err)
	}
	got, err := Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if want, _ := filepath.Abs("images"); got.DataFolder() != want || got.OtherImages(d) {
		t.Errorf("folder %s, want %s; other images %v", got.DataFolder(), want, got.OtherImages(d))
	}
	d.Test.Pixels[3] ^= 1
	if !got.OtherImages(d) {
		t.Error("a pixel has changed, and nobody noticed")
	}
	same := *d
	same.Test = d.Train
	if m := newModel(t, c, &same); !m.OtherImages(&dataset.Data{Train: d.Test, Test: d.Train}) {
		t.Error("trained and tested on the same images, and others for training are not noticed")
	}
	for _, file := range []string{"x/a.csv", "x/b.csv", "y/c.csv"} { // pairs: the second is perhaps beside the first
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o755), os.WriteFile(file, nil, 0o644)); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string][]string{"x/a.csv,y/c.csv": {"", "x/a.csv", "y/c.csv"}, "x/a.csv,b.csv": {"",
		"x/a.csv", "x/b.csv"}, "mnist-c:x": {"mnist-c:", "x"}} {
		c.Data, d.Name = name, name
		for i, path := range want[1:] {
			want[i+1] = filepath.Join(dir, path)
		}
		if err := newModel(t, c, d).Save(path); err != nil {
			t.Fatal(err)
		}
		got, err := Load(path)
		if folder := want[0] + strings.Join(want[1:], ","); err != nil || got.DataFolder() != folder {
			t.Errorf("data %s: folder %s, want %s (%v)", name, got.DataFolder(), folder, err)
		}
	}
	for _, name := range []string{"digits", "mnist", "", filepath.Join(dir, "images")} {
		c.Data = name
		if m := newModel(t, c, d); m.DataFolder() != "" {
			t.Errorf("data %q: folder %s", name, m.DataFolder())
		}
	}
}
