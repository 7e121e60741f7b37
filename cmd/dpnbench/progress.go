package main

import (
	"fmt"
	"io"
	"strings"
	"sync"
	"time"
)

// progress is the last line of a terminal: what a command does, how far it is and how long the rest may take. It
// draws itself several times a second, so that work that reports nothing is seen to run, too. Other output goes
// through above, which erases the line first. The methods of nil do nothing: there is no terminal.
type progress struct {
	w       io.Writer
	columns func() int
	every   time.Duration // between two drawings; 0: at the beginning of each phase and at every report
	before  string        // what every phase is a part of, with its separator

	mu     sync.Mutex
	phase  phase
	number int           // of the phase
	stop   chan struct{} // ends the drawing; nil: there is no phase
	drawn  int           // columns that the line takes on the terminal
	open   bool          // the terminal is in the middle of a line of other output
}

// phase is a piece of work that is shown.
type phase struct {
	what             string
	detail           func(rate float64) string // what is shown of the work but its end; nil: nothing
	first, done, all int                       // all 0: nobody knows how much there is; first: done before the phase
	next             int                       // how much is done at a time
	pace             float64                   // guess of what is done in a second, until a part is; 0: none
	begun, reported  time.Time
	turn             int // of the mark that shows that the program runs
}

const (
	drawEvery = 200 * time.Millisecond
	leastBar  = 10 // columns
	mostBar   = 40

	mostGuessed = 0.9 // share of a part that is shown before it is done
)

// begin shows a piece of work in the place of the one before, and returns what its progress is to be reported to.
func (p *progress) begin(x phase) func(done, all int) {
	report := p.beginParts(x)
	return func(done, all int) { report(done, 1, all) }
}

// beginParts is begin for work whose parts differ: next is how much the part is that begins.
func (p *progress) beginParts(x phase) func(done, next, all int) {
	if p == nil {
		return func(int, int, int) {}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.complete()
	p.number++
	x.what = p.before + x.what
	x.begun, x.reported = time.Now(), time.Now()
	p.phase = x
	switch {
	case p.every == 0:
		p.show(time.Now())
	case p.stop == nil:
		p.stop = make(chan struct{})
		go p.draw(p.stop, p.every)
	}
	number := p.number
	return func(done, next, all int) {
		p.mu.Lock()
		defer p.mu.Unlock()
		if number == p.number {
			p.phase.done, p.phase.next, p.phase.all, p.phase.reported = done, next, all, time.Now()
			if p.every == 0 {
				p.show(time.Now())
			}
		}
	}
}

// rename changes what the running phase is called.
func (p *progress) rename(what string) {
	if p != nil {
		p.mu.Lock()
		p.phase.what = p.before + what
		p.mu.Unlock()
	}
}

// within begins the name of every phase from now on.
func (p *progress) within(name string) {
	if p != nil {
		p.mu.Lock()
		p.before = name
		p.mu.Unlock()
	}
}

// slow draws the line only once a second, where time is measured.
func (p *progress) slow() {
	if p != nil {
		p.mu.Lock()
		if p.every > 0 {
			p.every = time.Second
		}
		p.mu.Unlock()
	}
}

// end erases the line until the next phase.
func (p *progress) end() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.complete()
	p.erase()
	p.number++
	if p.stop != nil {
		close(p.stop)
		p.stop = nil
	}
}

// above writes what stays, above the line.
func (p *progress) above(w io.Writer, b []byte) (int, error) {
	if p == nil {
		return w.Write(b)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.complete()
	p.erase()
	if len(b) > 0 {
		p.open = b[len(b)-1] != '\n'
	}
	return w.Write(b)
}

// draw draws the line until stop is closed.
func (p *progress) draw(stop chan struct{}, wait time.Duration) {
	for {
		select {
		case <-stop:
			return
		case <-time.After(wait):
			p.mu.Lock()
			if p.stop == stop {
				p.show(time.Now())
			}
			wait = p.every
			p.mu.Unlock()
		}
	}
}

// complete shows the end of work that was seen to run.
func (p *progress) complete() {
	if x := &p.phase; p.drawn > 0 && x.all > 0 && x.done >= x.all {
		p.show(time.Now())
	}
}

func (p *progress) show(now time.Time) {
	width := p.columns() - 1 // a full line would wrap on some terminals
	if p.open || width < 1 {
		return
	}
	p.phase.turn++
	line := p.phase.line(width, now)
	n := columnsOf(line)
	fmt.Fprintf(p.w, "\r%s%s", line, strings.Repeat(" ", max(0, min(p.drawn, width)-n)))
	p.drawn = n
}

func (p *progress) erase() {
	if p.drawn > 0 {
		fmt.Fprintf(p.w, "\r%s\r", strings.Repeat(" ", min(p.drawn, max(0, p.columns()-1))))
		p.drawn = 0
	}
}

// line returns the line in at most width columns. The narrower it is, the more is left out: first the time until
// now, then the details, then the bar; the time left stays longest.
func (x *phase) line(width int, now time.Time) string {
	elapsed := now.Sub(x.begun)
	if x.all <= 0 {
		mark := fmt.Sprintf(" %c", `|/-\`[x.turn%4])
		return x.named(mark, "  "+duration(elapsed), width)
	}
	done, detail, left := float64(x.done), "", ""
	rate := x.pace
	if n, took := x.done-x.first, x.reported.Sub(x.begun); n > 0 && took > 0 {
		rate = float64(n) / took.Seconds()
		if x.detail != nil {
			detail = "  " + x.detail(rate)
		}
		rest := time.Duration(float64(x.all-x.done)/rate*float64(time.Second)) - now.Sub(x.reported)
		if rest >= time.Second/2 {
			left = duration(rest) + " left"
		}
	}
	if x.done < x.all { // within a part the bar moves as fast as before, but not to its end
		done += min(rate*now.Sub(x.reported).Seconds(), mostGuessed*float64(x.next))
	}
	share := min(max(done/float64(x.all), 0), 1)
	mark := fmt.Sprintf(" %3d%%", int(100*share))
	head := x.what + mark
	spent := "  " + duration(elapsed)
	if left != "" {
		spent += ", " + left
		left = "  " + left
	}
	for _, tail := range []string{detail + spent, detail + left, left} {
		if room := width - columnsOf(head) - columnsOf(tail) - len(" ||"); room >= leastBar {
			room = min(room, mostBar)
			full := int(float64(room) * share)
			return head + " |" + strings.Repeat("█", full) + strings.Repeat(" ", room-full) + "|" + tail
		}
	}
	return x.named(mark, left, width)
}

// named returns the name of the phase, a mark and, if there is room in width columns, more. The mark stays longest: it
// says that the work goes on.
func (x *phase) named(mark, more string, width int) string {
	room := width - columnsOf(mark)
	if columnsOf(x.what+more) <= room {
		return x.what + mark + more
	}
	return firstColumns(firstColumns(x.what, max(room, 0))+mark, width)
}

// duration formats a time of work: 12 s, 3 min 05 s, 2 h 07 min.
func duration(d time.Duration) string {
	s := int(d.Seconds() + 0.5)
	switch {
	case s < 100:
		return fmt.Sprintf("%d s", s)
	case s < 3600:
		return fmt.Sprintf("%d min %02d s", s/60, s%60)
	}
	return fmt.Sprintf("%d h %02d min", s/3600, s/60%60)
}
