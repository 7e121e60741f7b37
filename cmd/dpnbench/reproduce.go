package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/internal/quote"
	"dpnbench/internal/regular"
	"dpnbench/internal/sysinfo"
	"dpnbench/plot"
	"dpnbench/report"
	"dpnbench/reproduce"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// experiments of reproduce, in the order in which "all" runs them. It leaves out the one called
// apart, which takes longer than all others together.
var experiments = []string{"table1", "law", "trained", "poster", "field", apart}

const apart = "robust"

const reproduceHelp = `Repeat the experiments of the documents that introduced Denoising Potential Networks, first with
their own protocol and then with more data, and judge each claim. The documents use MNIST: on
other images, or with --train-size or --test-size, everything is measured, but claims about MNIST
get no verdict. law needs 100 training and 100 test images of each class, table1 32 test images.

  table1   Table 1 of the paper: the first 32 test images, 10 steps, untrained potential, several
           seeds of k-means; then all test images, 30 steps, with intervals
  law      He and Su's law of equi-separation in feed-forward networks
  trained  D along the ascent of trained potentials, by preset and seed
  poster   the poster's training, compared with a linear classifier
  field    is the ascent field free of rotation, does phi rise, where does the ascent end
  robust   DPNs and baselines of equal cost, trained on clean and on noisy images: accuracy on
           clean and on noisy test images over seeds, with a verdict for each setting
  all      all except robust, which takes longer than the rest: about ten minutes on two cores

robust saves reproduce.json after each training; --resume continues from there. The folder of
--out (default: reproduce-NAME) gets report.html, a self-contained page, reproduce.json, and the
figures as PNG and SVG. A folder with earlier results is refused without --resume or --overwrite.`

func reproduceCommand(a *app) *cobra.Command {
	r := &reproduction{app: a}
	c := &cobra.Command{
		Use:   "reproduce {table1|law|trained|poster|field|robust|all}",
		Short: "Repeat the published experiments and judge each claim",
		Long:  reproduceHelp,
		Example: `  dpnbench reproduce table1 --data mnist
  dpnbench reproduce trained --data mnist --presets raw,compact --seeds 2
  dpnbench reproduce robust --data mnist
  dpnbench reproduce robust --data mnist --resume   # after an interruption
  dpnbench reproduce all --data mnist --out reproduction --json -`,
		ValidArgs: append(slices.Clone(experiments), "all"),
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 1 || !slices.Contains(c.ValidArgs, args[0]) {
				return fmt.Errorf("%s: expected one of %s", strings.Join(append([]string{"reproduce"}, args...), " "),
					strings.Join(c.ValidArgs, ", "))
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error { return r.run(c.Context(), c.Flags(), args[0]) },
	}
	r.data.add(c, true)
	f := c.Flags()
	f.StringVar(&r.out, "out", "", "`FOLDER` for the report, results and figures")
	f.IntVar(&r.seeds, "seeds", 0, "`N` seeds of each experiment except field; "+
		"0: 20 seeds of k-means for table1, 3 trainings for the others")
	f.IntVar(&r.epochs, "epochs", 0, "`N` epochs of each training (field has none); 0: as in the protocols")
	f.BoolVar(&r.overwrite, "overwrite", false, "replace an earlier run in the folder of --out")
	f.BoolVar(&r.resume, "resume", false,
		"robust: continue from reproduce.json in the folder of --out without repeating its trainings")
	f.StringSliceVar(&r.presets, "presets", []string{"raw", "clean", "compact"}, "trained: `NAMES` of the presets")
	return c
}

// reproduction is one run of reproduce.
type reproduction struct {
	*app
	data          dataFlags
	out           string
	seeds, epochs int
	resume        bool
	overwrite     bool
	presets       []string
}

// reproduced is reproduce.json.
type reproduced struct {
	Format  int               `json:"format"` // resultsFormat
	Machine sysinfo.Machine   `json:"machine"`
	Tier    string            `json:"tier"`
	Threads int               `json:"threads"`
	Data    string            `json:"data"`
	Seconds float64           `json:"seconds"`
	Claims  []reproduce.Claim `json:"claims"`
	reproduce.Results
}

func (r *reproduction) run(ctx context.Context, flags *pflag.FlagSet, what string) error {
	for name, v := range map[string]int{"seeds": r.seeds, "epochs": r.epochs} {
		if v < 0 || v > 1_000_000 {
			return fmt.Errorf("--%s %d: expected 1 to 1000000, or 0 for the default", name, v)
		}
	}
	if err := r.checkFlags(flags, what); err != nil {
		return err
	}
	for _, p := range r.presets {
		if _, err := dpn.Preset(p); err != nil {
			return fmt.Errorf("--presets: %w", err)
		}
	}
	c, err := dpn.Preset("published")
	if err != nil {
		return err
	}
	r.data.settle(flags, &c)
	if r.out == "" {
		r.out = "reproduce-" + what
	}
	files := r.files()
	files.Input("of --data "+c.Data, dataset.InputFiles(c.Data)...)
	files.Folder("--out", r.out, reproducedFile, resultsFile)
	if err := files.Check(); err != nil {
		return err
	}
	e, err := r.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	data, err := openData(ctx, c, true)
	if err != nil {
		return err
	}
	for _, name := range experiments {
		if r.includes(what, name) {
			if err := checkImages(name, data, c); err != nil {
				return err
			}
		}
	}
	release, err := r.prepareOut()
	if err != nil {
		return err
	}
	defer release()
	have, err := r.kept()
	if err != nil {
		return err
	}
	start := time.Now()
	out := &reproduced{Format: resultsFormat, Machine: sysinfo.ReadMachine(), Tier: e.Tier().String(),
		Threads: e.Threads(), Data: c.Data}
	if out.MNIST = reproduce.IsMNIST(data); !out.MNIST {
		r.note("the data are not MNIST (70,000 images): everything is measured, " +
			"but claims about MNIST get no verdict\n")
	}
	for _, name := range experiments {
		if !r.includes(what, name) {
			continue
		}
		x := experiment{name: name, out: &out.Results, have: have, keep: func(b *reproduce.Robust) error {
			out.Robust = b
			return r.save(out, start)
		}}
		if err := r.measure(ctx, e, data, &x); err != nil {
			if ctx.Err() != nil {
				return err
			}
			return fmt.Errorf("--data %s: %w", c.Data, err)
		}
		// Saved now, in case a later experiment fails.
		if err := r.save(out, start); err != nil {
			return err
		}
	}
	err = r.write(out)
	r.show(out, err == nil)
	return joined(err, r.writeJSON(out))
}

// includes reports whether the experiment name is part of what was asked for.
func (*reproduction) includes(what, name string) bool {
	return what == name || what == "all" && name != apart
}

// checkImages refuses too few images for an experiment, before the first one runs.
func checkImages(experiment string, data *dataset.Data, c dpn.Config) error {
	var size *dataset.SizeError
	if !errors.As(reproduce.CheckImages(experiment, data), &size) {
		return nil
	}
	if size.Split == "train" && c.TrainSize > 0 || size.Split == "test" && c.TestSize > 0 {
		return fmt.Errorf("--%s-size %d: %s", size.Split, size.Size, size.Problem)
	}
	return fmt.Errorf("--data %s: %s images: %s", c.Data, size.Split, size.Problem)
}

// checkFlags refuses flags that the experiment would ignore.
func (r *reproduction) checkFlags(flags *pflag.FlagSet, what string) error {
	switch {
	case r.resume && what != apart:
		return fmt.Errorf("--resume: only with reproduce %s", apart)
	case r.resume && r.overwrite:
		return errors.New("--resume and --overwrite: give one of the two")
	case flags.Changed("presets") && what != "trained" && what != "all":
		return fmt.Errorf("--presets: reproduce %s does not use them; only with reproduce trained or all", what)
	}
	for _, name := range []string{"seeds", "epochs"} {
		if flags.Changed(name) && what == "field" {
			return fmt.Errorf("--%s: reproduce field has one seed and no training; only with another experiment", name)
		}
	}
	return nil
}

const (
	resultsFile   = "reproduce.json"
	resultsFormat = 1       // the version of its content
	maxResults    = 1 << 28 // bytes, beyond which a file cannot be one
)

// prepareOut makes the folder, and refuses one with earlier results. No other process can write
// results there until release is called.
func (r *reproduction) prepareOut() (release func(), err error) {
	if release, err = openFolder("--out", r.out); err != nil {
		return nil, err
	}
	if _, err := os.Stat(filepath.Join(r.out, resultsFile)); err == nil && !r.resume && !r.overwrite {
		release()
		return nil, fmt.Errorf("--out %s: holds the %s of an earlier run; "+
			"expected another folder, --overwrite, or for reproduce %s --resume", r.out, resultsFile, apart)
	}
	return release, nil
}

// reproducedFile says whether reproduce may write a file of that name.
func reproducedFile(name string) bool {
	return name == resultsFile || name == pageFile ||
		isFigure(name) && slices.ContainsFunc(experiments, func(e string) bool { return strings.HasPrefix(name, e) })
}

// save writes the results so far. The results of an earlier run are removed only when there is something
// to replace them.
func (r *reproduction) save(out *reproduced, start time.Time) error {
	var files output.Batch
	defer files.Discard()
	if r.overwrite {
		old, err := os.ReadDir(r.out)
		if err != nil {
			return fmt.Errorf("--out %s: %w", r.out, reason(err))
		}
		for _, f := range old { // including figures of other experiments
			if reproducedFile(f.Name()) && f.Name() != resultsFile {
				files.Remove(filepath.Join(r.out, f.Name()))
			}
		}
	}
	out.Claims, out.Seconds = reproduce.Claims(out.Results), time.Since(start).Seconds()
	err := addJSON(&files, filepath.Join(r.out, resultsFile), out)
	if err == nil {
		err = files.Commit()
	}
	if err != nil {
		return fmt.Errorf("--out %s: %w", r.out, err)
	}
	r.overwrite = false
	return nil
}

// kept returns the saved results of an earlier run of robust, with --resume.
func (r *reproduction) kept() (*reproduce.Robust, error) {
	if !r.resume {
		return nil, nil
	}
	path := filepath.Join(r.out, resultsFile)
	b, err := regular.ReadFile(path, maxResults)
	if err != nil {
		return nil, fmt.Errorf("--resume: %s: %w", path, reason(err))
	}
	old := struct {
		Format int
		Robust *reproduce.Robust
	}{Format: resultsFormat} // which the first versions did not write
	if err := json.Unmarshal(b, &old); err != nil || old.Robust == nil {
		return nil, fmt.Errorf("--resume: %s: expected the results of reproduce %s", path, apart)
	}
	if old.Format != resultsFormat {
		return nil, fmt.Errorf("--resume: %s: format %d, expected %d: written by another version of dpnbench", path,
			old.Format, resultsFormat)
	}
	if err := old.Robust.Check(); err != nil {
		return nil, fmt.Errorf("--resume: %s: %w", path, err)
	}
	return old.Robust, nil
}

// experiment is one experiment, of which have is known and keep saves what is measured so far.
type experiment struct {
	name string
	out  *reproduce.Results
	have *reproduce.Robust
	keep func(*reproduce.Robust) error
}

// measure runs one experiment.
func (r *reproduction) measure(ctx context.Context, e *engine.Engine, data *dataset.Data, x *experiment) (err error) {
	out, last := x.out, ""
	progress := func(what string, done, all int) {
		if what != last {
			r.note("%s\n", what)
		}
		last = what
	}
	switch x.name {
	case "table1":
		o := reproduce.Table1Options{Seeds: r.seeds, Epochs: r.epochs, Progress: progress}
		out.Table1, err = reproduce.RunTable1(ctx, e, data, o)
	case "law":
		out.Law, err = reproduce.RunLaw(ctx, e, data, reproduce.LawOptions{Seeds: r.seeds, Epochs: r.epochs,
			Progress: progress})
	case "trained":
		out.Trained, err = reproduce.RunTrained(ctx, e, data, reproduce.TrainedOptions{Presets: r.presets,
			Seeds: r.seeds, Epochs: r.epochs, Progress: progress})
	case "poster":
		out.Poster, err = reproduce.RunPoster(ctx, e, data, reproduce.PosterOptions{Seeds: r.seeds, Epochs: r.epochs,
			Progress: progress})
	case "field":
		out.Field, err = reproduce.RunField(ctx, e, data, reproduce.FieldOptions{Progress: progress})
	case apart:
		out.Robust, err = reproduce.RunRobust(ctx, e, data, reproduce.RobustOptions{Seeds: r.seeds, Epochs: r.epochs,
			Progress: progress, Have: x.have, Keep: x.keep})
	}
	return err
}

// write writes the page and the figures.
func (r *reproduction) write(out *reproduced) error {
	facts := []report.Fact{
		{Name: "Data", Text: out.Data},
		{Name: "Machine", Text: fmt.Sprintf("%s, %s, %s",
			out.Machine.Brand, out.Tier, format.Count(out.Threads, "thread"))},
		{Name: "dpnbench", Text: version()},
		{Name: "Command", Text: quote.Command(os.Args[1:]...)},
	}
	var files output.Batch
	defer files.Discard()
	path := filepath.Join(r.out, pageFile)
	if err := files.Write(path, reproduce.Page(out.Results, facts).Write); err != nil {
		return fmt.Errorf("--out %s: %w", path, reason(err))
	}
	for _, f := range reproduce.Figures(out.Results) {
		if err := plot.Add(&files, filepath.Join(r.out, f.Name), f.Figure); err != nil {
			var failed *os.PathError
			if errors.As(err, &failed) {
				return fmt.Errorf("--out %s: %w", r.out, failed.Err)
			}
			r.note("no figure %q: %v\n", f.Name, err)
		}
	}
	if err := files.Commit(); err != nil {
		return fmt.Errorf("--out %s: %w", r.out, err)
	}
	return nil
}

// show prints the claims that were judged, and where the files are if they were written.
func (r *reproduction) show(out *reproduced, written bool) {
	if b := out.Robust; b != nil {
		r.note("test accuracy: mean over %s (minimum to maximum)\n", format.Count(len(b.Networks[0].Runs), "seed"))
		r.table(reproduce.RobustTable(b))
		for _, v := range b.Verdicts() {
			training := "clean"
			if v.Noisy {
				training = "noisy"
			}
			r.printf("%s training, %s: %s is %s: %s\n", training, v.Setting, v.DPN, v.Word, v)
		}
	}
	untested := 0
	for _, c := range out.Claims {
		verdict := c.Verdict
		if verdict == reproduce.Untested {
			untested++
			verdict = "no verdict"
		}
		if c.Measured == "" {
			continue
		}
		r.printf("%-36s %s: published %s, measured %s\n", verdict, c.Statement, c.Published, c.Measured)
	}
	r.printf("%s without a verdict in this run\n", format.Count(untested, "claim"))
	if written {
		r.note("written  %s; reproduce.json and figures beside it\n", filepath.Join(r.out, pageFile))
	}
}
