package check

import (
	"context"
	"flag"
	"fmt"
	"math"
	"os"
	"strings"
	"testing"
	"unsafe"

	"dpnbench/engine"
)

// TestEveryKernel is the check itself.
func TestEveryKernel(t *testing.T) {
	r, err := Run(context.Background(), Options{Quick: testing.Short()})
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
		t.Logf("%-24s %-8s %5d cases %3d failed, %3d ULP, ratio %.3f, bits equal %v", row.Kernel, row.Tier, row.Cases, row.Failed, row.MaxULP, row.MaxErrorRatio, row.BitsEqual)
	}
}

var update = flag.Bool("update", false, "write testdata/sha256.txt anew")

// TestHashes compares the results of the quick cases with those committed, which every
// machine and tier must reproduce bit by bit.
func TestHashes(t *testing.T) {
	const file = "testdata/sha256.txt"
	r, err := Run(context.Background(), Options{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	if *update {
		var text strings.Builder
		for _, row := range r.Kernels {
			if row.Tier == "generic" {
				fmt.Fprintf(&text, "%s  %s\n", row.SHA256, row.Kernel)
			}
		}
		if err := os.WriteFile(file, []byte(text.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{}
	for line := range strings.Lines(string(text)) {
		if sum, name, ok := strings.Cut(strings.TrimSpace(line), "  "); ok {
			want[name] = sum
		}
	}
	if len(want) != len(kernels) {
		t.Errorf("%s has %d kernels, there are %d", file, len(want), len(kernels))
	}
	for _, row := range r.Kernels {
		if row.SHA256 != want[row.Kernel] {
			t.Errorf("%s on %s: results hash to %s, committed %s (-update after a change of the cases)", row.Kernel, row.Tier, row.SHA256, want[row.Kernel])
		}
	}
}

// TestSweepInterrupted checks that a block of the sweep, seconds on slow tiers, looks at its
// context: one that has ended stops it before the first call.
func TestSweepInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	e, err := engine.New(engine.WithThreads(1))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	calls := 0
	sweepOne(ctx, func(*engine.Engine, []float32, []float32) { calls++ }, math.Exp, []*engine.Engine{e}, 0)
	if calls > 0 {
		t.Errorf("%d calls under a context that has ended", calls)
	}
}

// TestSweep runs the first of the 256 blocks of the sweep, on the tiers with assembly if
// there are any.
func TestSweep(t *testing.T) {
	if testing.Short() {
		t.Skip("32 million inputs, minutes under emulation: without -short")
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

// TestCatches checks that each kind of mistake is found: a wrong number, other bits, a
// write outside the outputs, a read or write outside the buffers.
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
		"NaN": {"bound", func(_ *memory, out engine.Matrix) func(*engine.Engine) {
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
				out.Data[2] = 1 + 0**(*float32)(unsafe.Add(unsafe.Pointer(&m.inputs[0].Data[0]), 4*len(m.inputs[0].Data)))
			}
		}},
		"panic": {"panic: oops", func(_ *memory, out engine.Matrix) func(*engine.Engine) {
			return func(*engine.Engine) { panic("oops") }
		}},
	} {
		if !guards && name == "read past the end" {
			continue
		}
		var mem memory
		mem.input(1, 5, rowMajor, -1, nothing)
		out := mem.output(1, 4, rowMajor, 3, nothing)
		tr := trial{want: []float64{0, 0, 1, 0}, bound: []float64{0, 0, 0.25, 0}, run: c.run(&mem, out)}
		mem.save()
		var row Row
		got, err := mem.try(tr, nil)
		if err == nil {
			err = row.judge(got, tr)
		}
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", name, err, c.want)
		}
		if name == "out of bound" && row.MaxErrorRatio != 2 {
			t.Errorf("error ratio %v of a result twice out of its bound", row.MaxErrorRatio)
		}
	}
	if i := differs([]float32{1, float32(math.NaN()), 0}, []float32{1, -float32(math.NaN()), float32(math.Copysign(0, -1))}); i != 2 {
		t.Errorf("the first difference is %d, want the sign of zero at 2", i)
	}
}

// TestParseCase reads back what a case writes.
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
