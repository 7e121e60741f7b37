package exchange

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"slices"
	"sort"
	"strings"

	"dpnbench/dpn"
	"dpnbench/dpn/safetensors"
	"dpnbench/internal/regular"

	"github.com/nlpodyssey/gopickle/types"
)

// Imported is a network from a file of another program.
type Imported struct {
	Model   *dpn.Model
	Tensors []ImportedTensor // of the model
	Ignored []string         // names in the file that are no tensors of the model
}

// ImportedTensor is a tensor of a model.
type ImportedTensor struct {
	Name  string `json:"name"`
	Shape []int  `json:"shape"`
	Type  string `json:"type"` // in the file, by the names of safetensors: F32, F16, BF16, F64, I64, ...
}

// centres is a tensor that every network with an ascent has.
const centres = potentialKey + "mu"

// anyOther is what to do with a network without one.
const anyOther = ": expected a Denoising Potential Network (dpnbench separation takes the features of any other)"

// Import reads the network in the file at path: a state dictionary of the published reference as torch.save or
// safetensors wrote it, or a model file, also one that an exported module wrote. r is what a state dictionary
// does not say. Numbers of other types become float32. A file of torch.save holds a program in Python's pickle
// format, of which nothing is executed: its operations and the names that it may use are those of a state
// dictionary, and everything else is refused. Reading takes at most five times the size of the file and 200 MB.
func Import(path string, r dpn.Reference) (*Imported, error) {
	f, err := readTensors(path)
	if err != nil {
		if pe, ok := errors.AsType[*fs.PathError](err); ok {
			if errors.Is(err, fs.ErrNotExist) {
				return nil, fmt.Errorf("%s: no such file", path)
			}
			if errors.Is(err, regular.ErrNot) {
				return nil, fmt.Errorf("%s: %w; expected a file of torch.save or safetensors", path, pe.Err)
			}
			return nil, fmt.Errorf("%s: %w", path, pe.Err)
		}
		return nil, err
	}
	m, err := dpn.FromTensors(f, path, r)
	if err != nil && f.Tensor(centres) == nil && strings.Contains(err.Error(), centres) {
		err = fmt.Errorf("%w%s", err, anyOther)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.Unchecked = false // a file that another program has changed is what an import is for
	in := &Imported{Model: m}
	used := map[string]bool{}
	for _, p := range m.Params() {
		kind := "F32"
		if other, ok := f.Converted[p.Name]; ok {
			kind = other
		}
		used[p.Name] = true
		in.Tensors = append(in.Tensors, ImportedTensor{p.Name, p.Shape, kind})
	}
	for _, t := range f.Tensors {
		if !used[t.Name] {
			in.Ignored = append(in.Ignored, t.Name)
		}
	}
	return in, nil
}

// readTensors reads a file of either format. The header of a safetensors file begins after 8 bytes, with a brace,
// which a file of torch.save never has there.
func readTensors(path string) (*safetensors.File, error) {
	f, size, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var start [9]byte
	n, err := io.ReadFull(f, start[:])
	if err != nil && err != io.ErrUnexpectedEOF && err != io.EOF {
		return nil, err
	}
	if n == len(start) && start[8] == '{' {
		file, err := safetensors.ReadFileConverted(path)
		if err != nil {
			return nil, err
		}
		unwrap(file)
		return file, nil
	}
	if !bytes.HasPrefix(start[:n], []byte("PK\x03\x04")) && !bytes.HasPrefix(start[:n], []byte{0x80}) {
		return nil, fmt.Errorf("%s: %w", path, errNotTorch)
	}
	b, err := regular.ReadFile(path, size)
	if err != nil {
		return nil, err
	}
	file, err := readState(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	unwrap(file)
	return file, nil
}

// readState returns the tensors of the state dictionary in a file of torch.save.
func readState(b []byte) (*safetensors.File, error) {
	value, err := readTorch(b)
	if err != nil {
		return nil, err
	}
	state := stateOf(value)
	if state == nil {
		return nil, fmt.Errorf("no state dictionary with %q%s", centres, anyOther)
	}
	f := &safetensors.File{Converted: map[string]string{}}
	left := len(b) // numbers, of at least a byte each
	for _, name := range slices.Sorted(maps.Keys(state)) {
		t, ok := state[name].(*tensor)
		if !ok {
			continue
		}
		n, err := t.size()
		if err == nil && n > left {
			err = errors.New("tensors that share more numbers than the file has")
		}
		if err != nil {
			return nil, fmt.Errorf("tensor %q: %w", name, err)
		}
		left -= n
		f.Tensors = append(f.Tensors, safetensors.Tensor{Name: name, Shape: t.shape, Data: t.floats(n)})
		if kind := string(t.storage.kind); kind != "F32" {
			f.Converted[name] = kind
		}
	}
	return f, nil
}

// wrapped is what DataParallel puts before all names.
const wrapped = "module."

// unwrap takes the prefix of DataParallel from all names, if the centres have it.
func unwrap(f *safetensors.File) {
	if f.Tensor(centres) != nil || f.Tensor(wrapped+centres) == nil {
		return
	}
	converted := map[string]string{}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		name := strings.TrimPrefix(t.Name, wrapped)
		if kind, ok := f.Converted[t.Name]; ok {
			converted[name] = kind
		}
		t.Name = name
	}
	f.Converted = converted
	sort.Slice(f.Tensors, func(i, j int) bool { return f.Tensors[i].Name < f.Tensors[j].Name })
}

// stateOf returns the dictionary that has the centres: the value itself, or one of its values, as in a
// checkpoint of model, optimiser and epoch.
func stateOf(value any) map[string]any {
	d := dictionary(value)
	for _, v := range append([]any{value}, values(d)...) {
		d := dictionary(v)
		for _, name := range []string{centres, wrapped + centres} {
			if _, ok := d[name]; ok {
				return d
			}
		}
	}
	return nil
}

// values returns the values of a dictionary in the order of its keys.
func values(d map[string]any) (list []any) {
	for _, key := range slices.Sorted(maps.Keys(d)) {
		list = append(list, d[key])
	}
	return list
}

// dictionary returns the entries of a dictionary whose keys are texts, nil for what is none.
func dictionary(value any) map[string]any {
	d := map[string]any{}
	set := func(key, v any) {
		if name, ok := key.(string); ok {
			d[name] = v
		}
	}
	switch v := value.(type) {
	case *types.Dict:
		for _, e := range *v {
			set(e.Key, e.Value)
		}
	case *types.OrderedDict:
		for at := v.List.Front(); at != nil; at = at.Next() {
			e := at.Value.(*types.OrderedDictEntry)
			set(e.Key, e.Value)
		}
	}
	return d
}
