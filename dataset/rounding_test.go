package dataset

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"path/filepath"
	"strings"
	"testing"
)

// Go may fuse a product with the sum that it enters, on some architectures. In
// this package every floating-point product must therefore stand right inside
// a conversion such as float64(x*y), and of package math only functions that
// are exact everywhere may be called.
func TestNoProductCanBeFused(t *testing.T) {
	fset := token.NewFileSet()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || name == "fetch.go" { // which multiplies durations
			continue
		}
		f, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, f)
	}
	for _, e := range fusible(fset, files) {
		t.Error(e)
	}
}

func TestFusibleFindsWhatItShould(t *testing.T) {
	for body, want := range map[string]int{
		"return float64(x*y) + x":           0,
		"return float64(x*y/2) + x":         0,
		"return float64((x + y) * y) + x":   0,
		"return math.Sqrt(x) + x/y":         0,
		"n := 3; return float64(n * n)":     0,
		"n := 3; return x + float64(n*n+1)": 0,
		"const c = 2.5 * 3; return c + x":   0,
		"return x*y + x":                    1,
		"p := x * y; return p + x":          1,
		"x *= y; return x + y":              1,
		"return float64(x*y + x)":           1,
		"return x * math.Floor(y) + x":      1,
		"return math.Exp(x)":                1,
		"return math.FMA(x, y, x)":          1,
	} {
		fset := token.NewFileSet()
		f, err := parser.ParseFile(fset, "f.go", `package p; import "math"; func f(x, y float64) float64 {`+body+"}", 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := fusible(fset, []*ast.File{f}); len(got) != want {
			t.Errorf("%q: found %q, want %d", body, got, want)
		}
	}
}

// fusible returns the places in a package's files whose floating-point result
// may depend on the architecture.
func fusible(fset *token.FileSet, files []*ast.File) (found []string) {
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	config := types.Config{
		Importer: noImports{},
		Error:    func(error) {}, // what comes from other packages has no type
	}
	config.Check("p", fset, files, info)
	whole := func(e ast.Expr) bool { // an integer, or known at compile time
		tv := info.Types[e]
		basic, ok := types.Unalias(tv.Type).(*types.Basic)
		return tv.Value != nil || ok && basic.Info()&types.IsInteger != 0
	}
	exact := map[string]bool{"Sqrt": true, "Floor": true, "Ceil": true, "Abs": true,
		"IsNaN": true, "IsInf": true, "Float32bits": true, "Float32frombits": true}
	report := func(n ast.Node, what string) { found = append(found, fset.Position(n.Pos()).String()+": "+what) }

	for _, f := range files {
		var path []ast.Node // from the file down to the node looked at
		ast.Inspect(f, func(n ast.Node) bool {
			if n == nil {
				path = path[:len(path)-1]
				return true
			}
			switch n := n.(type) {
			case *ast.BinaryExpr:
				if n.Op == token.MUL && !whole(n) && !rounded(path) {
					report(n, "product outside of a conversion")
				}
			case *ast.AssignStmt:
				if n.Tok == token.MUL_ASSIGN && !whole(n.Lhs[0]) {
					report(n, "*= on a floating-point number")
				}
			case *ast.SelectorExpr:
				if x, ok := n.X.(*ast.Ident); ok && x.Name == "math" && !exact[n.Sel.Name] {
					report(n, "math."+n.Sel.Name+" is not known to be exact everywhere")
				}
			}
			path = append(path, n)
			return true
		})
	}
	return found
}

// rounded reports whether the innermost of the enclosing nodes, further products
// and quotients aside, is a conversion to a floating-point type.
func rounded(path []ast.Node) bool {
	for i := len(path) - 1; i >= 0; i-- {
		switch n := path[i].(type) {
		case *ast.ParenExpr:
		case *ast.BinaryExpr:
			if n.Op != token.MUL && n.Op != token.QUO {
				return false
			}
		case *ast.CallExpr:
			name, ok := n.Fun.(*ast.Ident)
			return ok && (name.Name == "float64" || name.Name == "float32")
		default:
			return false
		}
	}
	return false
}

// noImports stands in for every other package with an empty one.
type noImports struct{}

func (noImports) Import(path string) (*types.Package, error) {
	p := types.NewPackage(path, path)
	p.MarkComplete()
	return p, nil
}
