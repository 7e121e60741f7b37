package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/internal/array"
	"dpnbench/internal/manifest"
	"dpnbench/internal/output"
)

// Files of the cases of a kernel, with which a program in any language is checked. NPY files are of one dimension and
// begin with 128 bytes of header.
const (
	ManifestFile = manifest.File  // of type Manifest
	CasesFile    = "cases.txt"    // the operands of each case again, a line a case, for languages without JSON
	InputsFile   = "inputs.npy"   // float32: the inputs of all cases
	OutputsFile  = "outputs.npy"  // float32: the outputs of all cases before the call
	ResultsFile  = "results.npy"  // float32: the same after the call, which the program writes
	ExpectedFile = "expected.npy" // float64: the results of the oracle, row by row, without padding
	BoundsFile   = "bounds.npy"   // float64: the largest error of each; -n stands for n units in the last place
)

// filesFormat changes with the meaning of the files.
const filesFormat = "dpnbench check 1"

// Manifest describes the files of a kernel's cases.
type Manifest struct {
	Format   string          `json:"format"`
	Kernel   string          `json:"kernel"`
	Computes string          `json:"computes"`
	Result   manifest.Result `json:"result"`
	Cases    []ManifestCase  `json:"cases"`
}

// ManifestCase is a case: its arguments as in --case, its operands, and where its expected results begin.
type ManifestCase struct {
	Case     string            `json:"case"`
	Operands []ManifestOperand `json:"operands"`
	Expected int               `json:"expected"` // index in expected.npy and bounds.npy
}

// ManifestOperand is a matrix in a file: element (i, j) is number Offset + i Strides[0] + j Strides[1].
type ManifestOperand struct {
	Name    string `json:"name"`
	File    string `json:"file"`
	DType   string `json:"dtype"`
	Offset  int    `json:"offset"`
	Shape   [2]int `json:"shape"`
	Strides [2]int `json:"strides"`
}

// fileKernel is a kernel whose cases can be written to files.
type fileKernel struct {
	computes string
	function func() *Function
}

// fileKernels are by the names of --kernel. Their functions are never called.
var fileKernels = []fileKernel{
	{"C = A B", func() *Function { return MatMul("", nil) }},
	{"C = alpha A B + beta C; in the case alpha and beta are in quarters; ta, tb (1: A, B lie transposed) and order " +
		"(1: column-major) are in shapes and strides already", func() *Function { return Gemm("", true, nil) }},
	{"result = sum of x[i] y[i]", func() *Function { return Dot("", nil) }},
	{"y = exp(x)", func() *Function { return Exp("", nil) }},
	{"y = log(x)", func() *Function { return Log("", nil) }},
	{"y = softmax of each row of x", func() *Function { return Softmax("", nil) }},
	{"y = log of the sum of exp of each row of x", func() *Function { return LogSumExp("", nil) }},
	{"y = (x - mean)/sqrt(variance + 1e-5) of each row of x", func() *Function { return LayerNorm("", nil) }},
	{"y = (x - mu)^T P (x - mu) of each row of x", func() *Function { return QuadForm("", nil) }},
}

// FileKernels lists the kernels whose cases can be written to files.
func FileKernels() []string {
	var names []string
	for _, k := range fileKernels {
		names = append(names, k.function().Kernel())
	}
	return names
}

// ForFiles returns the function whose cases can be written to files, or nil.
func ForFiles(kernel string) *Function {
	for _, k := range fileKernels {
		if f := k.function(); f.Kernel() == kernel {
			f.Name = ResultsFile
			return f
		}
	}
	return nil
}

// gapFloats is the least number of NaN between two operands in a file.
const gapFloats = 16

// nextPlace returns where an operand goes behind so many floats.
func nextPlace(floats, offset int) int {
	return (floats+2*gapFloats-1)/gapFloats*gapFloats + max(offset, 0)
}

// placeIn appends an operand to floats: at a multiple of 64 bytes, or behind it where the case says so.
func placeIn(floats []float32, x operand, file string, offset int) ([]float32, ManifestOperand) {
	at := nextPlace(len(floats), offset)
	for len(floats) < at {
		floats = append(floats, math.Float32frombits(canary))
	}
	return append(floats, x.Data...), ManifestOperand{Name: x.name, File: file, DType: "<f4", Offset: at,
		Shape: [2]int{x.Rows, x.Cols}, Strides: [2]int{x.RS, x.CS}}
}

// dump is the content of the files.
type dump struct {
	inputs, outputs []float32
	expected        []float64
	bounds          []float64
	Manifest
}

// add adds a case.
func (d *dump) add(c Case, p *problem) {
	entry := ManifestCase{Case: c.String(), Expected: len(d.expected)}
	offset := c.get(offsetArg.name)
	for _, x := range p.operands {
		var o ManifestOperand
		if x.output {
			d.outputs, o = placeIn(d.outputs, x, ResultsFile, offset)
		} else {
			d.inputs, o = placeIn(d.inputs, x, InputsFile, offset)
		}
		entry.Operands = append(entry.Operands, o)
	}
	d.expected, d.bounds = append(d.expected, p.want...), append(d.bounds, p.bound...)
	d.Cases = append(d.Cases, entry)
}

// Dump writes the cases of a function of ForFiles to a folder, and removes the results that are there; opt selects
// cases, and nothing else.
func Dump(ctx context.Context, dir string, f *Function, opt Options) (cases int, err error) {
	defer f.Close()
	i := slices.Index(FileKernels(), f.Kernel())
	d := dump{Manifest: Manifest{Format: filesFormat, Kernel: f.Kernel(), Computes: fileKernels[i].computes}}
	list := opt.Cases
	if len(list) == 0 {
		list = f.cases(opt.Quick)
	}
	for i, c := range list {
		if err := ctx.Err(); err != nil {
			return 0, err
		}
		f.mem.reset()
		d.add(c, f.prepare(c, &f.mem))
		if opt.Progress != nil {
			opt.Progress(i+1, len(list))
		}
	}
	for range gapFloats {
		d.outputs = append(d.outputs, math.Float32frombits(canary))
	}
	d.Result = manifest.Result{File: ResultsFile, DType: "<f4", Shape: [1]int{len(d.outputs)}}
	return len(list), d.write(dir)
}

// write writes the files.
func (d *dump) write(dir string) error {
	var cases strings.Builder
	for _, c := range d.Cases {
		for i, o := range c.Operands {
			if i > 0 {
				cases.WriteByte(' ')
			}
			fmt.Fprint(&cases, o.Offset, " ", o.Shape[0], " ", o.Shape[1], " ", o.Strides[0], " ", o.Strides[1])
		}
		cases.WriteByte('\n')
	}
	var files output.Batch
	defer files.Discard()
	for name, write := range map[string]func(w io.Writer) error{
		ManifestFile: func(w io.Writer) error { return manifest.Write(w, d.Manifest) },
		CasesFile:    func(w io.Writer) error { _, err := io.WriteString(w, cases.String()); return err },
		InputsFile:   func(w io.Writer) error { return array.Write(w, "<f4", d.inputs, len(d.inputs)) },
		OutputsFile:  func(w io.Writer) error { return array.Write(w, "<f4", d.outputs, len(d.outputs)) },
		ExpectedFile: func(w io.Writer) error { return array.Write(w, "<f8", d.expected, len(d.expected)) },
		BoundsFile:   func(w io.Writer) error { return array.Write(w, "<f8", d.bounds, len(d.bounds)) },
	} {
		if err := files.Write(filepath.Join(dir, name), write); err != nil {
			return err
		}
	}
	files.Remove(filepath.Join(dir, ResultsFile)) // of other cases
	return files.Commit()
}

// Limits of a manifest.
const (
	mostManifest = 64 << 20 // bytes
	mostCases    = 1 << 17
)

// ReadManifest reads and checks the manifest of a folder.
func ReadManifest(dir string) (m *Manifest, err error) {
	err = manifest.Read(dir, mostManifest, "check --dump", func(b []byte) (err error) {
		m, err = parseManifest(b)
		return err
	})
	return m, err
}

func parseManifest(b []byte) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("expected the JSON that check --dump writes: %w", err)
	}
	f := ForFiles(m.Kernel)
	switch {
	case m.Format != filesFormat:
		return nil, fmt.Errorf("format %.40q, expected %q: write the files again with --dump", m.Format, filesFormat)
	case f == nil:
		return nil, fmt.Errorf("kernel %.40q, expected one of %s", m.Kernel, strings.Join(FileKernels(), ", "))
	case len(m.Cases) == 0 || len(m.Cases) > mostCases:
		return nil, fmt.Errorf("%d cases, expected 1 to %d", len(m.Cases), mostCases)
	case m.Result.File != ResultsFile || m.Result.DType != "<f4":
		return nil, fmt.Errorf("results in %.40q of %.10q, expected %s of <f4", m.Result.File, m.Result.DType,
			ResultsFile)
	}
	for i, c := range m.Cases {
		if _, err := f.ParseCase(c.Case); err != nil {
			return nil, fmt.Errorf("case %d: %w", i, err)
		}
	}
	return &m, nil
}

// Judge compares the results that a program has written to a folder with the oracle. The report is that of a
// function. Cases are computed and read one at a time.
func Judge(ctx context.Context, dir string, progress func(done, all int)) (*Report, error) {
	m, err := ReadManifest(dir)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(dir, ResultsFile)
	results, err := array.Open(path, array.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: missing: expected what the program under test made of %s", path, OutputsFile)
	}
	if err != nil {
		return nil, err
	}
	defer results.Close()
	x := results.Arrays[0]
	if x.DType != m.Result.DType || !slices.Equal(x.Shape, m.Result.Shape[:]) {
		return nil, fmt.Errorf("%s: shape %v of %s, expected %v of %s, as in %s", path, x.Shape, x.DType,
			m.Result.Shape, m.Result.DType, OutputsFile)
	}
	j := judge{Function: ForFiles(m.Kernel), results: x}
	defer j.Close()
	var all []tried
	for i, c := range m.Cases {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		t, err := j.judge(c)
		if err != nil {
			return nil, fmt.Errorf("case %d (%s): %w", i, c.Case, err)
		}
		all = append(all, t)
		if progress != nil {
			progress(i+1, len(m.Cases))
		}
	}
	row := FunctionRow{Function: ResultsFile, Kernel: m.Kernel, Threads: []int{}, Findings: []Finding{}}
	report := &Report{Kernels: []Row{}, Failures: []Failure{}}
	row.summarise(j.Function, all, report)
	row.Repeats = []Repeat{}
	report.Functions = []FunctionRow{row}
	return report, nil
}

// judge reads results case by case.
type judge struct {
	*Function
	results *array.Array

	end    int // of the last output
	behind int // the end of the NaN behind it
}

// errOtherFiles says that a manifest is not what Dump writes.
var errOtherFiles = errors.New(ManifestFile + " describes other operands than this version of dpnbench has: " +
	"write the files again with --dump")

func (j *judge) judge(entry ManifestCase) (tried, error) {
	c, err := j.ParseCase(entry.Case)
	if err != nil {
		return tried{}, err
	}
	j.mem.reset()
	p := j.prepare(c, &j.mem)
	j.mem.save()
	t := tried{Case: c, threads: 1}
	offset := c.get(offsetArg.name)
	if len(entry.Operands) != len(p.operands) {
		return t, errOtherFiles
	}
	for i, x := range p.operands {
		o := entry.Operands[i]
		if o.Shape != [2]int{x.Rows, x.Cols} || o.Strides != [2]int{x.RS, x.CS} {
			return t, errOtherFiles
		}
		if !x.output {
			continue
		}
		if o.Offset != nextPlace(j.end, offset) || o.Offset+len(x.Data)+gapFloats > j.results.Len() {
			return t, errOtherFiles
		}
		if t.Outcome, err = j.read(p, x, o.Offset); err != nil {
			return t, err
		}
		j.end = o.Offset + len(x.Data)
		j.behind = j.end + gapFloats
	}
	return t, nil
}

// read compares the output x, which is at an offset of the results, and the numbers before and after it.
func (j *judge) read(p *problem, x operand, offset int) (o Outcome, err error) {
	before := make([]float32, max(offset-j.behind, 0))
	if err := j.results.ReadFloats(before, j.behind); err != nil {
		return o, err
	}
	after := make([]float32, gapFloats)
	if err := j.results.ReadFloats(after, offset+len(x.Data)); err != nil {
		return o, err
	}
	if err := j.results.ReadFloats(x.Data, offset); err != nil {
		return o, err
	}
	got := elements(x.Matrix)
	for _, v := range slices.Concat(before, after) {
		if math.Float32bits(v) != canary {
			o.Outside += 4
		}
	}
	var outside *trespassError
	switch err := j.mem.trespass(); {
	case errors.As(err, &outside):
		o.Kind, o.Outside = KindWritten, o.Outside+outside.bytes
		o.Reason = fmt.Sprintf("wrote %d bytes outside its output, the first %s", o.Outside, p.place(&j.mem, outside))
		return o, nil
	case o.Outside > 0:
		o.Kind, o.Reason = KindWritten, fmt.Sprintf("wrote %d bytes before or behind its output", o.Outside)
		return o, nil
	}
	var row Row
	tr := p.trial()
	if err := row.judge(got, tr); err != nil {
		o.Kind, o.Reason = kindOf(got, tr), err.Error()
	}
	o.MaxULP, o.MaxRatio = row.MaxULP, row.MaxErrorRatio
	return o, nil
}
