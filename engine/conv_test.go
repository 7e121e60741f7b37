package engine

import (
	"math"
	"slices"
	"testing"

	"dpnbench/engine/num"
)

// patchAt is a list of one patch.
func patchAt(at int32, v float32) PatchLists {
	l := NewPatchLists(1, []int32{at}, []float32{v}, int(at)+1)
	l.Fill()
	return l
}

// TestPatchesOutside checks that a patch beyond b is refused, with and without a kernel for its
// size, and that the last patch within b is accepted.
func TestPatchesOutside(t *testing.T) {
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		for _, cols := range []int{5, 40, 60} {
			const rows, stride = 5, 70
			memory := make([]float32, 3000)
			b := memory[1000:][: 4*stride+cols+16 : 4*stride+cols+16]
			c := NewMatrix(rows, cols)
			for at, fits := range map[int32]bool{-1: false, -50: false, 0: true, 16: true, 17: false, 1 << 30: false} {
				for name, call := range map[string]func(w *Worker){
					"AddPatches":    func(w *Worker) { w.AddPatches(c, patchAt(at, 1), b, stride) },
					"SpreadPatches": func(w *Worker) { w.SpreadPatches(b, patchAt(at, 1), c, stride) },
				} {
					e.Parallel(1, 0, 0, func(w *Worker, _, _ int) {
						defer func() {
							if panicked := recover() != nil; panicked == fits {
								t.Errorf("%v: %s of %d columns at %d: panic %v", tier, name, cols, at, panicked)
							}
						}()
						call(w)
					})
				}
			}
			e.Parallel(1, 0, 0, func(w *Worker, _, _ int) {
				defer func() {
					if recover() == nil {
						t.Errorf("%v: a stride that overflows was accepted", tier)
					}
				}()
				w.AddPatches(c, patchAt(0, 1), b, math.MaxInt/2)
			})
			e.Parallel(1, 0, 0, func(w *Worker, _, _ int) {
				defer func() {
					if recover() == nil {
						t.Errorf("%v: places that overflow were accepted", tier)
					}
				}()
				const n, down = 1 + PoolSlack, math.MaxInt/2 + 1 + 1<<20 // twice down is below 0
				l := NewPatchLists(1, make([]int32, n), make([]float32, n), len(b))
				w.PoolBackward(l, NewMatrix(3, 2), []float32{1}, []byte{2}, 1, down)
			})
		}
	}
}

// TestPoolBackwardNegativeZero checks that -0 stays -0 in pixels without a gradient, for short and
// long rows.
func TestPoolBackwardNegativeZero(t *testing.T) {
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		for _, w := range []int{1, 2, 9, 16, 17} {
			sums, dy, which := NewMatrix(2, 2*w), make([]float32, w), make([]byte, w)
			for i := range sums.Data {
				sums.Data[i] = float32(math.Copysign(0, -1))
			}
			for i := range dy {
				dy[i], which[i] = 1, NoPixel
			}
			l := NewPatchLists(1, make([]int32, w+PoolSlack), make([]float32, w+PoolSlack), 200)
			e.Parallel(1, 0, 0, func(worker *Worker, _, _ int) {
				worker.PoolBackward(l, sums, dy, which, 1, 100)
				if n := l.Len(); n != 0 {
					t.Errorf("%v: %d numbers, expected none", tier, n)
				}
			})
			for i, s := range sums.Data {
				if math.Float32bits(s) != 1<<31 {
					t.Errorf("%v, %d pixels: sum %d is %v, expected -0", tier, w, i, s)
				}
			}
		}
	}
}

// TestListsTogether checks that lists that are made together are those that are made one by one, and that they write
// to their own memory only.
func TestListsTogether(t *testing.T) {
	const rows, down, lists = 3, 100, 4
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		for _, w := range []int{1, 9, 16, 17} {
			rand, room := num.NewRand(uint64(w), 1), rows*w+PoolSlack
			sums, dy, which := NewMatrix(2*2*rows, 2*w), make([]float32, 2*rows*w), make([]byte, 2*rows*w)
			rand.Normal(dy)
			for i := range which {
				which[i] = byte(rand.Intn(NoPixel + 1))
			}
			at, v := make([]int32, lists*room), make([]float32, lists*room)
			for i := range at {
				at[i], v[i] = -7, -7
			}
			all := NewPatchLists(lists, at, v, 1000)
			e.Parallel(1, 0, 0, func(worker *Worker, _, _ int) {
				for range 2 {
					together := all.Slice(1, 3)
					worker.PoolBackward(together, sums, dy, which, 1, down)
					together.PrefetchToWrite()
					for k := range 2 {
						single := NewPatchLists(1, make([]int32, room), make([]float32, room), 1000)
						lo, hi := k*rows*w, (k+1)*rows*w
						worker.PoolBackward(single, NewMatrix(2*rows, 2*w), dy[lo:hi], which[lo:hi], 1, down)
						gotAt, gotV := together.list(k)
						wantAt, wantV := single.list(0)
						if !slices.Equal(gotAt, wantAt) || !slices.Equal(gotV, wantV) {
							t.Errorf("%v, %d pixels: list %d is %v %v, expected %v %v", tier, w, k, gotAt, gotV,
								wantAt, wantV)
						}
					}
				}
			})
			for i := range at {
				if outside := i < room || i >= 3*room; outside && (at[i] != -7 || v[i] != -7) {
					t.Errorf("%v, %d pixels: element %d was written, outside [%d, %d)", tier, w, i, room, 3*room)
				}
			}
		}
	}
}
