// Package potential is the learned energy landscape of a Denoising Potential Network. It knows
// features, but no network.
//
//	clusters, err := potential.KMeans(ctx, e, x, 2, 1) // x: features, a row each; 2 centres; seed 1
//	fmt.Println(clusters.Centres.Row(0), clusters.Assignment)
//
// The potential of k components in d dimensions is
//
//	phi(x) = log sum_i exp(c_i - q_i(x)/2),   q_i(x) = (x - mu_i)^T P_i (x - mu_i)
//
// the log of a mixture of Gaussians with precisions P_i, up to a constant: phi is minus the energy.
// An ascent runs n steps x_{t+1} = x_t + alpha grad phi(x_t). x and mu_i have d features; the
// responsibilities r_i are the softmax of c_i - q_i/2.
//
// A [Potential] holds the parameters mu, c, alpha and the precisions. [Potential.Ascend] moves
// features, [Potential.Evaluate] computes phi and r, [Potential.Walk] shows every step. Training
// uses [Potential.Forward], [Potential.Backward] and what follows them in gradient.go;
// [Likelihood] and [ScoreMatching] are losses that make exp(phi) the density of the features.
//
// Without a network, [KMeans] and [Potential.EM] fit the mixture, [Potential.Sampler] draws
// exact samples from it, [Potential.Langevin] runs Markov chains on it. [Potential.Evaluate64],
// [Potential.Hessian] and [Potential.Spectrum] are float64 references. See example_test.go.
//
// # Forms of the precisions
//
// A [Form] says how P_i depends on the tensors that learn. The settings s0 (Settings.Scale) and
// eps do not learn. Package [dpnbench/engine/ascent] works on weights w_i and factors F_i and returns
// dL/dw_i and dL/dF_i (or dL/dA_i); the last column turns them into gradients of the tensors:
//
//	full     P_i = A_i^T A_i                            A_i d x d
//	tied     P_i = A^T A                                A d x d
//	diag     P_i = s0^2 diag(exp(2 l_i))                l_i d numbers, dl_i = 2 w_i * dw_i
//	lowrank  P_i = s0^2 (diag(exp(2 l_i)) + R_i^T R_i)  R_i r x d, dR_i = s0 dF_i
//	flat     P_i = s0^2 (I - (1-eps) U_i^T U_i)         U_i r x d, orthonormal rows, dU_i = dF_i
//
// All stay positive definite: diag and lowrank by the exponential; flat because the rows of U_i
// are made orthonormal again after every update (dU_i is the gradient as if its elements were
// free); full and tied unless A becomes singular ([Potential.CheckDefinite]).
//
// A new form is a file with the methods of the interface form, such as lowrank.go, and an entry
// in the table of form.go.
package potential
