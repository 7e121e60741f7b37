package dpn

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpnbench/internal/fuzzlimit"
)

// hostile are texts that would cost a parser time or memory out of proportion to their size.
func hostile() map[string]string {
	return map[string]string{
		"dots":          strings.Repeat("a.", 16<<10) + "a = 1\n",
		"quoted dots":   strings.Repeat(`"a" . `, 8<<10) + "a = 1\n",
		"table of dots": "[" + strings.Repeat("a.", 16<<10) + "a]\n",
		"arrays":        "a = " + strings.Repeat("[", 500<<10),
		"tables":        "a = " + strings.Repeat("{a=", 300<<10),
		"keys":          many("k%d = 1\n", 80000),
		"dotted keys":   many("a.b.c.k%d = 1\n", 50000),
		"many tables":   many("[a.b.c.k%d]\n", 50000),
		"items":         "lr = [" + strings.Repeat("{a=1},", 150000) + "]\n",
		"too long":      strings.Repeat("# comment\n", 110<<10),
	}
}

// many repeats a format with 0, 1, 2, ...
func many(format string, n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func TestHostileConfig(t *testing.T) {
	for name, text := range hostile() {
		start := time.Now()
		_, err := parseConfig([]byte(text), Config{})
		if err == nil || strings.Contains(err.Error(), "\n") || len(err.Error()) > 200 {
			t.Errorf("%s: error %.300v, want a short line", name, err)
		}
		if d := time.Since(start); d > time.Second {
			t.Errorf("%s: took %v", name, d)
		}
	}
}

// TestConfigIsAFile checks that settings are read from a regular file of at most 1 MiB.
func TestConfigIsAFile(t *testing.T) {
	dir := t.TempDir()
	long := filepath.Join(dir, "long.toml")
	if err := os.WriteFile(long, make([]byte, maxConfig+1), 0o644); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{dir: "not a regular file", os.DevNull: "not a regular file",
		long: "more than 1048576 bytes"} {
		if _, err := LoadConfig(path, Config{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", path, err, want)
		}
	}
}

// TestStrictConfig lists what other readers of TOML take, and what has another meaning here.
func TestStrictConfig(t *testing.T) {
	for text, want := range map[string]string{
		"Preset = \"robust\"":                "line 1: unknown setting \"Preset\": expected \"preset\"",
		"preset = \"compact\"\nLR = 5.0":     "line 2: unknown setting \"LR\": expected \"lr\"",
		"lr = 0.001\nLR = 5.0":               "line 2: unknown setting \"LR\"",
		"SEED = -1":                          "unknown setting \"SEED\": expected \"seed\"",
		"seed = 0x10":                        "line 1: number 0x10, expected a decimal one",
		"seed = 1\nsteps = 0o17":             "line 2: number 0o17, expected a decimal one",
		"seed = 0b1":                         "number 0b1",
		"seed = 010":                         "toml",
		"lr = 0x1p-2":                        "number 0x1p-2",
		"a.b.c.d.e = 1":                      "line 1: nested more than 4 deep",
		"a = [[[[[1]]]]]":                    "line 1: nested more than 4 deep",
		"\n[a.b.c.d.e]":                      "line 2: nested more than 4 deep",
		"a.b.c.d = 1":                        "unknown setting \"a.b.c.d\"",
		"lr = 1\nlr = 2":                     "toml",
		"lr = {a = 1}":                       "lr: expected a number, got a table or an array",
		"seed = [1]":                         "seed: expected a whole number from 0 on, got a table or an array",
		"preset = \"compact\"\n[preset.a]":   "toml",
		"data = \"a.b.c.d.e.f [[[[[\" # 0x1": "",
		"data = '0x10 = {{{{{{'":             "",
		"data = \"\"\"\n[[[[[[[\n\"\"\"":     "",
		"data = \"\\\"[[[[[[[\"":             "",
		"alpha = 1e-3":                       "",
		"clip = 1":                           "",
	} {
		_, err := parseConfig([]byte(text), Config{})
		switch {
		case want == "" && err != nil:
			t.Errorf("%q: %v", text, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%q: error %v, want one with %q", text, err, want)
		}
	}
}

// FuzzConfig reads settings. What is accepted must survive being written and read again.
func FuzzConfig(f *testing.F) {
	for _, name := range Presets() {
		c, err := Preset(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(c.TOML())
	}
	for _, text := range []string{"Preset = \"robust\"", "lr = 0x1p3", "a.b.c.d.e = 1", "data = \"\"\"\n\"\"\"",
		"seed = 010", "x = [[[[1]]]]", "\"seed\" = 1", "lr = inf", "[[lr]]", "data = '\\u001b'"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var c Config
		var err error
		fuzzlimit.Check(t, 64*len(text)+4<<20, func() { c, err = parseConfig([]byte(text), unset) })
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
			return
		}
		if c.Validate() != nil {
			return
		}
		back, err := decode([]byte(c.TOML()), unset)
		if err != nil || back != c {
			t.Errorf("%q: read %+v, wrote and read %+v, %v", text, c, back, err)
		}
	})
}
