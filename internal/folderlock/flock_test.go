//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package folderlock

import (
	"bufio"
	"errors"
	"os"
	"testing"

	"dpnbench/internal/testprocess"
)

// TestAcquire takes the lock of a folder twice, and again after its release. The folder stays
// empty.
func TestAcquire(t *testing.T) {
	dir := t.TempDir()
	for range 2 {
		release, err := Acquire(dir)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Acquire(dir); !errors.Is(err, ErrHeld) {
			t.Errorf("error %v, want ErrHeld", err)
		}
		release()
	}
	if list, err := os.ReadDir(dir); err != nil || len(list) > 0 {
		t.Errorf("%v in the folder, error %v", list, err)
	}
	if _, err := Acquire(dir + "/none"); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("error %v, want that of a missing folder", err)
	}
}

// TestCrash kills a process that holds the lock, which frees it.
func TestCrash(t *testing.T) {
	const variable = "FOLDERLOCK_TEST_DIR"
	if dir := os.Getenv(variable); dir != "" { // the process that is killed
		if _, err := Acquire(dir); err != nil {
			t.Fatal(err)
		}
		os.Stdout.WriteString("locked\n")
		os.Stdin.Read(make([]byte, 1)) // until it is killed
		return
	}
	dir := t.TempDir()
	c := testprocess.New(t, "TestCrash", variable+"="+dir)
	if _, err := c.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if _, held := Acquire(dir); line != "locked\n" || !errors.Is(held, ErrHeld) {
		t.Errorf("the other process printed %q (%v); error %v, want ErrHeld", line, err, held)
	}
	c.Process.Kill()
	c.Wait()
	release, err := Acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	release()
}
