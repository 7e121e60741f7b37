package engine

// Stream is a pattern of memory traffic, as package bench measures it.
type Stream int

const (
	Read  Stream = iota // load every element
	Write               // store every element
	Triad               // a = b + s c: two loads, a multiply-add and a store
)

func (s Stream) String() string { return [...]string{"read", "write", "triad"}[s] }

// streamChunk is how many floats one assembly call moves in and out, so that it stays short
// even from memory.
const streamChunk = 1 << 16

// RunStream makes rounds passes of s on every thread, each over arrays of its own that take
// that many bytes in all, and returns the bytes moved by all threads: those of every array
// once a pass. The arrays are kept for the next call of the same size.
func (e *Engine) RunStream(s Stream, bytes, rounds int) float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.streams) == 0 {
		e.streams = make([][]float32, e.Threads())
	}
	floats := bytes / 4
	if s == Triad {
		floats = bytes / 12 * 3
	}
	j := &e.stream
	*j = streamJob{e: e, s: s, floats: floats, rounds: rounds}
	e.pool.run(j, e.Threads()) // however small: it is the threads that are measured
	*j = streamJob{}
	return 4 * float64(floats) * float64(rounds) * float64(e.Threads())
}

// ReleaseStreams gives the arrays of RunStream back.
func (e *Engine) ReleaseStreams() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.streams = nil
}

type streamJob struct {
	e              *Engine
	s              Stream
	floats, rounds int
}

// run works on the arrays of the worker, which first touched them, not of the task.
func (j *streamJob) run(worker, _ int) {
	k, a := j.e.k, &j.e.streams[worker]
	if len(*a) != j.floats {
		*a = alignedFloats(j.floats)
		clear(*a) // pages of zeros that nobody wrote would all be the same one
	}
	x := *a
	n := len(x)
	if j.s == Triad {
		n /= 3
	}
	together := max(1, min(j.rounds, streamChunk/max(n, 1))) // passes a call, over small arrays
	for done := 0; done < j.rounds; done += together {
		passes := min(together, j.rounds-done)
		for at := 0; at < n; at += streamChunk {
			end := min(at+streamChunk, n)
			switch j.s {
			case Read:
				k.streamRead(x[at:end], passes)
			case Write:
				k.streamWrite(x[at:end], 1, passes)
			case Triad:
				k.streamTriad(x[at:end], x[n+at:n+end], x[2*n+at:2*n+end], 0.5, passes)
			}
		}
	}
}

func (k *kernels) streamRead(x []float32, rounds int) { k.rawStreamRead(x, rounds) }

func (k *kernels) streamWrite(dst []float32, v float32, rounds int) {
	k.rawStreamWrite(dst, v, rounds)
}

func (k *kernels) streamTriad(dst, x, y []float32, s float32, rounds int) {
	if len(x) < len(dst) {
		short("streamTriad", "x", len(x), len(dst))
	}
	if len(y) < len(dst) {
		short("streamTriad", "y", len(y), len(dst))
	}
	k.rawStreamTriad(dst, x, y, s, rounds)
}

// streamReadGeneric loads every element of x, rounds times. The sums keep the compiler
// from leaving the loads out.
func streamReadGeneric(x []float32, rounds int) {
	var a, b, c, d float32
	for range rounds {
		y := x
		for ; len(y) >= 4; y = y[4:] {
			a, b, c, d = a+y[0], b+y[1], c+y[2], d+y[3]
		}
		for _, v := range y {
			a += v
		}
	}
	if a+b+c+d == 0.12345 {
		panic("engine: streams hold other numbers")
	}
}

// streamWriteGeneric sets dst[j] = v, rounds times.
func streamWriteGeneric(dst []float32, v float32, rounds int) {
	for range rounds {
		for j := range dst {
			dst[j] = v
		}
	}
}

// streamTriadGeneric sets dst[j] = x[j] + s*y[j], rounds times; with one rounding where the
// compiler fuses and two elsewhere. With the numbers of RunStream both are exact.
func streamTriadGeneric(dst, x, y []float32, s float32, rounds int) {
	x, y = x[:len(dst)], y[:len(dst)]
	for range rounds {
		for j := range dst {
			dst[j] = x[j] + s*y[j]
		}
	}
}

// RunAdditions makes rounds of 64 additions, each of which needs the result of the one
// before, and returns their number: as many cycles of the core. The terms are in registers,
// because recent cores add small constants without taking a cycle.
func RunAdditions(rounds int) (cycles float64) {
	if additions(rounds, 1, 1, 3) == 0 {
		panic("engine: additions that overflow") // the chain is not left out
	}
	return 64 * float64(max(rounds, 0))
}

//go:noinline
func additions(rounds int, x, y, z uint) uint {
	for range rounds {
		x = eightAdditions(x, y, z)
		x = eightAdditions(x, y, z)
		x = eightAdditions(x, y, z)
		x = eightAdditions(x, y, z)
		x = eightAdditions(x, y, z)
		x = eightAdditions(x, y, z)
		x = eightAdditions(x, y, z)
		x = eightAdditions(x, y, z)
	}
	return x
}

// eightAdditions takes its terms in turn, so that the compiler finds nothing to merge.
func eightAdditions(x, y, z uint) uint {
	x += y
	x += z
	x += y
	x += z
	x += y
	x += z
	x += y
	x += z
	return x
}
