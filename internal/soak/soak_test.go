//go:build linux

package soak

import (
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"
)

var (
	soak     = flag.Duration("soak", 0, "kill and resume the program for this long, 5m or 3h")
	soakSeed = flag.Uint64("soak-seed", 0, "of the first round of each scenario; 0: from the clock")
)

// mostFailures ends a scenario, and fewestKills come in each, however long that takes.
const (
	mostFailures = 3
	fewestKills  = 3
)

// build builds the program once.
var build = sync.OnceValues(func() (string, error) {
	if *soak == 0 {
		return "", nil
	}
	dir, err := os.MkdirTemp("", "soak-program-")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "dpnbench")
	out, err := exec.Command("go", "build", "-o", path, "dpnbench/cmd/dpnbench").CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("go build: %w: %s", err, out)
	}
	return path, nil
})

// built is the path of the program, once build has succeeded.
func built() string { path, _ := build(); return path }

// firstSeed is the seed of the first round.
func firstSeed() uint64 {
	if *soakSeed != 0 {
		return *soakSeed
	}
	return uint64(time.Now().UnixNano()) >> 16
}

// parallel is the number of tests that run at once.
func parallel() int { return flag.Lookup("test.parallel").Value.(flag.Getter).Get().(int) }

// TestSoak kills every command that writes files, at random moments, and continues as the messages say. The
// files must be those of an undisturbed run: the same bits, none missing, none left behind.
//
// Scenarios share the time. As many run at once as -parallel says.
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("takes minutes: with -soak 5m, or make soak")
	}
	if _, err := build(); err != nil {
		t.Fatal(err)
	}
	seed := firstSeed()
	results := make([]tally, len(scenarios))
	t.Cleanup(func() { t.Logf("from seed %d on\n%s", seed, table(results)) })
	share := *soak * time.Duration(parallel()) / time.Duration(len(scenarios))
	for i, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			s.prepare(t)
			defer func() { t.Logf("%+v", results[i]) }()
			for n, begun := uint64(0), time.Now(); results[i].kills < fewestKills || time.Since(begun) < share; n++ {
				results[i].add(s.round(t, seed+n))
				if results[i].failures >= mostFailures {
					t.Errorf("%d failures: %s ends", mostFailures, s.name)
					return
				}
			}
		})
	}
}

// round does one round in a folder of its own.
func (s *scenario) round(t *testing.T, seed uint64) tally {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	name := fnv.New64()
	name.Write([]byte(s.name))
	r := &round{t: t, s: s, rand: rand.New(rand.NewPCG(seed, name.Sum64())), dir: dir}
	r.rounds = 1
	if err := r.run(); err != nil {
		r.failures = 1
		t.Errorf("%v\n\trepeat:  go test ./internal/soak -run TestSoak/%s$ -soak 1s -soak-seed %d\n"+
			"\tfolder:  %s\n\tcommands, in a folder as before the first one:\n%s",
			err, s.name, seed, kept(t, dir), r.commands())
	}
	return r.tally
}

// commands lists what was run.
func (r *round) commands() string {
	var b strings.Builder
	for _, o := range r.log {
		fmt.Fprintf(&b, "\t%v\n", o)
	}
	return b.String()
}

// table shows what was done.
func table(results []tally) string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "scenario\trounds\tstarts\tkills\tbefore any file\tduring a write\tsignals\toutput closed\t"+
		"failures\t")
	row := func(name string, r tally) {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t\n", name, r.rounds, r.starts, r.kills, r.untouched,
			r.writing, r.signals, r.closed, r.failures)
	}
	var all tally
	for i, r := range results {
		if r.rounds > 0 {
			row(scenarios[i].name, r)
			all.add(r)
		}
	}
	row("all", all)
	w.Flush()
	return b.String()
}
