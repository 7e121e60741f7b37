// Command vet runs the checks of go vet for other systems and build tags:
//
//	go run ./internal/vet windows/386 linux/amd64,noasm
//
// checks all packages and their tests for 32-bit Windows, and for Linux with the tag noasm. With the tag cgo it needs
// a C compiler. go vet compiles for a system whatever the packages import, and checks that, too, which takes a minute
// or two; this command reads the types from the source instead, in ten seconds. It does not assemble.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"

	"golang.org/x/tools/go/analysis/checker"
	"golang.org/x/tools/go/analysis/suite/vet"
	"golang.org/x/tools/go/packages"
)

func main() {
	if len(os.Args) == 1 {
		fmt.Fprintln(os.Stderr, "vet: expected systems: GOOS/GOARCH, each with build tags after commas")
		os.Exit(2)
	}
	debug.SetGCPercent(100) // .ci/run sets more: the memory then takes more time than its collection, and 5 GB
	for _, target := range os.Args[1:] {
		fmt.Println("vet", target)
		if err := check(target, "./..."); err != nil {
			fmt.Fprintf(os.Stderr, "vet %s: %v\n", target, err)
			os.Exit(1)
		}
	}
}

var (
	files  = token.NewFileSet()
	parsed sync.Map // the syntax of files by name: most belong to several systems
)

// parse parses a file, as package packages does, or returns what an earlier call has made of it.
func parse(files *token.FileSet, name string, text []byte) (*ast.File, error) {
	if f, ok := parsed.Load(name); ok {
		return f.(*ast.File), nil
	}
	f, err := parser.ParseFile(files, name, text, parser.AllErrors|parser.ParseComments)
	if err == nil {
		parsed.Store(name, f)
	}
	return f, err
}

// check vets packages for a target, GOOS/GOARCH[,TAG...]. What it finds goes to stderr.
func check(target string, patterns ...string) error {
	system, tags, _ := strings.Cut(target, ",")
	goos, goarch, ok := strings.Cut(system, "/")
	if !ok {
		return fmt.Errorf("expected GOOS/GOARCH, then build tags after commas")
	}
	list, cgo := strings.Split(tags, ","), "0"
	if at := slices.Index(list, "cgo"); at >= 0 {
		list, cgo = slices.Delete(list, at, at+1), "1" // as a flag it would choose files, without a C compiler
	}
	loaded, err := packages.Load(&packages.Config{
		Fset:       files,
		ParseFile:  parse,
		Mode:       packages.LoadAllSyntax | packages.NeedModule,
		Tests:      true,
		Env:        append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED="+cgo),
		BuildFlags: []string{"-tags=" + strings.Join(list, ",")},
	}, patterns...)
	if err != nil {
		return err
	}
	if n := packages.PrintErrors(loaded); n > 0 {
		return fmt.Errorf("errors: %d", n)
	}
	found, err := checker.Analyze(vet.Suite, loaded, nil)
	if err != nil {
		return err
	}
	if err := found.PrintText(os.Stderr, -1); err != nil {
		return err
	}
	n := 0
	for _, a := range found.Roots {
		n += len(a.Diagnostics)
		if a.Err != nil {
			return a.Err
		}
	}
	if n > 0 {
		return fmt.Errorf("findings: %d", n)
	}
	return nil
}
