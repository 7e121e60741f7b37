package separation

import (
	"bytes"
	"encoding/json"
	"math"
)

// Float is a float64 that may be infinite or NaN if a statistic is not defined. JSON has no such
// numbers, so they are written as null, and null is read as NaN.
type Float float64

// IsFinite reports whether f is neither NaN nor infinite.
func (f Float) IsFinite() bool {
	return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0)
}

// MarshalJSON writes the number, or null if it is not finite.
func (f Float) MarshalJSON() ([]byte, error) {
	if !f.IsFinite() {
		return []byte("null"), nil
	}
	return json.Marshal(float64(f))
}

// UnmarshalJSON reads a number, or null as NaN.
func (f *Float) UnmarshalJSON(b []byte) error {
	if bytes.Equal(b, []byte("null")) {
		*f = Float(math.NaN())
		return nil
	}
	return json.Unmarshal(b, (*float64)(f))
}
