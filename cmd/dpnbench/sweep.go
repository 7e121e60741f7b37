package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"

	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/internal/parallel"
	"dpnbench/internal/regular"
	"dpnbench/internal/sweep"
	"dpnbench/internal/sysinfo"
	"dpnbench/report"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const sweepHelp = `Train with many settings and seeds, and compare them on the validation samples. The file of --config
is one of train with tables beside the settings: [vary] has the settings that vary, each with a list
of values or a range, [sweep] how they are chosen.

  preset = "compact"                                   # of all runs; any setting of train
  epochs = 9

  [sweep]
  method = "random"                                    # or "grid" (default), "halving"
  draws = 16                                           # settings

  [vary]
  lr = { from = 1e-4, to = 1e-2, log = true }          # a grid also needs count
  components = [10, 20, 40]
  seed = [1, 2, 3]                                     # each setting with every seed

grid takes all combinations, random draws of them. halving trains all for few epochs, and the best
third (keep-one-of = 3) anew for three times as many, until the last ones have all epochs
(least-epochs = 1: those of the first rung at least). by = "accuracy" compares accuracies instead of
losses, draw-seed = 2 draws others.

Each run has a folder in runs, in the folder of --out, which is named after its settings and holds
what train writes: the same flags, the same bits. The same command goes on after an interruption or
a crash, also if values were added to the file: runs that have ended are not repeated. A run with
numbers that are not finite has failed, and the others go on.

At the end the folder of --out has report.html, a self-contained page with the table, the curves and
parallel coordinates, sweep.json, and sweep.csv with a row for each run. The test samples are
reported for the best run only.

--index N trains run N only, for an array of jobs of a cluster; then the command without it makes
table and page. --list prints the runs, their numbers and what is finished.`

func sweepCommand(a *app) *cobra.Command {
	s := &sweeping{app: a, samples: map[string]seen{}}
	c := &cobra.Command{
		Use:   "sweep",
		Short: "Train over settings and seeds, and compare",
		Long:  sweepHelp,
		Example: `  dpnbench sweep --config sweep.toml --list
  dpnbench sweep --config sweep.toml --out sweeps/first
  dpnbench sweep --config sweep.toml --jobs 2      # two at a time, each with half of the threads
  dpnbench sweep --config sweep.toml --index 3     # only run 3
  sbatch --array=0-11 --wrap 'dpnbench sweep --config sweep.toml --index $SLURM_ARRAY_TASK_ID'`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return s.run(c.Context(), c.Flags()) },
	}
	f := c.Flags()
	f.StringVar(&s.config, "config", "", "TOML `FILE` with settings and what varies")
	f.StringVar(&s.out, "out", "", "`FOLDER` for runs, table and page (default: the name of the file without .toml)")
	f.IntVar(&s.jobs, "jobs", 1, "train `N` runs at a time, which share the threads")
	f.IntVar(&s.index, "index", 0, "train only run `N`, from 0")
	f.BoolVar(&s.list, "list", false, "print the runs without training")
	return c
}

// sweeping is one run of sweep.
type sweeping struct {
	*app
	config, out string
	jobs, index int
	list        bool
	plan        *sweep.Plan

	mu      sync.Mutex      // while runs train side by side
	samples map[string]seen // of the runs that have ended, by their settings of data
}

// seen are the samples of a run.
type seen struct {
	run  int
	hash string
}

// sameSamples refuses the results of a run that was trained on other samples than another one with the same settings of
// data, whose files have changed meanwhile: such runs cannot be compared.
func (s *sweeping) sameSamples(run int, t *trainResult) error {
	if t.SamplesHash == "" { // of an earlier version
		return nil
	}
	c := t.Config
	of := fmt.Sprintf("%#v", []any{c.Data, c.TrainSize, c.TestSize, c.DataSeed, c.TestShare, c.ValData, c.Format,
		c.Label, c.Drop, c.Size, c.Channels})
	s.mu.Lock()
	defer s.mu.Unlock()
	if before, ok := s.samples[of]; ok && before.hash != t.SamplesHash {
		return fmt.Errorf("--out %s: runs %d and %d were trained on other samples of the same name, %s, and cannot be "+
			"compared; expected a folder for each", s.out, before.run, run, c.Data)
	}
	s.samples[of] = seen{run, t.SamplesHash}
	return nil
}

// Files in the folder of a sweep, beside the page.
const (
	runsFolder = "runs"
	sweepFile  = "sweep.json"
	csvFile    = "sweep.csv"
	failedFile = "failed.txt" // in the folder of a run: why it failed
)

// sweepFiles are those that the end of a sweep writes.
var sweepFiles = []string{sweepFile, csvFile, pageFile}

const mostJobs = 1024

func (s *sweeping) run(ctx context.Context, flags *pflag.FlagSet) error {
	if err := s.check(flags); err != nil {
		return err
	}
	if s.list {
		return s.show()
	}
	if flags.Changed("index") {
		return s.one(ctx)
	}
	release, err := openResults(s.out, sweepFiles, sweepFile)
	if err != nil {
		return err
	}
	defer release()
	var results []*sweep.Result
	points := s.plan.All()
	for rung := range s.plan.Rungs() {
		found, err := s.trainAll(ctx, rung, points)
		if err != nil {
			return err
		}
		results = append(results, found...)
		if rung+1 < s.plan.Rungs() {
			points = s.plan.Next(found)
		}
	}
	return s.finish(s.plan.Report(results))
}

// check reads the file and refuses wrong flags, settings and files before any work.
func (s *sweeping) check(flags *pflag.FlagSet) (err error) {
	switch {
	case s.config == "":
		return errors.New("--config: expected a TOML file with a table [vary] (see \"dpnbench sweep --help\")")
	case s.jobs < 1 || s.jobs > mostJobs:
		return fmt.Errorf("--jobs %d: expected 1 to %d", s.jobs, mostJobs)
	case flags.Changed("jobs") && flags.Changed("index"):
		return fmt.Errorf("--jobs %d: --index trains one run; give one of the two", s.jobs)
	}
	if s.list {
		if err := notWith(flags, "--list", "index", "jobs"); err != nil {
			return err
		}
	}
	if s.plan, err = sweep.Load(s.config); err != nil {
		return fmt.Errorf("--%w", err)
	}
	if n := s.plan.Runs(); flags.Changed("index") && (s.index < 0 || s.index >= n) {
		return fmt.Errorf("--index %d: expected 0 to %d, of the %d runs of %s (--list)", s.index, n-1, n, s.config)
	}
	if s.out == "" {
		s.out = strings.TrimSuffix(filepath.Base(s.config), filepath.Ext(s.config))
	}
	if n := len(s.plan.Points); n < s.plan.Draws {
		s.note("draws %d: found only %s\n", s.plan.Draws, format.Count(n, "different setting"))
	}
	files := s.files()
	files.Input("--config", s.config)
	for _, v := range s.plan.Fixed {
		if v.Name == "data" || v.Name == "val-data" {
			inputData(files, "of "+v.Name+" "+v.Value, v.Value)
		}
	}
	files.Folder("--out", s.out, output.Names(sweepFiles...), sweepFile)
	for _, r := range s.plan.Rung(s.plan.Rungs()-1, s.plan.All()) {
		t, flags, err := s.training(s.app, r)
		if err == nil {
			_, err = t.presumed(flags)
		}
		if err != nil {
			return fmt.Errorf("--config %s: %s: %s", s.config, sweep.Text(r.Varied),
				strings.TrimPrefix(oneLine(err), "--"))
		}
	}
	return files.Check()
}

// folder is that of a run.
func (s *sweeping) folder(r sweep.Run) string { return filepath.Join(s.out, runsFolder, r.Folder()) }

// training is train with the settings of a run, which goes on if it has begun.
func (s *sweeping) training(a *app, r sweep.Run) (*training, *pflag.FlagSet, error) {
	t := &training{app: a, compared: true}
	c := t.command()
	t.out = s.folder(r)
	if _, err := os.Stat(filepath.Join(t.out, dpn.StateFile)); err == nil {
		t.resume = true
		return t, c.Flags(), nil
	}
	t.overwrite = true // what a run has left that was killed before it had a state
	for _, v := range r.Settings {
		if err := c.Flags().Set(v.Name, v.Value); err != nil {
			return nil, nil, err
		}
	}
	return t, c.Flags(), nil
}

// found returns what the folder of a run has.
func (s *sweeping) found(r sweep.Run) (*sweep.Result, error) {
	x := sweep.NewResult(r, s.folder(r))
	if b, err := regular.ReadFile(filepath.Join(x.Folder, failedFile), maxResults); err == nil {
		x.Status, x.Error = sweep.Failed, strings.TrimSpace(string(b))
		return x, nil
	}
	if _, err := os.Stat(filepath.Join(x.Folder, dpn.StateFile)); err == nil {
		x.Status = sweep.Begun
	}
	b, err := regular.ReadFile(filepath.Join(x.Folder, resultFile), maxResults)
	if errors.Is(err, os.ErrNotExist) {
		return x, nil
	}
	var t trainResult
	if err != nil || json.Unmarshal(b, &t) != nil || t.Validation == nil {
		return nil, fmt.Errorf("--out %s: %s: no results of train with validation samples; expected the file that "+
			"train wrote, or none", s.out, filepath.Join(x.Folder, resultFile))
	}
	if t.Updates == 0 { // of a version that called them steps: train writes it anew
		return x, nil
	}
	if err := s.sameSamples(r.Index, &t); err != nil {
		return nil, err
	}
	x.Data, x.Status, x.ValLoss, x.ValAccuracy = t.Data, sweep.Finished, separation.Float(t.Validation.Loss),
		separation.Float(t.Validation.Accuracy)
	x.BestEpoch, x.Updates, x.Seconds, x.WeightsSHA256 = t.BestEpoch, t.Updates, t.Seconds, t.WeightsSHA256
	x.TestLoss, x.TestAccuracy, x.TestSamples = t.TestLoss, t.TestAccuracy, t.TestSamples
	for _, h := range t.Epochs {
		if h.ValLoss != nil {
			x.Curve = append(x.Curve, separation.Float(*h.ValLoss))
		}
	}
	return x, nil
}

// one trains the run of --index, and prints what train prints.
func (s *sweeping) one(ctx context.Context) error {
	rung, points := 0, s.plan.All()
	for ; s.index >= s.plan.First(rung+1); rung++ {
		all, missing, err := s.state(rung, points)
		if err != nil {
			return err
		}
		if missing > 0 {
			return fmt.Errorf("--index %d: a run of rung %d, which begins when all of rung %d have ended; "+
				"%s are missing", s.index, rung+2, rung+1, format.Count(missing, "run"))
		}
		points = s.plan.Next(all)
	}
	run := s.plan.Rung(rung, points)[s.index-s.plan.First(rung)]
	x, err := s.found(run)
	if err == nil && !x.Ended() {
		s.note("run %d: %s\n", s.index, sweep.Text(run.Varied))
		x, err = s.train(ctx, s.app, x)
	}
	if err != nil {
		return err
	}
	s.printf("run %d of 0 to %d: %s in %s\n", s.index, s.plan.Runs()-1, x.Status+colon(x.Error), x.Folder)
	return s.writeJSON(x)
}

func colon(text string) string {
	if text != "" {
		text = ": " + text + ","
	}
	return text
}

// state returns the results of a rung, and how many runs have not ended.
func (s *sweeping) state(rung int, points []int) (all []*sweep.Result, missing int, err error) {
	for _, r := range s.plan.Rung(rung, points) {
		x, err := s.found(r)
		if err != nil {
			return nil, 0, err
		}
		if all = append(all, x); !x.Ended() {
			missing++
		}
	}
	return all, missing, nil
}

// show lists the runs, each with its command.
func (s *sweeping) show() error {
	rows := [][]string{{"run", "state", "settings", "folder"}}
	var all []*sweep.Result
	for rung, points := 0, s.plan.All(); ; rung++ {
		found, missing, err := s.state(rung, points)
		if err != nil {
			return err
		}
		for _, x := range found {
			rows = append(rows, []string{strconv.Itoa(x.Index), x.Status, sweep.Text(x.Varied), x.Folder})
		}
		all = append(all, found...)
		if rung+1 == s.plan.Rungs() {
			s.table(rows)
			break
		}
		if missing > 0 {
			s.table(rows)
			for next := rung + 1; next < s.plan.Rungs(); next++ {
				s.printf("rung %d: runs %d to %d, %s of the best of rung %d for %s\n", next+1, s.plan.First(next),
					s.plan.First(next+1)-1, format.Count(s.plan.Kept(next), "setting"), next,
					format.Count(s.plan.Epochs[next], "epoch"))
			}
			break
		}
		points = s.plan.Next(found)
	}
	s.note("each as: %s\n", sweep.Command(all[0].Run, "", all[0].Folder))
	return s.writeJSON(all)
}

// trainAll trains the runs of a rung that have not ended, jobs at a time. The first error stops the others, which are
// saved.
func (s *sweeping) trainAll(ctx context.Context, rung int, points []int) ([]*sweep.Result, error) {
	runs := s.plan.Rung(rung, points)
	what := format.Count(len(runs), "run")
	if s.plan.Rungs() > 1 {
		what += fmt.Sprintf(" of rung %d", rung+1)
	}
	all := make([]*sweep.Result, len(runs))
	var todo []int
	for i, r := range runs {
		var err error
		if all[i], err = s.found(r); err != nil {
			return nil, err
		}
		if !all[i].Ended() {
			todo = append(todo, i)
		}
	}
	if n := len(runs) - len(todo); n > 0 {
		s.note("%d of %s ended before\n", n, what)
	}
	if len(todo) == 0 {
		return all, nil
	}
	quiet, err := s.quietly()
	if err != nil {
		return nil, err
	}
	s.afterInterrupt = goOn(len(runs)-len(todo), what)
	done, report := len(runs)-len(todo), func(int, int) {}
	if s.jobs > 1 {
		report = s.phase("runs")
		report(done, len(runs))
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	parallel.Each(len(todo), s.jobs, func(k int) {
		if ctx.Err() != nil {
			return
		}
		i := todo[k]
		sub := quiet
		sub.logger = s.log().With("run", runs[i].Index)
		if s.jobs == 1 {
			s.progress.within(fmt.Sprintf("run %d of %d: ", i+1, len(runs)))
			defer s.progress.within("")
			sub.progress = s.progress
		}
		x, err := s.train(ctx, &sub, all[i])
		if err != nil {
			cancel(err)
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		all[i] = x
		done++
		s.afterInterrupt = goOn(done, what)
		s.said(x, len(runs))
		report(done, len(runs))
	})
	s.progress.end()
	return all, context.Cause(ctx)
}

// goOn says how to go on after an interruption.
func goOn(done int, all string) string {
	return fmt.Sprintf(": %d of %s ended; the same command goes on", done, all)
}

// said prints a line about a run that has ended.
func (s *sweeping) said(x *sweep.Result, all int) {
	if x.Status == sweep.Failed {
		s.warn("run %d failed: %s: %s\n", x.Index, sweep.Text(x.Varied), x.Error)
		return
	}
	s.note("run %*d: val loss %.4f, accuracy %.2f%%, %.1f s: %s\n", len(strconv.Itoa(all)), x.Index, float64(x.ValLoss),
		float64(100*x.ValAccuracy), x.Seconds, sweep.Text(x.Varied))
}

// quietly is an app for runs that print nothing but warnings, with their part of the threads.
func (s *sweeping) quietly() (app, error) {
	e, err := s.engine()
	if err != nil {
		return app{}, err
	}
	threads := e.Threads()
	e.Close()
	return app{stderr: s.stderr, tier: s.tier, route: s.route, threads: strconv.Itoa(max(1, threads/s.jobs)),
		out: printer{File: s.app.out.File, err: errors.New("prints nothing")}}, nil
}

// train trains a run to its end. Numbers that are not finite are a result; they would be so again.
func (s *sweeping) train(ctx context.Context, a *app, x *sweep.Result) (*sweep.Result, error) {
	t, flags, err := s.training(a, x.Run)
	if err != nil {
		return nil, err
	}
	_, err = t.result(ctx, flags)
	switch {
	case errors.As(err, new(*dpn.NotFiniteError)), errors.As(err, new(*dpn.NotDefiniteError)),
		errors.As(err, new(*dpn.OutputError)):
		if err := writeFile(filepath.Join(t.out, failedFile), []byte(oneLine(err)+"\n")); err != nil {
			return nil, fmt.Errorf("--out %w", err)
		}
	case ctx.Err() != nil:
		if x, err := s.found(x.Run); err == nil && x.Ended() { // just before
			return x, nil
		}
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("--config %s: run %d, %s: %w", s.config, x.Index, sweep.Text(x.Varied), err)
	}
	return s.found(x.Run)
}

// finish prints the table and writes everything.
func (s *sweeping) finish(r *sweep.Report) error {
	const most = 40 // rows on a terminal
	s.keyed(1+len(r.Varied), r.Rows(most))
	if n := len(r.Table) - most; n > 0 {
		s.note("and %s (%s)\n", format.Count(n, "more setting"), csvFile)
	}
	for _, line := range r.Summary() {
		s.printf("%s\n", line)
	}
	m := sysinfo.ReadMachine()
	var files output.Batch
	defer files.Discard()
	page := r.Page([]report.Fact{{Name: "Machine of this page", Text: m.Brand}, {Name: "Version", Text: version()}})
	err := addJSON(&files, filepath.Join(s.out, sweepFile), r)
	if err == nil {
		err = files.Write(filepath.Join(s.out, csvFile), r.WriteCSV)
	}
	if err == nil {
		err = files.Write(filepath.Join(s.out, pageFile), page.Write)
	}
	if err == nil {
		err = files.Commit()
	}
	if err != nil {
		err = fmt.Errorf("--out %s: %w", s.out, err)
	} else {
		s.note("page   %s\n", filepath.Join(s.out, pageFile))
		if r.Best != nil {
			s.note("model  %s\n", filepath.Join(r.Best.Folder, dpn.ModelFile))
		}
	}
	return joined(err, s.writeJSON(r))
}
