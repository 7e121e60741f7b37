// Package dpn is the Denoising Potential Network: pixels become features, features move
// uphill on a learned potential, a linear classifier reads where they end.
//
// A [Config] holds every setting; [Preset] gives some that are known to work. [New] makes
// a [Model], [Model.Fit] trains it, [Model.Predict] and [Model.Score] use it,
// [Model.Analyze] measures how it separates classes, [Model.Save] and [Load] keep it in a
// safetensors file with the keys of the published state dictionary. What goes over pictures
// takes a context that cancels and an engine that computes. See example_test.go.
//
// [Potential.Landscape], [Model.Trace], [Model.Rises] and
// [Model.FixedPoints] look into the energy landscape and the ascents on it; [Model.Study]
// gathers what there is to know of one model.
//
// Training begins with centres by k-means, in all of the features or in each class, with
// drawn features, or with a whole mixture fitted by [Potential.EM] (Config.Init, [Inits]).
// [NewPotential] makes a mixture of Gaussians for features without a network.
//
// [Potential.Sampler] draws from the mixture that the potential is the log of,
// [Model.Langevin] by chains, [Model.Read] says what the classifier makes of the samples.
//
// [Model.Confidence] gives the scores that tell whether a model knows a picture,
// [Model.StudyUncertainty] what they are worth.
//
// # The mathematics
//
// The potential is phi(x) = log sum_i exp(c_i - q_i(x)/2) with q_i(x) = (x - mu_i)^T P_i
// (x - mu_i): the log of a mixture of Gaussians with precisions P_i. The ascent x_{t+1} =
// x_t + alpha grad phi(x_t) runs n steps. Training goes back through all of them exactly
// (gradient "exact"); the published reference cuts the gradient after every step, so
// that mu, A, c and alpha never learn ("detached"). Shapes: x and mu_i have d features,
// there are k components and the classifier is classes x d.
//
// The precisions have one of these forms (Config.Form); all but the settings s0 and eps
// learn. The derivatives of the engine's parameters are those of [engine.Engine.AscendBackward]:
//
//	full     P_i = A_i^T A_i                            A_i d x d
//	tied     P_i = A^T A                                A d x d
//	diag     P_i = s0^2 diag(exp(2 l_i))                l_i of d numbers, dl_i = 2 w_i * dw_i
//	lowrank  P_i = s0^2 (diag(exp(2 l_i)) + R_i^T R_i)  R_i r x d, dR_i = s0 dF_i
//	flat     P_i = s0^2 (I - (1-eps) U_i^T U_i)         U_i r x d, orthonormal rows, dU_i = s0 sqrt(1-eps) dF_i
//
// All stay positive definite: diag and lowrank by the exponential, flat because the rows of
// U_i are made orthonormal again after every update (dU_i is taken as if its elements were
// free), full and tied unless A becomes singular. [Model.Fit] checks it after every epoch
// ([NotDefiniteError]). [Potential.Precision] gives P_i in any form.
//
// Training may add noise to half of each minibatch (Config.NoiseMax, [layer.Noise]), and
// to the cross-entropy Config.Denoising times a denoising loss: the mean over noisy rows and
// features of (x_n - f)^2, where f are the features of the same pictures without noise, to
// which no gradient goes. [Model.ScoreCorrupted] measures what noise and other corruptions
// leave of a model.
//
// Two more losses make the potential the log of a density of the features. Config.NLL weighs
// their negative log-likelihood under the mixture, over d; Config.Score denoising score
// matching (Vincent 2011), the mean over rows and features of (sigma grad phi(x + sigma eps)
// + eps)^2 with normal eps. They take the features x_0 as they are used, with the noise of
// Config.NoiseMax where there is some, and send no gradient to the extractor, because features
// that are all the same would be best, nor to alpha. density.go has the formulas.
//
// [Diagnostics] say after every epoch whether training is in its healthy range, and a
// [Warning] which settings to change when it is not.
//
// The features are the pixels (extractor "identity"), or come from a linear map, an MLP or
// two convolutions, made of the layers of package layer.
//
// # Results that repeat
//
// Training is a function of settings and pictures: its weights have the same bits on
// every machine, tier and number of threads ([Model.WeightsSHA256]). Everything random
// comes from Config.Seed. A finished epoch is never lost: [Model.Fit] leaves the best one in
// the model also where it ends early, writes model, metrics and state by rename (given a
// folder), and resumes from them with the same bits. Model and state
// carry a checksum: a damaged file is refused.
package dpn
