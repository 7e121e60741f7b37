//go:build mpi && cgo && linux

package mpi

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"dpnbench/internal/mpi/mpitest"
	"dpnbench/internal/testprocess"
)

// taskVariable holds what a rank of a test does.
const taskVariable = "DPNBENCH_TEST_MPI"

func TestMain(m *testing.M) {
	if task := os.Getenv(taskVariable); task != "" {
		w, err := Start()
		if err == nil && w == nil {
			err = errors.New("no launcher")
		}
		if err == nil {
			err = tasks[task](w)
		}
		if err != nil {
			fmt.Println("FAILED", err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// mpirun runs n ranks of a task.
func mpirun(t *testing.T, n int, task string) *exec.Cmd {
	t.Helper()
	return mpitest.Launch(t, Library(), n, testprocess.New(t, "NONE", taskVariable+"="+task))
}

// panics checks that a fault is a panic still, and no signal for a handler of the library.
func panics() (err error) {
	defer func() {
		if recover() == nil {
			err = errors.New("a nil pointer does not panic")
		}
	}()
	var nowhere *World
	nowhere.Threads++
	return nil
}

var tasks = map[string]func(w *World) error{
	"suite": func(w *World) error {
		for _, test := range suite {
			if err := test.run(w); err != nil {
				return fmt.Errorf("rank %d: %s: %w", w.Rank(), test.name, err)
			}
		}
		if err := panics(); err != nil {
			return err
		}
		if w.Threads < 1 {
			return fmt.Errorf("%d threads", w.Threads)
		}
		return w.Finish()
	},
	"abort":         abort(os.Stdout),
	"abort, errors": abort(os.Stderr),
	"killed": func(w *World) error {
		signal.Ignore(syscall.SIGTERM) // by which Open MPI ends the other ranks, too
		if w.Rank() == 1 {
			syscall.Kill(os.Getpid(), syscall.SIGKILL)
		}
		err := Barrier(w)
		if w.Rank() == 0 {
			fmt.Println("rank 0 says:", err)
			w.Exit(7)
		}
		select {}
	},
	"slow": func(w *World) error {
		w.OnSlow(func(rank int, waited time.Duration) { fmt.Println("waits for rank", rank) })
		if w.Rank() == 1 {
			time.Sleep(SlowAfter + time.Second)
		}
		if err := Barrier(w); err != nil {
			return err
		}
		return w.Finish()
	},
	"stopped": func(w *World) error {
		w.OnSlow(func(rank int, _ time.Duration) {
			fmt.Printf("rank %d waits for rank %d\n", w.Rank(), rank)
			if w.Rank() == 0 {
				syscall.Kill(int(w.Comm.(*endpoint).all[rank].pid), syscall.SIGCONT)
			}
		})
		if err := chain(w); err != nil {
			return err
		}
		return w.Finish()
	},
}

// abort lets rank 1 fail, and rank 0 say so.
func abort(out *os.File) func(w *World) error {
	return func(w *World) error {
		if w.Rank() == 1 {
			w.Abort("the disk is full")
			select {}
		}
		err := Barrier(w)
		if w.Rank() == 0 {
			fmt.Fprintln(out, "rank 0 says:", err)
			w.Exit(7)
		}
		select {}
	}
}

// chain lets rank 0 wait for rank 1, which waits for rank 2, which has stopped once the others have begun.
func chain(w *World) (err error) {
	word := make([]byte, 1)
	if w.Rank() == 2 {
		for from := 0; from < 2 && err == nil; from++ {
			err = receive(w, from, word)
		}
		continued := make(chan os.Signal, 1)
		signal.Notify(continued, syscall.SIGCONT)
		syscall.Kill(os.Getpid(), syscall.SIGSTOP)
		<-continued // Kill may return before the process stops
	} else if err = send(w, word, func(int) int { return 2 }, 0, 1); err == nil {
		err = receive(w, w.Rank()+1, word)
	}
	if w.Rank() > 0 && err == nil {
		err = send(w, word, func(int) int { return w.Rank() - 1 }, 0, 1)
	}
	return err
}

// TestProcesses runs the suite in processes.
func TestProcesses(t *testing.T) {
	t.Log(Library())
	for _, n := range []int{1, 2, 3, 4} {
		if out, err := mpirun(t, n, "suite").CombinedOutput(); err != nil {
			t.Errorf("%d ranks: %v\n%s", n, err, out)
		}
	}
}

// TestOtherLauncher starts a process as the mpirun of another library does: it is no rank.
func TestOtherLauncher(t *testing.T) {
	variables := []string{"OMPI_COMM_WORLD_RANK=0", "OMPI_COMM_WORLD_SIZE=2"}
	if strings.HasPrefix(Library(), "Open MPI") {
		variables = []string{"PMI_RANK=0", "PMI_SIZE=2"}
	}
	c := testprocess.New(t, "NONE", append(variables, taskVariable+"=suite")...)
	out, err := c.CombinedOutput()
	if want := "FAILED 2 processes were started, but not as ranks of " + Library(); err == nil ||
		!strings.HasPrefix(string(out), want) {
		t.Errorf("%v: %s, want %q", err, out, want)
	}
}

// TestFailures checks what the other ranks hear of one that fails, is killed, is slow, or is stopped.
func TestFailures(t *testing.T) {
	for task, want := range map[string]string{
		"abort":         "rank 0 says: rank 1: the disk is full\n",
		"abort, errors": "rank 0 says: rank 1: the disk is full\n",
		// mpirun of MPICH may kill the other ranks before they know
		"killed":  `rank 0 says: rank 1: process \d+ on .* has ended|Killed \(signal 9\)`,
		"slow":    "waits for rank 1\n",
		"stopped": "rank 0 waits for rank 2\n",
	} {
		times := 1
		if strings.HasPrefix(task, "abort") && strings.HasPrefix(Library(), "MPICH") {
			times = 20 // its mpirun loses some of what it has not read
		}
		for range times {
			out, err := mpirun(t, 3, task).CombinedOutput()
			if !regexp.MustCompile(want).Match(out) || (err == nil) != strings.HasPrefix(task, "s") {
				t.Fatalf("%s: %v\n%s", task, err, out)
			}
		}
	}
}
