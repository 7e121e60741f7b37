package dpn

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn/safetensors"
)

// TestUnchecked damages keys of the metadata of a model and of a training state: what has lost its
// checksum is noticed.
func TestUnchecked(t *testing.T) {
	d, e, dir := digits(t, 100, 10), newEngine(t), t.TempDir()
	config := tiny()
	config.Epochs = 1
	if _, err := newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: dir}); err != nil {
		t.Fatal(err)
	}
	damage := func(name string, keys ...string) string {
		b, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		for _, key := range keys {
			old := []byte(`"` + key + `"`)
			if bytes.Count(b, old) != 1 {
				t.Fatalf("%s has %d keys %s", name, bytes.Count(b, old), key)
			}
			b = bytes.Replace(b, old, []byte(`"`+key[:len(key)-1]+`~"`), 1)
		}
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, b, 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for _, c := range []struct {
		keys      []string
		unchecked bool
		want      string // of the error
	}{
		{nil, false, ""},
		{[]string{safetensors.ChecksumKey}, true, ""},
		{[]string{metaMean}, false, "damaged"},
		{[]string{safetensors.ChecksumKey, metaConfig}, false, `no settings ("config" in the metadata)`},
		{[]string{safetensors.ChecksumKey, metaFormat}, false, `format "", expected`},
	} {
		m, err := Load(damage(ModelFile, c.keys...))
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("damaged keys %q: error %v, want one with %q", c.keys, err, c.want)
			}
			continue
		}
		if err != nil || m.Unchecked != c.unchecked {
			t.Errorf("damaged keys %q: error %v, model %+v, want Unchecked %t", c.keys, err, m, c.unchecked)
		}
	}
	state := filepath.Dir(damage(StateFile, safetensors.ChecksumKey))
	if _, err := newModel(t, config, d).Fit(context.Background(), e, d.Train, FitOptions{Dir: state,
		Resume: true}); err == nil || !strings.Contains(err.Error(), "no checksum") {
		t.Errorf("a state without a checksum: error %v", err)
	}
}
