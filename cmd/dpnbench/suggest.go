package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// nearest returns the word of a list that somebody may have meant, or "".
func nearest(word string, list []string) string {
	best, distance := "", 2+len(word)/4
	for _, w := range list {
		d := edits(word, w)
		if len(word) > 2 && strings.HasPrefix(w, word) {
			d = 1
		}
		if d < distance {
			best, distance = w, d
		}
	}
	return best
}

// edits returns how many letters must be inserted, deleted, replaced or exchanged with their neighbour to make b of a.
func edits(a, b string) int {
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := 1; i <= len(a); i++ {
		before, last, row := rows[0], rows[1], rows[2]
		row[0] = i
		for j := 1; j <= len(b); j++ {
			replaced := last[j-1]
			if a[i-1] != b[j-1] {
				replaced++
			}
			row[j] = min(last[j]+1, row[j-1]+1, replaced)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		rows = [3][]int{last, row, before}
	}
	return rows[1][len(b)]
}

// noSubcommand says that c has no subcommand of a name.
func noSubcommand(c *cobra.Command, name string) error {
	path := strings.Join(strings.Fields(c.CommandPath())[1:], " ")
	if path != "" {
		path += ": "
	}
	names := subcommands(c)
	if meant := nearest(name, names); meant != "" {
		return fmt.Errorf("%sno subcommand %q; did you mean %q? (see %q)", path, name, meant, c.CommandPath()+" --help")
	}
	choice := strings.Join(names, ", ")
	if len(names) > 1 {
		choice = "one of " + choice
	}
	return fmt.Errorf("%sno subcommand %q, expected %s", path, name, choice)
}

// noFlag rewords an error of the flag parser about a flag that c does not have. args is the command line.
func noFlag(c *cobra.Command, args []string, missing *pflag.NotExistError) error {
	depth := len(strings.Fields(c.CommandPath())) - 1
	if c.HasAvailableSubCommands() && depth < len(args) && !strings.HasPrefix(args[depth], "-") {
		return noSubcommand(c, args[depth]) // whose flag it may be
	}
	name, meant := missing.GetSpecifiedName(), ""
	if short := missing.GetSpecifiedShortnames(); short != "" { // as in -epochs
		name = short
	}
	var names []string
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names = append(names, f.Name)
		}
	})
	if near := nearest(name, names); near != "" && len(name) > 1 {
		meant = fmt.Sprintf("; did you mean --%s?", near)
	}
	return fmt.Errorf("%w%s (see %q)", missing, meant, c.CommandPath()+" --help")
}
