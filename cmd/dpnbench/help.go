package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the number of columns that flag descriptions and lists in help texts may take.
const helpWidth = 100

// printUsage prints what follows the description of a command in its help. It is no template of cobra:
// package text/template keeps 4 MB in the program that nothing calls.
func printUsage(c *cobra.Command) error {
	var b strings.Builder
	b.WriteString("Usage:")
	if c.Runnable() {
		fmt.Fprintf(&b, "\n  %s", c.UseLine())
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n  %s [command]", c.CommandPath())
	}
	if c.HasExample() {
		fmt.Fprintf(&b, "\n\nExamples:\n%s", c.Example)
	}
	if c.HasAvailableSubCommands() {
		b.WriteString("\n\nAvailable Commands:")
		for _, s := range c.Commands() {
			if s.IsAvailableCommand() || s.Name() == "help" {
				fmt.Fprintf(&b, "\n  %-*s %s", s.NamePadding(), s.Name(), s.Short)
			}
		}
	}
	for _, f := range []struct {
		title string
		flags *pflag.FlagSet
	}{{"Flags", c.LocalFlags()}, {"Global Flags", c.InheritedFlags()}} {
		if f.flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "\n\n%s:\n%s", f.title, strings.TrimRight(f.flags.FlagUsagesWrapped(helpWidth), " \n"))
		}
	}
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "\n\nUse \"%s [command] --help\" for more information about a command.", c.CommandPath())
	}
	_, err := fmt.Fprintln(c.OutOrStderr(), b.String())
	return err
}
