// Package dpn is the Denoising Potential Network: an extractor turns a sample into features, n
// steps of gradient ascent move the features uphill on a learned potential, and a linear
// classifier labels the points where they end.
//
//	data, err := dataset.New("mine", train, test, nil) // samples of one's own, or source.Open("mnist", ...)
//	config, err := dpn.Preset("compact")               // every setting is a field
//	config = config.For(data)                          // a small set takes more epochs
//	model, err := dpn.New(config, data)
//	_, err = model.Fit(ctx, e, data.Train, dpn.FitOptions{})
//	score, err := model.Score(ctx, e, data.Test)
//
// A [Config] holds every setting; [Preset] returns settings that are known to work, and [Config.For] gives a small set
// more epochs and fewer components. [New] makes a [Model], [Model.Fit] trains it, [Model.Predict] and [Model.Score]
// apply it, [Model.Save] and [Load] store it as a safetensors file with the keys of the published state dictionary.
//
// Functions that process images take a context, which cancels them, and the engine that
// computes. example_test.go is a whole program.
//
// To read the code, start with trainer.go: a [Trainer] makes one update, from the images of a
// minibatch to the step of the optimiser. fit.go is the loop around it, epoch.go one pass over
// the training images, folder.go what is written after each. The potential itself is package
// potential, the analysis of a trained model package study.
//
// # Training
//
// Training goes back through all ascent steps exactly (Config.Gradient "exact"). The published
// reference detaches the state after every step, so that the potential never learns ("detached").
// Centres start from k-means over all features or in each class, from random features, or from
// a whole mixture fitted by EM (Config.Init, [Inits]).
//
// The loss is the cross-entropy of the classifier, plus three optional terms:
//
//   - Config.Denoising times the mean of (x_n - f)^2 over the noisy rows and the features. Half of
//     each minibatch gets noise (Config.NoiseMax, [layer.Noise]); f are the features of the same
//     images without noise. No gradient goes to f.
//   - Config.NLL times the negative log-likelihood of the features under the mixture, over d.
//   - Config.Score times denoising score matching (Vincent 2011).
//
// The last two are in package potential. They take the features x_0 as they are used, with
// noise if there is any, and send no gradient to the extractor, for which constant features
// would be optimal, nor to alpha.
//
// [Diagnostics] show after every epoch whether training is in its healthy range; a [Warning] names
// the settings to change if it is not. [NotFiniteError] and [NotDefiniteError] stop it.
//
// # Reproducibility
//
// Trained weights are a function of settings and images: they have the same bits on every
// machine, tier and number of threads ([Model.WeightsSHA256]). All random numbers come from
// Config.Seed. Gradients of Config.Shards pieces of each minibatch are added in a fixed order
// (shards.go), so that several ranks compute them together, with the same bits whatever their
// number (FitOptions.Comm, ranks.go). [Model.Fit] leaves the best finished epoch in the model even if it stops early.
// In a folder, a kill loses what came after the last save (FitOptions). Files are replaced atomically, and resuming
// gives the same bits. Model and state carry a checksum, and a damaged file is refused.
package dpn
