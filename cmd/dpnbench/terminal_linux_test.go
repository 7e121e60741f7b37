package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode"

	"dpnbench/internal/pty"
)

// onTerminal runs a command line on a terminal, whose line of progress is drawn all the time, and returns everything
// that was written.
func onTerminal(t *testing.T, columns int, args ...string) string {
	t.Helper()
	program, screen, err := pty.Open(40, columns)
	if err != nil {
		t.Skip("no pseudo-terminals here:", err)
	}
	defer screen.Close()
	shown := make(chan string)
	go func() {
		b, _ := io.ReadAll(screen) // ends with an error once nobody writes
		shown <- string(b)
	}()
	a := newApp(program, program)
	a.progress.every = time.Millisecond
	status := a.run(context.Background(), args)
	program.Close()
	out := <-shown
	if status != exitDone {
		t.Fatalf("dpnbench %s: status %d, shown %q", strings.Join(args, " "), status, out)
	}
	return out
}

var (
	escapes = regexp.MustCompile("\x1b\\[[0-9;]*m")
	percent = regexp.MustCompile(`^(epoch|[a-z0-9]+).* +(\d+)%(  | \||$)`)
)

// TestTerminal runs the long commands on terminals: no line is wider, and each bar ends at 100%.
func TestTerminal(t *testing.T) {
	long(t)
	t.Setenv("TERM", "xterm")
	t.Setenv("NO_COLOR", "")
	t.Chdir(t.TempDir())
	data := []string{"--train-size", "300", "--test-size", "200"}
	model := filepath.Join("30", "model.safetensors")
	for _, columns := range []int{30, 80, 200} {
		dir := fmt.Sprint(columns)
		for _, c := range []struct{ args, bars, shown []string }{
			{with(with([]string{"train", "--out", dir}, small...), data...), []string{"epoch"},
				[]string{"draw digits"}},
			{[]string{"analyze", "--model", model, "--draws", "20", "--subsets", "1", "--out", "a" + dir},
				[]string{"analyze", "figures"}, []string{"law follows"}},
			{[]string{"eval", "--model", model, "--suite", "robustness"}, []string{"corrupt"}, nil},
			{[]string{"check", "--quick", "--kernel", "matmul"}, []string{"check"}, []string{"\x1b[32myes\x1b[0m"}},
			{with([]string{"reproduce", "trained", "--presets", "compact", "--seeds", "1", "--epochs", "1", "--out",
				"r" + dir}, data...), []string{"trained"}, []string{"figures"}},
		} {
			if columns > 30 && c.args[0] != "train" && c.args[0] != "check" {
				continue // they have more room
			}
			out := onTerminal(t, columns, c.args...)
			for _, want := range c.shown {
				if !strings.Contains(out, want) {
					t.Errorf("%v in %d columns: does not show %q", c.args, columns, want)
				}
			}
			ends := map[string]string{}
			for _, line := range strings.FieldsFunc(escapes.ReplaceAllString(out, ""), unicode.IsControl) {
				line = strings.TrimRight(line, " ")
				if n := columnsOf(line); n > columns {
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
	}
}
