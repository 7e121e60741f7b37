package dpn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"dpnbench/internal/atomicfile"
)

// Files that Fit keeps in its folder.
const (
	ModelFile   = "model.safetensors" // the best epoch so far
	LastFile    = "last.safetensors"  // the last finished epoch
	StateFile   = "state.safetensors" // what resuming needs
	MetricsFile = "metrics.jsonl"     // a line an epoch
	ConfigFile  = "config.toml"       // the settings used in the end
)

// checkDir returns an error if the folder cannot be written to, before an epoch is lost by it.
func (f *fitting) checkDir() error {
	dir := f.opt.Dir
	if dir == "" {
		return nil
	}
	probe, err := os.CreateTemp(dir, ".writable")
	if err != nil {
		var pe *os.PathError
		if errors.As(err, &pe) { // which names the probe, too
			err = pe.Err
		}
		return fmt.Errorf("folder %s: %w; expected one that is there and can be written to", dir, err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// write keeps the finished epoch: the models and metrics first, the state last, so that
// resuming never starts from a state whose model is not there.
func (f *fitting) write(better bool) error {
	dir := f.opt.Dir
	if dir == "" {
		return nil
	}
	if !f.cleaned {
		f.cleaned = true
		for _, name := range []string{StateFile, ModelFile, LastFile, MetricsFile, ConfigFile} {
			atomicfile.Clean(filepath.Join(dir, name))
		}
	}
	if path := filepath.Join(dir, StateFile); len(
		f.history) == 1 { // of an earlier run: it must not be mistaken for this one's
		if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fileError("state", path, err)
		}
	}
	if err := writeText(filepath.Join(dir, ConfigFile), f.m.Config.TOML()); err != nil {
		return err
	}
	if better {
		if err := f.m.Save(filepath.Join(dir, ModelFile)); err != nil {
			return fileError("model", filepath.Join(dir, ModelFile), err)
		}
	}
	if err := f.m.Save(filepath.Join(dir, LastFile)); err != nil {
		return fileError("model", filepath.Join(dir, LastFile), err)
	}
	if err := f.writeMetrics(); err != nil {
		return err
	}
	path := filepath.Join(dir, StateFile)
	if err := f.step.save(path, f.data, f.progress); err != nil {
		return fileError("state", path, err)
	}
	f.opt.Log.Info("epoch kept", "epoch", len(f.history), "best", better, "folder", dir)
	return nil
}

// writeMetrics writes the whole history, a line an epoch.
func (f *fitting) writeMetrics() error {
	path := filepath.Join(f.opt.Dir, MetricsFile)
	err := atomicfile.Write(path, func(w io.Writer) error {
		enc := json.NewEncoder(w)
		for _, h := range f.history {
			if err := enc.Encode(h); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fileError("metrics", path, err)
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

func writeText(path, text string) error {
	err := atomicfile.Write(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
	if err != nil {
		return fileError("file", path, err)
	}
	return nil
}
