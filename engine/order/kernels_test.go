package order

import (
	"testing"

	"dpnbench/engine"
)

// contract returns the order that the engine promises for a sum of n terms.
func contract(operation string, n int) *Order {
	o := &Order{N: n, Bits: 24, Verified: true}
	switch operation {
	case "matmul", "matmul-transposed", "matmul-packed": // a chain of fused multiply-adds from +0 on
		o.Root = chain(0, 1, n)
	case "column-sums": // a chain in float64
		o.Root, o.Bits, o.Kind = chain(0, 1, n), 53, Terms
	default: // element j in lane j mod 16; the lanes 8 apart, then 4, 2, 1
		o.Root = lanes(min(16, n), n, halvesApart)
		switch operation {
		case "dot":
			o.Bits = 53
		case "sum":
			o.Bits, o.Kind = 53, Terms
		case "weighted-squares":
			o.Kind = Terms
		}
	}
	o.Root.each(func(x *Node) {
		if len(x.Children) > 0 || o.Kind == Terms {
			return
		}
		first := x.Leaf == 0 // of its chain: fma(a, b, 0) rounds the product
		if operation == "row-dots" {
			first = x.Leaf < 16
		}
		x.Fused = !first || o.Bits == 53 // where products are exact
	})
	return o
}

// TestContract finds the order that engine/doc.go promises, on every tier of this machine.
func TestContract(t *testing.T) {
	sizes := []int{3, 16, 33, 300}
	if testing.Short() {
		sizes = []int{3, 33}
	}
	for _, tier := range engine.Available() {
		e, err := engine.New(engine.WithTier(tier), engine.WithThreads(1))
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range OfEngine(e) {
			for _, n := range sizes {
				if n > 64 && x.Place != "" && x.Place != places[len(places)-1].String() {
					continue // slow in pure Go
				}
				got, err := Find(n, x.Kind, x.F)
				if err != nil {
					t.Fatalf("%v: %s %s, n %d: %v", tier, x.Operation, x.Place, n, err)
				}
				want := contract(x.Operation, n)
				if !got.Equal(want) {
					t.Errorf("%v: %s %s, n %d: %v, %d bits, verified %t; want %v, %d bits", tier, x.Operation, x.Place,
						n, got.Root, got.Bits, got.Verified, want.Root, want.Bits)
				}
			}
		}
		e.Close()
	}
}

// TestGonum finds orders of gonum and verifies them. Its products are chains: those of the engine where the compiler
// fuses (arm64), others elsewhere.
func TestGonum(t *testing.T) {
	for _, x := range OfGonum() {
		o, err := Find(33, x.Kind, x.F)
		if err != nil || !o.Verified {
			t.Errorf("%s %s: %v, %+v", x.Operation, x.Place, err, o)
			continue
		}
		equal := o.Equal(contract("matmul", 33))
		if x.Operation == "matmul" && (o.Describe() != "chain" || equal != (o.Fusing() == "yes")) {
			t.Errorf("matmul %s: %s, fused %s, equal to the engine: %t", x.Place, o.Describe(), o.Fusing(), equal)
		}
	}
}
