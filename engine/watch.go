package engine

import "time"

// Watch makes the threads measure by a clock how long they run tasks of jobs that they share; nil ends that. Each
// thread but the caller calls begin, unless that is nil, before a task. Watch changes no result, and a task
// costs two readings of the clock more.
func (e *Engine) Watch(clock func() time.Duration, begin func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.pool.clock, e.pool.begin = clock, begin
}

// Watched returns what the threads have measured so far: how long the jobs that they share took, and how long all
// threads together ran tasks of these. T threads waited for T*wall - busy in all. It is for the goroutine that calls
// the engine, between two jobs.
func (e *Engine) Watched() (wall, busy time.Duration) {
	for i := range e.pool.tickets {
		busy += e.pool.tickets[i].busy
	}
	return e.pool.wall, busy
}
