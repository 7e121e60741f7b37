package engine

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestReservedRegisters reads the assembly of all architectures on every machine: reserved
// registers are not used, locals lie within their frame, every function with vectors of AVX ends
// with VZEROUPPER, each file begins with its build constraint or, a header, with a comment, and the
// table of contents of a file lists its functions in their order.
func TestReservedRegisters(t *testing.T) {
	reserved := map[string]*regexp.Regexp{
		"amd64": regexp.MustCompile(`\b(R14[BWL]?|SP|g)\b`),
		"arm64": regexp.MustCompile(`\b(R(1[6-8]|2[7-9]|30)|RSP|g)\b`),
	}
	files, err := filepath.Glob("*.[sh]")
	if err != nil || len(files) == 0 {
		t.Fatalf("no assembly: %v", err)
	}
	architecture := regexp.MustCompile(`_(amd64|arm64)\.[sh]$`)
	local := regexp.MustCompile(`\b\w+-(\d+)(?:\+\w+)*\(SP\)`) // in a frame, which the assembler counts
	frame := regexp.MustCompile(`^TEXT .*\$(\d+)-\d+`)
	listed := regexp.MustCompile(`(?m)^//\t(\w+) `) // in a table of contents
	function := regexp.MustCompile(`(?m)^TEXT ·(\w+)\(SB\)`)
	for _, file := range files {
		arch := architecture.FindStringSubmatch(file)
		if arch == nil {
			t.Errorf("%s: expected a name that ends in _amd64 or _arm64", file)
			continue
		}
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		begin := "// "
		if strings.HasSuffix(file, ".s") {
			begin = "//go:build " + arch[1] + " && !purego && !noasm\n"
		}
		if !strings.HasPrefix(string(source), begin) {
			t.Errorf("%s: expected it to begin with %q", file, begin)
		}
		if strings.HasSuffix(file, ".s") {
			_, contents, _ := strings.Cut(string(source), "\n// Contents:\n")
			contents, _, _ = strings.Cut(contents, "\n\n")
			if got, want := names(listed, contents), names(function, string(source)); !slices.Equal(got, want) {
				t.Errorf("%s: the table of contents lists %q, the file has %q", file, got, want)
			}
		}
		wide := vectorMacros(t, file)
		deepest, size, vectors, zeroed := 0, 1<<10, false, false
		for i, line := range strings.Split(string(source), "\n") {
			code, _, _ := strings.Cut(line, "//")
			if r := reserved[arch[1]].FindString(local.ReplaceAllString(code, "")); r != "" {
				t.Errorf("%s:%d: uses %s", file, i+1, r)
			}
			if text := frame.FindStringSubmatch(code); text != nil {
				size, _ = strconv.Atoi(text[1])
				vectors = false
			}
			for _, name := range local.FindAllStringSubmatch(code, -1) {
				n, _ := strconv.Atoi(name[1])
				deepest = max(deepest, n)
				if n > size {
					t.Errorf("%s:%d: %s is outside of the frame of %d bytes", file, i+1, name[0], size)
				}
			}
			code = strings.TrimSpace(code)
			switch {
			case code == "VZEROUPPER":
				zeroed = true
			case code == "RET" && vectors && !zeroed:
				t.Errorf("%s:%d: RET without VZEROUPPER", file, i+1)
			case arch[1] == "amd64" && usesVectors(code, wide):
				vectors, zeroed = true, false
			case strings.Contains(code, ":") || strings.Contains(code, "(") && !strings.HasPrefix(code, "MOV"):
				zeroed = false // a label or a macro
			}
		}
		// The locals in headers must fit into the frames of the functions that use them.
		frames := map[string]int{"gemm_panel_amd64.h": 312, "quad_smalld_amd64.h": 456}
		if size := frames[file]; size > 0 && deepest > size {
			t.Errorf("%s: locals down to -%d, expected at most %d", file, deepest, size)
		}
	}
}

// names lists the first groups of the matches of pattern.
func names(pattern *regexp.Regexp, text string) (list []string) {
	for _, m := range pattern.FindAllStringSubmatch(text, -1) {
		list = append(list, m[1])
	}
	return list
}

// macro matches the name of a macro.
var macro = regexp.MustCompile(`\b[A-Z][A-Z0-9_]*\b`)

// vector matches a vector register of AVX: V0 to V15 are those of both tiers.
var vector = regexp.MustCompile(`\b[VYZ]\d+\b`)

// define matches the definition of a macro: its name, and what follows on the line.
var define = regexp.MustCompile(`^#define (\w+)(?:\([^)]*\))?(.*)`)

// included matches the name of an included header of this folder.
var included = regexp.MustCompile(`(?m)^#include "(\w+_(?:amd64|arm64)\.h)"`)

// vectorMacros returns the macros of file, and of the headers that it includes, whose lines name vector
// registers, or macros that do.
func vectorMacros(t *testing.T, file string) map[string]bool {
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range names(included, string(source)) {
		text, err := os.ReadFile(header)
		if err != nil {
			t.Fatal(err)
		}
		source = append(source, text...)
	}
	wide := map[string]bool{}
	for found := -1; found < len(wide); { // until no macro is added: they are in any order
		found = len(wide)
		name := ""
		for line := range strings.Lines(string(source)) {
			code := strings.TrimSpace(line)
			if d := define.FindStringSubmatch(code); d != nil {
				name, code = d[1], strings.TrimSpace(d[2])
			}
			code, _, _ = strings.Cut(code, "//")
			if name != "" && usesVectors(code, wide) {
				wide[name] = true
			}
			if !strings.HasSuffix(strings.TrimSpace(code), "\\") {
				name = ""
			}
		}
	}
	return wide
}

// usesVectors reports whether a line names a vector register, or a macro of wide, which may be an argument of another.
func usesVectors(code string, wide map[string]bool) bool {
	return vector.MatchString(code) ||
		slices.ContainsFunc(macro.FindAllString(code, -1), func(name string) bool { return wide[name] })
}

// TestMacros checks that each macro of the assembly is used, that its name begins with the name of its
// family, and that it means one thing: of a file and the headers that it includes only one defines it.
func TestMacros(t *testing.T) {
	families := regexp.MustCompile(`^(VEC|ELEM|ADAM|REDUCE|NORMAL|EXP|LOG|MEASURE|GEMM|TRANSPOSE|PREFETCH)_` +
		`|^(QUAD|VJP|MIX|GRAD|TRI|PATCH|POOL|CONV)_` +
		`|^V[A-Z]+(4S0?|2D)$|^VFCVT[LN]2?$` + // instructions that the assembler does not know
		`|^V\d+$`) // registers of both tiers of amd64
	files, err := filepath.Glob("*.[sh]")
	if err != nil || len(files) == 0 {
		t.Fatalf("no assembly: %v", err)
	}
	sources, lines := map[string]string{}, map[string]map[string]int{} // of which a word is in, by file
	defined := map[string][]string{}                                   // the macros of a file
	word, definition := regexp.MustCompile(`\w+`), regexp.MustCompile(`(?m)^#define (\w+)`)
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources[file], lines[file] = string(source), map[string]int{}
		defined[file] = names(definition, string(source))
		for line := range strings.SplitSeq(string(source), "\n") {
			code, _, _ := strings.Cut(line, "/")
			words := word.FindAllString(code, -1)
			slices.Sort(words)
			for _, w := range slices.Compact(words) {
				lines[file][w]++
			}
		}
	}
	// together are the files of which some file is one or includes it, and is or includes the other.
	together := map[[2]string]bool{}
	for file, source := range sources {
		here := []string{file}
		for other := range sources {
			if other != file && strings.Contains(source, `#include "`+other+`"`) {
				here = append(here, other)
			}
		}
		for _, a := range here {
			for _, b := range here {
				together[[2]string{a, b}] = true
			}
		}
	}
	for file := range sources {
		for _, name := range defined[file] {
			if !families.MatchString(name) {
				t.Errorf("%s: macro %s: expected the prefix of a family", file, name)
			}
			uses := 0
			for other := range sources {
				if !together[[2]string{file, other}] {
					continue
				}
				uses += lines[other][name]
				if other != file && slices.Contains(defined[other], name) {
					t.Errorf("%s: macro %s is also defined in %s", file, name, other)
				}
			}
			if uses < 2 { // its definition and one use
				t.Errorf("%s: macro %s is not used", file, name)
			}
		}
	}
}
