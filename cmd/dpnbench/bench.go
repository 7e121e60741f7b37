package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"dpnbench/bench"
	"dpnbench/engine"

	"dpnbench/internal/format"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const benchHelp = `Measure the speed of kernels, ascents, training steps and file loading.
%s

A row is one piece of work on one tier of kernels and a number of threads. Its result is compared
with a reference before it is timed (except in suite peak); a difference ends the run with exit
status 1. Repetitions of all rows are interleaved, in several passes over the whole run, so that
a disturbance affects all rows alike. The peak of the FMA units is measured beside every
repetition, on the same threads. Outliers are counted and kept.

Columns:
  time     median of a call, with its 95%% interval (order statistics, no distribution assumed)
  GFLOP/s  floating-point operations, counted as for dense work; peak: percent of the measured peak
  alone    the same percentage over repetitions without activity on the sibling hyperthread
  GB/s     operands and results, each counted once
  items/s  images, rows or numbers
  roof     percent of the roofline: the lower of the peak and the speed at which the memory level
           that holds operands and results can transfer them
  note     ! if the row is unreliable; the reason is below the table. Such a row shows no
           share above 100%%

Suite peak measures the machine itself: the FMA units, and streams from each memory level. It is
part of every run, except with --filter or --shape: then only by --suite peak,SUITE. --shape takes
the parameters of one or several suites: gemm m,k,n; quad d,k,batch; ascent and backward
d,k,n,batch; reduce and optim n.

--phases also measures where an update of suite train spends its time: each phase beside its bound,
and the share in which threads wait.

Without --tier, --quick measures the fastest tier, otherwise all tiers are measured (pure Go on
small work only). Here --threads accepts several numbers: 1,2. Leave the machine idle during a
run; disturbances are reported.`

func benchCommand(a *app) *cobra.Command {
	b := &benchmark{app: a}
	c := &cobra.Command{
		Use:   "bench",
		Short: "Measure speed, absolute and relative to the machine's peak",
		Long:  fmt.Sprintf(benchHelp, wrapped("Suites: "+strings.Join(bench.Suites(), ", ")+".")),
		Example: `  dpnbench bench --quick                       # about a minute, longer on a busy machine
  dpnbench bench --suite gemm,ascent --json run.json --html run.html
  dpnbench bench --filter 'gemm/packed/m=128' --tier avx2 --threads 1
  dpnbench bench --list --full --suite gemm    # which rows are there?
  dpnbench bench --shape m=300,k=700,n=50      # products of any shape
  dpnbench bench --shape d=100,k=20,n=10,batch=64 --suite ascent --quick
  dpnbench bench --quick --suite train --phases  # where does an update spend its time?
  dpnbench bench --full --json full.json       # all sweeps, on one, two and all threads
  dpnbench bench --quick --suite gemm --repetitions 100  # more samples, for a shared machine
  dpnbench bench --quick --go-bench old.txt    # for benchstat
  dpnbench bench --quick --suite gemm --library libopenblas.so   # if built with -tags foreign
  dpnbench bench compare old.json new.json     # exit status 1 if something got slower`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if b.library == "" {
				if err := onlyWith(c.Flags(), "--library", "symbol", "int"); err != nil {
					return err
				}
			}
			if err := notZero(c.Flags(), "int", "32 or 64"); err != nil {
				return err
			}
			if err := notZero(c.Flags(), "repetitions", "1 or more"); err != nil {
				return err
			}
			return b.run(c.Context(), c.Flags())
		},
	}
	f := c.Flags()
	f.StringSliceVar(&b.settings.Suites, "suite", nil, "`SUITES` to run (default all)")
	f.StringVar(&b.settings.Filter, "filter", "", "only rows whose suite/name/shape matches the regular `EXPRESSION`")
	allowEmpty(f, "filter") // all rows
	f.StringArrayVar(&b.settings.Shapes, "shape", nil, "rows of this `SHAPE` instead of the suites' own, such as "+
		"m=300,k=700,n=50 (repeatable)")
	f.BoolVar(&b.list, "list", false, "list the rows that these flags select, and measure nothing")
	f.BoolVar(&b.quick, "quick", false, "fewer rows and repetitions: about a minute, longer on a busy machine")
	f.BoolVar(&b.full, "full", false, "more rows: all sweeps")
	f.IntVar(&b.settings.Repetitions, "repetitions", 0,
		"repeat each row `N` times in each of the four passes, up to 0.5 s per pass")
	f.BoolVar(&b.settings.Pinned, "pin", false, "pin each thread to a CPU (Linux)")
	f.BoolVar(&b.settings.Phases, "phases", false, "suite train: also the time of each phase of an update, beside "+
		"its bound")
	f.StringVar(&b.html, "html", "", "write a page with figures to `FILE`")
	f.StringVar(&b.goBench, "go-bench", "", "write the format of Go benchmarks to `FILE`, for benchstat")
	f.StringVar(&b.library, "library", "", "also time a product of this shared library `FILE` in suite gemm "+
		"(-tags foreign)")
	f.StringVar(&b.symbol, "symbol", "cblas_sgemm", "`NAME` of the product, such as sgemm_ or dpn_matmul")
	f.IntVar(&b.bits, "int", 0, "`BITS` of the library's integers: 32 or 64 (default 64 for names in 64_)")
	f.IntVar(&b.settings.Slow, "slow", 0, "repeat the work of every call `N` times, to test comparisons")
	f.IntVar(&b.settings.Memory, "memory", 0, "limit stream buffers to `N` bytes, to test the command")
	f.MarkHidden("slow")
	f.MarkHidden("memory")
	c.AddCommand(compareCommand(a), scaleCommand(a))
	return c
}

// benchmark is one run of bench.
type benchmark struct {
	*app
	settings    bench.Settings
	quick, full bool
	list        bool
	html        string
	goBench     string

	library, symbol string // a foreign product
	bits            int    // of its integers
}

func (b *benchmark) resolve() error {
	s := &b.settings
	s.Extent = "usual"
	switch {
	case b.quick && b.full:
		return fmt.Errorf("--quick and --full: give one of the two")
	case b.quick:
		s.Extent = "quick"
	case b.full:
		s.Extent = "full"
	}
	if s.Slow < 0 {
		return fmt.Errorf("--slow %d: expected 0 or more repetitions", s.Slow)
	}
	if s.Phases && len(s.Suites) > 0 && !slices.Contains(s.Suites, "train") {
		return fmt.Errorf("--phases: only suite train has phases; expected it in --suite %s",
			strings.Join(s.Suites, ","))
	}
	if s.Memory < 0 {
		return fmt.Errorf("--memory %d: expected 0 or more bytes", s.Memory)
	}
	if b.library != "" {
		if err := b.openLibrary(); err != nil {
			return err
		}
	}
	if t, _ := setting("--tier", b.tier, "DPN_TIER"); t != "" {
		if _, err := b.tierSetting(); err != nil {
			return err
		}
		s.Tiers = []string{t}
	}
	text, from := setting("--threads", b.threads, "DPN_THREADS")
	if text == "" {
		return nil
	}
	for _, field := range strings.Split(text, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(field))
		if err != nil || n < 1 || n > engine.MaxThreads || slices.Contains(s.Threads, n) {
			return fmt.Errorf("%s %s: expected distinct whole numbers from 1 to %d, such as 1,2", from, text,
				engine.MaxThreads)
		}
		s.Threads = append(s.Threads, n)
	}
	return nil
}

func (b *benchmark) run(ctx context.Context, flags *pflag.FlagSet) error {
	if err := b.resolve(); err != nil {
		return err
	}
	if err := b.settings.Check(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	if b.list {
		if err := notWith(flags, "--list", "html", "go-bench", "repetitions", "pin", "phases"); err != nil {
			return err
		}
		return b.listRows()
	}
	files := b.files()
	files.Output("--html", b.html)
	files.Output("--go-bench", b.goBench)
	if err := files.Check(); err != nil {
		return err
	}
	report := b.phase("bench")
	b.progress.slow()
	r, err := bench.Run(ctx, b.settings, func(done, all int, what string) {
		b.progress.rename(strings.TrimSpace("bench " + what))
		report(done, all)
	})
	b.progress.end()
	if r == nil {
		return err
	}
	return b.conclude(ctx, r, err)
}

// listRows does what --list asks for.
func (b *benchmark) listRows() error {
	if err := b.files().Check(); err != nil {
		return err
	}
	rows, err := b.settings.Rows()
	if err != nil {
		return fmt.Errorf("--%w", err)
	}
	for i, r := range rows {
		if i == 0 || r.ID != rows[i-1].ID { // else on another tier or number of threads
			b.printf("%s\n", r.ID)
		}
	}
	b.note("%s, each on its tiers and numbers of threads (--tier, --threads)\n", format.Count(len(rows), "row"))
	return b.writeJSON(rows)
}

// conclude prints and writes what a run measured, and returns how it ended.
func (b *benchmark) conclude(ctx context.Context, r *bench.Report, err error) error {
	// Measurements are printed and written even if the run or one of the files failed.
	b.show(r)
	unwritten := b.write(r)
	var mismatch *bench.ErrMismatch
	switch {
	case errors.As(err, &mismatch):
		return &failedError{joined(mismatch, unwritten).Error()}
	case err != nil:
		return joined(err, unwritten)
	case unwritten != nil:
		return unwritten
	case r.Partial:
		b.afterInterrupt = ": the results so far are printed and written, marked as partial"
		return ctx.Err()
	}
	return nil
}

// write writes the files that were asked for.
func (b *benchmark) write(r *bench.Report) error {
	write := func(flag, path string, format func(io.Writer, *bench.Report) error) error {
		if path == "" {
			return nil
		}
		var text bytes.Buffer
		if err := format(&text, r); err != nil {
			return fmt.Errorf("%s %s: %w", flag, path, err)
		}
		if err := writeFile(path, text.Bytes()); err != nil {
			return fmt.Errorf("%s %w", flag, err)
		}
		return nil
	}
	return joined(b.writeJSON(r), write("--html", b.html, bench.WritePage),
		write("--go-bench", b.goBench, bench.WriteGoBench))
}

// show prints the machine, its limits and the rows.
func (b *benchmark) show(r *bench.Report) {
	m := &r.Machine
	virtual := ""
	if m.Virtual {
		virtual = ", virtual"
	}
	// One text, which is broken into lines as a whole.
	b.note("%s%s, %s %s, %s of %s%s\n", m.Brand, parenthesis(m.Micro), m.OS, m.Arch,
		listThreads(r.Settings.Threads), format.Count(m.CPUs, "CPU"), virtual)
	b.note("version %s", r.Version)
	b.note("\nclock %.2f GHz (%.2f to %.2f)\n\n", r.Clock.Hz/1e9, r.Clock.Lowest/1e9, r.Clock.Most/1e9)
	b.table(peakRows(r))
	b.note("\n")
	if streams := bandwidthRows(r); len(streams) > 1 {
		b.table(streams)
		b.note("\n")
	}
	rows, limits := resultRows(r)
	if len(rows) > 1 {
		b.keyed(rowKeys, rows)
	}
	for i := range r.Results {
		if res := &r.Results[i]; len(res.Phases) > 0 {
			b.printf("\nphases of %s\n", res.ID())
			b.table(bench.PhaseRows(res.Phases))
		}
	}
	for _, line := range marks(r) {
		b.warn("%s\n", line)
	}
	for _, w := range r.Warnings {
		b.warn("%s\n", w)
	}
	of := fmt.Sprintf("and %s of suite peak", format.Count(limits, "row"))
	if limits == 0 {
		of = "no roof without suite peak (--suite peak,SUITE)"
	}
	b.note("%s, each checked against the reference first, %s, in %.0f s\n", format.Count(len(r.Results)-limits, "row"),
		of, r.Seconds)
}

// rowKeys are the first columns of resultRows, which name a row.
const rowKeys = 5

func peakRows(r *bench.Report) [][]string {
	rows := [][]string{{"tier", "threads", "peak GFLOP/s", "of 2 FMA units"}}
	for _, p := range r.Peak {
		share := "-"
		if p.PercentClock > 0 {
			share = fmt.Sprintf("%.1f%%", p.PercentClock)
		}
		rows = append(rows, []string{p.Tier, fmt.Sprint(p.Threads), fmt.Sprintf("%.1f", p.GFlops), share})
	}
	return rows
}

func bandwidthRows(r *bench.Report) [][]string {
	rows := [][]string{{"tier", "threads", "level", "per thread", "read GB/s", "write GB/s", "triad GB/s"}}
	for _, l := range r.Bandwidth {
		rows = append(rows, []string{l.Tier, fmt.Sprint(l.Threads), l.Level, bench.FormatBytes(l.PerThread()),
			fmt.Sprintf("%.1f", l.Read), fmt.Sprintf("%.1f", l.Write), fmt.Sprintf("%.1f", l.Triad)})
	}
	return rows
}

// resultRows returns the table of all suites but peak, whose rows are the limits.
func resultRows(r *bench.Report) (rows [][]string, limits int) {
	rows = [][]string{{"suite", "work", "shape", "tier", "threads", "time", "95%", "GFLOP/s", "peak", "alone",
		"GB/s", "items/s", "roof", "note"}}
	for i := range r.Results {
		res := &r.Results[i]
		if res.Suite == "peak" {
			limits++
			continue
		}
		note := ""
		if len(res.Marks) > 0 {
			note = "!"
		}
		roof := "-"
		if share := res.Share(res.PercentBound); share > 0 {
			roof = fmt.Sprintf("%.0f%% %s", share, res.Bound)
		}
		rows = append(rows, []string{res.Suite, res.Name, res.Shape, res.Tier, fmt.Sprint(res.Threads),
			bench.FormatSeconds(res.SecondsMedian), bench.FormatWidth(res.SecondsMedian, res.SecondsCI),
			figure(res.GFlops, "%.1f"), figure(res.Share(res.PercentPeak), "%.0f%%"),
			figure(res.Share(res.PercentPeakAlone), "%.0f%%"),
			figure(res.GBPerS, "%.1f"), figure(res.SamplesPerSecond, "%.4g"), roof, note})
	}
	return rows, limits
}

// marks explains why rows are unreliable: one line for each reason, ignoring the numbers in it.
func marks(r *bench.Report) (lines []string) {
	for _, k := range bench.MarkKinds(r.Results) {
		which := k.First.ID()
		if k.Rows > 1 {
			which = fmt.Sprintf("%d rows, e.g. %s", k.Rows, which)
		}
		lines = append(lines, which+": "+k.Example)
	}
	return lines
}

func parenthesis(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// listThreads formats numbers of threads, such as "1, 2 and 4 threads".
func listThreads(threads []int) string {
	var s []string
	for _, n := range threads {
		s = append(s, fmt.Sprint(n))
	}
	text := strings.Join(s, ", ")
	if i := strings.LastIndex(text, ", "); i >= 0 {
		text = text[:i] + " and" + text[i+1:]
	}
	if text == "1" {
		return "1 thread"
	}
	return text + " threads"
}

// figure formats a number, or a dash for 0 and NaN: none.
func figure(v float64, format string) string {
	if v == 0 || math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}

func compareCommand(a *app) *cobra.Command {
	var threshold float64
	var all, inSeconds bool
	c := &cobra.Command{
		Use:   "compare OLD.json NEW.json",
		Short: "Compare two runs of bench",
		Long: `Compare the rows that two runs of bench share: medians with 95% intervals, and the
Mann-Whitney rank test (p below 0.001, because there are many rows). The exit status is 1 if a row
is slower by more than the threshold and the test agrees; where it does not, the row is unclear.

The clock of a shared machine changes from minute to minute. Therefore times are multiplied by
the peak that was measured beside them before they are compared; --seconds compares the times
themselves. That is always done for file loading, for memory-bound work, for work whose bound is
not known because the run left out suite peak, and where the measurement of the peak was disturbed.
Marked rows count like the others: repeat a run on a quiet machine before relying on them.`,
		Example: `  dpnbench bench --quick --json old.json
  dpnbench bench --quick --json new.json
  dpnbench bench compare old.json new.json
  dpnbench bench compare --threshold 2 --all old.json new.json`,
		Args: func(c *cobra.Command, args []string) error {
			if len(args) != 2 {
				return fmt.Errorf("compare: %s, expected 2 (see %q)", format.Count(len(args), "file"), c.CommandPath()+
					" --help")
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			return a.compare(args[0], args[1], threshold, all, inSeconds)
		},
	}
	c.Flags().Float64Var(&threshold, "threshold", 5, "`PERCENT` by which a row may get slower")
	c.Flags().BoolVar(&inSeconds, "seconds", false, "compare times, not times multiplied by the peak")
	c.Flags().BoolVar(&all, "all", false, "also show the rows that are the same or unclear")
	return c
}

func (a *app) compare(old, new string, threshold float64, all, inSeconds bool) error {
	if !(threshold >= 0 && threshold <= 1e6) {
		return fmt.Errorf("--threshold %v: expected a percentage from 0 up to 1000000", threshold)
	}
	files := a.files()
	files.Input("the file", old, new)
	if err := files.Check(); err != nil {
		return err
	}
	before, err := bench.ReadReport(old)
	if err != nil {
		return err
	}
	after, err := bench.ReadReport(new)
	if err != nil {
		return err
	}
	c := bench.Compare(before, after, threshold/100, inSeconds)
	c.Old, c.New = old, new
	if len(c.Rows) == 0 {
		return fmt.Errorf("%s and %s: no row in common; expected one with the same suite, work, shape, tier and "+
			"number of threads", old, new)
	}
	a.note("old: version %s\nnew: version %s\n\n", cmp.Or(c.OldVersion, "unknown"), cmp.Or(c.NewVersion, "unknown"))
	rows := [][]string{{"row", "old", "95%", "new", "95%", "change", "p", "verdict"}}
	for _, r := range c.Rows {
		if changed := r.Verdict == "slower" || r.Verdict == "faster"; !changed && !all {
			continue
		}
		verdict := r.Verdict
		if r.Marked {
			verdict += " (marked)"
		}
		rows = append(rows, []string{r.ID, bench.FormatSeconds(r.Old), bench.FormatWidth(r.Old, r.OldCI),
			bench.FormatSeconds(r.New), bench.FormatWidth(r.New, r.NewCI),
			fmt.Sprintf("%+.1f%%", 100*(r.Ratio-1)), fmt.Sprintf("%.3g", r.P), verdict})
	}
	if len(rows) > 1 {
		a.table(rows)
	}
	unclear := ""
	if c.Unclear > 0 {
		unclear = fmt.Sprintf(", %d unclear (as far apart, perhaps by chance; --all)", c.Unclear)
	}
	a.printf("%s: %d slower, %d faster by more than %g%%%s; geometric mean of new over old %.3f\n",
		format.Count(len(c.Rows), "row"), c.Slower, c.Faster, threshold, unclear, c.GeoMean)
	if n := len(c.OnlyOld) + len(c.OnlyNew); n > 0 {
		a.note("%s in only one of the two\n", format.Count(n, "row"))
	}
	for _, w := range c.Warnings {
		a.warn("%s\n", w)
	}
	unwritten := a.writeJSON(c)
	if c.Slower > 0 {
		slower := fmt.Errorf("slower by more than %g%%: %d of %s", threshold, c.Slower,
			format.Count(len(c.Rows), "row"))
		return &failedError{joined(slower, unwritten).Error()}
	}
	return unwritten
}
