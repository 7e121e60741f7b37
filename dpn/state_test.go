package dpn

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn/safetensors"
	"dpnbench/internal/fuzzlimit"
)

// stateFile returns a trainer and the file of its state after two epochs.
func stateFile(t testing.TB) (*Trainer, *safetensors.File) {
	t.Helper()
	d := digits(t, 64, 4)
	s := NewTrainer(newModel(t, tiny(), d), newEngine(t))
	loss := 1.0
	var content bytes.Buffer
	p := progress{Epochs: 2, Updates: 5, Best: 2, BestLoss: &loss, Times: []float64{1}, Running: &pass{Updates: 1,
		norms: map[string][]float32{}, used: make([]bool, 5)}}
	p.Running.addNorm("", 1)
	for _, q := range s.params {
		p.Running.norms[q.Group] = []float32{1}
	}
	if err := s.save(&content, StateFile, "data", p); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Read(bytes.NewReader(content.Bytes()), int64(content.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

// restored restores a state of an epoch of two updates as resuming does.
func restored(s *Trainer, f *safetensors.File) (p progress, err error) {
	if p, err = s.restore(f, "data"); err == nil {
		err = p.check(2, 8, true)
	}
	return p, err
}

// TestBadState changes the metadata of a state; each is refused before anything is trained.
func TestBadState(t *testing.T) {
	s, f := stateFile(t)
	if p, err := restored(s, f); err != nil || p.Best != 2 || p.Running.norms[""][0] != 1 {
		t.Fatalf("restored %+v, %v", p, err)
	}
	const running = `"running":{"updates":1}`
	for _, c := range []struct{ key, value, want string }{
		{metaProgress, `[]`, "progress: "},
		{metaProgress, `{"epochs":1,"updates":2,"best_epoch":2,"best_val_loss":1}`, "epoch 2 of 1"},
		{metaProgress, `{"epochs":1,"updates":2,"best_epoch":1}`, "validation loss"},
		{metaProgress, `{"epochs":0,"updates":0,"best_epoch":0,"best_val_loss":1,` + running + `}`, "validation loss"},
		{metaProgress, `{"epochs":1,"updates":1,"best_epoch":1,"best_val_loss":1}`, "1 updates, expected 2 in each"},
		{metaProgress, `{"epochs":1,"updates":2,"best_epoch":1,"best_val_loss":1,` + running + `}`, "2 updates, exp"},
		{metaProgress, `{"epochs":9,"updates":8,"best_epoch":1,"best_val_loss":1}`, "9 epochs of at most 8"},
		{metaProgress, `{"epochs":4,"updates":9,"best_epoch":1,"best_val_loss":1,` + running + `}`, "at most 8"},
		{metaProgress, `{"epochs":-1,"updates":-2}`, "-2 updates"},
		{metaProgress, `{"updates":0}`, "no epoch has begun"},
		{metaProgress, `{"updates":2,"running":{"updates":2}}`, `"epoch.gradient_norms`},
		{metaProgress, `{"updates":3,"prepare_seconds":-1}`, "prepared in -1 s"},
		{metaBeta1, "NaN", "beta1t is"},
		{metaData, "other", "images differ from the original run: the content of data"},
		{metaConfig, "seed = 0x1", "settings: line 1"},
	} {
		g := &safetensors.File{Tensors: f.Tensors, Metadata: maps.Clone(f.Metadata)}
		g.Metadata[c.key] = c.value
		if _, err := restored(s, g); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: error %v, want one with %q", c.key, c.value, err, c.want)
		}
	}
}

// TestStateFormat refuses states of other formats in one line that says what to do.
func TestStateFormat(t *testing.T) {
	_, f := stateFile(t)
	dir := t.TempDir()
	for format, want := range map[string]string{
		formatPrefix + "training state 2": "finish the run with the earlier version",
		formatPrefix + "training state 4": "expected \"dpnbench training state 3\"",
		formatModel:                       "expected",
	} {
		f.Metadata[metaFormat] = format
		if err := safetensors.WriteFile(filepath.Join(dir, StateFile), f); err != nil {
			t.Fatal(err)
		}
		if _, _, err := ReadState(dir); err == nil || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), format) {
			t.Errorf("%s: error %v, want one with %q", format, err, want)
		}
	}
}

// FuzzState restores a state from changed metadata.
func FuzzState(f *testing.F) {
	s, file := stateFile(f)
	m := file.Metadata
	f.Add(m[metaConfig], m[metaProgress], m[metaBeta1])
	f.Add(m[metaConfig], `{"epochs":1,"updates":2,"best_epoch":1}`, "0.5") // a nil pointer once
	f.Add(m[metaConfig], `{"running":{"updates":9223372036854775807}}`, "1e-400")
	f.Add("seed = 0x1\n"+m[metaConfig], "null", "Inf")
	f.Fuzz(func(t *testing.T, config, state, beta string) {
		g := &safetensors.File{Tensors: file.Tensors, Metadata: maps.Clone(m)}
		maps.Copy(g.Metadata, map[string]string{metaConfig: config, metaProgress: state, metaBeta1: beta})
		var p progress
		var err error
		size := len(config) + len(state) + len(beta)
		fuzzlimit.Check(t, 64*size+16<<20, func() { p, err = restored(s, g) })
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
			return
		}
		if p.Best > p.Epochs || p.Best > 0 && p.BestLoss == nil || p.Updates > 8 {
			t.Errorf("restored %+v", p)
		}
		if _, err := json.Marshal(p); err != nil {
			t.Error(err)
		}
	})
}

// FuzzMetrics reads the lines of a state that says it wrote them.
func FuzzMetrics(f *testing.F) {
	f.Add(`{"epoch":1}`+"\n", 1)
	f.Add(`{"epoch":1,"val_loss":null}`+"\n"+`{"epoch":2,"val_loss":1}`+"\n", 2)
	f.Add("null\n{}\n", 2)
	path := filepath.Join(f.TempDir(), MetricsFile)
	f.Fuzz(func(t *testing.T, text string, epochs int) {
		if err := os.WriteFile(path, []byte(text+`{"epoch":`), 0o644); err != nil {
			t.Fatal(err)
		}
		m := newMetrics()
		m.sum.Write([]byte(text))
		m.size = int64(len(text))
		var got *metrics
		var err error
		fuzzlimit.Check(t, 64*len(text)+16<<20, func() { got, err = loadMetrics(path, m.prefix(), epochs) })
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
			return
		}
		if n := len(got.history); n > 0 && got.history[n-1].Epoch != epochs {
			t.Errorf("the last epoch is %d, want %d", got.history[n-1].Epoch, epochs)
		}
		if err := got.restart(); err != nil {
			t.Error(err)
		}
	})
}
