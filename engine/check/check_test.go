package check

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/internal/guardpages"
)

// quick is the report of the quick cases, shared by the tests that need it.
var quick = sync.OnceValues(func() (*Report, error) { return Run(context.Background(), Options{Quick: true}) })

// TestEveryKernel runs the check of the quick cases; with the race detector, of every third one.
func TestEveryKernel(t *testing.T) {
	run := quick
	if raced {
		var cases []Case
		for i := range kernels {
			for n, c := range kernels[i].cases(true) {
				if n%3 == 0 {
					cases = append(cases, c)
				}
			}
		}
		run = func() (*Report, error) { return Run(context.Background(), Options{Cases: cases}) }
	} else if !testing.Short() {
		run = func() (*Report, error) { return Run(context.Background(), Options{}) }
	}
	r, err := run()
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range r.Failures {
		if i == 40 {
			t.Errorf("and %d more", len(r.Failures)-i)
			break
		}
		t.Errorf("%s on %s, %d threads: %s", f.Case, f.Tier, f.Threads, f.Reason)
	}
	for _, row := range r.Kernels {
		t.Logf("%-24s %-8s %5d cases %3d failed, %3d ULP, ratio %.3f, bits equal %v",
			row.Kernel, row.Tier, row.Cases, row.Failed, row.MaxULP, row.MaxErrorRatio, row.BitsEqual)
	}
}

// update selects what to write to testdata/sha256.txt: nothing (""), missing kernels ("true"), or
// missing kernels and a new hash of the named kernel.
var update string

func init() {
	const usage = "add missing kernels to testdata/sha256.txt; -update=NAME also replaces the hash of kernel NAME"
	flag.BoolFunc("update", usage, func(s string) error {
		if update = s; s != "true" && find(s) == nil {
			return fmt.Errorf("no kernel %q", s)
		}
		return nil
	})
}

// merge returns the hashes to commit, a line for each kernel of rows. Committed hashes stay, except
// that of the named kernel.
func merge(committed map[string]string, rows []Row, named string) string {
	var text strings.Builder
	for _, row := range rows {
		if row.Tier != "generic" {
			continue
		}
		sum, known := committed[row.Kernel]
		if !known || row.Kernel == named {
			sum = row.SHA256
		}
		fmt.Fprintf(&text, "%s  %s\n", sum, row.Kernel)
	}
	return text.String()
}

// readHashes parses the result of merge.
func readHashes(text string) map[string]string {
	hashes := map[string]string{}
	for line := range strings.Lines(text) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			hashes[name] = sum
		}
	}
	return hashes
}

// TestHashes compares the hashes of the results of the quick cases with the committed ones, which
// every machine and tier must reproduce. With -update it adds missing ones; a hash that has
// changed stays an error unless its kernel is named.
func TestHashes(t *testing.T) {
	if raced {
		t.Skip("takes a minute with the race detector: run without -race")
	}
	const file = "testdata/sha256.txt"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	r, err := quick()
	if err != nil {
		t.Fatal(err)
	}
	want := readHashes(string(text))
	if update != "" {
		merged := merge(want, r.Kernels, update)
		if err := os.WriteFile(file, []byte(merged), 0o644); err != nil {
			t.Fatal(err)
		}
		want = readHashes(merged)
	}
	if len(want) != len(kernels) {
		t.Errorf("%s has %d kernels, there are %d", file, len(want), len(kernels))
	}
	for _, row := range r.Kernels {
		switch sum, known := want[row.Kernel]; {
		case !known:
			t.Errorf("%s has no hash of %s (-update adds it)", file, row.Kernel)
		case row.SHA256 != sum:
			t.Errorf("%s on %s: results hash to %s, committed %s (-update=%s only if its cases were meant to change)",
				row.Kernel, row.Tier, row.SHA256, sum, row.Kernel)
		}
	}
}

// TestMerge checks that -update replaces only the hash of the named kernel.
func TestMerge(t *testing.T) {
	committed := readHashes("old  dot\nold  sum\nold  gone\n")
	var rows []Row
	for _, kernel := range []string{"dot", "sum", "added"} {
		rows = append(rows,
			Row{Kernel: kernel, Tier: "fast", SHA256: "other"},
			Row{Kernel: kernel, Tier: "generic", SHA256: "new"})
	}
	for named, want := range map[string]string{
		"true": "old  dot\nold  sum\nnew  added\n",
		"dot":  "new  dot\nold  sum\nnew  added\n",
	} {
		if got := merge(committed, rows, named); got != want {
			t.Errorf("-update=%s writes\n%swant\n%s", named, got, want)
		}
	}
}

// TestSweepInterrupted checks that a block of the sweep, which takes seconds on slow tiers, stops
// before its first call if the context has ended.
func TestSweepInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e, err := engine.New(engine.WithThreads(1))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	calls := 0
	f := sweepFunction{"exp", func(*engine.Engine, []float32, []float32) { calls++ }, math.Exp}
	sweepOne(ctx, f, []*engine.Engine{e}, 0)
	if calls > 0 {
		t.Errorf("%d calls after the context has ended", calls)
	}
}

// TestSweep runs the first of the 256 blocks of the sweep, on the tiers with assembly, if any.
func TestSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes minutes under emulation")
	}
	tiers := engine.Available()
	if len(tiers) > 1 {
		tiers = tiers[:len(tiers)-1] // generic takes longer than all others
	}
	rows, err := sweep(context.Background(), Options{Tiers: tiers, Threads: 2}, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if r.Failed > 0 || r.Inputs != sweepBlock || !r.BitsEqual || r.MaxULP > 1 {
			t.Errorf("%+v", r)
		}
	}
}

// TestRoutes checks that every ascent of the sparse route takes it and skips components, and that a
// case fails if its ascent takes another route than the requested one.
func TestRoutes(t *testing.T) {
	e, err := engine.New(engine.WithThreads(1))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for i := range kernels {
		k := &kernels[i]
		if k.route != ascent.SparseRoute {
			continue
		}
		var mem memory
		defer mem.release()
		c, _ := ParseCase(k.name + ":distance=8")
		tr := k.make(c, &mem)
		mem.save()
		if _, err := mem.try(tr, e, ascent.SparseRoute); err != nil {
			t.Errorf("%s: %v", c, err)
			continue
		}
		left := 0
		for s := range mem.mixture.Work().Evaluated {
			left += c.get("rows")*c.get("k") - int(mem.mixture.Work().Evaluated[s].Load())
		}
		if left <= 0 {
			t.Errorf("%s: %d pairs of a row and a component skipped, want some", c, left)
		}
		wrong := tr
		wrong.run = func(e *engine.Engine) {
			mem.route = ascent.SparseRoute
			tr.run(e)
		}
		_, err := mem.try(wrong, e, ascent.DenseRoute)
		if err == nil || !strings.Contains(err.Error(), "took the sparse route") {
			t.Errorf("%s: error %v of the wrong route", c, err)
		}
	}
}

// TestCatches checks that each kind of mistake is found: a wrong number, different bits, a write
// outside the outputs, a read or write outside the buffers.
func TestCatches(t *testing.T) {
	nothing := func() float32 { return 0 }
	for name, c := range map[string]struct {
		want string
		run  func(m *memory, out engine.Matrix) func(e *engine.Engine)
	}{
		"right": {"", func(_ *memory, out engine.Matrix) func(*engine.Engine) {
			return func(*engine.Engine) { out.Data[2] = 1 }
		}},
		"out of bound": {"bound", func(_ *memory, out engine.Matrix) func(*engine.Engine) {
			return func(*engine.Engine) { out.Data[2] = 1.5 }
		}},
		"NaN": {"element 2: NaN instead of 1", func(_ *memory, out engine.Matrix) func(*engine.Engine) {
			return func(*engine.Engine) { out.Data[2] = float32(math.NaN()) }
		}},
		"write to padding": {"wrote outside", func(m *memory, out engine.Matrix) func(*engine.Engine) {
			return func(*engine.Engine) { out.Data[2] = 1; m.regions[0].floats[7] = 1 }
		}},
		"write to an input": {"wrote outside", func(m *memory, out engine.Matrix) func(*engine.Engine) {
			return func(*engine.Engine) { out.Data[2] = 1; m.inputs[0].Data[0] = 2 }
		}},
		"read past the end": {"outside its operands", func(m *memory, out engine.Matrix) func(*engine.Engine) {
			return func(*engine.Engine) {
				out.Data[2] = 1 + 0**(*float32)(unsafe.Add(unsafe.Pointer(&m.inputs[0].Data[0]),
					4*len(m.inputs[0].Data)))
			}
		}},
		"panic": {"panic: oops", func(_ *memory, out engine.Matrix) func(*engine.Engine) {
			return func(*engine.Engine) { panic("oops") }
		}},
	} {
		var mem memory
		defer mem.release()
		mem.input(1, 5, rowMajor, -1, nothing)
		out := mem.output(1, 4, rowMajor, 3, nothing)
		if mem.open && name == "read past the end" {
			continue
		}
		tr := trial{want: []float64{0, 0, 1, 0}, bound: []float64{0, 0, 0.25, 0}, run: c.run(&mem, out)}
		mem.save()
		var row Row
		got, err := mem.try(tr, nil, ascent.DenseRoute)
		if err == nil {
			err = row.judge(got, tr)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if name == "out of bound" && row.MaxErrorRatio != 2 {
			t.Errorf("error ratio %v of a result with twice the allowed error", row.MaxErrorRatio)
		}
	}
	for _, bound := range []float64{-1, math.Inf(1)} {
		var row Row
		tr := trial{want: []float64{math.Inf(1)}, bound: []float64{bound}}
		if row.judge([]float32{math.MaxFloat32}, tr) == nil || row.MaxErrorRatio != worstRatio {
			t.Errorf("the largest number counts as infinity with bound %v: %+v", bound, row)
		}
	}
	for want, tr := range map[string]trial{
		"element 3: 3 instead of NaN":                              {bound: []float64{0, 0, 0, -4}},
		"row 1, column 1 of 2 x 2: 3 instead of NaN":               {bound: []float64{0, 0, 0, math.NaN()}, cols: 2},
		"row 1, column 0 of 2 x 2: 3 differs from 1 by 2, bound 0": {bound: []float64{0, 0, 0, 0}, cols: 2},
	} {
		tr.want = []float64{3, 3, 3, math.NaN()}
		if strings.Contains(want, "differs") {
			tr.want[2] = 1
		}
		var row Row
		if err := row.judge([]float32{3, 3, 3, 3}, tr); err == nil || err.Error() != want {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	var row Row
	tr := trial{want: []float64{1}, bound: []float64{math.Inf(1)}}
	if err := row.judge([]float32{float32(math.Inf(1))}, tr); err != nil || row.MaxErrorRatio != 0 {
		t.Errorf("an infinity within an infinite bound: %v, %+v", err, row)
	}
	nan, minusZero := float32(math.NaN()), float32(math.Copysign(0, -1))
	if i := differs([]float32{1, nan, 0}, []float32{1, -nan, minusZero}); i != 2 {
		t.Errorf("the first difference is %d, want the sign of zero at 2", i)
	}
}

// TestGuards checks that a report says whether all buffers lay between guard pages.
func TestGuards(t *testing.T) {
	_, free, refused := guardpages.Floats(1)
	if refused == nil {
		free()
	}
	c, _ := ParseCase("dot")
	report := func() *Report {
		r, err := Run(context.Background(), Options{Cases: []Case{c}})
		if err != nil || r.Failed > 0 {
			t.Fatalf("%+v, %v", r, err)
		}
		return r
	}
	if r := report(); r.Guards != (refused == nil) {
		t.Errorf("guards %t, but the system says %v", r.Guards, refused)
	}
	defer func() { guarded = guardpages.Floats }()
	calls := 0
	guarded = func(n int) ([]float32, func() error, error) { // the first two regions only
		if calls++; calls > 2 {
			return nil, nil, errors.New("no more mappings")
		}
		return guardpages.Floats(n)
	}
	if r := report(); r.Guards || calls < 3 {
		t.Errorf("guards %t after %d buffers, only 2 with guard pages", r.Guards, calls)
	}
	r, err := Run(context.Background(), Options{Function: Exp("none", func(y, x []float32) {}), Quick: true})
	if err != nil || r.Guards {
		t.Errorf("of a function: guards %t, %v", r.Guards, err)
	}
}

// TestParseCase parses the text of each case.
func TestParseCase(t *testing.T) {
	for i := range kernels {
		for _, c := range kernels[i].cases(true) {
			back, err := ParseCase(c.String())
			if err != nil || back.String() != c.String() {
				t.Fatalf("%s reads back as %s, %v", c, back, err)
			}
		}
	}
	c, err := ParseCase("dot:n=5")
	if err != nil || c.get("n") != 5 || c.get("seed") != 1 {
		t.Errorf("%v, %v", c, err)
	}
	for text, want := range map[string]string{
		"matmul:seed=-1":                 "expected seed from 0 to 1048576",
		"matmul:seed=1048577":            "expected seed from 0 to 1048576",
		"matmul:m=1000000000":            "expected m from 0 to 4096",
		"matmul:m=99999999999999999999":  "expected m from 0 to 4096",
		"matmul:m=-99999999999999999999": "expected m from 0 to 4096",
		"matmul:offset=-2":               "expected offset from -1 to 15",
		"matmul:m=1.5":                   `"m=1.5" is not NAME=NUMBER with a whole number`,
		"matmul:m":                       `"m" is not NAME=NUMBER`,
		"matmul:q=5000":                  `no argument "q"`,
	} {
		if _, err := ParseCase(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %q", text, err, want)
		}
	}
	if _, err := ParseCase("matmul:seed=1048576"); err != nil {
		t.Error(err)
	}
}
