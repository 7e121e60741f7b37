//go:build mpi && cgo && linux

package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dpnbench/dpn"
	"dpnbench/internal/mpi"
	"dpnbench/internal/mpi/mpitest"
)

// collected is what a command prints while it runs.
type collected struct {
	sync.Mutex
	bytes.Buffer
}

func (c *collected) Write(b []byte) (int, error) {
	c.Lock()
	defer c.Unlock()
	return c.Buffer.Write(b)
}

func (c *collected) text() string {
	c.Lock()
	defer c.Unlock()
	return c.String()
}

// launched is a command line that n ranks run.
type launched struct {
	*exec.Cmd
	out collected
}

func launch(t *testing.T, n int, args []string) *launched {
	t.Helper()
	l := &launched{Cmd: mpitest.Launch(t, mpi.Library(), n, process(t, args))}
	l.Stdout, l.Stderr = &l.out, &l.out
	if err := l.Start(); err != nil {
		t.Fatal(err)
	}
	return l
}

// lines returns the lines of the program, without those of mpirun.
func (l *launched) lines() (own []string) {
	for line := range strings.Lines(l.out.text()) {
		if strings.HasPrefix(line, "dpnbench: ") {
			own = append(own, line)
		}
	}
	return own
}

// until waits until something is so.
func until(t *testing.T, what string, so func() bool) {
	t.Helper()
	for begun := time.Now(); !so(); time.Sleep(10 * time.Millisecond) {
		if time.Since(begun) > 5*time.Minute {
			t.Fatalf("no %s", what)
		}
	}
}

// ranks returns the processes of the ranks, by rank.
func (l *launched) ranks(t *testing.T, n int) map[int]int {
	pids := map[int]int{}
	variable := regexp.MustCompile(`(?:^|\x00)(?:OMPI_COMM_WORLD_RANK|PMI_RANK)=(\d+)\x00`)
	until(t, "processes of ranks", func() bool {
		list, _ := filepath.Glob("/proc/[0-9]*")
		for _, dir := range list {
			env, err := os.ReadFile(dir + "/environ")
			if err != nil || !bytes.Contains(env, []byte("DPNBENCH_TEST_OF="+strconv.Itoa(os.Getpid())+"\x00")) {
				continue
			}
			if m := variable.FindSubmatch(env); m != nil {
				rank, _ := strconv.Atoi(string(m[1]))
				pids[rank], _ = strconv.Atoi(filepath.Base(dir))
			}
		}
		return len(pids) == n
	})
	return pids
}

// TestMPI trains by ranks in processes of their own.
func TestMPI(t *testing.T) {
	args := ranksArgs(t, "7")
	one := filepath.Join(t.TempDir(), "one")
	succeed(t, append(args, "--shards", "8", "--out", one)...)
	want := trained(t, one)
	for _, n := range []int{2, 3} {
		out := filepath.Join(t.TempDir(), fmt.Sprint(n))
		l := launch(t, n, append(args, "--threads", "1", "--out", out))
		if err := l.Wait(); err != nil {
			t.Fatalf("%d ranks: %v\n%s", n, err, l.out.text())
		}
		if got := trained(t, out); got != want {
			t.Errorf("%d ranks: weights %s, want %s", n, got, want)
		}
		if n := strings.Count(l.out.text(), "test   loss"); n != 1 {
			t.Errorf("%d times results in %s", n, l.out.text())
		}
	}
	for _, c := range []struct{ args, want string }{
		{"version", "2 ranks were started, expected 1 for dpnbench version: only train and bench scale"},
		{"train --preset none", "--preset \"none\""},
		{"train --data nowhere", "\"nowhere\""},
	} {
		l := launch(t, 2, strings.Fields(c.args))
		err := l.Wait()
		var exit *exec.ExitError
		if lines := l.lines(); !errors.As(err, &exit) || exit.ExitCode() != exitUsage || len(lines) != 1 ||
			!strings.Contains(lines[0], c.want) {
			t.Errorf("%s: %v\n%s", c.args, err, l.out.text())
		}
	}
}

// endless starts a training of n ranks that does not end, and waits until it has saved something.
func endless(t *testing.T, n int, more ...string) (l *launched, args []string, out string) {
	out = filepath.Join(t.TempDir(), "run")
	args = append(ranksArgs(t, "1000000"), "--epochs", "1000000", "--threads", "1", "--out", out)
	l = launch(t, n, append(args, more...))
	until(t, "state", func() bool { _, err := os.Stat(filepath.Join(out, dpn.StateFile)); return err == nil })
	return l, args, out
}

// TestMPIUnsaved interrupts a training whose folder has gone: one line says so.
func TestMPIUnsaved(t *testing.T) {
	for range 5 {
		l, _, out := endless(t, 2)
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
		l.Process.Signal(syscall.SIGUSR1)
		l.Wait()
		if strings.Contains(l.out.text(), "not saved; training goes on") {
			continue // a save was due between the two
		}
		lines := slices.DeleteFunc(l.lines(), func(s string) bool { return strings.Contains(s, "stopping;") })
		if len(lines) != 1 || !strings.Contains(lines[0], "the last save failed: ") {
			t.Errorf("printed %s", l.out.text())
		}
		return
	}
	t.Error("each time a save was due before the signal came")
}

// TestMPIEarly tells one of two ranks to end while it draws its data: all end as interrupted.
func TestMPIEarly(t *testing.T) {
	t.Setenv("DPNBENCH_TEST_OF", strconv.Itoa(os.Getpid()))
	for victim := range 2 {
		l := launch(t, 2, []string{"train", "--data", "digits", "--train-size", "300000", "--preset", "compact",
			"--threads", "1", "--quiet", "--out", filepath.Join(t.TempDir(), "run")}) // 10 s of each rank
		stat := fmt.Sprintf("/proc/%d/stat", l.ranks(t, 2)[victim])
		until(t, "second of processor time", func() bool {
			b, err := os.ReadFile(stat)
			if err != nil {
				t.Fatal(err)
			}
			fields := strings.Fields(string(b[bytes.LastIndexByte(b, ')'):]))
			user, userErr := strconv.Atoi(fields[12])
			system, err := strconv.Atoi(fields[13])
			if err != nil || userErr != nil {
				t.Fatal(err, userErr)
			}
			return user+system >= 100
		})
		syscall.Kill(l.ranks(t, 2)[victim], syscall.SIGTERM)
		err := l.Wait()
		var exit *exec.ExitError
		lines := slices.DeleteFunc(l.lines(), func(s string) bool { return strings.Contains(s, "stopping;") })
		if !errors.As(err, &exit) || exit.ExitCode() != exitInterrupted || len(lines) != 1 ||
			!strings.HasPrefix(lines[0], "dpnbench: interrupted") {
			t.Errorf("rank %d: %v\n%s", victim, err, l.out.text())
		}
	}
}

// TestMPIEnds ends ranks in the middle of a training.
func TestMPIEnds(t *testing.T) {
	t.Setenv("DPNBENCH_TEST_OF", strconv.Itoa(os.Getpid()))
	saved := regexp.MustCompile(`dpnbench: interrupted: \d+ epochs? and \d+ updates? are saved, continue with`)
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGUSR1, syscall.SIGKILL, syscall.SIGSTOP} {
		t.Run(signal.String(), func(t *testing.T) {
			l, _, _ := endless(t, 3)
			pids := l.ranks(t, 3)
			victim := pids[1]
			syscall.Kill(victim, signal)
			if signal == syscall.SIGSTOP {
				until(t, "warning", func() bool { return strings.Contains(l.out.text(), "waiting for rank") })
				if text := l.out.text(); !strings.Contains(text, "rank 1, process "+strconv.Itoa(victim)) {
					t.Errorf("printed %s", text)
				}
				syscall.Kill(victim, syscall.SIGCONT)
				syscall.Kill(pids[2], syscall.SIGTERM)
			}
			err := l.Wait()
			if err == nil {
				t.Error("ended with status 0")
			}
			text := l.out.text()
			if signal == syscall.SIGKILL {
				ended := regexp.MustCompile(fmt.Sprintf(
					`dpnbench: rank 1: process %d on \S+ has ended: .* are saved, continue with`, victim))
				if mpich := strings.Contains(text, "Killed (signal 9)"); !mpich && !ended.MatchString(text) {
					t.Errorf("printed %s", text)
				}
			} else if !saved.MatchString(text) {
				t.Errorf("printed %s", text)
			}
		})
	}
}
