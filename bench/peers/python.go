package main

import (
	"bufio"
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
	"unsafe"

	"dpnbench/internal/output"
)

//go:embed *.py
var scripts embed.FS

// A child is a Python peer on a number of threads. It answers one line of JSON to every
// command (serve.py). It has a process for every number of threads, because OpenBLAS,
// OpenMP and PyTorch read it from the environment when they start.
type child struct {
	name  string // script and threads
	about string
	cmd   *exec.Cmd
	in    io.WriteCloser
	out   *json.Decoder
}

// A reply has what the command asks for.
type reply struct {
	Error   string            `json:"error"`
	Missing string            `json:"missing"`
	About   string            `json:"about"`
	Seconds float64           `json:"seconds"`
	File    string            `json:"file"`
	Fastest map[string]string `json:"fastest"`
}

// errMissing is the error if no Python has the package.
var errMissing = errors.New("missing")

// workspace makes a folder with the scripts, for inputs and results.
func workspace() (dir string, remove func(), err error) {
	if dir, remove, err = output.TempDir("dpnbench-peers-"); err != nil {
		return "", nil, err
	}
	if err := os.CopyFS(dir, scripts); err != nil {
		remove()
		return "", nil, err
	}
	return dir, remove, nil
}

// environment holds the settings of an expert: the threads, and an allocator that keeps its memory
// and uses huge pages, which makes PyTorch's training step up to 1.5 times as fast. OpenBLAS with
// OpenMP shares the threads of PyTorch; the usual one, with threads of its own, competes with them.
// Except for the threads, variables that the user has set stay.
func environment(threads int) []string {
	env := os.Environ()
	for _, name := range []string{"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"} {
		env = append(env, fmt.Sprintf("%s=%d", name, threads))
	}
	defaults := map[string]string{
		"MALLOC_MMAP_THRESHOLD_": "4294967296",
		"MALLOC_TRIM_THRESHOLD_": "17179869184",
		"GLIBC_TUNABLES":         "glibc.malloc.hugetlb=1",
	}
	if found, _ := filepath.Glob("/usr/lib/*/openblas-openmp/libblas.so.3"); len(found) > 0 {
		defaults["LD_LIBRARY_PATH"] = filepath.Dir(found[0])
	}
	for name, value := range defaults {
		if os.Getenv(name) == "" {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// startAll starts a script once for every number of threads, with the first Python that
// has the package.
func startAll(s *settings, dir, script string) (all []*child, err error) {
	pythons := []string{s.python}
	if s.python == "" {
		pythons = []string{"python3", "/usr/bin/python3"}
	}
	for _, python := range pythons {
		all = nil
		for _, threads := range s.threads {
			var c *child
			if c, err = start(python, dir, script, threads); err != nil {
				break
			}
			all = append(all, c)
		}
		if !errors.Is(err, errMissing) {
			break
		}
	}
	if err != nil {
		stopAll(all)
		return nil, err
	}
	return all, nil
}

func stopAll(all []*child) {
	for _, c := range all {
		c.stop()
	}
}

func start(python, dir, script string, threads int) (*child, error) {
	path, err := exec.LookPath(python)
	if err != nil {
		return nil, errMissing
	}
	c := &child{name: fmt.Sprintf("%s, threads %d", script, threads)}
	c.cmd = exec.Command(path, filepath.Join(dir, script), dir)
	c.cmd.Env = environment(threads)
	c.cmd.Stderr = os.Stderr
	out, err := c.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	c.out = json.NewDecoder(bufio.NewReader(out))
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if err := c.cmd.Start(); err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	var hello reply
	if err := c.out.Decode(&hello); err != nil {
		c.stop()
		return nil, fmt.Errorf("%s: %s gave an unexpected reply: %w", c.name, path, err)
	}
	if hello.Missing != "" {
		c.stop()
		return nil, errMissing
	}
	c.about = hello.About
	return c, nil
}

// stop ends the process: there are no more commands.
func (c *child) stop() {
	c.in.Close()
	c.cmd.Wait()
}

// ask sends a command, a line of words, and waits for the reply.
func (c *child) ask(words ...any) (*reply, error) {
	line := strings.TrimSuffix(fmt.Sprintln(words...), "\n")
	var r reply
	if _, err := fmt.Fprintln(c.in, line); err != nil {
		return nil, fmt.Errorf("%s: %q: the process has ended: %w", c.name, line, err)
	}
	if err := c.out.Decode(&r); err != nil {
		return nil, fmt.Errorf("%s: %q: the process has ended: %w", c.name, line, err)
	}
	if r.Error != "" {
		return nil, fmt.Errorf("%s: %q: %s", c.name, line, r.Error)
	}
	return &r, nil
}

// time returns a contender that times work by name.
func (c *child) time(what string, least time.Duration) contender {
	return func() (float64, error) {
		r, err := c.ask("time", what, least.Seconds())
		if err != nil {
			return 0, err
		}
		return r.Seconds, nil
	}
}

// results runs work by name once and returns what it computed.
func (c *child) results(what string) (floats, error) {
	r, err := c.ask("run", what)
	if err != nil {
		return nil, err
	}
	b, err := os.ReadFile(r.File)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, err)
	}
	x := make(floats, len(b)/4)
	copy(bytesOf(x), b)
	return x, nil
}

// floats is a sequence of concatenated results.
type floats []float32

// next removes and returns the next n of them, or the rest.
func (f *floats) next(n int) []float32 {
	n = min(n, len(*f))
	x := (*f)[:n]
	*f = (*f)[n:]
	return x
}

// bytesOf shares the memory of x, in the byte order of the machine, which is also NumPy's.
func bytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}
