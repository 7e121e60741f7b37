// Crossvet checks packages as they are compiled for other systems than this one: their types, that
// functions without a body have assembly, and the part of go vet that may differ from system to
// system. It reads all dependencies from their sources, in seconds, where go vet would compile
// them, a minute or two for each system. From the project's root:
//
//	go run ./internal/crossvet windows/amd64 js/wasm
package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/tools/go/analysis"
	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/passes/asmdecl"
	"golang.org/x/tools/go/analysis/passes/buildtag"
	"golang.org/x/tools/go/analysis/passes/directive"
	"golang.org/x/tools/go/analysis/passes/framepointer"
	"golang.org/x/tools/go/analysis/passes/unsafeptr"
	"golang.org/x/tools/go/packages"
)

var analyzers = []*analysis.Analyzer{asmdecl.Analyzer, buildtag.Analyzer, directive.Analyzer,
	framepointer.Analyzer, unsafeptr.Analyzer, bodies}

// bodies reports functions without a body in packages without assembly, as the compiler would.
var bodies = &analysis.Analyzer{
	Name: "bodies",
	Doc:  "report functions that have neither a body nor assembly",
	Run: func(pass *analysis.Pass) (any, error) {
		if slices.ContainsFunc(pass.OtherFiles, func(file string) bool { return filepath.Ext(file) == ".s" }) {
			return nil, nil
		}
		for _, file := range pass.Files {
			for _, decl := range file.Decls {
				if f, ok := decl.(*ast.FuncDecl); ok && f.Body == nil {
					pass.Reportf(f.Pos(), "function %s has no body, and the package no assembly", f.Name.Name)
				}
			}
		}
		return nil, nil
	},
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./internal/crossvet system/architecture ...")
		os.Exit(2)
	}
	wrong := 0
	for _, system := range os.Args[1:] {
		n, err := vet(os.Stderr, ".", system)
		if err != nil {
			fmt.Fprintln(os.Stderr, "crossvet:", err)
			os.Exit(2)
		}
		wrong += n
	}
	if wrong > 0 {
		os.Exit(1)
	}
}

// vet checks all packages in a folder, and their tests, for a system such as linux/arm64. It writes
// a line for each thing that is wrong, and returns their number.
func vet(w io.Writer, dir, system string) (int, error) {
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return 0, fmt.Errorf("%q is not a system and an architecture, as linux/arm64 is", system)
	}
	pkgs, err := packages.Load(&packages.Config{
		Mode:  packages.LoadAllSyntax,
		Dir:   dir,
		Fset:  token.NewFileSet(),
		Env:   append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
		Tests: true,
	}, "./...")
	if err != nil {
		return 0, fmt.Errorf("%s: %w", system, err)
	}
	reported := 0
	seen := map[string]bool{} // a package with tests is loaded again with them
	report := func(where, what string) {
		if line := fmt.Sprintf("%s: %s: %s\n", system, where, what); !seen[line] {
			seen[line] = true
			reported++
			io.WriteString(w, line)
		}
	}
	packages.Visit(pkgs, nil, func(p *packages.Package) {
		for _, err := range p.Errors {
			report(err.Pos, err.Msg)
		}
	})
	if reported > 0 {
		return reported, nil
	}
	graph, err := checker.Analyze(analyzers, pkgs, nil)
	if err != nil {
		return 0, fmt.Errorf("%s: %w", system, err)
	}
	for _, action := range graph.Roots {
		if action.Err != nil {
			return 0, fmt.Errorf("%s: %s: %w", system, action, action.Err)
		}
		for _, d := range action.Diagnostics {
			report(action.Package.Fset.Position(d.Pos).String(), d.Message)
		}
	}
	return reported, nil
}
