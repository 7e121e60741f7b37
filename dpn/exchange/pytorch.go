package exchange

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"reflect"
	"strings"

	"dpnbench/dpn"
	"dpnbench/internal/output"
)

// Names of the files that WritePyTorch writes.
const (
	ModuleFile = "dpn.py"
	TensorFile = "model.safetensors"
)

//go:embed dpn.py
var module string

// IsModule says whether a file is the module that WritePyTorch writes, of this version or another.
func IsModule(file []byte) bool {
	title, _, _ := strings.Cut(module, "\n")
	return strings.HasPrefix(string(file), title)
}

// WritePyTorch adds to files a module of PyTorch that needs nothing else, and m's tensors, which
// it loads. path gives the place of a file in the folder.
func WritePyTorch(files *output.Batch, path func(name string) string, m *dpn.Model) error {
	source, err := moduleSource()
	if err != nil {
		return err
	}
	if err := files.Write(path(ModuleFile), func(w io.Writer) error {
		_, err := io.WriteString(w, source)
		return err
	}); err != nil {
		return err
	}
	return files.Write(path(TensorFile), func(w io.Writer) error { return m.Write(w, path(TensorFile)) })
}

// moduleSource returns dpn.py with the settings of the presets.
func moduleSource() (string, error) {
	defaults, presets, err := presetTables()
	if err != nil {
		return "", err
	}
	r := strings.NewReplacer("DEFAULTS = {}\n", "DEFAULTS = "+defaults, "PRESETS = {}\n", "PRESETS = "+presets)
	return r.Replace(module), nil
}

// presetTables returns two dictionaries in Python: the values of all settings that most presets have, and
// for each preset those that differ.
func presetTables() (defaults, presets string, err error) {
	fields := reflect.VisibleFields(reflect.TypeFor[dpn.Config]())
	count := make([]map[string]int, len(fields))
	values := map[string][]string{}
	for _, name := range dpn.Presets() {
		c, err := dpn.Preset(name)
		if err != nil {
			return "", "", err
		}
		for i := range fields {
			v, err := literal(reflect.ValueOf(c).Field(i).Interface())
			if err != nil {
				return "", "", err
			}
			values[name] = append(values[name], v)
			if count[i] == nil {
				count[i] = map[string]int{}
			}
			count[i][v]++
		}
	}
	usual := func(i int) (most string) {
		for _, name := range dpn.Presets() { // in order: the first of two that are as frequent
			if v := values[name][i]; most == "" || count[i][v] > count[i][most] {
				most = v
			}
		}
		return most
	}
	var d, p strings.Builder
	d.WriteString("{\n")
	for i, f := range fields {
		fmt.Fprintf(&d, "    %q: %s,\n", f.Tag.Get("toml"), usual(i))
	}
	p.WriteString("{\n")
	for _, name := range dpn.Presets() {
		var own []string
		for i, f := range fields {
			if v := values[name][i]; v != usual(i) && f.Name != "Preset" {
				own = append(own, fmt.Sprintf("%q: %s", f.Tag.Get("toml"), v))
			}
		}
		fmt.Fprintf(&p, "    %q: {%s},\n", name, strings.Join(own, ", "))
	}
	return d.String() + "}\n", p.String() + "}\n", nil
}

// literal returns a setting as an expression of Python.
func literal(v any) (string, error) {
	switch v := v.(type) {
	case bool:
		return map[bool]string{true: "True", false: "False"}[v], nil
	case float64: // a whole number stays a float
		b, err := json.Marshal(v)
		if s := string(b); !strings.ContainsAny(s, ".e") {
			return s + ".0", err
		}
		return string(b), err
	}
	b, err := json.Marshal(v)
	return string(b), err
}
