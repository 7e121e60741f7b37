package dpn

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn/potential"
)

func TestPresets(t *testing.T) {
	for _, name := range Presets() {
		c, err := Preset(name)
		if err != nil || c.Validate() != nil || c.Preset != name {
			t.Errorf("%s: %+v, %v, %v", name, c, err, c.Validate())
		}
		back, err := parseConfig([]byte(c.TOML()), Config{})
		if err != nil || back != c {
			t.Errorf("%s: read back %+v, %v", name, back, err)
		}
	}
	if _, err := Preset("fancy"); err == nil || !strings.Contains(err.Error(), "published, paper, compact") {
		t.Errorf("error %v, want one that lists the presets", err)
	}
	if len(presets) != len(Presets()) {
		t.Error("Presets does not list all")
	}
}

func TestLoadConfig(t *testing.T) {
	path := filepath.Join(t.TempDir(), "c.toml")
	base, _ := Preset("compact")
	for _, c := range []struct{ text, want string }{
		{"preset = \"paper\"\nsteps = 10\nalpha = 1\n", ""},
		{"speed = 3\n", `: line 1: unknown setting "speed"`},
		{"# speed\nsteps = 3\n\"speed\"=\"steps = 3\"\n", `: line 3: unknown setting "speed"`},
		{"steps = 3\r\n [speed]\r\nof = 3\r\n", `: line 2: unknown setting "speed`},
		{"speed.of = 3\n", `: unknown setting "speed.of"`},
		{"steps = \"many\"\n", `: steps "many": expected a whole number, got a text`},
		{"steps = 1.5\n", "steps 1.5: expected a whole number"},
		{"seed = true\n", "seed true: expected a whole number"},
		{"preset = 3\n", "preset 3: expected a text in quotes"},
		{"layer-norm = 1\n", "layer-norm 1: expected true or false"},
		{"alpha = \"0.1\"\n", `alpha "0.1": expected a number, got a text`},
		{"seed = -1\n", "seed -1: expected a whole number from 0 on"},
		{"preset = \"none\"\n", `preset "none"`},
		{"= =", "toml"},
	} {
		if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
			t.Fatal(err)
		}
		got, err := LoadConfig(path, base)
		if c.want == "" {
			if err != nil || got.Preset != "paper" || got.Steps != 10 || got.Components != 20 {
				t.Errorf("%q: %+v, %v", c.text, got, err)
			}
		} else if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), path) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%q: error %v, want one line with %q and the file", c.text, err, c.want)
		}
	}
	if _, err := LoadConfig(path+".none", base); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("missing file: %v", err)
	}
}

func TestValidate(t *testing.T) {
	for want, change := range map[string]func(c *Config){
		`extractor "x"`:    func(c *Config) { c.Extractor = "x" },
		"dim 0":            func(c *Config) { c.Dim = 0 },
		"components 0":     func(c *Config) { c.Components = 0 },
		"steps -1":         func(c *Config) { c.Steps = -1 },
		`form "x"`:         func(c *Config) { c.Form = "x" },
		"rank 0":           func(c *Config) { c.Form, c.Rank = potential.FormLowRank, 0 },
		"eps 0":            func(c *Config) { c.Form, c.Eps = potential.FormFlat, 0 },
		"eps NaN":          func(c *Config) { c.Form, c.Eps = potential.FormFlat, math.NaN() },
		`init "z"`:         func(c *Config) { c.Init = "z" },
		"em-iterations 0":  func(c *Config) { c.Init, c.EMIterations = InitEM, 0 },
		"em-tolerance NaN": func(c *Config) { c.Init, c.EMTolerance = InitEMClasswise, math.NaN() },
		"em-ridge 2":       func(c *Config) { c.Init, c.EMRidge = InitEM, 2 },
		"scale 0":          func(c *Config) { c.Scale = 0 },
		"alpha NaN":        func(c *Config) { c.Alpha = math.NaN() },
		`gradient "y"`:     func(c *Config) { c.Gradient = "y" },
		"epochs 0":         func(c *Config) { c.Epochs = 0 },
		"max-updates -1":   func(c *Config) { c.MaxUpdates = -1 },
		"batch 0":          func(c *Config) { c.Batch = 0 },
		"lr +Inf":          func(c *Config) { c.LR = math.Inf(1) },
		"potential-lr -1":  func(c *Config) { c.PotentialLR = -1 },
		`schedule "linear`: func(c *Config) { c.Schedule = "linear" },
		"warmup 2":         func(c *Config) { c.Warmup = 2 },
		"clip -1":          func(c *Config) { c.Clip = -1 },
		"val-size -2":      func(c *Config) { c.ValSize = -2 },
		"noise-max 101":    func(c *Config) { c.NoiseMax = 101 },
		"noise-max NaN":    func(c *Config) { c.NoiseMax = math.NaN() },
		"noise-min 0.5":    func(c *Config) { c.NoiseMin, c.NoiseMax = 0.5, 0.3 },
		"noise-min -0.1":   func(c *Config) { c.NoiseMin, c.NoiseMax = -0.1, 0.3 },
		"denoising -1":     func(c *Config) { c.Denoising = -1 },
		"denoising +Inf":   func(c *Config) { c.Denoising = math.Inf(1) },
		"denoising 1":      func(c *Config) { c.Denoising = 1 },
		"extractor-lr -1":  func(c *Config) { c.ExtractorLR = -1 },
		"alpha-lr NaN":     func(c *Config) { c.AlphaLR = math.NaN() },
		"nll -1":           func(c *Config) { c.NLL = -1 },
		"nll 1":            func(c *Config) { c.NLL, c.Gradient = 1, "detached" },
		"score-matching +": func(c *Config) { c.Score = math.Inf(1) },
		"score-matching 1": func(c *Config) { c.Score, c.Gradient = 1, "detached" },
		"score-sigma 0":    func(c *Config) { c.Score, c.ScoreSigma = 1, 0 },
		"score-sigma 1e+0": func(c *Config) { c.Score, c.ScoreSigma = 1, 1e7 },
		"shards 0":         func(c *Config) { c.Shards = 0 },
		"shards 1025":      func(c *Config) { c.Shards = 1025 },
		"patience -1":      func(c *Config) { c.Patience = -1 },
		"patience 1":       func(c *Config) { c.Patience, c.ValSize = 1, 0 },
		"denoising 2":      func(c *Config) { c.Denoising, c.NoiseMax, c.Gradient = 2, 0.3, "detached" },
	} {
		c, _ := Preset("compact")
		change(&c)
		if err := c.Validate(); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("error %v, want one that begins with %q", err, want)
		}
	}
}

// TestTrainingBytes holds the estimate for the paper's network on MNIST against what it
// was measured to take, 0.7 GB, and checks that absurd settings are seen as such.
func TestTrainingBytes(t *testing.T) {
	c, _ := Preset("paper")
	if b := c.TrainingBytes(dataset.Grey(28, 28), 10, 60000); !(b >= 0.5e9) || b > 1.3e9 {
		t.Errorf("%g bytes for the paper's network", b)
	}
	for preset, most := range map[string]float64{"raw": 0.6e9, "robust": 0.7e9} {
		c, _ := Preset(preset)
		if b := c.TrainingBytes(dataset.Grey(28, 28), 10, 60000); !(b >= 0.2e9) || b > most {
			t.Errorf("%g bytes for %s", b, preset)
		}
	}
	c.Components = 20000
	if b := c.TrainingBytes(dataset.Grey(28, 28), 10, 60000); b < 100e9 {
		t.Errorf("%g bytes for 20000 full components", b)
	}
}

// TestDifference finds a setting that differs, but for those of where samples come from and how they are read.
func TestDifference(t *testing.T) {
	c, err := Preset("compact")
	if err != nil {
		t.Fatal(err)
	}
	d := c
	d.Data, d.TrainSize, d.TestSize, d.DataSeed, d.ValData, d.Preset = "x", 1, 2, 3, "y", "z"
	d.Format, d.Label, d.Drop, d.TestShare, d.Size, d.Channels = "csv", "k", "1", 0.5, "8x8", "grey"
	if got := c.difference(d); got != "" {
		t.Errorf("read in another way: %q", got)
	}
	d.Seed++
	if got := c.difference(d); got != "seed is 1, was 2" {
		t.Errorf("another seed: %q", got)
	}
}
