package main

import (
	"strings"
	"testing"
)

// TestCheck finds what go vet or the compiler would, on the systems that it concerns.
func TestCheck(t *testing.T) {
	for _, c := range []struct{ target, folder, want string }{
		{"linux/amd64", "finding", "findings: 1"},
		{"linux/amd64", "fault", ""},
		{"windows/amd64", "fault", "errors: 1"},
		{"linux/386", "fault", "errors: 1"},
		{"linux/amd64,wrong", "fault", "errors: 1"},
		{"linux/amd64,cgo", "fault", "errors: 1"},
		{"linux", "fault", "expected GOOS/GOARCH"},
		{"linux/none", "fault", "linux/none"},
	} {
		err := check(c.target, "./testdata/"+c.folder)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s of %s: error %v, want %q", c.target, c.folder, err, c.want)
		}
	}
}
