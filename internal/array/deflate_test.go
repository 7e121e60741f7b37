package array

import (
	"archive/zip"
	"bytes"
	"fmt"
	"strings"
	"testing"

	"dpnbench/internal/fuzzlimit"
)

// TestUnpacked has a compressed member unpacked into memory of its own size.
func TestUnpacked(t *testing.T) {
	const n = 1 << 20
	member := npyFile("|u1", false, fmt.Sprintf("(%d,)", n), make([]byte, n))
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	w, err := z.Create("a.npy")
	if err != nil {
		t.Fatal(err)
	}
	w.Write(member)
	z.Close()
	path := save(t, "x.npz", b.Bytes())
	fuzzlimit.Check(t, n+n/4, func() {
		f, err := Open(path, Options{Memory: float64(len(member))})
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Memory(); got != float64(len(member)) {
			t.Errorf("%v bytes in memory, want %d", got, len(member))
		}
		f.Close()
	})
}

// TestDeflateLimit has a member of an NPZ file claim to unpack to as much as its bytes can hold, and to a byte more.
func TestDeflateLimit(t *testing.T) {
	const packed = 1000
	for unpacked, refused := range map[uint64]bool{1040 * (packed + 1): false, 1040*(packed+1) + 1: true} {
		var out bytes.Buffer
		z := zip.NewWriter(&out)
		w, err := z.CreateRaw(&zip.FileHeader{Name: "a.npy", Method: zip.Deflate, CompressedSize64: packed,
			UncompressedSize64: unpacked})
		if err != nil {
			t.Fatal(err)
		}
		w.Write(make([]byte, packed))
		z.Close()
		_, err = Open(save(t, "x.npz", out.Bytes()), Options{Memory: 1e9})
		if err == nil || strings.Contains(err.Error(), "which cannot be") != refused {
			t.Errorf("%d bytes unpack to %d: %v, refused: %v", packed, unpacked, err, refused)
		}
	}
}
