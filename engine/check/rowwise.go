package check

import (
	"math"

	"dpnbench/engine"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas/blas64"
)

// rowOf returns row i of m, whose rows are contiguous.
func rowOf(m blas64.General, i int) []float64 { return m.Data[i*m.Cols : (i+1)*m.Cols] }

var rowDotsKernel = definition{
	args: []arg{size("rows", 7), size("n", 17), layoutArg("lx"), layoutArg("ly"), offsetArg, dataArg, seedArg},
	make: func(c Case, mem *memory) trial {
		rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
		fill := filler(c.rand(), c.get("data"))
		x := mem.input(rows, n, layout(c.get("lx")), off, fill)
		y := mem.input(rows, n, layout(c.get("ly")), off, fill)
		out := mem.output(1, rows, rowMajor, off, fill)
		gx, gy := general(x), general(y)
		var tr trial
		for i := range rows {
			tr.expectOne(reference.RowDot(rowOf(gx, i), rowOf(gy, i)))
		}
		exact(c.get("data"), tr.bound)
		tr.run = func(e *engine.Engine) { e.RowDots(vector(out), x, y) }
		return tr
	},
}

var columnSumsKernel = definition{
	args: []arg{long(size("rows", 7)), size("n", 17), layoutArg("lx"), flagArg("acc"), offsetArg, dataArg, seedArg},
	more: tallMatrices,
	make: func(c Case, mem *memory) trial {
		rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
		fill := filler(c.rand(), c.get("data"))
		x := mem.input(rows, n, layout(c.get("lx")), off, fill)
		out := mem.output(1, n, rowMajor, off, fill)
		acc := c.get("acc") == 1
		var tr trial
		for j := range n {
			var column []float64
			if acc {
				column = append(column, float64(out.Data[j]))
			}
			for i := range rows {
				column = append(column, float64(x.At(i, j)))
			}
			tr.expectOne(reference.Sum(column))
		}
		exact(c.get("data"), tr.bound)
		tr.run = func(e *engine.Engine) { e.ColumnSums(vector(out), x, acc) }
		return tr
	},
}

// tallMatrices have more rows than one call of a kernel adds.
func tallMatrices(quick bool) [][]int {
	if quick {
		return nil
	}
	return [][]int{{70000, 1, 0, 0, -1, 0, 1}, {5000, 17, 0, 1, -1, 0, 1}, {1500, 200, 0, 0, -1, 0, 1}}
}

var squaredDistancesKernel = definition{
	args: []arg{size("rows", 7), size("n", 17), size("k", 3), layoutArg("lx"), layoutArg("lc"),
		offsetArg, dataArg, seedArg},
	make: func(c Case, mem *memory) trial {
		rows, n, k, off := c.get("rows"), c.get("n"), c.get("k"), c.get("offset")
		fill := filler(c.rand(), c.get("data"))
		x := mem.input(rows, n, layout(c.get("lx")), off, fill)
		y := mem.input(k, n, layout(c.get("lc")), off, fill)
		out := mem.output(rows, k, layout(c.get("lx")), off, fill)
		gx, gy := general(x), general(y)
		var tr trial
		for i := range rows {
			for j := range k {
				tr.expectOne(reference.SquaredDistance(rowOf(gx, i), rowOf(gy, j)))
			}
		}
		exact(c.get("data"), tr.bound)
		tr.run = func(e *engine.Engine) { e.SquaredDistances(out, x, y) }
		return tr
	},
}

var weightedSquaresKernel = definition{
	args: []arg{size("rows", 7), size("n", 17), layoutArg("lx"), offsetArg, dataArg, seedArg},
	make: func(c Case, mem *memory) trial {
		rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
		fill := filler(c.rand(), c.get("data"))
		x := mem.input(rows, n, layout(c.get("lx")), off, fill)
		y := mem.input(1, n, rowMajor, off, fill)
		w := mem.input(1, n, rowMajor, off, fill)
		out := mem.output(1, rows, rowMajor, off, fill)
		gx, gy, gw := general(x), reference.Vector(vector(y)), reference.Vector(vector(w))
		var tr trial
		for i := range rows {
			tr.expectOne(reference.WeightedSquares(rowOf(gx, i), gy, gw))
		}
		exact(c.get("data"), tr.bound)
		tr.run = func(e *engine.Engine) { e.WeightedSquares(vector(out), x, vector(y), vector(w)) }
		return tr
	},
}

var argMinKernel = definition{
	args: []arg{size("rows", 7), one(size("n", 17)), layoutArg("lx"), offsetArg, dataArg, seedArg},
	more: manyRows,
	make: argMin,
}

// manyRows are enough rows that every column has NaN and infinities.
func manyRows(quick bool) [][]int {
	if quick {
		return nil
	}
	return [][]int{{4000, 3, 0, -1, 4, 1}}
}

// argMin checks ArgMin and ArgMax. Integers (data 1) have many ties.
func argMin(c Case, mem *memory) trial {
	rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(rows, n, layout(c.get("lx")), off, fill)
	out := mem.output(2, rows, rowMajor, off, fill)
	tr := trial{want: make([]float64, 2*rows), bound: make([]float64, 2*rows)}
	for i := range rows {
		least, most := math.Inf(1), math.Inf(-1)
		first := true // column 0 if all are NaN
		for j := range n {
			v := float64(x.At(i, j))
			if v < least || first && v == v {
				least, tr.want[i] = v, float64(j)
			}
			if v > most || first && v == v {
				most, tr.want[rows+i] = v, float64(j)
			}
			first = first && v != v
		}
	}
	tr.run = func(e *engine.Engine) {
		idx := make([]int32, rows)
		e.ArgMin(idx, x)
		for i, v := range idx {
			out.Set(0, i, float32(v))
		}
		e.ArgMax(idx, x)
		for i, v := range idx {
			out.Set(1, i, float32(v))
		}
	}
	return tr
}

const normEps = 1e-5

var layerNormKernel = definition{
	args: []arg{size("rows", 7), one(size("n", 17)), layoutArg("lx"), layoutArg("ly"), offsetArg, seedArg},
	make: func(c Case, mem *memory) trial {
		rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
		fill := filler(c.rand(), normalData)
		x := mem.input(rows, n, layout(c.get("lx")), off, fill)
		y := mem.output(rows, n, layout(c.get("ly")), off, fill)
		rstd := mem.output(1, rows, rowMajor, off, fill)
		gx := general(x)
		var tr, rstdPart trial
		for i := range rows {
			v, r := reference.LayerNorm(rowOf(gx, i), float64(float32(normEps)))
			tr.expect(v)
			rstdPart.expect(r)
		}
		tr.expect(rstdPart.values())
		tr.run = func(e *engine.Engine) { e.LayerNorm(y, vector(rstd), x, normEps) }
		return tr
	},
}

var layerNormBackwardKernel = definition{
	args: []arg{size("rows", 7), one(size("n", 17)), offsetArg, seedArg},
	make: func(c Case, mem *memory) trial {
		rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
		r := c.rand()
		fill := filler(r, normalData)
		y := mem.input(rows, n, rowPadded, off, fill)
		rstd := mem.input(1, rows, rowMajor, off, func() float32 { return 0.5 + r.Float32() })
		dy := mem.input(rows, n, rowMajor, off, fill)
		dx := mem.output(rows, n, rowPadded, off, fill)
		gy, gd := general(y), general(dy)
		var tr trial
		for i := range rows {
			tr.expect(reference.LayerNormBackward(rowOf(gy, i), float64(rstd.Data[i]), rowOf(gd, i)))
		}
		tr.run = func(e *engine.Engine) { e.LayerNormBackward(dx, y, vector(rstd), dy) }
		return tr
	},
}

var crossEntropyKernel = definition{
	args: []arg{size("rows", 7), one(size("classes", 10)), layoutArg("lx"), layoutArg("lg"),
		spreadArg([]int{0, 10, 100}, []int{100}), offsetArg, seedArg},
	make: func(c Case, mem *memory) trial {
		rows, classes, off := c.get("rows"), c.get("classes"), c.get("offset")
		r := c.rand()
		normal := filler(r, normalData)
		spread := float32(c.get("spread"))
		logits := mem.input(rows, classes, layout(c.get("lx")), off, func() float32 { return spread * normal() })
		grad := mem.output(rows, classes, layout(c.get("lg")), off, normal)
		losses := mem.output(1, rows, rowMajor, off, normal)
		labels := make([]uint16, rows)
		const scale = 0.125
		g := general(logits)
		var tr, lossPart trial
		for i := range rows {
			labels[i] = uint16(r.Intn(min(classes, 256)))
			l, d := reference.SoftmaxCrossEntropy(rowOf(g, i), int(labels[i]))
			for j := range d.V {
				tr.expectOne(scale*d.V[j], scale*d.E[j]+0x1p-149)
			}
			lossPart.expect(l)
		}
		tr.expect(lossPart.values())
		tr.run = func(e *engine.Engine) { e.SoftmaxCrossEntropy(grad, vector(losses), logits, labels, scale) }
		return tr
	},
}
