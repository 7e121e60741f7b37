package reproduce

import (
	"encoding/json"
	"strings"
	"testing"

	"dpnbench/internal/fuzzlimit"
)

// robustResults returns results as RunRobust writes them after the given number of trainings.
func robustResults(trainings int) *Robust {
	r := &Robust{Data: "digits", Pictures: 40, SHA256: "ab"}
	list := contenders()
	for i := range trainings {
		c, seed := list[i%len(list)], i/len(list)+1
		run := RobustRun{Seed: uint64(seed), TestAccuracy: 0.5}
		for _, n := range noises {
			run.Noisy = append(run.Noisy, NoisyScore{n.Name, n.Severity, 0.25})
		}
		names := []trained{{name: c.name, kind: kindDPN}}
		if c.name == "robust-small" {
			names = append(names, trained{name: "rule 0", kind: kindRule}, trained{name: "rule 1", kind: kindRule})
		}
		for _, n := range names {
			r.add(n, c.noisy, run)
		}
		r.Done = append(r.Done, c.title(seed))
	}
	return r
}

func TestRobustCheck(t *testing.T) {
	all := len(contenders())
	for _, n := range []int{0, 1, 2, all, all + 3} {
		r := robustResults(n)
		if err := r.Check(); err != nil {
			t.Errorf("%d trainings: %v", n, err)
		}
		if n > 0 {
			RobustTable(r)
			r.Verdicts()
		}
	}
	for want, damage := range map[string]func(r *Robust){
		"no runs":              func(r *Robust) { r.Networks[0].Runs = nil },
		"accuracies on 0":      func(r *Robust) { r.Networks[1].Runs[0].Noisy = nil },
		"accuracies on 1":      func(r *Robust) { r.Networks[1].Runs[0].Noisy = r.Networks[1].Runs[0].Noisy[:1] },
		"noise x:":             func(r *Robust) { r.Networks[1].Runs[0].Noisy[0].Name = "x" },
		"not between 0 and 1":  func(r *Robust) { r.Networks[1].Runs[0].TestAccuracy = 2 },
		"kind \"\"":            func(r *Robust) { r.Networks[1].Kind = "" },
		"twice":                func(r *Robust) { r.Networks[1] = r.Networks[0] },
		"has seed 7":           func(r *Robust) { r.Networks[1].Runs[0].Seed = 7 },
		"finished training 0":  func(r *Robust) { r.Done = r.Done[1:] },
		"runs of networks, ex": func(r *Robust) { r.Networks = r.Networks[1:] },
	} {
		r := robustResults(all)
		damage(r)
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// FuzzRobust reads results and, where Check takes them, uses them as the page does.
func FuzzRobust(f *testing.F) {
	for _, n := range []int{0, 1, len(contenders())} {
		b, err := json.Marshal(robustResults(n))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"networks":[{"name":"robust-small","kind":"dpn","runs":[]}]}`)) // was out of range
	f.Add([]byte(`{"networks":[{"name":"MLP","kind":"baseline","runs":[{"seed":1,"noisy":[]}]}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		r := &Robust{}
		var err error
		fuzzlimit.Check(t, 64*len(b)+4<<20, func() {
			*r = Robust{}
			if err = json.Unmarshal(b, r); err == nil {
				err = r.Check()
			}
		})
		if err != nil {
			return
		}
		RobustTable(r)
		r.Verdicts()
		ruleText(r)
		robustFigure(r, true)
	})
}
