package dataset

import (
	"bytes"
	"encoding/binary"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/engine/num"
)

// colours are n random images of 9 x 7 pixels in red, green and blue.
func colours(n int) *Set {
	s := &Set{Shape: RGB(9, 7), Pixels: make([]byte, n*9*7*3), Labels: make([]uint16, n)}
	r := num.NewRand(4, 0)
	for i := range s.Pixels {
		s.Pixels[i] = byte(r.Intn(200) + i/63%3*20)
	}
	return s
}

// channel returns the grey images that are channel c of s.
func channel(s *Set, c int) *Set {
	out := &Set{Shape: Grey(s.Rows, s.Cols), Labels: s.Labels}
	n := s.Rows * s.Cols
	for i := range s.Len() {
		out.Pixels = append(out.Pixels, s.Image(i)[c*n:(c+1)*n]...)
	}
	return out
}

// TestCorruptedColours holds corruptions of colour images against those of their channels as grey
// images: geometry, blur and contrast are the same, noise is independent, and its first channel has
// the bits of the grey image.
func TestCorruptedColours(t *testing.T) {
	s := colours(3)
	independent := []string{"gaussian", "gaussian-unclamped", "uniform", "saltpepper", "speckle", "shot",
		"mnistc-shot-noise", "mnistc-impulse-noise"}
	for _, k := range CorruptionKinds() {
		text := Corruption{k.Name, k.Suite[1]}.String()
		x := corrupted(t, s, text)
		noise := slices.Contains(independent, k.Name)
		for c := range 3 {
			grey := corrupted(t, channel(s, c), text)
			same := true
			for i := range 3 {
				same = same && slices.Equal(x[(3*i+c)*63:(3*i+c+1)*63], grey[i*63:(i+1)*63])
			}
			if want := !noise || c == 0 && k.Name != "shot"; same != want && !(c == 0 && k.Name == "shot") {
				t.Errorf("%s, channel %d: as a grey image: %v, want %v", text, c, same, want)
			}
		}
	}
}

// TestResizedColours holds resized colour images against their resized channels.
func TestResizedColours(t *testing.T) {
	s := colours(2)
	got, err := s.Resize(4, 5)
	if err != nil || got.Shape != RGB(4, 5) {
		t.Fatal(got, err)
	}
	for c := range 3 {
		want, err := channel(s, c).Resize(4, 5)
		if err != nil || !bytes.Equal(channel(got, c).Pixels, want.Pixels) {
			t.Errorf("channel %d differs, %v", c, err)
		}
	}
}

// vectors are n vectors of 3 features: of scale 1 and 1e6, and constant.
func vectors(n int) *Set {
	s := &Set{Shape: Vector(3), Labels: make([]uint16, n)}
	z := make([]float32, n)
	num.NewRand(5, 0).Normal(z)
	for i, v := range z {
		s.Values = append(s.Values, v, 1e6*(3+z[n-1-i]), 0.1)
	}
	return s
}

// TestNormalizationOf checks the normalisation of vectors and colours.
func TestNormalizationOf(t *testing.T) {
	s := vectors(500)
	n := NormalizationOf(s)
	if err := n.Check(s.Shape); err != nil {
		t.Fatal(err)
	}
	var sum, square [3]float64
	x := make([]float32, 3)
	for i := range 500 {
		copy(x, s.Vector(i))
		n.Apply(x)
		for j, v := range x {
			sum[j] += float64(v) / 500
			square[j] += float64(v) * float64(v) / 500
		}
		if x[2] != 0 {
			t.Fatalf("a constant feature is %v", x[2])
		}
		for j, v := range n.Undo(x) {
			if !(math.Abs(float64(v-s.Vector(i)[j])) <= 1e-6*math.Abs(float64(n.Mean[j]))+1e-6) {
				t.Errorf("%v comes back as %v", s.Vector(i)[j], v)
			}
		}
	}
	for j := range 2 {
		if !(math.Abs(sum[j]) <= 1e-6) || !(math.Abs(square[j]-1) <= 1e-5) {
			t.Errorf("feature %d: mean %v, mean square %v", j, sum[j], square[j])
		}
	}
	c := colours(50)
	all := NormalizationOf(c)
	for k := range 3 {
		if own := NormalizationOf(channel(c, k)); own.Mean[0] != all.Mean[k] || own.Std[0] != all.Std[k] {
			t.Errorf("channel %d: %+v, as grey images %+v", k, all, own)
		}
		if all.Table(k)[200] != (float32(200)/255-all.Mean[k])/all.Std[k] {
			t.Errorf("channel %d: table", k)
		}
	}
	black := NormalizationOf(&Set{Shape: Grey(2, 2), Pixels: make([]byte, 8)})
	if !black.Equal(Uniform(0, 1)) {
		t.Errorf("black images: %+v", black)
	}
}

// TestSetOfVectors slices and picks vectors, with and without labels.
func TestSetOfVectors(t *testing.T) {
	s := vectors(6)
	for i := range s.Labels {
		s.Labels[i] = uint16(1000 * i)
	}
	twice := s.Pick([]int32{5, 3, 3, 0}).Pick([]int32{3, 1, 0}).Slice(1, 3)
	for i, want := range []int{3, 5} {
		if !slices.Equal(twice.Vector(i), s.Vector(want)) || twice.Labels[i] != s.Labels[want] {
			t.Errorf("vector %d is not vector %d", i, want)
		}
	}
	s.Labels = nil
	if part := s.Slice(1, 3); part.Labelled() || part.Len() != 2 || part.Pick([]int32{1}).Len() != 1 {
		t.Error("without labels")
	}
	if b := s.AppendSample(nil, 2); len(b) != 12 || binary.LittleEndian.Uint32(b) != math.Float32bits(s.Vector(2)[0]) {
		t.Errorf("bytes %v", b)
	}
}

// TestCheck refuses malformed sets and data in one line.
func TestCheck(t *testing.T) {
	nan := vectors(4)
	nan.Values[7] = float32(math.NaN())
	short := vectors(4)
	short.Labels = short.Labels[:3]
	for want, s := range map[string]*Set{
		"feature 1 of sample 2 is NaN":       nan,
		"3 labels for 4 samples":             short,
		"5 pixels and 0 values":              {Shape: Grey(2, 2), Pixels: make([]byte, 5)},
		"7 values and 0 pixels":              {Shape: Vector(2), Values: make([]float32, 7)},
		"expected rows, columns":             {Shape: Shape{Rows: 3}},
		"at most 2147483647 numbers":         {Shape: RGB(1<<16, 1<<16)},
		"expected rows, columns and channel": {},
		"no samples":                         nil,
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
	if n := (*Set)(nil).Len(); n != 0 {
		t.Errorf("no set has %d samples", n)
	}
	c := Corruption{Name: "gaussian", Severity: 0.1}
	for _, err := range []error{(*Set)(nil).CheckLabelled(), c.Floats(nil, nil, nil, 1),
		c.FloatsOn(nil, nil, nil, nil, 1)} {
		if err == nil || !strings.Contains(err.Error(), "no samples") {
			t.Errorf("no set: error %v", err)
		}
	}
	good := func() *Data {
		s := vectors(4)
		return &Data{Train: s, Test: s, Classes: Numbered(1), Norm: NormalizationOf(s)}
	}
	if err := good().Check(); err != nil {
		t.Error(err)
	}
	for want, change := range map[string]func(d *Data){
		"no samples":                       func(d *Data) { d.Train, d.Test = nil, nil },
		"training samples: label 0":        func(d *Data) { d.Classes = nil },
		"2 names of features for 3":        func(d *Data) { d.Features = []string{"a", "b"} },
		"3 x 3 grey, expected 3 features":  func(d *Data) { d.Test = &Set{Shape: Grey(3, 3), Pixels: make([]byte, 9)} },
		"of 2 means and 3 deviations":      func(d *Data) { d.Norm.Mean = d.Norm.Mean[:2] },
		"expected a finite number and one": func(d *Data) { d.Norm.Std[1] = 0 },
		"class 0: name":                    func(d *Data) { d.Classes[0] = strings.Repeat("x", MostName+1) },
		"feature 1: name \"\\xff\"":        func(d *Data) { d.Features = []string{"a", "\xff", "b"} },
	} {
		d := good()
		change(d)
		if err := d.Check(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want one line with %q", err, want)
		}
	}
}

// TestShapeString checks the words for shapes.
func TestShapeString(t *testing.T) {
	for want, s := range map[string]Shape{"28 x 28 grey": Grey(28, 28), "32 x 32 RGB": RGB(32, 32),
		"13 features": Vector(13), "1 feature": Vector(1), "4 x 5 with 2 channels": {Rows: 4, Cols: 5, Channels: 2}} {
		if s.String() != want {
			t.Errorf("%+v: %q, want %q", s, s, want)
		}
	}
}
