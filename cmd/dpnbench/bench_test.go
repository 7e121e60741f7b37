package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/bench"
	"dpnbench/internal/longtest"
)

// TestBench runs a row as a user would, and compares runs: a run with itself is unchanged; a run
// whose times are 100 times as long is slower, with exit status 1.
func TestBench(t *testing.T) {
	longtest.Need(t)
	dir := t.TempDir()
	path := func(name string) string { return filepath.Join(dir, name) }
	args := []string{"bench", "--quick", "--suite", "peak,gemm", "--filter", "packed/m=128,k=64,n=64", "--threads", "1",
		"--memory", "4000000"}
	out := succeed(t, with(args, "--json", path("a.json"), "--html", path("a.html"), "--go-bench", path("a.txt"))...)
	for _, want := range []string{"packed", "m=128,k=64,n=64", "clock", "L2",
		"\n1 row, each checked against the reference first, and 1"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
	b, err := os.ReadFile(path("a.json"))
	if err != nil {
		t.Fatal(err)
	}
	var r bench.Report
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"a.html", "a.txt"} {
		if b, err := os.ReadFile(path(name)); err != nil || !bytes.Contains(b, []byte("m=128,k=64,n=64")) {
			t.Errorf("%s: %v, %d bytes", name, err, len(b))
		}
	}
	for i := range r.Results {
		for j := range r.Results[i].Samples {
			r.Results[i].Samples[j] *= 100
		}
	}
	if b, err = json.Marshal(&r); err != nil {
		t.Fatal(err)
	}
	write(t, path("b.json"), b)
	out = succeed(t, "bench", "compare", path("a.json"), path("a.json"))
	if !strings.Contains(out, "1 row: 0 slower, 0 faster") {
		t.Errorf("a run compared with itself:\n%s", out)
	}
	_, message, status := dpnbench(t, "bench", "compare", path("a.json"), path("b.json"))
	if status != exitFailed || !strings.Contains(message, "slower by more than 5%: 1 of 1 row") {
		t.Errorf("exit status %d, %q", status, message)
	}
}

// madeUp is a report of one row on two threads, with a mark and a warning.
func madeUp() *bench.Report {
	r := &bench.Report{
		Format: bench.Format, Version: "v1.2.3", Settings: bench.Settings{Extent: "quick", Threads: []int{2}},
		Warnings: []string{"the dog barked"},
		Peak:     []bench.Peaks{{Tier: "avx2", Threads: 2, GFlops: 200}},
		Bandwidth: []bench.Bandwidth{{Level: "L1", Bytes: 16 << 10, Tier: "avx2", Threads: 2},
			{Level: "memory", Bytes: 256 << 20, Tier: "avx2", Threads: 2}},
	}
	for _, suite := range []string{"peak", "gemm"} {
		row := bench.Result{
			Suite: suite, Name: "made up", Shape: "-", Tier: "avx2", Threads: 2, Calls: 1, Repetitions: 3,
			SecondsMedian: 2, SecondsCI: [2]float64{1, 3},
			Samples: []float64{1, 2, 3}, Peaks: []float64{1, 1, 1}, Items: 1,
		}
		if suite == "gemm" {
			row.Marks = []string{"unsteady, within 50%"}
			row.PercentPeak, row.PercentPeakAlone, row.PercentBound, row.Bound = 334, 97, 431, "peak"
		}
		r.Results = append(r.Results, row)
	}
	return r
}

// concluded prints and writes a report like a run that ended with err, and returns the output.
func concluded(t *testing.T, b *benchmark, r *bench.Report, err error) (string, error) {
	t.Helper()
	out, ferr := os.Create(filepath.Join(t.TempDir(), "out"))
	if ferr != nil {
		t.Fatal(ferr)
	}
	defer out.Close()
	b.out.File = out
	err = b.conclude(context.Background(), r, err)
	text, ferr := os.ReadFile(out.Name())
	if ferr != nil {
		t.Fatal(ferr)
	}
	return string(text), err
}

// TestBenchShows checks the printed report. Marks and warnings are results: --quiet keeps them.
func TestBenchShows(t *testing.T) {
	for _, quiet := range []bool{false, true} {
		out, err := concluded(t, &benchmark{app: &app{quiet: quiet}}, madeUp(), nil)
		if err != nil {
			t.Error(err)
		}
		for _, want := range []string{
			"128 MiB", "16 KiB", // a thread
			"! gemm/made up/avx2/-/threads=2: unsteady, within 50%\n", "! the dog barked\n",
		} {
			if !strings.Contains(out, want) {
				t.Errorf("quiet %v: no %q in\n%s", quiet, want, out)
			}
		}
		if strings.Contains(out, "334%") || strings.Contains(out, "431%") || !strings.Contains(out, "97%") {
			t.Errorf("quiet %v: a share above 100%% of a marked row in\n%s", quiet, out)
		}
		for _, note := range []string{"version v1.2.3",
			"1 row, each checked against the reference first, and 1 row of suite peak"} {
			if strings.Contains(out, note) == quiet {
				t.Errorf("quiet %v: %q in\n%s", quiet, note, out)
			}
		}
	}
}

func TestListThreads(t *testing.T) {
	for want, threads := range map[string][]int{"1 thread": {1}, "2 threads": {2}, "1 and 2 threads": {1, 2},
		"1, 2 and 4 threads": {1, 2, 4}} {
		if got := listThreads(threads); got != want {
			t.Errorf("%v: %q, want %q", threads, got, want)
		}
	}
}

// TestBenchKeeps checks that a failed run, or a file that cannot be written, does not lose the
// other results.
func TestBenchKeeps(t *testing.T) {
	dir := t.TempDir()
	none, page, lines := filepath.Join(dir, "none", "a.json"), filepath.Join(dir, "a.html"), filepath.Join(dir, "a.txt")
	for _, c := range []struct {
		err    error
		says   []string
		failed bool // exit status 1
	}{
		{nil, []string{"--json " + none}, false},
		{errors.New("no space left"), []string{"no space left", "--json " + none}, false},
		{&bench.ErrMismatch{Row: "gemm/x", Reason: "element 3 is 1"}, []string{"gemm/x: element 3 is 1",
			"--json " + none}, true},
	} {
		os.Remove(page)
		os.Remove(lines)
		out, err := concluded(t, &benchmark{app: &app{json: none}, html: page, goBench: lines}, madeUp(), c.err)
		if err == nil || errors.As(err, new(*failedError)) != c.failed || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v: ended with %v", c.err, err)
			continue
		}
		for _, want := range c.says {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%v: no %q in %v", c.err, want, err)
			}
		}
		if !strings.Contains(out, "made up") {
			t.Errorf("%v: the rows were not shown", c.err)
		}
		for _, path := range []string{page, lines} {
			if b, err := os.ReadFile(path); err != nil || !bytes.Contains(b, []byte("2")) {
				t.Errorf("%v: %v", c.err, err)
			}
		}
	}
}

// TestBenchCompareSays checks what a comparison prints besides its rows, also with --quiet.
func TestBenchCompareSays(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.json")
	b, err := json.Marshal(madeUp())
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, b)
	for _, quiet := range []string{"--quiet", "--quiet=false"} {
		out := succeed(t, "bench", "compare", quiet, path, path)
		if !strings.Contains(out, "! 1 of 1 rows have too few repetitions") ||
			strings.Contains(out, "old: version v1.2.3") == (quiet == "--quiet") {
			t.Errorf("%s: printed %s", quiet, out)
		}
	}
	slow := madeUp()
	for i := range slow.Results[1].Samples {
		slow.Results[1].Samples[i] *= 2
	}
	if b, err = json.Marshal(slow); err != nil {
		t.Fatal(err)
	}
	write(t, path+"b", b)
	const want = "0 slower, 0 faster by more than 5%, 1 unclear"
	if out := succeed(t, "bench", "compare", path, path+"b"); !strings.Contains(out, want) {
		t.Errorf("printed %s, want %q", out, want)
	}
}

// TestBenchList lists rows without measuring anything.
func TestBenchList(t *testing.T) {
	args := []string{"bench", "--list", "--shape", "m=300,k=700,n=50", "--tier", "generic", "--threads", "1,2"}
	want := "gemm/packed/m=300,k=700,n=50\ngemm/plain nn/m=300,k=700,n=50\n4 rows, "
	if out := succeed(t, args...); !strings.HasPrefix(out, want) {
		t.Errorf("printed %q, want %q", out, want)
	}
	var rows []bench.Row
	if err := json.Unmarshal([]byte(succeed(t, with(args, "--json", "-")...)), &rows); err != nil || len(rows) != 4 ||
		rows[3] != (bench.Row{ID: "gemm/plain nn/m=300,k=700,n=50", Tier: "generic", Threads: 2}) {
		t.Errorf("rows %v, error %v", rows, err)
	}
}

func TestBenchBadInput(t *testing.T) {
	longtest.Native(t)
	dir := t.TempDir()
	other := filepath.Join(dir, "other.json")
	write(t, other, []byte(`{"format": 99, "results": []}`))
	broken := filepath.Join(dir, "broken.json")
	write(t, broken, []byte(`{"format"`))
	fails(t, []string{"bench", "--suite", "gemms"}, `--suite "gemms"`, "expected one of peak, gemm")
	fails(t, []string{"bench", "--filter", "("}, "--filter", "missing closing )")
	fails(t, []string{"bench", "--filter", "nothing"}, "--filter", "no row")
	fails(t, []string{"bench", "--shape", "m=1,k=0,n=1"}, `--shape "m=1,k=0,n=1": "k=0"`)
	fails(t, []string{"bench", "--quick", "--full"}, "--quick and --full")
	fails(t, []string{"bench", "--threads", "1,1"}, "--threads 1,1")
	same := filepath.Join(dir, "same")
	fails(t, []string{"bench", "--json", same, "--html", filepath.Join(dir, ".", "x", "..", "same")}, "--html",
		"is also the file of --json")
	fails(t, []string{"bench", "--html", broken, "--go-bench", broken}, "--go-bench", "is also the file of --html")
	fails(t, []string{"bench", "--html", filepath.Join(dir, "none", "a.html")}, "--html",
		"a.html: folder "+filepath.Join(dir, "none")+" does not exist")
	for _, args := range []string{"bench --html -", "bench --go-bench -", "bench scale --html -"} {
		fails(t, strings.Fields(args), " -: expected a file, not standard output")
	}
	fails(t, []string{"bench", "quick"}, `"quick"`)
	for _, args := range [][]string{{"--html", "l.html"}, {"--go-bench", "l.txt"}, {"--repetitions", "3"},
		{"--pin=true"}, {"--phases=true"}} {
		want := strings.Replace(strings.Join(args, " "), "=", " ", 1) + ": cannot be combined with --list"
		fails(t, with([]string{"bench", "--list"}, args...), want)
	}
	for _, args := range []string{"bench compare a.json b.json", "data info digits", "data fetch mnist",
		"import a.safetensors"} {
		args := strings.Fields(args)
		fails(t, with(args, "--tier", "generic"), "--tier generic: cannot be combined with "+args[0])
		fails(t, with(args, "--threads", "1"), "--threads 1: cannot be combined with "+args[0], "runs no kernel")
	}
	fails(t, []string{"bench", "compare", other}, "compare: 1 file, expected 2")
	fails(t, []string{"bench", "compare", other, broken}, "other.json", "format 99, expected 1")
	fails(t, []string{"bench", "compare", broken, other}, "broken.json", "no JSON of dpnbench bench")
	fails(t, []string{"bench", "compare", filepath.Join(dir, "none.json"), other}, "none.json", "no such file")
	fails(t, []string{"bench", "compare", "--threshold", "-1", other, other}, "--threshold -1")
	fails(t, []string{"bench", "compare", "--threshold", "1000000", other, other}, "other.json", "format 99")
	var files []string
	for _, threads := range []int{1, 2} { // all other things are equal
		r := madeUp()
		for i := range r.Results {
			r.Results[i].Threads = threads
		}
		b, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, filepath.Join(dir, fmt.Sprint(threads, ".json")))
		write(t, files[len(files)-1], b)
	}
	fails(t, with([]string{"bench", "compare"}, files...), "1.json and", "no row in common", "number of threads")
}

// TestZeroIsNoDefault: a flag whose default is stored as 0 refuses a 0 that is given.
func TestZeroIsNoDefault(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"bench --list --quick --repetitions 0", "--repetitions 0: expected 1 or more"},
		{"bench --list --quick --repetitions -1", "--repetitions -1: expected 1 or more"},
		{"bench --list --library none.so --int 0", "--int 0: expected 32 or 64"},
		{"check --library none.so --symbol sgemm_ --int 0", "--int 0: expected 32 or 64"},
	} {
		fails(t, strings.Fields(c.args), c.want)
	}
}

// TestBenchScale simulates two presets and checks the model with ranks in this process.
func TestBenchScale(t *testing.T) {
	long(t)
	dir := t.TempDir()
	js, page := filepath.Join(dir, "scale.json"), filepath.Join(dir, "scale.html")
	out := succeed(t, "bench", "scale", "--presets", "linear", "--check", "linear", "--json", js, "--html", page)
	var r bench.Scale
	load(t, js, &r)
	if len(r.Points) != 11+11 || len(r.Checks) != 3 || r.Checks[2].Ranks != 8 || !(r.Here.Latency > 0) ||
		r.Network.Bandwidth != 12.5e9 || !strings.Contains(out, "weak 1024\n") ||
		!strings.Contains(out, "a message takes 2.00 µs plus its bytes at 12.5 GB/s") {
		t.Errorf("%+v, printed %q", r, out)
	}
	if b, err := os.ReadFile(page); err != nil || !strings.Contains(string(b), "Weak scaling") {
		t.Errorf("the page: %v", err)
	}
	fails(t, []string{"bench", "scale", "--overlap", "2"}, "--overlap 2: expected 0 to 1")
	fails(t, []string{"bench", "scale", "--bandwidth", "0"}, "--bandwidth 0: expected 0.001 to 1000000")
	fails(t, []string{"bench", "scale", "--check", "compac"}, "--check: ", "compact")
}
