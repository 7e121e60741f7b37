// Package axes draws a pair of axes and the data between them, on the canvases of gonum's plot
// library.
//
// Figures use it instead of the packages plot and plotter of gonum.org/v1/plot, because these link
// all fonts and all file formats of that library (PDF, PostScript, TeX, TIFF) into every program:
// 5 MB. [Raster] stands for vgimg, the canvas of pixels, for the same reason. Both follow those packages (copyright
// the Gonum Authors, see the file LICENSE); the layout is the same to the byte.
package axes
