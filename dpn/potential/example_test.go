package potential_test

import (
	"context"
	"fmt"

	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Cluster features of one's own.
func Example() {
	e, err := engine.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	ctx := context.Background()
	x := engine.View([]float32{0, 0, 9, 9, 0, 2, 9, 7}, 4, 2)
	clusters, err := potential.KMeans(ctx, e, x, 2, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(clusters.Centres.Row(0), clusters.Assignment)
	// Output: [0 1] [0 1 0 1]
}

// Draw from the mixture of Gaussians that a potential is the log of, move on from there by
// Langevin dynamics, and read the classes of where the chains end.
func ExamplePotential_Sampler() {
	data, err := source.Open("digits", source.Options{TrainSize: 500, TestSize: 100, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := engine.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	config, err := dpn.Preset("compact")
	if err != nil {
		fmt.Println(err)
		return
	}
	config.Dim, config.Epochs = 16, 1
	model, err := dpn.New(config, data)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if _, err := model.Fit(ctx, e, data.Train, dpn.FitOptions{}); err != nil {
		fmt.Println(err)
		return
	}

	sampler, err := model.Potential().Sampler(ctx, 1, e.Threads())
	if err != nil {
		fmt.Println(err)
		return
	}
	draws, err := sampler.Draw(ctx, 20, 1, e.Threads())
	if err != nil {
		fmt.Println(err)
		return
	}
	chains, err := model.Potential().Langevin(ctx, e, draws.X, potential.LangevinOptions{Adjusted: true, Steps: 100})
	if err != nil {
		fmt.Println(err)
		return
	}
	predictions, err := model.PredictFeatures(ctx, e, chains.X)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(predictions.Classes), "classes, most steps taken:", chains.Acceptance > 0.5)
	// Output: 20 classes, most steps taken: true
}

// Fit a mixture of Gaussians to features of one's own, without a network around it.
func ExamplePotential_EM() {
	e, err := engine.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	x := engine.NewMatrix(1000, 2) // two clouds, 8 apart
	num.NewRand(1, 0).Normal(x.Data)
	for i := range 500 {
		x.Row(i)[0] += 8
	}
	ctx := context.Background()
	clusters, err := potential.KMeans(ctx, e, x, 2, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err := dpn.Preset("compact")
	if err != nil {
		fmt.Println(err)
		return
	}
	mixture, err := dpn.NewPotential(config, clusters.Centres)
	if err != nil {
		fmt.Println(err)
		return
	}
	fit, err := mixture.EM(ctx, e, x, clusters.Assignment,
		potential.EMOptions{Iterations: 50, Tolerance: 1e-6, Ridge: 1e-3})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("converged: %v, log-likelihood %.0f\n", fit.Converged, fit.Final())
	// Output: converged: true, log-likelihood -4
}
