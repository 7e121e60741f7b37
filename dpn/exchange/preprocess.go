package exchange

import (
	"dpnbench/dataset"
)

// preprocessing is the part of a graph that preprocesses images (dataset.Preprocessing).
type preprocessing struct {
	*onnx
	rows, cols int
}

// preprocess returns the images as they are normalised.
func (o *onnx) preprocess(x string) string {
	c, s := o.m.Config, o.m.Shape
	p := &preprocessing{o, s.Rows, s.Cols}
	if c.Contrast {
		x = p.contrast(x)
	}
	if c.Centre != "" {
		x = p.centre(x, c.Centre)
	}
	if c.RMS {
		x = p.normaliseRMS(x)
	}
	return x
}

// number adds a constant of one number, without a name of its own.
func (p *preprocessing) number(v float32) string { return p.scalar(p.name("number"), v) }

// ints adds a vector of integers, without a name of its own.
func (p *preprocessing) ints(v ...int) string { return p.integers(p.name("integers"), v...) }

// do adds an operator on values.
func (p *preprocessing) do(operator string, inputs ...string) string { return p.node(operator, inputs) }

// reshape gives x another shape; 0 is what it has there.
func (p *preprocessing) reshape(x string, shape ...int) string {
	return p.do("Reshape", x, p.ints(shape...))
}

// pick takes the entries of an axis.
func (p *preprocessing) pick(x string, axis int, at ...int) string {
	return p.node("Gather", []string{x, p.ints(at...)}, intOf("axis", axis))
}

// largest returns the k largest numbers along the last axis, in descending order.
func (p *preprocessing) largest(x string, k int) string {
	return p.operator("TopK", []string{x, p.ints(k)}, 2)
}

// between is a where t is 0 and b where it is 1.
func (p *preprocessing) between(a, b, t string) string {
	return p.do("Add", a, p.do("Mul", t, p.do("Sub", b, a)))
}

// shares are i / (n-1).
func (p *preprocessing) shares(n int, shape ...int) string {
	v := make([]float32, n)
	for i := range v {
		v[i] = float32(i) / float32(max(n-1, 1))
	}
	return p.constant(p.name("shares"), v, shape...)
}

// medians returns N x channels x places: of the pixels that say what the background is at each place of one side.
func (p *preprocessing) medians(flat string, places [][]int32) string {
	var all []int
	n := len(places[0])
	for _, window := range places {
		for _, at := range window {
			all = append(all, int(at))
		}
	}
	x := p.node("Gather", []string{flat, p.int64s(p.name("border"), all, len(places), n)}, intOf("axis", 2))
	x = p.pick(p.largest(x, n/2+1), 3, (n-1)/2, n/2)
	return p.node("ReduceMean", []string{x}, intsOf("axes", 3), intOf("keepdims", 0))
}

// blurred blurs by two boxes.
func (p *preprocessing) blurred(x string) string {
	r, c := dataset.BlurWidth(p.rows), dataset.BlurWidth(p.cols)
	for range 2 {
		x = p.node("AveragePool", []string{x}, intsOf("kernel_shape", r, c), intsOf("pads", r/2, c/2, r/2, c/2),
			intOf("count_include_pad", 1))
	}
	return x
}

// contrast is the contrast normalisation.
func (p *preprocessing) contrast(x string) string {
	rows, cols := p.rows, p.cols
	flat, at := p.reshape(x, 0, 0, -1), dataset.Border(rows, cols)
	top, bottom := p.medians(flat, at[:cols]), p.medians(flat, at[cols:2*cols])
	left, right := p.medians(flat, at[2*cols:2*cols+rows]), p.medians(flat, at[2*cols+rows:])
	v, u := p.shares(rows, rows, 1), p.shares(cols, cols)
	corner := func(line string, i int, side string, j int) string {
		sum := p.do("Add", p.pick(line, 2, i), p.pick(side, 2, j))
		return p.reshape(p.do("Mul", sum, p.number(0.5)), 0, 0, 1, 1)
	}
	first := p.between(corner(top, 0, left, 0), corner(bottom, 0, left, rows-1), v)
	last := p.between(corner(top, cols-1, right, 0), corner(bottom, cols-1, right, rows-1), v)
	wide := func(line string) string { return p.reshape(line, 0, 0, 1, cols) }
	tall := func(line string) string { return p.reshape(line, 0, 0, rows, 1) }
	h := p.do("Sub", p.between(tall(left), tall(right), u), p.between(first, last, u))
	d := p.blurred(p.do("Abs", p.do("Sub", x, p.do("Add", p.between(wide(top), wide(bottom), v), h))))

	k := rows * cols / dataset.ContrastRank
	full := p.pick(p.largest(p.reshape(d, 0, 0, -1), k+1), 2, k)
	full = p.do("Max", p.reshape(full, 0, 0, 1, 1), p.number(dataset.ContrastFloor))
	d = p.do("Relu", p.do("Sub", p.do("Div", d, full), p.number(dataset.ContrastDead)))
	return p.do("Min", p.do("Div", d, p.number(1-dataset.ContrastDead)), p.number(1))
}

// centre is the centring.
func (p *preprocessing) centre(x, kind string) string {
	rows, cols := p.rows, p.cols
	least, axes := p.number(1e-30), p.ints(2, 3)
	sum := func(x, axes string) string { return p.do("ReduceSum", x, axes) }
	b := p.blurred(sum(x, p.ints(1)))
	most := p.do("Max", p.node("ReduceMax", []string{b}, intsOf("axes", 2, 3)), least)
	w := p.do("Relu", p.do("Sub", p.do("Div", b, most), p.number(dataset.MassThreshold)))
	total := p.do("Max", sum(w, axes), least)
	mean := func(v string) string { return p.do("Div", sum(p.do("Mul", w, v), axes), total) }

	line := func(n int, middle float32, shape ...int) string {
		v := make([]float32, n)
		for i := range v {
			v[i] = float32(i) - middle
		}
		return p.constant(p.name("line"), v, shape...)
	}
	r, c := line(rows, 0, rows, 1), line(cols, 0, 1, cols)
	row, col := mean(r), mean(c)
	down, across := line(rows, float32(rows-1)/2, rows, 1), line(cols, float32(cols-1)/2, 1, cols)
	if kind == dataset.CentreMoments {
		r, c := p.do("Sub", r, row), p.do("Sub", c, col)
		rr, cc, rc := mean(p.do("Mul", r, r)), mean(p.do("Mul", c, c)), mean(p.do("Mul", r, c))
		slant := p.do("Div", rc, p.do("Add", rr, p.number(1)))
		slant = p.do("Clip", slant, p.number(-dataset.SlantLimit), p.number(dataset.SlantLimit))
		twice := p.do("Mul", rc, p.number(2))
		cc = p.do("Add", cc, p.do("Mul", slant, p.do("Sub", p.do("Mul", slant, rr), twice)))
		goal := float32(dataset.Spread * float64(rows+cols) / 2)
		size := p.do("Div", p.do("Sqrt", p.do("Add", rr, cc)), p.number(goal))
		size = p.do("Clip", size, p.number(1/dataset.SizeLimit), p.number(dataset.SizeLimit))
		down = p.do("Mul", size, down)
		across = p.do("Add", p.do("Mul", size, across), p.do("Mul", slant, down))
	}
	// Coordinates as GridSample has them: -1 and 1 are the edges of the image.
	whole := p.constant(p.name("zeros"), make([]float32, rows*cols), rows, cols)
	coordinate := func(middle, from string, n int) string {
		v := p.do("Add", p.do("Add", middle, from), whole)
		v = p.do("Mul", p.do("Add", v, p.number(0.5)), p.number(2/float32(n)))
		return p.reshape(p.do("Sub", v, p.number(1)), 0, rows, cols, 1)
	}
	grid := p.node("Concat", []string{coordinate(col, across, cols), coordinate(row, down, rows)}, intOf("axis", 3))
	return p.do("GridSample", x, grid)
}

// normaliseRMS is the normalisation of the root mean square.
func (p *preprocessing) normaliseRMS(x string) string {
	mean := p.node("ReduceMean", []string{p.do("Mul", x, x)}, intsOf("axes", 1, 2, 3))
	rms := p.do("Max", p.do("Sqrt", mean), p.number(dataset.RMSFloor))
	return p.do("Mul", x, p.do("Sqrt", p.do("Sqrt", p.do("Div", p.number(dataset.RMSFixed), rms))))
}
