package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/dpn"
	"dpnbench/internal/folderlock"
	"dpnbench/internal/output"
	"dpnbench/internal/quote"
	"dpnbench/internal/regular"
	"dpnbench/plot"
)

// files returns the files that every command has: standard output and error, and that of --json.
// A command adds its own and calls Check before it begins.
func (a *app) files() *output.Files {
	f := &output.Files{Kept: kept}
	f.Standard("standard output", a.out.File)
	f.Standard("standard error", a.stderr)
	if a.json != "-" {
		f.Output("--json", a.json)
	}
	return f
}

// writeJSON writes the results to the file of --json, if any.
func (a *app) writeJSON(v any) error {
	if a.json == "" {
		return nil
	}
	b, err := marshal(v)
	if err != nil {
		return err
	}
	if a.json == "-" {
		a.out.Write(b) // run reports its errors
		return nil
	}
	if err := writeFile(a.json, b); err != nil {
		return fmt.Errorf("--json %w", err)
	}
	return nil
}

// marshal returns v as the JSON of all files.
func marshal(v any) ([]byte, error) {
	b, err := json.MarshalIndent(v, "", "  ")
	return append(quote.JSON(b), '\n'), err
}

// addJSON adds a file with v to a batch.
func addJSON(files *output.Batch, path string, v any) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	return files.Write(path, output.Bytes(b))
}

// saveJSON writes v to a file in the folder of results.
func saveJSON(path string, v any) error {
	b, err := marshal(v)
	if err != nil {
		return err
	}
	return writeFile(path, b)
}

// writeFile replaces the content of a file.
func writeFile(path string, b []byte) error {
	if err := output.Write(path, output.Bytes(b)); err != nil {
		return fmt.Errorf("%s: %w", path, regular.Cause(err))
	}
	return nil
}

// kept says that a file is one of a training, or a model, either of which only some commands replace, or "".
func kept(path string) string {
	if what := ofTraining(path); what != "" {
		return what
	}
	if _, err := os.Stat(path); err == nil && filepath.Ext(path) == ".safetensors" {
		return "a file of tensors"
	}
	return ""
}

// ofTraining says that a file, or what it links to, is one of a training, which has its state beside it, or "".
func ofTraining(path string) string {
	target, missing := filepath.EvalSymlinks(path)
	dir, name := filepath.Split(target)
	_, stateless := os.Stat(filepath.Join(dir, dpn.StateFile))
	if missing == nil && stateless == nil && slices.Contains(runFiles, name) {
		return "the " + name + " of a training"
	}
	return ""
}

// openFolder makes a folder for results and removes what killed processes have left there. No
// other process can write results to it until release is called.
func openFolder(flag, path string) (release func(), err error) {
	if err := os.MkdirAll(path, 0o755); err != nil {
		if info, statErr := os.Stat(path); statErr == nil && !info.IsDir() {
			return nil, fmt.Errorf("%s %s: is a file; expected a folder", flag, path)
		}
		return nil, fmt.Errorf("%s %s: %w", flag, path, regular.Cause(err))
	}
	release, err = folderlock.Acquire(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w; expected a folder that no other run writes to", flag, path,
			regular.Cause(err))
	}
	output.CleanFolder(path)
	return release, nil
}

// openResults is openFolder for the files that a command writes. It refuses a folder that has some of them, unless the
// file of the numbers is there: it says that they are of an earlier run, which may be replaced.
func openResults(path string, files []string, numbers string) (release func(), err error) {
	if release, err = openFolder("--out", path); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(path, numbers)); err == nil {
		return release, nil
	}
	for _, name := range files {
		if _, err := os.Lstat(filepath.Join(path, name)); err == nil {
			release()
			return nil, fmt.Errorf("--out %s: holds a %s, which is of no earlier run, for there is no %s; expected "+
				"another folder", path, name, numbers)
		}
	}
	return release, nil
}

// resultsOf returns the default folder of results: name, beside model.safetensors, or MODEL-name, beside
// MODEL.safetensors, so that the results of one model do not replace those of another.
func resultsOf(model, name string) string {
	dir, file := filepath.Split(model)
	if file != dpn.ModelFile {
		name = strings.TrimSuffix(file, filepath.Ext(file)) + "-" + name
	}
	return filepath.Join(dir, name)
}

// joined joins errors in one line; nil if there are none.
func joined(errs ...error) error {
	var all error
	for _, err := range errs {
		switch {
		case all == nil:
			all = err
		case err != nil:
			all = fmt.Errorf("%w; %w", all, err)
		}
	}
	return all
}

// figureFiles returns the names of the files of figures.
func figureFiles(figures ...string) []string {
	var list []string
	for _, name := range figures {
		list = append(list, plot.Files(name)...)
	}
	return list
}

// isFigure says whether a file name is one of a figure.
func isFigure(name string) bool { kind := filepath.Ext(name); return kind == ".png" || kind == ".svg" }
