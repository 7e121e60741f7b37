// Package plot draws figures of plain numbers as PNG and SVG. It knows no model.
//
//	f := plot.Lines{Title: "Loss", X: "epoch", Y: "loss", LinearX: true, Series: series}
//	err = plot.Save(path, f) // path.png and path.svg
//
// A [Figure] is one of
//
//   - [Layers], [Steps]: separation fuzziness D over layers or ascent steps, with a fitted [Law];
//   - [LawPanels]: D over the layers of many networks, each in a panel of its own;
//   - [PCA]: a scatter plot of each layer in the plane of its principal components;
//   - [PlanePaths]: trajectories in such a plane;
//   - [Training]: loss and accuracy over epochs;
//   - [Gallery], [Strips], [Maps]: images, trajectories of images, heat maps;
//   - [Weights], [Spectra]: weights and eigenvalues of the components of a potential;
//   - [Histogram]: the distribution of samples;
//   - [Confusion]: how many samples of each class are classified as which;
//   - [Parallel]: parallel coordinates, a line for each combination of settings that was tried;
//   - [Tree]: a tree of joins, such as the additions of a sum;
//   - [Dots]: measurements in named rows, with their intervals;
//   - [Lines], [Bars], [Roofline]: values over sizes (D over n, throughput over batch
//     sizes), in groups, or under the limits of a machine.
//
// [Save] writes a figure as path.png and path.svg ([Files] returns the two names). [Embed] returns SVG to embed in
// HTML: narrow enough for a phone and without ids, so that any number of figures can share a page. [DarkStyle] turns
// them into figures on dark paper. [Check] says why a figure cannot be drawn.
//
// The same data give the same bytes. Colours differ under the common forms of colour
// blindness, and shapes or dashes change along with them. Text in SVG files stays text, as wide as it was laid out in
// whatever font the viewer has.
package plot
