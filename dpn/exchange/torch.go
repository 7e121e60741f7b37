package exchange

import (
	"archive/zip"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math/big"
	"path"
	"slices"

	"dpnbench/internal/array"

	"github.com/nlpodyssey/gopickle/types"
)

// storageTypes are the types of numbers of PyTorch's storages.
var storageTypes = map[string]string{
	"DoubleStorage": "F64", "FloatStorage": "F32", "HalfStorage": "F16", "BFloat16Storage": "BF16",
	"LongStorage": "I64", "IntStorage": "I32", "ShortStorage": "I16", "CharStorage": "I8", "ByteStorage": "U8",
	"BoolStorage": "BOOL",
}

// storageType is the class of a storage.
type storageType string

// function is what a pickle may call.
type function func(args []any) (any, error)

// Call makes function a callable of gopickle.
func (f function) Call(args ...any) (any, error) { return f(args) }

// global returns what a name in a pickle stands for. All others are refused.
func global(module, name string) (any, error) {
	switch module {
	case "torch":
		if t, ok := storageTypes[name]; ok {
			return storageType(t), nil
		}
	case "torch._utils":
		switch name {
		case "_rebuild_tensor", "_rebuild_tensor_v2":
			return function(rebuildTensor), nil
		case "_rebuild_parameter":
			return function(rebuildParameter), nil
		}
	case "collections":
		if name == "OrderedDict" {
			return &types.OrderedDictClass{}, nil
		}
	}
	return nil, &globalError{module, name}
}

// globalError is a name that a pickle must not use.
type globalError struct{ module, name string }

func (e *globalError) Error() string {
	return fmt.Sprintf("its pickle asks for %s.%s, which is no part of a state dictionary; nothing was run. "+
		"Expected what torch.save(model.state_dict(), FILE) writes", e.module, e.name)
}

// storage is an array of numbers that tensors share.
type storage struct {
	kind  storageType
	count int    // numbers
	data  []byte // little-endian
}

// GoString keeps the numbers out of messages of package pickle.
func (s *storage) GoString() string { return "storage" }

// tensor is a view of a storage.
type tensor struct {
	storage       *storage
	offset        int
	shape, stride []int
}

// rebuildTensor takes storage, offset, shape and strides, and more that does not matter.
func rebuildTensor(args []any) (any, error) {
	if len(args) < 4 {
		return nil, fmt.Errorf("a tensor of %d arguments, expected 4 or more", len(args))
	}
	s, ok1 := args[0].(*storage)
	offset, ok2 := args[1].(int)
	shape, ok3 := integers(args[2])
	stride, ok4 := integers(args[3])
	if !ok1 || !ok2 || !ok3 || !ok4 || len(shape) != len(stride) || offset < 0 {
		return nil, errors.New("a tensor without storage, offset, shape and strides")
	}
	return &tensor{s, offset, shape, stride}, nil
}

// rebuildParameter takes a tensor, and more that does not matter.
func rebuildParameter(args []any) (any, error) {
	if len(args) > 0 {
		if t, ok := args[0].(*tensor); ok {
			return t, nil
		}
	}
	return nil, errors.New("a parameter without a tensor")
}

// integers returns a tuple of integers of at least 0.
func integers(v any) (list []int, ok bool) {
	t, ok := v.(*types.Tuple)
	if !ok || t.Len() > 64 {
		return nil, false
	}
	for _, x := range *t {
		n, ok := x.(int)
		if !ok || n < 0 {
			return nil, false
		}
		list = append(list, n)
	}
	return list, true
}

// size returns the number of elements. It fails if there are more than the storage has, or if one lies outside.
func (t *tensor) size() (int, error) {
	n, last := 1, t.offset
	for i, d := range t.shape {
		if d > 0 && n > t.storage.count/d {
			return 0, fmt.Errorf("shape %v, in a storage of %d numbers", t.shape, t.storage.count)
		}
		n *= d
		if d > 1 && t.stride[i] > 0 {
			if t.stride[i] > t.storage.count || last > t.storage.count {
				return 0, fmt.Errorf("strides %v, in a storage of %d numbers", t.stride, t.storage.count)
			}
			last += (d - 1) * t.stride[i]
		}
	}
	if n > 0 && last >= t.storage.count {
		return 0, fmt.Errorf("shape %v and strides %v end at number %d, in a storage of %d", t.shape, t.stride, last,
			t.storage.count)
	}
	return n, nil
}

// floats returns the elements in row-major order.
func (t *tensor) floats(n int) []float32 {
	x := make([]float32, n)
	kind := string(t.storage.kind)
	size := array.TypeSize(kind)
	if n > 0 && t.contiguous() { // an empty tensor may begin beyond its storage
		array.Convert(x, kind, t.storage.data[t.offset*size:])
		return x
	}
	index := make([]int, len(t.shape))
	for i := range x {
		at := t.offset
		for a, v := range index {
			at += v * t.stride[a]
		}
		array.Convert(x[i:i+1], kind, t.storage.data[at*size:])
		for a := len(index) - 1; a >= 0; a-- {
			if index[a]++; index[a] < t.shape[a] {
				break
			}
			index[a] = 0
		}
	}
	return x
}

func (t *tensor) contiguous() bool {
	step := 1
	for a := len(t.shape) - 1; a >= 0; a-- {
		if t.shape[a] > 1 && t.stride[a] != step {
			return false
		}
		step *= t.shape[a]
	}
	return true
}

// reference is what a pickle says of a storage: its type, key and number of elements.
func reference(id any) (kind storageType, key string, count int, err error) {
	if t, ok := id.(*types.Tuple); ok && t.Len() >= 5 {
		word, ok1 := t.Get(0).(string)
		kind, ok2 := t.Get(1).(storageType)
		key, ok3 := t.Get(2).(string)
		count, ok4 := t.Get(4).(int)
		if ok1 && ok2 && ok3 && ok4 && word == "storage" && count >= 0 {
			return kind, key, count, nil
		}
	}
	return "", "", 0, errors.New("a reference that is none to a storage of numbers")
}

// readTorch returns what torch.save wrote to b: an archive since PyTorch 1.6, before that a sequence of pickles.
func readTorch(b []byte) (any, error) {
	if bytes.HasPrefix(b, []byte("PK\x03\x04")) {
		return readArchive(b)
	}
	return readLegacy(b)
}

// readArchive reads a zip archive: FOLDER/data.pkl, and a file FOLDER/data/KEY for every storage.
func readArchive(b []byte) (any, error) {
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return nil, fmt.Errorf("a zip archive that is cut off, or damaged: %w", err)
	}
	at := slices.IndexFunc(z.File, func(f *zip.File) bool { return path.Base(f.Name) == "data.pkl" })
	if at < 0 {
		return nil, fmt.Errorf("a zip archive without data.pkl, expected what torch.save writes; %s", onlyWritten)
	}
	folder := path.Dir(z.File[at].Name)
	files := map[string]*zip.File{}
	for _, f := range z.File {
		files[f.Name] = f
	}
	if order, err := member(files[folder+"/byteorder"], b); err == nil && string(order) != "little" {
		return nil, fmt.Errorf("numbers in %q byte order, expected little", order)
	}
	program, err := member(z.File[at], b)
	if err != nil {
		return nil, err
	}
	storages := map[string]*storage{}
	value, _, err := unpickle(program, func(id any) (any, error) {
		kind, key, count, err := reference(id)
		if err != nil {
			return nil, err
		}
		if s, ok := storages[key]; ok && s.kind == kind && s.count == count {
			return s, nil
		}
		data, err := member(files[folder+"/data/"+key], b)
		if err != nil {
			return nil, fmt.Errorf("storage %q: %w", key, err)
		}
		if count > len(data)/array.TypeSize(string(kind)) {
			return nil, fmt.Errorf("storage %q has %d bytes, expected %d numbers of type %s", key, len(data), count,
				kind)
		}
		storages[key] = &storage{kind, count, data}
		return storages[key], nil
	})
	return value, err
}

// member returns the content of a file in an archive, which is not compressed, without a copy.
func member(f *zip.File, archive []byte) ([]byte, error) {
	if f == nil {
		return nil, errors.New("not in the archive")
	}
	at, err := f.DataOffset()
	if err != nil {
		return nil, err
	}
	if f.Method != zip.Store || f.CompressedSize64 != f.UncompressedSize64 ||
		f.UncompressedSize64 > uint64(len(archive)) || at < 0 || at > int64(len(archive))-int64(f.UncompressedSize64) {
		return nil, fmt.Errorf("%s is compressed, or damaged; torch.save stores files as they are", f.Name)
	}
	data := archive[at : at+int64(f.UncompressedSize64)]
	if f.CRC32 != 0 && crc32.ChecksumIEEE(data) != f.CRC32 { // 0: PyTorch may leave it out
		return nil, fmt.Errorf("%s is damaged: its CRC-32 differs", f.Name)
	}
	return data, nil
}

// magic is the first number of a file of before PyTorch 1.6.
var magic, _ = new(big.Int).SetString("1950a86a20f9469cfc6c", 16)

// errNotTorch says that a file begins with none of the known numbers.
var errNotTorch = errors.New("neither a safetensors file nor one of torch.save; " + onlyWritten)

const onlyWritten = "files of ONNX and NumPy are written, not read"

// readLegacy reads five pickles (magic number, version, system, value, keys of the storages) and the storages, each
// a number of elements in 8 bytes, and the elements.
func readLegacy(b []byte) (any, error) {
	refuse := func(any) (any, error) { return nil, errors.New("a reference to a storage before the tensors") }
	if len(b) < 2 || b[0] != 0x80 {
		return nil, errNotTorch
	}
	first, n, err := unpickle(b, refuse)
	if err != nil {
		return nil, err
	}
	if v, ok := first.(*big.Int); !ok || v.Cmp(magic) != 0 {
		return nil, errNotTorch
	}
	b = b[n:]
	for range 2 { // version and system
		v, n, err := unpickle(b, refuse)
		if err != nil {
			return nil, err
		}
		if d, ok := v.(*types.Dict); ok {
			if little, ok := d.Get("little_endian"); ok && little == false {
				return nil, errors.New("numbers in big byte order, expected little")
			}
		}
		b = b[n:]
	}
	storages := map[string]*storage{}
	value, n, err := unpickle(b, func(id any) (any, error) {
		kind, key, count, err := reference(id)
		if err != nil {
			return nil, err
		}
		if s, ok := storages[key]; ok {
			return s, nil
		}
		if count > len(b)/array.TypeSize(string(kind)) {
			return nil, fmt.Errorf("storage %q of %d numbers, more than the file has", key, count)
		}
		storages[key] = &storage{kind: kind, count: count}
		return storages[key], nil
	})
	if err != nil {
		return nil, err
	}
	b = b[n:]
	list, n, err := unpickle(b, refuse)
	if err != nil {
		return nil, err
	}
	keys, ok := list.(*types.List)
	if !ok {
		return nil, errors.New("no list of storages")
	}
	return value, fill(storages, *keys, b[n:])
}

// fill sets the data of storages in the order of keys.
func fill(storages map[string]*storage, keys []any, b []byte) error {
	for _, k := range keys {
		key, _ := k.(string)
		s := storages[key]
		if s == nil || len(b) < 8 {
			return fmt.Errorf("storage %q: %w", key, io.ErrUnexpectedEOF)
		}
		size := uint64(array.TypeSize(string(s.kind)))
		n := binary.LittleEndian.Uint64(b)
		if n != uint64(s.count) || n > uint64(len(b)-8)/size {
			return fmt.Errorf("storage %q of %d numbers, expected %d, in %d bytes that are left", key, n, s.count,
				len(b)-8)
		}
		s.data, b = b[8:8+n*size], b[8+n*size:]
	}
	for key, s := range storages {
		if s.data == nil {
			return fmt.Errorf("storage %q: %w", key, io.ErrUnexpectedEOF)
		}
	}
	return nil
}
