package main

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"

	"dpnbench/dpn"

	"github.com/spf13/cobra"
)

const presetsHelp = `The presets of train --preset. Without the flag, train takes compact for images and tabular for
vectors; flags override what a preset sets.

%s
%s`

// presetsTopic is a text of help, not a command: its Long is all that is shown.
func presetsTopic() *cobra.Command {
	return &cobra.Command{
		Use:   "presets",
		Short: "The presets of train and their settings",
		Long:  fmt.Sprintf(presetsHelp, presetList(), presetTable()),
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
// those that all share.
func presetTable() string {
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
	const most = 8 // presets beside each other
	var b strings.Builder
	for at := 0; at < len(names); at += most {
		to := min(at+most, len(names))
		if at > 0 {
			b.WriteString("\n")
		}
		w := tabwriter.NewWriter(&b, 0, 0, 1, ' ', 0)
		fmt.Fprintf(w, "  setting\t%s\n", strings.Join(names[at:to], "\t"))
		for _, key := range different {
			fmt.Fprintf(w, "  %s\t%s\n", key, strings.Join(values[key][at:to], "\t"))
		}
		w.Flush()
	}
	return b.String() + "\n" + wrapped("All presets: "+strings.Join(shared, ", ")+".") + "\n"
}

func allEqual(values []string) bool {
	for _, v := range values {
		if v != values[0] {
			return false
		}
	}
	return true
}
