package engine

import (
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync/atomic"
	"time"
)

// job is work in tasks that write to separate outputs. The number of the worker (0 is the caller)
// selects scratch memory; no result may depend on it.
type job interface {
	run(worker, task int)
}

// pool runs jobs on a fixed number of threads: the caller and its helpers. An idle helper spins,
// because the next job of a training step usually comes soon, and then parks. It spins longer than
// the largest job that stays on one thread (wakeThreshold).
//
// Each thread has a run of consecutive tasks of its own, the same in successive similar jobs, so that
// it finds its data in its own cache. When it has finished them, it takes tasks of the others. Each
// thread has a ticket, a counter that holds the number of the job, the end of its run and its next
// task. A helper that wakes after the end of its job sees that from the tickets alone, so the caller
// waits only for tasks that have begun, never for a helper to wake.
//
// Who announces something (a job, or that it sleeps) and then reads what others announce does so by Swap.
// Store would do on a CPU, but QEMU 7 on amd64 lets an arm64 program read before others see what it stored,
// so that both could sleep.
type pool struct {
	tickets  []ticket     // one per thread; the first one announces a job
	tasks    atomic.Int32 // of the running job
	done     atomic.Int32 // finished tasks
	job      job          // set before the tickets, read only by holders of a valid task
	sharing  bool         // several threads run its tasks; set before the tickets
	failure  atomic.Pointer[TaskPanic]
	helpers  []*helper
	spins    int
	stop     atomic.Bool
	restart  func(worker int) // if set, called by a helper that replaces another one
	waiting  atomic.Bool      // the caller is blocked until all tasks are finished
	finished chan struct{}    // wakes it

	// See Engine.Watch. Set while no job runs, and read only by the caller and by holders of a valid task.
	clock func() time.Duration
	begin func()
	wall  time.Duration // of shared jobs
}

// ticket fills a cache line, so that threads do not share one.
type ticket struct {
	atomic.Uint64
	busy time.Duration // of the thread in tasks, by pool.clock; only the thread changes it
	_    [48]byte
}

type helper struct {
	parked atomic.Bool
	wake   chan struct{}
	seen   uint64 // number of the last job that it took part in; only the helper uses it
}

// TaskPanic is a panic on one of several threads, for example in the function of [Engine.Parallel],
// raised again in the caller. A call of runtime.Goexit on a helper thread counts as a panic with the
// value ErrGoexit.
type TaskPanic struct {
	Value any    // of the first panic
	Stack []byte // where it came from
}

// ErrGoexit is the value of a TaskPanic if a task called runtime.Goexit, as testing.T.FailNow does.
var ErrGoexit = errors.New("a task called runtime.Goexit")

func (p *TaskPanic) Error() string {
	return fmt.Sprintf("%v\n\non a thread of the engine:\n%s", p.Value, p.Stack)
}

const (
	taskBits = 20
	maxTasks = 1<<taskBits - 1<<14 // room for counters that run past the end of their run
	taskMask = 1<<taskBits - 1
	jobShift = 2 * taskBits

	// spinRounds rounds of pausesPerRound pauses are 100 to 300 microseconds.
	spinRounds     = 1000
	pausesPerRound = 8
)

func newPool(threads int) *pool {
	p := &pool{tickets: make([]ticket, threads), finished: make(chan struct{}, 1)}
	if threads <= runtime.GOMAXPROCS(0) {
		p.spins = spinRounds // otherwise a spinning helper would take the CPU of a working one
	}
	for i := 1; i < threads; i++ {
		h := &helper{wake: make(chan struct{}, 1)}
		p.helpers = append(p.helpers, h)
		go p.help(h, i)
	}
	return p
}

func (p *pool) threads() int { return len(p.helpers) + 1 }

func (p *pool) close() {
	if p.stop.Swap(true) {
		return
	}
	p.tickets[0].Add(1 << jobShift)
	p.wakeHelpers()
}

// run runs all tasks of j and returns when the last one is finished. If a task on the calling thread
// calls runtime.Goexit, the tasks that have not begun are dropped, and the goroutine ends after those
// that have begun.
func (p *pool) run(j job, tasks int) {
	if p.stop.Load() {
		panic("engine: used after Close")
	}
	if len(p.helpers) == 0 || tasks == 1 {
		for t := range tasks {
			j.run(0, t)
		}
		return
	}
	if tasks > maxTasks {
		panic(fmt.Sprintf("engine: %d tasks in one job, at most %d", tasks, maxTasks))
	}
	var begun time.Duration
	if p.clock != nil {
		begun = p.clock()
	}
	p.job, p.sharing = j, true
	p.tasks.Store(int32(tasks))
	p.done.Store(0)
	number := p.tickets[0].Load()>>jobShift + 1
	for w := len(p.tickets) - 1; w >= 0; w-- { // the announcement comes last
		lo, hi := Part(tasks, len(p.tickets), w)
		p.tickets[w].Swap(number<<jobShift | uint64(hi)<<taskBits | uint64(lo))
	}
	p.wakeHelpers()
	worked := false
	defer func() {
		if !worked { // runtime.Goexit, because do recovers panics
			p.drop()
			p.wait()
			p.job, p.sharing = nil, false
			p.failure.Store(nil)
		}
	}()
	p.work(0)
	worked = true
	p.wait()
	if p.clock != nil {
		p.wall += p.clock() - begun
	}
	p.job, p.sharing = nil, false
	if f := p.failure.Swap(nil); f != nil {
		panic(f)
	}
}

// drop takes the tasks that have not begun and counts them as finished.
func (p *pool) drop() {
	for i := range p.tickets {
		for {
			v := p.tickets[i].Add(1) - 1
			if int(v&taskMask) >= int(v>>taskBits&taskMask) {
				break
			}
			p.done.Add(1)
		}
	}
}

// wait returns when all tasks are finished. After spinning, the caller blocks, which frees its core
// for the thread it waits for.
func (p *pool) wait() {
	for spin := 0; p.done.Load() != p.tasks.Load(); spin++ {
		if spin < p.spins {
			pause(pausesPerRound)
			continue
		}
		p.waiting.Swap(true)
		if p.done.Load() == p.tasks.Load() && p.waiting.CompareAndSwap(true, false) {
			return
		}
		<-p.finished // may be a late signal of the job before, so check again
	}
}

// awake reports whether all helpers are spinning, so that sharing a job costs only about 1
// microsecond.
func (p *pool) awake() bool {
	if p.spins == 0 {
		return false
	}
	for _, h := range p.helpers {
		if h.parked.Load() {
			return false
		}
	}
	return len(p.helpers) > 0
}

func (p *pool) wakeHelpers() {
	for _, h := range p.helpers {
		if h.parked.Load() && h.parked.CompareAndSwap(true, false) {
			h.wake <- struct{}{}
		}
	}
}

// work runs tasks until none is left, those of the worker first.
func (p *pool) work(worker int) {
	for i := range p.tickets {
		t := &p.tickets[(worker+i)%len(p.tickets)]
		for {
			v := t.Add(1) - 1
			task, end := int(v&taskMask), int(v>>taskBits&taskMask)
			if task >= end {
				break
			}
			p.do(worker, task)
		}
	}
}

func (p *pool) do(worker, task int) {
	tasks, returned := p.tasks.Load(), false
	var begun time.Duration
	if p.clock != nil {
		begun = p.clock()
		if worker > 0 && p.begin != nil {
			p.begin()
		}
	}
	defer func() {
		v := recover()
		if v == nil && !returned {
			v = ErrGoexit
		}
		if v != nil {
			p.failure.CompareAndSwap(nil, &TaskPanic{v, debug.Stack()})
		}
		if p.clock != nil { // before the caller may go on, which reads it
			p.tickets[worker].busy += p.clock() - begun
		}
		if p.done.Add(1) == tasks && p.waiting.Load() && p.waiting.CompareAndSwap(true, false) {
			p.finished <- struct{}{}
		}
	}()
	p.job.run(worker, task)
	returned = true
}

func (p *pool) help(h *helper, worker int) {
	debug.SetPanicOnFault(true) // so that a memory fault, too, becomes a panic in the caller
	stopped := false
	defer func() {
		if stopped {
			return
		}
		// A task called runtime.Goexit. Another goroutine takes over, first with the same job.
		h.seen--
		go func() {
			if p.restart != nil {
				p.restart(worker)
			}
			p.help(h, worker)
		}()
	}()
	for {
		for spin := 0; p.tickets[0].Load()>>jobShift == h.seen; spin++ {
			if spin < p.spins {
				pause(pausesPerRound)
				continue
			}
			h.parked.Swap(true)
			if p.tickets[0].Load()>>jobShift == h.seen || !h.parked.CompareAndSwap(true, false) {
				<-h.wake
			}
		}
		if p.stop.Load() {
			stopped = true
			return
		}
		h.seen = p.tickets[0].Load() >> jobShift
		p.work(worker)
	}
}
