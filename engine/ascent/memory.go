package ascent

import "dpnbench/engine"

// The uses of scratch memory of a worker.
const (
	slotLeft       = iota // a packed left operand
	slotRight             // a packed right operand, or rows less the origin
	slotPanel             // panels of C
	slotDelta             // D_i of a block of rows
	slotG                 // G_i of a block of rows, for all i
	slotQ                 // q, then r
	slotRowNumbers        // a number a row, such as phi
	slotY                 // sum of N_i P_i, or U F_i^T
	slotSum               // the same of rows that are handled together
	slotU                 // U of a block of rows
	slotW                 // W_i, or -N_i
	slotDense             // a copy of a strided operand
	slotResult            // a result that is then scattered
	slotGradient
	slotRows   // rows that are handled together, or those of a component
	slotPicked // some of them
	slotTile   // a square that is transposed, or numbers of a block
	slotColumn // w_i or -w_i*mu_i, with what MatMulThin reads beyond it
	slotSingle // memory of a singleRow
	slotPadded // rows with padding
	slotPieces // gradients of a component that wait
)

// threadMemory is what a thread keeps from call to call beside scratch floats.
type threadMemory struct {
	packed engine.Packed // an operand in scratch memory
	active activeLists   // components of each row of a block whose responsibility is not 0
	pairs  []pair
	sorted []pair
	next   []int32   // of each row of a block, where its next pair goes in sorted
	begun  []bool    // rows whose sums have begun
	step   stepBlock // of the dense route
	block  blockWork // of the sparse one
	places []int32   // where the rows of a matrix begin
}

// placesOf returns where the rows of m begin in its data.
func (t *threadMemory) placesOf(m engine.Matrix) []int32 {
	engine.Grow(&t.places, m.Rows)
	for p := range t.places {
		t.places[p] = int32(p * m.RS)
	}
	return t.places
}

// memory returns the memory of a worker.
func (m *Mixture) memory(worker *engine.Worker) *threadMemory { return &m.threads[worker.Index()] }

// runIn runs a job in memory of its own, so that starting it allocates nothing, and then clears it.
func runIn[T any, J interface {
	*T
	engine.Job
}](e *engine.Engine, place J, job T, tasks int, flops float64) {
	*place = job
	e.Run(place, tasks, flops)
	*place = *new(T)
}

// pair is a row and a component at a step. Rows count through a block, a batch or all steps of one, as
// the list of pairs says.
type pair struct{ component, row, step int32 }

// longRows is the number of features up to which all of W_i and D_i of a block stay in the cache: their rows
// are then multiplied as they are.
const longRows = 128
