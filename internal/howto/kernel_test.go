package howto

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dpnbench/engine"
	"dpnbench/internal/longtest"
)

// step changes some files. Afterwards the command must fail and say what is missing, or pass if
// nothing is.
type step struct {
	edits   []edit
	command string
	missing string
}

// edit replaces the first occurrence of old in a file.
type edit struct{ file, old, new string }

func before(file, anchor, text string) edit { return edit{file, anchor, text + anchor} }

const (
	tables   = "go test -short -vet=off ./engine -run ^(TestTables|TestReservedRegisters|TestMacros)$"
	parity   = "go test -short -vet=off ./engine -run ^TestParityElementwise$"
	complete = "go test -vet=off ./internal/howto -run ^TestKernels$"
	source   = "this -test.run ^TestKernels$" // the same, as long as package check has no other kernels
	hashes   = "go test -short -vet=off ./engine/check -run ^(TestHashes|TestEveryKernel)$"
	onARM    = "GOARCH=arm64 go test -c -vet=off -o /dev/null ./engine"
)

// steps add the elementwise kernel subtract, dst[j] = x[j] - y[j], in the order of
// docs/contributing.md.
var steps = []step{
	{[]edit{before("engine/table.go", "\tmultiply     func(", "\tsubtract func(dst, x, y []float32)\n"),
		before("engine/generic_vector.go", "// multiplyGeneric ", `// subtractGeneric sets dst[j] = x[j] - y[j].
func subtractGeneric(dst, x, y []float32) {
	for j := range dst {
		dst[j] = x[j] - y[j]
	}
}

`), before("engine/table.go", "\tmultiply:               multiplyGeneric", "\tsubtract: subtractGeneric,\n")},
		tables, "avx2: subtract is not set"},
	{slices.Concat(declared("amd64", "AVX2"), declared("avx512_amd64", "AVX512"), declared("arm64", "NEON"), []edit{
		before("engine/asm_amd64.s", "// func subRowsAVX2(", onAMD64("AVX2", "ELEM_MUL")),
		before("engine/asm_avx512_amd64.s", "// func subRowsAVX512(", onAMD64("AVX512", "ELEM_SUB")),
	}), tables, "asm_avx512_amd64.s: the table of contents lists"},
	{[]edit{
		before("engine/asm_amd64.s", "//\tsubRowsAVX2 ", "//\tsubtractAVX2      dst[j] = x[j] - y[j]\n"),
		before("engine/asm_avx512_amd64.s", "//\tsubRowsAVX512 ", "//\tsubtractAVX512      dst[j] = x[j] - y[j]\n"),
	}, tables, ""},
	{[]edit{
		before("engine/asm_arm64.s", "//\tsubRowsNEON ", "//\tsubtractNEON      dst[j] = x[j] - y[j]\n"),
		before("engine/asm_arm64.s", "// func subRowsNEON(", `TEXT ·subtractNEON(SB), NOSPLIT, $0-72
	MOVD dst_base+0(FP), R0
	MOVD dst_len+8(FP), R7
	MOVD x_base+24(FP), R1
	MOVD y_base+48(FP), R2
	VEC_LOOP(VEC_LOADXY, ELEM_SUB, VEC_STORE, VEC_LOADXY1, VEC_STORE1, l16, t16, l4, t4, l1, t1)
	RET

`),
	}, onARM, ""},
	{nil, source, "kernel subtract: it has a checked method in engine/kernel.go: false"},
	{[]edit{before("engine/kernel.go", "func (kern *kernels) subRows(",
		`func (kern *kernels) subtract(dst, x, y []float32) {
	need("subtract", "x", len(x), len(dst))
	need("subtract", "y", len(y), len(dst))
	kern.table.subtract(dst, x, y)
}

`)}, source, "kernel subtract: no test of package engine calls it"},
	{[]edit{before("engine/parity_vector_test.go", "\t{\"multiply\", 3, 0,",
		"\t{\"subtract\", 3, 0, func(kern *kernels, b [][]float32, s []float32) {\n"+
			"\t\tkern.table.subtract(b[0], b[1], b[2])\n\t}},\n")},
		parity, "subtract"}, // ELEM_MUL is a mistake
	{[]edit{{"engine/asm_amd64.s", onAMD64("AVX2", "ELEM_MUL"), onAMD64("AVX2", "ELEM_SUB")}},
		parity, ""},
	{nil, source, "kernel subtract: engine/check/kernel.go has an entry subtract: false"},
	{[]edit{before("engine/check/kernel.go", "\t{\"multiply\", ", "\t{\"subtract\", elementwise(subtract)},\n"),
		before("engine/check/vector.go", "\tmultiply = elementFunction{", `	subtract = elementFunction{
		func(_, x, y, _ float64) (float64, int) { return x - y, 1 },
		func(e *engine.Engine, out []float32, _ float32, x, y []float32) { e.Subtract(out, x, y) }}
`)}, hashes, "e.Subtract undefined"},
	{[]edit{
		before("engine/vector.go", "\topAxpy", "\topSubtract\n"),
		before("engine/vector.go", "\t\tcase opMultiply:",
			"\t\tcase opSubtract:\n\t\t\tj.kern.subtract(j.dst[a:b], j.x[a:b], j.y[a:b])\n"),
		before("engine/vector.go", "// Multiply sets ", `// Subtract sets dst[j] = x[j] - y[j].
func (e *Engine) Subtract(dst, x, y []float32) {
	length("Subtract", "x", len(x), len(dst))
	length("Subtract", "y", len(y), len(dst))
	e.each(vectorJob{op: opSubtract, dst: dst, x: x, y: y}, len(dst))
}

`)}, hashes, "no hash of subtract (-update adds it)"},
	{nil, hashes + " -update", ""},
	{nil, hashes, ""},
	{nil, complete, ""},
	{nil, "go vet ./engine", ""},
}

// declared is the entry in the table of a tier and the declaration.
func declared(file, tier string) []edit {
	file = "engine/asm_" + file + ".go"
	return []edit{
		before(file, "\tmultiply:               multiply"+tier, "\tsubtract: subtract"+tier+",\n"),
		before(file, "//go:noescape\nfunc multiply"+tier, "//go:noescape\nfunc subtract"+tier+
			"(dst, x, y []float32)\n\n"),
	}
}

// onAMD64 is the assembly of a tier.
func onAMD64(tier, operation string) string {
	return `// func subtract` + tier + `(dst, x, y []float32)
TEXT ·subtract` + tier + `(SB), NOSPLIT, $0-72
	ELEM_ARGSXY
	ELEM_LOOP(VEC_LOADXY, ` + operation + `, VEC_STORE)
	VZEROUPPER
	RET

`
}

// TestAddKernel follows the steps in a copy of the engine.
func TestAddKernel(t *testing.T) {
	longtest.Need(t) // it compiles the engine ten times
	if runtime.GOARCH != "amd64" || !slices.Contains(engine.Available(), engine.AVX2) {
		t.Skip("needs a machine with AVX2")
	}
	this, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, folder := range []string{"engine", "internal"} {
		if err := os.CopyFS(filepath.Join(dir, folder), os.DirFS(filepath.Join(root, folder))); err != nil {
			t.Fatal(err)
		}
	}
	for _, file := range []string{"go.mod", "go.sum"} {
		text, err := os.ReadFile(filepath.Join(root, file))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for i, s := range steps {
		for _, e := range s.edits {
			e.apply(t, dir)
		}
		out, err := run(dir, s.command, this)
		if s.missing == "" && err != nil {
			t.Fatalf("step %d: %s fails:\n%s", i+1, s.command, out)
		}
		if s.missing != "" && (err == nil || !strings.Contains(out, s.missing)) {
			t.Fatalf("step %d: %s (%v) does not say %q:\n%s", i+1, s.command, err, s.missing, out)
		}
	}
}

func (e edit) apply(t *testing.T, dir string) {
	t.Helper()
	path := filepath.Join(dir, e.file)
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), e.old) {
		t.Fatalf("%s has no %q, which this test looks for", e.file, e.old)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(text), e.old, e.new, 1)), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a command of words without spaces, after settings of the environment, in a copy of the source. The
// command "this" is this test, in the folder of its package.
func run(dir, command, this string) (out string, err error) {
	words := strings.Fields(command)
	var settings []string
	for strings.Contains(words[0], "=") {
		settings, words = append(settings, words[0]), words[1:]
	}
	c := exec.Command(words[0], words[1:]...)
	c.Dir = dir
	if words[0] == "this" {
		c = exec.Command(this, words[1:]...)
		c.Dir = filepath.Join(dir, "internal", "howto")
	}
	flags := os.Getenv("GOFLAGS") + " -ldflags=-w" // linked faster
	c.Env = append(os.Environ(), append(settings, "GOFLAGS="+flags, "DPN_TIER=")...)
	text, err := c.CombinedOutput()
	return string(text), err
}
