// Package walls allocates memory between two pages that can be neither read nor written, so
// that a kernel which leaves its operands is caught at the first byte.
package walls
