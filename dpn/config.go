package dpn

import (
	"cmp"
	"fmt"
	"reflect"
	"slices"

	"dpnbench/dataset"
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
	if list := c.differences(d); len(list) > 0 {
		return list[0]
	}
	return ""
}

// differences names all settings in which two configurations differ.
func (c Config) differences(d Config) (list []string) {
	a, b := reflect.ValueOf(c), reflect.ValueOf(d)
	text := func(v reflect.Value) string { return cmp.Or(fmt.Sprint(v.Interface()), "not set") }
	for i := range a.NumField() {
		if x, y := a.Field(i), b.Field(i); !x.Equal(y) {
			list = append(list, fmt.Sprintf("%s is %s, was %s", a.Type().Field(i).Tag.Get("toml"), text(x), text(y)))
		}
	}
	return list
}
