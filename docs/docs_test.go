// Package docs holds README.md and the pages of this folder to the source: what they link to,
// name or run must exist.
package docs

import (
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"dpnbench/bench"
	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
)

// maxReadme is the most lines that README.md may have: it is an entrance, not a manual.
const maxReadme = 150

// page is a Markdown file.
type page struct {
	name  string // relative to the root of the module
	lines []string
}

// pages reads README.md and docs/*.md.
func pages(t *testing.T) []page {
	names, err := filepath.Glob("*.md")
	if err != nil || len(names) == 0 {
		t.Fatalf("no pages in docs: %v", err)
	}
	list := []page{read(t, "README.md")}
	for _, name := range names {
		list = append(list, read(t, "docs/"+name))
	}
	return list
}

func read(t *testing.T, name string) page {
	text, err := os.ReadFile(filepath.Join("..", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return page{name, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")}
}

// tree lists all files and folders of the module, relative to its root. It reads the folders
// themselves, so the test cache notices every change in the source.
func tree(t *testing.T) map[string]bool {
	list := map[string]bool{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && name != "." && (strings.HasPrefix(d.Name(), ".") || name == "runs") {
			return fs.SkipDir
		}
		list[name] = true
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestReadmeIsShort(t *testing.T) {
	if n := len(read(t, "README.md").lines); n > maxReadme {
		t.Errorf("README.md has %d lines, expected at most %d: move details to docs", n, maxReadme)
	}
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#+ +(.*)$`)
	notSlug = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// TestLinks follows every relative link, and its fragment to a heading.
func TestLinks(t *testing.T) {
	headings := map[string][]string{}
	list := pages(t)
	for _, p := range list {
		code := false
		for _, l := range p.lines {
			code = code != strings.HasPrefix(l, "```")
			if m := heading.FindStringSubmatch(l); m != nil && !code {
				slug := notSlug.ReplaceAllString(strings.ToLower(m[1]), "")
				headings[p.name] = append(headings[p.name], strings.ReplaceAll(slug, " ", "-"))
			}
		}
	}
	linked := map[string]bool{}
	for _, p := range list {
		for i, l := range p.lines {
			for _, m := range link.FindAllStringSubmatch(l, -1) {
				if strings.Contains(m[1], "://") {
					continue
				}
				name, fragment, _ := strings.Cut(m[1], "#")
				target := p.name
				if name != "" {
					target = path.Join(path.Dir(p.name), name)
				}
				linked[target] = true
				if _, err := os.Stat(filepath.Join("..", filepath.FromSlash(target))); err != nil {
					t.Errorf("%s:%d: link to %s, which does not exist", p.name, i+1, m[1])
				} else if fragment != "" && !slices.Contains(headings[target], fragment) {
					t.Errorf("%s:%d: link to %s, expected one of the headings %v", p.name, i+1, m[1], headings[target])
				}
			}
		}
	}
	for _, p := range list[1:] {
		if !linked[p.name] {
			t.Errorf("no page links to %s", p.name)
		}
	}
}

var (
	span     = regexp.MustCompile("`([^`]+)`")
	word     = regexp.MustCompile(`[^\s,;()'"]+`)
	fileName = regexp.MustCompile(`^[\w*]+(_test)?\.(go|s|h|md|tmpl)$`)
)

// codes calls f for every piece of code of a page: inline spans, and lines of code blocks.
func codes(p page, f func(line int, code string, block bool)) {
	fenced, blank := false, true
	for i, l := range p.lines {
		indented := strings.HasPrefix(l, "    ") && (blank || indentedBefore(p.lines, i))
		switch {
		case strings.HasPrefix(strings.TrimSpace(l), "```"):
			fenced = !fenced
		case fenced || indented:
			f(i+1, strings.TrimSpace(l), true)
		default:
			for _, m := range span.FindAllStringSubmatch(l, -1) {
				f(i+1, m[1], false)
			}
		}
		blank = l == ""
	}
}

func indentedBefore(lines []string, i int) bool {
	return i > 0 && strings.HasPrefix(lines[i-1], "    ")
}

// TestPaths looks for every file and folder of the source that is named: a path from the root, or
// the name of a source file alone. An asterisk stands for anything.
func TestPaths(t *testing.T) {
	files := tree(t)
	top := map[string]bool{}
	for name := range files {
		if dir, _, inside := strings.Cut(name, "/"); inside && strings.HasSuffix(name, ".go") {
			top[dir] = true
		}
	}
	exists := func(pattern string, base bool) bool {
		for name := range files {
			if base {
				name = path.Base(name)
			}
			if ok, err := path.Match(pattern, name); ok && err == nil {
				return true
			}
		}
		return false
	}
	for _, p := range pages(t) {
		codes(p, func(line int, code string, block bool) {
			for _, w := range word.FindAllString(code, -1) {
				w = strings.TrimSuffix(strings.TrimSuffix(strings.TrimPrefix(w, "./"), "/..."), "/")
				w = strings.TrimPrefix(strings.TrimRight(w, ".:"), "dpnbench/")
				dir, _, inside := strings.Cut(w, "/")
				switch {
				case inside && top[dir] && !exists(w, false):
					t.Errorf("%s:%d: %s does not exist", p.name, line, w)
				case fileName.MatchString(w) && !exists(w, true):
					t.Errorf("%s:%d: no file of the source is named %s", p.name, line, w)
				}
			}
		})
	}
}

var (
	flagName = regexp.MustCompile(`--([a-z][a-z-]*)`)
	helpFlag = regexp.MustCompile(`(?m)^ +(?:-\w, )?(?:    )?--([a-z][a-z-]*)`)
)

// TestCommands holds every command line to the help of the subcommand: it must exist and know the
// flags, and --preset must name a preset.
func TestCommands(t *testing.T) {
	t.Parallel()
	program := filepath.Join(t.TempDir(), "dpnbench.exe")
	run(t, "go", "build", "-o", program, "../cmd/dpnbench")
	known := map[string][]string{} // flags by subcommand
	flags := func(sub string) []string {
		if known[sub] == nil {
			help := run(t, program, append(strings.Fields(sub), "--help")...)
			for _, m := range helpFlag.FindAllStringSubmatch(help, -1) {
				known[sub] = append(known[sub], m[1])
			}
		}
		return known[sub]
	}
	var subs []string
	available := regexp.MustCompile(`(?m)^  ([a-z]+) +[A-Z]`)
	_, list, _ := strings.Cut(run(t, program, "--help"), "Available Commands:")
	list, _, _ = strings.Cut(list, "\nFlags:")
	for _, m := range available.FindAllStringSubmatch(list, -1) {
		subs = append(subs, m[1])
	}
	if len(subs) < 10 {
		t.Fatalf("the help of dpnbench lists only %v", subs)
	}
	commands := 0
	for _, p := range pages(t) {
		codes(p, func(line int, code string, block bool) {
			code, _, _ = strings.Cut(code, "  #")
			args := strings.Fields(code)
			if len(args) == 0 || strings.Contains(code, "GOARCH=") {
				return
			}
			switch {
			case args[0] == "./dpnbench" || args[0] == "dpnbench":
				args = args[1:]
			case len(args) > 2 && args[0] == "go" && args[1] == "run" && args[2] == "./cmd/dpnbench":
				args = args[3:]
			case !block && slices.Contains(subs, args[0]) && strings.Contains(code, " --"):
			default:
				return
			}
			if len(args) == 0 || strings.HasPrefix(args[0], "-") {
				return // --version and such
			}
			if !slices.Contains(subs, args[0]) {
				t.Errorf("%s:%d: dpnbench has no subcommand %s", p.name, line, args[0])
				return
			}
			commands++
			sub := args[0]
			if sub == "bench" && len(args) > 1 && args[1] == "compare" {
				sub = "bench compare"
			} else if sub == "data" && len(args) > 1 {
				sub = "data " + args[1]
			}
			for i, a := range args {
				m := flagName.FindStringSubmatch(a)
				if m == nil {
					continue
				}
				if !slices.Contains(flags(sub), m[1]) {
					t.Errorf("%s:%d: %s has no flag --%s", p.name, line, sub, m[1])
				}
				if m[1] == "preset" && i+1 < len(args) && args[i+1] != "NAME" &&
					!slices.Contains(dpn.Presets(), args[i+1]) {
					t.Errorf("%s:%d: no preset is named %s", p.name, line, args[i+1])
				}
			}
		})
	}
	if commands < 30 {
		t.Errorf("only %d command lines found in all pages", commands)
	}
}

// TestMake looks up every target of make.
func TestMake(t *testing.T) {
	text := strings.Join(read(t, "Makefile").lines, "\n")
	targets := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z0-9-]+):`).FindAllStringSubmatch(text, -1) {
		targets[m[1]] = true
	}
	for _, p := range pages(t) {
		codes(p, func(line int, code string, _ bool) {
			if args := strings.Fields(code); len(args) > 1 && args[0] == "make" && args[1] != "#" && !targets[args[1]] {
				t.Errorf("%s:%d: the Makefile has no target %s", p.name, line, args[1])
			}
		})
	}
}

// TestGoDoc looks up every address of go doc.
func TestGoDoc(t *testing.T) {
	t.Parallel()
	named := map[string]string{}
	address := regexp.MustCompile(`^go doc ((?:\./)?\S+(?: \S+)?)$`)
	for _, p := range pages(t) {
		codes(p, func(_ int, code string, _ bool) {
			if m := address.FindStringSubmatch(code); m != nil {
				named[m[1]] = p.name
			}
		})
	}
	var wait sync.WaitGroup
	for a, name := range named {
		wait.Go(func() {
			c := command("go", append([]string{"doc"}, strings.Fields(a)...)...)
			c.Dir = ".."
			if out, err := c.CombinedOutput(); err != nil {
				t.Errorf("%s: go doc %s: %s", name, a, out)
			}
		})
	}
	wait.Wait()
}

// TestPrograms type-checks every block of Go that is a whole program.
func TestPrograms(t *testing.T) {
	t.Parallel()
	for _, p := range pages(t) {
		text := strings.Join(p.lines, "\n")
		for i, block := range strings.Split(text, "```go\n")[1:] {
			code, _, _ := strings.Cut(block, "```")
			if !strings.HasPrefix(code, "package main\n") {
				continue
			}
			file := filepath.Join(t.TempDir(), "main.go")
			if err := os.WriteFile(file, []byte(code), 0o666); err != nil {
				t.Fatal(err)
			}
			if out, err := command("go", "vet", file).CombinedOutput(); err != nil {
				t.Errorf("%s: program %d: %s", p.name, i+1, out)
			}
		}
	}
}

// TestMap checks the map of the source in README.md: every package has a place there, and imports
// point down. What is named below the map, and internal, may be imported from anywhere.
func TestMap(t *testing.T) {
	row := map[string]int{}
	free := map[string]bool{}
	inMap := false
	for i, l := range read(t, "README.md").lines {
		switch {
		case strings.HasPrefix(l, "    cmd/dpnbench "):
			inMap = true
		case strings.HasPrefix(l, "Beside them: "):
			for _, m := range span.FindAllStringSubmatch(l, -1) {
				free[m[1]] = true
			}
			inMap = false
		}
		if names, _, _ := strings.Cut(strings.TrimSpace(l), "  "); inMap {
			for _, name := range strings.Fields(names) {
				row[name] = i + 1
			}
		}
	}
	list := run(t, "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "../...")
	for _, l := range strings.Split(strings.TrimSpace(list), "\n") {
		var names []string
		for _, name := range strings.Fields(l) {
			if name, ours := strings.CutPrefix(name, "dpnbench/"); ours {
				names = append(names, name)
			}
		}
		from := names[0]
		top, _, _ := strings.Cut(from, "/")
		if free[from] || top == "docs" || top == "examples" || strings.Contains("/"+from, "/internal/") {
			continue
		}
		if row[from] == 0 {
			t.Errorf("README.md: the map of the source has no line for %s", from)
			continue
		}
		for _, to := range names[1:] {
			if r := row[to]; r != 0 && r <= row[from] {
				t.Errorf("%s imports %s, which the map of README.md has not below it (lines %d and %d)", from, to,
					row[from], r)
			}
		}
	}
}

// TestLists holds lists of names to the source: each name must be there, in backquotes.
func TestLists(t *testing.T) {
	var kinds []string
	for _, k := range dataset.CorruptionKinds() {
		kinds = append(kinds, k.Name)
	}
	for _, c := range []struct {
		page  string
		names []string
	}{
		{"README.md", dpn.Presets()},
		{"docs/training.md", dpn.Presets()},
		{"docs/training.md", potential.Forms()},
		{"docs/robustness.md", kinds},
		{"docs/benchmarks.md", bench.Suites()},
	} {
		text := strings.Join(read(t, c.page).lines, "\n")
		for _, name := range c.names {
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("%s does not mention `%s`", c.page, name)
			}
		}
	}
	// Forms of precisions have a row of a table each.
	for _, name := range potential.Forms() {
		if !strings.Contains("\n"+strings.Join(read(t, "docs/mathematics.md").lines, "\n"), "\n| `"+name+"` |") {
			t.Errorf("docs/mathematics.md has no row for the form `%s`", name)
		}
	}
}

// TestLongTests checks that the page on reliability names, in its first paragraph, the tests named on it that do less
// unless long tests are asked for.
func TestLongTests(t *testing.T) {
	text := strings.Join(read(t, "docs/reliability.md").lines, "\n")
	intro, rest, _ := strings.Cut(text, "\n## ")
	asks := regexp.MustCompile(`longtest\.(Asked|Need)\(`)
	name := regexp.MustCompile(`^(\w+)\(`)
	long := map[string]bool{}
	for file := range tree(t) {
		if !strings.HasSuffix(file, "_test.go") || file == "docs/docs_test.go" {
			continue
		}
		functions := map[string]string{}
		for _, f := range strings.Split("\n"+strings.Join(read(t, file).lines, "\n"), "\nfunc ")[1:] {
			if m := name.FindStringSubmatch(f); m != nil {
				functions[m[1]] = f
			}
		}
		for f, body := range functions {
			if !asks.MatchString(body) {
				continue
			}
			long[f] = true
			for caller, body := range functions { // of a helper
				if !strings.HasPrefix(f, "Test") && strings.Contains(body, f+"(") {
					long[caller] = true
				}
			}
		}
	}
	if len(long) < 15 {
		t.Errorf("only %d functions ask for long tests", len(long))
	}
	for _, f := range regexp.MustCompile(`\bTest\w+`).FindAllString(intro, -1) {
		if !long[f] {
			t.Errorf("docs/reliability.md: %s does not ask for long tests", f)
		}
	}
	for f := range long {
		word := regexp.MustCompile(`\b` + f + `\b`)
		if strings.HasPrefix(f, "Test") && word.MatchString(rest) && !word.MatchString(intro) {
			t.Errorf("docs/reliability.md: the first paragraph does not list %s, which asks for long tests", f)
		}
	}
}

// command is a program of this machine, also where the test itself is emulated.
func command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Env = append(os.Environ(), "GOOS=", "GOARCH=")
	return c
}

func run(t *testing.T, name string, args ...string) string {
	out, err := command(name, args...).Output()
	if err != nil {
		t.Fatalf("%s %s: %v", name, strings.Join(args, " "), err)
	}
	return string(out)
}
