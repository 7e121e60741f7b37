package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/engine"
)

// torch times the ascent and whole training steps against PyTorch: in the published form,
// which differentiates the potential at every step and trains the classifier only, and in
// that of an expert (torch_rival.py).
func torch(ctx context.Context, s *settings) error {
	if !s.wants("torch") {
		return nil
	}
	dir, err := workspace()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	rivals, err := startAll(s, dir, "torch_rival.py")
	if errors.Is(err, errMissing) {
		fmt.Println("\ntorch: skipped: no Python with PyTorch (Debian: apt-get install python3-torch libopenblas0-openmp)")
		return nil
	}
	if err != nil {
		return err
	}
	defer stopAll(rivals)
	fmt.Printf("\nThe DPN against PyTorch\n")
	fmt.Println(rivals[0].about)

	digits, err := digitInputs(ctx, 20, 30, 128)
	if err != nil {
		return err
	}
	all := []torchWork{
		{"forward, published form", "forward-published", (*network).forward},
		{"forward, expert's form", "forward-expert", (*network).forward},
		{"classifier's step, published form", "train-published", (*network).trainHead},
		{"training step, expert's form", "train-expert", (*network).train},
	}
	for _, c := range []struct {
		in   *inputs
		work []torchWork
	}{
		{softInputs(64, 20, 30, 128), all},
		{softInputs(784, 20, 30, 128), all},
		{digits, all[3:]}, // of our times only that of this one could depend on how many count
	} {
		if err := torchShape(ctx, s, dir, rivals, c.in, c.work); err != nil {
			return err
		}
	}
	return nil
}

// torchWork is work of the rival by name, and ours that comes to the same.
type torchWork struct {
	title, theirs string
	ours          func(*network)
}

func torchShape(ctx context.Context, s *settings, dir string, rivals []*child, in *inputs, work []torchWork) error {
	fmt.Printf("\n%v\n", in)
	if err := in.write(filepath.Join(dir, "inputs")); err != nil {
		return err
	}
	var contend []contender // ours and theirs, by work, then threads
	for i, threads := range threadCounts {
		e, err := engine.New(engine.WithTier(s.tier), engine.WithThreads(threads))
		if err != nil {
			return err
		}
		defer e.Close()
		n, r := newNetwork(e, in), rivals[i]
		loaded, err := r.ask("load", in.d, in.k, in.n, in.rows, classes)
		if err != nil {
			return err
		}
		fmt.Printf("expert's fastest way, threads %d: forward %s, training step %s\n", threads, loaded.Fastest["forward"], loaded.Fastest["train"])
		if err := compareTorch(n, r, work); err != nil {
			return err
		}
		for _, w := range work {
			contend = append(contend,
				func() (float64, error) { return seconds(func() { w.ours(n) }, s.least), nil },
				r.time(w.theirs, s.least))
		}
	}
	times, err := inTurn(ctx, s, contend)
	if err != nil {
		return err
	}
	fmt.Println()
	header()
	for i, w := range work {
		var ours, theirs [][]float64
		for t := range threadCounts {
			at := 2 * (t*len(work) + i)
			ours, theirs = append(ours, times[at]), append(theirs, times[at+1])
		}
		rows(w.title, ours, theirs)
	}
	return nil
}

// tolerance is the largest difference between the sides, relative to the largest element
// of a result. Both compute in float32: a product of d terms is off by sqrt(d) to d
// roundings (784 * 2^-24 = 5e-5), and an ascent to a maximum damps the errors of its
// steps. A mistake in a formula is off by a tenth or more.
const tolerance = 1e-3

// compareTorch compares x_n, the loss and the gradients of all parameters that learn, in
// the forms that will be timed.
func compareTorch(n *network, r *child, work []torchWork) error {
	type result struct {
		name string
		x    []float32
	}
	n.gradients()
	published := []result{{"x_n", n.x.Data}, {"loss", []float32{n.loss()}}, {"dW", n.dw}, {"db", n.db}}
	expert := append(published[:4:4], result{"dalpha", n.alphaGrad}, result{"dmu", n.grad.Mu}, result{"dA", n.grad.A})
	if n.in.soft { // otherwise dc is rounding errors
		expert = append(expert, result{"dc", n.grad.C})
	}
	for form, want := range map[string][]result{"published": published, "expert": expert} {
		if !slices.ContainsFunc(work, func(w torchWork) bool { return strings.HasSuffix(w.theirs, form) }) {
			continue
		}
		got, err := r.results("gradients-" + form)
		if err != nil {
			return err
		}
		for _, w := range want {
			if err := near(fmt.Sprintf("%s: %s form: %s", r.name, form, w.name), got.next(len(w.x)), w.x, tolerance); err != nil {
				return err
			}
		}
	}
	return nil
}
