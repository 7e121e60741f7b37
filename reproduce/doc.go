// Package reproduce repeats the experiments of the documents that Denoising Potential
// Networks come from, first by their own protocol and then with more data, trained
// potentials and intervals, and says of every claim in them what became of it.
//
// The documents are the paper ("Energy-Based Models Do Not Follow the Law of
// Equi-Separation"), the project's overview and the poster ("Application of Denoising
// Potential on MNIST Dataset").
//
// [RunTable1], [RunLaw], [RunTrained], [RunPoster], [RunField] and [RunRobust] each run one
// experiment and return
// its figures; [Claims] turns the figures into a row for each claim: source, protocol,
// published, measured, interval, verdict and why. A claim whose experiment did not run is
// untested.
//
// All of it is seeded and gives the same figures on every machine. Test pictures are used
// to report; nothing is chosen by them.
package reproduce
