package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/internal/array"
	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/internal/sysinfo"
	"dpnbench/report"

	"github.com/spf13/cobra"
)

const separationHelp = `Measure how the layers of any network separate classes, from files of their features: what
"analyze" measures, and more. Give one file for each layer, in order, each with a row for every
sample, and a file of labels with the same rows:

  .npy           every numeric type, in C or Fortran order; read in place, so a file may be larger
                 than memory. Arrays of more than two dimensions are rows of all but the first one
  .npz           all its arrays in their order but that of the labels, or one: FILE.npz:NAME
  .safetensors   FILE.safetensors:NAME
  .csv, .tsv     numbers, with or without a line of names, also .gz; labels (also of .npy and .npz)
                 may be texts. They are in the column of FILE.csv:COLUMN, or else in the
                 first of label, labels, class, target and y, or else in the last, as for
                 "train"; it is not a feature. A first column of row numbers without a name
                 (pandas, R), or called id, is left out

Features of test samples give accuracies by the means of the training samples. The weights of the
last linear layer (K x d, as PyTorch has them; rows in increasing or alphabetical order of the
labels) give NC2 to NC4 of neural collapse for them. A layer called logits is left out of the laws.
docs/separation.md has a recipe for PyTorch.

Columns: D, N to inf and its 95% interval, betw/with, NCM and rank as in "analyze"; NCM test on test
samples; probe: accuracy of a linear probe, logistic regression, on samples that it was not trained
on; load: share of the layer in the fall of log D, for N -> infinity with a 95% interval; compress:
Tr(SSw)/Tr(SSb); discrim: 1 minus the largest cosine of two class means; NC1: D/K; NC2: distance of
the class means from a simplex; VCI: variability collapse index; CDNV: class-distance normalised
variance; rank (of the second table): stable rank. CKA is the similarity of two layers, 1 for equal
ones.

--out gets report.html, separation.json (as --json) and the figures.`

func separationCommand(a *app) *cobra.Command {
	z := &features{app: a}
	c := &cobra.Command{
		Use:   "separation",
		Short: "Measure how the layers of any network separate classes, from files of features",
		Long:  separationHelp,
		Example: `  dpnbench separation --features layer0.npy,layer1.npy,layer2.npy --labels y.npy
  dpnbench separation --features acts.npz --labels acts.npz:y --out separation
  dpnbench separation --features acts.npz --labels acts.npz:y \
      --test-features test.npz --test-labels test.npz:y --classifier w.npy,b.npy
  dpnbench separation --epochs e001,e010,e100 --features acts.npz --labels y.csv`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return z.run(c.Context()) },
	}
	f := c.Flags()
	f.StringSliceVar(&z.features, "features", nil, "`FILES` of features, one for each layer, in order")
	f.StringVar(&z.labels, "labels", "", "`FILE` of labels")
	f.StringSliceVar(&z.testFeatures, "test-features", nil, "`FILES` of features of test samples, as --features")
	f.StringVar(&z.testLabels, "test-labels", "", "`FILE` of their labels")
	f.StringSliceVar(&z.classifier, "classifier", nil,
		"`FILES` of the weights, and biases if any, of the linear classifier behind the last layer")
	f.StringSliceVar(&z.epochs, "epochs", nil,
		"`FOLDERS`, one for each epoch, of the files of --features, --test-features and --classifier")
	f.StringVar(&z.out, "out", "", "`FOLDER` for page, numbers and figures")
	f.IntVar(&z.draws, "draws", 200, "`N` bootstrap draws for the intervals; 0: no intervals")
	f.IntVar(&z.subsets, "subsets", 10, "`N` subsets of each size for the curves of D against the number of "+
		"samples, of the first layer and the last; 0: no curves")
	f.Uint64Var(&z.seed, "seed", 1, "`SEED` of draws and subsets")
	return c
}

// features is one run of separation.
type features struct {
	*app
	features, testFeatures, classifier, epochs []string
	labels, testLabels, out                    string
	draws, subsets                             int
	seed                                       uint64

	open []*array.File
}

// separationFile has the numbers of separation.
const separationFile = "separation.json"

// separationFiles returns the names of all files that separation may write.
func separationFiles() []string {
	return append(figureFiles("layers", "loads", "curve", "accuracy", "compression", "discrimination", "epochs", "pca"),
		pageFile, separationFile)
}

// check refuses flags that do not fit together, and outputs that would replace inputs.
func (z *features) check() error {
	switch {
	case len(z.features) == 0:
		return fmt.Errorf("--features: expected a file for each layer")
	case z.labels == "":
		return fmt.Errorf("--labels: expected a file of labels")
	case (len(z.testFeatures) == 0) != (z.testLabels == ""):
		return fmt.Errorf("--test-features and --test-labels: expected both or none")
	case len(z.classifier) > 2:
		return fmt.Errorf("--classifier %s: expected a file of weights, and one of biases or none",
			strings.Join(z.classifier, ","))
	case z.draws != 0 && (z.draws < leastDraws || z.draws > mostDraws):
		return fmt.Errorf("--draws %d: expected %d to %d, or 0 for no intervals", z.draws, leastDraws, mostDraws)
	case z.subsets < 0 || z.subsets > mostSubsets:
		return fmt.Errorf("--subsets %d: expected 1 to %d, or 0 for no curves", z.subsets, mostSubsets)
	}
	files := z.files()
	for flag, list := range map[string][]string{"--features": z.features, "--test-features": z.testFeatures,
		"--labels": {z.labels}, "--test-labels": {z.testLabels}, "--classifier": z.classifier} {
		for _, spec := range list {
			path, _ := array.Split(spec)
			files.Input(flag, path)
			for _, folder := range z.epochs {
				files.Input(flag, filepath.Join(folder, path))
			}
		}
	}
	if z.out != "" {
		files.Folder("--out", z.out, output.Names(separationFiles()...), separationFile)
	}
	return files.Check()
}

// layerFile is a layer in the JSON.
type layerFile struct {
	Name  string `json:"name"`
	File  string `json:"file"`
	Array string `json:"array,omitempty"`
	DType string `json:"dtype"`
	Shape []int  `json:"shape"`
}

// epochResult is an epoch in the JSON.
type epochResult struct {
	Name string `json:"name"`
	*separation.Depth
}

// separationResult is the JSON of separation. Its numbers are those of the last epoch.
type separationResult struct {
	*separation.Depth
	Features   []layerFile   `json:"features"`
	Labels     string        `json:"labels"`
	ClassNames []string      `json:"class_names,omitempty"`
	Epochs     []epochResult `json:"epochs,omitempty"`
	Draws      int           `json:"draws"`
	Subsets    int           `json:"subsets"`
	Seed       uint64        `json:"seed"`
	Tier       string        `json:"tier"`
	Threads    int           `json:"threads"`
}

func (z *features) run(ctx context.Context) error {
	if err := z.check(); err != nil {
		return err
	}
	e, err := z.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	defer func() {
		for _, f := range z.open {
			f.Close()
		}
	}()
	release := func() {}
	if z.out != "" {
		if release, err = openResults(z.out, separationFiles(), separationFile); err != nil {
			return err
		}
	}
	defer release()
	r, layers, err := z.measure(ctx, e)
	if err != nil {
		return err
	}
	s := z.found(r)
	z.print(s)
	z.printOrder(r.ClassNames)
	if z.out != "" {
		if s.Panels, s.Classes, err = panels(r, layers); err == nil {
			figures := s.Figures()
			err = z.writeFolder(z.out, separationFile, r, figures, report.SeparationPage(s, figures))
		}
		if err != nil {
			err = fmt.Errorf("--out %s: %w", z.out, err)
		} else {
			z.note("page     %s\n", filepath.Join(z.out, pageFile))
		}
	}
	return joined(err, z.writeJSON(r))
}

// options are those of the readers.
func (z *features) options() array.Options {
	return array.Options{Memory: sysinfo.AvailableMemory() / 4}
}

// measure measures every epoch, and returns the layers of the last one.
func (z *features) measure(ctx context.Context, e *engine.Engine) (*separationResult, []separation.LayerInput, error) {
	labels, err := array.ReadLabels(z.labels, z.options())
	if err != nil {
		return nil, nil, fmt.Errorf("--labels %w", err)
	}
	z.noteLabels("--labels", z.labels, labels)
	r := &separationResult{Labels: z.labels, ClassNames: labels.Names, Draws: z.draws, Subsets: z.subsets, Seed: z.seed,
		Tier: e.Tier().String(), Threads: e.Threads()}
	var layers []separation.LayerInput
	folders := z.epochs
	if len(folders) == 0 {
		folders = []string{""}
	}
	names := epochNames(folders)
	for i, folder := range folders {
		if layers, r.Features, err = z.layers(folder, labels); err != nil {
			return nil, nil, err
		}
		o := separation.Options{Engine: e, Draws: z.draws, Seed: z.seed, Spread: true, Probe: true}
		if i == len(folders)-1 {
			o.Subsets = z.subsets
		}
		if r.Depth, err = z.measureEpoch(ctx, o, layers, folder); err != nil {
			return nil, nil, err
		}
		if len(z.epochs) > 0 {
			if len(r.Epochs) > 0 && len(r.Layers) != len(r.Epochs[0].Layers) {
				return nil, nil, fmt.Errorf("--epochs %s: %d layers, expected %d as in %s", folder, len(r.Layers),
					len(r.Epochs[0].Layers), z.epochs[0])
			}
			r.Epochs = append(r.Epochs, epochResult{names[i], r.Depth})
		}
	}
	return r, layers, nil
}

// epochNames are the last parts of the folders, or if two are the same the folders as they were given.
func epochNames(folders []string) []string {
	names := make([]string, len(folders))
	for i, folder := range folders {
		names[i] = filepath.Base(folder)
		if slices.Contains(names[:i], names[i]) {
			return folders
		}
	}
	return names
}

func (z *features) measureEpoch(ctx context.Context, o separation.Options, layers []separation.LayerInput,
	folder string) (*separation.Depth, error) {
	report := z.phase(strings.TrimSpace("separation " + folder))
	depth, err := separation.MeasureDepth(ctx, layers, o, func(done int) { report(done, len(layers)) })
	if err != nil && ctx.Err() == nil {
		err = z.named(err, layers, folder)
	}
	return depth, err
}

// named names the flag and the file that an error is about.
func (z *features) named(err error, layers []separation.LayerInput, folder string) error {
	input, ok := errors.AsType[*separation.InputError](err)
	if !ok {
		return fmt.Errorf("--features: %w", err)
	}
	i := slices.IndexFunc(layers, func(l separation.LayerInput) bool { return l.Name == input.Layer })
	if i < 0 {
		return fmt.Errorf("--features: %w", err)
	}
	flag, file := "--features", layers[i].Input
	switch input.Of {
	case separation.ClassifierWeights:
		return fmt.Errorf("--classifier %s: %w", filepath.Join(folder, strings.Join(z.classifier, ",")), input.Err)
	case separation.TestFeatures:
		flag, file = "--test-features", layers[i].Test
	}
	return fmt.Errorf("%s %s: %w", flag, file.(separation.Samples).Source.(*array.Array).Title(), input.Err)
}

// layers opens the files of an epoch.
func (z *features) layers(folder string, labels *array.Labels) ([]separation.LayerInput, []layerFile, error) {
	arrays, err := z.arrays("--features", folder, z.features, z.labels, labels.Column)
	if err != nil {
		return nil, nil, err
	}
	layers, files := make([]separation.LayerInput, len(arrays)), make([]layerFile, len(arrays))
	for i, a := range arrays {
		if a.Len() != len(labels.Of) {
			return nil, nil, fmt.Errorf("--features %s: %s, expected %d as --labels %s has", a.Title(),
				format.Count(a.Len(), "row"), len(labels.Of), z.labels)
		}
		name := a.Name
		if name == "" {
			name = strings.SplitN(filepath.Base(a.File), ".", 2)[0]
		}
		if slices.ContainsFunc(files, func(f layerFile) bool { return f.Name == name }) {
			name = a.Title()
		}
		layers[i] = separation.LayerInput{Name: name, Input: separation.Samples{Source: a, Labels: labels.Of}}
		files[i] = layerFile{name, a.File, a.Name, a.DType, a.Shape}
	}
	if err := z.addTests(layers, folder, labels); err != nil {
		return nil, nil, err
	}
	return layers, files, z.addClassifier(layers, arrays, folder)
}

// noteLabels says which column of a table of several holds the labels, if nobody named it, and which classes may be
// missing labels.
func (z *features) noteLabels(flag, spec string, labels *array.Labels) {
	if labels.Column > 0 {
		z.note("%s %s: column %s holds the labels\n", flag, spec, labels.ColumnName)
	}
	for _, note := range array.NoteMissing(labels.Names, labels.Of) {
		z.note("%s %s: %s\n", flag, spec, note)
	}
}

// arrays opens the arrays of a list of files in a folder. Those of the labels are no features, nor is their column of a
// table: the one that labels names, or else that of a number; or of files without the labels that of array.UsualLabels.
func (z *features) arrays(flag, folder string, specs []string, labels string, column int) ([]*array.Array, error) {
	labelsPath, labelsName := array.Split(labels)
	var out []*array.Array
	for _, spec := range specs {
		path, name := array.Split(spec)
		o := z.options()
		o.WithoutLabels = labels != ""
		labelled := filepath.Base(path) == filepath.Base(labelsPath) // in every epoch
		if labelled {
			o.Without = labelsName
			if column > 0 && (folder != "" || filepath.Clean(path) == filepath.Clean(labelsPath)) {
				o.Without = strconv.Itoa(column)
			}
			o.Want = func(array string) bool { return name != "" || array != labelsName } // which may be texts
		}
		f, err := array.Open(filepath.Join(folder, spec), o)
		if err != nil {
			return nil, fmt.Errorf("%s %w", flag, err)
		}
		z.open = append(z.open, f)
		list := f.Arrays
		if index := list[0].Index; index != "" {
			z.note("%s: column %s holds the numbers of the rows and is left out\n", f.Path, index)
		}
		if left := list[0].Labels; left != "" && o.Without == "" {
			z.note("%s: column %s holds labels and is left out\n", f.Path, left)
		}
		if labelled && labelsName != "" && len(list) > 1 {
			list = slices.DeleteFunc(list, func(a *array.Array) bool { return a.Name == labelsName })
		}
		if len(list) > 1 && !f.Order {
			return nil, fmt.Errorf("%s %s: %d arrays in no order: expected the names of the layers, as in %s:%s,%s:%s",
				flag, f.Path, len(list), spec, list[0].Name, spec, list[1].Name)
		}
		out = append(out, list...)
	}
	return out, nil
}

// addTests adds the features of test samples to the layers.
func (z *features) addTests(layers []separation.LayerInput, folder string, train *array.Labels) error {
	if z.testLabels == "" {
		return nil
	}
	labels, err := array.ReadLabels(z.testLabels, z.options())
	if err != nil {
		return fmt.Errorf("--test-labels %w", err)
	}
	if folder == "" || folder == z.epochs[0] {
		z.noteLabels("--test-labels", z.testLabels, labels)
	}
	if err := z.rename(labels, train); err != nil {
		return fmt.Errorf("--test-labels %s: %w", z.testLabels, err)
	}
	tests, err := z.arrays("--test-features", folder, z.testFeatures, z.testLabels, labels.Column)
	if err != nil {
		return err
	}
	if len(tests) != len(layers) {
		return fmt.Errorf("--test-features: %s, expected %d as --features has", format.Count(len(tests), "layer"),
			len(layers))
	}
	for i, a := range tests {
		if a.Len() != len(labels.Of) {
			return fmt.Errorf("--test-features %s: %s, expected %d as --test-labels %s has", a.Title(),
				format.Count(a.Len(), "row"), len(labels.Of), z.testLabels)
		}
		layers[i].Test = separation.Samples{Source: a, Labels: labels.Of}
	}
	return nil
}

// rename numbers classes that are texts as those of the training samples.
func (z *features) rename(labels, train *array.Labels) error {
	switch {
	case labels.Names == nil && train.Names == nil:
		return nil // whole numbers mean the same in both
	case labels.Names == nil:
		return fmt.Errorf("whole numbers, expected texts as in --labels %s", z.labels)
	case train.Names == nil:
		return fmt.Errorf("texts such as %.60q, expected whole numbers as in --labels %s", labels.Names[0], z.labels)
	}
	for i, c := range labels.Of {
		at, ok := slices.BinarySearch(train.Names, labels.Names[c])
		if !ok {
			return fmt.Errorf("class %.60q, which no training sample has", labels.Names[c])
		}
		labels.Of[i] = at
	}
	return nil
}

// addClassifier adds the classifier to the last layer that is as wide as its weights.
func (z *features) addClassifier(layers []separation.LayerInput, arrays []*array.Array, folder string) error {
	if len(z.classifier) == 0 {
		return nil
	}
	list, err := z.arrays("--classifier", folder, z.classifier, "", 0)
	if err != nil {
		return err
	}
	c := &separation.Classifier{Dim: list[0].Width(), Weights: make([]float64, list[0].Len()*list[0].Width())}
	if err := list[0].ReadRows(c.Weights, 0); err != nil {
		return fmt.Errorf("--classifier %w", err)
	}
	if len(list) > 1 {
		c.Bias = make([]float64, list[1].Len()*list[1].Width())
		if err := list[1].ReadRows(c.Bias, 0); err != nil {
			return fmt.Errorf("--classifier %w", err)
		}
	}
	for i := len(arrays) - 1; i >= 0; i-- {
		if arrays[i].Width() == c.Dim && layers[i].Name != separation.LogitsName {
			layers[i].Classifier = c
			return nil
		}
	}
	return fmt.Errorf("--classifier %s: weights of %d features, which no layer has", list[0].Title(), c.Dim)
}
