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

// TestHelp checks that every command has examples in its help.
func TestHelp(t *testing.T) {
	var examples func(c *cobra.Command)
	examples = func(c *cobra.Command) {
		for _, s := range c.Commands() {
			examples(s)
		}
		if !c.HasParent() { // it only leads to others
			return
		}
		out := succeed(t, append(strings.Fields(c.CommandPath())[1:], "--help")...)
		if !strings.Contains(out, "Examples:") || !strings.Contains(out, "  "+c.CommandPath()) {
			t.Errorf("help of %s: %q", c.CommandPath(), out)
		}
	}
	examples((&app{}).command())
	if out := succeed(t, "help", "data", "fetch"); !strings.Contains(out, "dpnbench data fetch mnist") {
		t.Errorf("help data fetch: %q", out)
	}
	fails(t, []string{"help", "foo"}, `no subcommand "foo", expected one of `, "train")
	fails(t, []string{"help", "bench", "foo"}, `bench: no subcommand "foo", expected compare`)
	fails(t, []string{"help", "train", "foo"}, `train takes no argument "foo"`)
	if out := succeed(t); !strings.Contains(out, "Available Commands:") {
		t.Errorf("dpnbench printed %q", out)
	}
}

// TestPresetList checks that the help of train describes every preset.
func TestPresetList(t *testing.T) {
	for _, p := range dpn.PresetTable() {
		if p.Description == "" || !strings.Contains(presetList(), p.Description) {
			t.Errorf("no description of preset %s", p.Name)
		}
	}
}

// TestHelpWidth checks that help texts fit into helpWidth columns.
func TestHelpWidth(t *testing.T) {
	for _, c := range (&app{}).command().Commands() {
		for line := range strings.Lines(succeed(t, c.Name(), "--help")) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > helpWidth {
				t.Errorf("%s: %d columns, want at most %d: %s", c.Name(), n, helpWidth, line)
			}
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
