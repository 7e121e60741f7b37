//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dpnbench/dpn"
)

// TestUnsaved makes the folder of a training unreachable while it trains, as a network drive may be. Training goes
// on; at its end, or when it is interrupted, one line says what is lost and how to go on. The results are printed and
// are those of undisturbed training, and so is what the command of the message trains.
func TestUnsaved(t *testing.T) {
	long(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 200)
	train := with(append([]string{"train"}, small...), "--data", data, "--epochs", "30")
	whole := filepath.Join(dir, "whole")
	var want trainResult
	tested := testLine(t, succeed(t, with(train, "--out", whole)...))
	load(t, filepath.Join(whole, resultFile), &want)
	for i, interrupted := range []bool{false, true} {
		out, js := filepath.Join(dir, fmt.Sprint("a run ", i)), filepath.Join(dir, "results.json")
		args := with(train, "--checkpoint-every", "1", "--out", out, "--json", js)
		c := process(t, args)
		var text, errs bytes.Buffer
		c.Stdout, c.Stderr = &text, &errs
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Process.Kill() }) // a stopped one, too
		var first os.FileInfo
		awaits(t, c, &errs, func() bool { // a second state: the save of the first has ended
			info, err := os.Stat(filepath.Join(out, dpn.StateFile))
			if err == nil && first == nil {
				first = info
			}
			return err == nil && !os.SameFile(first, info)
		})
		send := func(s os.Signal) {
			if err := c.Process.Signal(s); err != nil {
				t.Fatal(err)
			}
		}
		send(syscall.SIGSTOP) // it must not end before it is interrupted
		var status syscall.WaitStatus
		if _, err := syscall.Wait4(c.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
			t.Fatalf("not stopped: status %#x, %v, %q", status, err, errs.String())
		}
		if err := os.Rename(out, out+".aside"); err != nil {
			t.Fatal(err)
		}
		write(t, out, nil)
		if interrupted {
			send(os.Interrupt)
		}
		send(syscall.SIGCONT)
		c.Wait()
		var warnings, lines []string
		for line := range strings.Lines(errs.String()) {
			switch {
			case strings.HasPrefix(line, "dpnbench: warning: "):
				warnings = append(warnings, line)
			case !strings.Contains(line, "stopping;"):
				lines = append(lines, line)
			}
		}
		// A second warning: for a moment there is no folder, then there is a file of its name.
		if status := c.ProcessState.ExitCode(); status != exitUsage || len(lines) != 1 || len(warnings) > 2 {
			t.Fatalf("interrupted: %v: status %d, %q", interrupted, status, errs.String())
		}
		_, hint, found := strings.Cut(lines[0], " are saved, continue with: ")
		if !found || !strings.Contains(lines[0], out+"/") ||
			!strings.Contains(lines[0], "are not saved") || !strings.HasPrefix(hint, "dpnbench train ") {
			t.Fatalf("interrupted: %v: %q", interrupted, lines[0])
		}
		if interrupted != strings.Contains(lines[0], "interrupted") {
			t.Errorf("interrupted: %v: %q", interrupted, lines[0])
		}
		if !interrupted {
			var got trainResult
			if load(t, js, &got); got.WeightsSHA256 != want.WeightsSHA256 || testLine(t, text.String()) != tested {
				t.Errorf("printed %q, want %q", text.String(), tested)
			}
		}
		os.Remove(out)
		if err := os.Rename(out+".aside", out); err != nil {
			t.Fatal(err)
		}
		succeed(t, append(wordsOf(t, hint)[1:], "--quiet")...)
		var got trainResult
		if load(t, filepath.Join(out, resultFile), &got); got.WeightsSHA256 != want.WeightsSHA256 {
			t.Errorf("interrupted: %v: weights %s, want %s", interrupted, got.WeightsSHA256, want.WeightsSHA256)
		}
	}
}

// testLine returns the line with the results on the test images.
func testLine(t *testing.T, text string) string {
	t.Helper()
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "test ") {
			return line
		}
	}
	t.Fatalf("no results in %q", text)
	return ""
}

// awaits waits until a process has done something. If it never does, as after an error, that ends the test: the process
// is killed, and errs is what it has printed.
func awaits(t *testing.T, c *exec.Cmd, errs *bytes.Buffer, happened func() bool) {
	t.Helper()
	for begun := time.Now(); !happened(); time.Sleep(time.Millisecond) {
		if time.Since(begun) > 2*time.Minute {
			c.Process.Kill()
			c.Wait() // errs is complete then
			t.Fatalf("waited for two minutes; printed %q", errs.String())
		}
	}
}
