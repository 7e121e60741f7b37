package engine

import (
	"sync/atomic"
	"time"
)

// Where other programs keep processors busy, a thread is taken off its processor in the middle of a
// task, for milliseconds that the others wait: two threads then take up to twice as long as one. So
// a pool leaves out helpers that are of no use. They are found without a guess at how long a job
// ought to take: if all threads together have got no more processor time in a job than one fewer of
// them would have, each on a processor of its own, they are one too many.
//
// Nothing is measured until somebody has waited for the end of a job for longer than threads spin.
// Then tasks are timed, by the clock on the wall and by that of the thread, until jobs of watchTime
// have run; where that shows nothing, not again for a while, twice as long each time, because it
// takes a microsecond a task. A helper that is left out comes back with the first job after its
// time, to be watched again, and stays away twice as long where nothing has changed. How tasks are
// shared changes no bit.
const (
	watchTime   = 20 * time.Millisecond
	mostRest    = 500 * time.Millisecond
	leastAway   = 5 * watchTime
	mostAway    = time.Second
	interrupted = 0.95 // of its time, what a thread gets at most that is taken off its processor
	ofUse       = 0.15 // of a processor, what a thread more has to give
)

// crowd is what a pool knows of the processors of its threads.
type crowd struct {
	clock    func() time.Duration // on the wall
	own      func() threadTime    // of the calling thread
	watching atomic.Bool          // tasks are timed
	suspect  atomic.Bool          // a helper has waited for the end of a job
	length   time.Duration        // of the jobs watched so far
	until    time.Duration        // by the clock, until when no suspicion counts
	rest     time.Duration        // how long that was the last time, or 0
	spent    []spent              // one a thread
	away     int                  // helpers that are left out
	pinned   bool                 // each thread has a processor of its own, or its share of that
}

// threadTime is the processor time that a thread of the system has had.
type threadTime struct {
	thread    int
	processor time.Duration
	known     bool
}

// spent is the time that tasks of a thread have taken while watched, alone on its cache line.
type spent struct {
	wall, processor atomic.Int64 // nanoseconds
	_               [48]byte
}

// absence says whether a helper is left out. Others than the caller look at out only.
type absence struct {
	out   atomic.Bool
	until time.Duration // by the clock on the wall
	pause time.Duration // the last one
	trial bool          // the helper has come back and not been of use yet
}

func newCrowd(threads int) crowd {
	begin := time.Now()
	return crowd{clock: func() time.Duration { return time.Since(begin) }, own: ownTime, spent: make([]spent, threads)}
}

// active is the number of threads that are not left out.
func (p *pool) active() int { return len(p.tickets) - p.crowd.away }

// suspicion begins to time tasks unless that has shown nothing just before.
func (p *pool) suspicion() {
	if c := &p.crowd; c.clock() >= c.until {
		p.watch()
	}
}

// watch begins to time tasks, where the system tells how long a thread has had a processor and may
// give it another one.
func (p *pool) watch() {
	c := &p.crowd
	if c.watching.Load() || c.pinned || !c.own().known {
		return
	}
	c.length = 0
	for i := range c.spent {
		c.spent[i].wall.Store(0)
		c.spent[i].processor.Store(0)
	}
	c.watching.Store(true)
}

// timed runs a task and adds what it takes to the times of its worker.
func (p *pool) timed(worker, task int) {
	c := &p.crowd
	wall, own := c.clock(), c.own()
	defer func() {
		took, after := c.clock()-wall, c.own()
		got := took // unless the scheduler of Go has taken the task to another thread
		if after.thread == own.thread {
			got = min(after.processor-own.processor, took)
		}
		c.spent[worker].wall.Add(int64(took))
		c.spent[worker].processor.Add(int64(got))
	}()
	p.job.run(worker, task)
}

// watched adds a job that took so long. When enough have run it leaves out the helper that has got
// the least of its processor, if any thread was interrupted and a helper was of no use.
func (p *pool) watched(took time.Duration) {
	c := &p.crowd
	if c.length += took; c.length < watchTime {
		return
	}
	c.watching.Store(false)
	var sum time.Duration
	var worst *helper
	least, leastOfHelpers := 1.0, 2.0
	for w := range c.spent {
		if w > 0 && p.helpers[w-1].out.Load() {
			continue
		}
		wall, processor := c.spent[w].wall.Load(), c.spent[w].processor.Load()
		sum += time.Duration(processor)
		share := 1.0
		if wall > 0 {
			share = float64(processor) / float64(wall)
		}
		least = min(least, share)
		if w > 0 && share < leastOfHelpers {
			worst, leastOfHelpers = p.helpers[w-1], share
		}
	}
	if least > interrupted {
		c.rest = min(max(2*c.rest, watchTime), mostRest)
		c.until = c.clock() + c.rest
	} else {
		c.rest = 0
	}
	if least > interrupted || sum.Seconds() >= (float64(p.active()-1)+ofUse)*c.length.Seconds() {
		for _, h := range p.helpers {
			h.trial = h.trial && h.out.Load()
		}
		return
	}
	if worst.trial {
		worst.pause = min(2*worst.pause, mostAway)
	} else {
		worst.pause = leastAway
	}
	worst.until = c.clock() + worst.pause
	worst.out.Store(true)
	c.away++
}

// takeBack takes back helpers whose time away is over, or all of them, and watches all that are there.
func (p *pool) takeBack(all bool) {
	c := &p.crowd
	if c.away == 0 {
		return
	}
	now, before := c.clock(), c.away
	for _, h := range p.helpers {
		if h.out.Load() && (all || now >= h.until) {
			h.trial = true
			h.out.Store(false)
			c.away--
		}
	}
	if c.away < before {
		c.watching.Store(false) // what has been seen is of fewer threads
		p.watch()
	}
}
