package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/axes"
	"dpnbench/internal/parallel"
)

// Figures of full resolution would take most of the time of these tests and of the processes that they start.
func init() { axes.DPI = 25 }

// dpnbench runs a command line and returns what it printed and its status.
func dpnbench(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	dir := t.TempDir()
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	out, errs := open("out"), open("err")
	defer out.Close()
	defer errs.Close()
	status = run(context.Background(), args, out, errs)
	read := func(f *os.File) string {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return read(out), read(errs), status
}

// succeed runs a command line that must succeed, and returns its output.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, status := dpnbench(t, args...)
	if status != exitDone || errs != "" {
		t.Fatalf("dpnbench %s: status %d, standard error %q", strings.Join(args, " "), status, errs)
	}
	return out
}

// fails runs a command line that must exit with status 2 and print one line that contains all of
// want.
func fails(t *testing.T, args []string, want ...string) {
	t.Helper()
	out, errs, status := dpnbench(t, args...)
	if status != exitUsage {
		t.Errorf("dpnbench %s: status %d, want %d", strings.Join(args, " "), status, exitUsage)
	}
	if !strings.HasPrefix(errs, "dpnbench: ") || strings.Count(errs, "\n") != 1 || !strings.HasSuffix(errs, "\n") {
		t.Errorf("dpnbench %s: standard error %q, want one line", strings.Join(args, " "), errs)
	}
	for _, w := range want {
		if !strings.Contains(errs, w) {
			t.Errorf("dpnbench %s: standard error %q, want it to hold %q", strings.Join(args, " "), errs, w)
		}
	}
	if strings.Contains(out, "accuracy") {
		t.Errorf("dpnbench %s: printed results: %q", strings.Join(args, " "), out)
	}
}

// idx writes n images of 4 x 4 pixels and their labels as MNIST's four files.
func idx(t *testing.T, dir string, n int) {
	t.Helper()
	r := num.NewRand(1, 0)
	for _, split := range []string{"train", "t10k"} {
		images := []byte{0, 0, 8, 3}
		for _, d := range []int{n, 4, 4} {
			images = binary.BigEndian.AppendUint32(images, uint32(d))
		}
		labels := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, uint32(n))
		for i := range n {
			labels = append(labels, byte(i%10))
			for p := range 16 {
				images = append(images, byte(r.Intn(100)+15*((i+p)%10)))
			}
		}
		write(t, filepath.Join(dir, split+"-images-idx3-ubyte.gz"), zip(t, images))
		write(t, filepath.Join(dir, split+"-labels-idx1-ubyte"), labels)
	}
}

func zip(t *testing.T, b []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return z.Bytes()
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// tree returns all files below a folder with their content.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			all[path] = fmt.Sprint(e.Type())
			return err
		}
		b, err := os.ReadFile(path)
		all[path] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// small are the flags of a network that trains in milliseconds.
var small = []string{"--preset", "compact", "--dim", "8", "--components", "4", "--steps", "3", "--epochs", "2",
	"--batch", "16"}

func with(base []string, more ...string) []string {
	return append(append([]string(nil), base...), more...)
}

// long skips a test with -short: it takes seconds, or minutes under emulation.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("left out by -short: takes seconds, and minutes under emulation")
	}
}

// panicking is a context whose Err panics.
type panicking struct {
	context.Context
	value any
}

func (p panicking) Err() error { panic(p.value) }

// TestInternalError checks that a panic prints one line and exits as an internal error, also that of another thread.
func TestInternalError(t *testing.T) {
	thread := &engine.TaskPanic{Value: "out of order", Stack: []byte("stack\n")}
	for _, value := range []any{"out of order", thread, &parallel.Panic{Value: thread, Stack: []byte("stack\n")}} {
		f, err := os.Create(filepath.Join(t.TempDir(), "err"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		ctx := panicking{context.Background(), value}
		status := run(ctx, []string{"check", "--kernel", "dot", "--quiet"}, f, f)
		b, err := os.ReadFile(f.Name())
		if err != nil || status != exitInternal || string(b) != "dpnbench: internal error: out of order\n" {
			t.Errorf("%T: status %d, printed %q (%v)", value, status, b, err)
		}
	}
}

// TestWarning warns in one plain line, also with --verbose, which logs more.
func TestWarning(t *testing.T) {
	for _, verbose := range []bool{false, true} {
		errs, err := os.Create(filepath.Join(t.TempDir(), "err"))
		if err != nil {
			t.Fatal(err)
		}
		defer errs.Close()
		a := newApp(errs, errs)
		a.verbose = verbose
		log := a.log().With("run", 3)
		log.Info("saved")
		log.Warn("the file \"a b\"\nis\x1b odd", "kind", "odd", "ratio", 0.5)
		b, err := os.ReadFile(errs.Name())
		if err != nil {
			t.Fatal(err)
		}
		info, text, found := strings.Cut(string(b), "dpnbench: warning: ")
		if text != "the file \"a b\" is\\x1b odd (run 3, kind odd, ratio 0.5)\n" || !found ||
			verbose != strings.Contains(info, "level=INFO msg=saved run=3\n") || !verbose && info != "" {
			t.Errorf("verbose %v: %q", verbose, b)
		}
	}
}
