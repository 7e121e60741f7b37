package check

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/internal/array"
	"dpnbench/internal/fuzzlimit"
	"dpnbench/internal/manifest"
	"dpnbench/internal/output"
)

// files is a folder with the cases of a kernel, and the numbers in it.
type files struct {
	testing.TB
	dir             string
	inputs, outputs []float32
	*Manifest
}

func dumped(t testing.TB, kernel string) *files {
	t.Helper()
	f := &files{TB: t, dir: t.TempDir()}
	n, err := Dump(context.Background(), f.dir, ForFiles(kernel), Options{Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	if f.Manifest, err = ReadManifest(f.dir); err != nil || len(f.Cases) != n {
		t.Fatalf("%d cases of %d, %v", len(f.Cases), n, err)
	}
	f.inputs, f.outputs = f.load(InputsFile), f.load(OutputsFile)
	return f
}

func (f *files) load(name string) []float32 {
	a, err := array.Open(filepath.Join(f.dir, name), array.Options{})
	if err != nil {
		f.Fatal(err)
	}
	defer a.Close()
	x := make([]float32, a.Arrays[0].Len())
	if err := a.Arrays[0].ReadFloats(x, 0); err != nil {
		f.Fatal(err)
	}
	return x
}

// run writes the results of a program that calls f with the operands of each case.
func (f *files) run(call func(at [][]float32, o []ManifestOperand)) {
	f.Helper()
	y := slices.Clone(f.outputs)
	for _, c := range f.Cases {
		var at [][]float32
		for _, o := range c.Operands {
			x := f.inputs
			if o.File == ResultsFile {
				x = y
			}
			at = append(at, x[o.Offset:])
		}
		call(at, c.Operands)
	}
	f.save(y)
}

func (f *files) save(y []float32) {
	var b bytes.Buffer
	if err := array.Write(&b, "<f4", y, len(y)); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(f.dir, ResultsFile), b.Bytes(), 0o600); err != nil {
		f.Fatal(err)
	}
}

func (f *files) judge() *Report {
	f.Helper()
	r, err := Judge(context.Background(), f.dir, nil)
	if err != nil {
		f.Fatal(err)
	}
	return r
}

// filesProduct is a product with a mistake in some cases.
func filesProduct(mistake string) func(at [][]float32, o []ManifestOperand) {
	return func(at [][]float32, o []ManifestOperand) {
		a, b, c := o[0], o[1], o[2]
		for i := range c.Shape[0] {
			for j := range c.Shape[1] {
				var s float32
				for k := range a.Shape[1] {
					s += float32(at[0][i*a.Strides[0]+k*a.Strides[1]] * at[1][k*b.Strides[0]+j*b.Strides[1]])
				}
				if mistake == "a bit" && i+j == 3 {
					s = math.Float32frombits(math.Float32bits(s) ^ 1<<12)
				}
				if mistake != "the last column" || j+1 < c.Shape[1] {
					at[2][i*c.Strides[0]+j*c.Strides[1]] = s
				}
			}
			if mistake == "padding" && c.Strides[0] > c.Shape[1] && i+1 < c.Shape[0] {
				at[2][i*c.Strides[0]+c.Shape[1]] = 0
			}
		}
		if mistake == "behind" && c.Shape[0] > 0 && c.Shape[1] > 0 {
			at[2][(c.Shape[0]-1)*c.Strides[0]+c.Shape[1]] = 0
		}
	}
}

// TestFiles judges a right product in files, and wrong ones.
func TestFiles(t *testing.T) {
	oneGoroutine(t)
	f := dumped(t, "matmul")
	for mistake, kind := range map[string]string{"": "", "a bit": KindError, "the last column": KindOld,
		"padding": KindWritten, "behind": KindWritten} {
		if testing.Short() && mistake != "" && mistake != "padding" {
			continue
		}
		f.run(filesProduct(mistake))
		r := f.judge()
		row := r.Functions[0]
		if kind == "" {
			if r.Failed != 0 || r.Cases != len(f.Cases) || row.MaxErrorRatio == 0 {
				t.Errorf("a right product: %d of %d failed: %+v", r.Failed, r.Cases, row)
			}
			continue
		}
		found := slices.ContainsFunc(row.Findings, func(x Finding) bool { return x.Kind == kind })
		if !found || r.Failed == r.Cases || (kind == KindWritten) != (row.BytesOutside > 0) {
			t.Errorf("%s: %d of %d failed, %d bytes outside, %+v", mistake, r.Failed, r.Cases, row.BytesOutside,
				row.Findings)
		}
	}
	// The same product as in memory.
	e := MatMul("", func(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32, ldc int) {
		filesProduct("")([][]float32{a, b, c}, []ManifestOperand{{Strides: [2]int{lda, 1}, Shape: [2]int{m, k}},
			{Strides: [2]int{ldb, 1}}, {Strides: [2]int{ldc, 1}, Shape: [2]int{m, n}}})
	})
	want, err := Run(context.Background(), Options{Function: e, Quick: true})
	if err != nil {
		t.Fatal(err)
	}
	f.run(filesProduct(""))
	got, in := f.judge().Functions[0], want.Functions[0]
	if got.Cases != in.Cases || got.MaxErrorRatio != in.MaxErrorRatio || got.MaxULP != in.MaxULP {
		t.Errorf("files: %+v, in memory %+v", got, in)
	}
}

// TestFileKernels writes the cases of each kernel. Outputs as they were before the call are old output.
func TestFileKernels(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: minutes under emulation, and TestFiles has one of the kernels")
	}
	for _, k := range FileKernels() {
		f := dumped(t, k)
		f.save(f.outputs)
		r := f.judge()
		isOld := func(x Finding) bool { return x.Kind == KindOld }
		if r.Failed == 0 || !slices.ContainsFunc(r.Functions[0].Findings, isOld) {
			t.Errorf("%s: %d of %d failed: %+v", k, r.Failed, r.Cases, r.Functions[0].Findings)
		}
		expected, err := array.Open(filepath.Join(f.dir, ExpectedFile), array.Options{})
		if err != nil {
			t.Fatal(err)
		}
		last := f.Cases[len(f.Cases)-1]
		if x := expected.Arrays[0]; x.DType != "<f8" || x.Len() < last.Expected {
			t.Errorf("%s: %d of %s expected, the last case at %d", k, x.Len(), x.DType, last.Expected)
		}
		expected.Close()
	}
}

// TestFilesGemm multiplies operands of all layouts as the manifest describes them: transposes are in their strides.
func TestFilesGemm(t *testing.T) {
	oneGoroutine(t)
	f := dumped(t, "sgemm")
	if !strings.HasPrefix(f.Computes, "C = alpha A B + beta C;") {
		t.Errorf("computes %q", f.Computes)
	}
	next := 0
	f.run(func(at [][]float32, o []ManifestOperand) {
		c, err := ForFiles("sgemm").ParseCase(f.Cases[next].Case)
		if err != nil {
			t.Fatal(err)
		}
		next++
		alpha, beta, a, b := float32(c.get("alpha"))/4, float32(c.get("beta"))/4, o[0].Strides, o[1].Strides
		for i := range o[2].Shape[0] {
			for j := range o[2].Shape[1] {
				var s float32
				for k := range o[0].Shape[1] {
					if alpha != 0 {
						s += alpha * at[0][i*a[0]+k*a[1]] * at[1][k*b[0]+j*b[1]]
					}
				}
				if y := &at[2][i*o[2].Strides[0]+j*o[2].Strides[1]]; beta == 0 {
					*y = s
				} else {
					*y = s + beta**y
				}
			}
		}
	})
	if r := f.judge(); r.Failed > 0 {
		t.Errorf("%d of %d failed: %+v", r.Failed, r.Cases, r.Functions[0].Findings)
	}
}

// TestBadFiles checks the messages on files that cannot be judged.
func TestBadFiles(t *testing.T) {
	f := dumped(t, "exp")
	manifest, err := os.ReadFile(filepath.Join(f.dir, ManifestFile))
	if err != nil {
		t.Fatal(err)
	}
	write := func(name string, b []byte) func() {
		return func() {
			if err := os.WriteFile(filepath.Join(f.dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	edited := func(old, new string) func() {
		return write(ManifestFile, bytes.Replace(manifest, []byte(old), []byte(new), 1))
	}
	doubles := func() {
		err := output.Write(filepath.Join(f.dir, ResultsFile), func(w io.Writer) error {
			return array.Write(w, "<f8", make([]float64, len(f.outputs)), len(f.outputs))
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	short := func() { f.save(f.outputs[1:]) }
	again := func() { // the results there may be of other cases
		if _, err := Dump(context.Background(), f.dir, ForFiles("exp"), Options{Quick: true}); err != nil {
			t.Fatal(err)
		}
	}
	for _, c := range []struct {
		spoil func()
		want  string
	}{
		{func() {}, "results.npy: missing: expected what the program under test made of outputs.npy"},
		{again, "results.npy: missing: expected"},
		{doubles, "of <f8, expected"},
		{short, "of <f4, expected ["},
		{write(ResultsFile, []byte("text")), "results.npy: offset 0: expected an NPY file"},
		{edited("check 1", "check 0"), `manifest.json: format "dpnbench check 0", expected "dpnbench check 1"`},
		{edited(`"exp"`, `"none"`), `manifest.json: kernel "none", expected one of matmul,`},
		{edited(`"exp:`, `"exp:cows=1,`), "manifest.json: case 0: case "},
		{edited(`"strides"`, `"strides": [0, 0], "s"`), "case 0 (exp:"},
		{write(ManifestFile, []byte("[")), "manifest.json: expected the JSON that check --dump writes"},
		{func() { os.Remove(filepath.Join(f.dir, ManifestFile)) },
			"manifest.json: no such file or directory; expected a folder that check --dump has written"},
	} {
		c.spoil()
		_, err := Judge(context.Background(), f.dir, nil)
		if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%v, want an error with %q", err, c.want)
		}
		write(ManifestFile, manifest)()
		f.save(f.outputs)
	}
}

// FuzzManifest reads manifests.
func FuzzManifest(f *testing.F) {
	for _, k := range FileKernels() {
		d := dump{Manifest: Manifest{Format: filesFormat, Kernel: k,
			Result: manifest.Result{File: ResultsFile, DType: "<f4", Shape: [1]int{9}}}}
		d.Cases = []ManifestCase{{Case: k, Operands: []ManifestOperand{{Name: "x", File: InputsFile}}}}
		b, err := json.Marshal(d.Manifest)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(b)
	}
	f.Add([]byte(`{"cases": [{}]}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		var err error
		fuzzlimit.Check(t, 200*len(b)+1<<21, func() { _, err = parseManifest(b) })
		if err != nil && strings.Contains(err.Error(), "\n") {
			t.Errorf("more than one line: %v", err)
		}
	})
}
