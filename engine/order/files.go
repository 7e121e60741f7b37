package order

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"math"
	"path/filepath"
	"slices"

	"dpnbench/engine/num"
	"dpnbench/internal/array"
	"dpnbench/internal/manifest"
	"dpnbench/internal/output"
)

// Files with which an implementation in any language is probed.
const (
	ManifestFile = manifest.File // of type Manifest
	AFile        = "a.npy"       // float32: a row a probe
	BFile        = "b.npy"       // float32: the other factors
	ResultsFile  = "results.npy" // float32: the sum of a[i] b[i] of each row, which the implementation writes
)

// MostInFiles is the largest number of terms of probes in files. They cannot depend on earlier results, so all pairs
// of terms are tried.
const MostInFiles = 128

// filesFormat changes with the probes.
const filesFormat = "dpnbench order 1"

// Manifest describes the files of probes.
type Manifest struct {
	Format string          `json:"format"`
	Terms  int             `json:"terms"`
	Result manifest.Result `json:"result"`
}

// probes calls f after setting every probe that a finder of listed probes can ask for.
func (p *finder) probes(f func() error) error {
	p.scale = scales[0]
	var err error
	try := func() {
		if err == nil {
			err = f()
		}
	}
	p.clear()
	p.a[0], p.b[0], p.a[1], p.b[1] = p.scale.a, p.scale.b, -p.scale.a, p.scale.b
	try()
	for _, t := range triples(p.n) {
		for e := 1; e <= mostShift; e++ {
			p.bitsProbe(t[0], t[1], t[2], e)
			try()
			p.bitsProbe(t[1], t[0], t[2], e)
			try()
		}
	}
	for i := range p.n {
		for j := range p.n {
			if i < j {
				for from := 0; from < p.n; from += p.chunk {
					p.setProbe(i, j, from)
					try()
				}
			}
			for _, s := range squares {
				if i != j {
					p.fusedProbe(i, j, s)
					try()
				}
			}
		}
	}
	r := num.NewRand(randomSeed, 0)
	for range trials {
		p.randomProbe(r)
		try()
	}
	return err
}

// Dump writes the probes of sums of n terms to a folder, and removes the results that are there.
func Dump(dir string, n int) (probes int, err error) {
	if n < Least || n > MostInFiles {
		return 0, fmt.Errorf("%d terms: expected %d to %d", n, Least, MostInFiles)
	}
	p := newFinder(n, Products, nil)
	p.probes(func() error { probes++; return nil })
	var files output.Batch
	defer files.Discard()
	err = files.Write(filepath.Join(dir, ManifestFile), func(w io.Writer) error {
		return manifest.Write(w, Manifest{filesFormat, n, manifest.Result{File: ResultsFile, DType: "<f4",
			Shape: [1]int{probes}}})
	})
	for name, x := range map[string][]float32{AFile: p.a, BFile: p.b} {
		if err == nil {
			err = files.Write(filepath.Join(dir, name), func(w io.Writer) error { return p.write(w, x, probes) })
		}
	}
	if err != nil {
		return 0, err
	}
	files.Remove(filepath.Join(dir, ResultsFile)) // of other probes
	return probes, files.Commit()
}

// write writes x, an operand, of each probe.
func (p *finder) write(w io.Writer, x []float32, probes int) error {
	header, err := array.Header("<f4", probes, p.n)
	if err == nil {
		_, err = w.Write(header)
	}
	if err != nil {
		return err
	}
	b := make([]byte, 4*p.n)
	return p.probes(func() error {
		for i, v := range x {
			binary.LittleEndian.PutUint32(b[4*i:], math.Float32bits(v))
		}
		_, err := w.Write(b)
		return err
	})
}

func parseManifest(b []byte) (*Manifest, error) {
	var m Manifest
	if err := json.Unmarshal(b, &m); err != nil {
		return nil, fmt.Errorf("expected the JSON that check --order --dump writes: %w", err)
	}
	switch {
	case m.Format != filesFormat:
		return nil, fmt.Errorf("format %.40q, expected %q: write the files again with --order --dump", m.Format,
			filesFormat)
	case m.Terms < Least || m.Terms > MostInFiles:
		return nil, fmt.Errorf("%d terms, expected %d to %d", m.Terms, Least, MostInFiles)
	}
	return &m, nil
}

// Judge returns the order of the implementation that has written the results to a folder.
func Judge(dir string) (*Order, error) {
	var m *Manifest
	err := manifest.Read(dir, 1<<16, "check --order --dump", func(b []byte) (err error) {
		m, err = parseManifest(b)
		return err
	})
	if err != nil {
		return nil, err
	}
	p := newFinder(m.Terms, Products, nil)
	probes := 0
	p.probes(func() error { probes++; return nil })
	path := filepath.Join(dir, ResultsFile)
	f, err := array.Open(path, array.Options{})
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: missing: expected the sum of the products of each row of %s and %s", path, AFile,
			BFile)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	x := f.Arrays[0]
	if x.DType != "<f4" || !slices.Equal(x.Shape, []int{probes}) {
		return nil, fmt.Errorf("%s: shape %v of %s, expected %v of <f4", path, x.Shape, x.DType, []int{probes})
	}
	results := make([]float32, probes)
	if err := x.ReadFloats(results, 0); err != nil {
		return nil, err
	}
	o, err := p.lookUp(results)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return o, nil
}

// lookUp finds the order from the results of all probes.
func (p *finder) lookUp(results []float32) (*Order, error) {
	seed := maphash.MakeSeed()
	b := make([]byte, 8*p.n)
	key := func() uint64 {
		for i, v := range p.a {
			binary.LittleEndian.PutUint32(b[8*i:], math.Float32bits(v))
			binary.LittleEndian.PutUint32(b[8*i+4:], math.Float32bits(p.b[i]))
		}
		return maphash.Bytes(seed, b)
	}
	known := make(map[uint64]float32, len(results))
	i := 0
	p.probes(func() error {
		known[key()] = results[i]
		i++
		return nil
	})
	p.listed = true
	var missing error
	p.f = func(a, b []float32) float32 {
		v, ok := known[key()]
		if !ok {
			missing = errors.New("no probe of the files tells the order")
		}
		return v
	}
	o, err := p.find()
	if missing != nil {
		return nil, missing
	}
	return o, err
}
