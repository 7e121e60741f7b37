package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/internal/format"
	"dpnbench/internal/sysinfo"

	"github.com/spf13/pflag"
)

// absolute returns the value of val-data that is found again from any folder.
func absolute(valData string) (string, error) {
	spec, err := source.Absolute(valData)
	if err != nil {
		return "", fmt.Errorf("--val-data %s: %w", valData, err)
	}
	return spec, nil
}

// needLabels refuses to train on data without training samples or their labels.
func needLabels(data *dataset.Data) error {
	if data.Train == nil {
		return fmt.Errorf("--data %s: has no training samples", data.Name)
	}
	if !data.Train.Labelled() {
		return fmt.Errorf("--data %s: %s without labels: training needs one for each (a column of a table, an array "+
			"y, or a folder for each class)", data.Name, data.Train.Samples())
	}
	return nil
}

// presumed returns the settings before the data are known, which may choose the preset. Settings that suit one of the
// presets that they choose among are left to fitted.
func (t *training) presumed(flags *pflag.FlagSet) (dpn.Config, error) {
	c, err := t.resolve(flags)
	if err == nil || t.preset != "" || t.resume || t.config != "" {
		return c, err
	}
	t.preset = dpn.DefaultPreset(dataset.Vector(1))
	other, otherErr := t.resolve(flags)
	t.preset = ""
	if otherErr == nil {
		return other, nil
	}
	return c, err
}

// fitted returns the settings of the preset, which the data choose unless it is given, for the data, and lines that say
// so. Flags override them.
func (t *training) fitted(data *dataset.Data, flags *pflag.FlagSet) (c dpn.Config, notes []string, err error) {
	note := func(format string, args ...any) { notes = append(notes, fmt.Sprintf(format, args...)) }
	given := t.preset != ""
	if t.preset = cmp.Or(t.preset, dpn.DefaultPreset(data.Train.Shape)); !given {
		note("preset %s, the default for %s", t.preset, data.Train.Samples())
	}
	preset, err := t.resolve(flags)
	if err != nil {
		return preset, nil, err
	}
	if preset.ValData, err = absolute(preset.ValData); err != nil {
		return preset, nil, err
	}
	c = preset.For(data)
	for name, keep := range map[string]func(){
		"epochs":     func() { c.Epochs = preset.Epochs },
		"components": func() { c.Components = preset.Components },
		"rank":       func() { c.Rank = preset.Rank },
		"val-size":   func() { c.ValSize = preset.ValSize },
		"rms":        func() { c.RMS = preset.RMS },
	} {
		if flags.Changed(name) {
			keep()
		}
	}
	if c.Epochs != preset.Epochs && c.MaxUpdates == 0 {
		note("%d epochs instead of the preset's %d, for as many updates as on a large set (--epochs)", c.Epochs,
			preset.Epochs)
	}
	if c.RMS != preset.RMS {
		note("without the preset's --rms, which is for images")
	}
	if c.ValSize != preset.ValSize {
		note("none of so few vectors are kept for validation, so there is no threshold for unknown ones " +
			"(--val-size 60 keeps some)")
	}
	if c.Components != preset.Components || c.Rank != preset.Rank {
		note("%s of rank %d instead of %d of rank %d, for so few different samples, or so few of a class "+
			"(--components, --rank)", format.Count(c.Components, "component"), c.Rank, preset.Components, preset.Rank)
	}
	return c, notes, nil
}

// refuseIdle refuses flags for parts that the network does not have, once the data have settled the preset. Runs of a
// sweep share settings, and a run that is resumed has begun with them.
func (t *training) refuseIdle(c dpn.Config) error {
	if t.compared || t.resume {
		return nil
	}
	for _, name := range []string{"rank", "eps", "score-sigma"} {
		if idle := t.idle(c, t.flags.Lookup(name)); idle != "" {
			return errors.New(idle)
		}
	}
	return nil
}

// idle says that a flag of a setting has no effect with the other settings, or returns "". A value of 0 gets no such
// sentence: it may mean exactly that.
func (t *training) idle(c dpn.Config, f *pflag.Flag) string {
	other, values := c.Needs(f.Name)
	if !f.Changed || other == "" || f.Value.String() == "0" {
		return ""
	}
	return fmt.Sprintf("--%s %s has no effect with %s %s; it needs --%s %s", f.Name, f.Value, other,
		t.flags.Lookup(other).Value, other, alternatives(values))
}

// warnIdle warns of flags of settings that have no effect with the others.
func (t *training) warnIdle(c dpn.Config) {
	t.flags.VisitAll(func(f *pflag.Flag) {
		if idle := t.idle(c, f); idle != "" {
			t.log().Warn(idle)
		}
	})
}

// sameSamples says whether two sets hold the same samples in the same order.
func sameSamples(a, b *dataset.Set) bool {
	if b == nil || a.Shape != b.Shape || a.Len() != b.Len() {
		return false
	}
	var x, y []byte
	for i := range a.Len() {
		if x, y = a.AppendSample(x[:0], i), b.AppendSample(y[:0], i); !bytes.Equal(x, y) {
			return false
		}
	}
	return true
}

// enoughMemory refuses a network of which so many ranks need more memory than is available.
func enoughMemory(c dpn.Config, data *dataset.Data, ranks int) error {
	need := float64(ranks) * c.TrainingBytes(data.Train.Shape, len(data.Classes), data.Train.Len())
	free := sysinfo.AvailableMemory()
	if need > free {
		return fmt.Errorf("training this network needs about %.1f GB (--components %d, --dim %d, --batch %d, %s), "+
			"%.1f GB are available",
			need/1e9, c.Components, c.Dim, c.Batch, format.Count(data.Train.Len(), data.Train.Sample()), free/1e9)
	}
	return nil
}
