package dpn

import (
	"strings"
	"testing"

	"dpnbench/dpn/potential"
	"dpnbench/internal/longtest"
)

// TestNeeds checks that Config.Needs names those settings that change no bit of the trained weights.
func TestNeeds(t *testing.T) {
	longtest.Native(t)
	d := smallDigits(t, 60)
	train := func(c Config) string {
		m := newModel(t, c, d)
		if _, err := m.Fit(t.Context(), newEngine(t), d.Train, FitOptions{}); err != nil {
			t.Fatal(err)
		}
		return m.WeightsSHA256()
	}
	changes := map[string]func(c *Config){
		"rank":         func(c *Config) { c.Rank++ },
		"eps":          func(c *Config) { c.Eps /= 2 },
		"score-sigma":  func(c *Config) { c.ScoreSigma *= 2 },
		"potential-lr": func(c *Config) { c.PotentialLR *= 2 },
		"alpha-lr":     func(c *Config) { c.AlphaLR = 0.1 },
		"extractor-lr": func(c *Config) { c.ExtractorLR = 0.1 },
		"scale":        func(c *Config) { c.Scale *= 2 },
		"denoising":    func(c *Config) { c.Denoising = 5 },
		"gradient": func(c *Config) {
			c.Gradient = map[bool]string{true: GradientDetached, false: GradientExact}[c.Gradient == GradientExact]
		},
		"lr": func(c *Config) { c.LR *= 2 }, // always has an effect
	}
	bases := map[string]func(c *Config){
		"form full":         func(*Config) {},
		"form diag":         func(c *Config) { c.Form = potential.FormDiag },
		"form tied":         func(c *Config) { c.Form = potential.FormTied },
		"form lowrank":      func(c *Config) { c.Form = potential.FormLowRank },
		"form flat":         func(c *Config) { c.Form = potential.FormFlat },
		"score-matching":    func(c *Config) { c.Score = 0.1 },
		"gradient detached": func(c *Config) { c.Gradient = GradientDetached },
		"no steps":          func(c *Config) { c.Steps = 0 },
		"no steps, nll":     func(c *Config) { c.Steps, c.NLL = 0, 0.1 },
		"no steps, score":   func(c *Config) { c.Steps, c.Score = 0, 0.1 },
		"identity":          func(c *Config) { c.Extractor, c.Dim = "identity", 0 },
		"linear classifier": func(c *Config) { c.Extractor, c.Dim, c.Steps = "identity", 0, 0 },
		"no steps, diag":    func(c *Config) { c.Steps, c.Form = 0, potential.FormDiag },
		"no steps, lowrank": func(c *Config) { c.Steps, c.Form = 0, potential.FormLowRank },
		"no steps, flat":    func(c *Config) { c.Steps, c.Form = 0, potential.FormFlat },
		"density, flat":     func(c *Config) { c.Steps, c.Form, c.NLL = 0, potential.FormFlat, 0.1 },
		"its density":       func(c *Config) { c.Extractor, c.Dim, c.Steps, c.NLL = "identity", 0, 0, 0.1 },
		"em, full":          func(c *Config) { c.Init = InitEM },
		"em, tied":          func(c *Config) { c.Init, c.Form = InitEM, potential.FormTied },
		"em, diag":          func(c *Config) { c.Init, c.Form = InitEM, potential.FormDiag },
		"em, lowrank":       func(c *Config) { c.Init, c.Form = InitEM, potential.FormLowRank },
		"em, flat":          func(c *Config) { c.Init, c.Form = InitEM, potential.FormFlat },
	}
	named := map[string]bool{}
	for base, set := range bases {
		c := tiny()
		c.Rank, c.MaxUpdates, c.NoiseMax = 2, 2, 0.4
		set(&c)
		before := train(c)
		for setting, change := range changes {
			changed := c
			change(&changed)
			if _, err := New(changed, dataOf(d.Train, 10)); err != nil {
				continue // it is refused
			}
			other, values := c.Needs(setting)
			named[other+" "+strings.Join(values, " ")] = true
			if effect := train(changed) != before; effect != (other == "") {
				t.Errorf("%s: %s has an effect: %v; it needs %q %q", base, setting, effect, other, values)
			}
		}
	}
	for _, want := range []string{"form lowrank flat", "form flat", "extractor linear mlp conv conv3",
		"score-matching above 0", "gradient exact", "steps above 0"} {
		if !named[want] {
			t.Errorf("nothing needs %q: %v", want, named)
		}
	}
}
