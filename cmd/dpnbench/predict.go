package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/internal/output"
	"dpnbench/internal/regular"
	"dpnbench/internal/sysinfo"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const predictHelp = `Classify samples with a model. The result is a table (CSV) with a row for each sample:

  sample     the file of an image, else the number of the sample, from 0
  class      the class with the largest logit
  label      the true class, if the data have labels; the last line then gives the accuracy
  unknown    true if the sample looks unlike those that the model was trained on: its potential is
             below that of 95% of the validation samples
  potential  the potential at x_0, before the ascent
  p_CLASS    the probability of each class (softmax); with --top N: class_1, p_1 and so on

--data is what training reads (its test samples, if it has any), a table with or without labels, one
or more images or folders of images, or - for a table from standard input. More files may follow the
flags. Images of another size or colour are converted to those of the model. Columns of a table are
chosen by the names of the features, if it has a header, and others are left out. Without --data the
test samples that belong to the model are classified.

Training measures the threshold of "unknown" and keeps it in the model file. For a model without one
it is measured on the validation samples, if these can be read, or else the column stays empty and a
line on standard error says why. "dpnbench uncertainty" measures what a model detects in this way:
noise nearly always if its features are pixels, perhaps not if they are learned. A name that a
spreadsheet would take for a formula gets an apostrophe before it.`

func predictCommand(a *app) *cobra.Command {
	p := &predicting{app: a}
	c := &cobra.Command{
		Use:   "predict [FILE...]",
		Short: "Classify images or the rows of a table with a model",
		Long:  predictHelp,
		Example: `  dpnbench predict --model runs/first/model.safetensors --out predictions.csv
  dpnbench predict --model runs/first/model.safetensors --top 3 scan1.png scan2.jpg
  dpnbench predict --model runs/first/model.safetensors --data photos --label none --json -
  dpnbench predict --model runs/first/model.safetensors --with runs/second/model.safetensors
  cat new.csv | dpnbench predict --model runs/iris/model.safetensors --data -`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error { return p.run(c.Context(), c, args) },
	}
	p.model.add(c, "steps")
	p.model.addWith(c)
	f := c.Flags()
	f.StringArrayVar(&p.data, "data", nil, "`WHAT` to classify: digits, mnist, fashion-mnist, a file or folder, or - "+
		"for a table from standard input (repeatable; default: the test samples of the model)")
	f.StringVar(&p.format, "format", "", "`FORMAT` of the data: "+strings.Join(source.Formats(), ", ")+
		" (default: by names and content)")
	f.StringVar(&p.label, "label", "", "`COLUMN` of the labels in a table, by name or number from 1 (default: as in "+
		"training); none: there are no labels, and folders of images are no classes")
	f.StringVar(&p.drop, "drop", "", "leave out `COLUMNS` of a table, by names or numbers from 1, or none "+
		"(default: as in training)")
	f.IntVar(&p.top, "top", 0, "only the `N` most likely classes of each sample; 0: the probabilities of all")
	f.StringVar(&p.out, "out", "", "`FILE` for the table (default: standard output)")
	return c
}

// predicting is one run of predict.
type predicting struct {
	*app
	model         modelFlags
	data          []string // also the files that follow the flags
	flag          string   // --data; empty if files follow the flags, which errors name without it
	format, label string
	drop          string
	top           int
	out           string
}

// predictResult is the JSON of predict.
type predictResult struct {
	Model          string             `json:"model"`
	With           []string           `json:"with,omitempty"` // other models of the ensemble
	Data           []string           `json:"data"`
	Samples        int                `json:"samples"`
	Classes        []string           `json:"classes"`
	Accuracy       *float64           `json:"accuracy"`      // null: no labels
	UnknownBelow   *float32           `json:"unknown_below"` // null: no threshold
	UnknownProblem string             `json:"unknown_problem,omitempty"`
	Unknown        *int               `json:"unknown"` // samples
	Predictions    []samplePrediction `json:"predictions"`
}

// samplePrediction is what the JSON of predict says of a sample.
type samplePrediction struct {
	Index         int              `json:"index"`
	File          string           `json:"file,omitempty"` // of an image
	Class         string           `json:"class"`
	Label         *string          `json:"label,omitempty"`
	Unknown       *bool            `json:"unknown"` // null: no threshold
	Potential     separation.Float `json:"potential"`
	Probabilities []float32        `json:"probabilities,omitempty"` // in the order of classes
	Top           []likelyClass    `json:"top,omitempty"`
}

// likelyClass is a class with its probability.
type likelyClass struct {
	Class       string  `json:"class"`
	Probability float32 `json:"probability"`
}

func (p *predicting) run(ctx context.Context, c *cobra.Command, args []string) error {
	flags := c.Flags()
	if p.data = append(p.data, args...); len(args) == 0 {
		p.flag = "--data"
	}
	if slices.Contains(args, "") {
		return errors.New("predict: expected files, got an empty name")
	}
	if len(p.data) == 0 {
		if err := onlyWith(flags, "--data or files", "format", "label", "drop"); err != nil {
			return err
		}
	}
	if p.out == "-" || p.out == "/dev/stdout" {
		p.out = ""
	}
	m, err := p.model.load(p.app, flags)
	if err != nil {
		return err
	}
	if p.top < 0 || p.top > len(m.Classes) {
		return fmt.Errorf("--top %d: expected 1 to %d, the classes of the model, or 0 for all", p.top, len(m.Classes))
	}
	all, err := p.model.ensemble(p.app, m, flags)
	if err != nil {
		return err
	}
	if err := p.check(m); err != nil {
		return err
	}
	e, err := p.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	samples, names, err := p.samples(ctx, all, c.InOrStdin())
	if err != nil {
		return err
	}
	why, err := p.threshold(ctx, e, m)
	if err != nil {
		return err
	}
	if why != "" {
		fmt.Fprint(p.errs(), safe("unknown: left empty, because %s\n", why))
	}
	return p.predict(ctx, e, m, &predicted{set: samples, names: names, top: p.top, models: all,
		result: predictResult{Model: p.model.path, With: p.model.with, Data: p.data, Samples: samples.Len(),
			Classes: m.Classes, UnknownBelow: m.UnknownBelow, UnknownProblem: why}})
}

// check refuses an output that would replace an input.
func (p *predicting) check(m *dpn.Model) error {
	files := p.files()
	files.Input("--model", p.model.path)
	files.Input("--with", p.model.with...)
	for _, spec := range p.data {
		from := ""
		if p.flag != "" {
			from = "of " + p.flag + " " + spec
		}
		inputData(files, from, spec)
		if spec == source.Standard {
			files.Standard("standard input", os.Stdin)
		}
	}
	if len(p.data) == 0 || m.UnknownBelow == nil {
		c := m.Config
		inputData(files, "of the data "+c.Data, nearModel(c.Data, m.DataFolder(), &pflag.FlagSet{}))
		inputData(files, "of the val-data "+c.ValData, c.ValData)
	}
	files.Output("--out", p.out)
	return files.Check()
}

// samples opens what is to be classified, and returns the names of images.
func (p *predicting) samples(ctx context.Context, all dpn.Ensemble, in io.Reader) (*dataset.Set, []string, error) {
	m := all[0]
	if len(p.data) == 0 {
		data, err := p.openModelData(ctx, m, p.model.path, &dataFlags{}, &pflag.FlagSet{}, false)
		if err != nil {
			return nil, nil, err
		}
		for i, other := range all[1:] {
			p.warnOfTraining(other, p.model.with[i], other.Config, m.Config, data)
		}
		p.data = []string{data.Name}
		return data.Test, nil, needTest(data)
	}
	opt, err := likeSamples(m, p.label, p.drop)
	if err != nil {
		return nil, nil, err
	}
	opt.Format = p.format
	data, names, err := source.OpenSamples(ctx, p.data, in, m.Shape, opt)
	if err := p.samplesRead(ctx, p.flag, m, data, err); err != nil {
		return nil, nil, err
	}
	if s := data.Test; s.Labelled() {
		for i, path := range append([]string{p.model.path}, p.model.with...) {
			if trained := p.trainedOn(all[i], s); trained != "" {
				p.log().Warn("the model "+trained+" "+s.Shape.Samples()+": the accuracy says little about others",
					"data", strings.Join(p.data, " "), "model", path)
			}
		}
	}
	return data.Test, names, nil
}

// trainedOn says whether the model was trained on these samples, or may have been on some, because they are of the same
// file and not its test samples; "" if not, or if the model file says nothing.
func (p *predicting) trainedOn(m *dpn.Model, samples *dataset.Set) string {
	switch {
	case m.SamplesHash() == "":
		return ""
	case m.TrainedOn(samples):
		return "was trained on these"
	case m.TestedOn(samples):
		return ""
	}
	own := map[string]bool{}
	for _, path := range source.InputFiles(nearModel(m.Config.Data, m.DataFolder(), &pflag.FlagSet{})) {
		path, _ = filepath.Abs(path)
		own[path] = true
	}
	for _, spec := range p.data {
		for _, path := range source.InputFiles(spec) {
			if path, err := filepath.Abs(path); err == nil && own[path] {
				return "may have been trained on some of these"
			}
		}
	}
	return ""
}

// threshold measures that of unknown samples if the model has none, or says why that cannot be done.
func (p *predicting) threshold(ctx context.Context, e *engine.Engine, m *dpn.Model) (why string, err error) {
	if m.UnknownBelow != nil {
		return "", nil
	}
	why = fmt.Sprintf("%s holds no threshold, and ", p.model.path)
	if len(m.Assumed) > 0 {
		return why + "does not say on which data the model was trained", nil
	}
	c := m.Config
	c.Data = nearModel(c.Data, m.DataFolder(), &pflag.FlagSet{})
	var val *dataset.Set
	opt := source.Options{DropIfThere: true}
	likeModel(&opt, m)
	data, err := openData(ctx, c, opt)
	if err == nil {
		if m.OtherImages(data) {
			return why + fmt.Sprintf("%s has other samples than those that the model was trained on", c.Data), nil
		}
		val, err = p.validation(ctx, m, m.Config, data)
	}
	if err == nil && val.Len() == 0 {
		return why + "training kept no validation samples to measure one on (train --val-size N keeps N)", nil
	}
	if err == nil {
		err = m.MeasureUnknown(ctx, e, val)
	}
	if ctx.Err() != nil {
		return "", ctx.Err()
	}
	if errors.As(err, new(*dpn.OutputError)) {
		return "", p.model.blame(m, err)
	}
	if err != nil {
		return why + "its validation samples cannot be had: " + err.Error(), nil
	}
	return "", nil
}

// predict classifies the samples and writes what was asked for.
func (p *predicting) predict(ctx context.Context, e *engine.Engine, m *dpn.Model, r *predicted) error {
	if p.json != "" {
		each := len(m.Classes)
		if p.top > 0 {
			each = 8 * p.top
		}
		need, free := float64(r.set.Len())*float64(200+40*each), sysinfo.AvailableMemory()
		if need > free {
			return fmt.Errorf("--json %s: %d samples of %d classes need about %.1f GB, %.1f GB are available; "+
				"expected --top N, or only a table", p.json, r.set.Len(), len(m.Classes), need/1e9, free/1e9)
		}
		r.keep = true
	}
	r.quoted = p.out == ""
	write := func(w io.Writer) error { return r.write(ctx, e, w, p.phase("predict")) }
	var err error
	switch {
	case p.out != "":
		err = output.Write(p.out, write)
	case p.json == "-":
		err = write(io.Discard)
	case p.json != "":
		err = write(unfailing{&p.app.out}) // the JSON comes after it
	default:
		err = write(&p.app.out)
	}
	switch {
	case err == nil:
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.As(err, new(*dpn.OutputError)):
		return fmt.Errorf("--model %s: %w", p.model.path, err)
	case p.app.out.err != nil: // run reports it
		return nil
	case p.out == "":
		return err
	default:
		return fmt.Errorf("--out %s: %w", p.out, regular.Cause(err))
	}
	from := p.data[0]
	if n := len(p.data) - 1; n > 0 {
		from += fmt.Sprintf(" and %d more", n)
	} else if from == source.Standard {
		from = "standard input"
	}
	summary := safe("%s of %s: %s\n", r.set.Samples(), from, r.summary())
	switch {
	case p.out != "" || p.json == "-":
		p.printf("%s", lines(summary))
	case !p.quiet:
		fmt.Fprint(p.errs(), summary)
	}
	return p.writeJSON(r.result)
}

// unfailing is standard output for a command that goes on when it fails; run reports the error.
type unfailing struct{ *printer }

func (u unfailing) Write(b []byte) (int, error) {
	u.printer.Write(b)
	return len(b), nil
}
