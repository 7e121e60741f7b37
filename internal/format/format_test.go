package format

import (
	"encoding/json"
	"errors"
	"math"
	"testing"
)

func TestNumbers(t *testing.T) {
	for _, c := range []struct{ got, want string }{
		{Significant(14.5956), "14.6"},
		{Significant(0.63941), "0.639"},
		{Significant(0.0239), "0.0239"},
		{Significant(9.999), "10.00"},
		{Significant(1234.5), "1234"},
		{Significant(123456), "123456"}, // a digit more would be a decimal
		{Significant(-2), "−2.00"},
		{Significant(0), "0"},
		{Significant(3e-7), "3e-07"},
		{Significant(math.Inf(1)), "+Inf"},
		{Digits(0.83156, 4), "0.8316"},
		{Digits(-1234567, 5), "−1.2346e+06"},
		{Factor(0.862), "0.862"},
		{Factor(0.99976), "0.99976"},
		{Factor(1.0031), "1.0031"},
		{Factor(1), "1.00"},
		{Factor(math.NaN()), "NaN"},
		{Thousands(7), "7"},
		{Thousands(100), "100"},
		{Thousands(1000), "1,000"},
		{Thousands(1234567), "1,234,567"},
		{Count(1, "thread"), "1 thread"},
		{Count(0, "thread"), "0 threads"},
		{Percent(-0.125, 1), "−12.5%"},
		{Printable("a\x00b\xffc"), "a b c"},
	} {
		if c.got != c.want {
			t.Errorf("printed %q: want %q", c.got, c.want)
		}
	}
}

// TestJSONError reads JSON of other types than those of a struct.
func TestJSONError(t *testing.T) {
	for text, want := range map[string]string{
		`[]`:                  "got array in JSON, expected an object",
		`{"S": 3}`:            "S: got number in JSON, expected a string",
		`{"A": {"I": [1.5]}}`: "A.I: got number 1.5 in JSON, expected a whole number in range",
		`{"A": {"I": "x"}}`:   "A.I: got string in JSON, expected an array",
		`{"F": 1e999}`:        "F: got number 1e999 in JSON, expected a number in range",
		`{"B": {}}`:           "B: got object in JSON, expected true or false",
	} {
		var v struct {
			S string
			A struct{ I []int32 }
			F *float64
			B bool
		}
		if err := JSONError(json.Unmarshal([]byte(text), &v)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	if other := errors.New("x"); JSONError(other) != other || JSONError(nil) != nil {
		t.Error("another error has changed")
	}
}
