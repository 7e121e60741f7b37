package dpn

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/internal/longtest"
)

// TestOldState checks that a new run that cannot save its first epoch leaves the earlier run whole, and
// that what a crash has left unfinished goes when training is resumed.
func TestOldState(t *testing.T) {
	longtest.Native(t)
	d := digits(t, 256, 10)
	dir := t.TempDir()
	e := newEngine(t)
	fit := func(seed uint64, resume bool) error {
		c := tiny()
		c.Seed, c.Epochs = seed, 2
		if resume {
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			_, err := newModel(t, c, d).Fit(ctx, e, d.Train, FitOptions{Dir: dir, OnEpoch: func(Epoch) { cancel() }})
			if !errors.Is(err, context.Canceled) {
				return err
			}
		}
		_, err := newModel(t, c, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: dir, Resume: resume})
		return err
	}
	if err := fit(1, false); err != nil {
		t.Fatal(err)
	}
	left := filepath.Join(dir, "."+StateFile+".unfinished-"+strings.Repeat("A", 26))
	if err := os.WriteFile(left, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := fit(2, true); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(left); err == nil {
		t.Error("what a crash left is still there")
	}
	before := snapshot(t, dir)
	last := filepath.Join(dir, LastFile)
	if err := os.Remove(last); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(last, 0o755); err != nil { // so that the new run fails to write it
		t.Fatal(err)
	}
	if err := fit(7, false); err == nil || !strings.Contains(err.Error(), LastFile) ||
		strings.Contains(err.Error(), "unfinished") {
		t.Errorf("error %v, want one about %s", err, last)
	}
	after := snapshot(t, dir)
	if delete(before, LastFile); len(after) != len(before) {
		t.Errorf("%d files in the folder, want %d", len(after), len(before))
	}
	for name, content := range before {
		if after[name] != content {
			t.Errorf("%s of the earlier run has changed", name)
		}
	}
}

// TestFolder checks that training refuses a folder that it could not write to before it
// places the centres, and that a folder that an earlier run has filled stays as it is until
// the first update.
func TestFolder(t *testing.T) {
	d, e, ctx := digits(t, 256, 10), newEngine(t), context.Background()
	parent := t.TempDir()
	file, closed := filepath.Join(parent, "file"), filepath.Join(parent, "closed")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(closed, 0o555); err != nil {
		t.Fatal(err)
	}
	refused := []string{filepath.Join(parent, "missing"), file}
	if probe, err := os.CreateTemp(closed, ""); err != nil { // for root it is not closed
		refused = append(refused, closed)
	} else {
		probe.Close()
	}
	for _, dir := range refused {
		m := newModel(t, tiny(), d)
		before := m.WeightsSHA256()
		_, err := m.Fit(ctx, e, d.Train, FitOptions{Dir: dir})
		if err == nil || !strings.Contains(err.Error(), "folder "+dir+": ") ||
			strings.Contains(err.Error(), "writable") {
			t.Errorf("error %v, want one about %s", err, dir)
		}
		if m.WeightsSHA256() != before {
			t.Errorf("%s: the centres were placed", dir)
		}
	}

	names := func(dir string) (list []string) {
		files, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			list = append(list, f.Name())
		}
		return list
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, StateFile), []byte("of an earlier run"), 0o644); err != nil {
		t.Fatal(err)
	}
	before := names(dir)
	ended, cancel := context.WithCancel(ctx)
	cancel() // while the centres are placed
	_, err := newModel(t, tiny(), d).Fit(ended, e, d.Train, FitOptions{Dir: dir})
	if !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if after := names(dir); !slices.Equal(after, before) {
		t.Errorf("no update was made, and the folder holds %v, before %v", after, before)
	}
}

// TestResume checks that training cut off in the middle of an epoch and resumed ends
// with the same bits, metrics and best model as training in one go.
func TestResume(t *testing.T) {
	longtest.Native(t)
	d := digits(t, 600, 10)
	config := tiny()
	config.NoiseMin, config.NoiseMax, config.Denoising = 0.1, 0.3, 0.5 // noise follows the updates
	e := newEngine(t)
	whole, cut := t.TempDir(), t.TempDir()
	m := newModel(t, config, d)
	want, err := m.Fit(context.Background(), e, d.Train, FitOptions{Dir: whole})
	if err != nil {
		t.Fatal(err)
	}

	ctx, cancel := context.WithCancel(context.Background())
	_, err = newModel(t, config, d).Fit(ctx, e, d.Train, FitOptions{Dir: cut, OnUpdate: func(done, _ int, _ float64) {
		if done == 40 { // of 68, in the third epoch
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) {
		t.Fatalf("error %v, want that of the cancelled context", err)
	}
	if _, err := Load(filepath.Join(cut, ModelFile)); err != nil {
		t.Errorf("after the cut: %v", err)
	}
	before := savedProgress(t, cut)
	again := newModel(t, config, d)
	got, err := again.Fit(context.Background(), e, d.Train, FitOptions{Dir: cut, Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	if again.WeightsSHA256() != m.WeightsSHA256() || got.Best != want.Best || got.Updates != want.Updates {
		t.Errorf("resumed: epoch %d, %d updates, weights %s; in one go: epoch %d, %d updates, weights %s",
			got.Best, got.Updates, again.WeightsSHA256(), want.Best, want.Updates, m.WeightsSHA256())
	}
	if !(before.Prepared > 0 && got.PrepareSeconds > before.Prepared) {
		t.Errorf("preparing took %v s in all, %v s until the cut", got.PrepareSeconds, before.Prepared)
	}
	for _, name := range []string{ModelFile, LastFile} {
		a, err := Load(filepath.Join(whole, name))
		if err != nil {
			t.Fatal(err)
		}
		b, err := Load(filepath.Join(cut, name))
		if err != nil {
			t.Fatal(err)
		}
		if a.WeightsSHA256() != b.WeightsSHA256() {
			t.Errorf("%s differs", name)
		}
	}
	metrics := readMetrics(t, cut)
	if len(metrics) != len(want.Epochs) {
		t.Fatalf("metrics of %d epochs, want %d", len(metrics), len(want.Epochs))
	}
	for i, h := range metrics {
		w := want.Epochs[i]
		if h.Epoch != i+1 || h.TrainLoss != w.TrainLoss || *h.ValLoss != *w.ValLoss {
			t.Errorf("metrics of epoch %d: %+v, want %+v", i+1, h, w)
		}
	}

	// Once it is finished, there is nothing to add: times are those of all calls.
	finished, err := newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: cut, Resume: true})
	if err != nil {
		t.Fatal(err)
	}
	if !finished.Already || got.Already || want.Already || finished.PrepareSeconds != got.PrepareSeconds ||
		finished.Seconds != got.Seconds ||
		finished.SecondsPerUpdate != got.SecondsPerUpdate {
		t.Errorf("resumed when finished: %+v, before: %+v", finished, got)
	}
	if kept := savedProgress(t, cut).Prepared; kept != got.PrepareSeconds {
		t.Errorf("the state says that %v s went into preparing, want %v", kept, got.PrepareSeconds)
	}

	if _, err := newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: t.TempDir(),
		Resume: true}); err == nil ||
		!strings.Contains(err.Error(), StateFile) {
		t.Errorf("error %v, want one about the missing state", err)
	}
	other := config
	other.LR = 2e-3
	if _, err := newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Resume: true}); err == nil ||
		!strings.Contains(err.Error(), "Dir") {
		t.Errorf("resumed without a folder: %v", err)
	}
	_, err = newModel(t, other, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: cut, Resume: true})
	if err == nil || !strings.Contains(err.Error(), "lr is 0.002, was 0.001") {
		t.Errorf("error %v, want one that names the changed setting", err)
	}
	_, err = newModel(t, config, d).Fit(
		context.Background(),
		e,
		digits(t, 700, 10).Train,
		FitOptions{Dir: cut, Resume: true},
	)
	if err == nil || !strings.Contains(err.Error(), "images differ") {
		t.Errorf("error %v, want one about other images", err)
	}
	val := *d.Train
	val.Labels = slices.Clone(val.Labels)
	val.Labels[len(val.Labels)-1] ^= 1 // of an image to validate on
	_, err = newModel(t, config, d).Fit(context.Background(), e, &val, FitOptions{Dir: cut, Resume: true})
	if err == nil || !strings.Contains(err.Error(), "images differ") {
		t.Errorf("error %v, want one about other images", err)
	}
	seeded := config
	seeded.Seed++
	turned := *d
	images := *d.Train
	images.Pixels = slices.Clone(images.Pixels)
	images.Pixels[0] ^= 1
	turned.Train = &images
	best, err := os.ReadFile(filepath.Join(cut, ModelFile))
	if err != nil {
		t.Fatal(err)
	}
	for want, other := range map[string]*Model{"seed is": newModel(t, seeded, d),
		"other samples": newModel(t, config, &turned)} {
		if err := other.Save(filepath.Join(cut, ModelFile)); err != nil {
			t.Fatal(err)
		}
		_, err = newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: cut, Resume: true})
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), ModelFile) {
			t.Errorf("a model of another run: error %v, want %s", err, want)
		}
	}
	if err := os.WriteFile(filepath.Join(cut, ModelFile), best, 0o666); err != nil {
		t.Fatal(err)
	}
	earlier, err := Load(filepath.Join(cut, ModelFile)) // as in a copy that was made while training went on
	if err != nil || earlier.epoch != want.Best || want.Best < 2 {
		t.Fatalf("model of epoch %d, want %d, after the first (%v)", earlier.epoch, want.Best, err)
	}
	earlier.epoch--
	if err := earlier.Save(filepath.Join(cut, ModelFile)); err != nil {
		t.Fatal(err)
	}
	_, err = newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: cut, Resume: true})
	if err == nil || !strings.Contains(err.Error(), "the best one of") {
		t.Errorf("a model of an earlier epoch: error %v, want one that names the epochs", err)
	}
	if err := os.WriteFile(filepath.Join(cut, ModelFile), best, 0o666); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{ModelFile, StateFile} {
		path := filepath.Join(cut, name)
		damage(t, path)
		_, err = newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: cut, Resume: true})
		if err == nil || !strings.Contains(err.Error(), "damaged") || !strings.Contains(err.Error(), path) {
			t.Errorf("error %v, want one about the damaged %s", err, path)
		}
	}
}

// TestFitRefusesLearned checks that Fit trains nothing but a fresh model: not one of a Fit, a
// Trainer or a file, which a Trainer goes on with; resuming replaces all of a model.
func TestFitRefusesLearned(t *testing.T) {
	d, e, ctx := digits(t, 100, 10), newEngine(t), context.Background()
	c := tiny()
	c.Epochs = 1
	dir := t.TempDir()
	fitted, updated := newModel(t, c, d), newModel(t, c, d)
	if _, err := fitted.Fit(ctx, e, d.Train, FitOptions{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	if _, err := updated.Init(ctx, e, d.Train); err != nil {
		t.Fatal(err)
	}
	if _, err := NewTrainer(updated, e).Update(d.Train, []int32{1, 2, 3}, 1); err != nil {
		t.Fatal(err)
	}
	loaded, err := Load(filepath.Join(dir, ModelFile))
	if err != nil {
		t.Fatal(err)
	}
	want := fitted.WeightsSHA256()
	for name, m := range map[string]*Model{"fitted": fitted, "updated": updated, "loaded": loaded} {
		before := m.WeightsSHA256()
		if _, err := m.Fit(ctx, e, d.Train, FitOptions{}); err == nil || !strings.Contains(err.Error(), "Trainer") {
			t.Errorf("%s: error %v, want one that points to Trainer", name, err)
		}
		if m.WeightsSHA256() != before {
			t.Errorf("%s: the weights changed", name)
		}
		if _, err := m.Fit(ctx, e, d.Train, FitOptions{Dir: dir, Resume: true}); err != nil ||
			m.WeightsSHA256() != want {
			t.Errorf("%s: resumed: %v, weights %s, want %s", name, err, m.WeightsSHA256(), want)
		}
		if _, err := NewTrainer(m, e).Update(d.Train, []int32{1, 2, 3}, 1); err != nil || m.WeightsSHA256() == want {
			t.Errorf("%s: %v, a Trainer changed nothing", name, err)
		}
	}
	again := newModel(t, c, d) // Init before Fit learns nothing
	if _, err := again.Init(ctx, e, d.Train.Slice(0, 50)); err != nil {
		t.Fatal(err)
	}
	if _, err := again.Fit(ctx, e, d.Train, FitOptions{}); err != nil || again.WeightsSHA256() != want {
		t.Errorf("%v, weights %s, without Init before %s", err, again.WeightsSHA256(), want)
	}
}

// savedProgress returns what the state in a folder says.
func savedProgress(t *testing.T, dir string) (p progress) {
	t.Helper()
	f, err := readState(filepath.Join(dir, StateFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(f.Metadata[metaProgress]), &p); err != nil {
		t.Fatal(err)
	}
	return p
}

// snapshot returns the content of the files in a folder by their names.
func snapshot(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, f := range list {
		if f.IsDir() {
			continue
		}
		b, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			t.Fatal(err)
		}
		all[f.Name()] = string(b)
	}
	return all
}
