package main

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"dpnbench/engine/check"
	"dpnbench/internal/format"
	"dpnbench/internal/quote"
	"dpnbench/internal/sysinfo"

	"github.com/spf13/pflag"
)

// checkFiles is check with --order, --dump or --judge.
func (a *app) checkFiles(ctx context.Context, flags *pflag.FlagSet, o checkFlags) error {
	selected := o.kernel != "" || o.quick || len(o.cases) > 0
	with, idle := "--judge", []string{"threads", "tier"} // flags without effect
	switch {
	case o.dump != "":
		with = "--dump"
	case o.order: // of the engine, too, on one thread
		with, idle = "--order", idle[:1]
	}
	if err := notWith(flags, with, idle...); err != nil {
		return err
	}
	switch {
	case o.sweep:
		return fmt.Errorf("--sweep: cannot be combined with --order, --dump or --judge")
	case o.dump != "" && o.judge != "":
		return fmt.Errorf("--dump %s: cannot be combined with --judge", o.dump)
	case o.dump != "" && a.json != "":
		return fmt.Errorf("--json %s: cannot be combined with --dump, which has no results", a.json)
	case o.library != "" && (o.dump != "" || o.judge != ""):
		return fmt.Errorf("--library %s: cannot be combined with --dump or --judge", o.library)
	case o.order && (o.quick || len(o.cases) > 0 || o.kernel != "" && o.library == ""):
		return fmt.Errorf("--order: cannot be combined with --quick, --case or, without --library, --kernel")
	case o.draw != "" && o.dump != "":
		return fmt.Errorf("--draw %s: cannot be combined with --dump", o.draw)
	case o.judge != "" && selected:
		return fmt.Errorf("--judge %s: the files say which cases; expected no --kernel, --quick or --case", o.judge)
	case o.judge != "" && flags.Changed("terms"):
		return fmt.Errorf("--judge %s: the files say how many terms; expected no --terms", o.judge)
	case o.order && o.dump != "":
		if !flags.Changed("terms") {
			o.terms = dumpedTerms
		}
		return a.dumpOrder(o)
	case o.order && o.judge != "":
		return a.judgeOrder(ctx, o)
	case o.order:
		return a.checkOrder(ctx, o)
	case o.dump != "":
		return a.dumpCases(ctx, o)
	default:
		return a.judgeCases(ctx, o.judge)
	}
}

// dumpCases writes the cases of a kernel to a folder.
func (a *app) dumpCases(ctx context.Context, o checkFlags) error {
	dir, opt := o.dump, check.Options{Quick: o.quick}
	f := check.ForFiles(o.kernel)
	if f == nil {
		return fmt.Errorf("--dump %s: --kernel %q: expected %s", dir, o.kernel, alternatives(check.FileKernels()))
	}
	for _, s := range o.cases {
		c, err := f.ParseCase(s)
		if err != nil {
			return fmt.Errorf("--case: %w", err)
		}
		opt.Cases = append(opt.Cases, c)
	}
	release, err := openFolder("--dump", dir)
	if err != nil {
		return err
	}
	defer release()
	opt.Progress = a.phase("cases")
	n, err := check.Dump(ctx, dir, f, opt)
	a.progress.end()
	if err != nil {
		return fmt.Errorf("--dump: %w", err)
	}
	a.note("%s of %s in %s. Write %s there, then: %s\n", format.Count(n, "case"), o.kernel, dir, check.ResultsFile,
		quote.Command("check", "--judge", dir))
	return nil
}

// judgeCases judges the results in a folder.
func (a *app) judgeCases(ctx context.Context, dir string) error {
	if err := a.files().Check(); err != nil {
		return err
	}
	start := time.Now()
	r, err := check.Judge(ctx, dir, a.phase("judge"))
	a.progress.end()
	if err != nil {
		return fmt.Errorf("--judge %w", err)
	}
	row := r.Functions[0]
	a.table([][]string{{"results", "kernel", "cases", "failed", "ULP", "error/bound", "bytes outside"},
		{dir, row.Kernel, fmt.Sprint(row.Cases), fmt.Sprint(row.Failed), mostULP(row.MaxULP),
			errorRatio(row.MaxErrorRatio), fmt.Sprint(row.BytesOutside)}})
	a.findings(r, "this case alone", func(f check.Failure) string {
		return quote.Command("check", "--dump", filepath.Clean(dir)+"-alone", "--kernel", row.Kernel, "--case", f.Case)
	})
	failed := failedCases(row.Failed, row.Cases)
	if err := joined(failed, a.writeJSON(checkResult{sysinfo.ReadMachine(), r, nil})); err != nil {
		return err
	}
	a.note("%s passed in %.1f s\n", format.Count(r.Cases, "case"), time.Since(start).Seconds())
	return nil
}
