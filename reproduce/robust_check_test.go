package reproduce

import (
	"encoding/json"
	"strings"
	"testing"

	"dpnbench/internal/fuzzlimit"
)

// robustResults returns results as RunRobust returns them for the given number of seeds.
func robustResults(seeds int) *Robust {
	r := &Robust{Data: "digits", Images: 40, SHA256: "ab"}
	for seed := range seeds {
		for _, c := range contenders() {
			run := RobustRun{Seed: uint64(seed + 1), TestAccuracy: 0.5}
			for _, n := range noises {
				run.Noisy = append(run.Noisy, NoisyScore{n.Name, n.Severity, 0.25})
			}
			list := []robustResult{{Name: c.name, Kind: kindDPN, Run: run}}
			if c.name == "robust-small" {
				list = append(list, robustResult{Name: "rule 0", Kind: kindRule, Run: run},
					robustResult{Name: "rule 1", Kind: kindRule, Run: run})
			}
			for _, n := range list {
				r.add(n, c.noisy)
			}
		}
	}
	return r
}

func TestRobustCheck(t *testing.T) {
	for n := 1; n <= 3; n++ {
		r := robustResults(n)
		if err := r.Check(); err != nil {
			t.Errorf("%d seeds: %v", n, err)
		}
		RobustTable(r)
		r.Verdicts()
	}
	for want, damage := range map[string]func(r *Robust){
		"no runs":                func(r *Robust) { r.Networks[0].Runs = nil },
		"accuracies on 0":        func(r *Robust) { r.Networks[1].Runs[0].Noisy = nil },
		"accuracies on 1":        func(r *Robust) { r.Networks[1].Runs[0].Noisy = r.Networks[1].Runs[0].Noisy[:1] },
		"noise x:":               func(r *Robust) { r.Networks[1].Runs[0].Noisy[0].Name = "x" },
		"not between 0 and 1":    func(r *Robust) { r.Networks[1].Runs[0].TestAccuracy = 2 },
		"kind \"\"":              func(r *Robust) { r.Networks[1].Kind = "" },
		"twice":                  func(r *Robust) { r.Networks[1] = r.Networks[0] },
		"has seed 7":             func(r *Robust) { r.Networks[1].Runs[0].Seed = 7 },
		"1 runs, expected 2":     func(r *Robust) { r.Networks[2].Runs = r.Networks[2].Runs[:1] },
		"14 networks, expected":  func(r *Robust) { r.Networks = r.Networks[1:] },
		"0 networks, expected 1": func(r *Robust) { r.Networks = nil },
	} {
		r := robustResults(2)
		damage(r)
		if err := r.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %q", err, want)
		}
	}
}

// FuzzRobust reads results and, where Check takes them, uses them as the page does.
func FuzzRobust(f *testing.F) {
	for n := range 3 {
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
