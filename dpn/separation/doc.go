// Package separation measures how well the features at a layer of a network separate the classes,
// and how that changes from layer to layer. Its input is features and labels; it does not depend on
// a model.
//
//	hidden := separation.Set{X: features, Dim: 2, Labels: labels} // a row of 2 numbers for each label
//	layer, err := separation.Measure(ctx, "hidden", hidden, separation.Options{})
//	fmt.Printf("D %.4f, rank %d\n", layer.Fuzziness, layer.Rank)
//
// A [Set] is the features of n samples at one layer in memory, with their classes; [Samples] are those
// of any [Source], such as a file, which is read in blocks of bounded size. [Measure] computes all
// statistics of either, a [Layer]; [MeasureFuzziness], [FitPCA] and [Displace] compute some of them.
// [Bootstrap] estimates the sampling error of the fuzziness, and [Curve] measures how it depends on
// the number of samples. [FitLaw] fits the law of equi-separation to the fuzziness of successive
// layers, and [MeasureDepth] measures all layers of a network, and what changes with depth: laws, the
// load of each layer, effective depth, and [CKA].
//
// # Separation fuzziness
//
// For K classes present, n_k of the n samples in class k with mean m_k, and m the
// mean of all:
//
//	SSb = sum_k (n_k/n) (m_k - m)(m_k - m)^T
//	SSw = (1/n) sum_k sum_{i in k} (x_i - m_k)(x_i - m_k)^T
//	D   = Tr(SSw SSb^+)
//
// with ^+ the Moore-Penrose pseudo-inverse: the separation fuzziness of He and Su, "A law of data
// separation in deep learning" (PNAS 2023). The paper on Denoising Potential Networks (sections 1.1
// and 2.3) prints Tr(SSw SSb), without the pseudo-inverse, but its figures are those of D; the
// product without it is Layer.FuzzinessProduct.
//
// D is computed in the K x K Gram matrix of the rows sqrt(n_k/n) (m_k - m), whose
// non-zero eigenvalues are those of SSb; no d x d matrix is formed. The rank is
// at most K-1. Eigenvalues at or below
//
//	max( max(K, d) 2^-52 lambda_1,  (n 2^-52)^2 s^2 )
//
// count as zero, where lambda_1 is the largest and s^2 the mean squared distance of the samples to
// the first one. The first bound covers the rounding of the Gram matrix, the second that of the
// class means. Rank, tolerance and the smallest eigenvalue kept are reported with D. If the rank is
// 0 (all class means equal), D is +Inf, or NaN if no feature varies at all; both are null in JSON.
// If it is between 0 and K-1, D includes only the directions in which the class means differ.
//
// D depends strongly on the number of samples, because the class means of few samples differ by
// chance: it is 2.1 for the first 32 test images of MNIST and 14.6 for all 10,000. Compare only
// values with the same n and the same classes, or the estimates for n → ∞ (see [Sampling]).
// Layer.Warning reports if D depends mainly on n.
//
// D weights classes by n_k/n; Layer.FuzzinessBalanced weights them by 1/K, in SSw and SSb.
//
// # Other statistics
//
//   - Mean distance: |m_a - m_b| averaged over all pairs of classes present.
//   - Between/within ratio: Tr(SSb)/Tr(SSw), classes weighted by n_k/n. This definition reproduces the paper's Table 1.
//   - NC1: D/K (Papyan, Han and Donoho, PNAS 2020). [Collapse] and [Duality] have its other forms,
//     and NC2 to NC4.
//   - Class-distance normalised variance: (v_a + v_b) / (2 |m_a - m_b|^2) averaged
//     over all pairs, v_k being the mean squared distance of class k to its mean
//     (Galanti, Gyorgy and Hutter, ICLR 2022).
//   - Nearest-class-mean accuracy: the share of samples nearest to their own mean.
//   - Compression and discrimination: Tr(SSw)/Tr(SSb), and 1 minus the largest cosine of two class
//     means (Wang et al., 2023).
//   - Variability collapse index: [Spread]. Linear probe: [Probe].
//   - Explained variance: eigenvalues of the covariance (divisor n) over its trace.
//   - Displacement: the Frobenius norm of X' - X, and the mean length of its rows.
//
// # The law of equi-separation
//
// D_l ~ rho^l D_0 over layers l = 0, 1, 2, ...: a straight line in log D, fitted by least squares.
// [Law] states the assumptions of its interval. [Curvature] tests a parabola against the line,
// because curves that flatten out or turn can also have Pearson coefficients near -1.
//
// # Numbers
//
// All results are computed in float64 (except the products of a bootstrap, of CKA, of a Probe, and of a
// Spread of very many features) and have the same bits for every number of threads. A [Layer] also has the same
// bits on all architectures; a [Law] may differ in the last digits, because it uses the logarithm of
// package math.
package separation
