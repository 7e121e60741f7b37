package docs

import (
	"go/ast"
	"go/doc"
	"go/doc/comment"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestPackageExamples checks that the documentation of every public package starts with lines of
// code, after a paragraph or two, and that the package has an example with these lines, which go
// test runs.
func TestPackageExamples(t *testing.T) {
	packages := 0
	for _, dir := range strings.Fields(run(t, "go", "list", "-f", "{{.Dir}}", "../...")) {
		rel, err := filepath.Rel(root(t), dir)
		if err != nil {
			t.Fatal(err)
		}
		name := filepath.ToSlash(rel)
		switch top, _, _ := strings.Cut(name, "/"); {
		case top == "cmd" || top == "docs" || top == "examples" || strings.Contains("/"+name+"/", "/internal/"),
			name == "bench/peers":
			continue
		}
		packages++
		code, ok := firstCode(t, dir)
		if !ok {
			t.Errorf("%s: no code in the documentation before the third paragraph", name)
			continue
		}
		example, ok := exampleOf(t, dir)
		if !ok {
			t.Errorf("%s: no func Example with output in its tests", name)
			continue
		}
		for _, line := range code {
			if !example[line] {
				t.Errorf("%s: the documentation has the line %q, which Example has not", name, line)
			}
		}
	}
	if packages < 20 {
		t.Errorf("%d packages", packages)
	}
}

func root(t *testing.T) string {
	dir, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// bare returns a line of code without its comment and its spaces.
func bare(line string) string {
	line, _, _ = strings.Cut(line, " // ")
	return strings.Join(strings.Fields(line), "")
}

// firstCode returns the lines of the first block of code in the documentation of a package, if it is
// among the first three blocks.
func firstCode(t *testing.T, dir string) (lines []string, ok bool) {
	parsed, err := parser.ParseDir(token.NewFileSet(), dir, func(f fs.FileInfo) bool {
		return !strings.HasSuffix(f.Name(), "_test.go")
	}, parser.ParseComments|parser.PackageClauseOnly)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range parsed {
		for _, f := range p.Files {
			var parse comment.Parser
			for i, b := range parse.Parse(f.Doc.Text()).Content {
				if c, isCode := b.(*comment.Code); isCode && i < 3 {
					for line := range strings.Lines(c.Text) {
						if line = bare(line); line != "" {
							lines = append(lines, line)
						}
					}
					return lines, true
				}
			}
		}
	}
	return nil, false
}

// exampleOf returns the lines of the example of a package.
func exampleOf(t *testing.T, dir string) (lines map[string]bool, ok bool) {
	names, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		set := token.NewFileSet()
		f, err := parser.ParseFile(set, name, text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range doc.Examples(f) {
			if e.Name != "" || e.Output == "" {
				continue
			}
			lines = map[string]bool{}
			for _, d := range f.Decls {
				if d, isFunc := d.(*ast.FuncDecl); isFunc && d.Recv == nil && d.Name.Name == "Example" {
					body := string(text[set.Position(d.Pos()).Offset:set.Position(d.End()).Offset])
					for line := range strings.Lines(body) {
						lines[bare(line)] = true
					}
				}
			}
			return lines, true
		}
	}
	return nil, false
}
