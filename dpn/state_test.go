package dpn

import (
	"bytes"
	"encoding/json"
	"maps"
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
	low, high := 1.0, 2.0
	var content bytes.Buffer
	p := progress{updates: 4, seconds: []float64{1}, history: []Epoch{
		{Epoch: 1, ValLoss: &high, ValAccuracy: &low}, {Epoch: 2, ValLoss: &low, ValAccuracy: &low}}}
	if err := s.save(&content, StateFile, "data", p); err != nil {
		t.Fatal(err)
	}
	f, err := safetensors.Read(bytes.NewReader(content.Bytes()), int64(content.Len()))
	if err != nil {
		t.Fatal(err)
	}
	return s, f
}

// TestBadState changes the metadata of a state; each is refused before anything is trained.
func TestBadState(t *testing.T) {
	s, f := stateFile(t)
	p, err := s.restore(f, "data")
	if err != nil || bestEpoch(p.history) != 1 {
		t.Fatalf("best epoch %d, %v", bestEpoch(p.history), err)
	}
	for _, c := range []struct{ key, value, want string }{
		{metaFormat, "dpnbench training state 1", "expected \"dpnbench training state 2\""},
		{metaHistory, `[{"epoch":1,"val_loss":null},{"epoch":2,"val_loss":1}]`, "epoch 2: expected val_loss"},
		{metaHistory, `[{"epoch":1,"val_loss":1,"val_accuracy":1},{"epoch":2}]`, "epoch 2: expected val_loss"},
		{metaHistory, `[{"epoch":2}]`, "epoch 2 at position 0, expected 1"},
		{metaHistory, `{}`, "history: "},
		{metaSteps, `x`, "step_seconds: "},
		{metaUpdates, "-1", "updates is"},
		{metaUpdates, "0x1", "updates is"},
		{metaBeta1, "NaN", "beta1t is"},
		{metaPrepare, "-1", "prepare_seconds is"},
		{metaData, "other", "images differ"},
		{metaConfig, "seed = 0x1", "settings: line 1"},
	} {
		g := &safetensors.File{Tensors: f.Tensors, Metadata: maps.Clone(f.Metadata)}
		g.Metadata[c.key] = c.value
		if _, err := s.restore(g, "data"); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: error %v, want one with %q", c.key, c.value, err, c.want)
		}
	}
}

// FuzzState restores a state from changed metadata, and uses the history as resuming does.
func FuzzState(f *testing.F) {
	s, file := stateFile(f)
	m := file.Metadata
	f.Add(m[metaConfig], m[metaHistory], m[metaSteps], m[metaUpdates], m[metaBeta1])
	f.Add(m[metaConfig], `[{"epoch":1,"val_loss":null},{"epoch":2,"val_loss":1}]`, "[]", "1", "0.5") // nil pointer once
	f.Add(m[metaConfig], `[null,{}]`, "null", "-0", "1e-400")
	f.Add("seed = 0x1\n"+m[metaConfig], "null", "[1e400]", "9223372036854775808", "Inf")
	f.Fuzz(func(t *testing.T, config, history, steps, updates, beta string) {
		g := &safetensors.File{Tensors: file.Tensors, Metadata: maps.Clone(m)}
		for key, value := range map[string]string{metaConfig: config, metaHistory: history, metaSteps: steps,
			metaUpdates: updates, metaBeta1: beta} {
			g.Metadata[key] = value
		}
		var p progress
		var err error
		size := len(config) + len(history) + len(steps) + len(updates) + len(beta)
		fuzzlimit.Check(t, 64*size+16<<20, func() { p, err = s.restore(g, "data") })
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
			return
		}
		if best := bestEpoch(p.history); best >= len(p.history) || best < 0 && len(p.history) > 0 {
			t.Errorf("best epoch %d of %d", best, len(p.history))
		}
		if _, err := json.Marshal(p.history); err != nil {
			t.Error(err)
		}
	})
}
