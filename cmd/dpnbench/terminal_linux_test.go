package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unicode"

	"dpnbench/dataset/fetch"
	"dpnbench/dpn"
	"dpnbench/dpn/safetensors"
	"dpnbench/internal/longtest"
	"dpnbench/internal/pty"
)

// shownBy does some work on a terminal, whose line of progress is drawn at every report, however short the work is, and
// returns everything that was written.
func shownBy(t *testing.T, columns int, work func(*app)) string {
	t.Helper()
	program, screen, err := pty.Open(40, columns)
	if errors.Is(err, fs.ErrNotExist) {
		t.Skip("this system has no pseudo-terminals: ", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer screen.Close()
	shown := make(chan string)
	go func() {
		b, _ := io.ReadAll(screen) // ends with an error once nobody writes
		shown <- string(b)
	}()
	a := newApp(program, program)
	a.progress.every = 0
	work(a)
	program.Close()
	out := <-shown
	if t.Failed() {
		t.Fatalf("shown %q", out)
	}
	return out
}

var (
	escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")
	// rowOfBench is the name of a row that is unreliable. Like a path it stays whole.
	rowOfBench = regexp.MustCompile(`^  [a-z]+/\S+/threads=\d+:$`)
	percent    = regexp.MustCompile(`^([a-z0-9]+).* +(\d+)%(  | \||$)`)
)

// shownCommand is a command that is run on terminals.
type shownCommand struct {
	args  []string
	bars  []string // of progress
	shown []string // among what is printed
}

// run runs the command, checks what it shows, and returns that.
func (c shownCommand) run(t *testing.T, columns int) (out string) {
	t.Helper()
	out = shownBy(t, columns, func(a *app) {
		if status := a.run(context.Background(), c.args); status != exitDone {
			t.Errorf("dpnbench %s: status %d", strings.Join(c.args, " "), status)
		}
	})
	c.check(t, columns, out)
	return out
}

// check checks that no line is wider than the terminal, and that each bar ends at 100%.
func (c shownCommand) check(t *testing.T, columns int, out string) {
	t.Helper()
	for _, want := range c.shown {
		if !strings.Contains(out, want) {
			t.Errorf("%v in %d columns: does not show %q", c.args, columns, want)
		}
	}
	ends := map[string]string{}
	for _, line := range strings.FieldsFunc(escapes.ReplaceAllString(out, ""), unicode.IsControl) {
		line = strings.TrimRight(line, " ")
		if n := columnsOf(line); n > columns && !rowOfBench.MatchString(line) {
			t.Errorf("%v in %d columns: %d columns: %q", c.args, columns, n, line)
		}
		if at := percent.FindStringSubmatch(line); at != nil && slices.Contains(c.bars, at[1]) {
			ends[at[1]] = at[2]
		}
	}
	for _, bar := range c.bars {
		if ends[bar] != "100" {
			t.Errorf("%v in %d columns: bar %q ends at %q%%", c.args, columns, bar, ends[bar])
		}
	}
}

// TestTerminal runs commands on a narrow, a usual and a wide terminal: on the others than the narrow one, where they
// have more room, the slower ones run only with the long tests. TestDemo has demo.
func TestTerminal(t *testing.T) {
	long(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	t.Chdir(t.TempDir())
	data := []string{"--train-size", "300", "--test-size", "200"}
	pixels, model := filepath.Join("pixels", dpn.ModelFile), filepath.Join("30", dpn.ModelFile)
	succeed(t, with([]string{"train", "--preset", "robust-small", "--components", "10", "--rank",
		"2", "--max-updates", "2", "--out", "pixels"}, data...)...)
	saveNPY(t, "x.npy", []float32{0, 1, 0, 2, 1, 1, 1, 3, 3, 0, 4, 1}, 6, 2)
	write(t, "y.csv", []byte("0\n0\n1\n1\n2\n2\n"))
	for _, columns := range []int{30, 80, 200} {
		out := func(name string) string { return fmt.Sprint(name, columns) }
		commands := []shownCommand{
			{with(with([]string{"train", "--out", out("")}, small...), data...), []string{"epoch"},
				[]string{"draw digits"}},
			{[]string{"check", "--quick", "--kernel", "matmul"}, []string{"check"}, []string{"\x1b[32myes\x1b[0m"}},
			{[]string{"denoise", "--model", pixels, "--corrupt", "gaussian:0.5", "--out", out("d")}, nil,
				[]string{"denoise /", "gaussian"}},
			{[]string{"separation", "--features", "x.npy,x.npy", "--labels", "y.csv"}, []string{"separation"},
				[]string{"effective depth"}},
		}
		if columns == 30 || longtest.Asked() {
			commands = append(commands,
				shownCommand{[]string{"analyze", "--model", model, "--draws", "20", "--subsets", "1", "--out",
					out("a")}, []string{"analyze", "figures"}, []string{"law follows"}},
				shownCommand{[]string{"eval", "--model", model, "--suite", "robustness"}, []string{"corrupt"}, nil},
				shownCommand{with([]string{"reproduce", "trained", "--presets", "compact", "--seeds", "1", "--epochs",
					"1", "--out", out("r")}, data...), []string{"trained"}, []string{"figures"}})
		}
		if longtest.Asked() {
			commands = append(commands,
				shownCommand{[]string{"bench", "--quick", "--suite", "gemm", "--filter", "packed/m=128,k=64,n=64",
					"--threads", "1"}, []string{"bench"}, []string{"m=128,k=64,n=64"}},
				shownCommand{[]string{"uncertainty", "--model", model, "--out", out("u")}, []string{"uncertainty"},
					[]string{"AUROC"}},
				shownCommand{[]string{"sample", "--model", model, "--method", "mala", "--n", "20", "--steps", "100",
					"--out", out("s")}, []string{"mala"}, nil},
				shownCommand{[]string{"predict", "--model", model, "--out", out("p") + ".csv"}, []string{"predict"},
					nil})
		}
		for _, c := range commands {
			c.run(t, columns)
		}
	}
}

// TestTerminalFetch downloads files with long names, as those of MNIST, which alone "data fetch" takes.
func TestTerminalFetch(t *testing.T) {
	long(t)
	t.Setenv("TERM", "xterm")
	served := fstest.MapFS{"train-images-idx3-ubyte.gz": {Data: make([]byte, 300_000)},
		"t10k-labels-idx1-ubyte.gz": {Data: []byte{1}}}
	server := httptest.NewServer(http.FileServerFS(served))
	defer server.Close()
	var files []fetch.File
	for name, f := range served {
		files = append(files, fetch.File{Name: name, Size: int64(len(f.Data)),
			SHA256: fmt.Sprintf("%x", sha256.Sum256(f.Data))})
	}
	c := shownCommand{args: []string{"data", "fetch"}, bars: []string{"train", "t10k"}, shown: []string{"100%"}}
	for _, columns := range []int{30, 80, 200} {
		c.check(t, columns, shownBy(t, columns, func(a *app) {
			if err := a.download(context.Background(), t.TempDir(), files, []string{server.URL}); err != nil {
				t.Error(err)
			}
		}))
	}
}

// TestTerminalWarning warns of a model without a checksum: on a terminal above the line of progress, like all messages.
func TestTerminalWarning(t *testing.T) {
	long(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	t.Chdir(t.TempDir())
	succeed(t, with(append([]string{"train", "--out", "run"}, small...), "--train-size", "300", "--test-size", "50")...)
	whole, err := os.ReadFile(filepath.Join("run", dpn.ModelFile))
	if err != nil {
		t.Fatal(err)
	}
	write(t, "unchecked", bytes.Replace(whole, []byte(safetensors.ChecksumKey), []byte("dpnbench.sha257"), 1))
	shownCommand{args: []string{"eval", "--model", "unchecked"},
		shown: []string{"\x1b[33mdpnbench: warning: no checksum"}}.run(t, 30)
}
