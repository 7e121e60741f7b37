package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/dpn"
	"dpnbench/internal/folderlock"
	"dpnbench/internal/mpi"
	"dpnbench/internal/output"
	"dpnbench/internal/regular"
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
	inputData(files, "of --data "+c.Data, c.Data)
	inputData(files, "of --val-data "+c.ValData, c.ValData)
	files.Input("--config", t.config)
	if t.dataNear != "" {
		inputData(files, "of --data "+t.dataNear, t.dataNear)
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
			return nil, fmt.Errorf("folder runs: %w; choose another one with --out", regular.Cause(err))
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

// Folders beside a model in which other commands put their results by default (resultsOf).
const (
	analysisFolder    = "analysis"
	denoisedFolder    = "denoised"
	pytorchFolder     = "pytorch"
	samplesFolder     = "samples"
	uncertaintyFolder = "uncertainty"
)

// besideModel lists these folders, and the files of export, of both models of a run.
func besideModel() []string {
	var list []string
	for _, model := range []string{dpn.ModelFile, dpn.LastFile} {
		for _, name := range []string{analysisFolder, denoisedFolder, pytorchFolder, samplesFolder, uncertaintyFolder} {
			list = append(list, resultsOf(model, name))
		}
		for _, format := range exportFormats[1:] { // pytorch is a folder
			list = append(list, exportedFile(model, format))
		}
	}
	return list
}

// madeOf are results in the folder of a run that were made of the model that it had.
type madeOf struct {
	names   []string
	weights string // SHA-256 of the model's; empty: it cannot be read
}

// madeEarlier returns the results in the folder before training replaces the model.
func (t *training) madeEarlier() madeOf {
	var stays madeOf
	if t.rank() > 0 {
		return stays
	}
	for _, name := range besideModel() {
		if name == analysisFolder && t.demo { // which demo replaces
			continue
		}
		if _, err := os.Stat(filepath.Join(t.out, name)); err == nil {
			stays.names = append(stays.names, name)
		}
	}
	if len(stays.names) > 0 {
		stays.weights = t.keptWeights()
	}
	return stays
}

// keptWeights returns the SHA-256 of the weights of the model in the folder, or nothing.
func (t *training) keptWeights() string {
	m, err := dpn.Load(filepath.Join(t.out, dpn.ModelFile))
	if err != nil {
		return ""
	}
	return m.WeightsSHA256()
}

// warn says which results do not belong to the model that is in the folder now.
func (stays madeOf) warn(t *training) {
	if len(stays.names) == 0 {
		return
	}
	if now := t.keptWeights(); now != "" && now != stays.weights {
		t.log().Warn(fmt.Sprintf("--out %s: still holds what was made of an earlier model: %s; make it again, or "+
			"remove it", t.out, strings.Join(stays.names, ", ")))
	}
}
