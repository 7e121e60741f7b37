package main

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestDecimal(t *testing.T) {
	for _, c := range []struct{ kind, in, want string }{
		{"int", "010", "10"}, {"int", "08", "8"}, {"int", "000", "0"}, {"int", "-007", "-7"}, {"int", "+5", "5"},
		{"int", "0x10", ""}, {"int", "1_000", ""}, {"int", "0b1", ""}, {"int", "0o7", ""}, {"int", "", ""},
		{"int", "1e3", ""},
		{"int", "-0", "0"}, {"int", " 1", ""}, {"int", "٣", ""},
		{"uint64", "010", "10"}, {"uint64", "09223372036854775807", "9223372036854775807"}, {"uint64", "-1", ""},
		{"uint64", "0x10", ""}, {"uint64", "1_0", ""},
		{"float64", "010", "10"}, {"float64", "0.50", "0.5"}, {"float64", "1e-3", "0.001"}, {"float64", "0x1p-2", ""},
		{"float64", "0X1P3", ""}, {"float64", "1_0", ""}, {"float64", "1,5", ""}, {"float64", "NaN", "NaN"},
	} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		switch c.kind {
		case "int":
			flags.Int("n", 1, "")
		case "uint64":
			flags.Uint64("n", 1, "")
		default:
			flags.Float64("n", 1, "")
		}
		f := flags.Lookup("n")
		f.Value = decimal{f.Value}
		err := flags.Set("n", c.in)
		if got := f.Value.String(); (err != nil) != (c.want == "") || err == nil && got != c.want {
			t.Errorf("%s %q: %s, %v, want %q", c.kind, c.in, got, err, c.want)
		}
	}
}

// TestAllNumbersAreDecimal looks at every flag of every command.
func TestAllNumbersAreDecimal(t *testing.T) {
	root := (&app{}).command()
	n := 0
	for _, c := range append(root.Commands(), root) {
		c.Flags().VisitAll(func(f *pflag.Flag) {
			switch f.Value.Type() {
			case "int", "uint64", "float64":
				if n++; f.Value.(decimal).Value == nil {
					t.Errorf("%s --%s: not decimal", c.Name(), f.Name)
				}
			case "bool", "string", "stringSlice", "stringArray":
			default:
				t.Errorf("%s --%s: type %s, which decimalFlags does not know", c.Name(), f.Name, f.Value.Type())
			}
		})
	}
	if n < 50 {
		t.Errorf("%d flags with numbers, expected more", n)
	}
}
