package engine

import (
	"fmt"
	"math"
	"testing"

	"dpnbench/engine/num"
)

// A streamKernel runs one of the kernels on one array to write (or, for Read, to read) and two to
// read. want is the plain loop; it returns the result of the kernel, or 0.
var streamKernels = []struct {
	name string
	run  func(kern *kernels, a float32, dst, x, y []float32, rounds int) uint32
	want func(a float32, dst, x, y []float32) uint32
}{
	{"read", func(kern *kernels, _ float32, _, x, _ []float32, rounds int) uint32 {
		return kern.read(x, rounds)
	}, func(_ float32, _, x, _ []float32) (bits uint32) {
		for _, v := range x {
			bits |= math.Float32bits(v)
		}
		return bits
	}},
	{"write", func(kern *kernels, a float32, dst, _, _ []float32, rounds int) uint32 {
		kern.write(dst, a, rounds)
		return 0
	}, func(a float32, dst, _, _ []float32) uint32 {
		for j := range dst {
			dst[j] = a
		}
		return 0
	}},
	{"triad", func(kern *kernels, a float32, dst, x, y []float32, rounds int) uint32 {
		kern.triad(a, dst, x, y, rounds)
		return 0
	}, func(a float32, dst, x, y []float32) uint32 {
		for j := range dst {
			dst[j] = num.FMA32(a, y[j], x[j])
		}
		return 0
	}},
}

// TestStreamKernels compares the kernels of all tiers with plain loops. Each of the three arrays
// lies at the end of its memory, then at the start, then between. The memory around it must not
// change, and is inaccessible if the system supports guard pages.
func TestStreamKernels(t *testing.T) {
	const longest, room = 300, 1024 // floats
	guard := math.Float32frombits(0x7fa5a5a5)
	r := num.NewRand(1, 0)
	var memory [3][]float32
	for i := range memory {
		memory[i] = guarded(t, room)
	}
	var data [3][longest]float32
	for _, tier := range Available() {
		kern, err := resolve(tier)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range streamKernels {
			t.Run(fmt.Sprintf("%s/%v", s.name, tier), func(t *testing.T) {
				for n := range longest + 1 {
					for place := range 4 {
						rounds := (n + place) % 4
						var b, want [3][]float32
						var starts [3]int
						for i, m := range memory {
							r.Normal(data[i][:n])
							at := []int{len(m) - n, 0, (3*n + 5*i) % 32, 16 + i}[place]
							starts[i] = at
							for j := range m {
								m[j] = guard
							}
							b[i] = m[at : at+n : at+n]
							copy(b[i], data[i][:n])
							want[i] = append([]float32(nil), m...)
							want[i] = want[i][at : at+n : len(m)]
						}
						a, bits := data[0][n/2], uint32(0)
						if rounds > 0 {
							bits = s.want(a, want[0], want[1], want[2])
						}
						if got := s.run(kern, a, b[0], b[1], b[2], rounds); got != bits {
							t.Fatalf("n %d, place %d, %d rounds: returns %#x, want %#x", n, place, rounds, got, bits)
						}
						for i, m := range memory {
							at := starts[i]
							for j, v := range m {
								w := guard
								if j >= at && j < at+n {
									w = want[i][j-at]
								}
								if math.Float32bits(v) != math.Float32bits(w) {
									t.Fatalf("n %d, place %d, %d rounds: array %d, element %d: %v, want %v", n, place,
										rounds, i, j-at, v, w)
								}
							}
						}
					}
				}
			})
		}
	}
}

func TestStreamKernelsCheckLengths(t *testing.T) {
	for i, f := range []func(){
		func() { genericKernels.triad(1, make([]float32, 3), make([]float32, 2), make([]float32, 3), 1) },
		func() { genericKernels.triad(1, make([]float32, 3), make([]float32, 3), make([]float32, 2), 1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("case %d: no panic", i)
				}
			}()
			f()
		}()
	}
}

// TestRunStream checks that every thread uses its own arrays, and the number of bytes returned.
func TestRunStream(t *testing.T) {
	for _, tier := range Available() {
		for threads := 1; threads <= 3; threads++ {
			e := newTestEngine(t, WithTier(tier), WithThreads(threads))
			for _, bytes := range []int{0, 3, 4, 12, 100, 4 << 10, 1<<18 + 8, 100} {
				for _, s := range []Stream{Read, Write, Triad} {
					for rounds := range 3 {
						n := bytes / s.floatBytes()
						want := float64(threads * rounds * n * s.floatBytes())
						if got := e.RunStream(s, bytes, rounds); got != want {
							t.Errorf("%v, %d threads: %v of %d bytes, %d rounds: %v bytes, want %v", tier, threads, s,
								bytes, rounds, got, want)
						}
					}
				}
			}
			first := map[*float32]bool{}
			for w, a := range e.streams.arrays {
				if len(a) < 1<<16+2 {
					t.Fatalf("%v: thread %d of %d has %d floats", tier, w, threads, len(a))
				}
				first[&a[0]] = true
				for j, v := range a {
					if v != 1 {
						t.Fatalf("%v: element %d of thread %d is %v, want 1", tier, j, w, v)
					}
				}
			}
			if len(first) != threads || len(e.streams.arrays) != threads {
				t.Errorf("%v: %d arrays for %d threads", tier, len(first), threads)
			}
			if e.ReleaseStreams(); e.streams.arrays != nil {
				t.Error("the arrays were not freed")
			}
			if got := e.RunStream(Triad, 120, 1); got != float64(120*threads) {
				t.Errorf("%v bytes after the release, want %d", got, 120*threads)
			}
		}
	}
}

func TestRunStreamRefuses(t *testing.T) {
	e := newTestEngine(t, WithThreads(1))
	for _, f := range []func(){
		func() { e.RunStream(Triad+1, 100, 1) },
		func() { e.RunStream(Read, -1, 1) },
		func() { e.RunStream(Read, 100, -1) },
	} {
		func() {
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			f()
		}()
	}
	if got := fmt.Sprint(Read, Write, Triad, Stream(7)); got != "read write triad stream(7)" {
		t.Errorf("the names of the streams are %s", got)
	}
}

func TestRunAdditions(t *testing.T) {
	for _, c := range []struct {
		rounds int
		want   float64
	}{{-1, 0}, {0, 0}, {1, 64}, {additionRounds, 64 * additionRounds},
		{2*additionRounds + 1, 64 * (2*additionRounds + 1)}} {
		if got := RunAdditions(c.rounds); got != c.want {
			t.Errorf("%d rounds are %v additions, want %v", c.rounds, got, c.want)
		}
	}
}
