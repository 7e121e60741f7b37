package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/internal/longtest"

	"github.com/spf13/cobra"
)

// TestEmptyFlags sets flags to an empty text: all are refused except two, for which it has a
// meaning.
func TestEmptyFlags(t *testing.T) {
	for _, name := range []string{"data", "suite", "out", "preset", "model", "hidden", "filter"} {
		found := false
		for _, c := range (&app{}).command().Commands() {
			if c.Flags().Lookup(name) == nil {
				continue
			}
			found = true
			if err := c.ParseFlags([]string{"--" + name, ""}); err != nil {
				t.Fatal(err)
			}
			err := refuseEmpty(c.Flags())
			if meant := name == "hidden" || name == "filter"; meant != (err == nil) {
				t.Errorf("%s --%s '': error %v", c.Name(), name, err)
			}
		}
		if !found {
			t.Errorf("no command has --%s", name)
		}
	}
}

// everyCommand calls f with the words of every command and text of help.
func everyCommand(f func(c *cobra.Command, words []string)) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		f(c, strings.Fields(c.CommandPath())[1:])
		for _, s := range c.Commands() {
			walk(s)
		}
	}
	walk((&app{}).command())
}

// TestHelp checks that every command has examples in its help, and that its lines fit into helpWidth columns.
func TestHelp(t *testing.T) {
	longtest.Native(t)
	everyCommand(func(c *cobra.Command, words []string) {
		out := succeed(t, append(words, "--help")...)
		for line := range strings.Lines(out) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s: %d columns, want at most %d: %s", c.CommandPath(), n, helpWidth, line)
			}
		}
		if !c.HasParent() || !c.Runnable() { // it only leads to others, or is a text
			return
		}
		if !strings.Contains(out, "Examples:") || !strings.Contains(out, "  "+c.CommandPath()) {
			t.Errorf("help of %s: %q", c.CommandPath(), out)
		}
	})
	for _, c := range []struct {
		args string
		want []string
	}{
		{"help data fetch", []string{"dpnbench data fetch mnist"}},
		{"", []string{"Available Commands:", "Texts of help:\n  presets "}},
		{"help presets", []string{"  setting  ", "All presets:"}},
		{"train --help", []string{"Settings:\n      --preset", "Data:\n      --data ", "Network:\n      --extractor ",
			"Potential:\n      --components ", "Training:\n      --gradient ", "Noise:\n      --noise-min ",
			"Output:\n      --out ", "Flags:\n      --route ", "Global Flags:\n"}},
	} {
		out := succeed(t, strings.Fields(c.args)...)
		for _, want := range c.want {
			if _, after, found := strings.Cut(out, want); !found {
				t.Errorf("%q: lacks %q", c.args, want)
			} else {
				out = after // in this order
			}
		}
	}
	fails(t, []string{"completion", "foo"}, `no subcommand "foo", expected one of `, "bash")
	fails(t, []string{"help", "foo"}, `no subcommand "foo", expected one of `, "train")
	fails(t, []string{"help", "bench", "foo"}, `bench: no subcommand "foo", expected one of compare, scale`)
	fails(t, []string{"help", "train", "foo"}, `train takes no argument "foo"`)
	if out := succeed(t, "train", "--help"); strings.Contains(out, "All presets:") || strings.Count(out, "\n") > 160 {
		t.Error("the help of train holds the table of presets, or is long")
	}
}

// TestPresetList checks that the help describes every preset.
func TestPresetList(t *testing.T) {
	for _, p := range dpn.PresetTable() {
		if p.Description == "" || !strings.Contains(presetList(), p.Description) {
			t.Errorf("no description of preset %s", p.Name)
		}
	}
}

// TestJSONTargets writes results through a link and to a device.
func TestJSONTargets(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	write(t, target, []byte("old"))
	if err := os.Symlink(target, link); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("Windows makes symbolic links for administrators only:", err)
		}
		t.Fatal(err)
	}
	succeed(t, "info", "--json", link)
	var r map[string]any
	load(t, target, &r)
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link became a file")
	}
	if before, err := os.Stat(os.DevNull); err == nil && !before.Mode().IsRegular() {
		succeed(t, "info", "--json", os.DevNull)
		if after, err := os.Stat(os.DevNull); err != nil || after.Mode() != before.Mode() {
			t.Fatalf("%s changed from %v to %v", os.DevNull, before.Mode(), after.Mode())
		}
	}
}

// TestEngineFlags gives wrong flags of an engine to commands that make none.
func TestEngineFlags(t *testing.T) {
	for _, c := range []struct{ args, want string }{
		{"data info digits --tier bogus", `--tier: unknown tier "bogus"`},
		{"data info digits --threads nonsense", "--threads nonsense: expected a whole number from 1 to"},
		{"bench --list --quick --tier bogus", `--tier: unknown tier "bogus"`},
		{"bench compare a b --threads 1,2", "--threads 1,2: expected a whole number from 1 to"},
		{"check --judge none --threads 0", "--threads 0: expected a whole number from 1 to"},
		{"sweep --config none --list --route bogus", `--route: unknown route "bogus"`},
		{"--version --tier bogus", `--tier: unknown tier "bogus"`},
	} {
		fails(t, strings.Fields(c.args), "dpnbench: "+c.want)
	}
}

// TestUnavailableTier asks for tiers that this machine does not have.
func TestUnavailableTier(t *testing.T) {
	for _, i := range engine.Tiers() {
		if !i.Available {
			fails(t, []string{"info", "--tier", i.Tier.String()}, i.Tier.String(), i.Reason)
		}
	}
	t.Setenv("DPN_TIER", "none")
	fails(t, []string{"info"}, "DPN_TIER", `"none"`)
	t.Setenv("DPN_TIER", "generic")
	t.Setenv("DPN_THREADS", "-3")
	fails(t, []string{"info"}, "DPN_THREADS -3")
	t.Setenv("DPN_THREADS", "3")
	var r struct {
		Tier    string
		Threads int
	}
	if err := json.Unmarshal([]byte(succeed(t, "info", "--json", "-")), &r); err != nil || r.Tier != "generic" ||
		r.Threads != 3 {
		t.Errorf("info: %+v, %v", r, err)
	}
}
