package main

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"dpnbench/dpn"
	"dpnbench/internal/folderlock"
	"dpnbench/internal/output"
	"dpnbench/internal/parallel"
	"dpnbench/internal/quote"
	"dpnbench/internal/regular"
	"dpnbench/plot"
	"dpnbench/report"
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

// writeFolder writes a file of numbers, figures and the page to a folder, all of them before it replaces the first file
// of an earlier run. The optional figures that this run does not draw are removed if an earlier one drew them.
func (a *app) writeFolder(out, file string, numbers any, figures []report.AnalysisFigure, page report.Page,
	optional ...string) error {
	path := filepath.Join(out, file)
	_, err := os.Stat(path)
	again := err == nil
	var files output.Batch
	defer files.Discard()
	if err := addJSON(&files, path, numbers); err != nil {
		return err
	}
	for _, name := range optional {
		if again && !slices.ContainsFunc(figures, func(f report.AnalysisFigure) bool { return f.Name == name }) {
			removeFigure(&files, out, name)
		}
	}
	if err := a.addFigures(&files, out, figures, again); err != nil {
		return err
	}
	if err := files.Write(filepath.Join(out, pageFile), page.Write); err != nil {
		return err
	}
	return files.Commit()
}

// removeFigure removes the files of a figure of an earlier run.
func removeFigure(files *output.Batch, out, name string) {
	for _, old := range plot.Files(filepath.Join(out, name)) {
		files.Remove(old)
	}
}

// addFigures draws figures in parallel and adds them to the files of a folder. A figure that the data do
// not allow is left out with a note; with again, its file of an earlier run is removed.
func (a *app) addFigures(files *output.Batch, out string, figures []report.AnalysisFigure, again bool) error {
	threads, err := a.threadsSetting()
	if err != nil {
		return err
	}
	var todo []report.AnalysisFigure
	for _, f := range figures {
		if f.Missing == nil {
			todo = append(todo, f)
		} else if again {
			removeFigure(files, out, f.Name)
		}
	}
	var counting sync.Mutex
	ready, tell, failed := 0, a.phase("figures"), make([]error, len(todo))
	parallel.Each(len(todo), threads, func(i int) {
		failed[i] = plot.Add(files, filepath.Join(out, todo[i].Name), todo[i].Figure)
		counting.Lock()
		defer counting.Unlock()
		ready++
		tell(ready, len(todo))
	})
	if err := cmp.Or(failed...); err != nil {
		return err
	}
	for _, missing := range report.MissingFigures(figures) {
		a.note("%s\n", missing)
	}
	return nil
}
