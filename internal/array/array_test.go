package array

import (
	"archive/zip"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/internal/fuzzlimit"
)

// npyFile returns an NPY file with a header of NumPy's form.
func npyFile(descr string, fortran bool, shape string, data []byte) []byte {
	order := "False"
	if fortran {
		order = "True"
	}
	header := fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape)
	header += strings.Repeat(" ", 63-(10+len(header))%64) + "\n"
	b := append([]byte("\x93NUMPY\x01\x00"), byte(len(header)), byte(len(header)>>8))
	return append(append(b, header...), data...)
}

// packed returns numbers as binary.Write writes them.
func packed(order binary.ByteOrder, numbers any) []byte {
	var b bytes.Buffer
	if err := binary.Write(&b, order, numbers); err != nil {
		panic(err)
	}
	return b.Bytes()
}

// save writes a file into a folder of the test.
func save(t *testing.T, name string, b []byte) string {
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

// all reads every number of the only array of a file.
func all(t *testing.T, spec string, o Options) (*Array, []float64) {
	t.Helper()
	f, err := Open(spec, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	if len(f.Arrays) != 1 {
		t.Fatalf("%d arrays", len(f.Arrays))
	}
	a := f.Arrays[0]
	x := make([]float64, a.Len()*a.Width())
	if err := a.ReadRows(x, 0); err != nil {
		t.Fatal(err)
	}
	return a, x
}

// Every type of number is read in both byte orders.
func TestTypes(t *testing.T) {
	for kind, c := range map[string]struct {
		numbers any
		want    []float64
	}{
		"b1": {[]byte{0, 1}, []float64{0, 1}},
		"u1": {[]byte{3, 255}, []float64{3, 255}},
		"i1": {[]int8{-3, 127}, []float64{-3, 127}},
		"u2": {[]uint16{3, 65535}, []float64{3, 65535}},
		"i2": {[]int16{-300, 300}, []float64{-300, 300}},
		"u4": {[]uint32{3, 1 << 31}, []float64{3, 1 << 31}},
		"i4": {[]int32{-70000, 5}, []float64{-70000, 5}},
		"u8": {[]uint64{3, 1 << 63}, []float64{3, 1 << 63}},
		"i8": {[]int64{-1 << 40, 5}, []float64{-1 << 40, 5}},
		"f2": {[]uint16{0x3c00, 0xc580, 0x0001, 0x7bff}, []float64{1, -5.5, 0x1p-24, 65504}},
		"f4": {[]float32{1.5, -3e-40}, []float64{1.5, float64(float32(-3e-40))}},
		"f8": {[]float64{math.Pi, -1e300}, []float64{math.Pi, -1e300}},
	} {
		for prefix, order := range map[string]binary.ByteOrder{"<": binary.LittleEndian, ">": binary.BigEndian} {
			if kind[1] == '1' {
				prefix = "|"
			}
			shape := fmt.Sprintf("(%d,)", len(c.want))
			path := save(t, "x.npy", npyFile(prefix+kind, false, shape, packed(order, c.numbers)))
			a, x := all(t, path, Options{})
			if !slices.Equal(x, c.want) || a.Width() != 1 || a.DType != prefix+kind {
				t.Errorf("%s%s: %v of width %d, want %v", prefix, kind, x, a.Width(), c.want)
			}
		}
	}
	if !math.IsInf(half(0xfc00), -1) || !math.IsNaN(half(0x7c01)) || half(0x0400) != 0x1p-14 {
		t.Error("float16 that are infinite, NaN, or the smallest normal one")
	}
}

// Rows are the same in C and in Fortran order, in parts and as a whole.
func TestOrders(t *testing.T) {
	const rows, width = 1000, 70 // more than is read at a time
	c, f := make([]float32, rows*width), make([]float32, rows*width)
	for i := range rows {
		for j := range width {
			c[i*width+j] = float32(i*width + j)
			f[j*rows+i] = c[i*width+j]
		}
	}
	shape := fmt.Sprintf("(%d, %d)", rows, width)
	inC := save(t, "c.npy", npyFile("<f4", false, shape, packed(binary.LittleEndian, c)))
	inF := save(t, "f.npy", npyFile("<f4", true, shape, packed(binary.LittleEndian, f)))
	images := save(t, "i.npy", npyFile("<f4", false, "(1000, 7, 10)", packed(binary.LittleEndian, c)))
	for _, path := range []string{inC, inF, images} {
		a, x := all(t, path, Options{})
		for i, v := range x {
			if v != float64(i) {
				t.Fatalf("%s: number %d is %v", path, i, v)
			}
		}
		part := make([]float64, 3*width)
		if err := a.ReadRows(part, 500); err != nil || part[0] != 500*width || part[3*width-1] != 503*width-1 {
			t.Errorf("%s: rows 500 to 502: %v, %v", path, part[0], err)
		}
		if err := a.ReadRows(part, 998); err == nil {
			t.Errorf("%s: rows beyond the end are read", path)
		}
	}
}

func TestNPZ(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i, name := range []string{"second", "first", "y"} {
		method := []uint16{zip.Store, zip.Deflate, zip.Store}[i]
		w, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: method})
		if err != nil {
			t.Fatal(err)
		}
		w.Write(npyFile("<f4", false, "(2, 2)", packed(binary.LittleEndian, []float32{1, 2, 3, float32(i)})))
	}
	z.Close()
	path := save(t, "x.npz", b.Bytes())
	f, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var names []string
	for i, a := range f.Arrays {
		names = append(names, a.Name)
		x := make([]float64, 4)
		if err := a.ReadRows(x, 0); err != nil || !slices.Equal(x, []float64{1, 2, 3, float64(i)}) {
			t.Errorf("%s: %v, %v", a.Name, x, err)
		}
	}
	if !slices.Equal(names, []string{"second", "first", "y"}) {
		t.Errorf("arrays %v: not in the order of the file", names)
	}
	if a, _ := all(t, path+":first", Options{}); a.Name != "first" {
		t.Errorf("array %s", a.Name)
	}
	if _, err := Open(path+":first", Options{Memory: 50}); err == nil || !strings.Contains(err.Error(), "savez") {
		t.Errorf("a compressed array of more than the memory: %v", err)
	}
}

// Damaged numbers are refused, compressed or not. A sum that is left out is not compared.
func TestDamagedNPZ(t *testing.T) {
	member := npyFile("<f4", false, "(2, 2)", packed(binary.LittleEndian, []float32{1, 2, 3, 4}))
	for method, want := range map[uint16]string{zip.Store: ":a: damaged: CRC-32 ", zip.Deflate: ":a: "} {
		var b bytes.Buffer
		z := zip.NewWriter(&b)
		w, _ := z.CreateHeader(&zip.FileHeader{Name: "a.npy", Method: method})
		w.Write(member)
		z.Close()
		all(t, save(t, "x.npz", b.Bytes()), Options{})
		b.Bytes()[bytes.LastIndex(b.Bytes(), []byte("PK\x07\x08"))-3] ^= 1 // behind the member
		path := save(t, "x.npz", b.Bytes())
		if _, err := Open(path, Options{}); err == nil || !strings.HasPrefix(err.Error(), path+want) {
			t.Errorf("method %d: %v, want %s", method, err, want)
		}
	}
	all(t, save(t, "x.npz", forged(t, zip.Store, uint64(len(member)), member)), Options{})
}

// forged returns an NPZ file that claims a member of n bytes, compressed and unpacked, where b alone lies.
func forged(t testing.TB, method uint16, n uint64, b []byte) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.CreateRaw(&zip.FileHeader{Name: "a.npy", Method: method, CompressedSize64: n, UncompressedSize64: n})
	if err != nil {
		t.Fatal(err)
	}
	w.Write(b)
	z.Close()
	return out.Bytes()
}

// torchFile is the beginning of what torch.save writes.
func torchFile(t testing.TB) []byte {
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	w, err := z.Create("x/data.pkl")
	if err != nil {
		t.Fatal(err)
	}
	w.Write([]byte("\x80\x02ctorch._utils\n"))
	z.Close()
	return out.Bytes()
}

// TestMissing names the arrays that there are where one is asked for that is not.
func TestMissing(t *testing.T) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	header := `{`
	for i := range 10 {
		w, _ := z.Create(fmt.Sprintf("l%d.npy", i))
		w.Write(npyFile("<f4", false, "(1, 2)", packed(binary.LittleEndian, []float32{1, 2})))
		header += fmt.Sprintf(`"l%d":{"dtype":"F32","shape":[1,2],"data_offsets":[%d,%d]},`, i, 8*i, 8*i+8)
	}
	z.Close()
	for _, path := range []string{save(t, "x.npz", b.Bytes()),
		save(t, "x.safetensors", tensorFile(strings.TrimSuffix(header, ",")+"}", make([]byte, 80)))} {
		const want = `: no array "l" in the file: expected one of ["l0" "l1" "l2" "l3" "l4" "l5" "l6" "l7"] and 2 more`
		if _, err := Open(path+":l", Options{}); err == nil || err.Error() != path+want {
			t.Errorf("%v, want %s", err, want)
		}
	}
	unwanted := save(t, "unwanted.npz", b.Bytes())
	none := Options{Want: func(string) bool { return false }}
	if _, err := Open(unwanted, none); err == nil || err.Error() != unwanted+": no arrays in the file beside labels" {
		t.Error(err)
	}
	empty := save(t, "empty.safetensors", tensorFile(`{}`, nil))
	if _, err := Open(empty+":l", Options{}); err == nil || err.Error() != empty+": no arrays in the file" {
		t.Error(err)
	}
}

// tensorFile returns a safetensors file.
func tensorFile(header string, data []byte) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(b, header...), data...)
}

func TestSafetensors(t *testing.T) {
	little := binary.LittleEndian
	data := append(packed(little, []float32{1, 2}), packed(little, []uint16{0x3f80, 0xc000})...)
	path := save(t, "x.safetensors", tensorFile(`{"__metadata__":{"a":"b"},"b":{"dtype":"BF16","shape":[2,1],`+
		`"data_offsets":[8,12]},"z":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, data))
	f, err := Open(path, Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if len(f.Arrays) != 2 || f.Arrays[0].Name != "z" || f.Arrays[0].Width() != 2 {
		t.Errorf("arrays %v", f.Arrays)
	}
	if _, x := all(t, path+":b", Options{}); !slices.Equal(x, []float64{1, -2}) {
		t.Errorf("bfloat16 %v", x)
	}
}

// Arrays of more than two dimensions in Fortran order, and every way to read numbers, give the rows of NumPy's C order.
func TestFortran(t *testing.T) {
	// shape (2, 3, 2), element (i, j, k) is 100 i + 10 j + k, the first index fastest
	var values []byte
	for k := range 2 {
		for j := range 3 {
			for i := range 2 {
				values = append(values, byte(100*i+10*j+k))
			}
		}
	}
	want := []byte{0, 1, 10, 11, 20, 21, 100, 101, 110, 111, 120, 121}
	f, err := Open(save(t, "cube.npy", npyFile("|u1", true, "(2, 3, 2)", values)), Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a := f.Arrays[0]
	small, narrow, wide := make([]byte, 12), make([]float32, 12), make([]float64, 12)
	if err := errors.Join(a.ReadBytes(small, 0), a.ReadFloats(narrow, 0), a.ReadRows(wide, 0)); err != nil {
		t.Fatal(err)
	}
	for i, w := range want {
		if small[i] != w || narrow[i] != float32(w) || wide[i] != float64(w) {
			t.Errorf("number %d: %v, %v and %v, want %v", i, small[i], narrow[i], wide[i], w)
		}
	}
	if err := a.ReadBytes(small[:6], 1); err != nil || small[0] != 100 {
		t.Errorf("second row: %v, %v", small[:6], err)
	}
}

// Arrays of texts are opened if they are asked for.
func TestTexts(t *testing.T) {
	wide := npyFile("<U3", false, "(2,)", packed(binary.LittleEndian, []int32{'c', 'a', 't', 'é', 0, 0}))
	for name, b := range map[string][]byte{
		"wide.npy": wide,
		"big.npy":  npyFile(">U3", false, "(2,)", packed(binary.BigEndian, []int32{'c', 'a', 't', 'é', 0, 0})),
		"byte.npy": npyFile("|S3", false, "(2,)", []byte("cat\xc3\xa9\x00")),
	} {
		f, err := Open(save(t, name, b), Options{Texts: true})
		if err != nil {
			t.Fatal(err)
		}
		texts, err := f.Arrays[0].Texts()
		if err != nil || !slices.Equal(texts, []string{"cat", "é"}) {
			t.Errorf("%s: %q, %v", name, texts, err)
		}
		if err := f.Arrays[0].ReadRows(make([]float64, 2), 0); err == nil || !strings.Contains(err.Error(), "texts") {
			t.Errorf("%s: numbers of texts: %v", name, err)
		}
		f.Close()
	}
}

func TestTables(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	io.WriteString(z, "1,2\n3,4\n")
	z.Close()
	for _, c := range []struct {
		name, text, without string
		want                []float64
		width               int
	}{
		{"x.csv", "1,2\n3, 4\n", "", []float64{1, 2, 3, 4}, 2},
		{"x.csv", "a,b\n1,2\n3,4\n", "", []float64{1, 2, 3, 4}, 2},
		{"x.tsv", "1\t2e3\n-3\t4\n", "", []float64{1, 2000, -3, 4}, 2},
		{"x.csv", "a,species,b\n1,cat,2\n3,dog,4\n", "species", []float64{1, 2, 3, 4}, 2},
		{"x.csv", "1,cat\n3,dog\n", "2", []float64{1, 3}, 1},
		{"x.csv.gz", packed.String(), "", []float64{1, 2, 3, 4}, 2},
	} {
		a, x := all(t, save(t, c.name, []byte(c.text)), Options{Without: c.without})
		if !slices.Equal(x, c.want) || a.Width() != c.width {
			t.Errorf("%q: %v of width %d", c.text, x, a.Width())
		}
	}
}

// The column with the most usual name of labels is left out where that is asked for, and said to be; never the last.
func TestWithoutLabels(t *testing.T) {
	for _, c := range []struct {
		text   string
		o      Options
		labels string
		want   []float64
	}{
		{"a,Label,b\n1,cat,2\n", Options{WithoutLabels: true}, `"Label"`, []float64{1, 2}},
		{"y,label,b\n1,7,2\n", Options{WithoutLabels: true}, `"label"`, []float64{1, 2}},
		{"a,label,b\n1,7,2\n", Options{}, "", []float64{1, 7, 2}},
		{"a,kind,b\n1,7,2\n", Options{WithoutLabels: true}, "", []float64{1, 7, 2}},
		{"1,7,2\n", Options{WithoutLabels: true}, "", []float64{1, 7, 2}},
		{"a,label,b\n1,7,2\n", Options{WithoutLabels: true, Without: "b"}, `"b"`, []float64{1, 7}},
		{"1,7,2\n", Options{WithoutLabels: true, Without: "3"}, "3", []float64{1, 7}},
	} {
		a, x := all(t, save(t, "x.csv", []byte(c.text)), c.o)
		if a.Labels != c.labels || !slices.Equal(x, c.want) {
			t.Errorf("%q, %+v: %v without %q, want %v without %q", c.text, c.o, x, a.Labels, c.want, c.labels)
		}
	}
	path := save(t, "x.csv", []byte("7.5,0,2\n6.5,2,1\n"))
	want := path + `: no column "0": expected 1 to 3`
	if _, err := Open(path, Options{Without: "0"}); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
	path = save(t, "x.csv", []byte("label\n1\n"))
	for spec, want := range map[string]string{path: `columns of features beside 1 ("label")`,
		path + ":a": "all columns"} {
		if f, err := Open(spec, Options{WithoutLabels: true}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, %v, want %q", spec, f, err, want)
		}
	}
}

func TestLabels(t *testing.T) {
	path := func(name, text string) string { return save(t, name, []byte(text)) }
	for _, c := range []struct {
		spec  string
		of    []int
		names []string
	}{
		{path("y.npy", string(npyFile("<i8", false, "(3,)", packed(binary.LittleEndian, []int64{7, 0, 7})))),
			[]int{7, 0, 7}, nil},
		{path("y.npy", string(npyFile("<f4", false, "(2, 1)", packed(binary.LittleEndian, []float32{7, 3})))),
			[]int{7, 3}, nil},
		{path("y.npy", string(npyFile("|S3", false, "(3,)", []byte("dogcatdog")))),
			[]int{1, 0, 1}, []string{"cat", "dog"}},
		{path("y.csv", "3\n1\n"), []int{3, 1}, nil},
		{path("y.csv", "label\n3\n1\n"), []int{3, 1}, nil},
		{path("y.csv", "dog\ncat\ndog\n"), []int{1, 0, 1}, []string{"cat", "dog"}},
		{path("y.csv", "a,kind\n1,dog\n2,cat\n") + ":kind", []int{1, 0}, []string{"cat", "dog"}},
		{path("y.csv", "day,Kind,note\n2024-01-05,dog,x\n2024-01-06,cat,\n") + ":Kind", []int{1, 0},
			[]string{"cat", "dog"}},
		{path("y.csv", "file,label\nimg0.png,dog\nimg1.png,cat\n"), []int{1, 0}, []string{"cat", "dog"}},
		{path("y.csv", "Class,f0\n4,0.5\n2,1.5\n"), []int{4, 2}, nil},
		{path("y.csv", "x,y,class\n1,7,4\n1,8,2\n"), []int{4, 2}, nil},
		{path("y.csv", "f0,f1,kind\n0.5,1,4\n1.5,2,2\n"), []int{4, 2}, nil},
		{path("y.csv", "0.5,1,cat\n1.5,2,ant\n"), []int{1, 0}, []string{"ant", "cat"}},
		{path("y.csv", "1.000000000000000000e+01\n2.000000000000000000e+00\n"), []int{10, 2}, nil},
		{path("y.csv", "label\n10.0\n2\n"), []int{10, 2}, nil},
		{path("y.csv", "label\nnan\ninf\n1e300\n"), []int{2, 1, 0}, []string{"1e300", "inf", "nan"}},
	} {
		l, err := ReadLabels(c.spec, Options{})
		if err != nil || !slices.Equal(l.Of, c.of) || !slices.Equal(l.Names, c.names) {
			t.Errorf("%s: %v, %v", c.spec, l, err)
		}
	}
}

// Files that are not right give one line that names the file and what was expected.
func TestWrongFiles(t *testing.T) {
	good := npyFile("<f4", false, "(2, 2)", packed(binary.LittleEndian, []float32{1, 2, 3, 4}))
	header := func(descr, shape string) []byte { return npyFile(descr, false, shape, make([]byte, 16)) }
	for _, c := range []struct {
		name string
		b    []byte
		want string
	}{
		{"empty.npy", nil, "expected an NPY file"},
		{"text.npy", []byte("1,2,3\n4,5,6\n7,8,9\n"), "offset 0"},
		{"short.npy", good[:len(good)-1], "15 bytes of numbers, expected 16"},
		{"long.npy", append(slices.Clone(good), 0), "17 bytes of numbers, expected 16"},
		{"cut.npy", good[:40], "cut off after 40 bytes, within its header, which ends at offset 128"},
		{"cut.npy", good[:11], "cut off after 11 bytes"},
		{"cut.npy", good[:3], "cut off after 3 bytes"},
		{"long.npy", append([]byte("\x93NUMPY\x02\x00\x01\x00\x01\x00"), good...),
			"a header of 65537 bytes, expected at most"},
		{"version.npy", append([]byte("\x93NUMPY\x09"), good[7:]...), "version 9"},
		{"object.npy", header("|O", "(2, 2)"), `"|O"`},
		{"complex.npy", header("<c8", "(1, 2)"), `"<c8"`},
		{"text.npy", header("<U4", "(1,)"), `"<U4"`},
		{"record.npy", header("[('a', '<f4')]", "(4,)"), "expected whole or floating-point numbers"},
		{"huge.npy", header("<f4", "(4611686018427387904, 16)"), "out of range"},
		{"product.npy", header("<f4", "(1000000000000, 1000000000000)"), "out of range"},
		{"negative.npy", header("<f4", "(-2, -2)"), "out of range"},
		{"none.npy", header("<f4", "(0, 4)"), "expected rows"},
		{"scalar.npy", header("<f8", "()"), "expected rows"},
		{"dictionary.npy", bytes.Replace(good, []byte("descr"), []byte("color"), 1), "dictionary"},
		{"order.npy", bytes.Replace(good, []byte("False"), []byte("Maybe"), 1), "fortran_order"},
		{"x.npz", good, "expected an NPZ file"},
		{"cut.npz", forged(t, zip.Store, 16, good)[:60], "cut off, or damaged: expected an NPZ file"},
		{"torch.pt", torchFile(t), "torch.pt: a file of torch.save: expected one of numpy.savez"},
		{"stored.npz", forged(t, zip.Store, 16e9+128, header("<f4", "(1000000000, 4)")),
			":a: 16000000128 bytes from offset 35"},
		{"packed.npz", forged(t, zip.Deflate, 16e9, header("<f4", "(1000000000, 4)")),
			":a: 16000000000 bytes from offset"},
		{"x.safetensors", []byte("short"), "safetensors"},
		{"x.safetensors", tensorFile(`{"a":`, nil), "not that of safetensors"},
		{"x.safetensors", tensorFile(`{"a":3}`, nil), "not that of a tensor"},
		{"x.safetensors", tensorFile(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, nil), "cut off"},
		{"x.safetensors", tensorFile(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}}`, nil), "expected two"},
		{"x.safetensors", tensorFile(`{"a":3}`, nil)[:12], "cut off after 12 bytes, within its header"},
		{"x.safetensors", tensorFile(`{"a":{"dtype":"F8","shape":[2],"data_offsets":[0,8]}}`, make([]byte, 8)), `"F8"`},
		{"x.safetensors", tensorFile(`{"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}}`, make([]byte, 8)),
			"8 bytes of numbers, expected 12"},
		{"x.safetensors", tensorFile(`{}`, nil), "no arrays"},
		{"x.csv", nil, "expected lines"},
		{"x.csv", []byte("a,b\n"), "expected lines"},
		{"x.csv", []byte("1,2\n3\n"), "line 2"},
		{"x.csv", []byte("1,2\n3,\n"), "line 2, column 2"},
		{"x.csv", []byte("1,2\n3,four\n"), `"four"`},
		{"x.csv.gz", []byte("\x1f\x8b nothing"), "gzip"},
		{"x.pickle", []byte("cos\nsystem\n"), "expected a file .npy"},
	} {
		path := save(t, c.name, c.b)
		_, err := Open(path, Options{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.HasPrefix(err.Error(), path) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
	}
	half := npyFile("<f4", false, "(2,)", packed(binary.LittleEndian, []float32{1, 0.5}))
	for _, c := range []struct{ spec, want string }{
		{save(t, "y.npy", good), "expected one label a row"},
		{save(t, "y.npy", half), "row 1 (counted from 0): label 0.5"},
		{save(t, "y.csv", []byte("1\n2\n")) + ":kind", "no column"},
		{save(t, "y.csv", []byte("7.5,0\n6.5,2\n")) + ":0", `y.csv: no column "0": expected 1 to 2`},
		{save(t, "y.csv", []byte("f0,f1\n1,2\n1,2.5\n")), `line 3: label "2.5" in column "f1": expected a class`},
		{save(t, "y.csv", []byte("1,2.5\n1,2\n")), `line 1: label "2.5" in column 2: expected a class`},
		{save(t, "y.csv", []byte("label,b\n1.5,2\n")), `line 2: label "1.5" in column "label"`},
		{save(t, "y.csv", []byte("label,b\n1,2.5\n")) + ":b", `line 2: label "2.5" in column "b"`},
		{save(t, "y.csv", []byte("file,kind\na.png,cat\n")), "y.csv:COLUMN takes labels from the column of that name"},
		{save(t, "y.npy", npyFile("|S3", false, "(2,)", []byte("1.02.5"))), `row 1 (counted from 0): label "2.5"`},
		{save(t, "y.npy", header("|O", "(4,)")), `Python objects (type "|O"): expected numbers, or texts as of`},
		{filepath.Join(t.TempDir(), "none.npy"), "no such file"},
		{t.TempDir(), "not a regular file"},
	} {
		if _, err := ReadLabels(c.spec, Options{}); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.spec, err, c.want)
		}
	}
}

// use reads the arrays that a reader accepts: none may be larger than the file.
func use(t *testing.T, arrays []*Array, size int) {
	for _, a := range arrays {
		if n := a.Len() * a.Width(); n > size {
			t.Fatalf("%d numbers in %d bytes", n, size)
		}
		x := make([]float64, a.Len()*a.Width())
		if err := a.ReadRows(x, 0); err != nil {
			t.Fatal(err)
		}
	}
}

func FuzzNPY(f *testing.F) {
	for _, fortran := range []bool{false, true} {
		f.Add(npyFile("<f4", fortran, "(2, 2)", make([]byte, 16)))
		f.Add(npyFile(">i2", fortran, "(8,)", make([]byte, 16)))
		f.Add(npyFile("|O", fortran, "()", nil))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzlimit.Check(t, 64*len(b)+1<<20, func() {
			if a, err := readNPY("x", "", bytes.NewReader(b), int64(len(b)), true); err == nil {
				use(t, []*Array{a}, len(b))
			}
		})
	})
}

func FuzzNPZ(f *testing.F) {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, method := range map[string]uint16{"a.npy": zip.Store, "b.npy": zip.Deflate} {
		w, _ := z.CreateHeader(&zip.FileHeader{Name: name, Method: method})
		w.Write(npyFile("<f4", false, "(2, 2)", make([]byte, 16)))
	}
	z.Close()
	f.Add(b.Bytes())
	f.Add(forged(f, zip.Store, 144, npyFile("<f4", false, "(2, 2)", make([]byte, 16)))) // has no sum to get wrong
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzlimit.Check(t, 64*len(b)+32<<20, func() {
			o := Options{Memory: 1 << 20, Texts: true}
			if list, err := readNPZ("x", bytes.NewReader(b), int64(len(b)), "", o); err == nil {
				for _, a := range list {
					use(t, []*Array{a}, MaxDeflate*(len(b)+1))
				}
			}
		})
	})
}

func FuzzSafetensors(f *testing.F) {
	f.Add(tensorFile(`{"a":{"dtype":"F32","shape":[1,2],"data_offsets":[0,8]}}`, make([]byte, 8)))
	f.Add(tensorFile(`{"__metadata__":{},"a":{"dtype":"BF16","shape":[],"data_offsets":[0,2]}}`, make([]byte, 8)))
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzlimit.Check(t, 64*len(b)+4<<20, func() {
			if list, err := readSafetensors("x", bytes.NewReader(b), int64(len(b)), "", nil); err == nil {
				use(t, list, len(b))
			}
		})
	})
}

// BenchmarkNPY reads float32 from the page cache.
func BenchmarkNPY(b *testing.B) {
	const rows, width = 4096, 4096
	path := filepath.Join(b.TempDir(), "x.npy")
	data := make([]byte, 4*rows*width)
	if err := os.WriteFile(path, npyFile("<f4", false, "(4096, 4096)", data), 0o644); err != nil {
		b.Fatal(err)
	}
	f, err := Open(path, Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	x := make([]float64, 64*width)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		for from := 0; from < rows; from += 64 {
			if err := f.Arrays[0].ReadRows(x, from); err != nil {
				b.Fatal(err)
			}
		}
	}
}
