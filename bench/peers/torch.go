package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
)

// torch times the ascent and whole training steps against PyTorch: in the published form,
// which differentiates the potential at every step and trains the classifier only, and in
// that of an expert (torch_peer.py).
func torch(ctx context.Context, s *settings) error {
	if !s.wants("torch") {
		return nil
	}
	dir, remove, err := workspace()
	if err != nil {
		return err
	}
	defer remove()
	peers, err := startAll(s, dir, "torch_peer.py")
	if errors.Is(err, errMissing) {
		fmt.Println("\ntorch: skipped: no Python with PyTorch (Debian: apt-get install python3-torch " +
			"libopenblas0-openmp)")
		return nil
	}
	if err != nil {
		return err
	}
	defer stopAll(peers)
	fmt.Printf("\nThe DPN against PyTorch\n")
	fmt.Println(peers[0].about)

	digits, err := digitInputs(ctx, 20, 30, 128, 0)
	if err != nil {
		return err
	}
	trained, err := digitInputs(ctx, 20, 30, 128, trainedNoise)
	if err != nil {
		return err
	}
	all := []torchWork{
		{"forward, published form", "forward-published", (*network).forward, routes[:1]},
		{"forward, expert's form", "forward-expert", (*network).forward, routes},
		{"classifier's step, published form", "train-published", (*network).trainHead, routes[:1]},
		{"training, expert's form", "train-expert", (*network).train, routes},
	}
	expert := []torchWork{all[1], all[3]}
	for _, c := range []struct {
		in   *inputs
		work []torchWork
	}{
		{softInputs(64, 30, 128), all},
		{softInputs(784, 30, 128), all},
		{digits, expert},
		{trained, expert},
	} {
		if err := torchShape(ctx, s, dir, peers, c.in, c.work); err != nil {
			return err
		}
	}
	return nil
}

// routes are those of our side; the default comes first.
var routes = []ascent.Route{ascent.AutoRoute, ascent.DenseRoute, ascent.SparseRoute}

// torchWork is work of the peer by name, and the same work of ours, by some routes.
type torchWork struct {
	title, theirs string
	ours          func(*network)
	routes        []ascent.Route
}

func torchShape(ctx context.Context, s *settings, dir string, peers []*child, in *inputs, work []torchWork) error {
	fmt.Printf("\n%v\n", in)
	if err := in.write(filepath.Join(dir, "inputs")); err != nil {
		return err
	}
	var contend []contender // ours by all routes and theirs, by work, then threads
	for i, threads := range s.threads {
		ours := map[ascent.Route]*network{}
		e, err := engine.New(engine.WithTier(s.tier), engine.WithThreads(threads))
		if err != nil {
			return err
		}
		defer e.Close()
		for _, route := range routes {
			ours[route] = newNetwork(e, in)
			ours[route].m.Route = route
		}
		r := peers[i]
		loaded, err := r.ask("load", in.d, in.k, in.n, in.rows, classes)
		if err != nil {
			return err
		}
		fmt.Printf("expert's fastest way, threads %d: forward %s, training step %s\n", threads,
			loaded.Fastest["forward"], loaded.Fastest["train"])
		if err := compareTorch(ours[ascent.DenseRoute], r, work); err != nil {
			return err
		}
		if err := compareRoutes(ours); err != nil {
			return err
		}
		for _, w := range work {
			for _, route := range w.routes {
				n := ours[route]
				contend = append(contend, func() (float64, error) {
					return seconds(func() { w.ours(n) }, s.least),
						nil
				})
			}
			contend = append(contend, r.time(w.theirs, s.least))
		}
	}
	times, err := inTurn(ctx, s, contend)
	if err != nil {
		return err
	}
	fmt.Println()
	header()
	each, at := len(times)/len(s.threads), 0
	for _, w := range work {
		for j, route := range w.routes {
			var ours, theirs [][]float64
			for t := range s.threads {
				ours, theirs = append(ours, times[t*each+at+j]), append(theirs, times[t*each+at+len(w.routes)])
			}
			title := w.title
			if len(w.routes) > 1 {
				title += ", " + route.String()
			}
			rows(s, title, ours, theirs)
		}
		at += len(w.routes) + 1
	}
	return nil
}

// compareRoutes checks that all routes give the same bits, and prints what the sparse one
// computed.
func compareRoutes(ours map[ascent.Route]*network) error {
	dense := ours[ascent.DenseRoute]
	for _, route := range routes {
		n := ours[route]
		n.gradients()
		for i, p := range n.params {
			for j, v := range p.grad {
				if w := dense.params[i].grad[j]; math.Float32bits(v) != math.Float32bits(w) {
					return fmt.Errorf("route %v: gradient %d, element %d is %v, %v by the dense one", route, i, j, v, w)
				}
			}
		}
	}
	w := ours[ascent.SparseRoute].m.Work()
	active, evaluated := 0.0, 0.0
	for _, s := range w.PerRow() {
		active += s.Active
		evaluated += s.Computed
	}
	n := float64(w.Steps)
	fmt.Printf("components of %d a row and step: %.2f active, %.2f computed by the sparse route; auto takes the %v "+
		"one\n",
		w.Components, active/n, evaluated/n, ours[ascent.AutoRoute].m.Work().Route)
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
			if err := near(fmt.Sprintf("%s: %s form: %s", r.name, form, w.name), got.next(len(w.x)), w.x,
				tolerance); err != nil {
				return err
			}
		}
	}
	return nil
}
