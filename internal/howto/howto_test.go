// Package howto has no code: its tests keep the steps of docs/contributing.md true.
package howto

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"dpnbench/engine/check"
)

const root = "../.."

var (
	// unchecked are the functions without a method that checks lengths: their only callers do.
	unchecked = map[string]bool{"missing": true, "quadSixteens": true, "poolBackward": true, "convPool": true,
		"fmaPeak": true}
	// indirect are the functions that only package check compares, by methods of a Worker.
	indirect = map[string]bool{"missing": true, "quadSixteens": true, "poolBackward": true, "panelAt": true,
		"addPatches": true, "spreadPatches": true, "convPool": true}
	// composed are the functions without an entry of their own in package check, which checks what is made of
	// them: products, ascents, and functions of rows.
	composed = map[string]bool{"missing": true, "panel": true, "narrow": true, "panelAt": true,
		"quadSmallD": true, "vjpSmallD": true, "quadTriangle": true, "quadSixteens": true, "mixtureLanes": true,
		"moveLanes": true, "moveRows": true, "gradient": true, "gradRows": true, "gradDeltas": true, "mixture": true,
		"responsibilityBackward": true, "subRows": true, "axpyProducts": true, "normalise": true, "normBackward": true,
		"dotRows": true, "sqdistRows": true, "quadRows": true, "squares": true, "addRows": true, "read": true,
		"write": true, "triad": true, "fmaPeak": true}
)

// TestKernels checks what neither the compiler nor another test notices about a new kernel: that it
// has a method of kernels, which checks lengths, that a test of package engine calls the
// unchecked function, and that package check has an entry of its name.
func TestKernels(t *testing.T) {
	files, err := filepath.Glob(root + "/engine/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%d files of package engine, %v", len(files), err)
	}
	var fields []string
	methods, tested := map[string]bool{}, map[string]bool{}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		test := strings.HasSuffix(name, "_test.go")
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok && n.Name.Name == "table" {
					fields = append(fields, functions(s)...)
				}
			case *ast.FuncDecl:
				if n.Recv != nil && receiver(n) == "kernels" {
					methods[n.Name.Name] = true
				}
			case *ast.SelectorExpr:
				if test {
					tested[n.Sel.Name] = true
				}
			}
			return true
		})
	}
	if len(fields) < 20 {
		t.Fatalf("type table of package engine has the functions %q, want more", fields)
	}
	for _, name := range fields {
		if methods[name] == unchecked[name] {
			t.Errorf("kernel %s: it has a checked method in engine/kernel.go: %v, it is listed here as unchecked: %v",
				name, methods[name], unchecked[name])
		}
		if !tested[name] && !indirect[name] {
			t.Errorf("kernel %s: no test of package engine calls it, as those in engine/parity_*_test.go", name)
		}
		entry := hyphenated(name)
		if found := slices.Contains(check.Kernels(), entry); found == composed[name] {
			t.Errorf("kernel %s: engine/check/kernel.go has an entry %s: %v, it is listed here as composed: %v",
				name, entry, found, composed[name])
		}
	}
}

// hyphenated is reluBackward as relu-backward.
func hyphenated(name string) string {
	var b strings.Builder
	for _, r := range name {
		if unicode.IsUpper(r) {
			b.WriteByte('-')
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return b.String()
}

// functions lists the fields of s that are functions.
func functions(s *ast.StructType) (names []string) {
	for _, f := range s.Fields.List {
		if _, ok := f.Type.(*ast.FuncType); ok {
			for _, n := range f.Names {
				names = append(names, n.Name)
			}
		}
	}
	return names
}

// receiver is the name of the type of a method.
func receiver(f *ast.FuncDecl) string {
	x := f.Recv.List[0].Type
	if p, ok := x.(*ast.StarExpr); ok {
		x = p.X
	}
	if name, ok := x.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
