package engine

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"
	"time"
)

// fakeClock gives a pool a clock on the wall and one of its threads, in milliseconds. No job must
// have run.
func fakeClock(p *pool) (wall, own *atomic.Int64) {
	wall, own = new(atomic.Int64), new(atomic.Int64)
	p.crowd.clock = func() time.Duration { return time.Duration(wall.Load()) * time.Millisecond }
	p.crowd.own = func() threadTime {
		return threadTime{processor: time.Duration(own.Load()) * time.Millisecond, known: true}
	}
	return wall, own
}

// watchedAs tells p that its threads have spent so many of 20 milliseconds on tasks, and had a
// processor in so many of them.
func watchedAs(p *pool, times [][2]int) {
	p.watch()
	for w, t := range times {
		p.crowd.spent[w].wall.Add(int64(t[0]) * 1e6)
		p.crowd.spent[w].processor.Add(int64(t[1]) * 1e6)
	}
	p.watched(watchTime / 2)
	p.watched(watchTime / 2)
}

// out returns the workers that are left out.
func (p *pool) out() (workers []int) {
	for i, h := range p.helpers {
		if h.out.Load() {
			workers = append(workers, i+1)
		}
	}
	return workers
}

// TestCrowd checks which helpers are left out.
func TestCrowd(t *testing.T) {
	for _, c := range []struct {
		what  string
		times [][2]int
		out   []int
	}{
		{"nobody else", [][2]int{{20, 20}, {20, 20}}, nil},
		{"little for the helper to do", [][2]int{{20, 20}, {1, 1}}, nil},
		{"nothing for the helper to do", [][2]int{{20, 20}, {0, 0}}, nil},
		{"little for the caller to do", [][2]int{{1, 1}, {20, 20}}, nil},
		{"a helper without a processor", [][2]int{{16, 16}, {20, 4}}, []int{1}},
		{"a caller without one", [][2]int{{20, 5}, {15, 15}}, []int{1}},
		{"both without one at times", [][2]int{{20, 12}, {20, 10}}, []int{1}},
		{"a helper with half of one, of use", [][2]int{{20, 20}, {20, 10}}, nil},
		{"a helper with a seventh of one", [][2]int{{20, 20}, {20, 2}}, []int{1}},
		{"a tick of the clock", [][2]int{{10, 10}, {20, 19}}, nil},
		{"one of two helpers", [][2]int{{18, 18}, {18, 18}, {18, 4}}, []int{2}},
		{"the other one", [][2]int{{18, 18}, {18, 4}, {18, 18}}, []int{1}},
		{"seven do the work of the eighth", [][2]int{{20, 20}, {20, 20}, {20, 20}, {20, 20}, {20, 10}, {20, 20}, {20, 20}, {20, 20}}, nil},
		{"seven wait for the eighth", [][2]int{{12, 12}, {12, 12}, {12, 12}, {12, 12}, {20, 10}, {12, 12}, {12, 12}, {12, 12}}, []int{4}},
	} {
		p := newPool(len(c.times))
		fakeClock(p)
		watchedAs(p, c.times)
		if got := p.out(); !slices.Equal(got, c.out) || p.active() != len(c.times)-len(got) {
			t.Errorf("%s: %v left out, want %v; %d threads active", c.what, got, c.out, p.active())
		}
		p.close()
	}
}

// TestLeftOut leaves a helper out again and again: it must get no task meanwhile, come back when its
// time is over, and stay away twice as long unless it has been of use.
func TestLeftOut(t *testing.T) {
	p := newPool(3)
	defer p.close()
	wall, _ := fakeClock(p)
	p.crowd.until = time.Hour // the caller may have to wait for long
	workers := func() []int {
		var ran [3]atomic.Bool
		p.run(workJob(func(worker int) {
			ran[worker].Store(true)
			time.Sleep(100 * time.Microsecond)
		}), 30)
		var is []int
		for w := range ran {
			if ran[w].Load() {
				is = append(is, w)
			}
		}
		return is
	}
	crowded := [][2]int{{10, 10}, {20, 1}, {10, 10}}
	ofUse := [][][2]int{{{20, 20}, {20, 20}, {20, 20}}, {{20, 20}, {20, 15}, {20, 20}}}
	for i, pause := range []time.Duration{leastAway, 2 * leastAway, 4 * leastAway, 8 * leastAway, mostAway, mostAway, 0, leastAway, 1, leastAway} {
		if int(pause) < len(ofUse) {
			watchedAs(p, ofUse[pause])
			p.crowd.until = time.Hour
			continue
		}
		watchedAs(p, crowded)
		wall.Add(pause.Milliseconds() - 1)
		for range 3 {
			if got := workers(); slices.Contains(got, 1) {
				t.Fatalf("absence %d: the workers %v had tasks, want no task for 1", i, got)
			}
		}
		if p.crowd.watching.Load() {
			t.Fatalf("absence %d: tasks are timed", i)
		}
		wall.Add(1)
		if p.takeBack(false); p.active() != 3 || !p.crowd.watching.Load() {
			t.Fatalf("absence %d: %d threads after %v, tasks are timed: %t", i, p.active(), pause, p.crowd.watching.Load())
		}
		p.crowd.watching.Store(false)
	}
	watchedAs(p, crowded)
	p.watch() // of two threads, when one comes back
	p.crowd.spent[0].wall.Add(1e6)
	p.crowd.length = watchTime / 2
	p.takeBack(true)
	if p.crowd.length != 0 || p.crowd.spent[0].wall.Load() != 0 || !p.crowd.watching.Load() {
		t.Error("what was seen of two threads counts for three")
	}
}

// TestAllLeftOut runs jobs of an engine whose only helper is left out, one that panics and one that
// needs all threads, and closes it meanwhile.
func TestAllLeftOut(t *testing.T) {
	e := newTestEngine(t, WithThreads(2), WithEagerThreads())
	leaveOut := func() {
		watchedAs(e.pool, [][2]int{{10, 10}, {20, 1}})
		if e.pool.active() != 1 {
			t.Fatal("the helper is not left out")
		}
	}
	fakeClock(e.pool)
	leaveOut()
	var tasks [2]atomic.Int32
	e.share(workJob(func(worker int) { tasks[worker].Add(1) }), 20)
	if tasks[0].Load() != 20 || tasks[1].Load() != 0 {
		t.Errorf("a thread alone did %d tasks, one that is left out %d", tasks[0].Load(), tasks[1].Load())
	}
	func() {
		defer func() {
			if _, ok := recover().(*TaskPanic); !ok {
				t.Error("a panic on one of two threads is no TaskPanic where the other is left out")
			}
		}()
		e.share(workJob(func(int) { panic("here") }), 2)
	}()
	e.onEveryThread(workJob(func(worker int) { tasks[worker].Store(-1) }))
	if tasks[0].Load() != -1 || tasks[1].Load() != -1 {
		t.Error("not every thread had a task")
	}
	leaveOut()
	if e.RunFMA(1); e.pool.active() != 2 {
		t.Error("the peak of two threads was measured on one")
	}
	leaveOut()
	for !e.pool.helpers[0].parked.Load() {
		runtime.Gosched()
	}
	if e.Close(); e.pool.helpers[0].parked.Load() {
		t.Error("a helper that was left out sleeps on after Close")
	}
}

// TestPinnedStay checks that no pinned thread is left out: the others could not go elsewhere.
func TestPinnedStay(t *testing.T) {
	e, err := New(WithThreads(1), WithPinnedThreads())
	if err != nil {
		t.Skip(err)
	}
	defer e.Close()
	if e.pool.suspicion(); e.pool.crowd.watching.Load() {
		t.Error("tasks of pinned threads are timed")
	}
}

// TestTimed checks the times of a task that has its processor for a quarter of the time, and of one
// that ends on another thread.
func TestTimed(t *testing.T) {
	p := newPool(2)
	defer p.close()
	wall, own := fakeClock(p)
	p.job = workJob(func(int) {
		wall.Add(8)
		own.Add(2)
	})
	p.timed(1, 0)
	begun := p.crowd.own
	p.crowd.own = func() threadTime {
		now := begun()
		now.thread = int(own.Load())
		return now
	}
	p.timed(0, 0)
	for w, want := range [][2]int64{{8e6, 8e6}, {8e6, 2e6}} {
		if got := [2]int64{p.crowd.spent[w].wall.Load(), p.crowd.spent[w].processor.Load()}; got != want {
			t.Errorf("worker %d: %v ns, want %v", w, got, want)
		}
	}
	p.job = nil
}

// TestSuspicion checks that tasks are timed after the caller, or a helper, has waited for long, but
// not where that has just shown nothing or the system does not tell processor times.
func TestSuspicion(t *testing.T) {
	for _, slow := range []int{0, 1} {
		p := newPool(2)
		if p.spins == 0 {
			p.close()
			t.Skip("one processor: threads do not spin")
		}
		wall, _ := fakeClock(p)
		job := func() {
			var begun atomic.Int32
			p.run(workJob(func(worker int) {
				for begun.Add(1); begun.Load() < 2; { // so that each has one task
					runtime.Gosched()
				}
				for worker == slow && !p.helpers[0].parked.Load() && !p.waiting.Load() {
					time.Sleep(100 * time.Microsecond)
				}
			}), 2)
		}
		job()
		p.run(workJob(func(int) {}), 2)
		if !p.crowd.watching.Load() {
			t.Errorf("worker %d was slow, and tasks are not timed", slow)
		}
		for _, c := range []struct {
			found [2]int // by the helper, of 20 ms
			rest  time.Duration
		}{
			{[2]int{20, 20}, watchTime}, {[2]int{20, 20}, 2 * watchTime}, {[2]int{20, 10}, 0}, {[2]int{20, 20}, watchTime},
		} {
			watchedAs(p, [][2]int{{20, 20}, c.found})
			for _, after := range []time.Duration{c.rest - time.Millisecond, time.Millisecond} {
				wall.Add(max(after, 0).Milliseconds())
				job()
				p.run(workJob(func(int) {}), 2)
				if got, want := p.crowd.watching.Load(), after <= time.Millisecond; got != want {
					t.Errorf("worker %d was slow after %v had been found: tasks are timed: %t, want %t", slow, c.found, got, want)
				}
			}
		}
		p.close()
	}
	p := newPool(2)
	defer p.close()
	p.crowd.own = func() threadTime { return threadTime{} }
	if p.suspicion(); p.crowd.watching.Load() {
		t.Error("tasks are timed without a clock")
	}
}

// TestOwnTime compares the clock of a thread that works, and that of one that sleeps, with the wall.
func TestOwnTime(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	wall := time.Now()
	begin := ownTime()
	if !begin.known {
		t.Skip(runtime.GOOS + " does not tell")
	}
	for ownTime().processor-begin.processor < 5*time.Millisecond {
	}
	worked := ownTime()
	if took := time.Since(wall); worked.processor-begin.processor > took+took/10+time.Millisecond || worked.thread != begin.thread {
		t.Errorf("from %v to %v in %v", begin, worked, took)
	}
	time.Sleep(50 * time.Millisecond)
	if slept := ownTime().processor - worked.processor; slept > 25*time.Millisecond {
		t.Errorf("%v of processor time in a sleep of 50 ms", slept)
	}
}

// TestWaits runs many short jobs whose caller sleeps until they are finished.
func TestWaits(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	p := newPool(3) // more threads than processors: nobody spins
	defer p.close()
	for _, processors := range []int{1, 4} {
		runtime.GOMAXPROCS(processors)
		var tasks atomic.Int32
		for range 5000 {
			p.run(workJob(func(worker int) {
				if tasks.Add(1)%3 == 0 {
					runtime.Gosched()
				}
			}), 4)
		}
		if got := tasks.Load(); got != 20000 {
			t.Errorf("%d processors: %d tasks, want 20000", processors, got)
		}
	}
}

const busyVariable = "DPN_TEST_BUSY"

// TestBusy is the other program of BenchmarkCrowd.
func TestBusy(t *testing.T) {
	if os.Getenv(busyVariable) == "" {
		t.Skip("only for BenchmarkCrowd")
	}
	go func() {
		_, _ = bufio.NewReader(os.Stdin).ReadByte() // until the benchmark ends
		os.Exit(0)
	}()
	for {
	}
}

// BenchmarkCrowd times products and ascents beside no busy program and beside one, on one thread and on
// all in turn, and reports how much longer one takes: more than 1 where threads are of use, and not
// much less where they are not. It takes a second of busy=1 until helpers stay away for long.
func BenchmarkCrowd(b *testing.B) {
	if runtime.GOMAXPROCS(0) == 1 {
		b.Skip("one processor")
	}
	one, all := newTestEngine(b, WithThreads(1), WithRoute(DenseRoute)), newTestEngine(b, WithRoute(DenseRoute))
	for busy := range 2 {
		for range busy {
			program := exec.Command(os.Args[0], "-test.run=^TestBusy$")
			program.Env = append(os.Environ(), busyVariable+"=1")
			if _, err := program.StdinPipe(); err != nil {
				b.Fatal(err)
			}
			if err := program.Start(); err != nil {
				b.Fatal(err)
			}
			defer func() {
				_ = program.Process.Kill()
				_ = program.Wait()
			}()
		}
		for _, shape := range [][3]int{{128, 64, 1280}, {128, 784, 784}, {1024, 1024, 1024}} {
			a, w, c := NewMatrix(shape[0], shape[1]), NewMatrix(shape[1], shape[2]), NewMatrix(shape[0], shape[2])
			packed := map[*Engine]*Packed{one: one.Pack(nil, w), all: all.Pack(nil, w)}
			crowdRow(b, fmt.Sprintf("busy=%d/product/m=%d,k=%d,n=%d", busy, shape[0], shape[1], shape[2]), one, all, func(e *Engine) {
				e.MatMulPacked(c, a, packed[e], false)
			})
		}
		x := points(128, 64)
		l := map[*Engine]*landscape{one: newLandscape(one, 20, 64, 0.8), all: newLandscape(all, 20, 64, 0.8)}
		crowdRow(b, fmt.Sprintf("busy=%d/ascent/d=64,k=20,n=30,batch=128", busy), one, all, func(e *Engine) {
			e.Ascend(l[e].m, l[e].alpha, 30, x, nil, false)
		})
	}
}

// crowdRow times f on both engines in turns of a tenth of a second.
func crowdRow(b *testing.B, what string, one, all *Engine, f func(e *Engine)) {
	b.Run(what, func(b *testing.B) {
		var took [2][]float64
		for b.Loop() {
			for i, e := range []*Engine{one, all} {
				begin, n := time.Now(), 0
				for time.Since(begin) < 100*time.Millisecond {
					f(e)
					n++
				}
				took[i] = append(took[i], time.Since(begin).Seconds()/float64(n))
			}
		}
		for i := range took {
			slices.Sort(took[i])
		}
		b.ReportMetric(took[0][len(took[0])/2]/took[1][len(took[1])/2], "times-as-fast")
	})
}
