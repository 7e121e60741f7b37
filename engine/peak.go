package engine

import "fmt"

// RunFMA keeps the FMA units of all threads busy for that many tasks a thread, without
// touching memory, and returns the number of floating-point operations done. Divided by
// the time that it takes, it is the peak that every product is measured against.
func (e *Engine) RunFMA(tasks int) (flop float64) {
	if most := maxTasks / e.Threads(); tasks < 0 || tasks > most {
		panic(fmt.Sprintf("engine: RunFMA: %d tasks a thread, expected 0 to %d", tasks, most))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	j := &peakJob{k: e.k}
	e.pool.run(j, tasks*e.Threads())
	return float64(tasks*e.Threads()) * float64(e.k.peakRounds) * e.k.flopsAPeakRound
}

type peakJob struct{ k *kernels }

func (j *peakJob) run(_, _ int) { j.k.fmaPeak(j.k.peakRounds) }
