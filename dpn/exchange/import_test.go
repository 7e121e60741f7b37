package exchange

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/safetensors"
	"dpnbench/internal/fuzzlimit"
)

// published is what the files of testdata/state.py do not say of their network.
var published = dpn.Reference{Steps: 5, Norm: dataset.MNISTNorm}

// TestImport reads state dictionaries that PyTorch wrote, in all forms, and compares the logits with those of
// the published code.
func TestImport(t *testing.T) {
	e := newEngine(t)
	images, err := os.ReadFile("testdata/images.bin")
	if err != nil {
		t.Fatal(err)
	}
	s := &dataset.Set{Pixels: images, Labels: make([]uint16, 20), Shape: dataset.Grey(4, 4)}
	want := floats(t, "testdata/logits.bin")
	for _, c := range []struct {
		name      string
		tolerance float64
		kinds     string
	}{
		{"state", 1e-6, ""},
		{"protocol4", 1e-6, ""},
		{"legacy", 1e-6, ""},
		{"checkpoint", 1e-6, ""},
		{"double", 1e-6, "[F64 F64 F64 F64 F64 F64]"},
		{"half", 1e-2, "[F16 F16 F16 F16 F16 F16]"},
		{"bfloat16", 1e-1, "[BF16 BF16 BF16 BF16 BF16 BF16]"},
		{"views", 1, "[F32 F32 F32 F32 I64 F32]"}, // c has other values
	} {
		in, err := Import("testdata/"+c.name+".pth", published)
		if err != nil {
			t.Error(err)
			continue
		}
		var kinds []string
		for _, x := range in.Tensors {
			kinds = append(kinds, x.Type)
		}
		if c.kinds == "" {
			c.kinds = "[F32 F32 F32 F32 F32 F32]"
		}
		if got := fmt.Sprint(kinds); got != c.kinds || len(in.Ignored) > 0 {
			t.Errorf("%s: types %s, want %s; ignored %q", c.name, got, c.kinds, in.Ignored)
		}
		logits, _ := ours(t, e, in.Model, s)
		if d := largest(t, want, logits.Data); !(d <= c.tolerance) {
			t.Errorf("%s: logits differ from those of the published code by %.1e of their range", c.name, d)
		}
	}
	whole, _ := Import("testdata/state.pth", published)
	views, _ := Import("testdata/views.pth", published)
	for i, p := range views.Model.Params() {
		if p.Name == "denoising_potential.c" {
			if !slices.Equal(p.Data, []float32{1, -2, 3}) {
				t.Errorf("c is %v", p.Data)
			}
		} else if !slices.Equal(p.Data, whole.Model.Params()[i].Data) {
			t.Errorf("%s differs between tensors and views", p.Name)
		}
	}
}

// TestImportSafetensors reads a file with numbers of other types, one with settings, and one without checksum.
func TestImportSafetensors(t *testing.T) {
	in, err := Import("testdata/state.pth", published)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "model.safetensors")
	if err := in.Model.Save(path); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, bytes.Replace(b, []byte(safetensors.ChecksumKey), []byte("dpnbench.sha257"), 1))
	again, err := Import(path, dpn.Published)
	if err != nil {
		t.Fatal(err)
	}
	m := again.Model
	if m.Unchecked || len(m.Assumed) > 0 || m.Config.Steps != 5 || m.WeightsSHA256() != in.Model.WeightsSHA256() {
		t.Errorf("%+v", m)
	}
	state, err := os.ReadFile("testdata/half.pth")
	if err != nil {
		t.Fatal(err)
	}
	f, err := readState(state)
	if err != nil {
		t.Fatal(err)
	}
	half, err := Import("testdata/half.pth", published)
	if err != nil {
		t.Fatal(err)
	}
	for _, prefix := range []string{"", wrapped} { // as DataParallel names tensors
		head, data := `{"extra":{"dtype":"I8","shape":[1],"data_offsets":[0,1]}`, []byte{7}
		for _, x := range f.Tensors { // in F64
			shape := strings.ReplaceAll(fmt.Sprint(x.Shape), " ", ",")
			head += fmt.Sprintf(`,%q:{"dtype":"F64","shape":%s,"data_offsets":[%d,%d]}`, prefix+x.Name, shape,
				len(data), len(data)+8*len(x.Data))
			for _, v := range x.Data {
				data, _ = binary.Append(data, binary.LittleEndian, float64(v))
			}
		}
		head += "}"
		write(t, path, append(append(binary.LittleEndian.AppendUint64(nil, uint64(len(head))), head...), data...))
		other, err := Import(path, published)
		if err != nil {
			t.Fatal(err)
		}
		if other.Model.WeightsSHA256() != half.Model.WeightsSHA256() {
			t.Errorf("prefix %q: other weights as F64", prefix)
		}
		if got := fmt.Sprint(other.Ignored, other.Tensors[0].Type); got != "[extra]F64" {
			t.Errorf("prefix %q: ignored tensors and a type: %s", prefix, got)
		}
	}
	n := fmt.Sprint(f.Tensor(centres).Shape[1])
	for _, named := range []map[string]string{nil, {"format": "pt", "features": n}} { // images, and vectors
		if err := safetensors.WriteFile(path, &safetensors.File{Metadata: named, Tensors: f.Tensors}); err != nil {
			t.Fatal(err)
		}
		other, err := Import(path, published)
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprint(other.Model.Shape); (got == n+" features") != (named != nil) {
			t.Errorf("metadata %v: samples of %s", named, got)
		}
	}
	const want = `: no tensor "denoising_potential.mu"` + anyOther
	other := safetensors.File{Tensors: []safetensors.Tensor{{Name: "fc.weight", Shape: []int{1}, Data: []float32{1}}}}
	if err := safetensors.WriteFile(path, &other); err != nil {
		t.Fatal(err)
	}
	if _, err := Import(path, published); err == nil || err.Error() != path+want {
		t.Errorf("another network: %v, want %s", err, want)
	}
}

// pickled returns a pickle of protocol 2.
func pickled(operations ...string) []byte {
	return []byte("\x80\x02" + strings.Join(operations, "") + ".")
}

// text is the operation that pushes a text.
func text(s string) string {
	return "X" + string(binary.LittleEndian.AppendUint32(nil, uint32(len(s)))) + s
}

// TestMalicious gives import pickles that would run programs, take memory or time, or break the reader. All
// are refused in one line, and nothing is run.
func TestMalicious(t *testing.T) {
	long := strings.Repeat("x", 2000)
	for _, c := range []struct {
		name   string
		pickle []byte
		want   string
	}{
		{"os.system", pickled("cposix\nsystem\n", text("true"), "\x85R"), "asks for posix.system"},
		{"by names on the stack", pickled(text("os"), text("system"), "\x93", text("true"), "\x85R"),
			"asks for os.system"},
		{"by names in the memo", pickled(text("os"), "q\x05", text("system"), "\x94N", "h\x05h\x01\x93"),
			"asks for os.system"},
		{"a name that is made", pickled(text("a"), ")\x93"), "asks for ."},
		{"what package pickle knows", pickled(text("array"), text("_array_reconstructor"), "\x93"), "asks for array"},
		{"eval", pickled("cbuiltins\neval\n", text("1"), "\x85R"), "asks for builtins.eval"},
		{"instance", pickled("(iposix\nsystem\n"), "operation 0x69"},
		{"new object", pickled("ctorch\nFloatStorage\n)\x81"), "operation 0x81"},
		{"extension", pickled("\x82\x01"), "operation 0x82"},
		{"a huge text", pickled("X\xff\xff\xff\x7f"), "cut off, or damaged, at offset 2"},
		{"a huge text in 8 bytes", pickled("\x8d\xff\xff\xff\xff\xff\xff\xff\x7f"), "cut off"},
		{"a huge frame", pickled("\x95\xff\xff\xff\xff\xff\xff\xff\x7f"), "cut off"},
		{"a long text", pickled(text(long)), "a text of 2000 bytes at offset 2"},
		{"many marks", pickled(strings.Repeat("(", 101)), "101 marks"},
		{"no mark", pickled("t"), "-1 marks"},
		{"many operations", pickled(strings.Repeat("}", 60000)), "more than 50000 operations"},
		{"no end", []byte("\x80\x02}"), "cut off"},
		{"line without an end", []byte("\x80\x02cposix"), "cut off"},
		{"empty stack", pickled("R"), "damaged"},
		{"call of a text", pickled(text("x"), ")R"), "damaged"},
		{"an odd number of items", pickled("}(", text("a"), "u"), "damaged"},
		{"an empty number", pickled("\x8a\x00"), "damaged"},
		{"a list in itself", pickled("]q\x00h\x00ah\x00h\x00\x86R"), "damaged"},
		{"a tensor without storage", pickled("ctorch._utils\n_rebuild_tensor_v2\n(", text("a"), "K\x00))tR"),
			"a tensor without storage"},
		{"a reference to nothing", pickled(text("a"), "Q"), "reference"},
		{"no dictionary", pickled("N"), "no state dictionary"},
		{"another dictionary", pickled("}", text("a"), "K\x01s"), `no state dictionary with "denoising_potential.mu"` +
			anyOther},
	} {
		path := filepath.Join(t.TempDir(), "file.pth")
		write(t, path, legacy(c.pickle))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := Import(path, published)
		runtime.ReadMemStats(&after)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") ||
			!strings.HasPrefix(err.Error(), path) {
			t.Errorf("%s: error %v, want one line with %q", c.name, err, c.want)
		}
		if n := after.TotalAlloc - before.TotalAlloc; n > 20<<20 {
			t.Errorf("%s: %d bytes allocated", c.name, n)
		}
	}
	for name, want := range map[string]string{"malicious": "posix.system", "malicious-protocol4": "posix.system",
		"malicious-legacy": "posix.system", "module": "__main__.FullArchitecture"} {
		if _, err := Import("testdata/"+name+".pth", published); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want one with %s", name, err, want)
		}
	}
	if _, err := os.Stat("executed"); err == nil {
		t.Error("a command was executed")
	}
}

// legacy returns a file of torch.save of before PyTorch 1.6 with a pickle, and without storages.
func legacy(pickle []byte) []byte {
	b := pickled("\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19")
	b = append(b, pickled("M\xe9\x03")...)
	b = append(b, pickled("}", text("little_endian"), "\x88s")...)
	return append(append(b, pickle...), pickled("]")...)
}

// TestDamaged cuts files at every length, and changes every byte: an error, or the same numbers.
func TestDamaged(t *testing.T) {
	for _, name := range []string{"state", "legacy"} {
		b, err := os.ReadFile("testdata/" + name + ".pth")
		if err != nil {
			t.Fatal(err)
		}
		step := 1
		if testing.Short() {
			step = 13
		}
		for n := 0; n < len(b); n += step {
			if f, err := readState(b[:n:n]); err == nil {
				t.Fatalf("%s cut to %d bytes has %d tensors", name, n, len(f.Tensors))
			}
		}
		for i := 0; i < len(b); i += step {
			b[i] ^= 0xff
			readState(b) // must not panic
			b[i] ^= 0xff
		}
	}
}

// TestViews refuses tensors that are not in their storage.
func TestViews(t *testing.T) {
	s := &storage{kind: "F32", count: 6, data: make([]byte, 24)}
	for i := range 6 {
		binary.LittleEndian.PutUint32(s.data[4*i:], uint32(i)) // subnormal numbers, in order
	}
	for _, c := range []struct {
		tensor
		want string
	}{
		{tensor{s, 0, []int{2, 3}, []int{3, 1}}, "[0 1 2 3 4 5]"},
		{tensor{s, 0, []int{3, 2}, []int{1, 3}}, "[0 3 1 4 2 5]"},
		{tensor{s, 1, []int{5}, []int{1}}, "[1 2 3 4 5]"},
		{tensor{s, 5, nil, nil}, "[5]"},
		{tensor{s, 2, []int{3}, []int{0}}, "[2 2 2]"},
		{tensor{s, 6, []int{0}, []int{1}}, "[]"},
		{tensor{s, math.MaxInt >> 1, []int{0}, []int{1}}, "[]"},
		{tensor{s, 2, []int{5}, []int{1}}, "end at number 6"},
		{tensor{s, 6, nil, nil}, "end at number 6"},
		{tensor{s, 0, []int{7}, []int{0}}, "shape [7]"},
		{tensor{s, 0, []int{math.MaxInt >> 1, math.MaxInt >> 1}, []int{1, 1}}, "shape"},
		{tensor{s, 0, []int{2}, []int{math.MaxInt/2 + 1}}, "strides"},
		{tensor{s, math.MaxInt/2 + 1, []int{2, 2}, []int{4, 4}}, "strides"},
	} {
		n, err := c.size()
		got := fmt.Sprint(err)
		if err == nil {
			var numbers []int
			for _, v := range c.floats(n) {
				numbers = append(numbers, int(float64(v)/0x1p-149))
			}
			got = fmt.Sprint(numbers)
		}
		if !strings.Contains(got, c.want) {
			t.Errorf("shape %v, strides %v at %d: %s, want %s", c.shape, c.stride, c.offset, got, c.want)
		}
	}
}

// FuzzState reads anything: no panic, and no more numbers than the file has bytes.
func FuzzState(f *testing.F) {
	files, err := filepath.Glob("testdata/*.pth")
	if err != nil || len(files) == 0 {
		f.Fatalf("no files: %v", err)
	}
	for _, path := range files {
		b, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add(pickled("}(", text("a"), "K\x01u"))
	f.Fuzz(func(t *testing.T, b []byte) {
		var s *safetensors.File
		var err error
		fuzzlimit.Check(t, 64*len(b)+200<<20, func() { s, err = readState(b) })
		if err == nil {
			n := 0
			for _, x := range s.Tensors {
				n += len(x.Data)
			}
			if n > len(b) {
				t.Errorf("%d numbers in %d bytes", n, len(b))
			}
		}
		unpickle(b, func(any) (any, error) { return &storage{kind: "F32"}, nil })
	})
}
