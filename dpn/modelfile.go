package dpn

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/safetensors"
	"dpnbench/internal/linalg"
)

// Keys of the metadata of a model file, besides those of the config.
const (
	metaFormat   = "format"
	metaConfig   = "config"
	metaRows     = "rows"
	metaCols     = "cols"
	metaChannels = "channels"         // absent for 1
	metaFeatures = "features"         // of vectors, which have no rows and columns
	metaMean     = "mean"             // one number, or one for each channel or feature, separated by commas
	metaStd      = "std"              // so, too
	metaClasses  = "class_names"      // a JSON array; absent: "0", "1", ...
	metaNames    = "feature_names"    // a JSON array; absent: none
	metaSplit    = "validation_split" // absent in files of before: the last images
	metaEpoch    = "epoch"            // whose weights Fit kept; absent in files of before

	splitStratified = "stratified" // by class, drawn by the seed

	formatPrefix = "dpnbench " // of all formats of ours; the metadata of others may have a format, too
	formatModel  = formatPrefix + "model 1"
)

// Save writes the model to path in the safetensors format, keys as in the published
// state dictionary, settings in the metadata. A crash leaves the old file or the new one.
// The precisions are the tensors of their form (potential.Forms); s0 and eps
// are the settings scale and eps.
func (m *Model) Save(path string) error {
	return safetensors.WriteFile(path, m.modelFile(path))
}

// Write writes to w what Save writes to path.
func (m *Model) Write(w io.Writer, path string) error { return safetensors.Write(w, m.modelFile(path)) }

// modelFile returns the file that is kept at path.
func (m *Model) modelFile(path string) *safetensors.File {
	f := m.file(formatModel)
	m.origin.metadata(f, path)
	m.writeUnknown(f.Metadata)
	if m.epoch > 0 {
		f.Metadata[metaEpoch] = strconv.Itoa(m.epoch)
	}
	return f
}

func (m *Model) file(format string) *safetensors.File {
	f := &safetensors.File{Metadata: map[string]string{
		metaFormat: format,
		metaConfig: m.Config.TOML(),
	}}
	m.writeShape(f.Metadata)
	if !m.lastSplit {
		f.Metadata[metaSplit] = splitStratified
	}
	for _, p := range m.Params() {
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: p.Name, Shape: p.Shape, Data: p.Data})
	}
	return f
}

// Load reads a model: a file that Save wrote, or the state dictionary of the published
// reference written by PyTorch in the same format, which has no settings (square images,
// the published ones otherwise: see Model.Assumed; the number of steps is not in it: set
// Config.Steps). What Save wrote has a checksum, and a damaged file is refused. If the checksum
// is missing from what Save wrote, Model.Unchecked is set. Every error begins with the path, and
// names the tensor where one is at fault.
func Load(path string) (*Model, error) {
	f, err := safetensors.ReadFile(path)
	if err != nil {
		if info, statErr := os.Stat(path); statErr != nil || !info.IsDir() {
			return nil, fileError(path, err)
		}
		expected := "a model file"
		if model := filepath.Join(path, ModelFile); there(model) {
			expected = "a file, such as " + model
		}
		return nil, fmt.Errorf("%w; expected %s", fileError(path, err), expected)
	}
	m, err := FromTensors(f, path, Published)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

// fileError says in one line what went wrong with which file.
func fileError(path string, err error) error {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		if errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("%s: no such file", path)
		}
		return fmt.Errorf("%s: %w", path, pe.Err)
	}
	return err
}

// Reference is what a state dictionary of the published reference does not say of its network.
type Reference struct {
	Steps     int
	LayerNorm bool
	Norm      dataset.Normalization
}

// Published is the published network.
var Published = Reference{Steps: 30, Norm: dataset.MNISTNorm}

// FromTensors builds a model from the tensors and metadata of the file at path: one that Save wrote, or the
// state dictionary of a reference.
func FromTensors(f *safetensors.File, path string, r Reference) (*Model, error) {
	text, ours := f.Metadata[metaConfig]
	if format := f.Metadata[metaFormat]; format != formatModel && (ours || strings.HasPrefix(format, formatPrefix)) {
		return nil, fmt.Errorf("format %q, expected %q", format, formatModel)
	} else if format == formatModel && !ours {
		return nil, fmt.Errorf("no settings (%q in the metadata), which format %q has", metaConfig, format)
	}
	shape := func(name string, rank int) ([]int, error) {
		t := f.Tensor(name)
		if t == nil {
			return nil, fmt.Errorf("no tensor %q", name)
		}
		if len(t.Shape) != rank {
			return nil, fmt.Errorf("tensor %q has shape %v, expected %d dimensions", name, t.Shape, rank)
		}
		return t.Shape, nil
	}
	mu, err := shape(potential.CentresName, 2)
	if err != nil {
		return nil, err
	}
	head, err := shape("classifier.weight", 2)
	if err != nil {
		return nil, err
	}
	c, _ := Preset("published")
	c.Preset, c.Steps, c.LayerNorm = "imported", r.Steps, r.LayerNorm
	m := &Model{Norm: r.Norm, origin: readOrigin(f, path),
		Unchecked: !f.Checked && f.Metadata[metaFormat] == formatModel}
	if ours {
		if m.lastSplit, err = readSplit(f); err != nil {
			return nil, err
		}
		if c, err = decode([]byte(text), unset); err != nil {
			return nil, fmt.Errorf("settings: %w", err)
		}
	} else {
		m.Assumed = []string{"steps", "layer-norm", "data"}
	}
	c.Components, c.Dim = mu[0], mu[1]
	inputs, err := c.readExtractor(f, shape)
	if err != nil {
		return nil, err
	}
	if mu[0] < 1 || mu[1] < 1 || head[1] != mu[1] {
		return nil, fmt.Errorf(
			"tensors %q and \"classifier.weight\" have shapes %v and %v, expected [k, d] and [classes, d]",
			potential.CentresName, mu, head)
	}
	if head[0] < 1 || head[0] > dataset.MostClasses {
		return nil, fmt.Errorf("classifier.weight has shape %v, expected 1 to %d classes", head, dataset.MostClasses)
	}
	if err := m.readShape(f, c, inputs); err != nil {
		return nil, err
	}
	if err := m.readNames(f.Metadata, head[0]); err != nil {
		return nil, err
	}
	if err := m.readUnknown(f); err != nil {
		return nil, err
	}
	if epoch, ok := f.Metadata[metaEpoch]; ok && ours {
		if m.epoch, err = strconv.Atoi(epoch); err != nil || m.epoch < 1 {
			return nil, fmt.Errorf("metadata %s is %q, expected a number from 1", metaEpoch, epoch)
		}
	}
	if err := c.Validate(); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	if err := c.checkRank(mu[1]); err != nil {
		return nil, fmt.Errorf("settings: %w", err)
	}
	for _, want := range c.potential().Tensors(mu[1]) { // before memory is made for them
		if t := f.Tensor(want.Name); t == nil || !slices.Equal(t.Shape, want.Shape) {
			hint := ""
			if len(m.Assumed) > 0 {
				hint = "; without settings in the file, this form is assumed (DPN.save of an exported module writes " +
					"them)"
			}
			return nil, fmt.Errorf("no tensor %q of shape %v, which the form %q has%s", want.Name, want.Shape, c.Form,
				hint)
		}
	}
	m.Config = c
	if err := m.build(); err != nil {
		return nil, err
	}
	for _, p := range m.Params() {
		if err := copyTensor(p.Data, f, p.Name, p.Shape); err != nil {
			return nil, err
		}
	}
	if a := m.potential.Alpha(); !(a > 0) {
		return nil, fmt.Errorf("tensor %q is %v, expected a number above 0", potential.AlphaName, a)
	}
	if !potential.FormOf(c.Form).Dense { // whose A may be singular: the file is not ours to judge
		if tensor, problem := m.potential.CheckDefinite(nil); problem != "" {
			return nil, fmt.Errorf("tensor %q: %s", tensor, problem)
		}
	}
	m.potential.SetAlpha(m.potential.Alpha())
	m.potential.Changed()
	return m, nil
}

// readSplit says whether a model of ours was validated on the last training images.
func readSplit(f *safetensors.File) (last bool, err error) {
	split, ok := f.Metadata[metaSplit]
	if ok && split != splitStratified {
		return false, fmt.Errorf("metadata %s is %q, expected %q", metaSplit, split, splitStratified)
	}
	return !ok, nil
}

// readExtractor sets extractor and hidden layers by the tensors that there are, whose shapes
// it checks, and returns how many numbers a sample has; for conv, what the convolutions make of
// it.
func (c *Config) readExtractor(f *safetensors.File,
	shape func(name string, rank int) ([]int, error)) (inputs int, err error) {
	// linear returns the inputs of a linear layer.
	linear := func(name string, out int) (int, error) {
		w, err := shape(name, 2)
		if err != nil {
			return 0, err
		}
		if w[0] != out || w[1] < 1 {
			return 0, fmt.Errorf("tensor %q has shape %v, expected [%d, inputs]", name, w, out)
		}
		return w[1], nil
	}
	said := *c
	c.Extractor, c.Hidden = "identity", ""
	first := f.Tensor(extractorKey + ".0.weight")
	switch {
	case f.Tensor(extractorKey+".weight") != nil:
		c.Extractor = "linear"
		return linear(extractorKey+".weight", c.Dim)
	case first != nil && len(first.Shape) == 4:
		if c.Extractor = "conv3"; f.Tensor(extractorKey+".2.weight") == nil {
			c.Extractor = "conv"
			second, err := shape(extractorKey+".3.weight", 4)
			if err != nil {
				return 0, err
			}
			c.Hidden = formatWidths([]int{first.Shape[0], second[0]})
			channels, err := c.channels()
			if err != nil {
				return 0, err
			}
			if same, err := said.channels(); err == nil && slices.Equal(same, channels) {
				c.Hidden = said.Hidden
			}
		}
		return linear(extractorKey+".7.weight", c.Dim)
	case first != nil:
		c.Extractor = "mlp"
		last := 0
		for last < 2*maxHidden && f.Tensor(fmt.Sprintf("%s.%d.weight", extractorKey, last+2)) != nil {
			last += 2
		}
		var widths []int
		in := c.Dim
		for i := last; i >= 0; i -= 2 {
			if in, err = linear(fmt.Sprintf("%s.%d.weight", extractorKey, i), in); err != nil {
				return 0, err
			}
			widths = append(widths, in)
		}
		widths = widths[:len(widths)-1]
		slices.Reverse(widths)
		c.Hidden = formatWidths(widths)
		return in, nil
	}
	return c.Dim, nil
}

// copyTensor copies a tensor of that shape out of f. All numbers must be finite.
func copyTensor(dst []float32, f *safetensors.File, name string, shape []int) error {
	t := f.Tensor(name)
	if t == nil {
		return fmt.Errorf("no tensor %q", name)
	}
	same := len(t.Shape) == len(shape)
	for i := 0; same && i < len(shape); i++ {
		same = t.Shape[i] == shape[i]
	}
	if !same && !(len(t.Data) == 1 && len(dst) == 1) { // a scalar may be written as [1]
		return fmt.Errorf("tensor %q has shape %v, expected %v", name, t.Shape, shape)
	}
	for i, v := range t.Data {
		if !linalg.IsFinite(v) {
			return fmt.Errorf("tensor %q: number %d is %v, expected finite numbers", name, i, v)
		}
	}
	copy(dst, t.Data)
	return nil
}
