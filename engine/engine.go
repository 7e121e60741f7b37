package engine

import (
	"fmt"
	"runtime"
	"sync"
)

// Engine runs kernels: it holds a tier, a pool of threads and scratch memory. Several
// engines can live side by side. The methods of one engine take turns when they are
// called from several goroutines.
type Engine struct {
	kern      *kernels
	pool      *pool
	saturated bool    // as many threads as CPUs, and not pinned
	singleCPU bool    // saturated, with one CPU
	wakeFlop  float64 // flop below which work stays on one thread

	mu      sync.Mutex // held by the method that runs
	scratch []arena    // one per worker

	jobs
	workers []Worker // one per thread
}

// jobs are those of the methods of an engine. They live here so that starting one allocates nothing.
type jobs struct {
	gemm        gemmJob
	pack        packJob
	vector      vectorJob
	rowwise     rowwiseJob
	streams     streamJob
	everyThread everyThreadJob
	parallel    parallelJob
	outer       workerJob // a Job
	parts       []float64 // of a sum
}

// Option changes how New makes an engine.
type Option func(*settings)

type settings struct {
	tier    Tier
	threads int
	eager   bool
	pinned  bool
	small   bool
}

// WithTier selects a tier. The default, Auto, is the fastest one of this machine.
func WithTier(t Tier) Option { return func(s *settings) { s.tier = t } }

// WithThreads sets the number of threads. The default is GOMAXPROCS, which honours the affinity
// mask and the cgroup limit of the process.
func WithThreads(n int) Option { return func(s *settings) { s.threads = n } }

// WithEagerThreads shares even the smallest work among the threads. It is slower; tests use it to
// run every way of splitting.
func WithEagerThreads() Option { return func(s *settings) { s.eager = true } }

// WithSmallBlocks makes the blocks of products small, so that small work falls into many. It is slower;
// tests use it.
func WithSmallBlocks() Option { return func(s *settings) { s.small = true } }

// MaxThreads is the largest number of threads of an engine.
const MaxThreads = 1024

// New makes an engine. It fails if the tier is not available on this machine (the error says why) or
// the number of threads is not between 1 and MaxThreads.
func New(options ...Option) (*Engine, error) {
	s := settings{threads: runtime.GOMAXPROCS(0)}
	for _, o := range options {
		o(&s)
	}
	kern, err := resolve(s.tier)
	if err != nil {
		return nil, err
	}
	if s.small {
		kern = smallBlocks(kern)
	}
	if s.threads < 1 || s.threads > MaxThreads {
		return nil, fmt.Errorf("engine: %d threads, expected 1 to %d", s.threads, MaxThreads)
	}
	var cpus []int
	if s.pinned {
		if cpus, err = processCPUs(); err != nil {
			return nil, fmt.Errorf("engine: pinning threads: %w", err)
		}
		if s.threads > len(cpus) {
			return nil, fmt.Errorf("engine: %d pinned threads, but the process may use %d CPUs", s.threads, len(cpus))
		}
	}
	e := &Engine{
		kern: kern, pool: newPool(s.threads),
		scratch: make([]arena, s.threads), workers: make([]Worker, s.threads),
	}
	for i := range e.workers {
		e.workers[i] = Worker{e: e, index: i}
	}
	// Pinned threads do not yield: the scheduler would have to switch threads twice each time,
	// which costs 25% of the speed.
	e.saturated = s.threads >= runtime.GOMAXPROCS(0) && !s.pinned
	e.singleCPU = e.saturated && runtime.GOMAXPROCS(0) == 1
	if e.wakeFlop = wakeThreshold * kern.flopPerMicrosecond; s.eager {
		e.wakeFlop = 0
	}
	if s.pinned {
		if err := e.pinHelpers(cpus); err != nil {
			e.Close()
			return nil, fmt.Errorf("engine: pinning threads: %w", err)
		}
		// Without a pin, a helper that replaces another one is only slower.
		e.pool.restart = func(worker int) { _, _ = pinThread(cpus[worker]) }
	}
	runtime.AddCleanup(e, (*pool).close, e.pool) // the pool does not refer to e while it is idle
	return e, nil
}

// Close ends the threads of the engine, after a running method has returned. The engine must not be
// used afterwards. The threads of an engine that is dropped without Close end when the garbage
// collector finds it.
func (e *Engine) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pool.close()
}

// Tier returns the tier whose kernels run; never Auto.
func (e *Engine) Tier() Tier { return e.kern.tier }

// Threads returns the number of threads.
func (e *Engine) Threads() int { return e.pool.threads() }

// arena is the scratch memory of one worker, kept from call to call.
type arena struct {
	work    int // flop of the running job since the worker last yielded
	buffers [slots + CallerSlots][]float32
	packed  Packed // an operand in the worker's memory
	one     [1]float32
	at      []int32           // where rows of B begin
	steps   []int32           // from column to column of A
	ends    []int             // of lists of both
	sums    [rowBlock]float64 // of columns
}

// slot names a use of scratch memory.
type slot int

const (
	slotA      slot = iota // a block of A
	slotB                  // a packed block of B
	slotC                  // a tile column that sticks out of C
	slotG                  // a block of a result
	slotS                  // a number a row
	slotDense              // a dense copy of a strided operand
	slotResult             // a dense result that is then scattered
	slotWorker             // of the function of Parallel
	slots
)

// floats returns n floats of scratch memory with undefined content. It begins on a cache line.
func (a *arena) floats(s slot, n int) []float32 {
	if len(a.buffers[s]) < n {
		a.buffers[s] = AlignedFloats(n + n/8)
	}
	return a.buffers[s][:n]
}

// smallBlocks returns a tier with small blocks.
func smallBlocks(kern *kernels) *kernels {
	small := *kern
	small.kc, small.mc = 64, 2*small.mr
	return &small
}
