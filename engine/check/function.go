package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"unsafe"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
)

// Function is a function of somebody else and what it should compute: [Sgemm], [Gemm], [MatMul], [Dot], [Exp],
// [Log], [Softmax], [LogSumExp], [LayerNorm] or [QuadForm]. [Run] checks it in place of the engine's kernels.
type Function struct {
	Name string // in reports

	// SetThreads, if set, sets how many threads the function uses. Without it, threads are not compared.
	SetThreads func(n int)

	// Elsewhere, if set, runs a case in another process, which calls Try.
	Elsewhere func(ctx context.Context, c Case, threads int) (Outcome, error)

	// Started, if set, is called before each case with its operands.
	Started func(operands []Operand)

	kernel
	prepare func(c Case, m *memory) *problem
	mem     memory
	run     func(ctx context.Context, opt Options) (*Report, error) // a field, so that only its users link it
}

// problem is a prepared case of a function.
type problem struct {
	operands    []operand
	call        func(x []engine.Matrix) // with operands, or others of the same or fewer rows
	want, bound []float64               // of the only output
}

// operand is an argument of a function.
type operand struct {
	engine.Matrix
	name   string
	output bool
	rows   bool // row i of the output depends on row i of this one only
}

// Operand is where an argument of a function lies.
type Operand struct {
	Name    string  `json:"name"`
	Address uintptr `json:"address"`
	Bytes   int     `json:"bytes"`
}

// Outcome is the result of one case of a function.
type Outcome struct {
	Kind     string  `json:"kind,omitempty"` // of what is wrong; empty: nothing
	Reason   string  `json:"reason,omitempty"`
	MaxULP   uint32  `json:"max_ulp"`
	MaxRatio float64 `json:"max_ratio"`
	Outside  int     `json:"outside"` // bytes written outside the output
	SHA256   string  `json:"sha256"`  // of the results
	Open     bool    `json:"open"`    // an operand lay between no guard pages

	// Repeats has the ways to repeat the call that were tried, with the first result that has other bits,
	// or "".
	Repeats map[string]string `json:"repeats,omitempty"`
}

// Kinds of what is wrong with a result.
const (
	KindCrash     = "crash"      // ended the process, or panicked
	KindHang      = "hang"       // did not return in time
	KindAccess    = "access"     // read or wrote memory outside its operands
	KindWritten   = "written"    // changed bytes outside its output
	KindPadding   = "padding"    // read NaN between the rows of an operand, or beyond it
	KindOld       = "old output" // read NaN that the output had before the call
	KindAlpha     = "alpha=0"    // read NaN from an operand that alpha = 0 leaves out
	KindSpecial   = "special"    // NaN or an infinity instead of a number, or the other way round
	KindSubnormal = "subnormal"  // a result or input below 2^-126 counted as zero
	KindExact     = "exact"      // a sum without any rounding is off
	KindError     = "error"      // outside its bound
	KindCalls     = "calls"      // two equal calls gave different bits
)

// kinds are all of them, in the order of the report.
var kinds = []string{KindCrash, KindHang, KindAccess, KindWritten, KindPadding, KindOld, KindAlpha, KindSpecial,
	KindSubnormal, KindExact, KindError, KindCalls}

// NaNs where a function must not read. Arithmetic of amd64 and arm64 keeps their bits but the sign and the
// quiet bit, so that they tell where a result comes from; the payload of canary is a third.
const (
	oldNaN    = 0x7fc01d01
	unreadNaN = 0x7fc0a1fa
	payload   = 0x003fffff
)

// Ways to repeat a call, which may or may not give the same bits.
const (
	overCalls     = "calls"
	overThreads   = "threads"
	overOrder     = "row order"
	overBatch     = "batch size"
	overAlignment = "alignment"
)

var repeatWays = []string{overCalls, overThreads, overOrder, overBatch, overAlignment}

// newFunction returns a function of this kind.
func newFunction(name, kernelName string, d definition, prepare func(Case, *memory) *problem) *Function {
	f := &Function{Name: name, kernel: kernel{kernelName, d}, prepare: prepare}
	f.run = f.runCases
	return f
}

// Kernel names what the function should compute.
func (f *Function) Kernel() string { return f.name }

// ParseCase reads a case of the function, such as "matmul:m=7,k=3,n=17".
func (f *Function) ParseCase(s string) (Case, error) {
	name, rest := f.name, ""
	if len(s) > len(name) && s[:len(name)] == name && s[len(name)] == ':' {
		rest = s[len(name)+1:]
	} else if s != name {
		return Case{}, fmt.Errorf("case %q: expected %s:NAME=NUMBER,...", s, name)
	}
	return f.parse(s, rest)
}

// Close frees the memory of the cases.
func (f *Function) Close() { f.mem.release() }

// Try runs a case in this process. It calls the function twice; with repeats also in other
// ways.
func (f *Function) Try(c Case, repeats bool) (o Outcome) {
	m := &f.mem
	m.reset()
	p := f.prepare(c, m)
	o.Open = m.open
	m.save()
	var matrices []engine.Matrix
	for _, x := range p.operands {
		matrices = append(matrices, x.Matrix)
	}
	if f.Started != nil {
		f.Started(p.locate())
	}
	tr := p.trial()
	tr.run = func(*engine.Engine) { p.call(matrices) }
	got, err := m.try(tr, nil, ascent.DenseRoute)
	row := Row{hash: sha256.New()}
	row.add(got)
	o.SHA256 = hex.EncodeToString(row.hash.Sum(nil))
	var outside *trespassError
	switch {
	case errors.As(err, &outside):
		o.Kind, o.Outside = KindWritten, outside.bytes
		o.Reason = fmt.Sprintf("wrote %d bytes outside its output, the first %s", o.Outside, p.place(m, outside))
		return o
	case err != nil:
		o.panicked(err)
		return o
	}
	wrong := row.judge(got, tr)
	o.MaxULP, o.MaxRatio = row.MaxULP, row.MaxErrorRatio
	again, err := m.try(tr, nil, ascent.DenseRoute)
	if wrong != nil {
		o.Kind, o.Reason = kindOf(got, tr), wrong.Error()
	} else if err != nil {
		o.Kind, o.Reason = KindCalls, "the second of two equal calls "+err.Error()
	}
	if err != nil {
		return o
	}
	o.Repeats = map[string]string{overCalls: tr.difference(got, again)}
	if d := o.Repeats[overCalls]; d != "" && o.Kind == "" {
		o.Kind, o.Reason = KindCalls, "two equal calls: "+d
	}
	if repeats && (o.Kind == "" || o.Kind == KindSpecial) {
		if err := p.repeat(m, got, o.Repeats); err != nil {
			o.panicked(err)
		}
	}
	return o
}

// panicked makes an error of caught the outcome.
func (o *Outcome) panicked(err error) {
	o.Kind, o.Reason = KindCrash, err.Error()
	if errors.Is(err, errFault) {
		o.Kind = KindAccess
	}
}

// kindOf tells the kind of the first result that is wrong.
func kindOf(got []float32, tr trial) string {
	for i, g := range got {
		w, b := tr.want[i], tr.bound[i]
		var row Row
		if row.judge([]float32{g}, trial{want: []float64{w}, bound: []float64{b}}) == nil {
			continue
		}
		switch bits := math.Float32bits(g) & payload; {
		case g != g && bits == canary&payload:
			return KindPadding
		case g != g && bits == oldNaN&payload:
			return KindOld
		case g != g && bits == unreadNaN&payload:
			return KindAlpha
		case w-w != 0 || g-g != 0:
			return KindSpecial
		case w != 0 && math.Abs(w) < 0x1p-126 && g == 0:
			return KindSubnormal
		case b == 0:
			return KindExact
		}
		return KindError
	}
	return KindError
}

// trial has what is expected of the output.
func (p *problem) trial() trial {
	tr := trial{want: p.want, bound: p.bound}
	for _, x := range p.operands {
		if x.output {
			tr.cols = x.Cols
		}
	}
	return tr
}

// locate returns where the operands are.
func (p *problem) locate() []Operand {
	var all []Operand
	for _, x := range p.operands {
		at := uintptr(unsafe.Pointer(unsafe.SliceData(x.Data)))
		all = append(all, Operand{x.name, at, 4 * len(x.Data)})
	}
	return all
}

// place says where a write was, relative to an operand. Operands are in the order of their buffers.
func (p *problem) place(m *memory, t *trespassError) string {
	x := p.operands[t.buffer]
	region := m.regions[t.buffer].floats
	first := uintptr(unsafe.Pointer(unsafe.SliceData(region)))
	at := t.index - int((uintptr(unsafe.Pointer(unsafe.SliceData(x.Data)))-first)/4)
	switch n := len(x.Data); {
	case at < 0:
		return fmt.Sprintf("%d floats before the start of %s", -at, x.name)
	case at >= n:
		return fmt.Sprintf("%d floats behind the end of %s", at-n, x.name)
	case x.output:
		return fmt.Sprintf("between the rows of %s, at float %d", x.name, at)
	}
	return fmt.Sprintf("at float %d of %s, which is an input", at, x.name)
}

// repeat calls the function with operands at other alignments, with the rows in reverse order, and with
// one row at a time, and records the first result that differs from got. The error is a panic.
func (p *problem) repeat(m *memory, got []float32, found map[string]string) error {
	tr := p.trial()
	found[overAlignment] = ""
	for _, offset := range []int{0, 1, 4, 8} { // 64-byte, 4-byte, 16-byte and 32-byte boundaries
		x, out := p.clone(offset)
		if err := caught(func() { p.call(x) }); err != nil {
			return fmt.Errorf("operands %d bytes behind a 64-byte boundary: %w", 4*offset, err)
		}
		if d := tr.difference(got, elements(out)); d != "" {
			found[overAlignment] = fmt.Sprintf("%d bytes behind a 64-byte boundary, %s", 4*offset, d)
			break
		}
	}
	if rows := p.rows(); rows > 1 {
		x, out := p.clone(0)
		p.reverse(x)
		if err := caught(func() { p.call(x) }); err != nil {
			return fmt.Errorf("rows in reverse order: %w", err)
		}
		flip(out)
		found[overOrder] = tr.difference(got, elements(out))
		alone, err := p.rowByRow(m, rows)
		if err != nil {
			return err
		}
		found[overBatch] = tr.difference(got, alone)
	}
	return nil
}

// rows returns how many rows can be computed alone.
func (p *problem) rows() int {
	for _, x := range p.operands {
		if x.output && x.rows {
			return x.Rows
		}
	}
	return 0
}

// clone copies the operands to a number of floats behind 64-byte boundaries.
func (p *problem) clone(offset int) (all []engine.Matrix, out engine.Matrix) {
	const slack = 64 // for functions that pass the end
	for _, x := range p.operands {
		c := x.Matrix
		c.Data = engine.AlignedFloats(slack + offset + len(x.Data) + slack)[slack+offset:][:len(x.Data)]
		copy(c.Data, x.Data)
		all = append(all, c)
		if x.output {
			out = c
		}
	}
	return all, out
}

// reverse turns the order of rows round.
func (p *problem) reverse(all []engine.Matrix) {
	for i, x := range p.operands {
		if x.rows {
			flip(all[i])
		}
	}
}

// flip turns the order of the rows of x round.
func flip(x engine.Matrix) {
	for i := range x.Rows / 2 {
		for j := range x.Cols {
			u, v := x.At(i, j), x.At(x.Rows-1-i, j)
			x.Set(i, j, v)
			x.Set(x.Rows-1-i, j, u)
		}
	}
}

// rowByRow computes each row by a call of its own. The error is a panic.
func (p *problem) rowByRow(m *memory, rows int) ([]float32, error) {
	m.restore()
	for i := range rows {
		var part []engine.Matrix
		for _, x := range p.operands {
			one := x.Matrix
			if x.rows {
				one = x.SliceRows(i, i+1)
			}
			part = append(part, one)
		}
		if err := caught(func() { p.call(part) }); err != nil {
			return nil, fmt.Errorf("row %d alone: %w", i, err)
		}
	}
	results := m.results()
	m.restore()
	return results, nil
}

// elements returns the elements of x.
func elements(x engine.Matrix) []float32 {
	v := make([]float32, 0, x.Rows*x.Cols)
	for i := range x.Rows {
		for j := range x.Cols {
			v = append(v, x.At(i, j))
		}
	}
	return v
}
