package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/check"
)

// TestCheck runs one kernel, then one case.
func TestCheck(t *testing.T) {
	var r checkResult
	if err := json.Unmarshal([]byte(succeed(t, "check", "--kernel", "dot", "--json", "-")), &r); err != nil {
		t.Fatal(err)
	}
	if r.Cases == 0 || r.Failed != 0 || len(r.Kernels) != len(engine.Available()) || r.Machine.Arch == "" {
		t.Errorf("check: %+v", r)
	}
	out := succeed(t, "check", "--tier", "generic", "--case", "matmul:m=3,n=5")
	if !strings.Contains(out, "1 case passed") || strings.Contains(out, "has no unreadable pages") == r.Guards {
		t.Errorf("check printed %q, guards %t", out, r.Guards)
	}
}

// TestVerdict checks the output for a failing case: a row, the command that repeats it (which must
// run), and an error with status 1.
func TestVerdict(t *testing.T) {
	const failing = "dot:n=5,offset=-1,data=0,seed=1"
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a := &app{out: printer{File: f}}
	err = a.verdict(&check.Report{Cases: 9, Failed: 1,
		Kernels:  []check.Row{{Kernel: "dot", Tier: "generic", Cases: 9, Failed: 1}},
		Failures: []check.Failure{{Case: failing, Tier: "generic", Threads: 2, Reason: "element 3 is off"}}})
	if !errors.As(err, new(*failedError)) || !strings.Contains(err.Error(), "1 of 9") {
		t.Errorf("error %v, want a *failedError", err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	_, repeat, ok := strings.Cut(string(text), "repeat with: dpnbench ")
	if !strings.Contains(string(text), "has no unreadable pages") {
		t.Errorf("nothing about guards in %q", text)
	}
	if !ok || !strings.Contains(string(text), "element 3 is off") || !strings.Contains(string(text), "NO") {
		t.Fatalf("printed %q", text)
	}
	// for the kernel is sound
	if out := succeed(t, strings.Fields(repeat)...); !strings.Contains(out, "1 case passed") {
		t.Errorf("%s: %q", repeat, out)
	}
}
