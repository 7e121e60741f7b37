package array

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sort"

	"dpnbench/internal/format"
)

// mostTensorHeader is the largest header of a safetensors file, in bytes.
const mostTensorHeader = 100 << 20

// tensorTypes are the types of safetensors as NumPy calls them.
var tensorTypes = map[string]string{"BOOL": "|b1", "U8": "|u1", "I8": "|i1", "U16": "<u2", "I16": "<i2", "U32": "<u4",
	"I32": "<i4", "U64": "<u8", "I64": "<i8", "F16": "<f2", "BF16": "<bf", "F32": "<f4", "F64": "<f8"}

// readSafetensors returns the tensors of a file, or only the one of a name, in the order in which
// they lie there. The format is that of https://github.com/huggingface/safetensors.
func readSafetensors(file string, r io.ReaderAt, size int64, only string, want func(string) bool) ([]*Array, error) {
	var prefix [8]byte
	n, _ := r.ReadAt(prefix[:], 0)
	length := binary.LittleEndian.Uint64(prefix[:])
	if length <= mostTensorHeader && int64(length) > size-8 && begins(r, 8, "{") {
		return nil, fmt.Errorf("%s: cut off after %d bytes, within its header, which ends at offset %d", file, size,
			8+length)
	}
	if n < len(prefix) || length > mostTensorHeader || int64(length) > size-8 {
		return nil, fmt.Errorf("%s: offset 0: a header of %d bytes in a file of %d: expected safetensors", file, length,
			size)
	}
	header := make([]byte, length)
	if n, err := r.ReadAt(header, 8); n < len(header) {
		return nil, fmt.Errorf("%s: offset %d: %w", file, 8+n, err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(header, &all); err != nil {
		return nil, fmt.Errorf("%s: offset 8: the header is not that of safetensors: %w", file, format.JSONError(err))
	}
	delete(all, "__metadata__")
	var out []*Array
	names := slices.Sorted(maps.Keys(all))
	if _, ok := all[only]; !ok && only != "" && len(names) > 0 {
		return nil, missing(file, only, names)
	}
	for _, name := range names {
		if only != "" && name != only || want != nil && !want(name) {
			continue
		}
		a := &Array{File: file, Name: name, data: r}
		if err := a.setEntry(all[name], 8+int64(length), size); err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	sort.Slice(out, func(i, j int) bool { return out[i].offset < out[j].offset })
	return out, nil
}

// begins says whether the bytes from offset on are those of text.
func begins(r io.ReaderAt, offset int64, text string) bool {
	b := make([]byte, len(text))
	n, _ := r.ReadAt(b, offset)
	return n == len(b) && string(b) == text
}

// setEntry sets the array to what the header says of it. The data are from start to end.
func (a *Array) setEntry(raw json.RawMessage, start, end int64) error {
	var e struct {
		DType   string  `json:"dtype"`
		Shape   []int64 `json:"shape"`
		Offsets []int64 `json:"data_offsets"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		return fmt.Errorf("%s: the header is not that of a tensor: %w", a.Title(), format.JSONError(err))
	}
	a.DType = tensorTypes[e.DType]
	var known bool
	if a.element, known = elementOf(a.DType); !known {
		return fmt.Errorf("%s: numbers of type %.40q: expected whole or floating-point numbers", a.Title(), e.DType)
	}
	if len(e.Offsets) != 2 || e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] {
		return fmt.Errorf("%s: data_offsets %v: expected two, the first not above the second", a.Title(), e.Offsets)
	}
	if e.Offsets[1] > end-start {
		return fmt.Errorf("%s: cut off, or damaged: data_offsets %v in %d bytes of data", a.Title(), e.Offsets,
			end-start)
	}
	a.offset = start + e.Offsets[0]
	shape := make([]int, len(e.Shape))
	for i, s := range e.Shape {
		shape[i] = int(min(max(s, -1), math.MaxInt/2))
	}
	return a.setShape(shape, e.Offsets[1]-e.Offsets[0])
}
