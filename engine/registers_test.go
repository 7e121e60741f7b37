package engine

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestReservedRegisters reads the assembly on every machine: the registers that the head of a
// file promises to leave alone.
func TestReservedRegisters(t *testing.T) {
	amd64 := regexp.MustCompile(`\b(R14[BWL]?|SP|g)\b`)
	local := regexp.MustCompile(`\b\w+-\d+\(SP\)`) // in a frame, which the assembler counts
	reserved := map[string]*regexp.Regexp{
		"asm_amd64.s":        amd64,
		"asm_avx512_amd64.s": amd64,
		"asm_arm64.s":        regexp.MustCompile(`\b(R(1[6-8]|2[7-9]|30)|RSP|g)\b`),
	}
	files, err := filepath.Glob("*.s")
	if err != nil || len(files) != len(reserved) {
		t.Errorf("assembly in %v, %v: expected %d files", files, err, len(reserved))
	}
	for file, registers := range reserved {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(source), "\n") {
			code, _, _ := strings.Cut(line, "//")
			if r := registers.FindString(local.ReplaceAllString(code, "")); r != "" {
				t.Errorf("%s:%d: uses %s", file, i+1, r)
			}
		}
	}
}
