package source

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestMemory asks for more images than there is memory: refused before any are drawn or read.
func TestMemory(t *testing.T) {
	var size *SizeError
	for _, c := range []struct {
		opt   Options
		split string // "" if there is enough
	}{
		{Options{TrainSize: 9_000_000, Memory: 1e9}, "train"},
		{Options{TestSize: 8_000_000, Memory: 1e9, TestOnly: true}, "test"},
		{Options{TrainSize: 9_000_000, TestSize: 10, Memory: 1e6, TestOnly: true}, ""},
		{Options{TrainSize: 10, TestSize: 10, Memory: 1e5}, ""},
		{Options{TrainSize: 100, TestSize: 100, Memory: 1e5}, "train"},
	} {
		_, err := Open("digits", c.opt)
		if c.split == "" {
			if err != nil {
				t.Errorf("%+v: %v", c.opt, err)
			}
		} else if !errors.As(err, &size) || size.Split != c.split || !strings.Contains(err.Error(), "are available") {
			t.Errorf("%+v: error %v, want one about %s", c.opt, err, c.split)
		}
	}
	header := []byte{0, 0, 8, 1, 0, 0, 1, 0}
	path := filepath.Join(t.TempDir(), "labels")
	if err := os.WriteFile(path, append(header, make([]byte, 256)...), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := loadIDX(path, 1, 0, Options{Memory: 100}); err == nil ||
		!strings.Contains(err.Error(), "are available") {
		t.Errorf("error %v", err)
	}
	if _, err := loadIDX(path, 1, 50, Options{Memory: 100}); err != nil {
		t.Error(err)
	}
}
