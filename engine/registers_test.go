package engine

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestReservedRegisters reads the assembly on every machine: registers that the head of a file
// promises to leave alone are not used, locals lie within their frame, and every function with
// vectors of AVX ends with VZEROUPPER.
func TestReservedRegisters(t *testing.T) {
	amd64 := regexp.MustCompile(`\b(R14[BWL]?|SP|g)\b`)
	reserved := map[string]*regexp.Regexp{
		"asm_amd64.s":        amd64,
		"asm_avx512_amd64.s": amd64,
		"few_amd64.h":        amd64,
		"panels_amd64.h":     amd64,
		"triangle_amd64.h":   amd64,
		"asm_arm64.s":        regexp.MustCompile(`\b(R(1[6-8]|2[7-9]|30)|RSP|g)\b`),
	}
	files, err := filepath.Glob("*.[sh]")
	if err != nil || len(files) != len(reserved) {
		t.Errorf("assembly in %v, %v: expected %d files", files, err, len(reserved))
	}
	local := regexp.MustCompile(`\b\w+-(\d+)\(SP\)`) // in a frame, which the assembler counts
	frame := regexp.MustCompile(`^TEXT .*\$(\d+)-\d+`)
	vector := regexp.MustCompile(`\b[YZ]\d+\b`)
	wide := vectorMacros(t, files, vector)
	for file, registers := range reserved {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		deepest, size, vectors, zeroed := 0, 1<<10, false, false
		for i, line := range strings.Split(string(source), "\n") {
			code, _, _ := strings.Cut(line, "//")
			if r := registers.FindString(local.ReplaceAllString(code, "")); r != "" {
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
			case vector.MatchString(code) || wide[file+macro.FindString(code)]:
				vectors, zeroed = true, false
			case strings.Contains(code, ":") || strings.Contains(code, "(") && !strings.HasPrefix(code, "MOV"):
				zeroed = false // a label or a macro
			}
		}
		// What the header names must fit into the frames of both functions.
		if file == "few_amd64.h" && deepest > 192 {
			t.Errorf("%s: locals down to -%d, expected at most 192, the smaller frame", file, deepest)
		}
	}
}

// macro is the name of a macro, which a line of its own begins with.
var macro = regexp.MustCompile(`^[A-Z][A-Z0-9]*\b`)

// vectorMacros returns the macros, after the name of the file that may use them, whose lines name vector
// registers, or macros that do.
func vectorMacros(t *testing.T, files []string, vector *regexp.Regexp) map[string]bool {
	wide := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := ""
		for line := range strings.Lines(string(source)) {
			code := strings.TrimSpace(line)
			if d, ok := strings.CutPrefix(code, "#define "); ok {
				name, code, _ = strings.Cut(d, " ")
				name, _, _ = strings.Cut(name, "(")
			}
			if name != "" && (vector.MatchString(code) || wide[file+macro.FindString(code)]) {
				wide[file+name] = true
			}
			if !strings.HasSuffix(strings.TrimSpace(line), "\\") {
				name = ""
			}
		}
	}
	return wide
}
