// Package prosetest checks that code and templates of package prose agree.
package prosetest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/template/parse"

	"dpnbench/internal/prose"
)

// Check parses the package in dir. Every call of Say must name a template, by a literal or among
// the extra names, and pass exactly the keys that it shows; every template must be used.
func Check(t *testing.T, dir string, text prose.Set, extra map[string][]string) {
	t.Helper()
	want := map[string][]string{}
	for name, tmpl := range text.Templates() {
		if !strings.HasSuffix(name, ".tmpl") {
			keys := map[string]bool{}
			fields(tmpl.Root, keys)
			want[name] = slices.Sorted(maps.Keys(keys))
		}
	}
	said := said(t, dir)
	maps.Copy(said, extra)
	for name, keys := range said {
		got, ok := want[name]
		if slices.Sort(keys); !ok {
			t.Errorf("Say(%q): no such template", name)
		} else if !slices.Equal(got, slices.Compact(keys)) {
			t.Errorf("Say(%q): keys %q, the template shows %q", name, keys, got)
		}
		delete(want, name)
	}
	for name := range want {
		t.Errorf("nothing says %q", name)
	}
}

// said returns the keys of each call of Say whose name is a literal.
func said(t *testing.T, dir string) map[string][]string {
	t.Helper()
	packages, err := parser.ParseDir(token.NewFileSet(), dir, func(f fs.FileInfo) bool {
		return !strings.HasSuffix(f.Name(), "_test.go")
	}, 0)
	if err != nil {
		t.Fatal(err)
	}
	calls := map[string][]string{}
	for _, p := range packages {
		ast.Inspect(p, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok || len(c.Args) == 0 {
				return true
			}
			if s, ok := c.Fun.(*ast.SelectorExpr); !ok || s.Sel.Name != "Say" {
				return true
			}
			name, ok := literal(c.Args[0])
			if !ok {
				return true
			}
			calls[name] = []string{}
			for i := 1; i < len(c.Args); i += 2 {
				key, _ := literal(c.Args[i])
				calls[name] = append(calls[name], key)
			}
			return true
		})
	}
	return calls
}

func literal(e ast.Expr) (string, bool) {
	b, ok := e.(*ast.BasicLit)
	if !ok || b.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(b.Value)
	return s, err == nil
}

// fields collects the keys that a template shows.
func fields(n parse.Node, keys map[string]bool) {
	switch n := n.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, c := range n.Nodes {
				fields(c, keys)
			}
		}
	case *parse.ActionNode:
		fields(n.Pipe, keys)
	case *parse.PipeNode:
		if n != nil {
			for _, c := range n.Cmds {
				fields(c, keys)
			}
		}
	case *parse.CommandNode:
		for _, c := range n.Args {
			fields(c, keys)
		}
	case *parse.FieldNode:
		keys[n.Ident[0]] = true
	case *parse.VariableNode:
		if n.Ident[0] == "$" && len(n.Ident) > 1 {
			keys[n.Ident[1]] = true
		}
	case *parse.IfNode:
		branch(&n.BranchNode, keys)
	case *parse.RangeNode:
		branch(&n.BranchNode, keys)
	case *parse.WithNode:
		branch(&n.BranchNode, keys)
	}
}

func branch(b *parse.BranchNode, keys map[string]bool) {
	fields(b.Pipe, keys)
	fields(b.List, keys)
	fields(b.ElseList, keys)
}
