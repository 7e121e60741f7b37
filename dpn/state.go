package dpn

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/safetensors"
	"dpnbench/internal/format"
	"dpnbench/internal/output"
)

// The state of training, from which it goes on as if it had never stopped: one safetensors file with the
// parameters, the moments of the optimiser, whichever it is ("adam.m." and "adam.v." before the name), the
// unconstrained step size, and in the middle of an epoch what was measured of each update ("epoch."); the rest
// is metadata. The lines of finished epochs are in metrics.jsonl; the state says which file that is.

const (
	formatState  = formatPrefix + "training state 3"
	metaProgress = "progress"
	metaBeta1    = "beta1t"
	metaBeta2    = "beta2t"
	metaData     = "data_sha256"
	prefixM      = "adam.m."
	prefixV      = "adam.v."
	prefixNorms  = "epoch.gradient_norms" // and "." and the group
	nameUsed     = "epoch.used"           // 1 for each component that was used
)

// save writes the state that is kept at path.
func (s *Trainer) save(w io.Writer, path, data string, p progress) error {
	f := s.m.file(formatState)
	s.m.origin.metadata(f, path)
	add := func(name string, shape []int, data []float32) {
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: name, Shape: shape, Data: data})
	}
	add(potential.AlphaRawName, nil, s.m.potential.AlphaRaw())
	for _, q := range s.params {
		add(prefixM+q.Name, q.Shape, q.M)
		add(prefixV+q.Name, q.Shape, q.V)
	}
	if r := p.Running; r != nil {
		for group, norms := range r.norms {
			add(normsName(group), []int{len(norms)}, norms)
		}
		used := make([]float32, len(r.used))
		for i, u := range r.used {
			if u {
				used[i] = 1
			}
		}
		add(nameUsed, []int{len(used)}, used)
	}
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	f.Metadata[metaProgress] = string(text)
	f.Metadata[metaBeta1] = strconv.FormatFloat(s.adam.Beta1T, 'g', -1, 64)
	f.Metadata[metaBeta2] = strconv.FormatFloat(s.adam.Beta2T, 'g', -1, 64)
	f.Metadata[metaData] = data
	return safetensors.Write(w, f)
}

// normsName is the tensor of the gradient norms of a group; "" is the whole gradient.
func normsName(group string) string {
	if group == "" {
		return prefixNorms
	}
	return prefixNorms + "." + group
}

// ReadState returns the settings of the training state in a folder, and where its data lay, as
// Model.DataFolder does.
func ReadState(dir string) (c Config, dataFolder string, err error) {
	output.Finish(dir)
	path := filepath.Join(dir, StateFile)
	f, err := readState(path)
	if err != nil {
		return c, "", err
	}
	c, err = decode([]byte(f.Metadata[metaConfig]), unset)
	if err != nil {
		return c, "", fmt.Errorf("state %s: settings: %w", path, err)
	}
	return c, readOrigin(f, path).folder, nil
}

// readState reads the file of a state. It refuses a damaged one, and one of another format.
func readState(path string) (*safetensors.File, error) {
	f, err := safetensors.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("state %w", fileError(path, err))
	}
	if !f.Checked {
		return nil, fmt.Errorf("state %s: no checksum (%s in the metadata): damaged, or not written by this program",
			path, safetensors.ChecksumKey)
	}
	switch got := f.Metadata[metaFormat]; got {
	case formatState:
		return f, nil
	case formatPrefix + "training state 1", formatPrefix + "training state 2":
		return nil, fmt.Errorf("state %s: format %q is that of an earlier version, expected %q: finish the run with "+
			"the earlier version, or start again", path, got, formatState)
	default:
		return nil, fmt.Errorf("state %s: format %q, expected %q", path, got, formatState)
	}
}

// load restores what save wrote. It refuses a damaged state, and one of other settings or
// other data.
func (s *Trainer) load(path, data string) (p progress, err error) {
	f, err := readState(path)
	if err != nil {
		return p, err
	}
	if p, err = s.restore(f, data); err != nil {
		return p, fmt.Errorf("state %s: %w", path, err)
	}
	return p, nil
}

func (s *Trainer) restore(f *safetensors.File, data string) (p progress, err error) {
	c, err := decode([]byte(f.Metadata[metaConfig]), unset)
	if err != nil {
		return p, fmt.Errorf("settings: %w", err)
	}
	if d := s.m.Config.difference(c); d != "" {
		return p, fmt.Errorf("cannot resume: settings differ from the original run: %s", d)
	}
	if f.Metadata[metaData] != data {
		why := fmt.Sprintf("the content of data %q has changed", c.Data)
		c.TestSize, c.Preset = s.m.Config.TestSize, s.m.Config.Preset // neither of which chooses training samples
		if list := s.m.Config.differences(c); len(list) > 0 {         // only of data: the others are the same
			why = strings.Join(list, ", ")
		} else if c.ValData != "" {
			why = fmt.Sprintf("the content of data %q or val-data %q has changed", c.Data, c.ValData)
		}
		return p, fmt.Errorf("cannot resume: %s differ from the original run: %s", s.m.Shape.Samples(), why)
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
	if err := json.Unmarshal([]byte(f.Metadata[metaProgress]), &p); err != nil {
		return p, fmt.Errorf("progress: %w", format.JSONError(err))
	}
	if p.Updates < 0 || !(p.Prepared >= 0) {
		return p, fmt.Errorf("progress: %d updates, prepared in %v s", p.Updates, p.Prepared)
	}
	if err := p.Running.restore(f, s); err != nil {
		return p, err
	}
	s.updates = p.Updates
	for key, to := range map[string]*float64{metaBeta1: &s.adam.Beta1T, metaBeta2: &s.adam.Beta2T} {
		if *to, err = strconv.ParseFloat(f.Metadata[key], 64); err != nil || !(*to >= 0 && *to < 1) {
			return p, fmt.Errorf("%s is %q, expected 0 to 1", key, f.Metadata[key])
		}
	}
	return p, nil
}

// restore reads what was measured of each update of a pass, if there is one.
func (p *pass) restore(f *safetensors.File, s *Trainer) error {
	if p == nil {
		return nil
	}
	used := f.Tensor(nameUsed)
	if used == nil || len(used.Data) != len(s.used) {
		return fmt.Errorf("expected a tensor %q with %d numbers", nameUsed, len(s.used))
	}
	p.used = make([]bool, len(used.Data))
	for i, u := range used.Data {
		p.used[i] = u != 0
	}
	groups := map[string]bool{"": true}
	for _, q := range s.params {
		groups[q.Group] = true
	}
	p.norms = map[string][]float32{}
	for group := range groups {
		t := f.Tensor(normsName(group))
		if t == nil && p.Updates == 0 {
			continue
		}
		if t == nil || len(t.Data) != p.Updates {
			return fmt.Errorf("expected a tensor %q with %d numbers", normsName(group), p.Updates)
		}
		p.norms[group] = t.Data
	}
	return nil
}

// fingerprint hashes what decides the result besides the settings: images to train and
// to validate on, with their labels, size and normalisation.
func (m *Model) fingerprint(sets ...*dataset.Set) string {
	h := sha256.New()
	if m.Shape == dataset.Grey(m.Shape.Rows, m.Shape.Cols) && len(m.Norm.Mean) == 1 {
		fmt.Fprintln(h, m.Shape.Rows, m.Shape.Cols, m.Norm.Mean[0], m.Norm.Std[0])
	} else {
		fmt.Fprintln(h, m.Shape, m.Norm.Mean, m.Norm.Std)
	}
	var sample []byte
	for _, s := range sets {
		fmt.Fprintln(h, s.Len())
		for i := range s.Len() {
			sample = s.AppendLabel(sample[:0], i)
			h.Write(sample)
		}
		for i := range s.Len() {
			sample = s.AppendSample(sample[:0], i)
			h.Write(sample)
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
