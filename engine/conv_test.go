package engine

import (
	"fmt"
	"math"
	"slices"
	"strings"
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
				const n = 2 + PoolSlack
				for _, c := range []struct {
					blocks, places int // the last place is 4 for one block, 10 for two
					fine           bool
				}{{1, 4, false}, {1, 5, true}, {2, 10, false}, {2, 11, true}} {
					refused := func() (refused bool) {
						defer func() { refused = recover() != nil }()
						l := NewPatchLists(1, make([]int32, n), make([]float32, n), c.places)
						dy, which := make([]float32, c.blocks), make([]byte, c.blocks)
						w.PoolBackward(l, make([]float32, c.blocks), dy, which, NewPoolPlaces(c.blocks, 1, 1, 3))
						return false
					}()
					if refused == c.fine {
						t.Errorf("%v: %d blocks, places below %d: refused %v", tier, c.blocks, c.places, refused)
					}
				}
			})
		}
	}
}

// TestPoolPlaces checks that only places that an int32 holds are accepted.
func TestPoolPlaces(t *testing.T) {
	const most = math.MaxInt32
	inverse := uint64(0x6db6db6db6db6db7) // 7 times that is 1 above a multiple of 2^64
	for _, c := range []struct {
		rows, cols, right, down int
		fine                    bool
	}{
		{4, 1, 1, int(inverse), false}, {1, 4, int(inverse), 1, false},
		{1, 1, 1, most - 1, true}, {1, 1, 1, most, false}, {1, 1, most - 1, 1, true}, {1, 1, most, 1, false},
		{1 << 16, 1 << 16, 1, 1, false}, {2, 1, 1, 1431655766, false},
		{2, 1, 1, most / 3, true}, {2, 1, 1, most/3 + 1, false}, {1, math.MaxInt, 1, 1, false}, {most, 2, 1, 1, false},
		{1, 1, 1, math.MaxInt, false}, {0, 1, 1, 1, false}, {1, 0, 1, 1, false}, {1, 1, 0, 1, false},
		{1, 1, 1, -1, false}, {3, 5, 2, 40, true},
	} {
		fine := func() (fine bool) {
			defer func() { fine = recover() == nil }()
			p := NewPoolPlaces(c.rows, c.cols, c.right, c.down)
			last := int(p.first[len(p.first)-1]) + int(p.pixels[3])
			if want := (2*c.rows-1)*c.down + (2*c.cols-1)*c.right; last != want || p.most != want {
				t.Errorf("%+v: last place %d, largest %d, expected %d", c, last, p.most, want)
			}
			return
		}()
		if fine != c.fine {
			t.Errorf("%+v: accepted %v", c, fine)
		}
	}
}

// TestPoolBackwardSpecial checks which gradients are listed: no zeros, and none for NoPixel and the numbers above; and
// which are added: zeros, too.
func TestPoolBackwardSpecial(t *testing.T) {
	values := []float32{0, float32(math.Copysign(0, -1)), 1, -1, math.SmallestNonzeroFloat32, float32(math.NaN()),
		float32(math.Inf(-1))}
	numbers := []byte{0, 1, 2, 3, NoPixel, 5, 8, 16, 64, 128, 255}
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		for n := 1; n <= 80; n++ {
			dy, which, sums := make([]float32, n), make([]byte, n), make([]float32, n)
			var at []int32
			var v, want []float32
			for i := range n {
				dy[i], which[i] = values[(i+n)%len(values)], numbers[i/len(values)%len(numbers)]
				sums[i] = values[i/2%len(values)]
				want = append(want, sums[i])
				g, k := dy[i], int32(which[i])
				if k < NoPixel {
					want[i] += g
				}
				if g != 0 && k < NoPixel {
					v, at = append(v, g), append(at, int32(2*i)+k%2+k/2*1000)
				}
			}
			l := NewPatchLists(1, make([]int32, n+PoolSlack), make([]float32, n+PoolSlack), 2000)
			places := NewPoolPlaces(1, n, 1, 1000)
			e.Parallel(1, 0, 0, func(w *Worker, _, _ int) { w.PoolBackward(l, sums, dy, which, places) })
			gotAt, gotV := l.list(0)
			if !slices.Equal(gotAt, at) {
				t.Fatalf("%v, %d gradients: places %v, expected %v", tier, n, gotAt, at)
			}
			equalBits(t, fmt.Sprintf("%v, %d gradients", tier, n), gotV, v)
			equalBits(t, fmt.Sprintf("%v, sums of %d gradients", tier, n), sums, want)
		}
	}
}

// TestPoolBackwardRefused checks that slices of another length than the lists and the image ask for are refused.
func TestPoolBackwardRefused(t *testing.T) {
	const lists, n = 2, 15
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		for _, c := range []struct {
			sums, dy, which int // beside lists * n
			room            int
			fine            bool
		}{
			{0, 0, 0, n + PoolSlack, true}, {0, 0, 0, n + PoolSlack - 1, false},
			{0, -1, 0, n + PoolSlack, false}, {0, 0, -1, n + PoolSlack, false}, {-1, 0, 0, n + PoolSlack, false},
			{0, 1, 0, n + PoolSlack, false}, {1, 0, 0, n + PoolSlack, false}, {-1, -1, -1, n + PoolSlack, false},
			{1, 1, 1, n + PoolSlack, false},
		} {
			l := NewPatchLists(lists, make([]int32, lists*c.room), make([]float32, lists*c.room), 100)
			message := ""
			func() {
				defer func() {
					if v := recover(); v != nil {
						message = fmt.Sprint(v)
					}
				}()
				e.Parallel(1, 0, 0, func(w *Worker, _, _ int) {
					w.PoolBackward(l, make([]float32, lists*n+c.sums), make([]float32, lists*n+c.dy),
						make([]byte, lists*n+c.which), NewPoolPlaces(3, 5, 1, 10))
				})
			}()
			if (message == "") != c.fine || !c.fine && !strings.HasPrefix(message, "engine: ") {
				t.Errorf("%v, %+v: %q", tier, c, message)
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
			dy, which, p := make([]float32, 2*rows*w), make([]byte, 2*rows*w), NewPoolPlaces(rows, w, 1, down)
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
					sums, want := make([]float32, len(dy)), make([]float32, len(dy))
					worker.PoolBackward(together, sums, dy, which, p)
					together.PrefetchToWrite()
					for k := range 2 {
						single := NewPatchLists(1, make([]int32, room), make([]float32, room), 1000)
						lo, hi := k*rows*w, (k+1)*rows*w
						worker.PoolBackward(single, want[lo:hi], dy[lo:hi], which[lo:hi], p)
						gotAt, gotV := together.list(k)
						wantAt, wantV := single.list(0)
						if !slices.Equal(gotAt, wantAt) || !slices.Equal(gotV, wantV) {
							t.Errorf("%v, %d pixels: list %d is %v %v, expected %v %v", tier, w, k, gotAt, gotV,
								wantAt, wantV)
						}
					}
					equalBits(t, fmt.Sprintf("%v, sums of %d pixels", tier, w), sums, want)
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
