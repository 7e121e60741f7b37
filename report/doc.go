// Package report draws the figures of an analysis, each as a PNG and an SVG file:
// [LayersFigure] and [StepsFigure] (separation fuzziness over layers or ascent
// steps, with the fitted law), [PCAFigure] (a scatter plot of each layer in the
// plane of its principal components) and [TrainingFigure] (loss and accuracy over
// epochs).
//
// A figure function takes a path without extension, creates the folder if there
// is none, and writes path.png and path.svg, each whole or not at all; its error
// names the file. [Files] returns the two names. The same data give the same
// bytes. It takes plain numbers and results of package separation, and knows no
// model.
//
// [RooflineSVG], [LinesSVG] and [BarsSVG] return figures for the page of a benchmark: SVG
// to stand within HTML, narrow enough for a phone, without ids that could collide.
//
// Colours are chosen to differ under the common forms of colour blindness, and
// shapes or dashes change along with them. Text in SVG files stays text.
package report
