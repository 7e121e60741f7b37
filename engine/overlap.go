package engine

import (
	"fmt"
	"unsafe"
)

// disjoint panics if the matrices share an element. Views of different columns of one matrix may
// alternate in memory without sharing any. Where calls are short, test meet first.
func disjoint(call, nameC string, c Matrix, nameX string, x Matrix) {
	if meet(c.Data, x.Data) && overlap(c, x) {
		panic(fmt.Sprintf("engine: %s: %s shares memory with %s", call, nameC, nameX))
	}
}

// sameOrDisjoint panics if the matrices share an element but are not the same view.
func sameOrDisjoint(call, nameY string, y Matrix, nameX string, x Matrix) {
	if meet(y.Data, x.Data) && !(&y.Data[0] == &x.Data[0] && y.RS == x.RS && y.CS == x.CS) && overlap(y, x) {
		panic(fmt.Sprintf("engine: %s: %s shares memory with %s, but is not the same view", call, nameY, nameX))
	}
}

// apart panics if two slices share an element.
func apart(call, nameX string, x []float32, nameY string, y []float32) {
	if meet(x, y) {
		panic(fmt.Sprintf("engine: %s: %s shares memory with %s", call, nameX, nameY))
	}
}

// elementwise panics unless x has the length of dst and is dst or shares no element with it: shifted against
// dst, it would be read after it was written, or not, as the width of the vectors has it.
func elementwise(call, nameX string, x []float32, nameDst string, dst []float32) {
	length(call, nameX, len(x), len(dst))
	if meet(x, dst) && &x[0] != &dst[0] {
		panic(fmt.Sprintf("engine: %s: %s shares memory with %s, but does not begin with it", call, nameX, nameDst))
	}
}

// meet reports whether two slices share an element. It is inlined. An empty slice shares none.
func meet(x, y []float32) bool {
	a, b := uintptr(unsafe.Pointer(unsafe.SliceData(x))), uintptr(unsafe.Pointer(unsafe.SliceData(y)))
	return len(x) > 0 && len(y) > 0 && a < b+uintptr(len(y))*floatSize && b < a+uintptr(len(x))*floatSize
}

// overlap reports whether two matrices share an element. It is exact unless elements of one matrix
// alternate with each other (a row longer than the row stride): such a matrix counts as all of the
// memory from its first to its last element.
func overlap(a, b Matrix) bool {
	if a.Rows == 0 || a.Cols == 0 || b.Rows == 0 || b.Cols == 0 {
		return false
	}
	ra, rb := regionOf(a), regionOf(b)
	if ra.end() <= rb.begin || rb.end() <= ra.begin {
		return false
	}
	if ra.count > rb.count {
		ra, rb = rb, ra
	}
	for i := range ra.count {
		begin := ra.begin + uintptr(i)*ra.lineStride
		if ra.stride == floatSize && rb.stride == floatSize {
			if rb.touches(begin, begin+uintptr(ra.n)*floatSize) {
				return true
			}
			continue
		}
		for j := range ra.n {
			if rb.holds(begin + uintptr(j)*ra.stride) {
				return true
			}
		}
	}
	return false
}

const floatSize = unsafe.Sizeof(float32(0))

// region is the memory of a matrix: count lines of n floats each. Distances are in bytes. No line
// reaches the begin of the next one.
type region struct {
	begin              uintptr
	count, n           int
	lineStride, stride uintptr
}

// regionOf returns the region of a matrix that is not empty. Lines are rows or columns, whichever
// are closer together.
func regionOf(m Matrix) region {
	rows, cols, rs, cs := m.Rows, m.Cols, m.RS, m.CS
	if rs == 0 {
		rows = 1
	}
	if cs == 0 {
		cols = 1
	}
	if rows == 1 {
		rs = 0
	}
	if cols == 1 {
		cs = 0
	}
	if rows > 1 && (cols == 1 || rs < cs) {
		rows, cols, rs, cs = cols, rows, cs, rs
	}
	r := region{begin: uintptr(unsafe.Pointer(&m.Data[0])), count: rows, n: cols,
		lineStride: uintptr(rs) * floatSize, stride: uintptr(cs) * floatSize}
	if last := (cols - 1) * cs; rows > 1 && last >= rs { // lines overlap
		r.count, r.n, r.stride = 1, (rows-1)*rs+last+1, floatSize
	}
	if r.n == 1 {
		r.stride = floatSize
	}
	return r
}

// end is the address after the last float.
func (r *region) end() uintptr {
	return r.begin + uintptr(r.count-1)*r.lineStride + uintptr(r.n-1)*r.stride + floatSize
}

// line returns the last line that begins at an address or before, and the distance from there.
func (r *region) line(address uintptr) (i int, rest uintptr) {
	rest = address - r.begin
	if r.count > 1 {
		i = min(int(rest/r.lineStride), r.count-1)
		rest -= uintptr(i) * r.lineStride
	}
	return i, rest
}

// holds reports whether a float of the region is at the address.
func (r *region) holds(address uintptr) bool {
	if address < r.begin || address >= r.end() {
		return false
	}
	_, rest := r.line(address)
	return rest%r.stride == 0 && rest/r.stride < uintptr(r.n)
}

// touches reports whether a float of the region, whose lines are contiguous, lies in [begin, end).
func (r *region) touches(begin, end uintptr) bool {
	if end <= r.begin || begin >= r.end() {
		return false
	}
	if begin <= r.begin {
		return true
	}
	i, rest := r.line(begin)
	if rest < uintptr(r.n)*floatSize {
		return true
	}
	return i+1 < r.count && r.begin+uintptr(i+1)*r.lineStride < end
}
