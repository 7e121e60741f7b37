//go:build unix

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"dpnbench/internal/longtest"
	"dpnbench/reproduce"
)

// saved counts the parts in a folder of results.
func saved(out string) int {
	list, _ := filepath.Glob(filepath.Join(out, reproduce.PartsFolder, "*-*.json"))
	return len(list)
}

// outcome returns all files of a folder, without what differs from run to run: measured times, the load of the
// machine, and the name of the folder.
func outcome(t *testing.T, out string) map[string]string {
	t.Helper()
	measured := regexp.MustCompile(`"(seconds|load)": [0-9.e-]+`)
	all := map[string]string{}
	for path, text := range tree(t, out) {
		text = strings.ReplaceAll(measured.ReplaceAllString(text, ""), out, "OUT")
		all[strings.TrimPrefix(path, out)] = text
	}
	return all
}

// TestReproduceKilled kills each experiment whenever a part is saved, by SIGKILL and by SIGINT in turn, and
// resumes it: in the end the files are those of a run that was not interrupted, and no others.
func TestReproduceKilled(t *testing.T) {
	long(t)
	heed()
	few, many := t.TempDir(), t.TempDir()
	idx(t, few, 220)
	idx(t, many, 1000)
	for name, c := range map[string]struct {
		data  string
		args  []string
		parts int
	}{
		"table1":  {few, []string{"--seeds", "2", "--epochs", "1"}, 2},
		"law":     {many, []string{"--seeds", "1", "--epochs", "1"}, 21},
		"trained": {few, []string{"--seeds", "1", "--epochs", "2", "--presets", "compact"}, 3},
		"poster":  {few, []string{"--seeds", "1", "--epochs", "1"}, 8},
		"field":   {few, nil, 8},
		"robust":  {few, []string{"--seeds", "1", "--epochs", "1"}, 13},
	} {
		if !longtest.Asked() && name != "trained" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			args := with([]string{"reproduce", name, "--data", c.data, "--quiet"}, c.args...)
			whole := filepath.Join(dir, "whole")
			succeed(t, with(args, "--out", whole)...)
			out := filepath.Join(dir, "killed")
			kills := killed(t, with(args, "--out", out), out)
			if kills < c.parts/2 {
				t.Errorf("killed %d times, want at least every second of %d parts", kills, c.parts)
			}
			got, want := outcome(t, out), outcome(t, whole)
			for name, text := range want {
				if got[name] != text {
					t.Errorf("%s differs from that of an uninterrupted run", name)
				}
			}
			if len(got) != len(want) {
				t.Errorf("%d files, want %d", len(got), len(want))
			}
		})
	}
}

// killed runs a command until it succeeds; its process is killed when there is another part. It returns the
// number of kills.
func killed(t *testing.T, args []string, out string) (kills int) {
	t.Helper()
	for {
		before := saved(out)
		signal := []os.Signal{syscall.SIGKILL, os.Interrupt}[kills%2]
		stderr, sent, err := signalled(t, args, signal, func() bool { return saved(out) > before })
		if err == nil {
			return kills
		}
		if !sent {
			t.Fatalf("%v: %s", err, stderr)
		}
		kills++
		if signal == os.Interrupt && !strings.Contains(stderr, "saved, continue with: dpnbench reproduce ") {
			t.Errorf("interrupted: printed %q", stderr)
		}
		if args[len(args)-1] != "--resume" {
			args = with(args, "--resume")
		}
	}
}

// signalled runs a command to its end. Its process gets a signal once, as soon as it is due.
func signalled(t *testing.T, args []string, signal os.Signal, due func() bool) (stderr string, sent bool, err error) {
	t.Helper()
	c, errs := process(t, args), &bytes.Buffer{}
	c.Stderr = errs
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	for {
		select {
		case err := <-ended:
			return errs.String(), sent, err
		case <-time.After(time.Millisecond):
			if !sent && due() {
				c.Process.Signal(signal)
				sent = true
			}
		}
	}
}
