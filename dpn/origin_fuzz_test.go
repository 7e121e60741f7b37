package dpn

import (
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn/safetensors"
	"dpnbench/internal/fuzzlimit"
)

// FuzzOrigin reads where the images of a model came from out of changed metadata, and compares
// the hashes as a command does.
func FuzzOrigin(f *testing.F) {
	const ours = "1:0011223344556677,2:8899aabbccddeeff,3:0123456789abcdef"
	f.Add(ours, ours, "../idx")
	f.Add("", "1:", "/etc")
	f.Add("1:0011223344556677,1:x,,:,2", ",", "..\x00/..")
	f.Add(ours, "", "../x/a.csv,../y/b.csv")
	f.Add(ours, "", "mnist-c:../c,d")
	f.Add(strings.Repeat("1:0011223344556677,", 100), ":", strings.Repeat("../", 100))
	f.Fuzz(func(t *testing.T, train, test, folder string) {
		g := &safetensors.File{Metadata: map[string]string{metaTrainImages: train, metaTestImages: test,
			metaDataFolder: folder}}
		path := filepath.Join(t.TempDir(), "model.safetensors")
		var o origin
		size := len(train) + len(test) + len(folder)
		fuzzlimit.Check(t, 64*size+1<<20, func() {
			o = readOrigin(g, path)
			sameImages(o.train, ours)
			sameImages(ours, o.test)
		})
		if !sameImages(train, train) && strings.Count(train, ",") == 0 {
			t.Errorf("%q differs from itself", train)
		}
		if plain := strings.TrimPrefix(o.folder, mnistC); o.folder != "" && !filepath.IsAbs(plain) {
			t.Errorf("%q: folder %q, expected an absolute one", folder, o.folder)
		}
		back := &safetensors.File{Metadata: map[string]string{}}
		o.metadata(back, path)
		if again := readOrigin(back, path); again != o {
			t.Errorf("read %+v, wrote and read %+v", o, again)
		}
	})
}
