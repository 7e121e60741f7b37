// Package uncertainty measures how well a score tells what a network knows from what it does
// not, and whether its probabilities are to be believed. Scores, logits and labels go in; it
// knows no model.
//
// [Detect] compares the scores of known samples (those of the kind that a network was
// trained on, or those that it reads correctly) with those of unknown ones (images of
// something else, or those that it misclassifies). A higher score always means better known.
// [ROC] gives the curve. [Calibrate] compares probabilities with what comes true, and
// [FitTemperature] finds the temperature that brings them closest together.
//
// # Detection
//
// Known samples are the positive class. Of m known samples with scores x and n unknown ones
// with scores y
//
//	AUROC = (number of pairs with x_i > y_j, and half of those with x_i = y_j) / (m n)
//
// the Mann-Whitney statistic, counted in whole numbers: the same for every monotone
// transformation of the scores, and 1 - AUROC where the two change places.
//
// FPR at 95% TPR is the share of unknown samples that are accepted where the threshold
// accepts at least 95% of the known ones: the threshold is the ceil(0.95 m)-th largest x, and
// scores equal to it are accepted, known or not. A score that ties most samples is punished
// by that, as it should be.
//
// # Intervals
//
// The interval of the AUROC is that of DeLong, DeLong and Clarke-Pearson (Biometrics 44,
// 1988), on the logistic scale, where it cannot leave 0 to 1. Their variance vanishes where
// the scores separate the two kinds completely. There min(m, n) pairs without a common
// sample are right all together, which gives the lower end 0.025^(1/min(m, n)) (Clopper and
// Pearson, Biometrika 26, 1934); no other data get a higher one. That matters for few samples
// of one kind and an AUROC near 1: of normal scores with 30 to 100 unknown samples, DeLong's
// intervals alone hold an AUROC of 0.986 to 0.998 in 86 to 91% of the draws, these in 98%.
//
// The error of the FPR has two parts: that of a share of n unknown samples, and that of the
// threshold, since 95% of m known samples are not 95% of all that there are. The first is
// Wilson's interval (J. Am. Stat. Assoc. 22, 1927), the second the FPR at the ends of the
// distribution-free interval of the 5% quantile, open below with fewer than 72 known samples.
// They are combined as Zou and Donner do (Statistics in Medicine 27, 2008).
//
// Both take the known and the unknown samples as independent of each other. Those of an
// unknown set that was made of the known images are not; their scores rise and fall
// together, so that the intervals are rather too wide. Nothing here is random.
//
// # Calibration
//
// The confidence of a sample is its largest softmax. The expected calibration error is the
// mean of |accuracy - mean confidence| over bins of confidence, weighted by their samples:
// [Bins] bins of equal width, those of Guo, Pleiss, Sun and Weinberger ("On calibration of
// modern neural networks", ICML 2017), so that it compares with what others publish. Most
// samples of a good network lie in the last of them. So there is also that of as many bins
// of about equally many samples (Nguyen and O'Connor, EMNLP 2015); equal confidences stay
// together. Either is above 0 by chance even where the probabilities are right:
// Calibration.ECEChance says by how much.
//
// Temperature scaling (Guo et al.) divides all logits by one number T > 0, that with the
// least negative log-likelihood, a convex problem in 1/T. It changes no prediction. T must
// come from samples that are not those it is judged on.
//
// # Numbers
//
// AUROC, FPR and threshold have the same bits on every machine; what needs logarithms and
// exponentials (intervals, calibration) may differ in the last digits.
package uncertainty
