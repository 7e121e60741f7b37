package dataset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

func TestWriteNPY(t *testing.T) {
	data := []float32{1, -2.5, 0, float32(math.Inf(1)), 0x1p-149, 6}
	for _, c := range []struct {
		shape []int
		tuple string
	}{{[]int{2, 3}, "(2, 3)"}, {[]int{6}, "(6,)"}, {[]int{1, 3, 2}, "(1, 3, 2)"}} {
		var b bytes.Buffer
		if err := WriteNPY(&b, data, c.shape...); err != nil {
			t.Fatal(err)
		}
		got := b.Bytes()
		if !bytes.HasPrefix(got, []byte("\x93NUMPY\x01\x00")) {
			t.Fatalf("%v: begins with %q", c.shape, got[:8])
		}
		size := int(binary.LittleEndian.Uint16(got[8:]))
		header, body := string(got[10:10+size]), got[10+size:]
		want := "{'descr': '<f4', 'fortran_order': False, 'shape': " + c.tuple + ", }"
		if strings.TrimRight(header, " \n") != want || !strings.HasSuffix(header, "\n") {
			t.Errorf("%v: header %q, expected %q", c.shape, header, want)
		}
		if (10+size)%64 != 0 {
			t.Errorf("%v: the numbers begin at %d", c.shape, 10+size)
		}
		if len(body) != 4*len(data) {
			t.Fatalf("%v: %d bytes of numbers", c.shape, len(body))
		}
		for i, v := range data {
			if bits := binary.LittleEndian.Uint32(body[4*i:]); bits != math.Float32bits(v) {
				t.Errorf("%v: number %d has the bits %#x, expected those of %v", c.shape, i, bits, v)
			}
		}
	}
}

func TestWriteNPYErrors(t *testing.T) {
	if err := WriteNPY(new(bytes.Buffer), make([]float32, 5), 2, 3); err == nil {
		t.Error("5 numbers for 2 x 3: no error")
	}
	if err := WriteNPY(full{}, make([]float32, 5), 5); !errors.Is(err, errFull) {
		t.Errorf("error %v of a writer that is full", err)
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }
