package check

import (
	"math"

	"dpnbench/engine"
	"dpnbench/engine/reference"
)

// Dot is the scalar product of x and y.
func Dot(name string, f func(x, y []float32) float32) *Function {
	d := definition{args: []arg{size("n", 37), offsetArg, functionDataArg, seedArg}, more: func(quick bool) [][]int {
		return pick(quick, [][]int{{1023, 3, 0, 1}, {1024, -1, 1, 1}, {4096, -1, 0, 1}})
	}}
	return newFunction(name, "dot", d, func(c Case, mem *memory) *problem {
		n, data := c.get("n"), c.get("data")
		r := c.rand()
		row := func() engine.Matrix { return mem.place(1, n, n, 1, c.get("offset")) }
		x := mem.fillInput(row(), tinyFiller(r, data, -75))
		y := mem.fillInput(row(), tinyFiller(r, data, -74))
		out := mem.output(1, 1, rowMajor, -1, nanFill)
		want, bound := reference.DotAnyOrder(reference.Vector(x.Data), reference.Vector(y.Data))
		if isExact(data, n) {
			bound = 0
		}
		return &problem{
			operands: []operand{{x, "x", false, false}, {y, "y", false, false}, {out, "the result", true, false}},
			call:     func(v []engine.Matrix) { v[2].Data[0] = f(v[0].Data, v[1].Data) },
			want:     []float64{want}, bound: []float64{bound},
		}
	})
}

// pick returns the first of list if quick, all otherwise.
func pick(quick bool, list [][]int) [][]int {
	if quick {
		return list[:1]
	}
	return list
}

// nanFill is what outputs hold before a call.
func nanFill() float32 { return math.Float32frombits(oldNaN) }

// Exp is y[i] = exp(x[i]), within 4 ULPs.
func Exp(name string, f func(y, x []float32)) *Function { return pointwise(name, "exp", f, math.Exp) }

// Log is y[i] = log(x[i]), within 4 ULPs.
func Log(name string, f func(y, x []float32)) *Function { return pointwise(name, "log", f, math.Log) }

func pointwise(name, kernel string, f func(y, x []float32), oracle func(float64) float64) *Function {
	kinds := []int{usualPoints, allExponents, nearLimits, specialPoints}
	points := arg{name: "points", max: pointKinds - 1, sweep: kinds, quickSweep: kinds}
	d := definition{args: []arg{size("n", 37), offsetArg, points, seedArg}, more: func(quick bool) [][]int {
		return pick(quick, [][]int{{1000, 3, allExponents, 2}, {4096, -1, allExponents, 1}, {4096, -1, nearLimits, 1}})
	}}
	return newFunction(name, kernel, d, func(c Case, mem *memory) *problem {
		r := c.rand()
		column := func() engine.Matrix { return mem.place(c.get("n"), 1, 1, 1, c.get("offset")) }
		x := mem.fillInput(column(), functionInputs(r, filler(r, normalData), c.get("points")))
		out := mem.fillOutput(column(), nanFill)
		p := &problem{
			operands: []operand{{x, "x", false, true}, {out, "y", true, true}},
			call:     func(v []engine.Matrix) { f(v[1].Data[:v[1].Rows], v[0].Data[:v[0].Rows]) },
		}
		for _, v := range x.Data {
			p.want, p.bound = append(p.want, oracle(float64(v))), append(p.bound, -reference.FunctionULPs)
		}
		return p
	})
}

// spreads are standard deviations of inputs of exp. From 100 on, exp of most overflows or is 0.
var spreads = arg{name: "spread", usual: 1, max: 1000, sweep: []int{0, 1, 10, 100, 1000}, quickSweep: []int{1, 100}}

// rowsDefinition has the arguments of functions of the rows of a matrix.
func rowsDefinition(more ...arg) definition {
	args := append([]arg{size("rows", 7), one(size("n", 17)), padArg("padx"), padArg("pady"), offsetArg}, more...)
	d := definition{args: append(args, seedArg)}
	d.more = func(quick bool) [][]int {
		if quick {
			return nil
		}
		var list [][]int
		for _, n := range []int{127, 128, 129, 1000, 1024} {
			list = append(list, d.usual(map[string]int{"n": n, "rows": 3}))
		}
		return list
	}
	return d
}

// rowInput places x of a function of rows.
func rowInput(c Case, mem *memory, fill func() float32) engine.Matrix {
	n := c.get("n")
	return mem.fillInput(mem.place(c.get("rows"), n, n+c.get("padx"), 1, c.get("offset")), fill)
}

// RowsCall has the arguments of a function of the rows of X: N numbers each, LDX floats apart. Y has as many
// numbers in a row, LDY floats apart, or one.
type RowsCall struct {
	Rows, N, LDX, LDY int
	X, Y              []float32
}

// maskedArg makes every third number of a row but the first -Inf, as masks of attention do.
var maskedArg = flagArg("masked")

// softmaxInput fills x of Softmax and LogSumExp.
func softmaxInput(c Case, mem *memory) engine.Matrix {
	normal := filler(c.rand(), normalData)
	n, i := c.get("n"), -1
	return rowInput(c, mem, func() float32 {
		i++
		v := normal() * float32(c.get("spread"))
		if c.get("masked") == 1 && i%n%3 == 1 {
			return float32(math.Inf(-1))
		}
		return v
	})
}

// rowsProblem prepares a function of rows: a row of y has as many numbers as x, or one.
func rowsProblem(c Case, mem *memory, x engine.Matrix, width int, f func(r *RowsCall)) *problem {
	ld := 1
	if width > 1 || c.has("pady") && width == x.Cols {
		ld = width + c.get("pady")
	}
	y := mem.fillOutput(mem.place(x.Rows, width, ld, 1, c.get("offset")), nanFill)
	return &problem{
		operands: []operand{{x, "x", false, true}, {y, "y", true, true}},
		call: func(v []engine.Matrix) {
			f(&RowsCall{Rows: v[0].Rows, N: x.Cols, LDX: x.RS, LDY: ld, X: v[0].Data, Y: v[1].Data})
		},
	}
}

// Softmax is y[i][j] = exp(x[i][j]) / sum over j, for each row i.
func Softmax(name string, f func(r *RowsCall)) *Function {
	return newFunction(name, "softmax", rowsDefinition(spreads, maskedArg), func(c Case, mem *memory) *problem {
		x := softmaxInput(c, mem)
		p := rowsProblem(c, mem, x, x.Cols, f)
		gx := general(x)
		for i := range x.Rows {
			v := reference.SoftmaxAnyOrder(rowOf(gx, i))
			p.want, p.bound = append(p.want, v.V...), append(p.bound, v.E...)
		}
		return p
	})
}

// LogSumExp is y[i] = log sum over j of exp(x[i][j]), for each row i.
func LogSumExp(name string, f func(r *RowsCall)) *Function {
	return newFunction(name, "log-sum-exp", withoutPadY(rowsDefinition(spreads, maskedArg)),
		func(c Case, mem *memory) *problem {
			x := softmaxInput(c, mem)
			p := rowsProblem(c, mem, x, 1, f)
			gx := general(x)
			for i := range x.Rows {
				v, e := reference.LogSumExpAnyOrder(rowOf(gx, i))
				p.want, p.bound = append(p.want, v), append(p.bound, e)
			}
			return p
		})
}

// withoutPadY fixes the padding of y, a vector, to none.
func withoutPadY(d definition) definition {
	for i := range d.args {
		if a := &d.args[i]; a.name == "pady" {
			a.max, a.sweep, a.quickSweep = 0, []int{0}, []int{0}
		}
	}
	return d
}

// LayerNorm is y[i][j] = (x[i][j] - mean)/sqrt(variance + eps), for each row i; the variance is the mean square
// of the differences from the mean.
func LayerNorm(name string, f func(r *RowsCall, eps float32)) *Function {
	shift := arg{name: "shift", max: 10000, sweep: []int{0, 10, 1000}, quickSweep: []int{0, 1000}}
	return newFunction(name, "layer-norm", rowsDefinition(shift), func(c Case, mem *memory) *problem {
		normal := filler(c.rand(), normalData)
		x := rowInput(c, mem, func() float32 { return normal() + float32(c.get("shift")) })
		p := rowsProblem(c, mem, x, x.Cols, func(r *RowsCall) { f(r, normEps) })
		gx := general(x)
		for i := range x.Rows {
			v := reference.LayerNormAnyOrder(rowOf(gx, i), float64(float32(normEps)))
			p.want, p.bound = append(p.want, v.V...), append(p.bound, v.E...)
		}
		return p
	})
}

// QuadForm is y[i] = (x_i - mu)^T P (x_i - mu), for each row x_i of X. P is symmetric, with rows ldp apart.
func QuadForm(name string, f func(r *RowsCall, mu, p []float32, ldp int)) *Function {
	d := withoutPadY(rowsDefinition(padArg("padp"), finiteArg))
	d.more = nil
	return newFunction(name, "quad-form", d, func(c Case, mem *memory) *problem {
		n := c.get("n")
		r := c.rand()
		fill := filler(r, c.get("data"))
		x := rowInput(c, mem, fill)
		pr := rowsProblem(c, mem, x, 1, nil)
		mu := mem.fillInput(mem.place(1, n, n, 1, c.get("offset")), fill)
		p := mem.fillInput(symmetric(mem.place(n, n, n+c.get("padp"), 1, c.get("offset")), fill))
		pr.operands = append(pr.operands, operand{mu, "mu", false, false}, operand{p, "P", false, false})
		pr.call = func(v []engine.Matrix) {
			rows := RowsCall{Rows: v[0].Rows, N: n, LDX: x.RS, LDY: 1, X: v[0].Data, Y: v[1].Data}
			f(&rows, v[2].Data, v[3].Data, p.RS)
		}
		gx, gp, gmu := general(x), general(p), reference.Vector(mu.Data)
		for i := range x.Rows {
			v, e := reference.QuadFormAnyOrder(rowOf(gx, i), gmu, gp)
			if c.get("data") == integerData && n <= 64 { // 16^2 8 64^2 < 2^24
				e = 0
			}
			pr.want, pr.bound = append(pr.want, v), append(pr.bound, e)
		}
		return pr
	})
}

// symmetric returns x and a filler that makes it symmetric, row by row.
func symmetric(x engine.Matrix, fill func() float32) (engine.Matrix, func() float32) {
	at := -1
	return x, func() float32 {
		at++
		if i, j := at/x.Cols, at%x.Cols; i > j {
			return x.At(j, i)
		}
		return fill()
	}
}
