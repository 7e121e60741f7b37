package dpn

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
)

// Config holds every setting of a network and of its training. The names in a TOML file are
// those of the command's flags.
type Config struct {
	Preset string `toml:"preset" json:"preset"` // where the settings started from

	// Each image by itself, before normalisation (dataset.Preprocessing). Vectors have none of it.
	Contrast bool   `toml:"contrast" json:"contrast"`
	Centre   string `toml:"centre" json:"centre"` // mass, moments, or empty
	RMS      bool   `toml:"rms" json:"rms"`

	// The network. Extractor is identity (the pixels are the features) or maps them to Dim
	// features: linear, mlp (Hidden: widths such as 512-256), conv (two convolutions; Hidden: their
	// channels, empty for 8-16) or conv3: PyTorch's MNIST example, 3 x 3 convolutions to 32 and 64 channels and a
	// layer with ReLU, with dropout and the initial weights that PyTorch draws after torch.manual_seed(Seed).
	// LayerNorm normalises the features, without scale and shift.
	Extractor string `toml:"extractor" json:"extractor"`
	Hidden    string `toml:"hidden" json:"hidden"`
	Dim       int    `toml:"dim" json:"dim"`
	LayerNorm bool   `toml:"layer-norm" json:"layer_norm"`

	// The potential: k components, n ascent steps of the initial size Alpha, precisions of a
	// form (potential.Forms). Rank is r of the forms that have one, Eps the share of the precision
	// of the form flat that is left along U, Scale is s0: A_i = s0 I initially, and the factor of
	// the other forms.
	Components int     `toml:"components" json:"components"`
	Steps      int     `toml:"steps" json:"steps"`
	Form       string  `toml:"form" json:"form"`
	Rank       int     `toml:"rank" json:"rank"`
	Eps        float64 `toml:"eps" json:"eps"`
	Scale      float64 `toml:"scale" json:"scale"`
	Alpha      float64 `toml:"alpha" json:"alpha"`

	// How the centres are placed (Inits), and the options of EM if it does (potential.EMOptions).
	Init         string  `toml:"init" json:"init"`
	EMIterations int     `toml:"em-iterations" json:"em_iterations"`
	EMTolerance  float64 `toml:"em-tolerance" json:"em_tolerance"`
	EMRidge      float64 `toml:"em-ridge" json:"em_ridge"`

	// Training. Gradient is exact, or detached: only the classifier learns. MaxUpdates 0: no
	// limit. Batch is in images. Gradients of Shards pieces of each minibatch are added by a tree:
	// the sum is the same whoever computes which piece.
	Gradient   string `toml:"gradient" json:"gradient"`
	Epochs     int    `toml:"epochs" json:"epochs"`
	MaxUpdates int    `toml:"max-updates" json:"max_updates"`
	Batch      int    `toml:"batch" json:"batch"`
	Shards     int    `toml:"shards" json:"shards"`

	// Balance weighs the losses of training and validation by class, in inverse proportion to its number
	// of training samples.
	Balance bool `toml:"balance" json:"balance"`

	// Optimiser is adam or adadelta. Its learning rates: LR for extractor and classifier,
	// PotentialLR for mu, c, alpha and the precisions; ExtractorLR and AlphaLR for these alone,
	// unless 0. Schedule is constant, cosine (decay to 0) or decay (times 0.7 after each epoch);
	// the rates rise over the share Warmup of the updates. Clip is the largest norm of the
	// gradient; 0: no limit.
	Optimiser   string  `toml:"optimiser" json:"optimiser"`
	LR          float64 `toml:"lr" json:"lr"`
	PotentialLR float64 `toml:"potential-lr" json:"potential_lr"`
	ExtractorLR float64 `toml:"extractor-lr" json:"extractor_lr"`
	AlphaLR     float64 `toml:"alpha-lr" json:"alpha_lr"`
	Schedule    string  `toml:"schedule" json:"schedule"`
	Warmup      float64 `toml:"warmup" json:"warmup"`
	Clip        float64 `toml:"clip" json:"clip"`

	// Half of each minibatch gets noise (layer.Noise) with a standard deviation between NoiseMin
	// and NoiseMax, in levels of [0, 1] of images, in deviations of the features of vectors; NoiseMax 0:
	// none.
	NoiseMin float64 `toml:"noise-min" json:"noise_min"`
	NoiseMax float64 `toml:"noise-max" json:"noise_max"`

	// Weights of further losses, 0: none: the denoising loss, the negative log-likelihood of the
	// features, and denoising score matching with noise of ScoreSigma on features.
	Denoising  float64 `toml:"denoising" json:"denoising"`
	NLL        float64 `toml:"nll" json:"nll"`
	Score      float64 `toml:"score-matching" json:"score_matching"`
	ScoreSigma float64 `toml:"score-sigma" json:"score_sigma"`

	// ValSize of the training images are kept for validation (Split); -1: a tenth. ValData, unless
	// empty, names other images to validate on (source.OpenTraining), and all training images are
	// trained on. Training stops after Patience epochs without a lower validation loss; 0: never.
	Patience int    `toml:"patience" json:"patience"`
	ValSize  int    `toml:"val-size" json:"val_size"`
	ValData  string `toml:"val-data" json:"val_data"`
	Seed     uint64 `toml:"seed" json:"seed"`

	// The images it was trained on, for the record (package dataset/source opens them). Sizes of 0: all.
	// DataSeed decides the built-in digits.
	Data      string `toml:"data" json:"data"`
	TrainSize int    `toml:"train-size" json:"train_size"`
	TestSize  int    `toml:"test-size" json:"test_size"`
	DataSeed  uint64 `toml:"data-seed" json:"data_seed"`

	// How its files are read (package dataset/source), for the record.
	Format    string  `toml:"format" json:"format"`         // empty: by names and content
	Label     string  `toml:"label" json:"label"`           // column of the labels
	Drop      string  `toml:"drop" json:"drop"`             // columns that are left out, see source.Columns
	TestShare float64 `toml:"test-share" json:"test_share"` // of the samples become test samples
	Size      string  `toml:"size" json:"size"`             // of images, such as 28x28; empty: their own
	Channels  string  `toml:"channels" json:"channels"`     // of images: grey, rgb, or empty for their own
}

// Optimisers, of Config.Optimiser.
const (
	Adam     = "adam"
	Adadelta = "adadelta"
)

// SettingError says what is wrong with a setting.
type SettingError = potential.SettingError

func badSetting(name string, value any, problem string) *SettingError {
	return &SettingError{Setting: name, Value: value, Problem: problem}
}

// Validate checks every setting. The error names the setting, its value and what was expected.
func (c Config) Validate() error {
	positive := func(name string, v float64) error {
		if !(float32(v) > 0) || math.IsInf(v, 0) { // also if it is too small for a float32
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
	moderate := func(name string, v float64) error { // its square, and products with others, are float32
		if !(v >= 1e-9 && v <= 1e9) {
			return badSetting(name, v, "expected a number from 1e-09 to 1e+09")
		}
		return nil
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
		choice("extractor", c.Extractor, Extractors()...),
		between("components", c.Components, 1, 100000),
		between("steps", c.Steps, 0, 100000),
		choice("form", c.Form, potential.Forms()...),
		moderate("scale", c.Scale),
		moderate("alpha", c.Alpha),
		choice("init", c.Init, Inits()...),
		choice("gradient", c.Gradient, Gradients()...),
		between("epochs", c.Epochs, 1, 1000000),
		between("max-updates", c.MaxUpdates, 0, math.MaxInt32),
		between("batch", c.Batch, 1, 1<<20),
		between("shards", c.Shards, 1, maxShards),
		weight("clip", c.Clip, "a number above 0, or 0 for none"),
		positive("lr", c.LR),
		positive("potential-lr", c.PotentialLR),
		choice("optimiser", c.Optimiser, Adam, Adadelta),
		choice("schedule", c.Schedule, layer.Constant, layer.Cosine, layer.Decay),
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
		c.CheckReading(),
	}
	if c.Centre != "" {
		errs = append(errs, choice("centre", c.Centre, dataset.Centrings()...))
	}
	if c.Extractor != "identity" {
		errs = append(errs, between("dim", c.Dim, 1, 1<<16))
	}
	switch {
	case c.Extractor == "mlp":
		_, err := parseWidths(c.Hidden)
		errs = append(errs, err)
	case c.Extractor == "conv":
		_, err := c.channels()
		errs = append(errs, err)
	case c.Hidden != "":
		errs = append(errs, badSetting("hidden", c.Hidden, "expected the extractor mlp or conv with it"))
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
		errs = append(errs,
			badSetting("noise-max", c.NoiseMax,
				fmt.Sprintf("expected a standard deviation of 0 to %d", layer.MaxNoise)))
	}
	if !(c.NoiseMin >= 0 && c.NoiseMin <= c.NoiseMax) {
		errs = append(errs,
			badSetting("noise-min", c.NoiseMin, fmt.Sprintf("expected 0 to noise-max, which is %v", c.NoiseMax)))
	}
	errs = append(errs, weight("denoising", c.Denoising, "a weight above 0, or 0 for no denoising loss"))
	if c.Denoising > 0 && (c.NoiseMax == 0 || c.Gradient != GradientExact) {
		errs = append(errs, badSetting("denoising", c.Denoising,
			"expected noise-max above 0 and gradient exact with it"))
	}
	if c.NLL > 0 && c.Gradient != GradientExact {
		errs = append(errs, badSetting("nll", c.NLL, "expected gradient exact with it"))
	}
	if c.Score > 0 {
		if !(c.ScoreSigma >= 1e-6 && c.ScoreSigma <= 1e6) { // its square is a float32
			errs = append(errs, badSetting("score-sigma", c.ScoreSigma,
				"expected a standard deviation of 1e-06 to 1e+06"))
		}
		if c.Gradient != GradientExact {
			errs = append(errs, badSetting("score-matching", c.Score, "expected gradient exact with it"))
		}
	}
	if c.Patience > 0 && c.ValSize == 0 {
		errs = append(errs, badSetting("patience", c.Patience, "expected images to validate on with it (val-size)"))
	}
	if c.ValData != "" && c.ValSize != -1 {
		errs = append(errs,
			badSetting("val-size", c.ValSize, "expected -1 with val-data, which gives all validation images"))
	}
	for _, err := range append(errs, c.checkValues()) {
		if err != nil {
			return err
		}
	}
	return nil
}

// Needs explains why a setting changes no weight: it returns the setting that must change and the values that would
// give it an effect. If the setting has an effect, both are empty.
func (c Config) Needs(setting string) (other string, values []string) {
	forms := func(have func(potential.Form) bool) []string {
		return slices.DeleteFunc(potential.Forms(), func(name string) bool { return !have(potential.FormOf(name)) })
	}
	idle := c.Steps == 0 && c.NLL == 0 && c.Score == 0 && !c.fitsMixture() // nothing is made of the potential
	switch form := potential.FormOf(c.Form); setting {
	case "rank":
		if !form.Ranked {
			return "form", forms(func(f potential.Form) bool { return f.Ranked })
		}
	case "eps":
		if !form.Eps {
			return "form", forms(func(f potential.Form) bool { return f.Eps })
		}
		if idle {
			return "steps", []string{"above 0"}
		}
	case "score-sigma":
		if c.Score == 0 {
			return "score-matching", []string{"above 0"}
		}
	case "scale":
		switch {
		case form.Dense && c.fitsMixture():
			return "init", []string{InitKMeans, InitClasswise, InitSamples}
		case !form.Dense && idle:
			return "steps", []string{"above 0"}
		}
	case "denoising", "gradient":
		if c.Steps == 0 && c.Extractor == "identity" {
			return "steps", []string{"above 0"}
		}
	case "extractor-lr", "potential-lr", "alpha-lr":
		switch {
		case c.Gradient != GradientExact:
			return "gradient", []string{GradientExact}
		case setting == "extractor-lr" && c.Extractor == "identity":
			return "extractor", Extractors()[1:]
		case c.Steps == 0 && (setting == "alpha-lr" || setting == "potential-lr" && c.NLL == 0 && c.Score == 0):
			return "steps", []string{"above 0"}
		}
	}
	return "", nil
}

// checkValues refuses numbers that are no finite float32 and texts that are not UTF-8, also in
// settings that are not in use: a model file holds them all.
func (c Config) checkValues() error {
	v := reflect.ValueOf(c)
	for i, f := range reflect.VisibleFields(v.Type()) {
		switch x := v.Field(i); x.Kind() {
		case reflect.Float64:
			if !(math.Abs(x.Float()) <= math.MaxFloat32) {
				return badSetting(f.Tag.Get("toml"), x.Float(), "expected a finite number of at most 3.4e+38")
			}
		case reflect.String:
			if !utf8.ValidString(x.String()) {
				return badSetting(f.Tag.Get("toml"), x.String(), "expected a text in UTF-8")
			}
		}
	}
	return nil
}

// learningRate returns the rate for a group of parameters.
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

// Kinds of gradient (Config.Gradient).
const (
	GradientExact    = "exact"
	GradientDetached = "detached" // only the classifier learns
)

// Gradients lists the kinds of gradient.
func Gradients() []string { return []string{GradientExact, GradientDetached} }

// denoisesOnce says whether the denoised features never change, so that they are computed once.
func (c Config) denoisesOnce() bool { return c.Gradient == GradientDetached && c.NoiseMax == 0 }

// preprocessing returns what becomes of each image by itself.
func (c Config) preprocessing() dataset.Preprocessing {
	return dataset.Preprocessing{Contrast: c.Contrast, Centre: c.Centre, RMS: c.RMS}
}

// checkPreprocessing refuses preprocessing that is not for samples of a shape.
func (c Config) checkPreprocessing(s dataset.Shape) error {
	err := c.preprocessing().Check(s)
	switch {
	case err == nil:
		return nil
	case c.Contrast && !s.IsImage():
		return badSetting("contrast", c.Contrast, err.Error())
	case c.RMS && !s.IsImage():
		return badSetting("rms", c.RMS, err.Error())
	}
	return badSetting("centre", c.Centre, err.Error())
}

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
// Where the images come from and how they are read does not count: resuming compares the images themselves.
func (c Config) difference(d Config) string {
	d.Data, d.TrainSize, d.TestSize, d.DataSeed = c.Data, c.TrainSize, c.TestSize, c.DataSeed
	d.Format, d.Label, d.Drop, d.TestShare = c.Format, c.Label, c.Drop, c.TestShare
	d.Size, d.Channels = c.Size, c.Channels
	d.Preset, d.ValData = c.Preset, c.ValData
	a, b := reflect.ValueOf(c), reflect.ValueOf(d)
	for i := range a.NumField() {
		if x, y := a.Field(i).Interface(), b.Field(i).Interface(); x != y {
			return fmt.Sprintf("%s is %v, was %v", a.Type().Field(i).Tag.Get("toml"), x, y)
		}
	}
	return ""
}
