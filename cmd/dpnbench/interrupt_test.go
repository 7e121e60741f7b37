//go:build unix

package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
)

// TestInterruptible sends each interrupting signal to this process.
func TestInterruptible(t *testing.T) {
	for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
		if signal.Ignored(s) {
			continue // as these tests are run in the background, or by nohup
		}
		f, err := os.Create(filepath.Join(t.TempDir(), "err"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		ctx := interruptible(f)
		if err := syscall.Kill(os.Getpid(), s); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		b, err := os.ReadFile(f.Name())
		const want = "dpnbench: stopping after the current step; interrupt again to stop immediately\n"
		if err != nil || string(b) != want {
			t.Errorf("%v: printed %q (%v)", s, b, err)
		}
	}
}

// TestNohup checks that a signal that was ignored from the start stays ignored.
func TestNohup(t *testing.T) {
	ignored := signal.Ignored(syscall.SIGHUP) // as under nohup
	if watched := slices.Contains(watchedSignals(), os.Signal(syscall.SIGHUP)); watched == ignored {
		t.Errorf("SIGHUP is ignored: %v, and watched: %v", ignored, watched)
	}
	if !ignored {
		signal.Ignore(syscall.SIGHUP)
		defer signal.Reset(syscall.SIGHUP)
	}
	if list := watchedSignals(); slices.Contains(list, os.Signal(syscall.SIGHUP)) || len(list) == 0 {
		t.Errorf("watches %v, and SIGHUP is ignored", list)
	}
}
