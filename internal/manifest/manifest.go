// Package manifest writes and reads the file that describes the others of a folder, with which a program in any
// language is checked.
package manifest

import (
	"encoding/json"
	"fmt"
	"io"
	"path/filepath"

	"dpnbench/internal/regular"
)

// File is its name.
const File = "manifest.json"

// Result is the file that the program under test writes.
type Result struct {
	File  string `json:"file"`
	DType string `json:"dtype"`
	Shape [1]int `json:"shape"`
}

// Write writes v as JSON.
func Write(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false) // leave <f4
	e.SetIndent("", " ")
	return e.Encode(v)
}

// Read hands the manifest of a folder, of at most most bytes, to parse. Errors begin with its path, and say which
// command writes it.
func Read(dir string, most int64, command string, parse func(b []byte) error) error {
	path := filepath.Join(dir, File)
	b, err := regular.ReadFile(path, most)
	if err != nil {
		return fmt.Errorf("%s: %w; expected a folder that %s has written", path, regular.Cause(err), command)
	}
	if err := parse(b); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	return nil
}
