package main

import (
	"encoding/json"
	"runtime"
	"strings"
	"testing"
)

// TestVersion checks that the command and the flag say the same, in words and in JSON.
func TestVersion(t *testing.T) {
	out := succeed(t, "version", "--tier", "generic")
	for _, want := range []string{"dpnbench ", "\ncommit   ", "\ndate     ", "\nGo       " + runtime.Version() + "\n",
		"\ntarget   " + runtime.GOOS + "/" + runtime.GOARCH, "\ntier     generic\n", "\nMPI      "} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	if flag := succeed(t, "--version", "--tier", "generic"); flag != out {
		t.Errorf("--version prints %q, version %q", flag, out)
	}
	var r struct{ Go, Tier string }
	if err := json.Unmarshal([]byte(succeed(t, "version", "--json", "-", "--tier", "generic")), &r); err != nil {
		t.Fatal(err)
	}
	if r.Go != runtime.Version() || r.Tier != "generic" {
		t.Errorf("JSON: %+v", r)
	}
	fails(t, []string{"version", "x"}, `version takes no argument "x"`)
}
