// Package study analyses a trained model of package dpn.
//
//	l, err := study.MeasureLandscape(ctx, e, model.Potential())
//	fmt.Printf("%d components, steps are safe up to alpha %.3g\n", l.Components, l.StableAlpha)
//
// What it measures:
//
//   - [Analyze] measures class separation at every layer and ascent step; [Run] gathers all that
//     is reported about one model.
//   - [TraceImages] follows single images through the ascent, [FindFixedPoints] follows them until
//     they converge, [SweepRises] counts where phi rises, for a range of step sizes.
//   - [MeasureLandscape] describes the components: weights, spectra, variances. [MeasureSymmetry]
//     checks that the ascent field is conservative; [MeasureCentreMoves] says how far training
//     moved the centres.
//   - [MeasureConfidence] computes scores for whether a model knows an image, and
//     [MeasureUncertainty] how well they detect unknown and misclassified images.
//   - [Denoise] measures what the ascent restores of corrupted images, [NewPrototypes] is the
//     classification by the most responsible component.
//
// All of it:
//
//	s, err := study.Run(ctx, e, model, data.Test, study.StudyOptions{Train: data.Train})
//	fmt.Println(s.Accuracy, s.Landscape.LambdaMax, len(s.FixedPoints.Points))
//
// Results have the same bits for every number of threads; those that use math.Exp or math.Log
// may differ in the last bit between machines.
package study
