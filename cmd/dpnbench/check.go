package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"dpnbench/engine"
	"dpnbench/engine/check"
	"dpnbench/internal/format"
	"dpnbench/internal/quote"
	"dpnbench/internal/sysinfo"

	"github.com/spf13/cobra"
)

const checkHelp = `Run every kernel on every tier of this machine (or on that of --tier) with awkward sizes, strides
and alignments. Each result must be within the error bound of a float64 reference and have the
same bits as the pure-Go tier. Operands are placed against unreadable pages, so that an access
outside them is detected. A failing case prints the command that repeats it, and the exit status
is 1.

--sweep instead evaluates exp and log at all 2^32 inputs: the error must be at most 1 ULP, and the
results of every tier must hash to the committed value.

Columns: ULP is the largest distance from the rounded reference in units in the last place
(without results that suffer cancellation), error/bound the largest error divided by its bound.

A case is KERNEL:NAME=NUMBER,... A number out of range is refused with its range. The names are
  m, k, n, rows, d, classes  sizes
  steps                      ascent steps
  la, lb, lc, lx, ly, ...    layouts: 0 row-major, 1 with padding, 2 column-major, 3 with padding,
                             4 neither stride is 1
  acc                        1 adds to the old values
  offset                     distance of a buffer from the unreadable page before it, in floats;
                             -1: it ends at the page behind it
  data                       0 normal, 1 small integers, 2 mixed magnitudes, 3 powers of two,
                             4 with infinities, NaN, subnormal numbers and zeros
  seed                       random seed
  r, s                       kernels low-rank-*: rank; S: 0 is 1, 1 is -1, 2 is -0.7 and an origin
  zeros                      kernel matmul-nonzero: percentage of columns of B that are 0
  distance, isotropic        kernels *-sparse: distance between centres; 1: every precision is the
                             same multiple of the identity
ascend-final runs few rows and keeps only x_n.

--library checks a kernel of your own or of another library in the same way, within a bound that
holds for any order of additions in float32. It runs in separate processes: a case fails if it
crashes, or has no result after a minute. Each kind of mistake is printed with what its cases have
in common (--verbose: each case), then how many results have other bits when a call is repeated,
which is a mistake only if the call is the same. internal/foreign/kernels.h has the signatures.
--library needs a program built with cgo: CGO_ENABLED=1 go build -tags foreign ./cmd/dpnbench.

--dump and --judge do the same for a program in any language: it reads NPY files and writes one
(results.npy; --dump removes an earlier one). docs/checking.md lists the kernels and has programs.

--order finds out by probing in which order and precision products, dot products and sums are added,
and whether products are fused with their additions. It probes the engine on every tier, gonum, and
--library (in this process, so a crash of the library ends it) or, with --dump and --judge, a
program. Two implementations that differ in any of these cannot have equal bits.

`

// checkFlags are the flags of check.
type checkFlags struct {
	quick, sweep bool
	kernel       string
	cases        []string

	library, symbol string // a foreign kernel
	bits            int    // of its integers
	serve           bool   // run the cases that the parent process asks for

	order       bool // of additions
	terms, draw string

	dump, judge string // folders for programs in any language
}

func checkCommand(a *app) *cobra.Command {
	var o checkFlags
	c := &cobra.Command{
		Use:   "check",
		Short: "Run every kernel on every tier, or a kernel of your own, against the reference",
		Long:  checkHelp + wrapped("Kernels: "+strings.Join(check.Kernels(), ", ")+"."),
		Example: `  dpnbench check                     # all cases, under half a minute
  dpnbench check --quick             # a subset, a few seconds
  dpnbench check --tier avx2 --kernel matmul
  dpnbench check --sweep --tier avx2 # exp and log at all inputs, minutes
  dpnbench check --case matmul:m=7,k=13,n=17,lb=2   # one case; the rest has default values
  dpnbench check --library libopenblas.so --symbol cblas_sgemm
  dpnbench check --library ./mine.so --symbol fast_softmax --kernel softmax --quick
  dpnbench check --dump cases --kernel matmul   # then let your program write cases/results.npy
  dpnbench check --judge cases
  dpnbench check --order --terms 7   # draws the trees`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if o.sweep && (o.quick || o.kernel != "" || len(o.cases) > 0) {
				return fmt.Errorf("--sweep: cannot be combined with --quick, --kernel or --case")
			}
			if o.library == "" {
				if err := onlyWith(c.Flags(), "--library", "symbol", "int"); err != nil {
					return err
				}
			}
			if err := notZero(c.Flags(), "int", "32 or 64"); err != nil {
				return err
			}
			if !o.order {
				if err := onlyWith(c.Flags(), "--order", "terms", "draw"); err != nil {
					return err
				}
			}
			switch {
			case o.order || o.dump != "" || o.judge != "":
				return a.checkFiles(c.Context(), c.Flags(), o)
			case o.library != "":
				return a.checkLibrary(c.Context(), o)
			}
			return a.check(c.Context(), o)
		},
	}
	c.Flags().BoolVar(&o.quick, "quick", false, "run a subset of the cases")
	c.Flags().BoolVar(&o.sweep, "sweep", false, "check exp and log at all 2^32 inputs")
	wordVar(c.Flags(), &o.kernel, "kernel", "", checkedKernels(),
		"check only this `KERNEL`; with --library: what the symbol computes")
	c.Flags().StringArrayVar(&o.cases, "case", nil, "run only this `CASE`, as a failure prints it (repeatable)")
	c.Flags().StringVar(&o.library, "library", "", "check a function of this shared library `FILE` (-tags foreign)")
	c.Flags().StringVar(&o.symbol, "symbol", "", "`NAME` of the function, such as cblas_sgemm, sgemm_ or dpn_softmax")
	c.Flags().IntVar(&o.bits, "int", 0, "`BITS` of the library's integers: 32 or 64 (default 64 for names in 64_)")
	c.Flags().BoolVar(&o.serve, "serve", false, "run cases for another process")
	c.Flags().MarkHidden("serve")
	c.Flags().BoolVar(&o.order, "order", false, "find out in which order sums are added")
	c.Flags().StringVar(&o.terms, "terms", defaultTerms, "with --order: `NUMBERS` of terms")
	c.Flags().StringVar(&o.draw, "draw", "", "with --order: draw the trees of up to 64 terms into this `FOLDER`")
	c.Flags().StringVar(&o.dump, "dump", "", "write the cases of --kernel, or the probes of --order, to this `FOLDER`")
	c.Flags().StringVar(&o.judge, "judge", "", "judge the results that a program has written to this `FOLDER`")
	return c
}

// checkedKernels lists our kernels and what functions of others may compute.
func checkedKernels() []string {
	names := check.Kernels()
	for _, k := range slices.Concat(check.FileKernels(), libraryKernels) {
		if !slices.Contains(names, k) {
			names = append(names, k)
		}
	}
	return names
}

// checkResult is the JSON of check.
type checkResult struct {
	Machine sysinfo.Machine `json:"machine"`
	*check.Report
	Sweep []check.SweepRow `json:"sweep,omitempty"`
}

func (a *app) check(ctx context.Context, o checkFlags) error {
	if err := a.files().Check(); err != nil {
		return err
	}
	opt := check.Options{Quick: o.quick, Kernel: o.kernel}
	if o.kernel != "" && len(o.cases) > 0 {
		return fmt.Errorf("--kernel %s: a --case names its kernel; expected only one of the two", o.kernel)
	}
	if o.kernel != "" && !slices.Contains(check.Kernels(), o.kernel) {
		return fmt.Errorf("--kernel %q: expected one of %s", o.kernel, strings.Join(check.Kernels(), ", "))
	}
	for _, s := range o.cases {
		c, err := check.ParseCase(s)
		if err != nil {
			return fmt.Errorf("--case: %w", err)
		}
		opt.Cases = append(opt.Cases, c)
	}
	t, err := a.tierSetting()
	if err != nil {
		return err
	}
	if t != engine.Auto {
		opt.Tiers = []engine.Tier{t}
	}
	if opt.Threads, err = a.threadsSetting(); err != nil {
		return err
	}
	opt.Progress = a.phase("check")
	start := time.Now()
	if o.sweep {
		return a.sweep(ctx, opt)
	}
	r, err := check.Run(ctx, opt)
	a.progress.end()
	if err != nil {
		return err
	}
	failed := a.verdict(r)
	if err := joined(failed, a.writeJSON(checkResult{sysinfo.ReadMachine(), r, nil})); err != nil {
		return err
	}
	a.note("%s passed in %.1f s\n", format.Count(r.Cases, "case"), time.Since(start).Seconds())
	return nil
}

// verdict prints the table, and for failing cases the command that repeats them.
func (a *app) verdict(r *check.Report) error {
	a.checkTable(r)
	a.sayGuards(r)
	for i, f := range r.Failures {
		if i == 20 {
			a.printf("... and %d more\n", len(r.Failures)-i)
			break
		}
		a.toned(bad, "FAIL %s on %s: %s\n     repeat with: %s\n", f.Case, f.Tier, f.Reason,
			quote.Command("check", "--tier", f.Tier, "--threads", fmt.Sprint(f.Threads), "--case",
				f.Case))
	}
	return failedCases(r.Failed, r.Cases)
}

// sayGuards says what was not detected without guard pages.
func (a *app) sayGuards(r *check.Report) {
	if !r.Guards {
		a.printf("This system has no unreadable pages: reads outside operands, and writes far outside, were not " +
			"detected.\n")
	}
}

// failedCases is the error of failed cases, nil if there are none.
func failedCases(failed, all int) error {
	if failed > 0 {
		return &failedError{fmt.Sprintf("%d of %d cases failed", failed, all)}
	}
	return nil
}

// findings prints what is wrong with a function, each kind of mistake with an example and a command for it; with
// --verbose every failing case.
func (a *app) findings(r *check.Report, what string, command func(f check.Failure) string) {
	for _, f := range r.Functions[0].Findings {
		where := ""
		if f.Common != "" {
			where = ", all with " + f.Common
		}
		a.toned(bad, "FAIL %s: %s%s\n     %s: %s\n     %s: %s\n", f.Kind, format.Count(f.Cases, "case"), where,
			f.Example.Case, f.Example.Reason, what, command(f.Example))
	}
	if !a.verbose {
		return
	}
	for _, f := range r.Failures {
		a.toned(bad, "FAIL %s: %s\n     %s: %s\n", f.Case, f.Reason, what, command(f))
	}
}

// mostULP formats the largest distance in units in the last place.
func mostULP(v uint32) string {
	if v == math.MaxUint32 { // NaN against a number
		return "NaN"
	}
	return fmt.Sprint(v)
}

// sweep runs check --sweep.
func (a *app) sweep(ctx context.Context, opt check.Options) error {
	start := time.Now()
	if opt.Threads == 0 {
		opt.Threads = runtime.GOMAXPROCS(0)
	}
	sweep, err := check.Sweep(ctx, opt)
	a.progress.end()
	if err != nil {
		return err
	}
	r := &check.Report{Kernels: []check.Row{}, Failures: []check.Failure{}}
	rows := [][]string{{"function", "tier", "inputs", "failed", "ULP", "largest error", "at", "hash"}}
	for _, s := range sweep {
		r.Cases++
		verdict := "as committed"
		if !s.HashEqual {
			verdict = "NOT as committed: " + s.SHA256
		}
		if s.Failed > 0 || !s.HashEqual {
			r.Failed++
		}
		rows = append(rows, []string{s.Function, s.Tier, fmt.Sprint(s.Inputs), fmt.Sprint(s.Failed),
			fmt.Sprint(s.MaxULP), fmt.Sprintf("%.4f ULP", s.MaxError), s.Worst, verdict})
	}
	a.table(rows)
	var failed error
	if r.Failed > 0 {
		failed = &failedError{fmt.Sprintf("%d of %d sweeps failed", r.Failed, r.Cases)}
	}
	if err := joined(failed, a.writeJSON(checkResult{sysinfo.ReadMachine(), r, sweep})); err != nil {
		return err
	}
	a.note("%s passed in %.0f s\n", format.Count(r.Cases, "sweep"), time.Since(start).Seconds())
	return nil
}

func (a *app) checkTable(r *check.Report) {
	rows := [][]string{{"kernel", "tier", "cases", "failed", "ULP", "error/bound", "bits equal"}}
	for _, k := range r.Kernels {
		equal := "yes"
		if !k.BitsEqual {
			equal = "NO"
		}
		rows = append(rows, []string{k.Kernel, k.Tier, fmt.Sprint(k.Cases), fmt.Sprint(k.Failed),
			mostULP(k.MaxULP), errorRatio(k.MaxErrorRatio), equal})
	}
	a.table(rows)
}

// errorRatio formats the largest error over its bound.
func errorRatio(v float64) string {
	if v > 1e6 {
		return "huge"
	}
	return fmt.Sprintf("%.3f", v)
}
