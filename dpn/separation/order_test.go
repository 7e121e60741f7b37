package separation

import (
	"context"
	"math"
	"strings"
	"testing"

	"dpnbench/engine/num"
	"dpnbench/internal/longtest"
)

// written returns classes of samples by writers in turn, whose samples of all classes are shifted alike, and the
// same samples in random order.
func written(seed uint64, writers, perWriter int) (ordered, shuffled Set) {
	const dim, classes = 6, 3
	r := num.NewRand(seed, 0)
	ordered.Dim, shuffled.Dim = dim, dim
	shift, x := make([]float32, dim), make([]float32, dim)
	for range writers {
		r.Normal(shift)
		for i := range perWriter {
			r.Normal(x)
			k := i % classes
			for j := range x {
				x[j] += shift[j]
			}
			x[k] += 3
			ordered.X, ordered.Labels = append(ordered.X, x...), append(ordered.Labels, uint16(k))
		}
	}
	order := make([]int32, len(ordered.Labels))
	r.Permutation(order)
	for _, i := range order {
		shuffled.X = append(shuffled.X, ordered.X[int(i)*dim:(int(i)+1)*dim]...)
		shuffled.Labels = append(shuffled.Labels, ordered.Labels[i])
	}
	return ordered, shuffled
}

// TestOrder checks that the order of samples is noticed where it carries structure, and only there, and that whole
// blocks are drawn then.
func TestOrder(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	o := BootstrapOptions{Draws: 200, Seed: 1}
	ordered, shuffled := written(1, 20, 60)
	a, err := Bootstrap(ctx, e, ordered, o)
	if err != nil {
		t.Fatal(err)
	}
	b, err := Bootstrap(ctx, e, shuffled, o)
	if err != nil {
		t.Fatal(err)
	}
	if a.Blocks != orderBlocks || !(a.Order > 3) {
		t.Errorf("by writers: %d blocks, order ratio %v", a.Blocks, a.Order)
	}
	if b.Blocks != 0 || !(math.Abs(float64(b.Order)-1) < 0.25) {
		t.Errorf("in random order: %d blocks, order ratio %v", b.Blocks, b.Order)
	}
	width := func(s *Sampling) float64 { return math.Log(float64(s.CI[1] / s.CI[0])) }
	if !(width(a) > 1.2*width(b)) {
		t.Errorf("the interval by writers is %v, in random order %v: no wider", a.CI, b.CI)
	}
	if note := OrderNote([]Layer{{Sampling: a}, {Sampling: b}, {}}); !strings.Contains(note, "in the same shares") {
		t.Errorf("note %q", note)
	}
	if note := OrderNote([]Layer{{Sampling: b}, {}}); note != "" {
		t.Errorf("without order: note %q", note)
	}
	few, _ := written(1, 3, 60)
	if s, err := Bootstrap(ctx, e, few, o); err != nil || s.Blocks != 0 || s.Order.IsFinite() {
		t.Errorf("few samples: %+v (%v)", s, err)
	}
}

// TestLeastOrder checks that the order counts where it moves the means of blocks by more than 10%, however certain it
// is that it moves them.
func TestLeastOrder(t *testing.T) {
	longtest.Native(t)
	const dim, classes, samples = 1500, 4, 10 // of a block and a class: 4 standard errors are 0.05
	e := newEngine(t)
	for _, c := range []struct {
		variance    float32 // of the shift of a block, that of a sample being 1: the order ratio is 1 + 10 times it
		least, most float64 // of the ratio
		counts      bool
	}{{0.008, 1.07, 1.09, false}, {0.02, 1.15, 1.28, true}} {
		r := num.NewRand(1, 0)
		s := Set{Dim: dim}
		shift, x := make([]float32, dim), make([]float32, dim)
		for range orderBlocks {
			r.Normal(shift)
			for i := range classes * samples {
				r.Normal(x)
				for j := range x {
					x[j] += float32(math.Sqrt(float64(c.variance))) * shift[j]
				}
				x[i%classes] += 3
				s.X, s.Labels = append(s.X, x...), append(s.Labels, uint16(i%classes))
			}
		}
		b, err := newBootstrap(context.Background(), e, s)
		if err != nil {
			t.Fatal(err)
		}
		if b.blocks != c.counts || !(b.order > c.least && b.order < c.most) {
			t.Errorf("order ratio %v: counts: %v, want %v and %v to %v", b.order, b.blocks, c.counts, c.least, c.most)
		}
	}
}

// TestOrderOfFewDimensions takes no samples in random order for ordered, however few directions lie outside the span of
// the class means: the standard error is that of all directions.
func TestOrderOfFewDimensions(t *testing.T) {
	e := newEngine(t)
	for _, size := range [][2]int{{1, 2}, {2, 3}, {3, 10}, {5, 2}} {
		dim, classes := size[0], size[1]
		ordered := 0
		for seed := range 25 {
			r := num.NewRand(uint64(seed), 0)
			s := Set{Dim: dim, X: make([]float32, dim*classes*300), Labels: make([]uint16, classes*300)}
			r.Normal(s.X)
			for i := range s.Labels {
				s.Labels[i] = uint16(i % classes)
				s.X[i*dim] += float32(s.Labels[i])
			}
			b, err := newBootstrap(context.Background(), e, s)
			if err != nil {
				t.Fatal(err)
			}
			if b.blocks {
				ordered++
			}
		}
		if ordered > 0 {
			t.Errorf("%d dimensions, %d classes: %d of 25 sets in random order are taken for ordered", dim, classes,
				ordered)
		}
	}
}

// TestDrawBlocks checks that every class keeps its number of samples, and that whole blocks are drawn.
func TestDrawBlocks(t *testing.T) {
	b := &bootstrap{sc: &scatter{counts: []int{200, 333}}, first: []int{0, 200, 533}}
	for seed := range uint64(20) {
		w := make([]float32, 533)
		for i := range w {
			w[i] = -1
		}
		b.drawBlocks(w, num.NewRand(seed, 0))
		for k, n := range b.sc.counts {
			var sum float32
			changes := 0
			for i := range n {
				v := w[b.first[k]+i]
				sum += v
				if v != w[b.first[k]+(i+1)%n] {
					changes++
				}
			}
			if sum != 0 || changes > 2*orderBlocks {
				t.Fatalf("seed %d, class %d: %v more samples than there are, %d changes", seed, k, sum, changes)
			}
		}
	}
}

// TestOrderOfLayers checks that loads have draws in common where one layer has structure and another has not.
func TestOrderOfLayers(t *testing.T) {
	ordered, _ := written(1, 20, 60)
	plain := Set{X: make([]float32, len(ordered.X)), Dim: ordered.Dim, Labels: ordered.Labels}
	num.NewRand(2, 0).Normal(plain.X)
	for i, y := range plain.Labels {
		plain.X[i*plain.Dim+int(y)] += 9
	}
	d, err := MeasureDepth(context.Background(), []LayerInput{{Name: "input", Input: ordered},
		{Name: "last", Input: plain}}, Options{Engine: newEngine(t), Draws: 40, Seed: 1}, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range d.Layers {
		if l.Sampling.Blocks != orderBlocks {
			t.Errorf("%s: %d blocks", l.Name, l.Sampling.Blocks)
		}
	}
	if order := float64(d.Layers[1].Sampling.Order); !(order < leastOrder) {
		t.Errorf("the order of independent samples counts: %v", order)
	}
	if len(d.Loads) != 1 || d.Loads[0].CI == nil {
		t.Errorf("loads %+v", d.Loads)
	}
}
