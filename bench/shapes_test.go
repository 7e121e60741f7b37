package bench

import (
	"fmt"
	"strings"
	"testing"

	"dpnbench/engine"
)

// TestShapes runs the rows of a shape of one's own, of every suite that takes one, and compares them with the
// reference.
func TestShapes(t *testing.T) {
	e := newEngine(t, engine.WithThreads(1))
	for _, s := range shaped {
		var fields []string
		for i, name := range s.names {
			fields = append(fields, fmt.Sprintf("%s=%d", name, 3+2*i))
		}
		rows, err := ofShape(strings.Join(fields, ","))
		if err != nil {
			t.Fatal(err)
		}
		ran := 0
		for _, g := range rows {
			if g.suite != s.suite {
				continue // which has the same parameters
			}
			setup, err := g.setup()
			if err != nil {
				t.Fatal(err)
			}
			w, err := setup(e)
			if err == nil {
				err = w.op()
			}
			if err == nil {
				_, err = w.check()
			}
			if err != nil {
				t.Errorf("%s: %v", g.id(), err)
			}
			ran++
		}
		if ran == 0 {
			t.Errorf("no row of suite %s with shape %s", s.suite, fields)
		}
	}
}

// TestRows lists the rows of settings: those of own shapes, and suite peak only beside whole suites or where it is
// asked for.
func TestRows(t *testing.T) {
	for _, c := range []struct {
		settings Settings
		want     string // rows but those of suite peak
		peak     bool
		err      string
	}{
		{Settings{Suites: []string{"optim"}}, "optim/adam/n=65536 optim/factors/d=64,k=20", true, ""},
		{Settings{Suites: []string{"gemm"}, Filter: "packed/m=512"}, "gemm/packed/m=512,k=512,n=512", false, ""},
		{Settings{Suites: []string{"peak", "gemm"}, Filter: "packed/m=512"}, "gemm/packed/m=512,k=512,n=512", true, ""},
		{Settings{Filter: "^peak/fma"}, "", true, ""},
		{Settings{Shapes: []string{"k=7,m=3,n=5", "m=3,k=7,n=5"}},
			"gemm/packed/m=3,k=7,n=5 gemm/plain nn/m=3,k=7,n=5", false, ""},
		{Settings{Shapes: []string{"d=4,k=3,n=2,batch=8"}, Suites: []string{"peak", "ascent"}},
			"ascent/full/d=4,k=3,n=2,batch=8", true, ""},
		{Settings{Shapes: []string{"d=4,k=3,n=2,batch=8"}}, "ascent/full/d=4,k=3,n=2,batch=8 " +
			"backward/forward+backward/d=4,k=3,n=2,batch=8", false, ""},
		{Settings{Shapes: []string{"n=9"}, Filter: "sum|adam"}, "reduce/sum/n=9 optim/adam/n=9", false, ""},
		{Settings{Shapes: []string{"m=3"}}, "", false, `shape "m=3": expected the parameters of gemm m,k,n, of quad`},
		{Settings{Shapes: []string{"m=3,m=3,k=1,n=1"}}, "", false, `"m=3": expected NAME=N, each name once`},
		{Settings{Shapes: []string{"m=3,k=1,n=0"}}, "", false, `"n=0": expected NAME=N`},
		{Settings{Shapes: []string{""}}, "", false, `expected NAME=N`},
		{Settings{Shapes: []string{"m=3,k=1,n=1048577"}}, "", false, `N from 1 to 1048576`},
		{Settings{Shapes: []string{"m=1048576,k=1048576,n=1048576"}}, "", false, `GiB available`},
		{Settings{Shapes: []string{"m=1,k=1,n=1"}, Suites: []string{"quad"}}, "", false, "one of suite gemm, not of"},
		{Settings{Shapes: []string{"m=999,k=999,n=999"}, Tiers: []string{"generic"}}, "", false, "too much work for"},
		{Settings{Suites: []string{"backward"}, Tiers: []string{"generic"}}, "", false,
			"suite backward: no row of extent quick is small enough for tier generic"},
	} {
		c.settings.Extent, c.settings.Threads = "quick", []int{1}
		if c.settings.Tiers == nil {
			c.settings.Tiers = []string{"auto"}
		}
		rows, err := c.settings.Rows()
		if c.err != "" {
			if err == nil || !strings.Contains(err.Error(), c.err) {
				t.Errorf("%+v: error %v, want %q", c.settings, err, c.err)
			}
			continue
		}
		if err != nil {
			t.Error(err)
			continue
		}
		var ids []string
		peak := false
		for _, r := range rows {
			if strings.HasPrefix(r.ID, "peak/") {
				peak = true
			} else if len(ids) == 0 || ids[len(ids)-1] != r.ID {
				ids = append(ids, r.ID)
			}
		}
		if got := strings.Join(ids, " "); got != c.want || peak != c.peak {
			t.Errorf("%+v: rows %q, peak %v, want %q, %v", c.settings, got, peak, c.want, c.peak)
		}
	}
}
