package check

import (
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/reference"
)

var (
	backwardKernel = definition{
		args: []arg{size("rows", 5), one(size("k", 3)), one(size("d", 9)), stepsArg(2, 0, 1, 2, 7),
			layoutArg("lv"), offsetArg, seedArg},
		more: longRows,
		make: func(c Case, mem *memory) trial { return ascendBackward(c, mem, false) },
	}
	tiedKernel = definition{
		args: backwardKernel.args,
		make: func(c Case, mem *memory) trial { return ascendBackward(c, mem, true) },
	}
)

// longRows are dimensions for which the backward pass packs W_i and splits its columns into blocks,
// and single components with enough steps that it may combine them.
func longRows(quick bool) [][]int {
	v := [][]int{
		{3, 1, 128, 2, 0, -1, 1},
		{3, 1, 129, 2, 0, -1, 1},
		{1, 1, 61, 20, 0, -1, 1},
		{2, 1, 83, 17, 1, -1, 1},
	}
	if !quick {
		v = append(v, []int{2, 2, 261, 2, 0, -1, 1}, []int{2, 1, 621, 1, 0, -1, 1})
	}
	return v
}

// ascendBackward checks the backward pass of full or of tied precisions.
func ascendBackward(c Case, mem *memory, tied bool) trial {
	rows, k, d, steps, r := c.get("rows"), c.get("k"), c.get("d"), c.get("steps"), c.rand()
	m := newMixtureCase(c, mem, k, d, tied, r)
	fill := filler(r, normalData)
	x := mem.input(rows, d, rowMajor, c.get("offset"), m.begin(fill))
	v := mem.output(rows, d, layout(c.get("lv")), c.get("offset"), fill)
	dmu := mem.output(1, k*d, rowMajor, -1, fill)
	dc := mem.output(1, k, rowMajor, -1, fill)
	da := mem.output(1, len(m.p), rowMajor, -1, fill)
	dalpha := mem.output(1, 1, rowMajor, -1, fill)

	g := m.oracle.Backward(states(trajectory(m, x, m.alpha, steps), steps), general(v))
	if tied {
		g.P = reference.SumOver(k, g.P)
	}
	tr := trial{ascends: c.ascends()}
	tr.expect(g.V, g.Mu, g.C, reference.FactorGradient(m.factors, g.P), g.Alpha)
	tr.run = func(e *engine.Engine) {
		mix := m.engine(e)
		var t ascent.Trajectory
		mix.Ascend(e, m.alpha, steps, packed(x), &t, true)
		grad := ascent.NewGradient(k, d)
		if tied {
			grad = ascent.NewTiedGradient(k, d)
		}
		mix.Backward(e, m.alpha, vector(m.a), &t, v, grad)
		copy(dmu.Data, grad.Mu)
		copy(dc.Data, grad.C)
		copy(da.Data, grad.A)
		dalpha.Data[0] = grad.Alpha
	}
	return tr
}
