package dpn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"dpnbench/dpn/safetensors"
	"dpnbench/internal/output"
)

// saved is what the folder of a run holds.
type saved struct {
	state   bool // the state of this run
	epochs  int  // finished
	best    int
	updates int
	at      time.Time
	took    time.Duration

	last [][]float32 // parameters after the last finished epoch, if the folder does not have them
}

// A finished epoch is saved unless the folder was saved a moment ago: short epochs would cost more to save
// than to train. The moment is a second, or longer if needed to keep the cost below a twentieth of the time.
const (
	moment    = time.Second
	costShare = 20
)

// checkpointDue says whether to save in the middle of an epoch.
func (f *fitting) checkpointDue() bool {
	if f.opt.Dir == "" {
		return false
	}
	n, interval := f.opt.CheckpointUpdates, f.opt.CheckpointInterval
	return n > 0 && f.Updates-f.saved.updates >= n || interval > 0 && time.Since(f.saved.at) >= interval
}

// saveEpoch saves the epoch that has just finished, or remembers its model if the folder was saved a moment ago.
// before is the progress before it finished.
func (f *fitting) saveEpoch(before progress, end bool) error {
	if f.opt.Dir == "" {
		return nil
	}
	if end || f.saved.epochs == 0 || time.Since(f.saved.at) >= max(moment, costShare*f.saved.took) ||
		f.checkpointDue() {
		f.saved.last = nil // the parameters are still those
		return f.save(before, true)
	}
	f.saved.last = copyParams(f.saved.last, f.m.Params())
	return nil
}

// copyParams copies the data of params to to, which it allocates if it is nil.
func copyParams(to [][]float32, params []*Param) [][]float32 {
	for i, p := range params {
		if len(to) <= i {
			to = append(to, make([]float32, len(p.Data)))
		}
		copy(to[i], p.Data)
	}
	return to
}

// save brings the folder up to date: all files are written before the first one is replaced, so that a full
// disk leaves the folder as it was. A crash between two renames leaves a state that training goes on from:
// models and metrics may then be of later epochs than the state, which come again with the same bits.
//
// The first save of a run puts its state in the place of that of an earlier run before it touches any other
// file: from that moment the folder is of the new run. This state needs no other file; running is its
// progress, in the middle of the first epoch.
//
// Without state the state stays as it is, for weights that training should not go on from.
func (f *fitting) save(running progress, state bool) error {
	dir := f.opt.Dir
	if dir == "" {
		return nil
	}
	begun := time.Now()
	b := &saving{f: f}
	defer b.files.Discard()
	if !f.saved.state {
		b.state(running)
	}
	if f.saved.epochs == 0 {
		b.first()
	}
	if f.Best != f.saved.best {
		b.model(ModelFile, f.bestModel)
	}
	if f.Epochs > f.saved.epochs {
		b.model(LastFile, f.saved.last)
	}
	b.metrics()
	if state && (f.saved.state || f.Running == nil) {
		b.state(f.progress)
	}
	if b.err == nil {
		b.err = b.commit()
	}
	if b.err != nil {
		return b.err
	}
	f.lines.pending = nil
	f.saved = saved{state: true, epochs: f.Epochs, best: f.Best, updates: f.Updates, at: time.Now(),
		took: time.Since(begun)}
	f.opt.Log.Info("saved", "epochs", f.Epochs, "updates", f.Updates, "best", f.Best, "seconds",
		f.saved.took.Seconds(), "folder", dir)
	if f.opt.OnSave != nil && state {
		f.opt.OnSave(f.Epochs, f.Updates)
	}
	return nil
}

// saving collects the files of a save, in the order in which they are replaced, up to the first error.
type saving struct {
	f      *fitting
	files  output.Batch
	append bool // the new lines of metrics.jsonl
	err    error
}

func (b *saving) path(name string) string { return filepath.Join(b.f.opt.Dir, name) }

func (b *saving) write(what, name string, write func(io.Writer) error) {
	if b.err != nil {
		return
	}
	if err := b.files.Write(b.path(name), write); err != nil {
		b.err = fileError(what, b.path(name), err)
	}
}

func (b *saving) state(p progress) {
	b.write("state", StateFile, func(w io.Writer) error { return b.f.step.save(w, b.path(StateFile), b.f.data, p) })
}

// model writes a model with the parameters that are given; nil: as they are.
func (b *saving) model(name string, params [][]float32) {
	b.write("model", name, func(w io.Writer) error {
		file := b.f.m.modelFile(b.path(name))
		for i := range params {
			file.Tensors[i].Data = params[i]
		}
		return safetensors.Write(w, file)
	})
}

// first removes what an earlier run has left, unless a file of this run replaces it, and writes the settings.
func (b *saving) first() {
	for _, path := range b.f.opt.Stale {
		b.files.Remove(path)
	}
	if b.f.Epochs == 0 {
		for _, name := range []string{ModelFile, LastFile, MetricsFile} {
			b.files.Remove(b.path(name))
		}
	}
	settings := b.f.m.Config.TOML()
	b.write("config", ConfigFile, func(w io.Writer) error { _, err := io.WriteString(w, settings); return err })
}

// metrics writes metrics.jsonl if it is new, or has been cut meanwhile. Otherwise commit will append to it.
func (b *saving) metrics() {
	lines := b.f.lines
	if b.err != nil || len(lines.pending) == 0 {
		return
	}
	if lines.written() > 0 {
		if st, err := os.Stat(b.path(MetricsFile)); err == nil && st.Size() >= lines.written() {
			b.append = true
			return
		}
		if b.err = lines.restart(); b.err != nil {
			return
		}
		b.f.Metrics = lines.prefix()
	}
	b.write("metrics", MetricsFile, func(w io.Writer) error { _, err := w.Write(lines.pending); return err })
}

func (b *saving) commit() error {
	if b.append {
		if err := b.f.lines.append(b.path(MetricsFile)); err != nil {
			return err
		}
	}
	if err := b.files.Commit(); err != nil {
		return fmt.Errorf("folder %s: %w", b.f.opt.Dir, err)
	}
	return nil
}

// resume restores the state in the folder, if FitOptions.Resume is set.
func (f *fitting) resume(perEpoch, all int) (bool, error) {
	if f.opt.Dir == "" {
		if f.opt.Resume {
			return false, errors.New("FitOptions.Resume without Dir, expected the folder of the run")
		}
		return false, nil
	}
	if f.data = f.m.fingerprint(f.train, f.val); !f.opt.Resume {
		return false, nil
	}
	output.Finish(f.opt.Dir)
	path := filepath.Join(f.opt.Dir, StateFile)
	p, err := f.step.load(path, f.data)
	if err == nil {
		if err = p.check(perEpoch, all, f.val.Len() > 0); err != nil {
			err = fmt.Errorf("state %s: %w", path, err)
		}
	}
	if err != nil {
		return false, err
	}
	f.progress = p
	f.saved = saved{state: true, epochs: p.Epochs, best: p.Best, updates: p.Updates, at: f.begun}
	if p.Epochs == 0 {
		return true, nil
	}
	if f.lines, err = loadMetrics(filepath.Join(f.opt.Dir, MetricsFile), p.Metrics, p.Epochs); err != nil {
		f.opt.Log.Warn(err.Error()+": training goes on without the figures of the epochs before", "epochs", p.Epochs)
		f.lines = newMetrics()
		f.Metrics = f.lines.prefix()
	}
	return true, f.loadBest(path)
}

// loadBest reads the model of the best epoch. It may be of a later epoch than the state.
func (f *fitting) loadBest(state string) error {
	best := filepath.Join(f.opt.Dir, ModelFile)
	m, err := Load(best)
	if err != nil {
		return err
	}
	for i, q := range m.Params() {
		if want := f.m.Params()[i]; q.Name != want.Name || len(q.Data) != len(want.Data) {
			return fmt.Errorf("model %s: not the network of %s", best, state)
		}
		f.bestModel = append(f.bestModel, q.Data)
	}
	return nil
}
