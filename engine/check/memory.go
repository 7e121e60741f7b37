package check

import (
	"fmt"
	"math"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/internal/guardpages"
)

// canary fills all memory that a kernel must not use. It is a NaN, so that reading it corrupts the
// result, with a payload that arithmetic does not produce.
const canary = 0x7fa5a5a5

// memory allocates the buffers of one case. Each lies in its own region between two guard pages: at
// the end (offset -1) or offset floats from the start.
type memory struct {
	regions []*region
	used    int
	inputs  []engine.Matrix
	outputs []engine.Matrix
	initial [][]float32 // of the outputs
	saved   [][]uint32  // bits of the used regions before the run
	open    bool        // a region has no guard pages

	route   ascent.Route    // of the ascents of the run
	mixture *ascent.Mixture // that the run has made, or nil
}

// region is page-aligned memory, between two guard pages if the system supports them.
type region struct {
	floats []float32
	free   func() error // nil for plain memory
}

// guarded allocates regions; tests replace it.
var guarded = guardpages.Floats

// grow makes the region at least n floats long. If the system refuses guard pages, only the
// canaries remain.
func (m *memory) grow(r *region, n int) {
	r.release()
	var err error
	if r.floats, r.free, err = guarded(n); err != nil {
		m.open = true
		r.floats, r.free = make([]float32, n), nil
	}
}

func (r *region) release() {
	if r.free != nil {
		r.free() // after an error the memory stays allocated
	}
	r.floats, r.free = nil, nil
}

// release frees all memory.
func (m *memory) release() {
	for _, r := range m.regions {
		r.release()
	}
}

// take allocates n floats at the offset.
func (m *memory) take(n, offset int) []float32 {
	if m.used == len(m.regions) {
		m.regions = append(m.regions, &region{})
	}
	r := m.regions[m.used]
	m.used++
	// All of a region is filled and compared for every case, so a small case does not reuse the
	// region of a large one.
	if len(r.floats) < n+16 || len(r.floats) > 8*(n+4096) {
		m.grow(r, n+n/2+1024)
	}
	nan := math.Float32frombits(canary)
	for i := range r.floats {
		r.floats[i] = nan
	}
	if offset < 0 {
		return r.floats[len(r.floats)-n:]
	}
	return r.floats[offset : offset+n : offset+n]
}

// reset releases the buffers of the last case but keeps their memory for the next one.
func (m *memory) reset() {
	m.used = 0
	m.inputs, m.outputs, m.initial, m.saved = m.inputs[:0], m.outputs[:0], m.initial[:0], m.saved[:0]
}

// layout of a matrix in memory.
type layout int

const (
	rowMajor layout = iota
	rowPadded
	columnMajor
	columnPadded
	strided // neither stride is 1
	layouts
)

// matrix allocates a rows x cols matrix.
func (m *memory) matrix(rows, cols int, l layout, offset int) engine.Matrix {
	switch l {
	case rowMajor:
		return m.place(rows, cols, cols, 1, offset)
	case rowPadded:
		return m.place(rows, cols, cols+3, 1, offset)
	case columnMajor:
		return m.place(rows, cols, 1, rows, offset)
	case columnPadded:
		return m.place(rows, cols, 1, rows+5, offset)
	case strided:
		return m.place(rows, cols, 2*cols+1, 2, offset)
	}
	panic(fmt.Sprintf("check: layout %d", l))
}

// place allocates a rows x cols matrix with these strides.
func (m *memory) place(rows, cols, rs, cs, offset int) engine.Matrix {
	n := 0
	if rows > 0 && cols > 0 {
		n = (rows-1)*rs + (cols-1)*cs + 1
	}
	return engine.Matrix{Data: m.take(n, offset), Rows: rows, Cols: cols, RS: rs, CS: cs}
}

// input allocates a matrix and fills it.
func (m *memory) input(rows, cols int, l layout, offset int, fill func() float32) engine.Matrix {
	return m.fillInput(m.matrix(rows, cols, l, offset), fill)
}

func (m *memory) fillInput(x engine.Matrix, fill func() float32) engine.Matrix {
	for i := range x.Rows {
		for j := range x.Cols {
			x.Set(i, j, fill())
		}
	}
	m.inputs = append(m.inputs, x)
	return x
}

// output allocates a matrix for the kernel to write. Before every run it has the values of fill.
func (m *memory) output(rows, cols int, l layout, offset int, fill func() float32) engine.Matrix {
	return m.fillOutput(m.matrix(rows, cols, l, offset), fill)
}

func (m *memory) fillOutput(x engine.Matrix, fill func() float32) engine.Matrix {
	v := make([]float32, 0, x.Rows*x.Cols)
	for i := range x.Rows {
		for j := range x.Cols {
			x.Set(i, j, fill())
			v = append(v, x.At(i, j))
		}
	}
	m.outputs = append(m.outputs, x)
	m.initial = append(m.initial, v)
	return x
}

// vector returns the only row of a matrix.
func vector(x engine.Matrix) []float32 { return x.Data[:x.Cols:x.Cols] }

// save records all memory; after the run it must be the same, except for the outputs.
func (m *memory) save() {
	m.restore()
	for _, r := range m.regions[:m.used] {
		bits := make([]uint32, len(r.floats))
		for i, v := range r.floats {
			bits[i] = math.Float32bits(v)
		}
		m.saved = append(m.saved, bits)
	}
}

// restore gives the outputs their initial values.
func (m *memory) restore() {
	for o, x := range m.outputs {
		for i := range x.Rows {
			for j := range x.Cols {
				x.Set(i, j, m.initial[o][i*x.Cols+j])
			}
		}
	}
}

// results returns the elements of all outputs, in order.
func (m *memory) results() []float32 {
	var v []float32
	for _, x := range m.outputs {
		for i := range x.Rows {
			for j := range x.Cols {
				v = append(v, x.At(i, j))
			}
		}
	}
	return v
}

// trespass restores the outputs and returns a *trespassError if anything else has changed.
func (m *memory) trespass() error {
	m.restore()
	var t *trespassError
	for b, r := range m.regions[:m.used] {
		for i, v := range r.floats {
			got, want := math.Float32bits(v), m.saved[b][i]
			if got == want {
				continue
			}
			if t == nil {
				t = &trespassError{buffer: b, index: i, floats: len(r.floats), got: got}
			}
			for x := got ^ want; x > 0; x >>= 8 {
				if x&0xff > 0 {
					t.bytes++
				}
			}
		}
	}
	if t == nil {
		return nil
	}
	return t
}

// trespassError is a write outside the outputs.
type trespassError struct {
	bytes         int // that have changed
	buffer, index int // of the first float
	floats        int // of the buffer
	got           uint32
}

func (t *trespassError) Error() string {
	return fmt.Sprintf("wrote outside its outputs: %d bytes, the first in buffer %d, float %d of %d, which became %#x",
		t.bytes, t.buffer, t.index, t.floats, t.got)
}
