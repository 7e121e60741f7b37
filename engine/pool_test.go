package engine

import (
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dpnbench/engine/num"
)

type countJob struct {
	hits   []atomic.Int32
	sleep  time.Duration
	broken int // task that panics, or -1
}

func (j *countJob) run(worker, task int) {
	j.hits[task].Add(1)
	if task == j.broken {
		panic(fmt.Sprintf("task %d", task))
	}
	time.Sleep(j.sleep)
}

// TestPoolRunsEveryTask checks that every task of every job runs once, if helpers spin, sleep or
// are late.
func TestPoolRunsEveryTask(t *testing.T) {
	for _, threads := range []int{1, 2, 3, 8} {
		p := newPool(threads)
		for round := range 300 {
			j := &countJob{hits: make([]atomic.Int32, 1+round%37), broken: -1}
			if round%100 == 99 {
				j.sleep = time.Millisecond // long enough for the others to park
			}
			p.run(j, len(j.hits))
			for i := range j.hits {
				if n := j.hits[i].Load(); n != 1 {
					t.Fatalf("%d threads, job %d: task %d ran %d times", threads, round, i, n)
				}
			}
		}
		p.close()
	}
}

// TestPoolPanics checks that a panic of a task reaches the caller and the pool goes on.
func TestPoolPanics(t *testing.T) {
	p := newPool(3)
	defer p.close()
	for round := range 20 {
		j := &countJob{hits: make([]atomic.Int32, 10), broken: round % 10}
		func() {
			defer func() {
				p, ok := recover().(*TaskPanic)
				if !ok || p.Value != fmt.Sprintf("task %d", round%10) ||
					!strings.Contains(string(p.Stack), "countJob") {
					t.Errorf("recovered %v", p)
				}
			}()
			p.run(j, 10)
		}()
		j.broken = -1
		p.run(j, 10)
	}
}

// TestTakingTurns calls one engine from several goroutines at once.
func TestTakingTurns(t *testing.T) {
	e := newTestEngine(t, WithThreads(3), WithEagerThreads())
	var wg sync.WaitGroup
	for g := range 4 {
		wg.Go(func() {
			r := num.NewRand(uint64(g), 0)
			a, b := NewMatrix(9, 20), NewMatrix(20, 33)
			r.Normal(a.Data)
			r.Normal(b.Data)
			want := NewMatrix(9, 33)
			e.MatMul(want, a, b, false)
			for range 50 {
				c := NewMatrix(9, 33)
				e.MatMul(c, a, b, false)
				for i := range c.Data {
					if c.Data[i] != want.Data[i] {
						t.Errorf("goroutine %d: element %d is %v, was %v", g, i, c.Data[i], want.Data[i])
						return
					}
				}
			}
		})
	}
	wg.Wait()
}

func TestNewRefuses(t *testing.T) {
	for _, n := range []int{0, -1, MaxThreads + 1} {
		if _, err := New(WithThreads(n)); err == nil {
			t.Errorf("no error for %d threads", n)
		}
	}
	for _, i := range Tiers() {
		e, err := New(WithTier(i.Tier))
		if i.Available != (err == nil) {
			t.Errorf("tier %v: available %v, error %v", i.Tier, i.Available, err)
		}
		if err == nil {
			if e.Tier() != i.Tier {
				t.Errorf("asked for tier %v, got %v", i.Tier, e.Tier())
			}
			e.Close()
		} else if !strings.Contains(err.Error(), i.Reason) || i.Reason == "" {
			t.Errorf("tier %v: error %q does not say why (%q)", i.Tier, err, i.Reason)
		}
	}
	if _, err := New(WithTier(Tier(77))); err == nil {
		t.Error("no error for a tier that does not exist")
	}
	for _, i := range Tiers() {
		if got, err := ParseTier(i.Tier.String()); got != i.Tier || err != nil {
			t.Errorf("ParseTier(%q) = %v, %v", i.Tier, got, err)
		}
	}
	if _, err := ParseTier("sse"); err == nil {
		t.Error("no error for an unknown tier")
	}
}

// TestSmall checks which work stays on one thread: smaller work than shareThreshold always, smaller
// work than wakeThreshold unless all threads are awake.
func TestSmall(t *testing.T) {
	p := &pool{spins: 1, helpers: []*helper{{}, {}}, tickets: make([]ticket, 3)}
	e := &Engine{pool: p, wakeFlop: 1000 * wakeThreshold}
	for _, sleeps := range []bool{false, true} {
		p.helpers[1].parked.Store(sleeps)
		for flops, want := range map[float64]bool{
			1000*shareThreshold - 1: true, 1000 * shareThreshold: sleeps, 1000*wakeThreshold - 1: sleeps,
			1000 * wakeThreshold: false,
		} {
			if e.singleThreaded(flops) != want {
				t.Errorf("a thread sleeps: %v, work of %v microseconds: small %v, want %v", sleeps, flops/1000, !want,
					want)
			}
			if n := e.TasksFor(100, flops); (n == 1) != want || n > 1 && n%3 != 0 {
				t.Errorf("a thread sleeps: %v, work of %v microseconds: %d tasks for three threads", sleeps, flops/1000,
					n)
			}
		}
	}
	p.helpers[1].parked.Store(false)
	if p.spins = 0; !e.singleThreaded(1000*wakeThreshold - 1) {
		t.Error("threads that never spin share small work")
	}
	e.wakeFlop = 0
	if e.singleThreaded(0) {
		t.Error("eager threads do not share work")
	}
}

// TestVectorShares checks that two threads get nearly the same number of elements, also of few.
func TestVectorShares(t *testing.T) {
	p := &pool{spins: 1, helpers: []*helper{{}}, tickets: make([]ticket, 2)} // that are awake
	e := &Engine{pool: p, wakeFlop: 1000 * wakeThreshold}
	for _, n := range []int{20_000, 40_960, 50_176, 100_000, 131_073} {
		j := vectorJob{op: opAdam}
		j.divide(e, n)
		chunks := (n + j.chunk - 1) / j.chunk
		var shares [2]int
		for task := range j.tasks {
			lo, hi := Part(chunks, j.tasks, task)
			thread := 0
			if shares[1] < shares[0] { // is done first
				thread = 1
			}
			shares[thread] += min(hi*j.chunk, n) - lo*j.chunk
		}
		if most := max(shares[0], shares[1]); j.tasks < 2 || float64(most) > 0.6*float64(n) {
			t.Errorf("%d elements, %d tasks: %v for the threads", n, j.tasks, shares)
		}
	}
}

// TestRowShares checks that tasks get nearly the same number of rows, also of few, and all rows once.
func TestRowShares(t *testing.T) {
	for _, n := range []int{65, 96, 100, 128, 129, 200, 1000} {
		for tasks := 1; tasks <= (n+rowBlock-1)/rowBlock; tasks++ {
			j, next := rowwiseJob{n: n, tasks: tasks}, 0
			for task := range tasks {
				begin, end := j.part(task)
				if begin != next || end-begin > n/tasks+rowUnit {
					t.Errorf("%d rows, %d tasks: rows %d to %d for task %d", n, tasks, begin, end, task)
				}
				next = end
			}
			if next != n {
				t.Errorf("%d rows, %d tasks: only %d", n, tasks, next)
			}
		}
	}
}

// workJob does the same work in each task.
type workJob func(worker int)

func (j workJob) run(worker, _ int) { j(worker) }

// TestYields checks when a worker yields: if several threads have tasks or there is only one
// processor, but not if another processor is free.
func TestYields(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, c := range []struct {
		processors, threads int
		shared, yields      bool
	}{
		{2, 2, false, false}, {2, 2, true, true}, {2, 1, false, false}, {1, 1, false, true}, {1, 2, false, true},
		{4, 2, true, false},
	} {
		runtime.GOMAXPROCS(c.processors)
		e := newTestEngine(t, WithThreads(c.threads))
		const flops = 1000
		most := int(yieldMicroseconds*e.kern.flopPerMicrosecond)/flops + 1 // calls without yielding
		tasks := 1
		if c.shared {
			tasks = 2
		}
		e.share(workJob(func(worker int) {
			for range 3*most + 1 {
				e.yield(&e.scratch[worker], flops)
			}
		}), tasks)
		if got := e.scratch[0].work+e.scratch[c.threads-1].work <= 2*most*flops; got != c.yields {
			t.Errorf("%d processors, %d threads, shared %t: yields %t, want %t", c.processors, c.threads, c.shared, got,
				c.yields)
		}
		e.scratch[0].work = 0
		e.yield(&e.scratch[0], 2*most*flops)
		if got := e.scratch[0].work == 0; got != (c.processors == 1) {
			t.Errorf("%d processors, %d threads: after the job yields %t", c.processors, c.threads, got)
		}
	}
}

// TestWaits runs many short jobs whose caller blocks until they have finished. That hangs if a thread goes to sleep
// while the one that should wake it does not see so yet.
func TestWaits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := newPool(3) // more threads than processors: no thread spins
	defer p.close()
	for _, c := range []struct {
		processors, jobs int
		yields           bool
	}{{1, 5000, true}, {4, 5000, true}, {4, 200000, false}} {
		runtime.GOMAXPROCS(c.processors)
		var tasks atomic.Int32
		for range c.jobs {
			p.run(workJob(func(worker int) {
				if tasks.Add(1)%3 == 0 && c.yields {
					runtime.Gosched()
				}
			}), 4)
		}
		if got := int(tasks.Load()); got != 4*c.jobs {
			t.Errorf("%d processors: %d tasks, want %d", c.processors, got, 4*c.jobs)
		}
	}
}

// TestWatch checks what threads measure of a job that they share: with a clock that each reading moves on, all of
// it within the job.
func TestWatch(t *testing.T) {
	e, err := New(WithThreads(3), WithEagerThreads())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	var clock, begun atomic.Int64
	e.Watch(func() time.Duration { return time.Duration(clock.Add(1)) }, func() { begun.Add(1) })
	var helped atomic.Int64
	e.Parallel(12, 0, 1e9, func(w *Worker, lo, hi int) {
		if w.Index() > 0 {
			helped.Add(1)
		}
	})
	wall, busy := e.Watched()
	if wall <= 0 || busy <= 0 || busy > 3*wall {
		t.Errorf("%v of a job, %v in its tasks", wall, busy)
	}
	if begun.Load() != helped.Load() {
		t.Errorf("%d tasks of other threads, begun %d", helped.Load(), begun.Load())
	}
	e.Watch(nil, nil)
	readings := clock.Load()
	e.Parallel(12, 0, 1e9, func(*Worker, int, int) {})
	if clock.Load() != readings {
		t.Error("the clock was read after Watch(nil, nil)")
	}
}
