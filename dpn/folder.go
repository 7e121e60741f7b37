package dpn

import (
	"fmt"
	"os"

	"dpnbench/internal/output"
	"dpnbench/internal/regular"
)

// Files that Fit keeps in its folder.
const (
	ModelFile   = "model.safetensors" // the best epoch so far
	LastFile    = "last.safetensors"  // the last finished epoch
	StateFile   = "state.safetensors" // what resuming needs; it decides whose run the folder holds
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
		return fmt.Errorf("folder %s: %w; expected one that exists", dir, regular.Cause(err))
	}
	var files output.Files
	files.Folder("folder", dir, output.Names(ModelFile, LastFile, StateFile, MetricsFile, ConfigFile), "")
	if err := files.Check(); err != nil {
		return fmt.Errorf("%w; expected a folder that can be written to", err)
	}
	output.CleanFolder(dir)
	return nil
}
