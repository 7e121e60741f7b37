//go:build foreign && cgo && unix

package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dpnbench/bench"
	"dpnbench/engine/check"
	"dpnbench/engine/order"
	"dpnbench/internal/foreign"
	"dpnbench/internal/format"
	"dpnbench/internal/quote"
	"dpnbench/internal/sysinfo"
)

var libraryKernels = foreign.Kernels

// librarySymbol checks the flags of a library.
func librarySymbol(library, symbol, kernel string, bits int) (*foreign.Symbol, error) {
	if symbol == "" {
		return nil, fmt.Errorf("--library %s: --symbol says which function of it", library)
	}
	// Without a slash the dynamic linker searches in the system's folders only.
	if _, err := os.Stat(library); err == nil && !strings.Contains(library, "/") {
		library = "./" + library
	}
	return foreign.NewSymbol(library, symbol, kernel, bits)
}

// libraryOrders returns the sums of --library, to probe. They run in this process.
func (a *app) libraryOrders(o checkFlags) ([]order.Implementation, error) {
	if o.library == "" {
		return nil, nil
	}
	s, err := librarySymbol(o.library, o.symbol, o.kernel, o.bits)
	if err != nil {
		return nil, err
	}
	if err := s.Open(); err != nil {
		return nil, err
	}
	switch s.Kernel {
	case "cblas_sdot", "sdot_", "dot":
		return order.OfDot(s.Name, s.Dot), nil
	case "cblas_sgemm", "sgemm_":
		return order.OfGemm(s.Name, true, func(c, a, b []float32, m, k, n int, transposed bool) {
			g := check.GemmCall{ColMajor: true, M: n, N: m, K: k, Alpha: 1, A: b, B: a, C: c, LDA: n, LDB: k, LDC: n}
			if transposed { // the transpose of a row-major product is a column-major one
				g.TransA, g.LDA = true, k
			}
			s.Gemm(&g)
		}), nil
	case "matmul":
		return order.OfGemm(s.Name, false, func(c, a, b []float32, m, k, n int, _ bool) {
			s.Gemm(&check.GemmCall{M: m, N: n, K: k, A: a, B: b, C: c, LDA: k, LDB: n, LDC: n})
		}), nil
	}
	return nil, fmt.Errorf("--kernel %s: no sum of products, whose order --order could find", s.Kernel)
}

// checkLibrary checks a function of a shared library.
func (a *app) checkLibrary(ctx context.Context, o checkFlags) error {
	if o.sweep {
		return fmt.Errorf("--sweep: of our own kernels only, not of --library")
	}
	if a.tier != "" {
		return fmt.Errorf("--tier %s: of our own kernels only, not of --library", a.tier)
	}
	s, err := librarySymbol(o.library, o.symbol, o.kernel, o.bits)
	if err != nil {
		return err
	}
	if o.serve {
		return foreign.Serve(s)
	}
	if err := a.files().Check(); err != nil {
		return err
	}
	f := s.Function()
	opt := check.Options{Function: f, Quick: o.quick}
	for _, text := range o.cases {
		c, err := f.ParseCase(text)
		if err != nil {
			return fmt.Errorf("--case: %w", err)
		}
		opt.Cases = append(opt.Cases, c)
	}
	if opt.Threads, err = a.threadsSetting(); err != nil {
		return err
	}
	program, err := os.Executable()
	if err != nil {
		return err
	}
	processes := &foreign.Processes{Command: func() *exec.Cmd {
		return exec.Command(program, slices.Concat([]string{"check"}, s.Flags(), []string{"--serve"})...)
	}}
	defer processes.Close()
	f.Elsewhere = processes.Try
	opt.Progress = a.phase("check")
	start := time.Now()
	r, err := check.Run(ctx, opt)
	a.progress.end()
	if err != nil {
		return err
	}
	failed := a.libraryVerdict(s, r)
	if err := joined(failed, a.writeJSON(checkResult{sysinfo.ReadMachine(), r, nil})); err != nil {
		return err
	}
	a.note("%s passed in %.1f s\n", format.Count(r.Cases, "case"), time.Since(start).Seconds())
	return nil
}

// libraryVerdict prints what was found: figures, mistakes, and how results repeat.
func (a *app) libraryVerdict(s *foreign.Symbol, r *check.Report) error {
	row := r.Functions[0]
	threads := strings.Trim(strings.ReplaceAll(fmt.Sprint(row.Threads), " ", ","), "[]")
	a.table([][]string{
		{"library", "symbol", "kernel", "threads", "cases", "failed", "ULP", "error/bound", "bytes outside"},
		{filepath.Base(s.Library), s.Name, s.Kernel, threads, fmt.Sprint(row.Cases), fmt.Sprint(row.Failed),
			mostULP(row.MaxULP), errorRatio(row.MaxErrorRatio), fmt.Sprint(row.BytesOutside)}})
	a.sayGuards(r)
	a.findings(r, "repeat with", func(f check.Failure) string {
		return quote.Command(slices.Concat([]string{"check"}, s.Flags(),
			[]string{"--threads", fmt.Sprint(f.Threads), "--case", f.Case})...)
	})
	if row.NotRun > 0 {
		a.printf("%s not run, because too many ended the process or hung\n", format.Count(row.NotRun, "case"))
	}
	rows := [][]string{{"same bits over", "cases", "other bits", "example"}}
	for _, p := range row.Repeats {
		cells := []string{p.Over, "-", "-", "not compared"}
		if p.Cases > 0 {
			cells = []string{p.Over, fmt.Sprint(p.Cases), fmt.Sprint(p.Differ), p.Example}
		}
		rows = append(rows, cells)
	}
	a.table(rows)
	return failedCases(row.Failed, row.Cases)
}

// openLibrary loads the library of a benchmark into this process.
func (b *benchmark) openLibrary() error {
	s, err := librarySymbol(b.library, b.symbol, "", b.bits)
	switch {
	case err == nil && !s.IsProduct(), err != nil && strings.HasPrefix(err.Error(), "--symbol"):
		return fmt.Errorf("--symbol %s: expected a product: cblas_sgemm or sgemm_ (with 64-bit integers ending with "+
			"64_), or dpn_matmul", b.symbol)
	case err != nil:
		return err
	}
	if err := s.Open(); err != nil {
		return err
	}
	name := strings.TrimSuffix(filepath.Base(s.Library), ".so")
	b.settings.Beside = &bench.Product{Name: name + " " + s.Name, MatMul: s.MatMul, Serial: !s.SetsThreads()}
	b.settings.Library = []string{"--library", s.Library, "--symbol", s.Name}
	if b.bits != 0 {
		b.settings.Library = append(b.settings.Library, "--int", fmt.Sprint(b.bits))
	}
	return nil
}
