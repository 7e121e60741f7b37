// Package reproduce repeats the experiments of the documents that introduced Denoising Potential
// Networks, first with their own protocol, then with more data, trained potentials and
// intervals, and judges every claim.
//
//	var r reproduce.Results // of RunTable1, RunLaw and so on
//	for _, c := range reproduce.Claims(r) {
//		verdicts[c.Verdict]++
//	}
//
// The documents are the paper ("Energy-Based Models Do Not Follow the Law of
// Equi-Separation"), the project's overview and the poster ("Application of Denoising
// Potential on MNIST Dataset").
//
// [RunTable1], [RunLaw], [RunTrained], [RunPoster], [RunField] and [RunRobust] each run one
// experiment. [Claims] turns their results into one row per claim: source, protocol, published
// and measured value, interval, verdict and reason. A claim whose experiment did not run is
// untested. [Page] and [Figures] present the results.
//
// All experiments are seeded and give the same figures on every machine. Test images are used
// for reporting only, never for selection.
//
// The claims are in claims_*.go, in the order of the report: a statement with a function that
// judges it.
package reproduce
