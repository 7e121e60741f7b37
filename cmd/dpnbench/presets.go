package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"dpnbench/dpn"

	"github.com/spf13/cobra"
)

const presetsHelp = `The presets of train --preset. Without the flag, train takes compact for images and tabular for
vectors; flags override what a preset sets.

%s
%s`

// presetsTopic is a text of help, not a command: its Long is all that is shown.
func presetsTopic(columns int) *cobra.Command {
	return &cobra.Command{
		Use:   "presets",
		Short: "The presets of train and their settings",
		Long:  fmt.Sprintf(presetsHelp, presetList(), presetTable(columns)),
	}
}

// presetList describes the presets.
func presetList() string {
	var b strings.Builder
	for _, p := range dpn.PresetTable() {
		fmt.Fprintf(&b, "  %-12s  %s\n", p.Name, p.Description)
	}
	return b.String()
}

// presetTable lists the settings in which presets differ, by the names of their flags, and then
// those that all share. As many presets stand beside each other as fit into the columns.
func presetTable(columns int) string {
	names := dpn.Presets()
	var keys []string
	values := map[string][]string{}
	for i, name := range names {
		c, err := dpn.Preset(name)
		if err != nil {
			panic(err) // a name from the list
		}
		for line := range strings.SplitSeq(strings.TrimSpace(c.TOML()), "\n") {
			key, value, _ := strings.Cut(line, " = ")
			if key == "alpha" {
				value = fmt.Sprintf("%.4g", c.Alpha)
			}
			if i == 0 {
				keys = append(keys, key)
			}
			values[key] = append(values[key], strings.Trim(value, `"`))
		}
	}
	var shared, different []string
	for _, key := range keys {
		switch v := values[key]; {
		case key == "preset":
		case allEqual(v):
			shared = append(shared, key+" "+cmp.Or(v[0], `""`))
		default:
			different = append(different, key)
		}
	}
	rows := [][]string{append([]string{"setting"}, names...)}
	for _, key := range different {
		rows = append(rows, append([]string{key}, values[key]...))
	}
	return (table{rows: rows, keys: 1}).text(columns) + "\n" +
		wrappedAt("All presets: "+strings.Join(shared, ", ")+".", columns) + "\n"
}

func allEqual(values []string) bool {
	return !slices.ContainsFunc(values, func(v string) bool { return v != values[0] })
}
