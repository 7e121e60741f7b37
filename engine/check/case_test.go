package check

import (
	"strings"
	"testing"

	"dpnbench/internal/fuzzlimit"
)

// FuzzParseCase reads cases, and what String makes of them.
func FuzzParseCase(f *testing.F) {
	for _, k := range Kernels() {
		f.Add(k)
		f.Add(k + ":m=1,k=2,n=3")
	}
	for _, s := range []string{"", ":", "none:m=1", "matmul:m=x", "matmul:m=0x1", "matmul:m=99999999999999999999",
		"dot:n=-1", "matmul:m=1,m=2", "\x1b:\x1b=1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var c Case
		var err error
		fuzzlimit.Check(t, 64*len(s)+1<<20, func() { c, err = ParseCase(s) })
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
			return
		}
		back, err := ParseCase(c.String())
		if err != nil || back.String() != c.String() {
			t.Errorf("%q: read %s, then %s, %v", s, c, back, err)
		}
	})
}

// TestMoreCases checks that no case of a list of more is out of range, and so left out without a word. Only those of
// worker-matmul are: it takes fewer layouts of C than matmul, whose list it has.
func TestMoreCases(t *testing.T) {
	for i := range kernels {
		k := &kernels[i]
		if k.more == nil || k.name == "worker-matmul" {
			continue
		}
		for _, values := range k.more(false) {
			if _, ok := k.newCase(values); !ok {
				t.Errorf("%s: arguments %v are out of range", k.name, values)
			}
		}
	}
}
