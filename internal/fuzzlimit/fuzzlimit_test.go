package fuzzlimit

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// recorder keeps the error of a check.
type recorder struct {
	testing.TB
	failed string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) { r.failed = fmt.Sprintf(format, args...) }

var kept []byte

func TestCheck(t *testing.T) {
	const slow = 100 * time.Millisecond
	calls := 0
	for name, c := range map[string]struct {
		f    func()
		fail bool
	}{
		"little":         {func() { kept = make([]byte, 1<<16) }, false},
		"much":           {func() { kept = make([]byte, 1<<22) }, true},
		"much and freed": {func() { kept = make([]byte, 1<<21); kept = make([]byte, 1<<21) }, true},
		"slow":           {func() { time.Sleep(slow + time.Millisecond) }, true},
		"slow once": {func() {
			if calls++; calls == 1 {
				time.Sleep(slow + time.Millisecond)
			}
		}, false},
	} {
		r := &recorder{TB: t}
		check(r, 1<<20, slow, c.f)
		if (r.failed != "") != c.fail || c.fail && !strings.Contains(r.failed, "expected at most 1048576 bytes") {
			t.Errorf("%s: error %q, want one: %t", name, r.failed, c.fail)
		}
	}
}
