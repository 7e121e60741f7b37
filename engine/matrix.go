package engine

import "fmt"

// Matrix is a view of float32 numbers: element (i, j) is Data[i*RS+j*CS]. Strides are in elements and
// not negative. A view may be a part of a larger matrix or a transpose. A matrix that is only read may
// repeat a row (RS = 0).
type Matrix struct {
	Data       []float32
	Rows, Cols int
	RS, CS     int
}

// NewMatrix returns a row-major rows x cols matrix of zeros.
func NewMatrix(rows, cols int) Matrix {
	return View(AlignedFloats(rows*cols), rows, cols)
}

// View returns data as a row-major rows x cols matrix.
func View(data []float32, rows, cols int) Matrix {
	m := Matrix{Data: data, Rows: rows, Cols: cols, RS: cols, CS: 1}
	m.check("View", "data")
	return m
}

// T returns the transpose, which shares the data.
func (m Matrix) T() Matrix {
	return Matrix{Data: m.Data, Rows: m.Cols, Cols: m.Rows, RS: m.CS, CS: m.RS}
}

// Slice returns rows [r0, r1) and columns [c0, c1), which share the data.
func (m Matrix) Slice(r0, r1, c0, c1 int) Matrix {
	if r0 < 0 || r1 < r0 || m.Rows < r1 || c0 < 0 || c1 < c0 || m.Cols < c1 {
		panic(fmt.Sprintf("engine: Slice [%d:%d, %d:%d] of a %d x %d matrix", r0, r1, c0, c1, m.Rows, m.Cols))
	}
	s := Matrix{Rows: r1 - r0, Cols: c1 - c0, RS: m.RS, CS: m.CS}
	if s.Rows > 0 && s.Cols > 0 {
		s.Data = m.Data[r0*m.RS+c0*m.CS:]
	}
	return s
}

// SliceRows returns rows [r0, r1), which share the data. Data ends with them.
func (m Matrix) SliceRows(r0, r1 int) Matrix {
	s := m.Slice(r0, r1, 0, m.Cols)
	if s.Data != nil {
		s.Data = s.Data[:(s.Rows-1)*s.RS+(s.Cols-1)*s.CS+1]
	}
	return s
}

// Row returns row i of a matrix with CS 1 or at most one column. Without columns it returns nil.
func (m Matrix) Row(i int) []float32 {
	if m.Cols == 0 {
		return nil
	}
	if m.CS != 1 && m.Cols > 1 {
		panic(fmt.Sprintf("engine: Row of a matrix with column stride %d", m.CS))
	}
	return m.Data[i*m.RS : i*m.RS+m.Cols]
}

// At returns element (i, j).
func (m Matrix) At(i, j int) float32 { return m.Data[i*m.RS+j*m.CS] }

// Set sets element (i, j).
func (m Matrix) Set(i, j int, v float32) { m.Data[i*m.RS+j*m.CS] = v }

// check panics unless every element lies within Data.
func (m Matrix) check(call, name string) {
	if m.Rows < 0 || m.Cols < 0 || m.RS < 0 || m.CS < 0 {
		panic(fmt.Sprintf("engine: %s: %s is %d x %d with strides %d, %d: none may be negative",
			call, name, m.Rows, m.Cols, m.RS, m.CS))
	}
	if m.Rows == 0 || m.Cols == 0 {
		return
	}
	last := len(m.Data) - 1
	if last >= 0 && fits(m.Rows, m.RS, last) {
		last -= (m.Rows - 1) * m.RS
	} else {
		last = -1
	}
	if last < 0 || !fits(m.Cols, m.CS, last) {
		panic(fmt.Sprintf("engine: %s: %s has %d elements, too few for a %d x %d matrix with strides %d, %d",
			call, name, len(m.Data), m.Rows, m.Cols, m.RS, m.CS))
	}
}

// fits reports whether the last of n elements, stride apart, has an index of at most last. It avoids
// the product of n and stride, which may overflow.
func fits(n, stride, last int) bool { return stride == 0 || n-1 <= last/stride }

// shape panics unless m is rows x cols and lies within Data.
func (m Matrix) shape(call, name string, rows, cols int) {
	if m.Rows != rows || m.Cols != cols {
		panic(fmt.Sprintf("engine: %s: %s is %d x %d, expected %d x %d", call, name, m.Rows, m.Cols, rows, cols))
	}
	m.check(call, name)
}

// length panics unless the slice has n elements.
func length(call, name string, have, want int) {
	if have != want {
		panic(fmt.Sprintf("engine: %s: %s has %d elements, expected %d", call, name, have, want))
	}
}

// CopyMatrix sets dst = src, of the same shape, element by element or row by row.
func CopyMatrix(dst, src Matrix) {
	if dst.Rows != src.Rows || dst.Cols != src.Cols {
		panic(fmt.Sprintf("engine: CopyMatrix: dst is %d x %d, src %d x %d", dst.Rows, dst.Cols, src.Rows, src.Cols))
	}
	sameOrDisjoint("CopyMatrix", "dst", dst, "src", src)
	for i := range src.Rows {
		if dst.CS == 1 && src.CS == 1 {
			copy(dst.Data[i*dst.RS:i*dst.RS+src.Cols], src.Data[i*src.RS:])
			continue
		}
		for j := range src.Cols {
			dst.Data[i*dst.RS+j*dst.CS] = src.Data[i*src.RS+j*src.CS]
		}
	}
}
