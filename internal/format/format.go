// Package format prints numbers, counts and text for people: in figures, pages and reports.
package format

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"
	"unicode"
)

// Number prints v with the given decimals, or with an exponent if |v| is below 1e-4 or at
// least 1e6. It uses the minus sign U+2212.
func Number(v float64, decimals int) string {
	if exponent(v) {
		return Digits(v, 3)
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if f, err := strconv.ParseFloat(s, 64); err == nil && f == 0 {
		s = strconv.FormatFloat(0, 'f', decimals, 64) // no "-0"
	}
	return minus(s)
}

// exponent reports whether v is printed with an exponent.
func exponent(v float64) bool {
	a := math.Abs(v)
	return a != 0 && (a >= 1e6 || a < 1e-4)
}

// Significant prints v with three significant digits, as [Number] does.
func Significant(v float64) string { return Digits(v, 3) }

// Digits is [Significant] with n digits.
func Digits(v float64, n int) string {
	if v == 0 || math.IsNaN(v) || exponent(v) {
		return minus(strconv.FormatFloat(v, 'g', n, 64))
	}
	return Number(v, max(0, n-1-int(math.Floor(math.Log10(math.Abs(v))))))
}

// Factor prints a factor by which something grows or shrinks: as [Significant] does, but close to 1 with as many digits
// as its distance from 1 needs, "0.99976" for "1.000".
func Factor(v float64) string {
	off := math.Abs(v - 1)
	if off == 0 || !(off < 0.005) {
		return Significant(v)
	}
	return Number(v, min(1-int(math.Floor(math.Log10(off))), 9))
}

// minus replaces a leading hyphen by the minus sign, which is as wide as a plus.
func minus(s string) string {
	if s != "" && s[0] == '-' {
		return "−" + s[1:]
	}
	return s
}

// Thousands prints n with commas between groups of three digits.
func Thousands(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// Count prints n and the noun, with an s unless n is 1: "1 thread", "2 threads".
func Count(n int, noun string) string { return fmt.Sprintf("%d %s", n, plural(n, noun)) }

// CountThousands is Count with commas: "2,000 images".
func CountThousands(n int, noun string) string { return Thousands(n) + " " + plural(n, noun) }

func plural(n int, noun string) string {
	if n == 1 {
		return noun
	}
	if strings.HasSuffix(noun, "s") { // classes
		return noun + "es"
	}
	return noun + "s"
}

// Percent prints a share (0 to 1) in percent, with the given decimals.
func Percent(share float64, decimals int) string { return Number(100*share, decimals) + "%" }

// Printable replaces by spaces what fonts do not show and XML does not allow: control
// characters and invalid UTF-8.
func Printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, " "))
}

// JSONError says of an error of encoding/json what was found in the JSON and what was expected, without the names of
// Go's types. It leaves other errors as they are.
func JSONError(err error) error {
	bad, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if !ok {
		return err
	}
	expected := "a number in range"
	switch bad.Type.Kind() {
	case reflect.Struct, reflect.Map:
		expected = "an object"
	case reflect.Slice, reflect.Array:
		expected = "an array"
	case reflect.String:
		expected = "a string"
	case reflect.Bool:
		expected = "true or false"
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64:
		expected = "a whole number in range"
	}
	where := ""
	if bad.Field != "" {
		where = bad.Field + ": "
	}
	return fmt.Errorf("%sgot %s in JSON, expected %s", where, bad.Value, expected)
}
