package dpn

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// mayFuse are lines, or parts of them, that compilers for arm64 fuse without harm: with an exact product, such as half
// of a number, or for a figure that promises no bits.
var mayFuse = []string{
	"f/4", "b[i]-mean", "- middle", "-middle", "2 * h", "orderErrors*", "digit/2", // exact
	"// exact, so fusing changes nothing", "eps*(math.Abs(d[lo-1])", "shift := d[hi]", "Float(q - half)",
	"at(1 - tail)", "against(draws, 1-tail)", "0.5 + confidence/2", "n * (n*n - 1)",
	"return 2 * n * float64(out)", "half := math.Exp(t *", "m/n + 0x1p-40", "loss + linalg.Dot", // costs, intervals
	"ms := ", "ms += ", "costs = append", "paths, landscape", "landscape += ", "moves += ", // estimates of time
}

// halves is half of a number, which is exact.
var halves = regexp.MustCompile(`/2\b`)

// TestNothingFuses compiles what computes published figures for arm64, where a product and a sum become one operation
// with one rounding unless the product is converted: other bits than on other machines.
func TestNothingFuses(t *testing.T) {
	if testing.Short() {
		t.Skip("compiles packages; not with -short")
	}
	// The compiler names each place where it fuses: fmahash is its switch for finding one that matters.
	c := exec.Command("go", "build", "-gcflags=-d=fmahash=vy", "-o", os.DevNull, "./potential", "./separation",
		"./study", "./layer", "../internal/linalg", "../internal/stat", "../reproduce")
	c.Env = append(os.Environ(), "GOARCH=arm64", "GOOS=linux", "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out[:min(len(out), 2000)])
	}
	// The last place of a line is the innermost of calls that are inlined.
	fused := regexp.MustCompile(`(?m)^fmahash triggered .*?(\S+\.go):(\d+):\d+ [01]+$`)
	sources := map[string][]string{}
	seen := map[string]bool{}
	for _, m := range fused.FindAllStringSubmatch(string(out), -1) {
		if place := m[1] + ":" + m[2]; !seen[place] {
			seen[place] = true
			checkFused(t, sources, m[1], m[2])
		}
	}
	if n := strings.Count(string(out), "fmahash triggered"); n != len(fused.FindAllString(string(out), -1)) {
		t.Errorf("%d operations are fused, some at places that this test does not understand:\n%s", n, out)
	}
	if len(seen) == 0 {
		t.Error("no fused operation found, not even an exact one: does the compiler print others now?")
	}
}

// checkFused fails unless a line of a file may be fused.
func checkFused(t *testing.T, sources map[string][]string, file, number string) {
	t.Helper()
	if strings.Contains(file, "/engine/") { // inlined: the tests of kernels compare tiers
		return
	}
	if inner, ok := strings.CutPrefix(file, "dpnbench/"); ok { // with -trimpath
		file = filepath.Join("..", inner)
	}
	if sources[file] == nil {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sources[file] = strings.Split(string(b), "\n")
	}
	n, err := strconv.Atoi(number)
	if err != nil || n > len(sources[file]) {
		t.Fatalf("%s has no line %s", file, number)
	}
	line := strings.TrimSpace(sources[file][n-1])
	if halves.MatchString(line) || slices.ContainsFunc(mayFuse, func(part string) bool {
		return strings.Contains(line, part)
	}) {
		return
	}
	t.Errorf("%s:%s is fused on arm64: %s", file, number, line)
}
