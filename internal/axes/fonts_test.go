package axes

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"codeberg.org/go-fonts/liberation/liberationsansbold"
	"codeberg.org/go-fonts/liberation/liberationsansregular"
)

var update = flag.Bool("update", false, "write the compressed fonts (Debian: zopfli)")

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
			ttf := filepath.Join(t.TempDir(), "font.ttf")
			if err := os.WriteFile(ttf, f.want, 0o600); err != nil {
				t.Fatal(err)
			}
			packed, err := exec.Command("zopfli", "-c", "--i25", ttf).Output()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(f.file, packed, 0o644); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if got, err := unpack(f.compressed); err != nil || !bytes.Equal(got, f.want) {
			t.Errorf("%s: %d bytes, %v, want the %d of the module", f.file, len(got), err, len(f.want))
		}
	}
}
