package howto

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestBoundsFailForNaN finds bounds in tests that pass for NaN: if math.Abs(x) > y { t.Error }. Written
// as !(math.Abs(x) <= y), a bound fails for NaN, too.
func TestBoundsFailForNaN(t *testing.T) {
	files, fset := 0, token.NewFileSet()
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		f, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		files++
		ast.Inspect(f, func(n ast.Node) bool {
			if check, ok := n.(*ast.IfStmt); ok && reports(check.Body) {
				for _, c := range comparisons(check.Cond) {
					if magnitude(c.X) && (c.Op == token.GTR || c.Op == token.GEQ) {
						t.Errorf("%v: passes for NaN, expected !(math.Abs(x) <= y)", fset.Position(c.Pos()))
					}
				}
			}
			return true
		})
		return nil
	})
	if err != nil || files < 100 {
		t.Errorf("%d test files, %v", files, err)
	}
}

// reports says whether a block fails the test.
func reports(b *ast.BlockStmt) bool {
	for _, s := range b.List {
		if e, ok := s.(*ast.ExprStmt); ok {
			if c, ok := e.X.(*ast.CallExpr); ok {
				if f, ok := c.Fun.(*ast.SelectorExpr); ok && strings.Contains("Error Errorf Fatal Fatalf", f.Sel.Name) {
					return true
				}
			}
		}
	}
	return false
}

// comparisons returns the comparisons that are joined by || or && in a condition, but none below a !.
func comparisons(e ast.Expr) []*ast.BinaryExpr {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return comparisons(e.X)
	case *ast.BinaryExpr:
		if e.Op == token.LOR || e.Op == token.LAND {
			return append(comparisons(e.X), comparisons(e.Y)...)
		}
		return []*ast.BinaryExpr{e}
	}
	return nil
}

// magnitude says whether an expression is a call of math.Abs.
func magnitude(e ast.Expr) bool {
	c, ok := e.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := c.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	p, ok := f.X.(*ast.Ident)
	return ok && p.Name == "math" && f.Sel.Name == "Abs"
}
