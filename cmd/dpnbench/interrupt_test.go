//go:build unix

package main

import (
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
)

var interrupting = []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1}

// heed has this process and those that it starts heed the interrupting signals. Where these tests are run in the
// background, or by nohup, they would be ignored, and a process hands that on. A signal that is caught here is
// not: in a new process it has its default action. (Nobody reads the channel, so they still do nothing here.)
var heed = sync.OnceFunc(func() {
	for _, s := range interrupting {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
})

// TestInterruptible sends each interrupting signal to this process.
func TestInterruptible(t *testing.T) {
	heed()
	for _, s := range interrupting {
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
		const want = "dpnbench: stopping; interrupt again to stop immediately\n"
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
