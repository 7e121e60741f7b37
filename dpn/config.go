package dpn

import (
	"fmt"
	"math"
	"reflect"
	"strings"

	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
)

// Config holds every setting of a network and its training. The names in a TOML file
// are those of the command's flags.
type Config struct {
	Preset string `toml:"preset" json:"preset"` // where the settings started from

	// The network.
	Extractor  string  `toml:"extractor" json:"extractor"`   // identity; or to dim features: linear, mlp, conv (convolutions to 8 and 16 channels)
	Hidden     string  `toml:"hidden" json:"hidden"`         // hidden layers of the extractor mlp: widths such as 512-256
	Dim        int     `toml:"dim" json:"dim"`               // features; identity: the number of pixels
	LayerNorm  bool    `toml:"layer-norm" json:"layer_norm"` // normalise features, without scale and shift
	Components int     `toml:"components" json:"components"` // k
	Steps      int     `toml:"steps" json:"steps"`           // n, ascent steps
	Form       string  `toml:"form" json:"form"`             // of the precisions: full, diag, lowrank, flat or tied
	Rank       int     `toml:"rank" json:"rank"`             // r of the forms lowrank and flat
	Eps        float64 `toml:"eps" json:"eps"`               // of the form flat: share of the precision that is left along U
	Scale      float64 `toml:"scale" json:"scale"`           // s0: A_i = s0 I at first, and the factor of the other forms
	Alpha      float64 `toml:"alpha" json:"alpha"`           // step size at first

	// Its training.
	Init         string  `toml:"init" json:"init"`                   // centres at first: one of Inits
	EMIterations int     `toml:"em-iterations" json:"em_iterations"` // at most so many of EM (init em and em-classwise: EMOptions)
	EMTolerance  float64 `toml:"em-tolerance" json:"em_tolerance"`   // least rise of the log-likelihood, in nats a row
	EMRidge      float64 `toml:"em-ridge" json:"em_ridge"`           // least variance, over the mean variance of a feature
	Gradient     string  `toml:"gradient" json:"gradient"`           // exact, or detached: only the classifier learns
	Epochs       int     `toml:"epochs" json:"epochs"`
	MaxUpdates   int     `toml:"max-updates" json:"max_updates"`       // stop after so many updates; 0: no limit
	Batch        int     `toml:"batch" json:"batch"`                   // images a minibatch
	LR           float64 `toml:"lr" json:"lr"`                         // Adam's rate for extractor and classifier
	PotentialLR  float64 `toml:"potential-lr" json:"potential_lr"`     // and for the potential: mu, c, alpha and precisions
	ExtractorLR  float64 `toml:"extractor-lr" json:"extractor_lr"`     // for the extractor alone; 0: LR
	AlphaLR      float64 `toml:"alpha-lr" json:"alpha_lr"`             // for the step size alone; 0: PotentialLR
	Schedule     string  `toml:"schedule" json:"schedule"`             // constant, or cosine: decay to 0
	Warmup       float64 `toml:"warmup" json:"warmup"`                 // share of the updates over which the rate rises
	Clip         float64 `toml:"clip" json:"clip"`                     // largest norm of the gradient; 0: no limit
	NoiseMin     float64 `toml:"noise-min" json:"noise_min"`           // half of each minibatch gets noise (layer.Noise) of a standard deviation
	NoiseMax     float64 `toml:"noise-max" json:"noise_max"`           // between these, in grey levels of [0, 1]; 0: none
	Denoising    float64 `toml:"denoising" json:"denoising"`           // weight of the denoising loss; 0: none
	NLL          float64 `toml:"nll" json:"nll"`                       // weight of the negative log-likelihood of the features; 0: none
	Score        float64 `toml:"score-matching" json:"score_matching"` // weight of denoising score matching; 0: none
	ScoreSigma   float64 `toml:"score-sigma" json:"score_sigma"`       // standard deviation of its noise on features
	Patience     int     `toml:"patience" json:"patience"`             // stop after so many epochs without a lower validation loss; 0: never
	ValSize      int     `toml:"val-size" json:"val_size"`             // last training images kept for validation; -1: a tenth
	Seed         uint64  `toml:"seed" json:"seed"`

	// The pictures that it was trained on, for the record: package dataset opens them.
	Data      string `toml:"data" json:"data"`
	TrainSize int    `toml:"train-size" json:"train_size"` // 0: all
	TestSize  int    `toml:"test-size" json:"test_size"`   // 0: all
	DataSeed  uint64 `toml:"data-seed" json:"data_seed"`   // draw of the built-in digits
}

// SettingError says what is wrong with a setting.
type SettingError = potential.SettingError

func badSetting(name string, value any, problem string) *SettingError {
	return &SettingError{Setting: name, Value: value, Problem: problem}
}

// Validate checks every setting on its own. The error names the setting, what it is
// and what was expected.
func (c Config) Validate() error {
	positive := func(name string, v float64) error {
		if !(v > 0) || math.IsInf(v, 0) {
			return badSetting(name, v, "expected a number above 0")
		}
		return nil
	}
	between := func(name string, v, lo, hi int) error {
		if v < lo || v > hi {
			return badSetting(name, v, fmt.Sprintf("expected %d to %d", lo, hi))
		}
		return nil
	}
	choice := func(name, v string, of ...string) error {
		for _, o := range of {
			if v == o {
				return nil
			}
		}
		return badSetting(name, v, "expected one of "+strings.Join(of, ", "))
	}
	weight := func(name string, v float64, expected string) error {
		if !(v >= 0) || math.IsInf(v, 0) {
			return badSetting(name, v, "expected "+expected)
		}
		return nil
	}
	seed := func(name string, v uint64) error {
		if v > math.MaxInt64 { // TOML has no larger numbers
			return badSetting(name, v, "expected 0 to 9223372036854775807")
		}
		return nil
	}
	errs := []error{
		choice("extractor", c.Extractor, "identity", "linear", "mlp", "conv"),
		between("components", c.Components, 1, 100000),
		between("steps", c.Steps, 0, 100000),
		choice("form", c.Form, potential.Forms()...),
		positive("scale", c.Scale),
		positive("alpha", c.Alpha),
		choice("init", c.Init, Inits()...),
		choice("gradient", c.Gradient, "exact", "detached"),
		between("epochs", c.Epochs, 1, 1000000),
		between("max-updates", c.MaxUpdates, 0, math.MaxInt32),
		between("batch", c.Batch, 1, 1<<20),
		weight("clip", c.Clip, "a number above 0, or 0 for none"),
		positive("lr", c.LR),
		positive("potential-lr", c.PotentialLR),
		choice("schedule", c.Schedule, "constant", "cosine"),
		weight("extractor-lr", c.ExtractorLR, "a number above 0, or 0 for that of lr"),
		weight("alpha-lr", c.AlphaLR, "a number above 0, or 0 for that of potential-lr"),
		weight("nll", c.NLL, "a weight above 0, or 0 for none"),
		weight("score-matching", c.Score, "a weight above 0, or 0 for none"),
		between("patience", c.Patience, 0, math.MaxInt32),
		between("val-size", c.ValSize, -1, math.MaxInt32),
		between("train-size", c.TrainSize, 0, math.MaxInt32),
		between("test-size", c.TestSize, 0, math.MaxInt32),
		seed("seed", c.Seed),
		seed("data-seed", c.DataSeed),
	}
	if c.Extractor != "identity" {
		errs = append(errs, between("dim", c.Dim, 1, 1<<16))
	}
	if c.Extractor == "mlp" {
		_, err := parseWidths(c.Hidden)
		errs = append(errs, err)
	} else if c.Hidden != "" {
		errs = append(errs, badSetting("hidden", c.Hidden, "expected the extractor mlp with it"))
	}
	form := potential.FormOf(c.Form)
	if form.Ranked {
		errs = append(errs, between("rank", c.Rank, 1, 1<<16))
	}
	if form.Eps && !(c.Eps >= 1e-3 && c.Eps <= 1) {
		errs = append(errs, badSetting("eps", c.Eps, "expected 0.001 to 1"))
	}
	if c.fitsMixture() {
		errs = append(errs, c.emOptions().Check())
	}
	if !(c.Warmup >= 0 && c.Warmup <= 1) {
		errs = append(errs, badSetting("warmup", c.Warmup, "expected 0 to 1"))
	}
	if !(c.NoiseMax >= 0 && c.NoiseMax <= layer.MaxNoise) {
		errs = append(errs, badSetting("noise-max", c.NoiseMax, fmt.Sprintf("expected a standard deviation of 0 to %d", layer.MaxNoise)))
	}
	if !(c.NoiseMin >= 0 && c.NoiseMin <= c.NoiseMax) {
		errs = append(errs, badSetting("noise-min", c.NoiseMin, fmt.Sprintf("expected 0 to noise-max, which is %v", c.NoiseMax)))
	}
	errs = append(errs, weight("denoising", c.Denoising, "a weight above 0, or 0 for no denoising loss"))
	if c.Denoising > 0 && (c.NoiseMax == 0 || c.Gradient != "exact") {
		errs = append(errs, badSetting("denoising", c.Denoising, "expected noise-max above 0 and gradient exact with it"))
	}
	if c.NLL > 0 && c.Gradient != "exact" {
		errs = append(errs, badSetting("nll", c.NLL, "expected gradient exact with it"))
	}
	if c.Score > 0 {
		if !(c.ScoreSigma >= 1e-6 && c.ScoreSigma <= 1e6) { // its square is a float32
			errs = append(errs, badSetting("score-sigma", c.ScoreSigma, "expected a standard deviation of 1e-06 to 1e+06"))
		}
		if c.Gradient != "exact" {
			errs = append(errs, badSetting("score-matching", c.Score, "expected gradient exact with it"))
		}
	}
	if c.Patience > 0 && c.ValSize == 0 {
		errs = append(errs, badSetting("patience", c.Patience, "expected pictures to validate on with it (val-size)"))
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// learningRate returns Adam's rate for a group of parameters.
func (c Config) learningRate(group string) float64 {
	switch {
	case group == potential.GroupAlpha && c.AlphaLR > 0:
		return c.AlphaLR
	case group == potential.GroupAlpha || group == potential.Group:
		return c.PotentialLR
	case group == groupExtractor && c.ExtractorLR > 0:
		return c.ExtractorLR
	}
	return c.LR
}

// denoisesOnce says whether the features that the classifier learns from never change.
func (c Config) denoisesOnce() bool { return c.Gradient == "detached" && c.NoiseMax == 0 }

// potential returns the settings of the potential.
func (c Config) potential() potential.Settings {
	return potential.Settings{Components: c.Components, Form: c.Form, Rank: c.Rank, Eps: c.Eps, Scale: c.Scale}
}

// checkRank refuses a rank above the number of features.
func (c Config) checkRank(d int) error {
	if r := c.potential().LowRank(); r > d {
		return badSetting("rank", r, fmt.Sprintf("expected at most the %d features", d))
	}
	return nil
}

// difference names the first setting in which two configurations differ, or returns "".
// The pictures do not count: resuming compares them themselves.
func (c Config) difference(d Config) string {
	d.Data, d.TrainSize, d.TestSize, d.DataSeed = c.Data, c.TrainSize, c.TestSize, c.DataSeed
	d.Preset = c.Preset
	a, b := reflect.ValueOf(c), reflect.ValueOf(d)
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); x != y {
			return fmt.Sprintf("%s is %v, was %v", a.Type().Field(i).Tag.Get("toml"), x, y)
		}
	}
	return ""
}
