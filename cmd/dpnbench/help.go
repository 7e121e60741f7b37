package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// helpWidth is the number of columns that flag descriptions and lists in help texts may take.
const helpWidth = 100

// Groups of flags, in the order in which help lists them. Flags without a group come last.
const (
	settingsGroup  = "Settings"
	dataGroup      = "Data"
	networkGroup   = "Network"
	potentialGroup = "Potential"
	trainingGroup  = "Training"
	noiseGroup     = "Noise"
	outputGroup    = "Output"
	noGroup        = "Flags"
)

var groups = []string{settingsGroup, dataGroup, networkGroup, potentialGroup, trainingGroup, noiseGroup, outputGroup,
	noGroup}

// groupKey annotates flags with their group.
const groupKey = "group"

// group puts those of the flags that exist into a group.
func group(flags *pflag.FlagSet, title string, names ...string) {
	for _, name := range names {
		if flags.Lookup(name) != nil {
			if err := flags.SetAnnotation(name, groupKey, []string{title}); err != nil {
				panic(err) // it exists
			}
		}
	}
}

// grouped returns the flags of each group.
func grouped(flags *pflag.FlagSet) map[string]*pflag.FlagSet {
	sets := map[string]*pflag.FlagSet{}
	flags.VisitAll(func(f *pflag.Flag) {
		title := noGroup
		if of := f.Annotations[groupKey]; len(of) > 0 {
			title = of[0]
		}
		if sets[title] == nil {
			sets[title] = pflag.NewFlagSet(title, pflag.ContinueOnError)
			sets[title].SortFlags = flags.SortFlags
		}
		sets[title].AddFlag(f)
	})
	return sets
}

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
	b.WriteString("\n\n")
	if c.HasExample() {
		fmt.Fprintf(&b, "Examples:\n%s\n\n", c.Example)
	}
	list := func(title string, of func(s *cobra.Command) bool) {
		all := slices.DeleteFunc(slices.Clone(c.Commands()), func(s *cobra.Command) bool { return !of(s) })
		if len(all) > 0 {
			fmt.Fprintf(&b, "%s:", title)
			for _, s := range all {
				fmt.Fprintf(&b, "\n  %-*s %s", s.NamePadding(), s.Name(), s.Short)
			}
			b.WriteString("\n\n")
		}
	}
	list("Available Commands", func(s *cobra.Command) bool { return s.IsAvailableCommand() || s.Name() == "help" })
	list("Texts of help", func(s *cobra.Command) bool { return s.IsAdditionalHelpTopicCommand() && s.Name() != "help" })
	local := grouped(c.LocalFlags())
	for _, title := range groups {
		printFlags(&b, title, local[title])
	}
	printFlags(&b, "Global Flags", c.InheritedFlags())
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "Use \"%s [command] --help\" for more information about a command.\n", c.CommandPath())
	}
	_, err := fmt.Fprintln(c.OutOrStderr(), strings.TrimRight(b.String(), "\n"))
	return err
}

func printFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if flags != nil && flags.HasAvailableFlags() {
		fmt.Fprintf(b, "%s:\n%s\n\n", title, strings.TrimRight(flags.FlagUsagesWrapped(helpWidth), " \n"))
	}
}
