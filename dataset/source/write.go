package source

import (
	"archive/zip"
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"unicode/utf8"

	"dpnbench/dataset"
	"dpnbench/internal/array"
)

// WriteNPZ writes a data set as an NPZ file that Open and numpy.load read: x_train, y_train, x_test and y_test (images
// are uint8, with the channels as last dimension if there are several; vectors float32; labels uint16), class_names and
// feature_names.
func WriteNPZ(w io.Writer, d *dataset.Data) error {
	if d == nil {
		return d.Check()
	}
	z := zip.NewWriter(w)
	for _, s := range []struct {
		name string
		set  *dataset.Set
	}{{trainSplit, d.Train}, {testSplit, d.Test}} {
		if s.set == nil {
			continue
		}
		if err := writeSamples(z, "x_"+s.name, s.set); err != nil {
			return err
		}
		if !s.set.Labelled() {
			continue
		}
		y := make([]byte, 0, 2*s.set.Len())
		for _, l := range s.set.Labels {
			y = binary.LittleEndian.AppendUint16(y, l)
		}
		if err := writeArray(z, "y_"+s.name, "<u2", []int{s.set.Len()}, y); err != nil {
			return err
		}
	}
	for _, t := range []struct {
		name  string
		texts []string
	}{{"class_names", d.Classes}, {"feature_names", d.Features}} {
		if len(t.texts) == 0 {
			continue
		}
		if err := writeTexts(z, t.name, t.texts); err != nil {
			return err
		}
	}
	return z.Close()
}

// writeSamples writes the samples of a set.
func writeSamples(z *zip.Writer, name string, s *dataset.Set) error {
	if !s.IsImage() {
		w, err := beginArray(z, name, "<f4", []int{s.Len(), s.Features})
		if err != nil {
			return err
		}
		b := make([]byte, 4*s.Features)
		for i := range s.Len() {
			for j, v := range s.Vector(i) {
				binary.LittleEndian.PutUint32(b[4*j:], math.Float32bits(v))
			}
			if _, err := w.Write(b); err != nil {
				return err
			}
		}
		return w.Flush()
	}
	shape := []int{s.Len(), s.Rows, s.Cols}
	if s.Channels > 1 {
		shape = append(shape, s.Channels)
	}
	w, err := beginArray(z, name, "|u1", shape)
	if err != nil {
		return err
	}
	plane, b := s.Rows*s.Cols, make([]byte, s.Shape.Len())
	for i := range s.Len() {
		for at, v := range s.Image(i) {
			b[at%plane*s.Channels+at/plane] = v
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return w.Flush()
}

// writeTexts writes an array of texts.
func writeTexts(z *zip.Writer, name string, texts []string) error {
	most := 1
	for _, s := range texts {
		most = max(most, utf8.RuneCountInString(s))
	}
	b := make([]byte, 4*most*len(texts))
	for i, s := range texts {
		for j, r := range []rune(s) {
			binary.LittleEndian.PutUint32(b[4*(i*most+j):], uint32(r))
		}
	}
	return writeArray(z, name, fmt.Sprintf("<U%d", most), []int{len(texts)}, b)
}

func writeArray(z *zip.Writer, name, dtype string, shape []int, b []byte) error {
	w, err := beginArray(z, name, dtype, shape)
	if err != nil {
		return err
	}
	if _, err := w.Write(b); err != nil {
		return err
	}
	return w.Flush()
}

// beginArray writes the header of an array. The arrays are not compressed, so that they can be read in place.
func beginArray(z *zip.Writer, name, dtype string, shape []int) (*bufio.Writer, error) {
	f, err := z.CreateHeader(&zip.FileHeader{Name: name + ".npy", Method: zip.Store})
	if err != nil {
		return nil, err
	}
	header, err := array.Header(dtype, shape...)
	if err != nil {
		return nil, err
	}
	w := bufio.NewWriterSize(f, 1<<16)
	_, err = w.Write(header)
	return w, err
}
