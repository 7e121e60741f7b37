package engine

import (
	"fmt"
	"go/constant"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// wordMacro matches an instruction that Go's assembler does not know: name, operands, value and, in
// a comment, the mnemonic that it must decode to.
var wordMacro = regexp.MustCompile(`^#define (\w+)\(([\w, ]+)\)\s+WORD \$\((.+)\)\s+// (.+)$`)

// TestEncodings decodes every WORD macro of the arm64 assembly with several registers and compares
// the result with the mnemonic in its comment. It runs on any architecture.
func TestEncodings(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: starts a process, after which an emulator may hang")
	}
	files, err := filepath.Glob("*_arm64.[sh]")
	if err != nil {
		t.Fatal(err)
	}
	var words []uint32
	var want []string
	macros := 0
	for _, file := range files {
		w, m, n := encodings(t, file)
		words, want, macros = append(words, w...), append(want, m...), macros+n
	}
	if macros == 0 {
		t.Fatalf("no WORD macros in %v", files)
	}
	got := disassemble(t, words)
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("%#08x decodes to %q, expected %q", words[i], got[i], want[i])
		}
	}
	t.Logf("%d macros, %d words", macros, len(words))
}

// encodings returns the words of the WORD macros of a file with several registers, the mnemonics in
// their comments, and the number of macros.
func encodings(t *testing.T, file string) (words []uint32, want []string, macros int) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(string(source), "\n") {
		code, _, _ := strings.Cut(line, "//")
		if !strings.Contains(code, "WORD") {
			continue
		}
		m := wordMacro.FindStringSubmatch(line)
		if m == nil {
			t.Errorf("%s:%d: WORD outside of a macro with its mnemonic in a comment", file, i+1)
			continue
		}
		macros++
		for _, values := range [][]int{{1, 2, 3}, {31, 30, 29}, {16, 8, 4}, {21, 10, 27}} {
			value, mnemonic := m[3], m[4]
			for j, operand := range strings.Split(m[2], ", ") {
				v := fmt.Sprint(values[j])
				value = regexp.MustCompile(`\b`+operand+`\b`).ReplaceAllString(value, v)
				if operand == "s" {
					mnemonic = strings.ReplaceAll(mnemonic, "#s", "#"+v)
				} else {
					mnemonic = strings.ReplaceAll(mnemonic, "V"+operand+".", "v"+v+".")
				}
			}
			word, err := types.Eval(token.NewFileSet(), nil, token.NoPos, value)
			if err != nil {
				t.Fatalf("%s:%d: %s: %v", file, i+1, m[1], err)
			}
			bits, exact := constant.Uint64Val(word.Value)
			if !exact || bits >= 1<<32 {
				t.Fatalf("%s:%d: %s: %v is not a word", file, i+1, m[1], word.Value)
			}
			words = append(words, uint32(bits))
			want = append(want, mnemonic)
		}
	}
	return words, want, macros
}

var objdumpLine = regexp.MustCompile(`(?m)^\s*[0-9a-f]+:\s+[0-9a-f]{8}\s+(.+)$`)

// disassemble decodes words with GNU objdump, or skips the test.
func disassemble(t *testing.T, words []uint32) []string {
	t.Helper()
	decode := func(tool string, words []uint32) []string {
		var code []byte
		for _, w := range words {
			code = append(code, byte(w), byte(w>>8), byte(w>>16), byte(w>>24))
		}
		file := filepath.Join(t.TempDir(), "code")
		if err := os.WriteFile(file, code, 0o600); err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(tool, "-D", "-z", "-b", "binary", "-m", "aarch64", file).Output()
		if err != nil {
			return nil
		}
		var list []string
		for _, m := range objdumpLine.FindAllStringSubmatch(string(out), -1) {
			list = append(list, strings.Join(strings.Fields(m[1]), " "))
		}
		return list
	}
	for _, tool := range []string{"aarch64-linux-gnu-objdump", "objdump", "gobjdump"} {
		if nop := decode(tool, []uint32{0xd503201f}); len(nop) != 1 || nop[0] != "nop" {
			continue
		}
		list := decode(tool, words)
		if len(list) != len(words) {
			t.Fatalf("%s decoded %d words of %d", tool, len(list), len(words))
		}
		return list
	}
	t.Skip("no GNU objdump that decodes AArch64 (Debian: binutils-aarch64-linux-gnu)")
	return nil
}
