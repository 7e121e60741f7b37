// Package guardpages allocates memory between two pages that can be neither read nor written: a
// kernel that touches a byte on either side of its operands is caught at once.
package guardpages
