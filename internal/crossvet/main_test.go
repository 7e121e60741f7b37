package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVet checks a module with a fault on each of some systems, in a file of that system.
func TestVet(t *testing.T) {
	if testing.Short() {
		t.Skip("starts go, which is the same on every machine: without -short")
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":           "module m\n\ngo 1.26\n",
		"m.go":             "package m\n\nfunc f(x int32) int32\n",
		"m_amd64.s":        "#include \"textflag.h\"\n\nTEXT \u00b7f(SB), NOSPLIT, $0-12\n\tMOVL x+0(FP), AX\n\tMOVL AX, ret+8(FP)\n\tRET\n",
		"m_arm64.s":        "#include \"textflag.h\"\n\nTEXT \u00b7f(SB), NOSPLIT, $0-16\n\tMOVW x+0(FP), R0\n\tMOVW R0, ret+8(FP)\n\tRET\n",
		"m_darwin_test.go": "package m\n\nvar s string = 1\n",
		"m_windows.go":     "package m\n\nimport \"syscall\"\n\nvar _ = syscall.Getuid2\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("GOFLAGS", "") // of whoever runs this
	for system, want := range map[string]string{
		"linux/amd64":   "",
		"darwin/amd64":  "m_darwin_test.go:3:16: cannot use 1",
		"windows/amd64": "m_windows.go:5:17: undefined: syscall.Getuid2",
		"linux/arm64":   "wrong argument size 16; expected $...-12",
		"linux/riscv64": "m.go:3:1: function f has no body, and the package no assembly",
	} {
		var out strings.Builder
		n, err := vet(&out, dir, system)
		wrong := 1
		if want == "" {
			wrong = 0
		}
		if got := out.String(); err != nil || n != wrong || strings.Count(got, "\n") != wrong || !strings.Contains(got, want) {
			t.Errorf("%s: %d reports, %v, want %d with %q:\n%s", system, n, err, wrong, want, got)
		}
	}
	for _, system := range []string{"linux", "linux/none", "none/amd64"} {
		if n, err := vet(&strings.Builder{}, dir, system); err == nil {
			t.Errorf("%s: %d reports and no error", system, n)
		}
	}
}
