package axes

import (
	"bytes"
	"compress/gzip"
	"flag"
	"os"
	"testing"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
)

var update = flag.Bool("update", false, "write the compressed fonts")

// TestFonts compares the compressed fonts with those of the module.
func TestFonts(t *testing.T) {
	for _, f := range []struct {
		file             string
		compressed, want []byte
	}{
		{"liberation-sans-regular.ttf.gz", regularFont, liberationsansregular.TTF},
		{"liberation-sans-bold.ttf.gz", boldFont, liberationsansbold.TTF},
	} {
		if *update {
			var b bytes.Buffer
			z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
			if err != nil {
				t.Fatal(err)
			}
			z.Write(f.want)
			z.Close()
			if err := os.WriteFile(f.file, b.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := unpack(f.compressed); err != nil || !bytes.Equal(got, f.want) {
			t.Errorf("%s: %d bytes, %v, want the %d of the module", f.file, len(got), err, len(f.want))
		}
	}
}
