package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// manualFolder is set by make man. The generator is a test because it needs the commands and must
// not be in the program.
var manualFolder = flag.String("manual", "", "write manual pages and completions to a `FOLDER`")

// TestManual writes a page of the manual for every command, and completions for four shells.
func TestManual(t *testing.T) {
	dir := *manualFolder
	if dir == "" {
		dir = t.TempDir()
	}
	dir, err := filepath.Abs(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, sub := range []string{"man/man1", "completions"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o777); err != nil {
			t.Fatal(err)
		}
	}
	root := (&app{}).command()
	pages := 0
	var page func(c *cobra.Command)
	page = func(c *cobra.Command) {
		pages++
		text := manualPage(c)
		write(t, filepath.Join(dir, "man/man1", pageName(c)+".1"), text)
		c.LocalFlags().VisitAll(func(f *pflag.Flag) {
			if !f.Hidden && !bytes.Contains(text, []byte(`\fB`+roff("--"+f.Name)+`\fR`)) {
				t.Errorf("the page of %s lacks --%s", c.CommandPath(), f.Name)
			}
		})
		for line := range strings.Lines(string(text)) {
			if strings.HasPrefix(line, ".") && !slices.Contains([]string{".TH", ".SH", ".nf", ".fi", ".TP", ".PP"},
				strings.Fields(line)[0]) {
				t.Errorf("the page of %s has the request %q", c.CommandPath(), line)
			}
		}
		for _, s := range c.Commands() {
			if described(s) || s.Name() == "help" {
				page(s)
			}
		}
	}
	page(root)
	if pages < 15 {
		t.Errorf("%d pages", pages)
	}
	for name, generate := range map[string]func(b *bytes.Buffer) error{
		"dpnbench.bash": func(b *bytes.Buffer) error { return root.GenBashCompletionV2(b, true) },
		"_dpnbench":     func(b *bytes.Buffer) error { return root.GenZshCompletion(b) },
		"dpnbench.fish": func(b *bytes.Buffer) error { return root.GenFishCompletion(b, true) },
		"dpnbench.ps1":  func(b *bytes.Buffer) error { return root.GenPowerShellCompletionWithDesc(b) },
	} {
		var b bytes.Buffer
		if err := generate(&b); err != nil {
			t.Fatal(err)
		}
		if !bytes.Contains(b.Bytes(), []byte("dpnbench")) {
			t.Errorf("%s does not name the program", name)
		}
		write(t, filepath.Join(dir, "completions", name), b.Bytes())
	}
}

func pageName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manualPage returns the help of a command as a page of the manual.
func manualPage(c *cobra.Command) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, ".TH \"%s\" 1 \"\" \"dpnbench\" \"User commands\"\n", strings.ToUpper(pageName(c)))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(pageName(c)), roff(c.Short))
	use := c.UseLine()
	if !c.Runnable() {
		use = "dpnbench help " + c.Name()
	}
	fmt.Fprintf(&b, ".SH SYNOPSIS\n\\fB%s\\fR\n", roff(use))
	fmt.Fprintf(&b, ".SH DESCRIPTION\n.nf\n%s\n.fi\n", roff(strings.TrimRight(c.Long, "\n")))
	flags := func(title string, set *pflag.FlagSet) {
		if !set.HasAvailableFlags() {
			return
		}
		fmt.Fprintf(&b, ".SH %s\n", title)
		set.VisitAll(func(f *pflag.Flag) {
			if f.Hidden {
				return
			}
			value, usage := pflag.UnquoteUsage(f)
			name := `\fB` + roff("--"+f.Name) + `\fR`
			if f.Shorthand != "" {
				name = `\fB` + roff("-"+f.Shorthand) + `\fR, ` + name
			}
			if value != "" {
				name += ` \fI` + roff(value) + `\fR`
			}
			if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "0" && f.DefValue != "[]" {
				usage += " (default " + f.DefValue + ")"
			}
			fmt.Fprintf(&b, ".TP\n%s\n%s\n", name, roff(usage))
		})
	}
	flags("OPTIONS", c.LocalFlags())
	flags("GLOBAL OPTIONS", c.InheritedFlags())
	if c.HasExample() {
		fmt.Fprintf(&b, ".SH EXAMPLES\n.nf\n%s\n.fi\n", roff(strings.TrimRight(c.Example, "\n")))
	}
	var also []string
	if c.HasParent() {
		also = append(also, pageName(c.Parent()))
	}
	for _, s := range c.Commands() {
		if described(s) || s.Name() == "help" {
			also = append(also, pageName(s))
		}
	}
	fmt.Fprintf(&b, ".SH SEE ALSO\n%s(1)\n", strings.ReplaceAll(roff(strings.Join(also, "\x00")), "\x00", "(1), "))
	return b.Bytes()
}

// roff escapes a text: hyphens stay hyphens, and no line is a request.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
