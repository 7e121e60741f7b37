// Package safetensors reads and writes the safetensors format for float32 tensors: an
// 8-byte little-endian length, a JSON header of that length, and the numbers.
//
//	f := &safetensors.File{Tensors: []safetensors.Tensor{{Name: "weight", Shape: []int{2, 3}, Data: w}}}
//	err = safetensors.WriteFile(path, f)
//	f, err = safetensors.ReadFile(path)
//	fmt.Println(f.Tensor("weight").Data)
//
// Reading checks everything before it allocates: the header is at most 100 MB and lies
// within the file; every tensor is F32, its range has the size of its shape, and the
// ranges cover the data exactly, without overlap or hole. ReadConverted takes tensors of other
// types, too. The format is that of https://github.com/huggingface/safetensors; PyTorch reads what
// Write writes.
//
// The format has no checksum, so Write puts one into the metadata (ChecksumKey), and Read refuses a
// file that does not match its own. Files of other programs have none: Read accepts them and sets
// File.Checked to false.
package safetensors

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"sort"
	"unicode/utf8"

	"dpnbench/internal/array"
	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/internal/regular"
	"dpnbench/internal/stat"
)

// MaxHeader is the largest header that is accepted, in bytes.
const MaxHeader = 100 << 20

// zipMagic is the first four bytes of a zip archive.
const zipMagic = "PK\x03\x04"

// ChecksumKey is the key in the metadata of the SHA-256 of the other metadata and of names, shapes
// and bits of the tensors. Write sets it. Read checks it, if present, and leaves it out of
// File.Metadata.
const ChecksumKey = "dpnbench.sha256"

// Tensor is a named array, row-major. A scalar has an empty shape.
type Tensor struct {
	Name  string
	Shape []int
	Data  []float32
}

// File is the content of a safetensors file. Tensors are sorted by name.
type File struct {
	Tensors  []Tensor
	Metadata map[string]string // without the checksum
	Checked  bool              // Read found a checksum, which matches

	// Converted has the types of the tensors that ReadConverted has converted to float32, by name.
	Converted map[string]string
}

// Tensor returns the tensor of that name, or nil.
func (f *File) Tensor(name string) *Tensor {
	for i := range f.Tensors {
		if f.Tensors[i].Name == name {
			return &f.Tensors[i]
		}
	}
	return nil
}

// entry is a tensor in the header.
type entry struct {
	DType   string  `json:"dtype"`
	Shape   []int64 `json:"shape"`
	Offsets []int64 `json:"data_offsets"`
}

// checksum returns the SHA-256 of f, whose tensors are sorted by name.
func (f *File) checksum() string {
	h := sha256.New()
	text := func(s string) {
		s = string([]rune(s)) // invalid UTF-8 becomes U+FFFD, as in the header
		fmt.Fprintf(h, "%d:%s", len(s), s)
	}
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		if key != ChecksumKey {
			text(key)
			text(f.Metadata[key])
		}
	}
	for _, t := range f.Tensors {
		text(t.Name)
		fmt.Fprintln(h, t.Shape)
		array.WriteFloats(h, t.Data) // writing to a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil))
}

// metadataName is the name in the header that is no tensor's.
const metadataName = "__metadata__"

// check refuses what Read would not return as it is. Metadata that are not UTF-8 are allowed: the
// header has U+FFFD for what is not.
func (f *File) check() error {
	for key := range f.Metadata {
		switch {
		case key == ChecksumKey:
			return fmt.Errorf("safetensors: metadata %q are reserved for the checksum", key)
		case !utf8.ValidString(key):
			return fmt.Errorf("safetensors: the name of metadata %q is not UTF-8", key)
		}
	}
	for _, t := range f.Tensors {
		switch {
		case t.Name == metadataName:
			return fmt.Errorf("safetensors: the name %q is reserved, expected another one for a tensor", t.Name)
		case !utf8.ValidString(t.Name):
			return fmt.Errorf("safetensors: the name of tensor %q is not UTF-8", t.Name)
		}
		n := 1
		for _, d := range t.Shape {
			if d < 0 || d > 0 && n > math.MaxInt/4/d {
				return fmt.Errorf("safetensors: tensor %q has shape %v", t.Name, t.Shape)
			}
			n *= d
		}
	}
	return nil
}

// Write writes f to w, tensors in the order of their names, with its checksum. It refuses what Read
// would not return as it is: two tensors of one name, and names that are reserved or not UTF-8.
func Write(w io.Writer, f *File) error {
	if err := f.check(); err != nil {
		return err
	}
	tensors := append([]Tensor(nil), f.Tensors...)
	sort.Slice(tensors, func(i, j int) bool { return tensors[i].Name < tensors[j].Name })
	var head bytes.Buffer
	head.WriteByte('{')
	member := func(name string, v any) error {
		if head.Len() > 1 {
			head.WriteByte(',')
		}
		k, err := json.Marshal(name)
		if err != nil {
			return err
		}
		b, err := json.Marshal(v)
		if err != nil {
			return err
		}
		head.Write(k)
		head.WriteByte(':')
		head.Write(b)
		return nil
	}
	metadata := maps.Clone(f.Metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	metadata[ChecksumKey] = (&File{Tensors: tensors, Metadata: f.Metadata}).checksum()
	if err := member(metadataName, metadata); err != nil {
		return err
	}
	at := int64(0)
	for i, t := range tensors {
		if i > 0 && t.Name == tensors[i-1].Name {
			return fmt.Errorf("safetensors: two tensors named %q", t.Name)
		}
		n := 1
		e := entry{DType: "F32", Shape: []int64{}}
		for _, d := range t.Shape {
			n *= d
			e.Shape = append(e.Shape, int64(d))
		}
		if n != len(t.Data) {
			return fmt.Errorf("safetensors: tensor %q has %d numbers for shape %v", t.Name, len(t.Data), t.Shape)
		}
		e.Offsets = []int64{at, at + 4*int64(n)}
		at = e.Offsets[1]
		if err := member(t.Name, e); err != nil {
			return err
		}
	}
	head.WriteByte('}')
	for head.Len()%8 != 0 {
		head.WriteByte(' ')
	}
	if head.Len() > MaxHeader {
		return fmt.Errorf("safetensors: header of %d bytes, at most %d", head.Len(), MaxHeader)
	}
	var size [8]byte
	binary.LittleEndian.PutUint64(size[:], uint64(head.Len()))
	if _, err := w.Write(size[:]); err != nil {
		return err
	}
	if _, err := w.Write(head.Bytes()); err != nil {
		return err
	}
	for _, t := range tensors {
		if err := array.WriteFloats(w, t.Data); err != nil {
			return err
		}
	}
	return nil
}

// WriteFile replaces the file at path by f, so that a crash leaves the old file or the
// new one.
func WriteFile(path string, f *File) error {
	return output.Write(path, func(w io.Writer) error { return Write(w, f) })
}

// ReadFile reads the file at path. Errors name the file.
func ReadFile(path string) (*File, error) { return readFile(path, Read) }

// ReadFileConverted is ReadFile for tensors of all types.
func ReadFileConverted(path string) (*File, error) { return readFile(path, ReadConverted) }

func readFile(path string, read func(io.Reader, int64) (*File, error)) (*File, error) {
	r, size, err := regular.Open(path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f, err := read(r, size)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return f, nil
}

// Read reads a file of size bytes from r.
func Read(r io.Reader, size int64) (*File, error) { return readAll(r, size, false) }

// ReadConverted is Read for tensors of all types. Integers, F64, F16, BF16 and BOOL become float32, rounded to
// the nearest, in at most four times the bytes of the file.
func ReadConverted(r io.Reader, size int64) (*File, error) { return readAll(r, size, true) }

func readAll(r io.Reader, size int64, convert bool) (*File, error) {
	var b [8]byte
	if size < 8 {
		return nil, fmt.Errorf("not a safetensors file: %d bytes, expected at least 8", size)
	}
	if _, err := io.ReadFull(r, b[:]); err != nil {
		return nil, fmt.Errorf("length of the header: %w", err)
	}
	n := binary.LittleEndian.Uint64(b[:])
	if left := uint64(size - 8); n > min(left, MaxHeader) {
		if string(b[:4]) == zipMagic {
			return nil, errors.New(
				"not a safetensors file, but a zip archive, as torch.save writes: \"dpnbench import\" reads its " +
					"state dictionary")
		}
		if n > MaxHeader {
			return nil, fmt.Errorf(
				"not a safetensors file: its first 8 bytes stand for a header of %d bytes, expected at most %d", n,
				MaxHeader)
		}
		return nil, fmt.Errorf(
			"not a safetensors file, or cut: its first 8 bytes stand for a header of %d bytes, and %d follow", n,
			left)
	}
	head := make([]byte, n)
	if _, err := io.ReadFull(r, head); err != nil {
		return nil, fmt.Errorf("header: %w", err)
	}
	f, entries, err := parseHeader(head, size-8-int64(n), convert)
	if err != nil {
		return nil, err
	}
	// The ranges are in order and without gaps, so the data are read sequentially.
	for i, at := range entries {
		t := &f.Tensors[at]
		kind := "F32"
		if other, ok := f.Converted[t.Name]; ok {
			kind = other
		}
		if err := readFloats(r, t.Data, kind); err != nil {
			return nil, fmt.Errorf("tensor %q (%d of %d): %w", t.Name, i+1, len(entries), err)
		}
	}
	if want, ok := f.Metadata[ChecksumKey]; ok {
		if got := f.checksum(); got != want {
			return nil, fmt.Errorf(
				"damaged, or changed by a program that left the checksum: SHA-256 %.12s, expected %.12s (%s in the "+
					"metadata)",
				got, want, ChecksumKey)
		}
		delete(f.Metadata, ChecksumKey)
		f.Checked = true
	}
	return f, nil
}

// readFloats fills x with numbers of a type.
func readFloats(r io.Reader, x []float32, kind string) error {
	size := array.TypeSize(kind)
	buf := make([]byte, min(64<<10, size*len(x)))
	for len(x) > 0 {
		n := min(len(x), len(buf)/size)
		if _, err := io.ReadFull(r, buf[:size*n]); err != nil {
			return err
		}
		array.Convert(x[:n], kind, buf)
		x = x[n:]
	}
	return nil
}

// members returns the members of a JSON object. It refuses two of the same name, of which other
// programs may take the first or the last.
func members(object []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(object))
	if t, err := d.Token(); err != nil {
		return nil, err
	} else if t != json.Delim('{') {
		return nil, errors.New("expected a JSON object")
	}
	m := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return nil, err
		}
		key, ok := t.(string)
		if !ok {
			return nil, fmt.Errorf("expected a name, not %v", t)
		}
		if _, ok := m[key]; ok {
			return nil, fmt.Errorf("two members named %q", key)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
		m[key] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, err
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errors.New("more than one JSON object")
	}
	return m, nil
}

// texts returns the members of a JSON object of strings, nil for null.
func texts(object []byte) (map[string]string, error) {
	if string(object) == "null" {
		return nil, nil
	}
	raw, err := members(object)
	if err != nil {
		return nil, err
	}
	m := make(map[string]string, len(raw))
	for key, value := range raw {
		var text string
		if err := json.Unmarshal(value, &text); err != nil {
			return nil, fmt.Errorf("%q: %w", key, format.JSONError(err))
		}
		m[key] = text
	}
	return m, nil
}

// parseEntry reads what the header says of a tensor. Names of members are exact: "DType" is not
// "dtype".
func parseEntry(object []byte) (e entry, err error) {
	raw, err := members(object)
	if err != nil {
		return e, err
	}
	for key, to := range map[string]any{"dtype": &e.DType, "shape": &e.Shape, "data_offsets": &e.Offsets} {
		if value, ok := raw[key]; ok {
			if err := json.Unmarshal(value, to); err != nil {
				return e, fmt.Errorf("%s: %w", key, format.JSONError(err))
			}
		}
	}
	return e, nil
}

// parseHeader checks the header against the number of bytes of data that follow it. It
// returns the tensors with room for their data, and their order in the data. With convert, tensors may
// have other types than F32.
func parseHeader(head []byte, data int64, convert bool) (*File, []int, error) {
	raw, err := members(head)
	if err != nil {
		return nil, nil, fmt.Errorf("not a safetensors file, or damaged: header: %w", err)
	}
	f := &File{}
	if m, ok := raw[metadataName]; ok {
		if f.Metadata, err = texts(m); err != nil {
			return nil, nil, fmt.Errorf("header: __metadata__: %w", err)
		}
		delete(raw, metadataName)
	}
	var spans []span
	for name := range raw {
		f.Tensors = append(f.Tensors, Tensor{Name: name})
	}
	sort.Slice(f.Tensors, func(i, j int) bool { return f.Tensors[i].Name < f.Tensors[j].Name })
	for i := range f.Tensors {
		t := &f.Tensors[i]
		e, err := parseEntry(raw[t.Name])
		if err != nil {
			return nil, nil, fmt.Errorf("header: tensor %q: %w", t.Name, err)
		}
		size := int64(array.TypeSize(e.DType))
		switch {
		case e.DType == "F32":
		case !convert:
			return nil, nil, fmt.Errorf("header: tensor %q has type %q, expected F32", t.Name, e.DType)
		case size == 0:
			return nil, nil, fmt.Errorf("header: tensor %q has type %q, expected a type of float, integer or BOOL",
				t.Name, e.DType)
		default:
			if f.Converted == nil {
				f.Converted = map[string]string{}
			}
			f.Converted[t.Name] = e.DType
		}
		s, err := e.check(t, size, data)
		if err != nil {
			return nil, nil, err
		}
		spans = append(spans, s)
	}
	order := stat.Order(len(spans), func(i, j int) bool {
		a, b := spans[i], spans[j]
		return a.begin < b.begin || a.begin == b.begin && a.end < b.end
	})
	at := int64(0)
	for _, i := range order {
		if spans[i].begin != at {
			what := "leaves a hole after"
			if spans[i].begin < at {
				what = "overlaps what ends at"
			}
			return nil, nil, fmt.Errorf("header: tensor %q begins at %d of the data and %s %d", f.Tensors[i].Name,
				spans[i].begin, what, at)
		}
		at = spans[i].end
	}
	if at != data {
		return nil, nil, fmt.Errorf("%d bytes of data, the tensors take %d", data, at)
	}
	for i := range f.Tensors { // only now: together they take what the file has
		f.Tensors[i].Data = make([]float32, spans[i].count)
	}
	return f, order, nil
}

// span is where the numbers of a tensor are in the data, in bytes, and how many there are.
type span struct{ begin, end, count int64 }

// check compares an entry with the number of bytes of data, for numbers of so many bytes, and sets the shape
// of t.
func (e entry) check(t *Tensor, size, data int64) (span, error) {
	if len(e.Offsets) != 2 || e.Offsets[0] < 0 || e.Offsets[1] < e.Offsets[0] {
		return span{}, fmt.Errorf("header: tensor %q: data_offsets %v, expected where it begins and ends",
			t.Name, e.Offsets)
	}
	if e.Offsets[1] > data {
		return span{}, fmt.Errorf(
			"cut off, or damaged: tensor %q ends at byte %d of the data, of which there are %d", t.Name,
			e.Offsets[1], data)
	}
	n := int64(1)
	for _, d := range e.Shape {
		if d < 0 || d > 0 && n > data/size/d {
			return span{}, fmt.Errorf("header: tensor %q: shape %v does not fit the %d bytes of data", t.Name,
				e.Shape, data)
		}
		n *= d
		t.Shape = append(t.Shape, int(d))
	}
	if size*n != e.Offsets[1]-e.Offsets[0] {
		return span{}, fmt.Errorf("header: tensor %q: shape %v takes %d bytes, data_offsets %v", t.Name,
			e.Shape, size*n, e.Offsets)
	}
	return span{e.Offsets[0], e.Offsets[1], n}, nil
}
