// Package dpn is the Denoising Potential Network: pixels become features, features move
// uphill on a learned potential, a linear classifier reads where they end.
//
// A [Config] holds every setting; [Preset] gives some that are known to work. [New] makes
// a [Model], [Model.Fit] trains it, [Model.Predict] and [Model.Score] use it,
// [Model.Analyze] measures how it separates classes, [Model.Save] and [Load] keep it in a
// safetensors file with the keys of the published state dictionary. All take a
// context that cancels and an engine that computes. See the example.
//
// [Potential.Landscape], [Model.Trace], [Model.CompareFields], [Model.Rises] and
// [Model.FixedPoints] look into the energy landscape and the ascents on it.
//
// # The mathematics
//
// The potential is phi(x) = log sum_i exp(c_i - q_i(x)/2) with q_i(x) = |A_i (x - mu_i)|^2:
// the log of a mixture of Gaussians with precisions P_i = A_i^T A_i. The ascent x_{t+1} =
// x_t + alpha grad phi(x_t) runs n steps. Training goes back through all of them exactly
// (gradient "exact"); the published reference cuts the gradient after every step, so
// that mu, A, c and alpha never learn ("detached"). Shapes: x and mu_i have d features,
// A_i is d x d, there are k components and the classifier is classes x d.
//
// # Results that repeat
//
// Training is a function of settings and pictures: its weights have the same bits on
// every machine, tier and number of threads ([Model.WeightsSHA256]). Everything random
// comes from Config.Seed. A finished epoch is never lost: [Model.Fit] writes model,
// metrics and state by rename, and resumes from them with the same bits.
package dpn
