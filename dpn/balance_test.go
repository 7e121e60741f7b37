package dpn

import (
	"cmp"
	"context"
	"errors"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
)

// unevenSet has overlapping classes, of which the second has few samples.
func unevenSet(n int) *dataset.Set {
	all := blobs(dataset.Vector(6), 2*n, 2)
	for i, v := range all.Values { // further apart in one feature only, and barely
		if i%6 != 0 {
			all.Values[i] = float32(math.Mod(float64(v), 1))
		}
	}
	var at []int32
	for i, y := range all.Labels {
		if y == 0 || i%20 == 1 {
			at = append(at, int32(i))
		}
	}
	return all.Pick(at)
}

func balancedConfig() Config {
	c, _ := Preset("compact")
	c.Dim, c.Batch, c.Epochs, c.Components, c.Steps, c.LR = 4, 16, 8, 2, 2, 3e-3
	return c
}

// TestBalance checks that balanced training finds more of a rare class, does not depend on the threads,
// and that its weights make the sums of all classes equal.
func TestBalance(t *testing.T) {
	w := layer.BalancedWeights([]uint16{0, 0, 0, 3}, 5)
	if want := []float32{4. / 6, 1, 1, 2, 1}; !slices.Equal(w, want) {
		t.Errorf("weights %v, want %v", w, want)
	}
	e := newEngine(t)
	var rare [2]float64
	for k, balance := range []bool{false, true} {
		c := balancedConfig()
		c.Balance = balance
		d := dataOf(unevenSet(400), 2)
		m := newModel(t, c, d)
		if _, err := m.Fit(t.Context(), e, d.Train, FitOptions{}); err != nil {
			t.Fatal(err)
		}
		_, by, err := m.ScoreClasses(t.Context(), e, d.Train)
		if err != nil {
			t.Fatal(err)
		}
		rare[k] = *by.Classes[1].Accuracy
	}
	if !(rare[1] > rare[0]) {
		t.Errorf("accuracy of the rare class %v, balanced %v", rare[0], rare[1])
	}
}

// TestBalancedValidation validates on other shares of the classes than those of the training: the weights of the loss
// that chooses the best epoch are those of the training.
func TestBalancedValidation(t *testing.T) {
	e, c := newEngine(t), balancedConfig()
	c.Balance, c.Epochs, c.ValData = true, 1, "other samples"
	d := dataOf(unevenSet(200), 2)
	val := blobs(d.Train.Shape, 60, 2) // half of each class
	m := newModel(t, c, d)
	res, err := m.Fit(t.Context(), e, d.Train, FitOptions{Validation: val})
	if err != nil {
		t.Fatal(err)
	}
	loss := func(weights []float32) float64 {
		score, _, err := m.scoreBy(t.Context(), e, division{pieces: 1}, val, weights, m.logitsOf(val))
		if err != nil {
			t.Fatal(err)
		}
		return score.Loss
	}
	want, plain := loss(layer.BalancedWeights(d.Train.Labels, 2)), loss(nil)
	if got := *res.Epochs[0].ValLoss; got != want || got == plain {
		t.Errorf("validation loss %v, want %v; without weights %v", got, want, plain)
	}
}

// TestBalanceResumed interrupts a balanced training and resumes it: the same bits.
func TestBalanceResumed(t *testing.T) {
	e := newEngine(t)
	c := balancedConfig()
	c.Balance = true
	d := dataOf(unevenSet(200), 2)
	m := newModel(t, c, d)
	if _, err := m.Fit(t.Context(), e, d.Train, FitOptions{}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	again := newModel(t, c, d)
	_, err := again.Fit(ctx, e, d.Train, FitOptions{Dir: dir, OnUpdate: func(done, _ int, _ float64) {
		if done == 23 {
			stop()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	resumed := newModel(t, c, d)
	if _, err := resumed.Fit(t.Context(), e, d.Train, FitOptions{Dir: dir, Resume: true}); err != nil {
		t.Fatal(err)
	}
	if m.WeightsSHA256() != resumed.WeightsSHA256() {
		t.Error("other weights after resuming")
	}
	got, err := Load(filepath.Join(dir, ModelFile))
	if err != nil || !got.Config.Balance {
		t.Errorf("balance is not in the model file: %v", err)
	}
}

// TestFor checks what a preset becomes for a data set.
func TestFor(t *testing.T) {
	sized := func(shape dataset.Shape, n, classes int) *dataset.Data {
		s := &dataset.Set{Shape: shape, Labels: make([]uint16, n)}
		if shape.IsImage() {
			s.Pixels = make([]byte, n*shape.Len())
		} else {
			s.Values = make([]float32, n*shape.Len())
		}
		for i := range n {
			s.Labels[i] = uint16(i % classes)
			if at := i * shape.Len(); s.Pixels != nil {
				s.Pixels[at], s.Pixels[at+1] = byte(i), byte(i>>8)
			} else {
				s.Values[at] = float32(i)
			}
		}
		return dataOf(s, classes)
	}
	large := sized(dataset.Grey(28, 28), 60_000, 10)
	for _, name := range Presets() {
		c, _ := Preset(name)
		if got := c.For(large); got != c {
			t.Errorf("%s on a large set: %+v, was %+v", name, got, c)
		}
		small := sized(dataset.Grey(8, 8), 1437, 10)
		got := c.For(small)
		if name == "mnistc-cnn" { // its rate falls with the epochs
			if got.Epochs != c.Epochs {
				t.Errorf("%s on a small set: %d epochs", name, got.Epochs)
			}
		} else if updates := got.Epochs * ((1294 + c.Batch - 1) / c.Batch); updates < epochUpdates*c.Epochs {
			t.Errorf("%s on a small set: %d epochs, %d updates", name, got.Epochs, updates)
		}
		if _, err := New(got, small); err != nil {
			t.Errorf("%s on a small set: %v", name, err)
		}
	}
	c, _ := Preset("robust")
	if got := c.For(sized(dataset.Vector(4), 150, 3)); got.Components != 18 || got.Rank != 4 || got.RMS {
		t.Errorf("%d components of rank %d, rms %v", got.Components, got.Rank, got.RMS)
	}
	c, _ = Preset("tabular")
	if got := c.For(sized(dataset.Vector(4), 150, 3)); got.ValSize != 0 || got.Epochs != 240 {
		t.Errorf("150 vectors: val-size %d, %d epochs", got.ValSize, got.Epochs)
	}
	for n, want := range map[int]int{999: 0, 1000: -1, 1500: -1} {
		if got := c.For(sized(dataset.Vector(4), n, 3)); got.ValSize != want {
			t.Errorf("%d vectors: val-size %d, want %d", n, got.ValSize, want)
		}
	}
	for _, different := range []int{1, 7, 9, 10} {
		few := sized(dataset.Vector(4), 400, 2)
		for i := range few.Train.Values {
			few.Train.Values[i] = float32(i / 4 % different * (i%4 + 1))
		}
		seen := map[[4]float32]bool{}
		for x := range slices.Chunk(few.Train.Values, 4) {
			seen[[4]float32(x)] = true
		}
		got := c.For(few)
		if want := min(len(seen), c.Components); got.Components != want {
			t.Errorf("%d components for %d different vectors", got.Components, len(seen))
		}
		if m, err := New(got, few); err != nil || m.Check(few.Train) != nil {
			t.Errorf("%d different vectors: %v", len(seen), cmp.Or(err, m.Check(few.Train)))
		}
	}
	c, _ = Preset("clean")
	if got := c.For(sized(dataset.Grey(8, 8), 4000, 40)); got.Components != 40 {
		t.Errorf("%d components for 40 classes", got.Components)
	}
	for _, name := range Presets() {
		uneven := sized(dataset.Grey(8, 8), 402, 2) // two images of the third class
		uneven.Classes = append(uneven.Classes, "c")
		uneven.Train.Labels[400], uneven.Train.Labels[401] = 2, 2
		c, _ := Preset(name)
		got := c.For(uneven)
		if m, err := New(got, uneven); err != nil || m.Check(uneven.Train) != nil {
			t.Errorf("%s with a class of two images: %v", name, cmp.Or(err, m.Check(uneven.Train)))
		}
		if train, _, err := got.Split(uneven.Train); err != nil || got.Init == InitClasswise && got.Components < 3 ||
			got.Components > 9 && c.Init == InitClasswise || train.Len() < 300 {
			t.Errorf("%s with a class of two images: %d components, %v", name, got.Components, err)
		}
	}
	if DefaultPreset(dataset.Vector(3)) != "tabular" || DefaultPreset(dataset.RGB(3, 3)) != "compact" {
		t.Error("default presets")
	}
}

// TestUnconverged checks when a training counts as far from converged.
func TestUnconverged(t *testing.T) {
	m := newModel(t, tiny(), digits(t, 100, 10))
	epochs := func(train float64, val ...float64) (h []Epoch) {
		for i := range val {
			h = append(h, Epoch{Epoch: i + 1, TrainLoss: train, ValLoss: &val[i]})
		}
		return h
	}
	for _, c := range []struct {
		history []Epoch
		warned  string
		want    string
	}{
		{epochs(2.2, 2.2, 2.2), "", ""},
		{epochs(2.2, 2.2, 2.2, 2.2), "unused", "near the 2.3 of guessing: try more epochs"},
		{epochs(2.2, 2.2, 2.2, 2.2), "clipped", "near the 2.3 of guessing: try first what the warning of kind clipped"},
		{epochs(3e3, 3e3, 3e3, 3e3), "", "far above the 2.3 of guessing: try a lower lr or potential-lr"},
		{epochs(3e3, 4e3, 3e3, 2e3, 1e3), "", "far above the 2.3 of guessing: try a lower lr or potential-lr"},
		{epochs(0.5, 2, 1, 0.8, 0.6), "",
			"still fell when training ended, from 0.8 after epoch 3 to 0.6: try more epochs"},
		{epochs(0.5, 2, 1, 0.8, 0.75), "", ""},
		{nil, "", ""},
	} {
		text := ""
		for _, w := range m.unconverged(c.history, []string{"one thing", c.warned}) {
			text += w.Text
		}
		if strings.Contains(text, "higher") && strings.Contains(c.want, "lower") {
			t.Errorf("%q advises both ways", text)
		}
		if !strings.Contains(text, c.want) || (c.want == "") != (text == "") {
			t.Errorf("%d epochs: %q, want %q", len(c.history), text, c.want)
		}
	}
}
