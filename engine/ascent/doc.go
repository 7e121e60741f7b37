// Package ascent moves points uphill on the log of a mixture of Gaussians, and takes the gradient of a
// loss back through all steps. It is built on package dpnbench/engine, has the same bits on every tier and
// number of threads, and knows nothing of networks or training.
//
//	m := ascent.NewMixture(k, d, mu, c)         // centres (k x d), log weights (k)
//	m.SetFactors(e, a)                          // P_i = A_i^T A_i, once per update of A
//	m.Ascend(e, alpha, steps, x, &tr, true)     // x: B points, moved in place; tr records the path
//	m.Backward(e, alpha, a, &tr, v, grad)       // v: dL/dx_n, becomes dL/dx_0
//
// # The forward pass
//
// The potential and a step uphill are
//
//	q_i(x)  = (x - mu_i)^T P_i (x - mu_i)      l_i = c_i - q_i/2
//	phi(x)  = log sum_i exp(l_i)               r_i = exp(l_i - phi)
//	x_{t+1} = x_t + alpha grad phi(x_t)        grad phi = - sum_i r_i G_i,  G_i = P_i (x - mu_i)
//
// phi is the potential, r_i the responsibility of component i. A responsibility below 2^-30 of the largest is
// exactly 0 (engine.ResponsibilityCut), and the component is left out of every sum. No bit of a row depends on
// the other rows.
//
// # The backward pass
//
// [Mixture.Backward] is the exact gradient of the recorded steps with respect to x_0, mu, c, alpha and the
// factors of P_i, up to float32 rounding; its documentation has the formulas. A row of dL/dx_t that is below
// 2^-100 everywhere counts as 0. If a row has a single active component for sixteen steps or more, dA_i takes
// seven products of combinations of these steps for their sum, which stays within the rounding of float32
// (single_component.go).
//
// # Forms of precision
//
//   - full: a symmetric matrix P_i for each component ([NewMixture]), or one for all ([NewTiedMixture]);
//   - low rank: P_i = diag(w_i) + S F_i^T F_i with r rows F_i and a number S ([NewLowRankMixture]); diagonal
//     matrices have r = 0. [Mixture.Origin] makes a first step of images cheaper if S is below 0.
//
// Both implement the interface precision (precision.go). To add a form, implement it and add a constructor and
// a setter.
//
// # Threads
//
// [Mixture.Plan] says how an ascent is shared: by blocks of rows, or by components if large P_i serve few rows.
// Single rows read half of each P_i (single_row.go).
//
// # Routes
//
// If the responsibilities are nearly one-hot, an ascent need not compute all components. A component with
// responsibility 0 adds exact zeros, so leaving it out changes no bit. The sparse route (sparse.go) computes q_i
// only if no bound proves that r_i is 0. The bounds (bounds.go) follow from the distance to the centre, from how
// far the row has moved, from a supporting plane, or hold for a whole path (linear_path.go); they include the
// roundings of the kernels. Rows with a NaN or an infinity have no bounds and are computed in full.
//
// [Mixture.Route] sets the route. [AutoRoute] counts the active components of some rows, of the first ascent and
// of every 32nd, and asks a cost model ([Mixture.ExplainRoute]). [Mixture.CountWork] and [Mixture.Work] say how
// much the sparse route computes. Precisions of SetPrecisions have no bounds.
//
// # Source
//
// Read forward.go from top to bottom, then dense.go for P_i that are matrices or lowrank.go, then backward.go.
// The fused operations of a block that these are made of (QuadForm, Mixture, Step and their vector-Jacobian
// products) are methods of [engine.Worker]. A mixture, trajectory or gradient keeps its memory and its jobs, so
// that calls allocate nothing once that has grown.
//
// # Glossary
//
//   - active: with a responsibility that is not 0
//   - anchor: the point at which G_i of a pair was computed, for the bound by support
//   - bound: a number that sqrt(q_i), or a distance, is proved not to be below (or above)
//   - centre: mu_i
//   - dense route, sparse route: with all components, or without those that a bound excludes
//   - lead: the component of a row with the largest responsibility at first
//   - linear path: the straight way of a row to a centre if P_i = p I
//   - pair: a row and a component, at a step
//   - record: what a block of rows keeps of the sparse route for the backward pass
//   - run: the steps of a row with a single active component
//   - scaled: [-S r Z | -r], the left operand of the gradient for low rank
//   - slope: s_i, and after the product rule t_i = dL/dl_i
//   - VJP: vector-Jacobian product, the backward pass of a function
//   - viaPrecision: dA_i is made from dP_i, not from single rows
package ascent
