package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dpnbench/engine/order"
	"dpnbench/internal/array"
)

// codeOf returns the block of code of a language in docs/checking.md that reads a file.
func codeOf(t *testing.T, language, file string) string {
	t.Helper()
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "checking.md"))
	if err != nil {
		t.Fatal(err)
	}
	for _, b := range regexp.MustCompile("(?s)```"+language+"\n(.*?)```").FindAllSubmatch(page, -1) {
		if strings.Contains(string(b[1]), file) {
			return string(b[1])
		}
	}
	t.Fatalf("no block of %s reads %s", language, file)
	return ""
}

// program writes a program to a folder and runs commands there.
func program(t *testing.T, dir, name, code string, commands ...[]string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, name), []byte(code), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range commands {
		c := exec.Command(args[0], args[1:]...)
		c.Dir = dir
		if out, err := c.CombinedOutput(); err != nil {
			t.Fatalf("%q: %v: %s", args, err, out)
		}
	}
}

// needNumPy returns a Python that has NumPy.
func needNumPy(t *testing.T) string {
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.Command(python, "-c", "import numpy").Run() == nil {
			return python
		}
	}
	t.Skip("no python3 with NumPy (Debian: apt-get install python3-numpy)")
	return ""
}

// TestDocumentedPrograms runs the programs of docs/checking.md and judges their results, then a wrong one.
func TestDocumentedPrograms(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: compiles and starts programs")
	}
	dir := t.TempDir()
	cases := filepath.Join(dir, "cases")
	out := succeed(t, "check", "--dump", cases, "--kernel", "matmul", "--quick")
	if !strings.Contains(out, "results.npy") {
		t.Errorf("printed %q", out)
	}
	judged := func(t *testing.T) {
		t.Helper()
		var r checkResult
		if err := json.Unmarshal([]byte(succeed(t, "check", "--judge", cases, "--json", "-")), &r); err != nil {
			t.Fatal(err)
		}
		if r.Cases < 50 || r.Failed != 0 || len(r.Functions) != 1 || r.Functions[0].MaxErrorRatio == 0 {
			t.Errorf("%+v", r.Functions)
		}
		os.Remove(filepath.Join(cases, "results.npy"))
	}
	t.Run("C", func(t *testing.T) {
		if _, err := exec.LookPath("gcc"); err != nil {
			t.Skip("needs gcc, which is not installed")
		}
		code := codeOf(t, "c", "cases/cases.txt")
		compile := []string{"gcc", "-O2", "-Wall", "-Werror", "-o", "run", "run.c"}
		run := []string{filepath.Join(dir, "run")}
		program(t, dir, "run.c", code, compile, run)
		judged(t)
		wrong := strings.Replace(code, "p < k", "p < k - 1", 1)
		program(t, dir, "run.c", wrong, compile, run)
		out, _, status := dpnbench(t, "check", "--judge", cases)
		if status != exitFailed || !strings.Contains(out, "FAIL error: ") ||
			!strings.Contains(out, "this case alone: dpnbench check --dump ") {
			t.Errorf("printed %q", out)
		}
		all, errs, _ := dpnbench(t, "check", "--judge", cases, "--verbose")
		if n := strings.Count(all, "FAIL matmul"); n < 2 || !strings.Contains(errs, fmt.Sprintf(" %d of ", n)) {
			t.Errorf("--verbose prints %d failing cases: %q", n, errs)
		}
	})
	t.Run("Python", func(t *testing.T) {
		program(t, dir, "run.py", codeOf(t, "python", "cases/manifest.json"), []string{needNumPy(t), "run.py"})
		judged(t)
	})
	t.Run("order", func(t *testing.T) {
		python := needNumPy(t)
		probes := filepath.Join(dir, "probes")
		succeed(t, "check", "--order", "--dump", probes, "--terms", "9")
		code := strings.Replace(codeOf(t, "python", "probes/a.npy"), "np.dot(x, y)", "sum(x * y, np.float32(0))", 1)
		program(t, dir, "probe.py", code, []string{python, "probe.py"})
		out := succeed(t, "check", "--order", "--judge", probes)
		if !regexp.MustCompile(`results.npy +9 +chain +no +float32 +none of the engine`).MatchString(out) {
			t.Errorf("printed %q", out)
		}
	})
}

// TestOrder finds the orders of few terms.
func TestOrder(t *testing.T) {
	long(t)
	dir := filepath.Join(t.TempDir(), "figures")
	out := succeed(t, "check", "--order", "--tier", "generic", "--terms", "4", "--draw", dir)
	for _, want := range []string{"matmul  engine: generic      4", "each other", "gonum",
		"0 ──┐\n1*──┴─┐\n2*────┴─┐\n3*──────┴─\n"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %s", want, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "order-matmul-engine-4.svg")); err != nil {
		t.Error(err)
	}
	var r orderResult
	text := succeed(t, "check", "--order", "--tier", "generic", "--terms", "3,4", "--json", "-")
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	if len(r.Orders) < 20 || r.Orders[0].Operation != "matmul" || r.Orders[0].Tree != "((0+*1)+*2)" {
		t.Errorf("%+v", r.Orders)
	}
}

// TestJudgeOrderTier compares the answers to probes with the engine on the tier that is asked for.
func TestJudgeOrderTier(t *testing.T) {
	dir := t.TempDir()
	succeed(t, "check", "--order", "--dump", dir, "--terms", "9")
	a, b := floats(t, filepath.Join(dir, order.AFile)), floats(t, filepath.Join(dir, order.BFile))
	sums := make([]float32, len(a)/9)
	for i := range a {
		sums[i/9] += float32(a[i]) * float32(b[i])
	}
	saveNPY(t, filepath.Join(dir, order.ResultsFile), sums, len(sums))
	var r orderResult
	text := succeed(t, "check", "--order", "--judge", dir, "--tier", "generic", "--json", "-")
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	for _, row := range r.Orders[1:] {
		if row.Implementation != "engine, generic" {
			t.Errorf("%s by %s", row.Operation, row.Implementation)
		}
	}
}

// floats reads all numbers of an NPY file.
func floats(t *testing.T, path string) []float64 {
	t.Helper()
	f, err := array.Open(path, array.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	x := make([]float64, f.Arrays[0].Len()*f.Arrays[0].Width())
	if err := f.Arrays[0].ReadRows(x, 0); err != nil {
		t.Fatal(err)
	}
	return x
}

// TestOrderTable checks that numbers of terms share a row only if all of it is the same.
func TestOrderTable(t *testing.T) {
	x := order.Implementation{Operation: "dot", Name: "odd", F: func(a, b []float32) float32 {
		var s float64
		for i := range a {
			if s += float64(float32(a[i] * b[i])); len(a) > 9 { // rounds towards 0
				s = math.Float64frombits(math.Float64bits(s) &^ (1<<29 - 1))
			}
			s = float64(float32(s))
		}
		return float32(s)
	}}
	var rows []orderRow
	for _, n := range []int{7, 8, 16} {
		found, err := order.Find(n, x.Kind, x.F)
		rows = append(rows, newOrderRow(x, n, found, err))
	}
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a := &app{out: printer{File: f}}
	if err := a.orderTable(addOrder(nil, x, rows)); err != nil {
		t.Error(err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`dot +odd +7 to 8 +chain +no +float32 +none`,
		`dot +odd +16 +chain +no +float32, NOT verified`} {
		if !regexp.MustCompile(want).Match(text) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
}

// TestBadFileFlags checks the messages on flags that do not go together.
func TestBadFileFlags(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		want string
		args []string
	}{
		{"--terms 2: expected whole numbers from 3 to 4096", []string{"--order", "--terms", "2"}},
		{"--terms 129: expected whole numbers from 3 to 128", []string{"--order", "--dump", dir, "--terms", "129"}},
		{"--terms 7,9: expected one number with --dump", []string{"--order", "--dump", dir, "--terms", "7,9"}},
		{"--terms 7,16,33,64,300: expected whole numbers from 3 to 128",
			[]string{"--order", "--dump", dir, "--terms", defaultTerms}},
		{"--judge " + dir + ": the files say how many terms; expected no --terms",
			[]string{"--order", "--judge", dir, "--terms", "9"}},
		{`--tier: unknown tier "bogus"`, []string{"--order", "--judge", dir, "--tier", "bogus"}},
		{"--terms 7: only with --order", []string{"--terms", "7"}},
		{"--order: cannot be combined with --quick, --case or, without --library, --kernel",
			[]string{"--order", "--kernel", "dot"}},
		{"--order: cannot be combined with --quick", []string{"--order", "--library", "x.so", "--quick"}},
		{"--draw " + dir + ": cannot be combined with --dump", []string{"--order", "--dump", dir, "--draw", dir}},
		{"cannot be combined with --judge", []string{"--dump", dir, "--judge", dir}},
		{"--json x.json: cannot be combined with --dump",
			[]string{"--dump", dir, "--kernel", "dot", "--json", "x.json"}},
		{"--json -: cannot be combined with --dump", []string{"--order", "--dump", dir, "--json", "-"}},
		{`--kernel "adam": expected matmul, sgemm, dot,`, []string{"--dump", dir, "--kernel", "adam"}},
		{"the files say which cases", []string{"--judge", dir, "--quick"}},
		{"--tier generic: cannot be combined with --judge", []string{"--judge", dir, "--tier", "generic"}},
		{"--threads 2: cannot be combined with --dump", []string{"--dump", dir, "--kernel", "dot", "--threads", "2"}},
		{"--threads 2: cannot be combined with --order", []string{"--order", "--threads", "2"}},
		{"manifest.json: no such file", []string{"--judge", dir}},
		{"manifest.json: no such file", []string{"--order", "--judge", dir}},
		{"--sweep: cannot be combined with --order", []string{"--sweep", "--order"}},
	} {
		fails(t, append([]string{"check"}, c.args...), c.want)
	}
}
