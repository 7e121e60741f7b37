package ascent

// The work of a block of rows on the sparse route: which pairs of a row and a component are to be computed at a
// step, and which have been.

import (
	"cmp"
	"slices"

	"dpnbench/engine"
)

// pairQ is a pair of a row of a block and a component, with q_i, then r_i, and the number of the place where
// G_i, or Z_i, is.
type pairQ struct {
	pair
	slot int32
	q    float32
}

// blockWork is the memory of a worker that takes a block of rows uphill.
type blockWork struct {
	rows        []int32 // of the block
	todo, pairs []pairQ
	sorted      []pairQ   // memory for sorting
	ends        []int32   // of components among the pairs to do
	top         []float64 // the largest l_i of each row so far
	comps       []int32
	candidates  []int32   // components that may matter to a row
	byRow       [][]int32 // pairs of each row, as numbers in pairs
	c           []float32
	values      []float32 // G_i, or Z_i, of all pairs: slot by slot
	slots       int
	list        []int32 // rows that follow each other
}

// begin makes room for a block.
func (w *blockWork) begin(rows []int32) {
	n := len(rows)
	w.rows = rows
	engine.Grow(&w.top, n)
	if cap(w.byRow) < n {
		w.byRow = append(w.byRow[:cap(w.byRow)], make([][]int32, n-cap(w.byRow))...)
	}
	w.byRow = w.byRow[:n]
}

// beginAt is begin of the rows [r0, r1).
func (w *blockWork) beginAt(r0, r1 int) {
	w.list = w.list[:0]
	for b := r0; b < r1; b++ {
		w.list = append(w.list, int32(b))
	}
	w.begin(w.list)
	w.pairs, w.slots = w.pairs[:0], 0
}

// want adds component i of row p to the pairs to do.
func (w *blockWork) want(p int, i int32) {
	w.todo = append(w.todo, pairQ{pair: pair{component: i, row: int32(p)}})
}

// reserve makes room for n values, and keeps those that there are.
func (w *blockWork) reserve(n int) {
	if len(w.values) < n {
		more := engine.AlignedFloats(n + n/2)
		copy(more, w.values)
		w.values = more
	}
}

// sortTodo sorts the pairs to do, those of each component in increasing row, by component.
func (w *blockWork) sortTodo(k int) {
	if slices.IsSortedFunc(w.todo, comparePairs) {
		return
	}
	engine.Grow(&w.ends, k)
	clear(w.ends)
	for _, v := range w.todo {
		w.ends[v.component]++
	}
	var sum int32
	for i, n := range w.ends {
		w.ends[i] = sum
		sum += n
	}
	engine.Grow(&w.sorted, len(w.todo))
	for _, v := range w.todo {
		w.sorted[w.ends[v.component]] = v
		w.ends[v.component]++
	}
	w.todo, w.sorted = w.sorted, w.todo
}

// has reports whether component i of row p has been evaluated.
func (w *blockWork) has(p int, i int32) bool {
	_, ok := slices.BinarySearchFunc(w.pairs, pairQ{pair: pair{component: i, row: int32(p)}}, comparePairs)
	return ok
}

// merge sorts the pairs, of which the first n are sorted and the others, too.
func (w *blockWork) merge(n int) {
	w.sorted = append(w.sorted[:0], w.pairs[:n]...)
	a, b := w.sorted, w.pairs[n:]
	for at := range w.pairs {
		if len(a) == 0 {
			return
		}
		if len(b) == 0 || comparePairs(a[0], b[0]) < 0 {
			w.pairs[at], a = a[0], a[1:]
		} else {
			w.pairs[at], b = b[0], b[1:]
		}
	}
}

func comparePairs(a, b pairQ) int {
	if c := cmp.Compare(a.component, b.component); c != 0 {
		return c
	}
	return cmp.Compare(a.row, b.row)
}
