package order

import (
	"math"
	"strings"
	"testing"

	"dpnbench/engine/num"
)

// randomTree returns a random tree of the terms, of nodes of 2 to 5 children.
func randomTree(r *num.Rand, terms []int, products, multi bool) *Node {
	if len(terms) == 1 {
		return &Node{Leaf: terms[0], Fused: products && r.Intn(2) == 1}
	}
	k := 2
	if multi && r.Intn(3) == 0 {
		k += r.Intn(4)
	}
	k = min(k, len(terms))
	r2 := make([]int32, len(terms))
	r.Permutation(r2)
	parts := make([][]int, k)
	for i, at := range r2 {
		part := i // each part has a term at least
		if i >= k {
			part = r.Intn(k)
			if r.Intn(2) == 0 {
				part = 0 // deep trees, too
			}
		}
		parts[part] = append(parts[part], terms[at])
	}
	var children []*Node
	for _, part := range parts {
		children = append(children, randomTree(r, part, products, multi))
	}
	n := sum(children...)
	n.Exact = k > 2 && r.Intn(2) == 1
	return n
}

// TestFindsRandomOrders finds random orders of an interpreter: of two and more terms at a time, fused or not, of all
// precisions.
func TestFindsRandomOrders(t *testing.T) {
	r := num.NewRand(7, 0)
	trees := 300
	if testing.Short() {
		trees = 30
	}
	for i := range trees {
		n := Least + r.Intn(40)
		want := &Order{N: n, Kind: Kind(r.Intn(2)), Bits: []int{8, 11, 24, 53}[i%4], Verified: true}
		terms := make([]int, n)
		for k := range terms {
			terms[k] = k
		}
		want.Root = randomTree(r, terms, want.Kind == Products, i%3 > 0)
		if len(want.Root.Children) == n && want.Root.Exact {
			want.Bits = 0 // nothing is lost before the last rounding
		}
		got, err := Find(n, want.Kind, want.Eval)
		if err != nil {
			t.Fatalf("%d: %v: %v", i, want.Root, err)
		}
		if !got.Equal(want) {
			t.Fatalf("%d: found %v, %d bits, verified %t, of %v, %d bits", i, got.Root, got.Bits, got.Verified,
				want.Root, want.Bits)
		}
	}
}

// chained returns an order of a chain of fused multiply-adds from 0 on.
func chained(n int) *Order {
	o := &Order{N: n, Root: chain(0, 1, n), Bits: 24, Verified: true}
	o.Root.each(func(x *Node) { x.Fused = len(x.Children) == 0 && x.Leaf > 0 })
	return o
}

// lanes returns a tree of n terms in l lanes, which over(l) adds.
func lanes(l, n int, over func(n int) *Node) *Node {
	var build func(x *Node) *Node
	build = func(x *Node) *Node {
		if len(x.Children) == 0 {
			return chain(x.Leaf, l, n)
		}
		return sum(build(x.Children[0]), build(x.Children[1]))
	}
	return build(over(l))
}

// TestDescribe names patterns.
func TestDescribe(t *testing.T) {
	blocks := func(sizes ...int) *Node {
		var x *Node
		at := 0
		for _, s := range sizes {
			b := leaf(at)
			for i := 1; i < s; i++ {
				b = sum(b, leaf(at+i))
			}
			if at += s; x == nil {
				x = b
			} else {
				x = sum(x, b)
			}
		}
		return x
	}
	var halves func(lo, hi int) *Node
	halves = func(lo, hi int) *Node {
		if hi-lo <= 8 {
			return chain(lo, 1, hi)
		}
		mid := (lo + hi) / 2
		return sum(halves(lo, mid), halves(mid, hi))
	}
	flat := sum(leaf(0), leaf(1), leaf(2), leaf(3), leaf(4))
	fours := sum(sum(leaf(0), leaf(1), leaf(2), leaf(3)), leaf(4), leaf(5), leaf(6), leaf(7))
	for _, c := range []struct {
		want string
		tree *Node
	}{
		{"chain", chain(0, 1, 300)},
		{"chain from the last term", chain(0, 1, 9).reversed()},
		{"4, 2, 1 apart", halvesApart(7)},
		{"neighbours, pairwise", neighbours(11)},
		{"all 5 at once", flat},
		{"chain, 4 terms at a time", fours},
		{"16 lanes, then 8, 4, 2, 1 apart", lanes(16, 100, halvesApart)},
		{"16 lanes, then 8, 4, 2, 1 apart", lanes(16, 17, halvesApart)},
		{"8 lanes, then neighbours, pairwise", lanes(8, 64, neighbours)},
		{"4 lanes, then chain", lanes(4, 64, func(n int) *Node { return chain(0, 1, n) })},
		{"32 lanes, then 8 lanes, then 4, 2, 1 apart",
			lanes(32, 128, func(int) *Node { return lanes(8, 32, halvesApart) })},
		{"3 blocks of 16 (chain), then 5 (chain)", blocks(16, 16, 16, 5)},
		{"32 (8 lanes, then 4, 2, 1 apart), then 3 terms one by one",
			sum(sum(sum(lanes(8, 32, halvesApart), leaf(32)), leaf(33)), leaf(34))},
		{"halves, down to 6 to 7 terms (chain)", halves(0, 50)},
		{"a tree of depth 3", sum(sum(leaf(0), leaf(3)), sum(sum(leaf(1), leaf(5)), sum(leaf(4), leaf(2))))},
	} {
		if got := describe(c.tree); got != c.want {
			t.Errorf("%v: %q, want %q", c.tree, got, c.want)
		}
	}
}

// TestNotASum checks the errors for functions that are not sums in a fixed order, and the verdict on those that
// round in another way.
func TestNotASum(t *testing.T) {
	calls := 0
	for name, c := range map[string]struct {
		f    Func
		want string // of the error; empty: not verified
	}{
		"constant": {func(a, b []float32) float32 { return 3 }, "M - M is not 0"},
		"maximum": {func(a, b []float32) float32 {
			m := a[0]
			for _, v := range a {
				m = max(m, v)
			}
			return m
		}, "M - M is not 0"},
		"zero": {func(a, b []float32) float32 { return 0 }, "1 at 2 give 0, expected 1"},
		"no last term": {func(a, b []float32) float32 {
			return chained(len(a)-1).Eval(a[:len(a)-1], b[:len(a)-1])
		}, "1 at 19 give 0, expected 1"},
		"another order at each call": {func(a, b []float32) float32 {
			calls++
			var s float32
			for i := range a {
				k := (i + calls) % len(a)
				s += float32(a[k] * b[k])
			}
			return s
		}, "contradict"},
		"rounds towards 0": {func(a, b []float32) float32 {
			var s float64
			for i := range a {
				s += float64(a[i] * b[i])
				s = math.Float64frombits(math.Float64bits(s) &^ (1<<29 - 1))
			}
			return float32(s)
		}, ""},
	} {
		o, err := Find(20, Products, c.f)
		switch {
		case c.want == "" && (err != nil || o.Verified):
			t.Errorf("%s: %v, %v", name, o, err)
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: %v, want an error with %q", name, err, c.want)
		}
	}
	if _, err := Find(2, Products, chained(2).Eval); err == nil {
		t.Error("2 terms")
	}
}

// TestFloat16Range finds an order where numbers above 65504 overflow.
func TestFloat16Range(t *testing.T) {
	half := func(x float64) float64 {
		if x = roundTo(x, 11); math.Abs(x) > 65504 {
			return math.Inf(int(math.Copysign(1, x)))
		}
		return x
	}
	sums := func(a, b []float32) float32 {
		var s float64
		for i := range a {
			s = half(s + half(float64(a[i])*float64(b[i])))
		}
		return float32(s)
	}
	o, err := Find(40, Products, sums)
	if err != nil || !o.Verified || o.Precision() != "float16" || o.Describe() != "chain" || o.Fusing() != "no" {
		t.Errorf("%+v, %v", o, err)
	}
	inputs := func(a, b []float32) float32 { // with float32 sums
		var s float32
		for i := range a {
			s += float32(half(float64(a[i])) * half(float64(b[i])))
		}
		return s
	}
	o, err = Find(40, Products, inputs)
	if err != nil || o.Verified || o.Precision() != "float32" || o.Describe() != "chain" {
		t.Errorf("inputs rounded: %+v, %v", o, err)
	}
}

// TestDraw draws a chain and a node of three.
func TestDraw(t *testing.T) {
	if got, want := chained(4).Draw(), `0 ──┐
1*──┴─┐
2*────┴─┐
3*──────┴─
`; got != want {
		t.Errorf("drew\n%s, want\n%s", got, want)
	}
	o := &Order{N: 7, Root: sum(sum(leaf(0), leaf(4), leaf(5)), sum(sum(leaf(1), leaf(2)), sum(leaf(3), leaf(6))))}
	if got, want := o.Draw(), `0 ──┐
4 ──┤
5 ──┴───┐
1 ──┐   │
2 ──┴─┐ │
3 ──┐ │ │
6 ──┴─┴─┴─
`; got != want {
		t.Errorf("drew\n%s, want\n%s", got, want)
	}
	if got := o.Root.String(); got != "((0+4+5)+((1+2)+(3+6)))" {
		t.Error(got)
	}
}
