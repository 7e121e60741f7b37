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
	"dpnbench/internal/quote"
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
earlier demo in the same folder is replaced; what other commands have made there of its network
stays, and a warning names it if the new network is another.`,
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
	marker, folder := filepath.Join(out, demoFile), filepath.Join(out, analysisFolder)
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
	a.note("A Denoising Potential Network classifies images: it computes features, moves them up the potential of\n" +
		"a mixture of Gaussians, and labels the points where they end. This demo trains one on built-in digits.\n\n")
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

	a.note("2. Train: 64 features of each image climb a potential of 10 components; all of it learns\n")
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

	a.note("\n3. Analyse: do images of a class come together, layer by layer and step by step?\n" +
		"   D compares the scatter within the classes with the distance between them: the smaller, the better.\n")
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
	first, last := found.Steps[0], found.Steps[len(found.Steps)-1]
	a.printf("\nDone in %.0f s. The network classifies %.2f%% of the test images correctly; its ascent takes D from "+
		"%.3g to %.3g.\n\n",
		time.Since(start).Seconds(), 100*float64(trained.TestAccuracy), float64(first.Fuzziness),
		float64(last.Fuzziness))
	trainedModel := filepath.Join(out, dpn.ModelFile)
	for _, r := range [][2]string{{"open in a browser", filepath.Join(folder, pageFile)}, {"all numbers",
		filepath.Join(folder, numbersFile)}, {"losses by epoch", filepath.Join(out, "training.png")},
		{"the network", trainedModel}} {
		a.printf("  %-19s%s\n", r[0], r[1])
	}
	a.note("\nTry next:\n  %s\n  %s\n  %s\n",
		quote.Command("predict", "--model", trainedModel, "--out", "predictions.csv"),
		quote.Command("uncertainty", "--model", trainedModel),
		quote.Command("train", "--preset", "robust", "--out", "runs/robust"))
	return nil
}
