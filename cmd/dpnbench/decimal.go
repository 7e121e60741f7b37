package main

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// decimal is the value of a flag that takes a number. The flag parser alone reads 010 as 8 and 0x10
// as 16; here numbers are decimal, with or without leading zeros.
type decimal struct{ pflag.Value }

var (
	wholeNumber = regexp.MustCompile(`^[+-]?[0-9]+$`)
	otherBase   = regexp.MustCompile(`[xX_]`)
)

// Set implements pflag.Value.
func (d decimal) Set(s string) error {
	if d.Type() == "float64" {
		if otherBase.MatchString(s) {
			return strconv.ErrSyntax
		}
		return d.Value.Set(s)
	}
	if !wholeNumber.MatchString(s) {
		return strconv.ErrSyntax
	}
	sign, digits := "", s
	if s[0] == '-' || s[0] == '+' {
		sign, digits = strings.TrimPrefix(s[:1], "+"), s[1:]
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		digits = "0"
	}
	return d.Value.Set(sign + digits)
}

// decimalFlags makes all flags of a command, and of those below it, that take numbers take decimal ones.
func decimalFlags(c *cobra.Command) {
	change := func(f *pflag.Flag) {
		switch f.Value.Type() {
		case "int", "uint64", "float64":
			if _, done := f.Value.(decimal); !done { // flags of parents are those of children, too
				f.Value = decimal{f.Value}
			}
		}
	}
	c.Flags().VisitAll(change)
	c.PersistentFlags().VisitAll(change)
	for _, sub := range c.Commands() {
		decimalFlags(sub)
	}
}
