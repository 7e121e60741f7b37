package dpn

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"reflect"
	"runtime"
	"strings"

	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"

	"github.com/BurntSushi/toml"
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

// Presets, by name (DESIGN 2.5 and 7).
var presets = map[string]Config{
	// The public reference: raw pixels, the potential is never trained. The paper gives
	// Adam's rate but no schedule; this one reproduces the poster's loss of 0.4 with 10
	// steps (a constant rate ends at 0.37).
	"published": {
		Extractor: "identity", Components: 20, Steps: 30, Form: potential.FormFull, Rank: 8, Eps: 0.1, Scale: 1, Alpha: 0.1, Init: "kmeans",
		Gradient: "detached", Epochs: 5, Batch: 128, LR: 1e-3, PotentialLR: 1e-3, Schedule: "cosine", Warmup: 0.05, ValSize: -1, Seed: 1,
	},
	// The same network with the exact gradient.
	"paper": {
		Extractor: "identity", Components: 20, Steps: 30, Form: potential.FormFull, Rank: 8, Eps: 0.1, Scale: 1, Alpha: 0.1, Init: "kmeans",
		Gradient: "exact", Epochs: 5, Batch: 128, LR: 1e-3, PotentialLR: 3e-4, Schedule: "cosine", Warmup: 0.05, Clip: 1, ValSize: -1, Seed: 1,
	},
	// A small one: 64 learned features. It trains in seconds.
	"compact": {
		Extractor: "linear", Dim: 64, LayerNorm: true, Components: 10, Steps: 5, Form: potential.FormFull, Rank: 8, Eps: 0.1, Scale: 0.3, Alpha: 0.1 / (0.3 * 0.3), Init: "kmeans",
		Gradient: "exact", Epochs: 5, Batch: 128, LR: 1e-3, PotentialLR: 7e-4, Schedule: "cosine", Warmup: 0.05, Clip: 1, ValSize: -1, Seed: 1,
	},
	// Convolutions to 64 features, trained on clean pictures.
	"clean": {
		Extractor: "conv", Dim: 64, LayerNorm: true, Components: 10, Steps: 5, Form: potential.FormFull, Rank: 8, Eps: 0.1, Scale: 0.3, Alpha: 0.1 / (0.3 * 0.3), Init: "classwise",
		Gradient: "exact", Epochs: 6, Batch: 128, LR: 1e-3, PotentialLR: 1e-3, Schedule: "cosine", Warmup: 0.05, Clip: 1, ValSize: -1, Seed: 1,
	},
	// The same, trained to stand noise: where the ascent of noisy features ends shall be where
	// the clean ones are. That costs little of the clean accuracy where it weighs little and
	// training takes its time.
	"noise": {
		Extractor: "conv", Dim: 64, LayerNorm: true, Components: 10, Steps: 5, Form: potential.FormFull, Rank: 8, Eps: 0.1, Scale: 0.3, Alpha: 0.1 / (0.3 * 0.3), Init: "classwise",
		Gradient: "exact", Epochs: 15, Batch: 128, LR: 2e-3, PotentialLR: 1e-3, Schedule: "cosine", Warmup: 0.05, Clip: 1, NoiseMin: 0.3, NoiseMax: 0.5, Denoising: 0.1, ValSize: -1, Seed: 1,
	},
	// Raw pixels with precisions of low rank, which learn.
	"raw": {
		Extractor: "identity", Components: 20, Steps: 10, Form: potential.FormLowRank, Rank: 8, Eps: 0.1, Scale: 0.1, Alpha: 0.1 / (0.1 * 0.1), Init: "classwise",
		Gradient: "exact", Epochs: 5, Batch: 128, LR: 1e-3, PotentialLR: 4e-3, Schedule: "cosine", Warmup: 0.05, Clip: 1, ValSize: -1, Seed: 1,
	},
	// Raw pixels on a potential that is flat along the principal components of its clusters
	// and steep across them: noise, which lies across, is taken away. The potential learns
	// slowly: what else it learns from clean pictures makes it read noise.
	"robust": {
		Extractor: "identity", Components: 100, Steps: 3, Form: potential.FormFlat, Rank: 12, Eps: 0.25, Scale: 1, Alpha: 0.6, Init: "classwise",
		Gradient: "exact", Epochs: 5, Batch: 128, LR: 1e-3, PotentialLR: 3e-5, Schedule: "cosine", Warmup: 0.05, Clip: 1, ValSize: -1, Seed: 1,
	},
	// The same at a million multiply-adds, in one step.
	"robust-small": {
		Extractor: "identity", Components: 60, Steps: 1, Form: potential.FormFlat, Rank: 10, Eps: 0.2, Scale: 1, Alpha: 1, Init: "classwise",
		Gradient: "exact", Epochs: 10, Batch: 128, LR: 3e-3, PotentialLR: 1e-5, Schedule: "cosine", Warmup: 0.05, Clip: 1, ValSize: -1, Seed: 1,
	},
}

// unset is what files say by not mentioning a setting that was added later.
var unset = Config{Form: potential.FormFull, Rank: 8, Eps: 0.1, Init: InitKMeans, ScoreSigma: scoreSigma}.withEM()

// withEM returns the settings with those of EM that all presets begin with.
func (c Config) withEM() Config {
	c.EMIterations, c.EMTolerance, c.EMRidge = 50, 1e-3, 0.1
	return c
}

// scoreSigma is half the standard deviation of normalised features.
const scoreSigma = 0.5

// Presets lists the names of the presets.
func Presets() []string {
	return []string{"published", "paper", "compact", "clean", "raw", "robust", "robust-small", "noise"}
}

// Preset returns the settings of a preset.
func Preset(name string) (Config, error) {
	c, ok := presets[name]
	if !ok {
		return Config{}, badSetting("preset", name, "expected one of "+strings.Join(Presets(), ", "))
	}
	c.Preset, c.Data, c.DataSeed, c.ScoreSigma = name, "digits", 1, scoreSigma
	return c.withEM(), nil
}

// LoadConfig reads settings from a TOML file: those of the preset that it names, with
// what the file says in their place. Without a preset in the file, base gives the rest.
func LoadConfig(path string, base Config) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			return base, fmt.Errorf("config %s: %w", path, pe.Err)
		}
		return base, fmt.Errorf("config %s: %w", path, err)
	}
	c, err := parseConfig(text, base)
	if err != nil {
		return base, fmt.Errorf("config %s: %w", path, err)
	}
	return c, nil
}

// parseConfig is LoadConfig on the text of a file.
func parseConfig(text []byte, base Config) (Config, error) {
	values, err := parse(text)
	if err != nil {
		return base, err
	}
	if name, _ := values["preset"].(string); name != "" {
		if base, err = Preset(name); err != nil {
			return base, err
		}
	}
	return decode(text, base)
}

// decode puts the settings in text in the place of those of c. The preset that they
// name is a note of where they came from.
func decode(text []byte, c Config) (Config, error) {
	if _, err := parse(text); err != nil {
		return c, err
	}
	meta, err := toml.Decode(string(text), &c)
	if err != nil {
		return c, oneLine(err)
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		return c, fmt.Errorf("%sunknown setting %q", where(text, extra[0][0]), extra[0].String())
	}
	return c, nil
}

// parse returns what text says, by name. It checks the types of settings, of which the
// TOML parser speaks in the words of programmers.
func parse(text []byte) (values map[string]any, err error) {
	if _, err := toml.Decode(string(text), &values); err != nil {
		return nil, oneLine(err)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		name := f.Tag.Get("toml")
		v, ok := values[name]
		if !ok {
			continue
		}
		_, text := v.(string)
		_, truth := v.(bool)
		n, whole := v.(int64)
		_, fraction := v.(float64)
		expected := ""
		switch f.Type.Kind() {
		case reflect.String:
			ok, expected = text, "a text in quotes"
		case reflect.Bool:
			ok, expected = truth, "true or false"
		case reflect.Float64:
			ok, expected = whole || fraction, "a number"
		case reflect.Uint64:
			ok, expected = whole && n >= 0, "a whole number from 0 on"
		default:
			ok, expected = whole, "a whole number"
		}
		if text { // whose quotes are easily overlooked
			expected += ", got a text"
		}
		if !ok {
			return nil, badSetting(name, v, "expected "+expected)
		}
	}
	return values, nil
}

// where names the line of text that gives the name a value, or nothing where none plainly
// does.
func where(text []byte, name string) string {
	for i, line := range strings.Split(string(text), "\n") {
		if before, _, _ := strings.Cut(line, "="); strings.Trim(before, " \t\r[]\"'") == name {
			return fmt.Sprintf("line %d: ", i+1)
		}
	}
	return ""
}

// oneLine shortens an error of the TOML parser to its first line.
func oneLine(err error) error {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(s)
}

// TOML returns the settings as a TOML file.
func (c Config) TOML() string {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(c); err != nil {
		panic(err) // a Config holds nothing that TOML cannot write
	}
	return b.String()
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

// TrainingBytes estimates the memory that training takes at its peak, for pictures of so
// many pixels and classes, of which there are samples to train and validate on. It is
// meant to refuse in time what cannot fit.
func (c Config) TrainingBytes(pixels, classes, samples int) float64 {
	d, k, n, b := float64(pixels), float64(c.Components), float64(c.Steps), float64(c.Batch)
	rows := float64(samples)
	layers, values := c.extractorSize(pixels)
	if c.Extractor != "identity" {
		d = float64(c.Dim)
	}
	layers += d * float64(classes)
	matrices := k * d * d
	bytes := rows*float64(pixels) + 4*(rows*(d+k)+5*layers+max(b, extractRows)*values) // pictures; features and distances for k-means
	if c.Denoising > 0 {
		bytes += 4 * b / 2 * (d + values) // the clean features of the noisy half
	}
	if c.fitsMixture() {
		bytes += 4 * rows * k // responsibilities
		if potential.FormOf(c.Form).Scatters {
			bytes += 8 * 2 * k * d * d // scatter matrices, and what becomes of them
		}
	}
	if c.NLL > 0 {
		bytes += 4 * b * (2*d + k)
	}
	if r := c.potential().LowRank(); r >= 0 {
		w := k * d * float64(r+1) // the most of parameters, w and F, their gradients and each packed copy
		if c.Form == potential.FormFlat && c.Steps > 1 {
			bytes += engine.GramBytes(c.Components, r)
		}
		if c.Gradient == "detached" {
			return bytes + 4*(7*w+b*d)
		}
		if c.Score > 0 {
			bytes += 4 * (2*w + 4*b*d + 3*b*k*float64(r+1)) // a gradient, and one step
		}
		return bytes + 4*(11*w+(2*n+1)*b*d+3*n*b*k*float64(r+1)) // also moments; X, U, Z and the left operands of all steps
	}
	if potential.FormOf(c.Form).Shared {
		matrices = d * d
		if c.Gradient == "exact" {
			bytes += 4 * k * d * d // the gradients of all P_i before they are summed
		}
	}
	if c.Gradient == "detached" {
		return bytes + 4*(3*matrices+b*d) // A, packed P, the best A
	}
	if c.NLL > 0 {
		shares := min(matrices/(d*d), float64(runtime.GOMAXPROCS(0)))
		bytes += 4 * (matrices + 3*shares*d*d) // the inverses, and what each thread needs for them
	}
	if c.Score > 0 {
		bytes += 4 * (2*matrices + (4+k)*b*d) // a gradient, and one step
	}
	kept := engine.KeptBytes(c.Batch, c.Components, int(d), c.Steps)
	return bytes + 4*(7*matrices+(2*n+k)*b*d) + kept // also gradients of A and P and two moments
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
