package check

import (
	"fmt"
	"math"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas/blas64"
)

// trial is a prepared case: run calls the kernel on an engine.
type trial struct {
	run func(e *engine.Engine)

	// want and bound have one element for each element of the outputs. A negative bound allows an
	// error of -bound units in the last place (ULPs). If they are empty, only the bits are
	// compared.
	want, bound []float64

	// cols is the number of columns of a function's output, of which want has row after row.
	cols int

	// ascends says that run makes an ascent of some rows, which must take the route of the run.
	ascends bool
}

// expect appends values and their bounds.
func (tr *trial) expect(values ...reference.Value) {
	for _, v := range values {
		tr.want, tr.bound = append(tr.want, v.V...), append(tr.bound, v.E...)
	}
}

// expectOne appends one value and its bound.
func (tr *trial) expectOne(v, bound float64) {
	tr.want, tr.bound = append(tr.want, v), append(tr.bound, bound)
}

// expectExactly appends values with bound 0.
func (tr *trial) expectExactly(values ...float64) {
	tr.want, tr.bound = append(tr.want, values...), append(tr.bound, make([]float64, len(values))...)
}

// place names result i.
func (tr *trial) place(i int) string {
	if tr.cols > 1 {
		return fmt.Sprintf("row %d, column %d of %d x %d", i/tr.cols, i%tr.cols, len(tr.want)/tr.cols, tr.cols)
	}
	return fmt.Sprintf("element %d", i)
}

// difference describes the first difference of two results; "" if they have the same bits.
func (tr *trial) difference(a, b []float32) string {
	i := differs(a, b)
	if i < 0 {
		return ""
	}
	return fmt.Sprintf("%s: %v and %v", tr.place(i), a[i], b[i])
}

// values returns the expected values so far.
func (tr *trial) values() reference.Value { return reference.Value{V: tr.want, E: tr.bound} }

// onWorker returns a run that calls f with one worker of the engine.
func onWorker(f func(w *engine.Worker)) func(e *engine.Engine) {
	return func(e *engine.Engine) {
		e.Parallel(1, 0, 0, func(w *engine.Worker, _, _ int) { f(w) })
	}
}

// Kinds of inputs, the values of the argument "data".
const (
	normalData  = iota // normal numbers
	integerData        // integers from -8 to 8, whose sums of products are exact
	wideData           // normal numbers times powers of two from 2^-20 to 2^20
	powerData          // powers of two of both signs, whose products are exact
	specialData        // normal numbers, some of them replaced by infinities, NaN, subnormals and zeros
	tinyData           // integers that are scaled so that products are integer multiples of 2^-149: functions only
)

// filler returns a source of inputs of a kind.
func filler(r *num.Rand, kind int) func() float32 {
	var one [1]float32
	normal := func() float32 {
		r.Normal(one[:])
		return one[0]
	}
	switch kind {
	case integerData:
		return func() float32 { return float32(r.Intn(17) - 8) }
	case wideData:
		return func() float32 {
			v := float64(normal())
			return float32(math.Ldexp(v, r.Intn(41)-20))
		}
	case powerData:
		return func() float32 {
			sign := float64(1 - 2*r.Intn(2))
			return float32(math.Ldexp(sign, r.Intn(9)-4))
		}
	case specialData:
		inf := float32(math.Inf(1))
		special := []float32{inf, -inf, float32(math.NaN()), 0, float32(math.Copysign(0, -1)),
			0x1p-149, -0x1p-149, 0x1.8p-127, -0x1p-126}
		return func() float32 {
			if i := r.Intn(20 * len(special)); i < len(special) {
				return special[i]
			}
			return normal()
		}
	}
	return normal
}

// rand returns the source of the case's random numbers.
func (c Case) rand() *num.Rand { return num.NewRand(uint64(c.get("seed")), 0) }

// general returns m in float64.
func general(m engine.Matrix) blas64.General {
	return reference.FromFloat32(m.Data, m.Rows, m.Cols, m.RS, m.CS)
}

// exact replaces the bounds of sums of small integers, which are exact, by 0.
func exact(kind int, bound []float64) {
	if kind == integerData {
		clear(bound)
	}
}
