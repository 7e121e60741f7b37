package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
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
