package engine

import "dpnbench/engine/num"

// tileWalk steps through the tiles of a panel, for tiers whose assembly computes one tile. Each tier has
// its own loop, because a call through a variable costs 1%.
type tileWalk struct {
	a, c, next           []float32
	ars, tileStride, crs int
	rows, tall           int
	prefetch             int // floats of next that a tile prefetches
}

// tile returns the number of rows of the tile.
func (w *tileWalk) tile() int {
	if w.tall > 0 {
		return w.rows + 1
	}
	return w.rows
}

// step advances to the next tile, after one of n rows. After the last tile the slices end.
func (w *tileWalk) step(n int) {
	w.tall--
	at := w.tileStride
	if at == 0 {
		at = n * w.ars
	}
	w.a = w.a[min(at, len(w.a)):]
	w.c = w.c[min(n*w.crs, len(w.c)):]
	w.next = w.next[min(w.prefetch, len(w.next)):]
}

// fmaPeakGeneric runs the tile, 96 multiply-adds per round, on operands that stay in the cache. Emulated
// multiply-adds are limited by nothing else.
func fmaPeakGeneric(rounds int) {
	var b, c [genericNR]float32
	a := [...]float32{0.5}
	for i := range b {
		b[i] = float32(i)
	}
	sgemmGeneric6x16(&panelArgs{k: rounds, a: a[:], b: b[:], c: c[:], rows: genericMR, acc: true})
}

// panelGeneric is panels of a matrix product that follow each other: tiles of rows rows, the first
// tall of them one row more (6 at most); for every row i of all tiles, j < 16, panel n
//
//	c[i*crs+16*n+j] = chain over p < k of fma(a[i*ars+p*acs], b[(n*k+p)*brs+j], ...)
//
// starting from the old value of c when acc is set, from +0 otherwise. brs is 16 where there are
// several panels. The rows of A of each tile begin tileStride floats after those of the tile before,
// or follow them if tileStride is 0. next[n*k*16:], from which step bytes are fetched into the cache for
// every fourth p, takes no part in it.
func panelGeneric(args *panelArgs) {
	tile := *args
	b, c := args.b, args.c
	for range args.panels {
		w := tileWalk{a: args.a, c: c, ars: args.ars, tileStride: args.tileStride, crs: args.crs,
			rows: args.rows, tall: args.tall}
		tile.b = b
		for range args.tiles {
			tile.rows = w.tile()
			tile.a, tile.c = w.a, w.c
			sgemmGeneric6x16(&tile)
			w.step(tile.rows)
		}
		b, c = b[min(args.k*genericNR, len(b)):], c[min(genericNR, len(c)):]
	}
}

// sgemmGeneric6x16 is one tile of a matrix product: for i < rows (1 to 6), j < 16
//
//	c[i*crs+j] = chain over p < k of fma(a[i*ars+p*acs], b[p*brs+j], ...)
//
// starting from the old value of c when acc is set, from +0 otherwise. next, from which
// step bytes are fetched into the cache for every fourth p, takes no part in it.
func sgemmGeneric6x16(args *panelArgs) {
	if compilerFuses {
		sgemmFused6x16(args)
		return
	}
	c, crs, rows := args.c, args.crs, args.rows // the others stay in args, off the registers of the loops
	// num.FMA32 written out: the partial sums are kept as float64 with the values of float32, and a
	// row of B is converted once for all rows.
	var s [genericMR][genericNR]float64
	if args.acc {
		for i := range rows {
			for j, v := range c[i*crs : i*crs+genericNR] {
				s[i][j] = float64(v)
			}
		}
	}
	var y [genericNR]float64
	for p := range args.k {
		for j, v := range args.b[p*args.brs:][:genericNR] {
			y[j] = float64(v)
		}
		for i := range rows {
			x := float64(args.a[i*args.ars+p*args.acs])
			si := &s[i]
			for j := range si {
				v := x*y[j] + si[j]
				if num.RoundsTwice(v) {
					v = float64(num.FMA32(float32(x), float32(y[j]), float32(si[j])))
				}
				si[j] = float64(float32(v))
			}
		}
	}
	for i := range rows {
		for j, v := range s[i] {
			c[i*crs+j] = float32(v)
		}
	}
}

// panelAtGeneric is a matrix product in which the rows of B lie anywhere, and may overlap, and the columns of A, too:
// tiles of rows rows, the first tall of them one row more (6 at most); for every row i of all tiles,
// j < 16*panels
//
//	c[i*crs+j] = chain over p < k of fma(a[i*ars+s_p], b[at[p]+j], ...)
//
// starting from the old value of c when acc is set, from +0 otherwise. s_p is p*steps[0] if stepsBy is 0, and the sum
// of the first p steps otherwise.
func panelAtGeneric(args *panelArgs) {
	const most = 64 // inner indices, whose rows of B are copied once for all tiles
	var copied [most * genericNR]float32
	together := most
	if args.stepsBy > 0 {
		together = 1
	}
	block := *args
	block.b, block.brs, block.tileStride, block.panels, block.acs = copied[:], genericNR, 0, 1, int(args.steps[0])
	for j := 0; j < args.panels*genericNR; j += genericNR {
		block.c = args.c[j:]
		here := 0
		for p0 := 0; p0 == 0 || p0 < args.k; p0 += together { // sets c even if k is 0
			block.k = min(together, args.k-p0)
			for p, o := range args.at[p0 : p0+block.k] {
				*(*[genericNR]float32)(copied[p*genericNR:]) = *(*[genericNR]float32)(args.b[int(o)+j:])
			}
			block.a, block.acc = args.a[here:], args.acc || p0 > 0
			panelGeneric(&block)
			if args.stepsBy > 0 {
				here += int(args.steps[p0])
			} else {
				here += together * block.acs
			}
		}
	}
}

// transposeGeneric sets dst[j*ds+i] = src[i*ss+j] for i < rows, j < cols.
func transposeGeneric(dst []float32, ds int, src []float32, ss, rows, cols int) {
	for i := range rows {
		to := dst[i:]
		for j, v := range src[i*ss : i*ss+cols] {
			to[j*ds] = v
		}
	}
}

// sgemmFused6x16 is sgemmGeneric6x16 for compilers that turn x*y + z of float32 into one instruction,
// which the language allows but does not promise.
func sgemmFused6x16(args *panelArgs) {
	a, b, c, acc := args.a, args.b, args.c, args.acc
	k, ars, acs, brs, crs, rows := args.k, args.ars, args.acs, args.brs, args.crs, args.rows
	for i := 0; i < rows; i += 2 { // two rows of four columns at a time stay in registers
		second := 0
		if i+1 < rows {
			second = 1
		}
		a0, a1 := i*ars, (i+second)*ars
		for j := 0; j < genericNR; j += 4 {
			c0, c1 := (*[4]float32)(c[i*crs+j:]), (*[4]float32)(c[(i+second)*crs+j:])
			var s00, s01, s02, s03, s10, s11, s12, s13 float32
			if acc {
				s00, s01, s02, s03 = c0[0], c0[1], c0[2], c0[3]
				s10, s11, s12, s13 = c1[0], c1[1], c1[2], c1[3]
			}
			for p := range k {
				y := (*[4]float32)(b[p*brs+j:])
				x0, x1 := a[a0+p*acs], a[a1+p*acs]
				s00 = x0*y[0] + s00
				s01 = x0*y[1] + s01
				s02 = x0*y[2] + s02
				s03 = x0*y[3] + s03
				s10 = x1*y[0] + s10
				s11 = x1*y[1] + s11
				s12 = x1*y[2] + s12
				s13 = x1*y[3] + s13
			}
			*c0 = [4]float32{s00, s01, s02, s03}
			*c1 = [4]float32{s10, s11, s12, s13}
		}
	}
}

// compilerFuses reports whether sgemmFused6x16 has the bits of num.FMA32: on arm64, ppc64le, riscv64,
// s390x, and on amd64 from GOAMD64=v3. The loop itself is tested at start: (1+2^-12)^2 - (1+2^-11) is
// 2^-24 if it is rounded once, otherwise 0.
var compilerFuses = func() bool {
	const rows = genericMR
	a := []float32{1 + 0x1p-12, 1 + 0x1p-12, 1 + 0x1p-12, 1 + 0x1p-12, 1 + 0x1p-12, 1 + 0x1p-12}
	var b [genericNR]float32
	var c [rows * genericNR]float32
	for j := range b {
		b[j] = 1 + 0x1p-12
	}
	for i := range c {
		c[i] = -1 - 0x1p-11
	}
	sgemmFused6x16(&panelArgs{k: 1, a: a, ars: 1, acs: 1, b: b[:], c: c[:], crs: genericNR, rows: rows, acc: true})
	for _, v := range c {
		if v != 0x1p-24 {
			return false
		}
	}
	return true
}()
