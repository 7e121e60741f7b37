package main

import (
	"fmt"
	"regexp"
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

// helpColumns is the width of help: that of a terminal that has less than helpWidth.
func (a *app) helpColumns() int {
	if w := a.out.columns; w > 0 && w < helpWidth {
		return max(w, 30)
	}
	return helpWidth
}

// help prints the help of a command. It is no template of cobra: package text/template keeps 4 MB in the program that
// nothing calls.
func (a *app) help(c *cobra.Command) error {
	text := strings.TrimSpace(c.Long)
	if text == "" {
		text = c.Short
	}
	if a.helpColumns() < helpWidth {
		text = reflowed(text, a.helpColumns())
	}
	text += "\n\n"
	if c.Runnable() || c.HasSubCommands() {
		text += usageOf(c, a.helpColumns())
	}
	_, err := fmt.Fprintln(c.OutOrStdout(), strings.TrimRight(folded(text, a.out.columns), "\n"))
	return err
}

// entry is the beginning of a line of a list: a name, two spaces or more, and its text.
var entry = regexp.MustCompile(`^ +\S+(?: \S+)* {2,}`)

// reflowed fits a text that was written for helpWidth columns into fewer: lines of a paragraph, or of the text beside
// a name, are joined and broken anew; others, which are indented, are only broken.
func reflowed(text string, columns int) string {
	var b strings.Builder
	words, name := "", "" // of the paragraph, and what stands before it
	end := func() {
		if words != "" {
			indent := strings.Repeat(" ", len(name))
			body := wrappedAt(words, columns-len(name))
			b.WriteString(name + strings.ReplaceAll(body, "\n", "\n"+indent) + "\n")
		}
		words, name = "", ""
	}
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		rest := strings.TrimLeft(line, " ")
		indent := len(line) - len(rest)
		if words != "" && rest != "" && indent == len(name) {
			words += " " + rest
			continue
		}
		end()
		switch begin := entry.FindString(line); {
		case rest == "" || indent > 0 && (begin == "" || len(begin) > columns/2):
			b.WriteString(folded(line, columns) + "\n")
		case indent > 0:
			name, words = begin, line[len(begin):]
		default:
			words = rest
		}
	}
	end()
	return strings.TrimRight(b.String(), "\n")
}

// wrapped breaks text into lines of at most helpWidth columns.
func wrapped(text string) string { return wrappedAt(text, helpWidth) }

// wrappedAt joins the words of a text with single spaces into lines of at most so many columns.
func wrappedAt(text string, columns int) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > columns:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}

// usageOf returns what follows the description of a command in its help.
func usageOf(c *cobra.Command, columns int) string {
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
	list("Texts of help", (*cobra.Command).IsAdditionalHelpTopicCommand)
	flags := func(title string, flags *pflag.FlagSet) {
		if flags != nil && flags.HasAvailableFlags() {
			fmt.Fprintf(&b, "%s:\n%s\n\n", title, strings.TrimRight(flags.FlagUsagesWrapped(columns), " \n"))
		}
	}
	local := grouped(c.LocalFlags())
	for _, title := range groups {
		flags(title, local[title])
	}
	flags("Global Flags", c.InheritedFlags())
	if c.HasAvailableSubCommands() {
		fmt.Fprintf(&b, "Use \"%s [command] --help\" for more information about a command.\n", c.CommandPath())
	}
	return b.String()
}
