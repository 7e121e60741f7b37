//go:build unix

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpnbench/dpn"
	"dpnbench/internal/longtest"
)

// TestEndSignals ends training by each interrupting signal, in the middle of a run. The message holds the command
// that continues, as a shell reads it, and the weights are those of training in one go.
func TestEndSignals(t *testing.T) {
	long(t)
	heed()
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 200)
	train := with(append([]string{"train"}, small...), "--data", data, "--epochs", "30", "--quiet")
	whole := filepath.Join(dir, "whole")
	succeed(t, with(train, "--out", whole)...)
	var want trainResult
	load(t, filepath.Join(whole, resultFile), &want)
	for _, s := range interrupting {
		out := filepath.Join(dir, "a run's "+s.String())
		c := process(t, with(train, "--checkpoint-every", "1", "--out", out))
		var errs bytes.Buffer
		c.Stderr = &errs
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		awaits(t, c, &errs, func() bool { // until it trains
			_, err := os.Stat(filepath.Join(out, dpn.StateFile))
			return err == nil
		})
		if err := c.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
		c.Wait()
		if got := c.ProcessState.ExitCode(); got != exitInterrupted {
			t.Fatalf("%v: status %d, want %d: %s", s, got, exitInterrupted, errs.String())
		}
		_, hint, found := strings.Cut(errs.String(), " are saved, continue with: ")
		if !found {
			t.Fatalf("%v: printed %q", s, errs.String())
		}
		command := wordsOf(t, hint)
		if got := []string{"dpnbench", "train", "--out", out, "--resume", "--checkpoint-every",
			"1"}; !slices.Equal(command, got) {
			t.Errorf("%v: the shell reads %q, want %q", s, command, got)
		}
		succeed(t, append(command[1:], "--quiet")...)
		var got trainResult
		if load(t, filepath.Join(out, resultFile), &got); got.WeightsSHA256 != want.WeightsSHA256 ||
			len(got.Epochs) != len(want.Epochs) || got.BestEpoch != want.BestEpoch {
			t.Errorf("%v: weights %s of epoch %d, want %s of epoch %d", s, got.WeightsSHA256, got.BestEpoch,
				want.WeightsSHA256, want.BestEpoch)
		}
	}
}

// wordsOf has a shell split a command line into words.
func wordsOf(t *testing.T, command string) []string {
	t.Helper()
	b, err := exec.Command("sh", "-c", `printf '%s\n' `+command).Output()
	if err != nil {
		t.Skipf("no shell: %v", err)
	}
	return strings.Split(strings.TrimSuffix(string(b), "\n"), "\n")
}

// TestKilledRuns kills training at some moments while it replaces an earlier run. Afterwards the folder holds the
// whole earlier run, which the same command replaces, or one that --resume continues; no other file stays.
func TestKilledRuns(t *testing.T) {
	long(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 200)
	train := with(append([]string{"train"}, small...), "--data", data, "--epochs", "20", "--quiet")
	whole, old := filepath.Join(dir, "whole"), filepath.Join(dir, "old")
	succeed(t, with(train, "--out", whole)...)
	succeed(t, with(train, "--seed", "9", "--out", old)...)
	var want trainResult
	load(t, filepath.Join(whole, resultFile), &want)
	same := func(out string) bool {
		for path, content := range tree(t, old) {
			if now, err := os.ReadFile(filepath.Join(out, filepath.Base(path))); path != old &&
				(err != nil || string(now) != content) {
				return false
			}
		}
		return true
	}
	resumed := 0
	const kills = 15
	step := 3
	if longtest.Asked() {
		step = 1
	}
	for i := 0; i < kills; i += step {
		out := filepath.Join(dir, fmt.Sprint(i))
		if err := os.CopyFS(out, os.DirFS(old)); err != nil {
			t.Fatal(err)
		}
		again := with(train, "--checkpoint-every", "5", "--overwrite", "--out", out)
		c := process(t, again)
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Duration(i) * 20 * time.Millisecond)
		c.Process.Kill()
		c.Wait()
		if !same(out) {
			again = []string{"train", "--out", out, "--resume", "--quiet"}
			resumed++
		}
		succeed(t, again...)
		var got trainResult
		if load(t, filepath.Join(out, resultFile), &got); got.WeightsSHA256 != want.WeightsSHA256 {
			t.Errorf("kill %d: weights %s, want %s", i, got.WeightsSHA256, want.WeightsSHA256)
		}
		if names, want := len(tree(t, out)), len(tree(t, old)); names != want {
			t.Errorf("kill %d: %d files, want %d", i, names, want)
		}
	}
	t.Logf("%d of %d killed runs were resumed", resumed, kills/step)
}

// TestReaderOfTraining checks that training whose output nobody reads trains to its end.
func TestReaderOfTraining(t *testing.T) {
	long(t)
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	idx(t, data, 120)
	c := process(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--epochs", "30"))
	r, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r.Read(make([]byte, 1)) // as head -1 does
	r.Close()
	c.Wait()
	if got := c.ProcessState.ExitCode(); got != exitUnread {
		t.Errorf("status %d, want %d", got, exitUnread)
	}
	var got trainResult
	if load(t, filepath.Join(out, resultFile), &got); len(got.Epochs) != 30 {
		t.Errorf("%d epochs, want 30", len(got.Epochs))
	}
}
