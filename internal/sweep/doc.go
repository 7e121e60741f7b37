// Package sweep plans trainings over settings and seeds, compares their results, and makes the table and the page of
// them. It trains nothing itself: dpnbench sweep does, each run as dpnbench train would.
//
// A [Plan] is read from a TOML file. Its runs have an order that does not depend on the order of lines in the file,
// and each a folder that is named after its settings: what is trained is found again, whatever else the plan holds.
package sweep
