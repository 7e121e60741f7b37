package dpn

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/safetensors"
	"dpnbench/engine/num"
)

// sized returns images of one pixel, their position, of classes of these sizes, sorted by class.
func sized(sizes ...int) *dataset.Set {
	s := &dataset.Set{Shape: dataset.Grey(1, 1)}
	for y, n := range sizes {
		for range n {
			s.Pixels, s.Labels = append(s.Pixels, byte(len(s.Pixels))), append(s.Labels, uint16(y))
		}
	}
	return s
}

func counts(s *dataset.Set, classes int) []int {
	n := make([]int, classes)
	for _, y := range s.Labels {
		n[y]++
	}
	return n
}

// TestQuotas checks how many validation images each class gets.
func TestQuotas(t *testing.T) {
	for _, c := range []struct {
		n           int
		sizes, want []int
	}{
		{10, []int{50, 30, 20}, []int{5, 3, 2}},
		{10, []int{55, 28, 17}, []int{5, 3, 2}},         // 5.5, 2.8, 1.7: the largest remainders
		{1, []int{10, 10, 10}, []int{1, 0, 0}},          // equal: the lower class
		{2, []int{1, 1, 18}, []int{0, 0, 2}},            // the only image of a class is for training
		{3, []int{2, 2, 2, 0, 2}, []int{1, 1, 1, 0, 0}}, // one of each class stays
		{6, []int{2, 2, 2, 0, 2}, []int{2, 2, 1, 0, 1}}, // unless there are too few
		{4, []int{1, 1, 1, 1, 1}, []int{1, 1, 1, 1, 0}},
		{0, []int{3, 4}, []int{0, 0}},
	} {
		s := sized(c.sizes...)
		q := quotas(s.Labels, c.n)
		if !slices.Equal(q[:len(c.want)], c.want) {
			t.Errorf("%d of %v: %v, want %v", c.n, c.sizes, q[:len(c.want)], c.want)
		}
		config := tiny()
		config.ValSize = c.n
		if _, val, err := config.Split(s); err != nil || !slices.Equal(counts(val, len(c.want)), c.want) {
			t.Errorf("%d of %v: %v, want %v (%v)", c.n, c.sizes, counts(val, len(c.want)), c.want, err)
		}
	}
}

// TestSplit checks exact counts, the order of the training images, and which seed decides.
func TestSplit(t *testing.T) {
	s := sized(100, 50, 90)
	c := tiny()
	split := func(seed, dataSeed uint64) (train, val *dataset.Set) {
		c.Seed, c.DataSeed = seed, dataSeed
		train, val, err := c.Split(s)
		if err != nil {
			t.Fatal(err)
		}
		return train, val
	}
	pixels := func(s *dataset.Set) (list []byte) {
		for i := range s.Len() {
			list = append(list, s.Image(i)...)
		}
		return list
	}
	train, val := split(1, 1)
	if !slices.Equal(counts(val, 3), []int{10, 5, 9}) || !slices.IsSorted(pixels(train)) ||
		slices.IsSorted(pixels(val)) {
		t.Errorf("validation classes %v, images %v", counts(val, 3), pixels(val))
	}
	all := append(pixels(train), pixels(val)...)
	if slices.Sort(all); !slices.Equal(all, s.Pixels) {
		t.Error("an image is in both parts, or in none")
	}
	for i := range val.Len() {
		if s.Labels[val.Image(i)[0]] != val.Labels[i] {
			t.Errorf("validation image %d has another label", i)
		}
	}
	if _, other := split(1, 2); !slices.Equal(pixels(other), pixels(val)) {
		t.Error("the seed of the data has changed the split")
	}
	if _, other := split(2, 1); slices.Equal(pixels(other), pixels(val)) {
		t.Error("the seed has not changed the split")
	}
}

// TestSortedByClass trains on shuffled digits and on the same sorted by class: the first epoch must come
// equally far.
func TestSortedByClass(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: trains for seconds, a minute under emulation")
	}
	d, e := digits(t, 3000, 10), newEngine(t)
	sorted := make([]int32, d.Train.Len())
	for i := range sorted {
		sorted[i] = int32(i)
	}
	slices.SortStableFunc(sorted, func(a, b int32) int { return int(d.Train.Labels[a]) - int(d.Train.Labels[b]) })
	shuffled := make([]int32, len(sorted))
	num.NewRand(7, 0).Permutation(shuffled)
	var accuracy []float64
	for _, at := range [][]int32{shuffled, sorted} {
		c, _ := Preset("compact")
		c.Epochs = 1
		r, err := newModel(t, c, d).Fit(context.Background(), e, d.Train.Pick(at), FitOptions{})
		if err != nil {
			t.Fatal(err)
		}
		accuracy = append(accuracy, *r.Epochs[0].ValAccuracy)
	}
	if !(math.Abs(accuracy[0]-accuracy[1]) <= 0.05) || accuracy[1] < 0.5 {
		t.Errorf("validation accuracy %.3f on shuffled images, %.3f sorted by class", accuracy[0], accuracy[1])
	}
}

// unmarked removes what earlier versions did not write from a model or state file.
func unmarked(t *testing.T, path string) {
	t.Helper()
	f, err := safetensors.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if f.Metadata[metaSplit] != splitStratified {
		t.Errorf("%s: split %q", path, f.Metadata[metaSplit])
	}
	delete(f.Metadata, metaSplit)
	if err := safetensors.WriteFile(path, f); err != nil {
		t.Fatal(err)
	}
}

// TestEarlierSplit checks that a model of an earlier version keeps its last images for validation, also
// after it was saved again.
func TestEarlierSplit(t *testing.T) {
	d, e, dir := digits(t, 200, 10), newEngine(t), t.TempDir()
	c := tiny()
	c.Epochs = 2
	whole := newModel(t, c, d)
	whole.lastSplit = true
	if _, err := whole.Fit(context.Background(), e, d.Train, FitOptions{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, ModelFile)
	for range 2 {
		m, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		train, val, err := m.Split(d.Train)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(val.Labels, d.Train.Labels[180:]) || !slices.Equal(train.Labels, d.Train.Labels[:180]) {
			t.Error("the model has other validation images than it was trained with")
		}
		path = filepath.Join(dir, "again.safetensors")
		if err := m.Save(path); err != nil {
			t.Fatal(err)
		}
	}
	fresh := newModel(t, c, d)
	if err := fresh.Save(path); err != nil {
		t.Fatal(err)
	}
	unmarked(t, path)
	if m, err := Load(path); err != nil || !m.lastSplit {
		t.Errorf("a file without the mark: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	f := fresh.file(formatModel)
	f.Metadata[metaSplit] = "x"
	if _, err := FromTensors(f, "", Published); err == nil || !strings.Contains(err.Error(),
		`validation_split is "x"`) {
		t.Errorf("error %v about an unknown split", err)
	}
}
