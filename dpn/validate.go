package dpn

import (
	"cmp"
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

// Validate checks every setting. The error names the first wrong setting, its value and what was expected.
func (c Config) Validate() error {
	return cmp.Or(c.checkEach(), c.checkNetwork(), between("warmup", c.Warmup, 0, 1), c.checkNoise(), c.checkLosses(),
		c.checkValidation(), c.checkValues())
}

// checkEach checks the settings that do not depend on others.
func (c Config) checkEach() error {
	return cmp.Or(
		oneOf("extractor", c.Extractor, Extractors()),
		between("components", c.Components, 1, 100000),
		between("steps", c.Steps, 0, 100000),
		oneOf("form", c.Form, potential.Forms()),
		moderate("scale", c.Scale),
		moderate("alpha", c.Alpha),
		oneOf("init", c.Init, Inits()),
		oneOf("gradient", c.Gradient, Gradients()),
		between("epochs", c.Epochs, 1, 1000000),
		between("max-updates", c.MaxUpdates, 0, math.MaxInt32),
		between("batch", c.Batch, 1, 1<<20),
		between("shards", c.Shards, 1, maxShards),
		notNegative("clip", c.Clip, "a number above 0, or 0 for none"),
		positive("lr", c.LR),
		positive("potential-lr", c.PotentialLR),
		oneOf("optimiser", c.Optimiser, []string{Adam, Adadelta}),
		oneOf("schedule", c.Schedule, []string{layer.Constant, layer.Cosine, layer.Decay}),
		notNegative("extractor-lr", c.ExtractorLR, "a number above 0, or 0 for that of lr"),
		notNegative("alpha-lr", c.AlphaLR, "a number above 0, or 0 for that of potential-lr"),
		notNegative("nll", c.NLL, "a weight above 0, or 0 for none"),
		notNegative("score-matching", c.Score, "a weight above 0, or 0 for none"),
		between("patience", c.Patience, 0, math.MaxInt32),
		between("val-size", c.ValSize, -1, math.MaxInt32),
		between("train-size", c.TrainSize, 0, math.MaxInt32),
		between("test-size", c.TestSize, 0, math.MaxInt32),
		seed("seed", c.Seed),
		seed("data-seed", c.DataSeed),
		c.CheckReading(),
	)
}

// checkNetwork checks what only some extractors, forms and placements of the centres use.
func (c Config) checkNetwork() error {
	var errs []error
	if c.Centre != "" {
		errs = append(errs, oneOf("centre", c.Centre, dataset.Centrings()))
	}
	if c.Extractor != "identity" {
		errs = append(errs, between("dim", c.Dim, 1, 1<<16))
	}
	errs = append(errs, c.checkHidden())
	form := potential.FormOf(c.Form)
	if form.Ranked {
		errs = append(errs, between("rank", c.Rank, 1, 1<<16))
	}
	if form.Eps {
		errs = append(errs, between("eps", c.Eps, 1e-3, 1))
	}
	if c.fitsMixture() {
		errs = append(errs, c.emOptions().Check())
	}
	return cmp.Or(errs...)
}

func (c Config) checkHidden() (err error) {
	switch {
	case c.Extractor == "mlp":
		_, err = parseWidths(c.Hidden)
	case c.Extractor == "conv":
		_, err = c.channels()
	case c.Hidden != "":
		err = badSetting("hidden", c.Hidden, "expected the extractor mlp or conv with it")
	}
	return err
}

func (c Config) checkNoise() error {
	switch {
	case !(c.NoiseMax >= 0 && c.NoiseMax <= layer.MaxNoise):
		return badSetting("noise-max", c.NoiseMax,
			fmt.Sprintf("expected a standard deviation of 0 to %d", layer.MaxNoise))
	case !(c.NoiseMin >= 0 && c.NoiseMin <= c.NoiseMax):
		return badSetting("noise-min", c.NoiseMin,
			fmt.Sprintf("expected 0 to noise-max, which is %v", c.NoiseMax))
	}
	return nil
}

// checkLosses checks the losses that only the exact gradient, noise or another setting makes possible.
func (c Config) checkLosses() error {
	exact := c.Gradient == GradientExact
	switch err := notNegative("denoising", c.Denoising, "a weight above 0, or 0 for no denoising loss"); {
	case err != nil:
		return err
	case c.Denoising > 0 && (c.NoiseMax == 0 || !exact):
		return badSetting("denoising", c.Denoising, "expected noise-max above 0 and gradient exact with it")
	case c.NLL > 0 && !exact:
		return badSetting("nll", c.NLL, "expected gradient exact with it")
	case c.Score > 0 && !(c.ScoreSigma >= 1e-6 && c.ScoreSigma <= 1e6): // its square is a float32
		return badSetting("score-sigma", c.ScoreSigma, "expected a standard deviation of 1e-06 to 1e+06")
	case c.Score > 0 && !exact:
		return badSetting("score-matching", c.Score, "expected gradient exact with it")
	}
	return nil
}

func (c Config) checkValidation() error {
	switch {
	case c.Patience > 0 && c.ValSize == 0:
		return badSetting("patience", c.Patience, "expected images to validate on with it (val-size)")
	case c.ValData != "" && c.ValSize != -1:
		return badSetting("val-size", c.ValSize, "expected -1 with val-data, which gives all validation images")
	}
	return nil
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

func between[T int | float64](name string, v, lo, hi T) error {
	if !(v >= lo && v <= hi) {
		return badSetting(name, v, fmt.Sprintf("expected %v to %v", lo, hi))
	}
	return nil
}

func oneOf(name, v string, of []string) error {
	if !slices.Contains(of, v) {
		return badSetting(name, v, "expected one of "+strings.Join(of, ", "))
	}
	return nil
}

func positive(name string, v float64) error {
	if !(float32(v) > 0) || math.IsInf(v, 0) { // also if it is too small for a float32
		return badSetting(name, v, "expected a number above 0")
	}
	return nil
}

func notNegative(name string, v float64, expected string) error {
	if !(v >= 0) || math.IsInf(v, 0) {
		return badSetting(name, v, "expected "+expected)
	}
	return nil
}

// moderate checks a number whose square, and whose products with others, are float32.
func moderate(name string, v float64) error {
	if !(v >= 1e-9 && v <= 1e9) {
		return badSetting(name, v, "expected a number from 1e-09 to 1e+09")
	}
	return nil
}

func seed(name string, v uint64) error {
	if v > math.MaxInt64 { // TOML has no larger numbers
		return badSetting(name, v, "expected 0 to 9223372036854775807")
	}
	return nil
}
