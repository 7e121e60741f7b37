package dpn

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strconv"

	"dpnbench/dataset"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/safetensors"
)

// The training state after an epoch, from which training goes on as if it had never
// stopped: one safetensors file with the parameters, Adam's moments ("adam.m." and
// "adam.v." before the name) and the unconstrained step size; the rest is metadata.

const (
	formatState = formatPrefix + "training state 2"
	metaHistory = "history"
	metaUpdates = "updates"
	metaBeta1   = "beta1t"
	metaBeta2   = "beta2t"
	metaData    = "data_sha256"
	metaSteps   = "step_seconds"
	metaPrepare = "prepare_seconds" // not in states of before it was counted
	prefixM     = "adam.m."
	prefixV     = "adam.v."
)

// keptSeconds is the number of updates whose times are kept, for the median.
const keptSeconds = 1 << 15

// progress is how far training has come.
type progress struct {
	history  []Epoch
	updates  int
	seconds  []float64 // of the last updates, at most keptSeconds
	prepared float64   // seconds before the first epoch, of every call of Fit
}

// save writes the state that is kept at path.
func (s *Trainer) save(w io.Writer, path, data string, p progress) error {
	f := s.m.file(formatState)
	s.m.origin.metadata(f, path)
	f.Tensors = append(f.Tensors, safetensors.Tensor{Name: potential.AlphaRawName, Data: s.m.potential.AlphaRaw()})
	for _, q := range s.params {
		f.Tensors = append(f.Tensors,
			safetensors.Tensor{Name: prefixM + q.Name, Shape: q.Shape, Data: q.M},
			safetensors.Tensor{Name: prefixV + q.Name, Shape: q.Shape, Data: q.V})
	}
	history, err := json.Marshal(p.history)
	if err != nil {
		return err
	}
	seconds, err := json.Marshal(p.seconds)
	if err != nil {
		return err
	}
	f.Metadata[metaHistory] = string(history)
	f.Metadata[metaSteps] = string(seconds)
	f.Metadata[metaPrepare] = strconv.FormatFloat(p.prepared, 'g', -1, 64)
	f.Metadata[metaUpdates] = strconv.Itoa(p.updates)
	f.Metadata[metaBeta1] = strconv.FormatFloat(s.adam.Beta1T, 'g', -1, 64)
	f.Metadata[metaBeta2] = strconv.FormatFloat(s.adam.Beta2T, 'g', -1, 64)
	f.Metadata[metaData] = data
	return safetensors.Write(w, f)
}

// load restores what save wrote. It refuses a damaged state, and one of other settings or
// other data.
func (s *Trainer) load(path, data string) (p progress, err error) {
	f, err := safetensors.ReadFile(path)
	if err != nil {
		return p, fileError("state", path, err)
	}
	if !f.Checked {
		return p, fmt.Errorf("state %s: no checksum (%s in the metadata): damaged, or not written by this program",
			path, safetensors.ChecksumKey)
	}
	if p, err = s.restore(f, data); err != nil {
		return p, fmt.Errorf("state %s: %w", path, err)
	}
	return p, nil
}

func (s *Trainer) restore(f *safetensors.File, data string) (p progress, err error) {
	if got := f.Metadata[metaFormat]; got != formatState {
		return p, fmt.Errorf("format %q, expected %q", got, formatState)
	}
	c, err := decode([]byte(f.Metadata[metaConfig]), unset)
	if err != nil {
		return p, fmt.Errorf("settings: %w", err)
	}
	if d := s.m.Config.difference(c); d != "" {
		return p, fmt.Errorf("cannot resume: settings differ from the original run: %s", d)
	}
	if f.Metadata[metaData] != data {
		return p, fmt.Errorf(
			"cannot resume: images differ from the original run (data %q, train-size %d, val-size %d, data-seed %d)",
			c.Data, c.TrainSize, c.ValSize, c.DataSeed)
	}
	for _, q := range s.m.Params() {
		if err := copyTensor(q.Data, f, q.Name, q.Shape); err != nil {
			return p, err
		}
	}
	if err := copyTensor(s.m.potential.AlphaRaw(), f, potential.AlphaRawName, nil); err != nil {
		return p, err
	}
	for _, q := range s.params {
		if err := copyTensor(q.M, f, prefixM+q.Name, q.Shape); err != nil {
			return p, err
		}
		if err := copyTensor(q.V, f, prefixV+q.Name, q.Shape); err != nil {
			return p, err
		}
	}
	s.m.potential.Changed()
	s.m.fresh = false
	if err := json.Unmarshal([]byte(f.Metadata[metaHistory]), &p.history); err != nil {
		return p, fmt.Errorf("history: %w", err)
	}
	if err := checkHistory(p.history); err != nil {
		return p, err
	}
	if err := json.Unmarshal([]byte(f.Metadata[metaSteps]), &p.seconds); err != nil {
		return p, fmt.Errorf("step_seconds: %w", err)
	}
	if text, ok := f.Metadata[metaPrepare]; ok {
		if p.prepared, err = strconv.ParseFloat(text, 64); err != nil || !(p.prepared >= 0) {
			return p, fmt.Errorf("%s is %q, expected a number of seconds", metaPrepare, text)
		}
	}
	if p.updates, err = strconv.Atoi(f.Metadata[metaUpdates]); err != nil || p.updates < 0 {
		return p, fmt.Errorf("updates is %q, expected a number", f.Metadata[metaUpdates])
	}
	s.updates = p.updates
	for key, to := range map[string]*float64{metaBeta1: &s.adam.Beta1T, metaBeta2: &s.adam.Beta2T} {
		if *to, err = strconv.ParseFloat(f.Metadata[key], 64); err != nil || !(*to >= 0 && *to < 1) {
			return p, fmt.Errorf("%s is %q, expected 0 to 1", key, f.Metadata[key])
		}
	}
	return p, nil
}

// checkHistory refuses a history that training does not write: epochs out of order, or with
// a validation loss in some epochs only.
func checkHistory(history []Epoch) error {
	for i, h := range history {
		switch validated := history[0].ValLoss != nil; {
		case h.Epoch != i+1:
			return fmt.Errorf("history: epoch %d at position %d, expected %d", h.Epoch, i, i+1)
		case (h.ValLoss != nil) != validated:
			return fmt.Errorf("history: epoch %d: expected val_loss in every epoch or in none", h.Epoch)
		}
	}
	return nil
}

// bestEpoch returns the index of the epoch with the lowest validation loss, of those without one
// the last, or -1.
func bestEpoch(history []Epoch) int {
	best := -1
	for i, h := range history {
		if best < 0 || h.ValLoss == nil || *h.ValLoss < *history[best].ValLoss {
			best = i
		}
	}
	return best
}

// fingerprint hashes what decides the result besides the settings: images to train and
// to validate on, with their labels, size and normalisation.
func (m *Model) fingerprint(sets ...*dataset.Set) string {
	h := sha256.New()
	fmt.Fprintln(h, m.Rows, m.Cols, m.Norm.Mean, m.Norm.Std)
	for _, s := range sets {
		fmt.Fprintln(h, s.Len())
		h.Write(s.Labels)
		for i := range s.Len() {
			h.Write(s.Image(i))
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
