package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/safetensors"
	"dpnbench/internal/output"
	"dpnbench/internal/sysinfo"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// dataFlags select the images.
type dataFlags struct {
	data                string
	valData             string // where the validation images of the model are now
	trainSize, testSize int
	seed                uint64
	reading             dpn.Config // only how files are read
}

// add adds the flags; with train also those that only training uses.
func (d *dataFlags) add(c *cobra.Command, train bool) {
	f := c.Flags()
	if train {
		f.StringVar(&d.data, "data", "",
			"`WHAT` to use: digits (built in, the default), mnist, fashion-mnist, or a file or folder (see data)")
		f.IntVar(&d.trainSize, "train-size", 0, "the first `N` training samples (digits: draw N); 0: all")
	} else {
		f.StringVar(&d.data, "data", "",
			"`WHAT` to use: digits, mnist, fashion-mnist, or a file or folder (default: the model's training data)")
	}
	f.IntVar(&d.testSize, "test-size", 0, "the first `N` test samples (digits: draw N); 0: all")
	f.Uint64Var(&d.seed, "data-seed", 1, "`SEED` of the built-in digits, and of --test-share")
	d.addReading(f)
	group(f, dataGroup, "data", "train-size", "test-size", "data-seed", "format", "label", "drop", "test-share", "size",
		"channels")
}

// addReading adds the flags that say how files are read.
func (d *dataFlags) addReading(f *pflag.FlagSet) {
	r := &d.reading
	f.StringVar(&r.Format, "format", "", "`FORMAT` of the data: "+strings.Join(source.Formats(), ", ")+
		" (default: by names and content)")
	f.StringVar(&r.Label, "label", "", "`COLUMN` of the labels in a table, by name or number from 1, or none "+
		"(default: the first of label, labels, class, target and y, or else the last)")
	f.StringVar(&r.Drop, "drop", "", "leave out `COLUMNS` of a table, by names or numbers from 1, such as "+
		"id,date, or none")
	f.Float64Var(&r.TestShare, "test-share", 0,
		"take this `FRACTION` of each class as test samples, drawn by --data-seed")
	f.StringVar(&r.Size, "size", "", "scale images to `ROWSxCOLUMNS` pixels, such as 28x28; rows of a table that "+
		"have as many levels become images")
	f.StringVar(&r.Channels, "channels", "", "`KIND` of images: "+
		alternatives(dataset.ChannelKinds())+" (default: grey if all are)")
}

// options returns how files are read.
func (d *dataFlags) options() (source.Options, error) {
	opt := source.Options{TrainSize: d.trainSize, TestSize: d.testSize, Seed: d.seed}
	return opt, addReading(&opt, d.reading)
}

// addReading sets how files are read.
func addReading(opt *source.Options, c dpn.Config) error {
	if err := c.CheckReading(); err != nil {
		return fmt.Errorf("--%w", err)
	}
	if c.Format != "" && !slices.Contains(source.Formats(), c.Format) {
		return fmt.Errorf("--format %q: expected one of %s", c.Format, strings.Join(source.Formats(), ", "))
	}
	var err error
	if opt.Drop, err = source.Columns(c.Drop); err != nil {
		return fmt.Errorf("--drop %w", err)
	}
	opt.Format, opt.Label, opt.TestShare = c.Format, c.Label, c.TestShare
	opt.Rows, opt.Cols = c.Sides()
	opt.Channels = dataset.ParseChannelKind(c.Channels)
	return nil
}

// addValidation adds the flag for validation images that are not where they were.
func (d *dataFlags) addValidation(c *cobra.Command) {
	c.Flags().StringVar(&d.valData, "val-data", "",
		"`WHAT` has the samples that train --val-data validated on (default: as the model says)")
}

// settle replaces the data settings of c by the flags that were given.
func (d *dataFlags) settle(flags *pflag.FlagSet, c *dpn.Config) {
	flags.Visit(func(f *pflag.Flag) {
		switch f.Name {
		case "data":
			if d.data == c.Data {
				return // as without the flag
			}
			c.Data = d.data
			if !flags.Changed("train-size") { // the sizes were those of other data
				c.TrainSize = 0
			}
			if !flags.Changed("test-size") {
				c.TestSize = 0
			}
			r := d.reading // and so was how they are read
			c.Format, c.Label, c.TestShare, c.Size, c.Channels = r.Format, r.Label, r.TestShare, r.Size, r.Channels
			// The columns to drop stay: those that belong to the model are known.
		case "train-size":
			c.TrainSize = d.trainSize
		case "test-size":
			c.TestSize = d.testSize
		case "data-seed":
			c.DataSeed = d.seed
		case "val-data":
			if d.valData != "" { // in train it is a setting
				c.ValData = d.valData
			}
		case "format":
			c.Format = d.reading.Format
		case "label":
			c.Label = d.reading.Label
		case "drop":
			c.Drop = d.reading.Drop
		case "test-share":
			c.TestShare = d.reading.TestShare
		case "size":
			c.Size = d.reading.Size
		case "channels":
			c.Channels = d.reading.Channels
		}
	})
}

// openData opens the samples that the settings name. opt says for which model, and which splits are needed.
func openData(ctx context.Context, c dpn.Config, opt source.Options) (*dataset.Data, error) {
	opt.TrainSize, opt.TestSize, opt.Seed, opt.Memory = c.TrainSize, c.TestSize, c.DataSeed, sysinfo.AvailableMemory()
	if err := addReading(&opt, c); err != nil {
		return nil, err
	}
	data, err := source.OpenContext(ctx, c.Data, opt)
	if size, ok := errors.AsType[*source.SizeError](err); ok {
		return nil, fmt.Errorf("--%s-size %d: %s", size.Split, size.Size, size.Problem)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, sourceError("--data", err)
	}
	return data, nil
}

// sourceError is an error of opening samples, with the flag that named them unless it is empty, or the error names a
// flag.
func sourceError(flag string, err error) error {
	text := strings.TrimSuffix(err.Error(), ": "+fs.ErrNotExist.Error()) // the sentence says what is missing
	if flag != "" && !strings.HasPrefix(text, "--") {
		text = flag + ": " + text
	}
	return &readError{text, err}
}

// readError is an error of opening samples as it is printed, with its cause.
type readError struct {
	text  string
	cause error
}

func (e *readError) Error() string { return e.text }
func (e *readError) Unwrap() error { return e.cause }

// dataPhase shows that samples are drawn or read.
func (a *app) dataPhase(name string) {
	if name == "digits" {
		a.phase("draw digits")
	} else {
		a.phase("read " + filepath.Base(name))
	}
}

// likeModel asks for samples like those of a model; of any kind for nil.
func likeModel(opt *source.Options, m *dpn.Model) {
	if m != nil {
		opt.Classes, opt.Features, opt.Shape = m.Classes, m.FeatureNames, m.Shape
	}
}

// ownLabel returns the column of labels of the training, for a table of which drop is left out. If that is none, the
// columns that training dropped are already gone, and a number of the label does not count them.
func ownLabel(trained dpn.Config, drop string) string {
	dropped, err := source.Columns(trained.Drop)
	if given, _ := source.Columns(drop); err != nil || len(given) > 0 {
		return trained.Label
	}
	return source.LabelWithout(trained.Label, dropped)
}

// likeSamples returns how samples are read for a model: with the column label of a table, without the columns drop. If
// these are empty they are those of the training, which the table may lack.
func likeSamples(m *dpn.Model, label, drop string) (source.Options, error) {
	opt := source.Options{Seed: m.Config.DataSeed, Memory: sysinfo.AvailableMemory(),
		Label: label, LabelIfThere: label == "", DropIfThere: drop == "" || drop == m.Config.Drop}
	drop = cmp.Or(drop, m.Config.Drop)
	if label == "" {
		opt.Label = ownLabel(m.Config, drop)
	}
	likeModel(&opt, m)
	var err error
	if opt.Drop, err = source.Columns(drop); err != nil {
		return opt, fmt.Errorf("--drop %w", err)
	}
	return opt, nil
}

// samplesRead returns why the samples of a flag cannot be read, which err says, or are none for the model; nil if they
// are. The flag is empty if files follow the flags. It prints their notes on standard error.
func (a *app) samplesRead(ctx context.Context, flag string, m *dpn.Model, data *dataset.Data, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err != nil {
		return sourceError(flag, err)
	}
	for _, note := range data.Notes {
		if !a.quiet {
			fmt.Fprint(a.errs(), safe("%s: %s\n", data.Name, note))
		}
	}
	if err := m.CheckSet(data.Test); err != nil {
		return fmt.Errorf("%s: %w", strings.TrimSpace(flag+" "+data.Name), err)
	}
	return nil
}

// noteData prints what was left out of data, or read otherwise than one may think.
func (a *app) noteData(data *dataset.Data) {
	for _, note := range data.Notes {
		a.note("%s: %s\n", data.Name, note)
	}
}

// takeTest says how data get test samples, to commands that evaluate a model.
const takeTest = "--test-share; 1 takes all"

// needTestLabels refuses data without labelled test samples.
func needTestLabels(data *dataset.Data) error {
	if err := needTest(data); err != nil {
		return err
	}
	if s := data.Test; s.Len() > 0 && !s.Labelled() {
		from := ""
		if !s.IsImage() {
			from = "; --label COLUMN takes them from a column of a table"
		}
		return fmt.Errorf("--data %s: the test %s have no labels, expected one for each%s", data.Name, s.Samples(),
			from)
	}
	return nil
}

// needTest refuses data without test samples.
func needTest(data *dataset.Data) error {
	if data.Test == nil {
		return fmt.Errorf("--data %s: has no test samples, expected some to evaluate on (%s)", data.Name, takeTest)
	}
	return nil
}

// needClasses refuses to train on data with labels of one class: there is nothing to tell apart.
func needClasses(data *dataset.Data) error {
	if data.Train != nil && data.Train.Labelled() && len(data.Classes) == 1 {
		return fmt.Errorf("--data %s: all labels are %.60q, expected at least two classes", data.Name, data.Classes[0])
	}
	return nil
}

// needImages refuses, before any work, what a model of vectors cannot do: what names it, a command or a flag.
func (m *modelFlags) needImages(model *dpn.Model, what string) error {
	if err := model.Shape.NeedImages(what); err != nil {
		return fmt.Errorf("--model %s: %w", m.path, err)
	}
	return nil
}

// openModelData opens the images that the model or else the flags name, the training images only
// with train. A relative folder that is not here is looked for from the model file. Other images
// under the name that the model was trained with give a warning, and so do test samples that it was, or may have been,
// trained on.
func (a *app) openModelData(ctx context.Context, m *dpn.Model, path string, d *dataFlags, flags *pflag.FlagSet,
	train bool) (data *dataset.Data, err error) {
	trained := m.Config
	if d.valData != "" && trained.ValData == "" {
		return nil, fmt.Errorf("--val-data %s: the model %s was validated on some of its training images; expected "+
			"one that was trained with --val-data", d.valData, path)
	}
	d.settle(flags, &m.Config)
	other := m.Config.Data != trained.Data && !flags.Changed("label")
	if other { // with the same column of labels, if it is there
		m.Config.Label = ownLabel(trained, m.Config.Drop)
	}
	c := m.Config
	c.Data = nearModel(c.Data, m.DataFolder(), flags)
	a.dataPhase(c.Data)
	opt := source.Options{TestOnly: !train, DropIfThere: c.Drop == trained.Drop, LabelIfThere: other}
	likeModel(&opt, m)
	if data, err = openData(ctx, c, opt); err != nil {
		if errors.As(err, new(*source.NoTestError)) && flags.Lookup("test-share") != nil {
			err = fmt.Errorf("%w, expected some to evaluate on (%s)", err, takeTest)
		}
		if !flags.Changed("data") && ctx.Err() == nil && len(m.Assumed) == 0 {
			err = fmt.Errorf("%w; the name %q comes from the model %s, expected other samples by --data", err,
				m.Config.Data, path)
		}
		return nil, err
	}
	if flags.Changed("data") {
		a.noteData(data)
	}
	a.warnOfTraining(m, path, trained, m.Config, data)
	return data, nil
}

// warnOfTraining warns of a model of the settings trained that was, or may have been, trained on the test samples of
// data, or on other samples of their name. The data were opened with the settings c.
func (a *app) warnOfTraining(m *dpn.Model, path string, trained, c dpn.Config, data *dataset.Data) {
	samples := m.Shape.Samples()
	switch {
	case data.Test != nil && m.TrainedOn(data.Test):
		a.log().Warn("the model was trained on test "+samples+": results on them say little about others", "data",
			c.Data, "model", path)
	case c.Data == trained.Data && c.TestShare > 0 && (c.TestShare != trained.TestShare || c.DataSeed !=
		trained.DataSeed || m.OtherImages(data)): // of other samples another share is drawn
		a.log().Warn("the model may have been trained on some of the test "+samples+": the samples, --test-share or "+
			"--data-seed are not those of its training", "data", c.Data, "model", path)
	case c.Data == trained.Data && c.DataSeed == trained.DataSeed && m.OtherImages(data):
		a.log().Warn("the "+samples+" differ from those that the model was trained with, under the same name", "data",
			c.Data, "model", path)
	}
}

// openValidation opens the images of the setting val-data; nil without it.
func openValidation(ctx context.Context, m *dpn.Model) (*dataset.Set, error) {
	c := m.Config
	if c.ValData == "" {
		return nil, nil
	}
	opt := source.Options{Seed: c.DataSeed, Memory: sysinfo.AvailableMemory()}
	likeModel(&opt, m)
	c.Format = "" // of --data
	if err := addReading(&opt, c); err != nil {
		return nil, err
	}
	s, err := source.OpenTraining(ctx, c.ValData, opt)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err == nil {
		err = m.CheckValidation(s)
	}
	return s, err
}

// sameData says whether the data of c are those of the training.
func sameData(c, trained dpn.Config) bool {
	return c.Data == trained.Data && c.TrainSize == trained.TrainSize && c.DataSeed == trained.DataSeed
}

// validation returns the images that the model was validated on or, of other data than those of the
// training, the default fraction of their training images. It warns if the model may have been trained on those.
func (a *app) validation(ctx context.Context, m *dpn.Model, trained dpn.Config, data *dataset.Data) (*dataset.Set,
	error) {
	held := *m
	if !sameData(m.Config, trained) {
		held.Config.ValSize, held.Config.ValData = -1, ""
	}
	s, err := openValidation(ctx, &held)
	if err != nil {
		if m.Config.ValData != trained.ValData {
			return nil, fmt.Errorf("--val-data %s: %w", m.Config.ValData, err)
		}
		return nil, fmt.Errorf("validation images of the model, %s: %w; expected their place by --val-data",
			m.Config.ValData, err)
	}
	if s != nil {
		return s, nil
	}
	if err = held.CheckSet(data.Train); err == nil {
		s, err = held.Validation(data.Train)
	}
	if err != nil {
		return nil, fmt.Errorf("--data %s: %w", m.Config.Data, err)
	}
	if !sameData(m.Config, trained) && (m.Config.Data == trained.Data || m.TrainedOn(data.Train)) {
		a.log().Warn("the model may have been trained on some of the validation "+m.Shape.Samples()+
			", which are drawn from its training data: results on them say little about others", "data", m.Config.Data)
	}
	return s, nil
}

// nearModel returns the name of the data, or the folder where they were trained on, if the name is a
// relative one of a folder that is not here, and no flag gives it.
func nearModel(name, folder string, flags *pflag.FlagSet) string {
	if folder == "" || flags.Changed("data") {
		return name
	}
	there := func(name string) bool {
		if folder, ok := source.MNISTCFolder(name); ok {
			name = folder
		}
		first, _, _ := strings.Cut(name, ",") // of a pair of files
		for _, path := range []string{name, first} {
			if _, err := os.Stat(path); err == nil {
				return true
			}
		}
		return false
	}
	if there(name) || !there(folder) {
		return name
	}
	return folder
}

// modelFlags select a model.
type modelFlags struct {
	path  string
	with  []string // other models, whose probabilities are averaged with it
	flag  string   // for the ascent steps
	steps int
}

// add adds the flags; steps is the name of the one for the ascent steps.
func (m *modelFlags) add(c *cobra.Command, steps string) {
	m.flag = steps
	c.Flags().StringVar(&m.path, "model", "", "model `FILE`")
	c.Flags().IntVar(&m.steps, steps, 0, "make `N` ascent steps (default: as the model file says)")
}

// addWith adds the flag for other models, to commands that only classify.
func (m *modelFlags) addWith(c *cobra.Command) {
	c.Flags().StringArrayVar(&m.with, "with", nil, "another model `FILE`: classify by the mean of the probabilities "+
		"(repeatable)")
}

// ensemble returns the model and those of --with, with the same ascent steps if the flag gives them.
func (m *modelFlags) ensemble(a *app, model *dpn.Model, flags *pflag.FlagSet) (dpn.Ensemble, error) {
	all := dpn.Ensemble{model}
	for _, path := range m.with {
		other, err := a.loadModel("with", path)
		if err == nil {
			err = m.setSteps(other, flags)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, other)
		if err := all.Check(); err != nil {
			return nil, fmt.Errorf("--with %s: %w", path, err)
		}
	}
	return all, nil
}

// files returns the files of a command that reads the model and the images that it or else the flags
// name.
func (m *modelFlags) files(a *app, model *dpn.Model, d *dataFlags, flags *pflag.FlagSet) *output.Files {
	c := model.Config
	d.settle(flags, &c)
	f := a.files()
	f.Input("--model", m.path)
	f.Input("--with", m.with...)
	inputData(f, "of --data "+c.Data, nearModel(c.Data, model.DataFolder(), flags))
	inputData(f, "of the val-data "+c.ValData, c.ValData)
	return f
}

// inputData declares the files of a data set.
func inputData(f *output.Files, name, spec string) {
	files := source.InputFiles(spec)
	f.Input(name, files...)
	if folder := source.ImageFolder(spec); folder != "" {
		f.Tree(name, folder)
		before := ""
		for _, file := range files { // folders in it may be links
			if dir := filepath.Dir(file); dir != before {
				f.Tree(name, dir)
				before = dir
			}
		}
	}
}

// blame says which flag an error of evaluating the model comes from: --model if a number that the
// network computed is not finite, otherwise --data.
func (m *modelFlags) blame(model *dpn.Model, err error) error {
	if errors.As(err, new(*dpn.OutputError)) {
		return fmt.Errorf("--model %s: %w", m.path, err)
	}
	return fmt.Errorf("--data %s: %w", model.Config.Data, err)
}

func (m *modelFlags) load(a *app, flags *pflag.FlagSet) (*dpn.Model, error) {
	if m.path == "" {
		return nil, fmt.Errorf("--model: expected a model file")
	}
	model, err := a.loadModel("model", m.path)
	if err != nil {
		return nil, err
	}
	return model, m.setSteps(model, flags)
}

// setSteps gives a model the ascent steps of the flag, if it was given.
func (m *modelFlags) setSteps(model *dpn.Model, flags *pflag.FlagSet) error {
	if !flags.Changed(m.flag) {
		return nil
	}
	model.Config.Steps = m.steps
	if err := model.Config.Validate(); err != nil {
		return fmt.Errorf("--%s%s", m.flag, strings.TrimPrefix(err.Error(), "steps"))
	}
	return nil
}

// loadModel loads the model that a flag names.
func (a *app) loadModel(flag, path string) (*dpn.Model, error) {
	m, err := dpn.Load(path)
	if err != nil {
		return nil, fmt.Errorf("--%s %w", flag, err)
	}
	if m.Unchecked {
		a.log().Warn("no checksum ("+safetensors.ChecksumKey+" in the metadata): the file was changed by another "+
			"program, or is damaged", flag, path)
	}
	return m, a.setRoute(m)
}
