// Package uncertainty measures how well a score separates inputs that a network knows from those
// that it does not, and how well its probabilities are calibrated. Its input is scores, logits and
// labels; it does not depend on a model.
//
//	d, err := uncertainty.Detect([]float64{5, 4, 3, 2}, []float64{3, 1, 0, -1}) // known, unknown samples
//	fmt.Println(d.AUROC, d.FPR, d.Threshold)
//
// [Detect] compares the scores of known samples (in-distribution or correctly classified) with
// those of unknown samples (out-of-distribution or misclassified). Known samples should have higher
// scores. [ROC] computes the ROC curve. [Calibrate] compares predicted probabilities with the
// observed accuracy, and [FitTemperature] finds the temperature that maximises the likelihood.
//
// # Detection
//
// Known samples are the positive class. For m known samples with scores x and n unknown samples
// with scores y,
//
//	AUROC = (number of pairs with x_i > y_j, and half of those with x_i = y_j) / (m n)
//
// which is the Mann-Whitney statistic, counted in integers. It is invariant under monotone
// transformations of the scores; exchanging known and unknown samples gives 1 - AUROC.
//
// FPR at 95% TPR is the share of unknown samples that are accepted at the threshold that accepts
// 95% of the known samples: the ceil(0.95 m)-th largest x. Scores equal to it are accepted, so a
// score that ties most samples has a high FPR.
//
// # Intervals
//
// The interval of the AUROC is that of DeLong, DeLong and Clarke-Pearson (Biometrics 44, 1988), on
// the logistic scale, where it cannot leave 0 to 1. Their variance is 0 if the scores separate the
// two kinds completely. In that case min(m, n) disjoint pairs are all ordered correctly, which
// gives the lower end 0.025^(1/min(m, n)) (Clopper and Pearson, Biometrika 26, 1934). No other data
// get a higher lower end. This matters if one kind has few samples and the AUROC is near 1: for
// normal scores with 30 to 100 unknown samples and an AUROC of 0.986 to 0.998, DeLong's intervals
// alone have a coverage of 86 to 91%, these of 98%. The variance is also 0 if all scores are equal. Then
// the same bound holds for the share of tied pairs, so the ends are half of it and 1 minus that half.
// Where nearly all scores are equal, intervals are too narrow.
//
// The error of the FPR has two parts: that of a share observed in n unknown samples, and that of
// the threshold, which is the 5% quantile of a sample of m. The first is Wilson's interval (J. Am.
// Stat. Assoc. 22, 1927), the second the FPR at the ends of the distribution-free interval of the
// 5% quantile, which has no lower end with fewer than 72 known samples. They are combined by the
// method of Zou and Donner (Statistics in Medicine 27, 2008).
//
// Both intervals assume that known and unknown samples are independent. If the unknown samples were
// made from the known images, their scores are positively correlated, and the intervals are
// somewhat too wide. No method here uses random numbers.
//
// # Calibration
//
// The confidence of a sample is its largest softmax. The expected calibration error is the mean of
// |accuracy - mean confidence| over bins of confidence, weighted by their samples: [Bins] bins of
// equal width, as in Guo, Pleiss, Sun and Weinberger ("On calibration of modern neural networks",
// ICML 2017), for comparison with published values. Most samples of an accurate network fall into
// the last bin, so the error over as many bins with about the same number of samples (Nguyen and
// O'Connor, EMNLP 2015) is reported, too; equal confidences share a bin. Both are above 0 by chance
// even for perfect calibration; Calibration.ECEChance estimates this value.
//
// Temperature scaling (Guo et al.) divides all logits by the number T > 0 that minimises the
// negative log-likelihood, a convex problem in 1/T. It changes no prediction. T must be fitted on
// other samples than those on which it is evaluated.
//
// # Numbers
//
// AUROC, FPR and threshold have the same bits on every machine. Intervals and calibration use
// logarithms and exponentials of package math and may differ in the last digits.
package uncertainty
