package dpn

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"reflect"
	"strings"

	"github.com/BurntSushi/toml"
)

// LoadConfig reads settings from a TOML file: those of the preset that it names, with
// what the file says in their place. Without a preset in the file, base gives the rest.
func LoadConfig(path string, base Config) (Config, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			return base, fmt.Errorf("config %s: %w", path, pe.Err)
		}
		return base, fmt.Errorf("config %s: %w", path, err)
	}
	c, err := parseConfig(text, base)
	if err != nil {
		return base, fmt.Errorf("config %s: %w", path, err)
	}
	return c, nil
}

// parseConfig is LoadConfig on the text of a file.
func parseConfig(text []byte, base Config) (Config, error) {
	values, err := parse(text)
	if err != nil {
		return base, err
	}
	if name, _ := values["preset"].(string); name != "" {
		if base, err = Preset(name); err != nil {
			return base, err
		}
	}
	return decode(text, base)
}

// decode puts the settings in text instead of those of c. The preset that they
// name is a note of where they came from.
func decode(text []byte, c Config) (Config, error) {
	if _, err := parse(text); err != nil {
		return c, err
	}
	meta, err := toml.Decode(string(text), &c)
	if err != nil {
		return c, oneLine(err)
	}
	if extra := meta.Undecoded(); len(extra) > 0 {
		return c, fmt.Errorf("%sunknown setting %q", where(text, extra[0][0]), extra[0].String())
	}
	return c, nil
}

// parse returns what text says, by name. It checks the types of settings, of which the
// TOML parser speaks in the words of programmers.
func parse(text []byte) (values map[string]any, err error) {
	if _, err := toml.Decode(string(text), &values); err != nil {
		return nil, oneLine(err)
	}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		name := f.Tag.Get("toml")
		v, ok := values[name]
		if !ok {
			continue
		}
		_, text := v.(string)
		_, truth := v.(bool)
		n, whole := v.(int64)
		_, fraction := v.(float64)
		expected := ""
		switch f.Type.Kind() {
		case reflect.String:
			ok, expected = text, "a text in quotes"
		case reflect.Bool:
			ok, expected = truth, "true or false"
		case reflect.Float64:
			ok, expected = whole || fraction, "a number"
		case reflect.Uint64:
			ok, expected = whole && n >= 0, "a whole number from 0 on"
		default:
			ok, expected = whole, "a whole number"
		}
		if text { // whose quotes are easily overlooked
			expected += ", got a text"
		}
		if !ok {
			return nil, badSetting(name, v, "expected "+expected)
		}
	}
	return values, nil
}

// where names the line of text that gives the name a value, or nothing where none plainly
// does.
func where(text []byte, name string) string {
	for i, line := range strings.Split(string(text), "\n") {
		if before, _, _ := strings.Cut(line, "="); strings.Trim(before, " \t\r[]\"'") == name {
			return fmt.Sprintf("line %d: ", i+1)
		}
	}
	return ""
}

// oneLine shortens an error of the TOML parser to its first line.
func oneLine(err error) error {
	s, _, _ := strings.Cut(err.Error(), "\n")
	return errors.New(s)
}

// TOML returns the settings as a TOML file.
func (c Config) TOML() string {
	var b bytes.Buffer
	if err := toml.NewEncoder(&b).Encode(c); err != nil {
		panic(err) // a Config holds nothing that TOML cannot write
	}
	return b.String()
}
