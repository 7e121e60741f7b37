package dpn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"dpnbench/dpn/safetensors"
	"dpnbench/internal/output"
)

// Files that Fit keeps in its folder.
const (
	ModelFile   = "model.safetensors" // the best epoch so far
	LastFile    = "last.safetensors"  // the last finished epoch
	StateFile   = "state.safetensors" // what resuming needs
	MetricsFile = "metrics.jsonl"     // a line an epoch
	ConfigFile  = "config.toml"       // the settings used in the end
)

// checkDir returns an error if a file of Fit cannot be written to the folder, before an epoch is lost by it.
func (f *fitting) checkDir() error {
	dir := f.opt.Dir
	if dir == "" {
		return nil
	}
	if _, err := os.Stat(dir); err != nil {
		return fmt.Errorf("folder %s: %w; expected one that exists", dir, reason(err))
	}
	var files output.Files
	files.Folder("folder", dir, output.Names(ModelFile, LastFile, StateFile, MetricsFile, ConfigFile), "")
	if err := files.Check(); err != nil {
		return fmt.Errorf("%w; expected a folder that can be written to", err)
	}
	output.CleanFolder(dir)
	return nil
}

// reason returns the error of the file system without the path.
func reason(err error) error {
	var pe *os.PathError
	if errors.As(err, &pe) {
		return pe.Err
	}
	return err
}

// write saves the finished epoch. All files are written before the first one is replaced, so that a
// full disk leaves the epoch before, or the earlier run. They are replaced in an order that a crash
// may interrupt: models and metrics first, the state last, so that resuming never starts from a
// state whose model does not exist.
func (f *fitting) write(better bool) error {
	dir := f.opt.Dir
	if dir == "" {
		return nil
	}
	var files output.Batch
	defer files.Discard()
	if len(f.history) == 1 { // what an earlier run left must not be taken for this one's
		files.Remove(filepath.Join(dir, StateFile))
		for _, path := range f.opt.Stale {
			files.Remove(path)
		}
	}
	add := func(what, name string, write func(io.Writer) error) error {
		path := filepath.Join(dir, name)
		if err := files.Write(path, write); err != nil {
			return fileError(what, path, err)
		}
		return nil
	}
	config := func(w io.Writer) error { _, err := io.WriteString(w, f.m.Config.TOML()); return err }
	model := func(w io.Writer) error { return safetensors.Write(w, f.m.modelFile(filepath.Join(dir, ModelFile))) }
	err := add("config", ConfigFile, config)
	if err == nil && better {
		err = add("model", ModelFile, model)
	}
	if err == nil {
		err = add("model", LastFile, model)
	}
	if err == nil {
		err = add("metrics", MetricsFile, f.writeMetrics)
	}
	if err == nil {
		err = add("state", StateFile, func(w io.Writer) error {
			return f.step.save(w, filepath.Join(dir, StateFile), f.data, f.progress)
		})
	}
	if err != nil {
		return err
	}
	if err := files.Commit(); err != nil {
		return fmt.Errorf("folder %s: %w", dir, err)
	}
	f.opt.Log.Info("epoch kept", "epoch", len(f.history), "best", better, "folder", dir)
	return nil
}

// writeMetrics writes the whole history, a line an epoch.
func (f *fitting) writeMetrics(w io.Writer) error {
	enc := json.NewEncoder(w)
	for _, h := range f.history {
		if err := enc.Encode(h); err != nil {
			return err
		}
	}
	return nil
}

// resume restores the state in the folder, if FitOptions.Resume is set.
func (f *fitting) resume() (bool, error) {
	if f.opt.Dir == "" {
		if f.opt.Resume {
			return false, errors.New("FitOptions.Resume without Dir, expected the folder of the run")
		}
		return false, nil
	}
	if f.data = f.m.fingerprint(f.train, f.val); !f.opt.Resume {
		return false, nil
	}
	path := filepath.Join(f.opt.Dir, StateFile)
	p, err := f.step.load(path, f.data)
	if err != nil {
		return false, err
	}
	f.progress = p
	if len(p.history) > 0 {
		f.start = p.history[0].Diagnostics.EntropyStart
	}
	f.best = bestEpoch(p.history)
	best := filepath.Join(f.opt.Dir, ModelFile)
	m, err := Load(best)
	if err != nil {
		return false, err
	}
	for i, q := range m.Params() {
		if want := f.m.Params()[i]; q.Name != want.Name || len(q.Data) != len(want.Data) {
			return false, fmt.Errorf("model %s: not the network of %s", best, path)
		}
		f.bestModel = append(f.bestModel, q.Data)
	}
	return true, nil
}
