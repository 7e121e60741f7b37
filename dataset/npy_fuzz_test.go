package dataset

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"strings"
	"testing"

	"dpnbench/internal/fuzzlimit"
)

// FuzzWriteNPY writes arrays of any shape: a shape that does not fit is refused, and the numbers come
// last, at a multiple of 64 bytes.
func FuzzWriteNPY(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4}, 1, 1, 1)
	f.Add(make([]byte, 24), 1, 2, 3)
	f.Add(make([]byte, 8), -1, -2, 1)
	f.Add([]byte{}, 0, math.MaxInt, 5)
	f.Add(make([]byte, 8), math.MaxInt/2+1, 8, 2)
	f.Fuzz(func(t *testing.T, b []byte, rows, cols, planes int) {
		data := make([]float32, len(b)/4)
		for i := range data {
			data[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i:]))
		}
		var out bytes.Buffer
		var err error
		fuzzlimit.Check(t, 64*len(b)+1<<20, func() {
			out.Reset()
			err = WriteNPY(&out, data, rows, cols, planes)
		})
		if err != nil {
			return
		}
		if rows < 0 || cols < 0 || planes < 0 {
			t.Fatalf("wrote the shape %d, %d, %d", rows, cols, planes)
		}
		head, numbers := out.Bytes()[:out.Len()-4*len(data)], out.Bytes()[out.Len()-4*len(data):]
		if len(head)%64 != 0 || !strings.Contains(string(head), fmt.Sprintf("(%d, %d, %d)", rows, cols, planes)) {
			t.Errorf("header %q", head)
		}
		if !bytes.Equal(numbers, b[:4*len(data)]) {
			t.Error("the numbers are not those given")
		}
	})
}
