package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpnbench/dpn"
)

// TestProgressLine lays out the line of progress for terminals of several widths.
func TestProgressLine(t *testing.T) {
	begun := time.Unix(1000, 0)
	training := phase{what: "epoch 3 of 10", done: 250, all: 1000, begun: begun, reported: begun.Add(10 * time.Second),
		detail: func(rate float64) string { return "loss 0.1372  3,200/s" }}
	resumed := phase{what: "epoch 9 of 10", first: 800, done: 900, all: 1000, begun: begun,
		reported: begun.Add(200 * time.Second)}
	seeds := phase{what: "seed", done: 1, next: 1, all: 4, begun: begun, reported: begun.Add(10 * time.Second)}
	for _, c := range []struct {
		phase phase
		width int
		after time.Duration
		want  string
	}{
		{phase{what: "draw digits", begun: begun, turn: 1}, 80, 3 * time.Second, "draw digits /  3 s"},
		{phase{what: "draw digits", begun: begun}, 14, time.Second, "draw digits |"},
		{phase{what: "draw digits", begun: begun}, 5, time.Second, "dra |"},
		{phase{what: "手書き数字", begun: begun}, 5, time.Second, "手 |"},
		{phase{what: "draw digits", begun: begun}, 1, time.Second, " "},
		{phase{what: "check", all: 4, begun: begun}, 30, 2 * time.Second, "check   0% |            |  2 s"},
		{training, 200, 10 * time.Second, "epoch 3 of 10  25% |" + strings.Repeat("█", 10) + strings.Repeat(" ", 30) +
			"|  loss 0.1372  3,200/s  10 s, 30 s left"},
		{training, 79, 12 * time.Second,
			"epoch 3 of 10  25% |████               |  loss 0.1372  3,200/s  12 s, 28 s left"},
		{training, 64, 10 * time.Second, "epoch 3 of 10  25% |██        |  loss 0.1372  3,200/s  30 s left"},
		{training, 45, 10 * time.Second, "epoch 3 of 10  25% |███          |  30 s left"},
		{training, 29, 10 * time.Second, "epoch 3 of 10  25%  30 s left"},
		{training, 20, 10 * time.Second, "epoch 3 of 10  25%"},
		{training, 12, 10 * time.Second, "epoch 3  25%"},
		{training, 59, 99 * time.Second, "epoch 3 of 10  25% |██        |  loss 0.1372  3,200/s  99 s"}, // overdue
		// Half of the second quarter, at the pace of the first; then no further than nine tenths of it.
		{seeds, 48, 15 * time.Second, "seed  37% |███████            |  15 s, 25 s left"},
		{seeds, 48, 90 * time.Second, "seed  47% |" + strings.Repeat("█", 14) + strings.Repeat(" ", 16) + "|  90 s"},
		{phase{what: "analyze", next: 2000, all: 8000, pace: 1000, begun: begun, reported: begun}, 48, time.Second,
			"analyze  12% |███                         |  1 s"},
		{phase{what: "seed", next: 9, all: 9, pace: 1, begun: begun, reported: begun}, 48,
			-time.Second, // of another clock
			"seed   0% |                               |  0 s"},
		{resumed, 48, 200 * time.Second, "epoch 9 of 10  90% |█████████ |  3 min 20 s left"},
	} {
		if got := c.phase.line(c.width, begun.Add(c.after)); got != c.want || columnsOf(got) > c.width {
			t.Errorf("%q in %d columns: %q, want %q", c.phase.what, c.width, got, c.want)
		}
	}
}

// TestProgress shows two phases beside other output: a line of progress never stays, and ends at 100%.
func TestProgress(t *testing.T) {
	var b bytes.Buffer
	p := &progress{w: &b, columns: func() int { return 60 }, every: time.Hour}
	tick := func() {
		p.mu.Lock()
		p.show(time.Now())
		p.mu.Unlock()
	}
	p.begin(phase{what: "read"})
	tick()
	old := p.begin(phase{what: "work"})
	report := p.beginParts(phase{what: "count"})
	old(9, 9) // of a phase that is over
	report(1, 0, 2)
	tick()
	p.above(&b, []byte("result"))
	tick() // in the middle of a line: nothing
	p.above(&b, []byte(" 1\n"))
	tick()
	report(2, 0, 2)
	p.end()
	p.above(&b, []byte("result 2\n"))
	shown := strings.Split(strings.ReplaceAll(b.String(), "\n", "\r"), "\r")
	var lines []string
	for _, s := range shown {
		if s = strings.TrimRight(s, " "); s != "" {
			lines = append(lines, strings.Join(strings.Fields(strings.Map(func(r rune) rune {
				if strings.ContainsRune(`|/-\█`, r) {
					return -1
				}
				return r
			}, s)), " "))
		}
	}
	want := "read 0 s; count 50% 0 s; result 1; count 50% 0 s; count 100% 0 s; result 2"
	if got := strings.Join(lines, "; "); got != want {
		t.Errorf("shown %q, want %q in\n%q", got, want, b.String())
	}
	var none *progress
	none.begin(phase{})(1, 2)
	none.rename("x")
	none.slow()
	none.end()
	none.above(&b, nil)
}

// TestEpochTable prints the rows of trainings: the last epoch and the one with the lowest validation loss have one,
// however many epochs were meant to be, and rows are in order.
func TestEpochTable(t *testing.T) {
	for _, c := range []struct {
		name string
		c    dpn.Config
		loss []float64
		want string
	}{
		{"few", dpn.Config{Epochs: 4}, []float64{4, 3, 2, 3}, "1 2 3 4"},
		{"few updates", dpn.Config{Epochs: 600, MaxUpdates: 45}, []float64{5, 4, 3, 2, 1}, "1 2 3 4 5"},
		{"patience", dpn.Config{Epochs: 500}, []float64{9, 8, 7, 6, 5, 6, 7, 8}, "1 5 8"},
		{"best in between", dpn.Config{Epochs: 200}, []float64{9, 8, 5, 6, 6, 6, 6, 6, 6, 6}, "1 3 4 8 10"},
		{"interrupted", dpn.Config{Epochs: 200}, []float64{9, 8}, "1 2"},
		{"none", dpn.Config{Epochs: 200}, nil, ""},
	} {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		c.c.Batch = 100
		e := newEpochTable(newApp(out, out), c.c, 1000)
		for i, loss := range c.loss {
			accuracy := 0.5
			e.add(dpn.Epoch{Epoch: i + 1, ValLoss: &loss, ValAccuracy: &accuracy})
		}
		e.flush()
		b, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		var rows []string
		for line := range strings.Lines(string(b)) {
			if first := strings.Fields(line)[0]; first != "epoch" {
				rows = append(rows, first)
			}
		}
		if got := strings.Join(rows, " "); got != c.want {
			t.Errorf("%s: rows of epochs %s, want %s", c.name, got, c.want)
		}
	}
}
