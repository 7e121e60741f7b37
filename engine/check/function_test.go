package check

import (
	"context"
	"math"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"gonum.org/v1/gonum/blas/gonum"
)

// naive are plain loops, correct for everything that a function is checked for.
func naive() []*Function {
	each := func(f func(float64) float64) func(y, x []float32) {
		return func(y, x []float32) {
			for i, v := range x {
				y[i] = float32(f(float64(v)))
			}
		}
	}
	return []*Function{
		Gemm("naive", true, naiveGemm),
		MatMul("naive", func(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
			naiveGemm(&GemmCall{M: m, N: n, K: k, Alpha: 1, A: a, LDA: lda, B: b, LDB: ldb, C: c, LDC: ldc})
		}),
		Dot("naive", func(x, y []float32) (s float32) {
			for i := range x {
				s += x[i] * y[i]
			}
			return s
		}),
		Exp("naive", each(math.Exp)),
		Log("naive", each(math.Log)),
		Softmax("naive", eachRow(naiveSoftmax)),
		LogSumExp("naive", eachRow(func(y, x []float32) {
			e := make([]float32, len(x))
			m, s := naiveExps(e, x)
			y[0] = m + float32(math.Log(float64(s)))
		})),
		LayerNorm("naive", func(r *RowsCall, eps float32) {
			eachRow(func(y, x []float32) { naiveNorm(y, x, eps) })(r)
		}),
		QuadForm("naive", func(r *RowsCall, mu, p []float32, ldp int) {
			for i := range r.Rows {
				var q float32
				for j := range r.N {
					for k := range r.N {
						q += (r.X[i*r.LDX+j] - mu[j]) * p[j*ldp+k] * (r.X[i*r.LDX+k] - mu[k])
					}
				}
				r.Y[i] = q
			}
		}),
	}
}

func naiveGemm(g *GemmCall) {
	at := func(x []float32, ld int, alongRows bool, i, j int) *float32 {
		if alongRows {
			return &x[i*ld+j]
		}
		return &x[i+j*ld]
	}
	for i := range g.M {
		for j := range g.N {
			var s float32
			if g.Alpha != 0 {
				for p := range g.K {
					s += *at(g.A, g.LDA, g.TransA == g.ColMajor, i, p) * *at(g.B, g.LDB, g.TransB == g.ColMajor, p, j)
				}
				s *= g.Alpha
			}
			if c := at(g.C, g.LDC, !g.ColMajor, i, j); g.Beta == 0 {
				*c = s
			} else {
				*c = g.Beta**c + s
			}
		}
	}
}

func eachRow(f func(y, x []float32)) func(r *RowsCall) {
	return func(r *RowsCall) {
		for i := range r.Rows {
			f(r.Y[i*r.LDY:], r.X[i*r.LDX:][:r.N])
		}
	}
}

// naiveExps sets e to exp(x - m) and returns m, the largest of x, and the sum.
func naiveExps(e, x []float32) (m, s float32) {
	m = x[0]
	for _, v := range x {
		m = max(m, v)
	}
	for j, v := range x {
		e[j] = float32(math.Exp(float64(v - m)))
		s += e[j]
	}
	return m, s
}

func naiveSoftmax(y, x []float32) {
	_, s := naiveExps(y[:len(x)], x)
	for j := range x {
		y[j] /= s
	}
}

func naiveNorm(y, x []float32, eps float32) {
	n := float32(len(x))
	var sum, square float32
	for _, v := range x {
		sum += v
	}
	for _, v := range x {
		square += (v - sum/n) * (v - sum/n)
	}
	for j, v := range x {
		y[j] = (v - sum/n) / float32(math.Sqrt(float64(square/n+eps)))
	}
}

// oneGoroutine skips a test under the race detector: it has one goroutine, so nothing can race.
func oneGoroutine(t *testing.T) {
	t.Helper()
	if raced {
		t.Skip("has one goroutine, in which nothing can race: without -race")
	}
}

// TestFunctions checks that correct functions pass, all their results repeat, and that their cases can be
// read back. With -short it takes the quick cases, and no sgemm.
func TestFunctions(t *testing.T) {
	oneGoroutine(t)
	for _, f := range naive() {
		if testing.Short() && f.Kernel() == "sgemm" {
			continue // takes longest under emulation, and TestGonum has its cases
		}
		r, err := Run(context.Background(), Options{Function: f, Quick: testing.Short() || raced})
		if err != nil {
			t.Fatal(err)
		}
		row := r.Functions[0]
		for _, finding := range row.Findings {
			t.Errorf("%s: %+v", f.Kernel(), finding)
		}
		for _, p := range row.Repeats {
			compared := p.Over != overThreads && (f.Kernel() != "dot" || p.Over == overCalls || p.Over == overAlignment)
			if compared != (p.Cases > 0) || p.Differ > 0 {
				t.Errorf("%s: %+v", f.Kernel(), p)
			}
		}
		if !(row.MaxErrorRatio <= 1) || row.Cases < 20 || r.Cases != row.Cases {
			t.Errorf("%+v", row)
		}
		t.Logf("%-12s %4d cases, %d ULP, ratio %.3f", f.Kernel(), row.Cases, row.MaxULP, row.MaxErrorRatio)
		for _, c := range f.cases(true) {
			if back, err := f.ParseCase(c.String()); err != nil || back.String() != c.String() {
				t.Fatalf("%s reads back as %s, %v", c, back, err)
			}
		}
	}
}

// TestPanics checks that a function that panics, or touches memory outside, fails its case where it is called in
// another way than at first.
func TestPanics(t *testing.T) {
	for want, spoil := range map[string]func(m int, a []float32){
		"row 0 alone: panic: one row": func(m int, _ []float32) {
			if m == 1 {
				panic("one row")
			}
		},
		"operands 4 bytes behind a 64-byte boundary: panic: unaligned": func(_ int, a []float32) {
			if uintptr(unsafe.Pointer(unsafe.SliceData(a)))%64 == 4 {
				panic("unaligned")
			}
		},
		"row 2 alone: touched memory outside its operands": func(m int, a []float32) {
			if m == 1 { // of 13 floats; the third row ends at the page without access
				behind = *(*float32)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(a)), 4*13))
			}
		},
	} {
		f := MatMul("panics", func(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
			spoil(m, a)
			naiveGemm(&GemmCall{M: m, N: n, K: k, Alpha: 1, A: a, LDA: lda, B: b, LDB: ldb, C: c, LDC: ldc})
		})
		c, err := f.ParseCase("matmul:m=3")
		if err != nil {
			t.Fatal(err)
		}
		o := f.Try(c, true)
		kind := KindCrash
		if strings.HasSuffix(want, errFault.Error()) {
			kind = KindAccess
		}
		if unguarded := f.mem.open && kind == KindAccess; !unguarded && (o.Kind != kind || o.Reason != want) {
			t.Errorf("%s: %q, want %s: %q", o.Kind, o.Reason, kind, want)
		}
		f.Close()
	}
}

var behind float32

// TestGonum checks gonum's Sgemm, which leaves out products with zero, also with NaN and infinities, but not
// those with alpha = 0. Everything else is right.
func TestGonum(t *testing.T) {
	oneGoroutine(t)
	f := Sgemm("gonum", gonum.Implementation{}.Sgemm)
	procs := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(procs)
	f.SetThreads = func(n int) { runtime.GOMAXPROCS(n) }
	r, err := Run(context.Background(), Options{Function: f, Quick: testing.Short() || raced})
	if err != nil {
		t.Fatal(err)
	}
	row := r.Functions[0]
	for _, finding := range row.Findings {
		known := finding.Kind == KindAlpha && strings.Contains(finding.Common, "alpha=0") ||
			finding.Kind == KindSpecial && strings.Contains(finding.Common, "data=4")
		if !known {
			t.Errorf("%+v", finding)
		}
	}
	if len(row.Findings) != 2 {
		t.Errorf("%d findings, want 2", len(row.Findings))
	}
	for _, p := range row.Repeats {
		if p.Cases == 0 {
			t.Errorf("not compared: %+v", p)
		}
	}
	t.Logf("%+v", row)
}
