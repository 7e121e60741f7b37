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

	"dpnbench/dataset"
	"dpnbench/dataset/source"
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

// lawData are what He and Su's figures are about, the default of law.
const lawData = "fashion-mnist"

const reproduceHelp = `Repeat the experiments of the documents that introduced Denoising Potential Networks, first with
their own protocol and then with more data, and judge each claim. The documents use MNIST: on
other images, or with --train-size or --test-size, everything is measured, but claims about MNIST
get no verdict; with --epochs no claim gets one. law needs 100 training and 100 test images of each
class, table1 32 test images.

  table1   Table 1 of the paper: the first 32 test images, 10 steps, untrained potential, several
           seeds of k-means; then all test images, 30 steps, with intervals
  law      He and Su's law of equi-separation by their protocol, on Fashion-MNIST if it is found
           and there is no --data: networks of 4, 8 and 20 layers with SGD, momentum and Adam,
           other networks, and DPNs on the same images; with --matrix also the other learning
           rates and widths, and imbalanced classes (500 training images of a class)
  trained  D along the ascent of trained potentials, by preset and seed
  poster   the poster's training, variants of it, a linear classifier and an MLP
  field    is the ascent field free of rotation, does phi rise, what does the ascent do to noise,
           where does it end
  robust   DPNs and baselines of equal cost, trained on clean and on noisy images: accuracy on
           clean and on noisy test images over seeds, with a verdict for each setting
  all      all except robust, which takes longer than the rest: about 20 minutes on two cores;
           it needs what law needs: 100 training and 100 test images of each class

The folder of --out (default: reproduce-NAME) gets report.html, a self-contained page,
reproduce.json, and the figures as PNG and SVG. Until then its folder parts holds what is finished:
each training, seed and measurement. After an interruption or a crash the same command with
--resume goes on from there, and gives the results of a run without one; other settings, images or
builds of dpnbench are refused. A folder with an earlier run is refused without --resume or
--overwrite.`

func reproduceCommand(a *app) *cobra.Command {
	r := &reproduction{app: a}
	c := &cobra.Command{
		Use:   "reproduce {table1|law|trained|poster|field|robust|all}",
		Short: "Repeat the published experiments and judge each claim",
		Long:  reproduceHelp,
		Example: `  dpnbench reproduce table1 --data mnist
  dpnbench reproduce law --matrix --out law
  dpnbench reproduce trained --data mnist --presets raw,compact --seeds 2
  dpnbench reproduce all --data mnist --out reproduction
  dpnbench reproduce all --data mnist --out reproduction --resume   # after an interruption
  dpnbench reproduce robust --data mnist --json -`,
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
		"0: 20 seeds of k-means for table1, 5 trainings of most networks for robust, 3 for the others")
	f.IntVar(&r.epochs, "epochs", 0, "`N` epochs of each training (field has none), and no verdicts; "+
		"0: as in the protocols")
	f.BoolVar(&r.overwrite, "overwrite", false, "replace an earlier run in the folder of --out")
	f.BoolVar(&r.resume, "resume", false, "continue the run in the folder of --out, which has the same settings")
	f.BoolVar(&r.matrix, "matrix", false, "law: all learning rates, widths and imbalanced classes")
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
	matrix        bool
	presets       []string

	what  string
	flags *pflag.FlagSet
	parts *reproduce.Parts // what is finished
}

// reproduced is reproduce.json.
type reproduced struct {
	Format   int                `json:"format"` // resultsFormat
	Settings reproduce.Settings `json:"settings"`
	Machine  sysinfo.Machine    `json:"machine"` // of the last one of several runs
	Tier     string             `json:"tier"`
	Threads  int                `json:"threads"`
	Data     string             `json:"data"`
	Seconds  float64            `json:"seconds"` // of all parts, each by the run that finished it
	Claims   []reproduce.Claim  `json:"claims"`
	reproduce.Results
}

func (r *reproduction) run(ctx context.Context, flags *pflag.FlagSet, what string) error {
	r.flags, r.what = flags, what
	if r.out == "" {
		r.out = "reproduce-" + what
	}
	c, err := r.check()
	if err != nil {
		return err
	}
	e, err := r.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	r.dataPhase(c.Data)
	data, err := openData(ctx, c, source.Options{})
	if err != nil {
		return err
	}
	if data.Test == nil {
		return fmt.Errorf("--data %s: has no test samples, expected some to evaluate on (--test-share 0.2 takes some)",
			data.Name)
	}
	if err := data.Shape().NeedImages("reproduce"); err != nil {
		return fmt.Errorf("--data %s: %w", data.Name, err)
	}
	for _, name := range experiments {
		if r.includes(name) {
			if err := r.checkImages(name, data, c); err != nil {
				return err
			}
		}
	}
	release, err := openFolder("--out", r.out)
	if err != nil {
		return err
	}
	defer release()
	if err := r.refuseEarlier(); err != nil { // again, with the folder locked
		return err
	}
	settings := r.settings(data)
	if r.resume && !reproduce.HasParts(r.out) {
		return r.showFinished(settings)
	}
	if err := r.openParts(settings); err != nil {
		return err
	}
	out := &reproduced{Format: resultsFormat, Settings: settings, Machine: sysinfo.ReadMachine(),
		Tier: e.Tier().String(), Threads: e.Threads(), Data: c.Data}
	if out.MNIST = reproduce.IsMNIST(data); !out.MNIST {
		r.note("the data are not all 70,000 images of MNIST: everything is measured, " +
			"but claims about MNIST get no verdict\n")
	}
	if out.Epochs = r.epochs; out.Epochs > 0 {
		r.note("with --epochs everything is measured, but no claim gets a verdict from it\n")
	}
	if err := r.measureAll(ctx, e, data, out); err != nil {
		return err
	}
	err = r.write(out, true)
	r.show(out, err == nil)
	return joined(err, r.writeJSON(out))
}

// check refuses wrong flags and files before any work, and returns the settings of the data.
func (r *reproduction) check() (c dpn.Config, err error) {
	for name, v := range map[string]int{"seeds": r.seeds, "epochs": r.epochs} {
		if v < 0 || v > 1_000_000 {
			return c, fmt.Errorf("--%s %d: expected 1 to 1000000, or 0 for the default", name, v)
		}
	}
	if err := r.checkFlags(); err != nil {
		return c, err
	}
	for _, p := range r.presets {
		if _, err := dpn.Preset(p); err != nil {
			return c, fmt.Errorf("--presets: %w", err)
		}
	}
	if c, err = dpn.Preset("published"); err != nil {
		return c, err
	}
	if r.what == "law" && source.Found(lawData) {
		c.Data = lawData
	}
	r.data.settle(r.flags, &c)
	files := r.files()
	inputData(files, "of --data "+c.Data, c.Data)
	files.Folder("--out", r.out, reproducedFile, resultsFile)
	files.Folder("--out", filepath.Join(r.out, reproduce.PartsFolder), reproduce.IsPart, "")
	if _, err := os.Stat(r.out); err == nil { // another run is the better reason to refuse
		release, err := openFolder("--out", r.out)
		if err != nil {
			return c, err
		}
		release()
	}
	if err := r.refuseEarlier(); err != nil {
		return c, err
	}
	return c, files.Check()
}

// settings are those of the run on data.
func (r *reproduction) settings(data *dataset.Data) reproduce.Settings {
	s := reproduce.Settings{Experiment: r.what, Seeds: r.seeds, Epochs: r.epochs, Matrix: r.matrix,
		Version: version()}
	if r.includes("trained") {
		s.Presets = r.presets
	}
	return s.On(data)
}

// openParts begins or resumes the run, and says in its messages how to go on after an interruption.
func (r *reproduction) openParts(s reproduce.Settings) (err error) {
	if r.resume {
		if r.parts, err = reproduce.ResumeParts(r.out, s); err != nil {
			return fmt.Errorf("--resume: %w", err)
		}
		r.note("finished before: %s\n", format.Count(r.parts.Len(), "part"))
	} else if r.parts, err = reproduce.BeginParts(r.out, s, r.earlier()); err != nil {
		return fmt.Errorf("--out %s: %w", r.out, regular.Cause(err))
	}
	r.parts.OnSave = func() { r.afterInterrupt = r.goOn() }
	r.afterInterrupt = r.goOn()
	return nil
}

// goOn says what is saved, and which command goes on.
func (r *reproduction) goOn() string {
	if !r.parts.Begun() {
		return ": the earlier run is kept, start again with: " + r.command("--overwrite")
	}
	n := r.parts.Len()
	verb := "are"
	if n == 1 {
		verb = "is"
	}
	return fmt.Sprintf(": %s %s saved, continue with: %s", format.Count(n, "finished part"), verb,
		r.command("--resume"))
}

// command is the command line of this run, with how in the place of --resume and --overwrite.
func (r *reproduction) command(how ...string) string {
	args := []string{"reproduce", r.what}
	r.flags.Visit(func(f *pflag.Flag) {
		switch v := f.Value.(type) {
		case pflag.SliceValue:
			args = append(args, "--"+f.Name, strings.Join(v.GetSlice(), ","))
		default:
			switch {
			case f.Name == "resume" || f.Name == "overwrite":
			case f.NoOptDefVal == v.String(): // takes no argument of its own
				args = append(args, "--"+f.Name)
			case f.NoOptDefVal != "":
				args = append(args, "--"+f.Name+"="+v.String())
			default:
				args = append(args, "--"+f.Name, v.String())
			}
		}
	})
	return quote.Command(append(args, how...)...)
}

// measureAll runs the experiments. If one fails, the results of those before it are written.
func (r *reproduction) measureAll(ctx context.Context, e *engine.Engine, data *dataset.Data, out *reproduced) error {
	done := 0
	for _, name := range experiments {
		if !r.includes(name) {
			continue
		}
		err := r.measure(ctx, e, data, name, &out.Results)
		switch {
		case err == nil:
			done++
			continue
		case ctx.Err() != nil:
			return err
		case errors.As(err, new(*reproduce.StateError)):
			return fmt.Errorf("--resume: %w", err)
		case errors.As(err, new(*os.PathError)):
			return fmt.Errorf("--out %s: %w%s", r.out, err, r.goOn())
		}
		err = fmt.Errorf("--data %s: %w", out.Data, err)
		if done > 0 {
			err = joined(err, r.write(out, false))
		}
		return err
	}
	return nil
}

// includes reports whether an experiment is part of what was asked for.
func (r *reproduction) includes(name string) bool {
	return r.what == name || r.what == "all" && name != apart
}

// checkImages refuses too few images for an experiment, before the first one runs.
func (r *reproduction) checkImages(experiment string, data *dataset.Data, c dpn.Config) error {
	var size *source.SizeError
	if !errors.As(reproduce.CheckImages(experiment, r.matrix, data), &size) {
		return nil
	}
	if size.Split == "train" && c.TrainSize > 0 || size.Split == "test" && c.TestSize > 0 {
		return fmt.Errorf("--%s-size %d: %s", size.Split, size.Size, size.Problem)
	}
	return fmt.Errorf("--data %s: %s images: %s", c.Data, size.Split, size.Problem)
}

// checkFlags refuses flags that the experiment would ignore.
func (r *reproduction) checkFlags() error {
	switch {
	case r.resume && r.overwrite:
		return errors.New("--resume and --overwrite: give one of the two")
	case r.flags.Changed("presets") && !r.includes("trained"):
		return fmt.Errorf("--presets: reproduce %s does not use them; only with reproduce trained or all", r.what)
	}
	if r.matrix && r.what != "law" {
		return fmt.Errorf("--matrix: reproduce %s does not use it; only with reproduce law", r.what)
	}
	for _, name := range []string{"seeds", "epochs"} {
		if r.flags.Changed(name) && r.what == "field" {
			return fmt.Errorf("--%s: reproduce field has one seed and no training; only with another experiment", name)
		}
	}
	return nil
}

const (
	resultsFile   = "reproduce.json"
	resultsFormat = 3       // the version of its content
	maxResults    = 1 << 28 // bytes, beyond which a file cannot be one
)

// refuseEarlier refuses a folder with an earlier run, unless it is to be resumed or replaced.
func (r *reproduction) refuseEarlier() error {
	_, err := os.Stat(filepath.Join(r.out, resultsFile))
	unfinished := reproduce.HasParts(r.out)
	switch {
	case r.overwrite:
	case r.resume && err != nil && !unfinished:
		return fmt.Errorf("--resume: nothing to resume in --out %s; expected the folder of a run, or the command "+
			"without --resume", r.out)
	case r.resume:
	case unfinished:
		return fmt.Errorf("--out %s: holds parts of a run that is not finished; expected another folder, --resume "+
			"or --overwrite", r.out)
	case err != nil && exist([]string{filepath.Join(r.out, pageFile)}):
		return fmt.Errorf("--out %s: holds a %s, which is of no earlier run; expected another folder, or --overwrite",
			r.out, pageFile)
	case err == nil:
		return fmt.Errorf("--out %s: holds the %s of an earlier run; expected another folder, --resume "+
			"or --overwrite", r.out, resultsFile)
	}
	return nil
}

// reproducedFile says whether reproduce may write a file of that name.
func reproducedFile(name string) bool {
	return name == resultsFile || name == pageFile ||
		isFigure(name) && slices.ContainsFunc(experiments, func(e string) bool { return strings.HasPrefix(name, e) })
}

// earlier lists the results of an earlier run, which --overwrite replaces.
func (r *reproduction) earlier() []string {
	var list []string
	if r.overwrite {
		old, _ := os.ReadDir(r.out)
		for _, f := range old { // including figures of other experiments
			if reproducedFile(f.Name()) {
				list = append(list, filepath.Join(r.out, f.Name()))
			}
		}
	}
	return list
}

// showFinished shows the results of a run that is finished.
func (r *reproduction) showFinished(s reproduce.Settings) error {
	path := filepath.Join(r.out, resultsFile)
	b, err := regular.ReadFile(path, maxResults)
	if err != nil {
		return fmt.Errorf("--resume: %s: %w", path, regular.Cause(err))
	}
	out, err := parseResults(b)
	if err == nil {
		err = s.Matches(out.Settings)
	}
	if err != nil {
		return fmt.Errorf("--resume: %s: %w", path, err)
	}
	reproduce.CleanParts(r.out)
	r.note("already finished: nothing is left to do\n")
	r.show(out, true)
	return r.writeJSON(json.RawMessage(b))
}

var errDamaged = errors.New("damaged, or not written by dpnbench reproduce; expected --overwrite to start again")

// parseResults reads reproduce.json.
func parseResults(b []byte) (*reproduced, error) {
	var version struct{ Format int }
	if err := json.Unmarshal(b, &version); err != nil {
		return nil, errDamaged
	}
	if f := version.Format; f != resultsFormat { // the first versions wrote none
		return nil, fmt.Errorf("format %d, expected %d: not written by this version of dpnbench reproduce", f,
			resultsFormat)
	}
	out := &reproduced{}
	if err := json.Unmarshal(b, out); err != nil {
		return nil, errDamaged
	}
	have := map[string]bool{"table1": out.Table1 != nil, "law": out.Law != nil, "trained": out.Trained != nil,
		"poster": out.Poster != nil, "field": out.Field != nil, apart: out.Robust != nil}
	of := reproduction{what: out.Settings.Experiment}
	for _, name := range experiments {
		if of.includes(name) && !have[name] {
			return nil, fmt.Errorf("no results of %s, and no parts to go on from; expected --overwrite", name)
		}
	}
	if out.Robust != nil {
		return out, out.Robust.Check()
	}
	return out, nil
}

// measure runs one experiment.
func (r *reproduction) measure(ctx context.Context, e *engine.Engine, data *dataset.Data, name string,
	out *reproduce.Results) (err error) {
	last, parts, tell := "", 0, r.phase(name)
	progress := func(what string, done, all int) {
		if what != last {
			r.note("%s\n", what)
		}
		last, parts = what, all
		tell(done, all)
	}
	switch name {
	case "table1":
		out.Table1, err = reproduce.RunTable1(ctx, e, data, reproduce.Table1Options{Seeds: r.seeds, Epochs: r.epochs,
			Progress: progress, Parts: r.parts})
	case "law":
		out.Law, err = reproduce.RunLaw(ctx, e, data, reproduce.LawOptions{Seeds: r.seeds, Epochs: r.epochs,
			Matrix: r.matrix, Progress: progress, Parts: r.parts})
	case "trained":
		out.Trained, err = reproduce.RunTrained(ctx, e, data, reproduce.TrainedOptions{Presets: r.presets,
			Seeds: r.seeds, Epochs: r.epochs, Progress: progress, Parts: r.parts})
	case "poster":
		out.Poster, err = reproduce.RunPoster(ctx, e, data, reproduce.PosterOptions{Seeds: r.seeds, Epochs: r.epochs,
			Progress: progress, Parts: r.parts})
	case "field":
		out.Field, err = reproduce.RunField(ctx, e, data, reproduce.FieldOptions{Progress: progress, Parts: r.parts})
	case apart:
		out.Robust, err = reproduce.RunRobust(ctx, e, data, reproduce.RobustOptions{Seeds: r.seeds, Epochs: r.epochs,
			Progress: progress, Parts: r.parts})
	}
	if err == nil {
		tell(parts, parts) // the experiments tell only which part begins
	}
	return err
}

// write writes page, figures and results; if that is all, the parts are removed.
func (r *reproduction) write(out *reproduced, all bool) error {
	out.Claims, out.Seconds = reproduce.Claims(out.Results), r.parts.Seconds()
	facts := []report.Fact{
		{Name: "Data", Text: out.Data},
		{Name: "Machine", Text: fmt.Sprintf("%s, %s, %s",
			out.Machine.Brand, out.Tier, format.Count(out.Threads, "thread"))},
		{Name: "dpnbench", Text: version()},
		{Name: "Command", Text: r.command()},
	}
	r.phase("figures")
	defer r.progress.end()
	var files output.Batch
	defer files.Discard()
	path := filepath.Join(r.out, pageFile)
	if err := files.Write(path, reproduce.Page(out.Results, facts).Write); err != nil {
		return fmt.Errorf("--out %s: %w%s", path, regular.Cause(err), r.goOn())
	}
	for _, f := range reproduce.Figures(out.Results) {
		if err := plot.Add(&files, filepath.Join(r.out, f.Name), f.Figure); err != nil {
			if failed, ok := errors.AsType[*os.PathError](err); ok {
				return fmt.Errorf("--out %s: %w%s", r.out, failed.Err, r.goOn())
			}
			r.note("no figure %q: %v\n", f.Name, err)
		}
	}
	err := addJSON(&files, filepath.Join(r.out, resultsFile), out)
	if all {
		r.parts.Finish(&files)
	}
	if err == nil {
		err = files.Commit()
	}
	if err != nil {
		return fmt.Errorf("--out %s: %w%s", r.out, err, r.goOn())
	}
	if all {
		reproduce.CleanParts(r.out)
	}
	return nil
}

// verdictTones are the colours of verdicts.
var verdictTones = map[string]tone{reproduce.Reproduced: good, reproduce.NotReproduced: doubtful}

// show prints the claims that were judged, and where the files are if they were written.
func (r *reproduction) show(out *reproduced, written bool) {
	if b := out.Robust; b != nil {
		r.note("test accuracy: mean over %s (minimum to maximum)\n", b.SeedsText())
		r.table(reproduce.RobustTable(b))
		for _, v := range b.Verdicts() {
			training := "clean"
			if v.Noisy {
				training = "noisy"
			}
			r.printf("%s training, %s: %s is %s: %s\n", training, v.Setting, v.DPN, v.Word, v)
		}
	}
	if out.Law != nil {
		r.table(reproduce.LawTable(out.Law))
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
		r.toned(verdictTones[c.Verdict], "%-36s %s: published %s, measured %s\n", verdict, c.Statement, c.Published,
			c.Measured)
	}
	r.printf("%s without a verdict in this run\n", format.Count(untested, "claim"))
	if written {
		r.note("written  %s; reproduce.json and figures beside it\n", filepath.Join(r.out, pageFile))
	}
}
