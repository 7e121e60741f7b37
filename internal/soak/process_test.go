//go:build linux

package soak

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// hang is the time after which a run, which otherwise takes seconds, counts as one that never ends.
const hang = 5 * time.Minute

// plan says how a run is disturbed. The zero plan is: not at all.
type plan struct {
	signal  syscall.Signal // 0: none
	after   time.Duration  // from the start, or from the last of changes
	changes int            // in the folder, before the signal
	call    string         // of the system, before which SIGKILL comes; needs strace
	nth     int            // of these calls of a thread
	lines   int            // of standard output that are read before it is closed; 0: all
}

// program is what a scenario runs: a command line, the folder in which it runs, and additions to the
// environment.
type program struct {
	path, dir string
	args, env []string
}

// outcome is how a run ended.
type outcome struct {
	plan
	args           []string
	status         int // -1: killed
	stdout, stderr string
	lasted         time.Duration
	seen           int // changes in the folder
	hung           bool
}

func (o *outcome) killed() bool { return o.status < 0 }

// String is a line for a shell that disturbs the program at the same time, and how it ended.
func (o *outcome) String() string {
	line := "dpnbench " + strings.Join(o.args, " ")
	switch {
	case o.lines > 0:
		line += fmt.Sprintf(" | head -n %d", o.lines)
	case o.call != "":
		line = strings.Join(o.killCall(), " ") + " " + line
	case o.signal != 0:
		name := strings.TrimPrefix(signalNames[o.signal], "SIG")
		line = fmt.Sprintf("timeout -s %s %.4f %s", name, o.lasted.Seconds(), line)
	}
	end := fmt.Sprintf("status %d", o.status)
	if o.killed() {
		end = fmt.Sprintf("killed, after %d changes in the folder", o.seen)
	}
	if text := strings.TrimSpace(o.stderr); text != "" {
		end += ": " + text
	}
	return line + "\n\t# " + end
}

var signalNames = map[syscall.Signal]string{syscall.SIGKILL: "SIGKILL", syscall.SIGINT: "SIGINT",
	syscall.SIGTERM: "SIGTERM", syscall.SIGHUP: "SIGHUP"}

// strace is the path of strace(1), or empty.
var strace, _ = exec.LookPath("strace")

// calls are the system calls that change which files there are, and those that complete one.
var calls = []string{"renameat", "linkat", "unlinkat", "fsync", "ftruncate"}

// killCall is the beginning of a command line that kills the program before a call.
func (p plan) killCall() []string {
	return []string{"strace", "-f", "-qq", "-o", "/dev/null", "-e", "trace=" + p.call,
		"-e", fmt.Sprintf("inject=%s:signal=KILL:when=%d", p.call, p.nth)}
}

// start runs the program until it ends, disturbed as planned.
func (p *program) start(t *testing.T, how plan) *outcome {
	t.Helper()
	line := append([]string{p.path}, p.args...)
	if how.call != "" {
		line = append(how.killCall(), line...)
	}
	c := exec.Command(line[0], line[1:]...)
	c.Dir, c.Env = p.dir, append(os.Environ(), p.env...)
	var stderr strings.Builder
	c.Stderr = &stderr
	out, err := os.CreateTemp("", "soak-stdout-") // a pipe would need a reader that is never late
	if err != nil {
		t.Fatal(err)
	}
	defer os.Remove(out.Name())
	defer out.Close()
	c.Stdout = out
	var closing io.ReadCloser
	if how.lines > 0 {
		c.Stdout = nil
		if closing, err = c.StdoutPipe(); err != nil {
			t.Fatal(err)
		}
	}
	w := watch(t, p.dir)
	begun := time.Now()
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	o := &outcome{plan: how, args: p.args}
	if closing != nil {
		r := bufio.NewReader(closing)
		for range how.lines {
			r.ReadString('\n')
		}
		closing.Close()
	}
	ended := make(chan error, 1)
	go func() { ended <- c.Wait() }()
	err = o.disturb(c.Process, w, ended)
	o.lasted = time.Since(begun)
	o.seen = w.close()
	o.stderr = stderr.String()
	b, readErr := os.ReadFile(out.Name())
	if readErr != nil {
		t.Fatal(readErr)
	}
	o.stdout = string(b)
	var exit *exec.ExitError
	switch {
	case errors.As(err, &exit):
		o.status = exit.ExitCode()
	case err != nil:
		t.Fatal(err)
	}
	return o
}

// disturb sends the signal at its time, and waits for the end of the process.
func (o *outcome) disturb(p *os.Process, w *watcher, ended <-chan error) error {
	never := time.After(hang)
	for o.signal != 0 && o.changes > 0 && w.count < o.changes {
		select {
		case err := <-ended:
			return err
		case <-never:
			return o.end(p, ended)
		case n := <-w.changed:
			w.count += n
		}
	}
	if o.signal != 0 {
		select {
		case err := <-ended:
			return err
		case <-time.After(o.after):
			p.Signal(o.signal)
		}
	}
	select {
	case err := <-ended:
		return err
	case <-never:
		return o.end(p, ended)
	}
}

// end has a process that hangs print what its goroutines do.
func (o *outcome) end(p *os.Process, ended <-chan error) error {
	o.hung = true
	p.Signal(syscall.SIGQUIT)
	return <-ended
}

// watcher counts the changes in a folder and its subfolders.
type watcher struct {
	events  *os.File
	folders map[int32]string
	changed chan int
	count   int
}

const watched = syscall.IN_CREATE | syscall.IN_MODIFY | syscall.IN_CLOSE_WRITE | syscall.IN_MOVED_FROM |
	syscall.IN_MOVED_TO | syscall.IN_DELETE

func watch(t *testing.T, dir string) *watcher {
	t.Helper()
	fd, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
	if err != nil {
		t.Fatal(err)
	}
	w := &watcher{events: os.NewFile(uintptr(fd), "inotify"), folders: map[int32]string{},
		changed: make(chan int, 1<<16)}
	w.add(fd, dir)
	go w.read(fd)
	return w
}

// add watches a folder and those in it.
func (w *watcher) add(fd int, dir string) {
	wd, err := syscall.InotifyAddWatch(fd, dir, watched)
	if err != nil {
		return // it is gone
	}
	w.folders[int32(wd)] = dir
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if e.IsDir() {
			w.add(fd, filepath.Join(dir, e.Name()))
		}
	}
}

// read counts until the watcher is closed.
func (w *watcher) read(fd int) {
	defer close(w.changed)
	buf := make([]byte, 64<<10)
	for {
		n, err := w.events.Read(buf)
		if err != nil {
			return
		}
		count := 0
		for b := buf[:n]; len(b) >= syscall.SizeofInotifyEvent; count++ {
			e := parseEvent(b)
			b = b[syscall.SizeofInotifyEvent+int(e.Len):]
			if folder := w.folders[e.Wd]; e.Mask&syscall.IN_ISDIR != 0 && e.Mask&syscall.IN_CREATE != 0 {
				w.add(fd, filepath.Join(folder, e.name))
			}
		}
		w.changed <- count
	}
}

// close ends watching and returns the number of changes.
func (w *watcher) close() int {
	time.Sleep(time.Millisecond) // the last ones
	w.events.Close()
	for n := range w.changed {
		w.count += n
	}
	return w.count
}

// event is an event of inotify(7).
type event struct {
	syscall.InotifyEvent
	name string
}

func parseEvent(b []byte) event {
	var e event
	e.Wd = int32(native.Uint32(b))
	e.Mask = native.Uint32(b[4:])
	e.Len = native.Uint32(b[12:])
	name := b[syscall.SizeofInotifyEvent:][:e.Len]
	e.name = strings.TrimRight(string(name), "\x00")
	return e
}
