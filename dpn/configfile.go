package dpn

import (
	"bytes"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"dpnbench/internal/regular"

	"github.com/BurntSushi/toml"
)

// Limits of a text with settings.
const (
	maxConfig  = 1 << 20 // bytes
	maxNesting = 4       // parts of a dotted key, and tables and arrays within each other
	maxValues  = 1000    // settings, tables and items of arrays
)

// LoadConfig reads settings from a TOML file: those of the preset that it names, with
// what the file says instead. Without a preset in the file, base gives the rest. The file must be
// a regular one of at most 1 MiB.
func LoadConfig(path string, base Config) (Config, error) {
	text, err := readConfig(path)
	c := base
	if err == nil {
		c, err = parseConfig(text, base)
	}
	if err != nil {
		return base, fmt.Errorf("config %s: %w", path, err)
	}
	return c, nil
}

// ReadTables reads a TOML file with settings, and beside them the tables that names lists, with whatever they hold.
func ReadTables(path string, names ...string) (settings map[string]any, tables map[string]map[string]any, err error) {
	text, err := readConfig(path)
	if err == nil {
		settings, err = parse(text, names...)
	}
	tables = map[string]map[string]any{}
	for _, name := range names {
		v, given := settings[name]
		t, ok := v.(map[string]any)
		if given && !ok && err == nil {
			err = fmt.Errorf("%s%s: expected a table, [%s]", where(text, name), name, name)
		}
		tables[name] = t
		delete(settings, name)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("config %s: %w", path, err)
	}
	return settings, tables, nil
}

func readConfig(path string) ([]byte, error) {
	text, err := regular.ReadFile(path, maxConfig)
	return text, regular.Cause(err)
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
	extractor := base.Extractor
	base.set(values)
	if _, given := values["hidden"]; !given && base.Extractor != extractor {
		base.Hidden = "" // which was that of another extractor
	}
	return base, nil
}

// decode replaces the settings of c that text names. The preset that it names is a note of where
// they came from.
func decode(text []byte, c Config) (Config, error) {
	values, err := parse(text)
	if err != nil {
		return c, err
	}
	c.set(values)
	return c, nil
}

// set replaces settings by values that parse has checked.
func (c *Config) set(values map[string]any) {
	fields := reflect.ValueOf(c).Elem()
	for i, f := range reflect.VisibleFields(fields.Type()) {
		v, ok := values[f.Tag.Get("toml")]
		if !ok {
			continue
		}
		switch to := fields.Field(i); v := v.(type) {
		case string:
			to.SetString(v)
		case bool:
			to.SetBool(v)
		case float64:
			to.SetFloat(v)
		case int64:
			switch {
			case to.CanFloat():
				to.SetFloat(float64(v))
			case to.CanUint():
				to.SetUint(uint64(v))
			default:
				to.SetInt(v)
			}
		}
	}
}

// parse returns the settings in text by name. It is the only reader of TOML: names are
// case-sensitive, numbers decimal, and every value has the type of its setting, but for tables that the caller knows.
func parse(text []byte, tables ...string) (values map[string]any, err error) {
	if err := scan(text); err != nil {
		return nil, err
	}
	meta, err := toml.Decode(string(text), &values)
	if err != nil {
		return nil, oneLine(err)
	}
	kinds := settingKinds()
	for _, key := range meta.Keys() {
		if slices.Contains(tables, key[0]) {
			continue
		}
		kind, known := kinds[key[0]]
		if !known {
			return nil, unknown(text, meta, key[0])
		}
		if err := checkType(key[0], kind, values[key[0]]); err != nil {
			return nil, err
		}
	}
	return values, nil
}

// settingKinds are the types of all settings.
func settingKinds() map[string]reflect.Kind {
	kinds := map[string]reflect.Kind{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		kinds[f.Tag.Get("toml")] = f.Type.Kind()
	}
	return kinds
}

// SettingNames returns the names of all settings, in the order of Config.
func SettingNames() (names []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		names = append(names, f.Tag.Get("toml"))
	}
	return names
}

// CheckSetting returns an error unless v, as [ReadTables] has it, is of the type of a setting.
func CheckSetting(name string, v any) error {
	kind, known := settingKinds()[name]
	if !known {
		return fmt.Errorf("unknown setting %q", name)
	}
	return checkType(name, kind, v)
}

// unknown is the error about a setting that does not exist, by the longest key below its name.
func unknown(text []byte, meta toml.MetaData, name string) error {
	for _, key := range meta.Keys() {
		if key[0] == name && len(key) > 1 && where(text, name) == "" {
			return fmt.Errorf("unknown setting %q", key.String())
		}
	}
	err := fmt.Errorf("%sunknown setting %q", where(text, name), name)
	for _, f := range reflect.VisibleFields(reflect.TypeFor[Config]()) {
		if known := f.Tag.Get("toml"); strings.EqualFold(known, name) {
			return fmt.Errorf("%w: expected %q", err, known)
		}
	}
	return err
}

// checkType returns an error if a value is not of the kind of its setting. The TOML parser would
// speak of Go's types.
func checkType(name string, kind reflect.Kind, v any) error {
	_, text := v.(string)
	_, truth := v.(bool)
	n, whole := v.(int64)
	_, fraction := v.(float64)
	ok, expected := false, ""
	switch kind {
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
	if ok {
		return nil
	}
	if text { // whose quotes are easily overlooked
		expected += ", got a text"
	}
	switch v.(type) {
	case map[string]any, []any, []map[string]any:
		return fmt.Errorf("%s: expected %s, got a table or an array", name, expected)
	}
	return badSetting(name, v, "expected "+expected)
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
