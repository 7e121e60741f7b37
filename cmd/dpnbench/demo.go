package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/engine/check"
	"dpnbench/internal/output"
	"dpnbench/internal/sysinfo"

	"github.com/spf13/cobra"
)

func demoCommand(a *app) *cobra.Command {
	var out string
	c := &cobra.Command{
		Use:   "demo",
		Short: "Check, train and analyse on the built-in digits",
		Long: `A complete run on the built-in digits, without download, in under two minutes: check the kernels,
train a network, evaluate it, and measure how it separates the classes, with an HTML report. An
earlier demo in the same folder is replaced.`,
		Example: `  dpnbench demo
  dpnbench demo --out /tmp/demo --json -`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.demo(c.Context(), out) },
	}
	c.Flags().StringVar(&out, "out", "demo", "`FOLDER` for the results")
	return c
}

// demoData selects the digits of demo.
var demoData = source.Options{Seed: 1}

// demoFile marks a folder that demo wrote and may replace.
const demoFile = "demo.json"

func (a *app) demo(ctx context.Context, out string) error {
	start := time.Now()
	marker, folder := filepath.Join(out, demoFile), filepath.Join(out, "analysis")
	files := a.files()
	files.Folder("--out", out, output.Names(append(slices.Clone(runFiles), demoFile)...), demoFile)
	files.Folder("--out", folder, output.Names(analysisFiles()...), "")
	if err := files.Check(); err != nil {
		return err
	}
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	release, err := openFolder("--out", out)
	if err != nil {
		return err
	}
	defer release()
	_, unmarked := os.Stat(marker)
	for _, name := range runFiles {
		if _, err := os.Stat(filepath.Join(out, name)); err == nil && unmarked != nil {
			return fmt.Errorf("--out %s: holds the %s of a run that is not a demo; expected another folder", out, name)
		}
	}
	m := sysinfo.ReadMachine()
	a.note("1. Check: every kernel on every tier of %s\n", m.Brand)
	r, err := check.Run(ctx, check.Options{Quick: true, Progress: a.phase("check")})
	if err != nil {
		return err
	}
	if r.Failed > 0 {
		return &failedError{fmt.Sprintf("%d of %d cases failed; run \"dpnbench check\" for details", r.Failed, r.Cases)}
	}
	a.note("   %d cases: within the error bounds, same bits on every tier\n\n", r.Cases)

	a.note("2. Train: a network with 64 features and 10 components, exact gradient\n")
	a.dataPhase("digits")
	data, err := source.OpenContext(ctx, "digits", demoData)
	if err != nil {
		return err
	}
	c, err := dpn.Preset("compact")
	if err != nil {
		return err
	}
	if unmarked != nil { // from here on the folder belongs to demo
		if err := writeFile(marker, []byte("{}\n")); err != nil {
			return err
		}
	}
	model, err := dpn.New(c, data)
	if err == nil {
		err = a.setRoute(model)
	}
	if err != nil {
		return err
	}
	t := &training{app: a, out: out, overwrite: true, minutes: defaultMinutes, demo: true}
	trained, err := t.train(ctx, e, model, data)
	if err != nil {
		return err
	}

	a.note("\n3. Analyse: class separation, layer by layer and step by step\n")
	z := &analysis{app: a, out: folder, draws: 100, subsets: 5, seed: 1}
	analysed, err := openFolder("--out", z.out)
	if err != nil {
		return err
	}
	defer analysed()
	found, err := z.analyze(ctx, e, model, data)
	if err != nil {
		return err
	}
	results := map[string]any{"check": checkResult{m, r, nil}, "train": trained, "analyze": found}
	if err := joined(saveJSON(marker, results), a.writeJSON(results)); err != nil {
		return err
	}
	a.printf("\nDone in %.0f s. Results:\n", time.Since(start).Seconds())
	for _, p := range []string{dpn.ModelFile, "training.png", "analysis/" + numbersFile, "analysis/" + pageFile} {
		a.printf("  %s\n", filepath.Join(out, p))
	}
	return nil
}
