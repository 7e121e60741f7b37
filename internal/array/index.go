package array

import (
	"math"
	"strings"
)

// HasIndex says whether the first column of a table holds the numbers of the rows: whole numbers without a name, as
// pandas and R write them, or called id. names are those of the columns; without a header it is never so.
func HasIndex[T float32 | float64](names []string, values []T) bool {
	if len(names) < 2 || !NamesIndex(names[0]) {
		return false
	}
	for i := 0; i < len(values); i += len(names) {
		if v := float64(values[i]); v != math.Trunc(v) {
			return false
		}
	}
	return true
}

// NamesIndex says whether a first column of a name may hold the numbers of the rows.
func NamesIndex(name string) bool {
	return name == "" || name == "Unnamed: 0" || strings.EqualFold(name, "id")
}

// DropFirst removes the first column of rows of a width, in place.
func DropFirst[T float32 | float64](values []T, width int) []T {
	out := values[:0]
	for i := 0; i < len(values); i += width {
		out = append(out, values[i+1:i+width]...)
	}
	return out
}
