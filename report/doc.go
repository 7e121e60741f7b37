// Package report draws figures and builds self-contained HTML pages. Its figures take plain
// numbers and results of package separation; [Analysis] and [Uncertainty] alone know models.
//
// A [Figure] is one of
//
//   - [Layers], [Steps]: separation fuzziness D over layers or ascent steps, with the fitted law;
//   - [PCA]: a scatter plot of each layer in the plane of its principal components;
//   - [PlanePaths]: trajectories in such a plane;
//   - [Training]: loss and accuracy over epochs;
//   - [Gallery], [Strips], [Maps]: pictures, trajectories of pictures, heat maps;
//   - [Weights], [Spectra]: weights and eigenvalues of the components of a potential;
//   - [Histogram]: how samples of a number are distributed;
//   - [Dots]: measurements in named rows, with their intervals;
//   - [Lines], [Bars], [Roofline]: something over sizes (D over n, throughput over batch
//     sizes), in groups, or under the limits of a machine.
//
// [Save] writes a figure for a path without extension as path.png and path.svg, each
// whole or not at all, creating the folder if there is none; its error names the file.
// [Files] returns the two names. [SVG] returns a figure to stand within HTML, narrow
// enough for a phone, without ids that could collide.
//
// An [Analysis] is what package dpn has measured of one model: [Analysis.Figures] are its
// figures, [AnalysisPage] is its page. [Uncertainty] and [UncertaintyPage] are the same for
// how a model tells what it does not know.
//
// A [Page] holds text, tables, figures and a [Walk] in one file that needs no network:
// readable on a phone, printable, usable by keyboard and screen reader.
//
// The same data give the same bytes. Colours are chosen to differ under the common forms
// of colour blindness, and shapes or dashes change along with them. Text in SVG files
// stays text.
package report
