package dpn

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"dpnbench/dpn/safetensors"
	"dpnbench/internal/format"
	"dpnbench/internal/output"
)

// saved is what the folder of a run holds.
type saved struct {
	state   bool // the state of this run
	epochs  int  // finished
	best    int
	updates int

	last [][]float32 // parameters after the last finished epoch, if the folder does not have them
}

// attempt is a save, also one that failed.
type attempt struct {
	updates int
	at      time.Time
	took    time.Duration
	refused string // the reason of the file system; empty: it succeeded
}

// A finished epoch is saved unless the folder was saved a moment ago: short epochs would cost more to save
// than to train. The moment is a second, or longer if needed to keep the cost below a twentieth of the time.
const (
	moment    = time.Second
	costShare = 20
)

var now = time.Now // tests replace the clock

// checkpointDue says whether to save in the middle of an epoch, after so many updates.
func (f *fitting) checkpointDue(updates int) bool {
	if f.opt.Dir == "" {
		return false
	}
	n, interval := f.opt.CheckpointUpdates, f.opt.CheckpointInterval
	return n > 0 && updates-f.tried.updates >= n || interval > 0 && now().Sub(f.tried.at) >= interval
}

// UnsavedError says that the folder could not be brought up to date when training ended. What it held before is
// whole.
type UnsavedError struct {
	Err             error // names the file
	Epochs, Updates int   // not in the folder
	Finished        bool  // training had come to its end; false: it was interrupted
}

func (e *UnsavedError) Error() string {
	how := "the last save failed"
	if !e.Finished {
		how = "interrupted, and the last save failed"
	}
	return fmt.Sprintf("%v: %s: %s and %s are not saved", e.Err, how, format.Count(e.Epochs, "epoch"),
		format.Count(e.Updates, "update"))
}

func (e *UnsavedError) Unwrap() error { return e.Err }

// tolerate warns of a save that failed, if not of another one for the same reason before. Training goes on, and
// saves when that is due again.
func (f *fitting) tolerate(err error) {
	if err == nil {
		return
	}
	why := err
	for e := err; e != nil; e = errors.Unwrap(e) { // of the file system, the same for all files
		why = e
	}
	if f.tried.refused != why.Error() {
		f.tried.refused = why.Error()
		f.opt.Log.Warn(err.Error()+": not saved; training goes on, and tries again when the next save is due",
			"epochs", f.Epochs, "updates", f.Updates)
	}
}

// saveLast brings the folder up to date when training ends. It tries twice.
func (f *fitting) saveLast(save func() error, finished bool) error {
	if save() == nil {
		return nil
	}
	err := save()
	if err == nil {
		return nil
	}
	return &UnsavedError{Err: err, Epochs: f.Epochs - f.saved.epochs, Updates: f.Updates - f.saved.updates,
		Finished: finished}
}

// epochDue says whether to save when an epoch finishes.
func (f *fitting) epochDue() bool {
	return f.saved.epochs == 0 && f.tried.refused == "" || f.checkpointDue(f.Updates) ||
		now().Sub(f.tried.at) >= max(moment, costShare*f.tried.took)
}

// saveEpoch saves the epoch that has just finished, if that is due or training ends, or remembers its model if that
// failed, or if it is not due. before is the progress before it finished.
func (f *fitting) saveEpoch(before progress, due, end bool) error {
	if due || end {
		if err := f.gatherMoments(); err != nil {
			return err
		}
	}
	if f.opt.Dir == "" {
		return nil
	}
	f.saved.last = nil // the parameters are still those
	save := func() error { return f.save(before, true) }
	switch {
	case end:
		return f.saveLast(save, true)
	case due:
		f.tolerate(save())
	}
	if f.saved.epochs < f.Epochs {
		f.saved.last = copyParams(f.saved.last, f.m.Params())
	}
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
// progress, in the middle of the first epoch. If no save has succeeded until a later epoch, the state comes last,
// after that of the earlier run is gone: it needs the model.
//
// Without state the state stays as it is, for weights that training should not go on from.
func (f *fitting) save(running progress, state bool) error {
	if f.opt.Dir == "" {
		return nil
	}
	begun := now()
	err := f.replace(running, state)
	took := now().Sub(begun)
	f.tried.updates, f.tried.at, f.tried.took = f.Updates, now(), took
	if err != nil {
		return err
	}
	if f.tried.refused != "" {
		f.tried.refused = ""
		f.opt.Log.Warn("saved again", "epochs", f.Epochs, "updates", f.Updates)
	}
	f.opt.Log.Info("saved", "epochs", f.Epochs, "updates", f.Updates, "best", f.Best, "seconds", took.Seconds(),
		"folder", f.opt.Dir)
	if f.opt.OnSave != nil && state {
		f.opt.OnSave(f.Epochs, f.Updates)
	}
	return nil
}

// replace replaces the files of the folder for save.
func (f *fitting) replace(running progress, state bool) error {
	b := &saving{f: f}
	defer b.files.Discard()
	switch first := !f.saved.state; {
	case first && running.Epochs == 0:
		b.state(running)
	case first:
		b.files.Remove(b.path(StateFile))
	}
	if f.saved.epochs == 0 {
		b.first()
	}
	if f.Best != f.saved.best {
		b.model(ModelFile, f.Best, f.bestModel)
	}
	if f.Epochs > f.saved.epochs {
		b.model(LastFile, f.Epochs, f.saved.last)
	}
	b.metrics()
	if state && (f.saved.state || f.Running == nil || running.Epochs > 0) {
		b.state(f.progress)
	}
	if b.err == nil {
		b.err = b.commit()
	}
	if b.err != nil {
		return b.err
	}
	f.lines.pending = nil
	f.saved = saved{state: true, epochs: f.Epochs, best: f.Best, updates: f.Updates}
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
		b.err = fmt.Errorf("%s %w", what, fileError(b.path(name), err))
	}
}

func (b *saving) state(p progress) {
	b.write("state", StateFile, func(w io.Writer) error { return b.f.step.save(w, b.path(StateFile), b.f.data, p) })
}

// model writes a model of an epoch with the parameters that are given; nil: as they are.
func (b *saving) model(name string, epoch int, params [][]float32) {
	b.write("model", name, func(w io.Writer) error {
		file := b.f.m.modelFile(b.path(name))
		file.Metadata[metaEpoch] = strconv.Itoa(epoch)
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
	b.write("metrics", MetricsFile, output.Bytes(lines.pending))
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

// resumeFolder restores the state in the folder, if FitOptions.Resume is set.
func (f *fitting) resumeFolder(perEpoch, all int) (bool, error) {
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
	f.saved = saved{state: true, epochs: p.Epochs, best: p.Best, updates: p.Updates}
	f.tried.updates = p.Updates
	if p.Epochs == 0 {
		return true, nil
	}
	if f.lines, err = loadMetrics(filepath.Join(f.opt.Dir, MetricsFile), p.Metrics, p.Epochs); err != nil {
		what := ": training goes on without the figures of the epochs before"
		if !f.more(all) {
			what = ": training is finished, without the figures of the epochs"
		}
		f.opt.Log.Warn(err.Error()+what, "epochs", p.Epochs)
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
		return fmt.Errorf("cannot resume: model %w; expected the file as training wrote it, or a new run", err)
	}
	for i, q := range m.Params() {
		if want := f.m.Params()[i]; q.Name != want.Name || len(q.Data) != len(want.Data) {
			return fmt.Errorf("model %s: not the network of %s", best, state)
		}
		f.bestModel = append(f.bestModel, q.Data)
	}
	if d := f.m.Config.difference(m.Config); d != "" {
		return fmt.Errorf("cannot resume: model %s is of another run than %s: %s", best, state, d)
	}
	if a, b := m.origin.train, f.m.origin.train; a != "" && b != "" && a != b {
		return fmt.Errorf("cannot resume: model %s was trained on other samples than %s", best, state)
	}
	if m.epoch > 0 && m.epoch < f.Best { // a copy of a folder that training was saving to
		return fmt.Errorf("cannot resume: model %s is of epoch %d, expected that of epoch %d, the best one of %s", best,
			m.epoch, f.Best, state)
	}
	return nil
}
