//go:build foreign && cgo && unix

package foreign

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpnbench/engine"
	"dpnbench/engine/check"
	"dpnbench/internal/testprocess"
)

// kernels compiles testdata/kernels.c.
func kernels(t *testing.T) string { return compile(t, "testdata/kernels.c") }

// compile makes a shared library of a C file.
func compile(t *testing.T, file string) string {
	t.Helper()
	compiler, err := exec.LookPath("gcc")
	if err != nil {
		t.Skip("needs gcc: ", err)
	}
	library := filepath.Join(t.TempDir(), "kernels.so")
	args := []string{"-O1", "-shared", "-fPIC", "-o", library, file, "-lm", "-lpthread"}
	out, err := exec.Command(compiler, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("gcc: %v\n%s", err, out)
	}
	return library
}

// symbolVariable holds the symbol of a child process, as JSON.
const symbolVariable = "DPNBENCH_TEST_SYMBOL"

// TestServe is the child process of the other tests.
func TestServe(t *testing.T) {
	text := os.Getenv(symbolVariable)
	if text == "" {
		t.Skip("not a child process")
	}
	var s Symbol
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		t.Fatal(err)
	}
	if err := Serve(&s); err != nil {
		t.Fatal(err)
	}
}

// run checks a symbol.
func run(t *testing.T, s *Symbol, opt check.Options) (*check.FunctionRow, error) {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	p := Processes{Command: func() *exec.Cmd {
		return testprocess.New(t, "TestServe", symbolVariable+"="+string(text))
	}}
	defer p.Close()
	opt.Function = s.Function()
	opt.Function.Elsewhere = p.Try
	r, err := check.Run(context.Background(), opt)
	if err != nil {
		return nil, err
	}
	return &r.Functions[0], nil
}

// TestPage checks that the function of docs/checking.md has the verdict that stands there.
func TestPage(t *testing.T) {
	page, err := os.ReadFile("../../docs/checking.md")
	if err != nil {
		t.Fatal(err)
	}
	_, code, _ := strings.Cut(string(page), "\n```c\n")
	code, rest, ok := strings.Cut(code, "\n```\n")
	dir := t.TempDir()
	file := filepath.Join(dir, "fast.c")
	if err := os.WriteFile(file, []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	library := compile(t, file)
	s, err := NewSymbol(library, "fast_matmul", "matmul", 0)
	if err != nil {
		t.Fatal(err)
	}
	row, err := run(t, s, check.Options{})
	if err != nil || len(row.Findings) != 1 {
		t.Fatalf("%+v, %v", row, err)
	}
	f := row.Findings[0]
	verdict := fmt.Sprintf("    FAIL %s: %d cases, all with %s\n         %s: %s\n", f.Kind, f.Cases, f.Common,
		f.Example.Case, f.Example.Reason)
	if !ok || !strings.Contains(rest, verdict) {
		t.Errorf("docs/checking.md lacks\n%s", verdict)
	}
}

// mutant is a function of testdata/kernels.c with one mistake, and what must be found.
type mutant struct {
	symbol, kernel string // "": cblas_sgemm
	kind           string // of the finding; "": no mistake, but other bits
	common         string // what its cases share, or what they are repeated over
	cases          string // "": the quick ones
}

var mutants = []mutant{
	{symbol: "last_column", kind: "old output", common: "n not a multiple of 4"},
	{symbol: "last_row", kind: "old output", common: "m not a multiple of 2"},
	{symbol: "last_product", kind: "error", common: "k not a multiple of 4"},
	{symbol: "reads_past", kind: "access"},
	{symbol: "reads_past_loudly", kind: "access", cases: "sgemm:k=5"},
	{symbol: "reads_before", kind: "access"},
	{symbol: "writes_past", kind: "written"},
	{symbol: "writes_padding", kind: "written", common: "padc not 0"},
	{symbol: "writes_a", kind: "written"},
	{symbol: "ignores_lda", kind: "padding", common: "pada not 0"},
	{symbol: "ignores_ldb", kind: "padding", common: "padb not 0"},
	{symbol: "ignores_ldc", kind: "written", common: "padc not 0"},
	{symbol: "ignores_ta", kind: "exact", common: "ta=1"},
	{symbol: "ignores_tb", kind: "exact", common: "tb=1"},
	{symbol: "ignores_order", kind: "exact", common: "order=1"},
	{symbol: "half_sum", kind: "exact", common: "data not 0"},
	{symbol: "tf32", kind: "error"},
	{symbol: "bf16", kind: "error"},
	{symbol: "ftz", kind: "subnormal", common: "data=5"},
	{symbol: "daz", kind: "exact", common: "data=5"},
	{symbol: "drops_zero", kind: "special", common: "data=4"},
	{symbol: "multiplies_alpha", kind: "alpha=0", common: "alpha=0"},
	{symbol: "multiplies_beta", kind: "old output", common: "beta=0"},
	{symbol: "ignores_alpha", kind: "error", common: "alpha not 4"},
	{symbol: "ignores_beta", kind: "error", common: "beta not 0"},
	{symbol: "alpha_twice", kind: "error", common: "alpha not 4"},
	{symbol: "beta_per_block", kind: "error", cases: "sgemm:k=257,beta=3"},
	{symbol: "race", common: "2 threads"},
	{symbol: "moves_aligned", kind: "padding"},
	{symbol: "aborts_unaligned", kind: "crash"},
	{symbol: "order_by_alignment", common: "alignment"},
	{symbol: "order_by_row", common: "row order"},
	{symbol: "state", kind: "calls"},
	{symbol: "exits", kind: "crash"},
	{symbol: "saturates", kind: "special", common: "data=4"},
	{symbol: "loses_block", kind: "error", cases: "sgemm:k=257"},
	{symbol: "vector_path", kind: "error"},
	{symbol: "swaps_rows", kind: "error", cases: "sgemm:m=67"},
	{symbol: "nan_to_zero", kind: "special", common: "data=4"},
	{symbol: "narrow_index", kind: "error", common: "m=150"},
	{symbol: "matmul_adds", kernel: "matmul", kind: "old output"},
	{symbol: "dot_tail", kernel: "dot", kind: "error"},
	{symbol: "dot_reads_past", kernel: "dot", kind: "access"},
	{symbol: "exp_fast", kernel: "exp", kind: "error"},
	{symbol: "exp_flushes", kernel: "exp", kind: "subnormal"},
	{symbol: "exp_clamps", kernel: "exp", kind: "special"},
	{symbol: "log_of_zero", kernel: "log", kind: "special", common: "points not 0"},
	{symbol: "log_flushes", kernel: "log", kind: "special", common: "points not 0"},
	{symbol: "softmax_overflows", kernel: "softmax", kind: "special", common: "spread not 1"},
	{symbol: "softmax_one_max", kernel: "softmax", kind: "special", common: "spread not 1"},
	{symbol: "softmax_ignores_ldy", kernel: "softmax", kind: "written", common: "pady not 0"},
	{symbol: "log_sum_exp_masked", kernel: "log-sum-exp", kind: "special", common: "masked=1"},
	{symbol: "layer_norm_one_pass", kernel: "layer-norm", kind: "error", common: "shift"},
	{symbol: "layer_norm_other_eps", kernel: "layer-norm", kind: "error"},
	{symbol: "quad_form_triangle", kernel: "quad-form", kind: "exact"},
	{symbol: "quad_form_ignores_ldp", kernel: "quad-form", kind: "padding", common: "padp not 0"},
}

// TestMutants checks that each mistake is found, as what it is.
func TestMutants(t *testing.T) {
	library := kernels(t)
	for _, m := range mutants {
		t.Run(m.symbol, func(t *testing.T) {
			s, err := NewSymbol(library, m.symbol, cmp.Or(m.kernel, "cblas_sgemm"), 0)
			if err != nil {
				t.Fatal(err)
			}
			opt := check.Options{Quick: m.kernel == "", Threads: 1} // the others are few
			if m.symbol == "race" {
				opt.Threads = 2
			}
			if m.cases != "" {
				c, err := s.Function().ParseCase(m.cases)
				if err != nil {
					t.Fatal(err)
				}
				opt.Cases = append(opt.Cases, c)
			}
			row, err := run(t, s, opt)
			if err != nil || !found(m, row) {
				t.Errorf("%+v, %v, want %q where %q", row, err, m.kind, m.common)
			}
		})
	}
}

// found reports whether a row has what a mutant must be found by.
func found(m mutant, row *check.FunctionRow) bool {
	if m.kind == "" && m.symbol != "race" {
		return row.Failed == 0 && slices.ContainsFunc(row.Repeats, func(r check.Repeat) bool {
			return r.Over == m.common && r.Differ > 0 && r.Example != ""
		})
	}
	return slices.ContainsFunc(row.Findings, func(f check.Finding) bool {
		return (m.kind == "" || f.Kind == m.kind) && strings.Contains(f.Common, m.common) && f.Example.Reason != ""
	})
}

// TestHang checks that a library that does not return fails its cases, and that few of them are tried.
func TestHang(t *testing.T) {
	defer func(f func([]check.Operand) time.Duration) { caseLimit = f }(caseLimit)
	caseLimit = func([]check.Operand) time.Duration { return 50 * time.Millisecond }
	s, err := NewSymbol(kernels(t), "hangs", "cblas_sgemm", 0)
	if err != nil {
		t.Fatal(err)
	}
	row, err := run(t, s, check.Options{Quick: true, Threads: 1})
	if err != nil || row.Cases != 4 || row.Failed != 4 || row.NotRun == 0 {
		t.Fatalf("%+v, %v, want 4 cases that hang", row, err)
	}
	if f := row.Findings[0]; f.Kind != check.KindHang || f.Cases != 4 || f.Example.Reason != "no result within 0 s" {
		t.Errorf("%+v", f)
	}
}

// TestRight checks that correct kernels pass in every way to call them.
func TestRight(t *testing.T) {
	library := kernels(t)
	for _, symbol := range []string{"right", "cblas_sgemm64_", "sgemm_", "sgemm_64_", "cblas_sdot", "sdot_",
		"dpn_matmul", "dpn_dot", "dpn_exp", "dpn_log", "dpn_softmax", "dpn_log_sum_exp", "dpn_layer_norm",
		"dpn_quad_form"} {
		kernel := ""
		if symbol == "right" {
			kernel = "cblas_sgemm"
		}
		s, err := NewSymbol(library, symbol, kernel, 0)
		if err != nil {
			t.Fatal(err)
		}
		row, err := run(t, s, check.Options{Quick: true})
		if err != nil || row.Failed > 0 || row.Cases < 30 || len(row.Threads) != 2 {
			t.Errorf("%s: %+v, %v", symbol, row, err)
			continue
		}
		for _, r := range row.Repeats {
			if r.Differ > 0 {
				t.Errorf("%s: other bits: %+v", symbol, r)
			}
		}
	}
}

// TestMatMul checks that products of all calling conventions multiply row-major matrices.
func TestMatMul(t *testing.T) {
	library := kernels(t)
	a, b := engine.View([]float32{1, 2, 3, 4, 5, 6}, 2, 3), engine.View([]float32{7, 8, 9, 10, 11, 12}, 3, 2)
	for _, symbol := range []string{"cblas_sgemm64_", "sgemm_", "sgemm_64_", "dpn_matmul"} {
		s, err := NewSymbol(library, symbol, "", 0)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Open(); err != nil || !s.IsProduct() {
			t.Fatalf("%s: %v", symbol, err)
		}
		c := engine.NewMatrix(2, 2)
		s.MatMul(c, a, b, 1)
		if !slices.Equal(c.Data, []float32{58, 64, 139, 154}) {
			t.Errorf("%s: %v", symbol, c.Data)
		}
	}
}

// TestFlags checks that the flags of a symbol have its number of bits, where its name does not say it.
func TestFlags(t *testing.T) {
	for _, c := range []struct {
		name string
		bits int
		want string
	}{
		{"cblas_sgemm", 0, ""}, {"cblas_sgemm", 32, ""}, {"cblas_sgemm", 64, " --int 64"},
		{"cblas_sgemm64_", 0, ""}, {"cblas_sgemm64_", 64, ""}, {"cblas_sgemm64_", 32, " --int 32"},
	} {
		s, err := NewSymbol("x.so", c.name, "", c.bits)
		if err != nil {
			t.Fatal(err)
		}
		want := "--library x.so --symbol " + c.name + " --kernel cblas_sgemm" + c.want
		if got := strings.Join(s.Flags(), " "); got != want {
			t.Errorf("%s with --int %d: %s, want %s", c.name, c.bits, got, want)
		}
	}
}

// TestOpenErrors checks the errors of a missing library and of wrong symbols.
func TestOpenErrors(t *testing.T) {
	for want, s := range map[string]Symbol{
		"--library ./none.so: ":   {Library: "./none.so", Name: "cblas_sgemm", Kernel: "cblas_sgemm"},
		"--symbol no_such_thing:": {Library: kernels(t), Name: "no_such_thing", Kernel: "cblas_sgemm"},
	} {
		if _, err := run(t, &s, check.Options{Quick: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	for want, flags := range map[string]func() (*Symbol, error){
		"--symbol mine: say with --kernel": func() (*Symbol, error) { return NewSymbol("x.so", "mine", "", 0) },
		`--kernel "sum": of a library`:     func() (*Symbol, error) { return NewSymbol("x.so", "mine", "sum", 0) },
		"--int 16: expected 32 or 64":      func() (*Symbol, error) { return NewSymbol("x.so", "sgemm_", "", 16) },
	} {
		if _, err := flags(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}
