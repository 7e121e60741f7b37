package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/internal/folderlock"
	"dpnbench/internal/mpi"
	"dpnbench/internal/output"
)

// claimable refuses a folder that cannot be claimed, before the data are read.
func (t *training) claimable(c dpn.Config) error {
	if t.rank() > 0 { // rank 0 claims it
		return nil
	}
	if _, err := os.Stat(t.out); err == nil { // another run is the better reason to refuse
		release, err := t.openOut()
		if err != nil {
			return err
		}
		release()
	}
	return t.check(c)
}

// claim makes and locks the folder of the run.
func (t *training) claim(c dpn.Config) (release func(), err error) {
	if t.rank() > 0 {
		return func() {}, nil
	}
	chosen := t.out == ""
	if release, err = t.prepareOut(c); err != nil {
		return nil, err
	}
	if err := t.check(c); err != nil { // again, with the folder locked
		if chosen {
			os.Remove(t.out)
		}
		release()
		return nil, err
	}
	return release, nil
}

// check refuses files that would replace each other, or that cannot be written, and a folder that holds
// an earlier run.
func (t *training) check(c dpn.Config) error {
	files := t.files()
	files.Input("of --data "+c.Data, source.InputFiles(c.Data)...)
	files.Input("of --val-data "+c.ValData, source.InputFiles(c.ValData)...)
	files.Input("--config", t.config)
	if t.dataNear != "" {
		files.Input("of --data "+t.dataNear, source.InputFiles(t.dataNear)...)
	}
	if t.out != "" {
		if err := t.refuseEarlier(); err != nil {
			return err
		}
		files.Folder("--out", t.out, output.Names(slices.Concat(runFiles, []string{demoFile})...), resultFile)
	}
	return files.Check()
}

// refuseEarlier refuses a folder with an earlier run, unless it is to be resumed or replaced.
func (t *training) refuseEarlier() error {
	_, err := os.Stat(filepath.Join(t.out, dpn.StateFile))
	unsaved := errors.Is(err, os.ErrNotExist)
	if t.resume || t.overwrite {
		return nil
	}
	for _, name := range runFiles {
		if _, err := os.Stat(filepath.Join(t.out, name)); err != nil {
			continue
		}
		if unsaved {
			return fmt.Errorf("--out %s: holds the %s of an earlier run, but no %s to resume; expected --overwrite "+
				"to start again, or another folder", t.out, name, dpn.StateFile)
		}
		return fmt.Errorf("--out %s: holds the %s of an earlier run; expected another folder, --resume "+
			"or --overwrite", t.out, name)
	}
	return nil
}

// prepareOut chooses and makes the folder. No other process can train in it until release is called.
func (t *training) prepareOut(c dpn.Config) (release func(), err error) {
	if t.out == "" {
		err := os.MkdirAll("runs", 0o755)
		for i := 1; err == nil; i++ {
			t.out = filepath.Join("runs", fmt.Sprintf("%s-%d", c.Preset, i))
			if err = os.Mkdir(t.out, 0o755); err == nil {
				break
			}
			if errors.Is(err, os.ErrExist) {
				err = nil
			}
		}
		if err != nil {
			return nil, fmt.Errorf("folder runs: %w; choose another one with --out", reason(err))
		}
	}
	return t.openOut()
}

// openOut opens the folder of the run. It may be in use by another task of the same srun, if that does not start them
// as ranks.
func (t *training) openOut() (release func(), err error) {
	release, err = openFolder("--out", t.out)
	if n := mpi.StepTasks(); n > 1 && !t.ranked() && errors.Is(err, folderlock.ErrHeld) {
		err = fmt.Errorf("%w; srun has started %d tasks, but not as ranks of one training: that takes a program with "+
			"MPI and the right --mpi (see srun --mpi=list)", err, n)
	}
	return release, err
}
