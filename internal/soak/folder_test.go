//go:build linux

package soak

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dpnbench/dpn/safetensors"
)

var native = binary.NativeEndian

// temporary matches the names of files that only exist while others are written.
var temporary = regexp.MustCompile(`\.unfinished-|\.part$`)

// contents returns the files in dir and its subfolders, with what does not depend on time and threads of
// their content. A file of which only a part was written is an error, a temporary one is
// listed without content.
func contents(dir string) (map[string]string, error) {
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if temporary.MatchString(name) {
			all[name] = ""
			return nil
		}
		b, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if all[name], err = canonical(name, b); err != nil {
			return fmt.Errorf("%s (%d bytes): %w", name, len(b), err)
		}
		return nil
	})
	return all, err
}

// temporaries returns the names of the temporary files.
func temporaries(files map[string]string) (names []string) {
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if temporary.MatchString(name) {
			names = append(names, name)
		}
	}
	return names
}

// difference says in which files two folders differ, or is "".
func difference(got, want map[string]string) string {
	var list []string
	for _, name := range slices.Sorted(maps.Keys(got)) {
		if text, ok := want[name]; !ok {
			list = append(list, name+" should not be there")
		} else if text != got[name] {
			list = append(list, name+" differs"+firstDifference(got[name], text))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if _, ok := got[name]; !ok {
			list = append(list, name+" is missing")
		}
	}
	return strings.Join(list, "; ")
}

// firstDifference shows where two texts begin to differ.
func firstDifference(got, want string) string {
	i := 0
	for i < min(len(got), len(want)) && got[i] == want[i] {
		i++
	}
	near := func(s string) string { return s[max(0, i-40):min(len(s), i+40)] }
	return fmt.Sprintf(" (...%q, expected ...%q)", near(got), near(want))
}

var (
	errHalf = errors.New("half a file")
	// varies matches what a page says of the run and not of its results.
	varies = regexp.MustCompile(`\d+ threads?|dpnbench [^<]*|[0-9.]+ (s|ms|minutes?|seconds?)\b`)
)

// canonical returns the content without times and numbers of threads.
func canonical(name string, b []byte) (string, error) {
	kind := filepath.Ext(name)
	end := map[string]string{".png": "IEND\xaeB`\x82", ".svg": "</svg>", ".html": "</html>"}[kind]
	if !bytes.HasSuffix(bytes.TrimRight(b, "\n"), []byte(end)) {
		return "", errHalf
	}
	switch kind {
	case ".safetensors":
		return canonicalTensors(b)
	case ".json", ".jsonl":
		return canonicalJSON(b)
	case ".html":
		return string(varies.ReplaceAll(b, []byte("~"))), nil
	}
	return string(b), nil
}

// canonicalTensors hashes the tensors and shows the metadata.
func canonicalTensors(b []byte) (string, error) {
	f, err := safetensors.Read(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		return "", err
	}
	if !f.Checked {
		return "", errors.New("no checksum")
	}
	h := sha256.New()
	for _, t := range f.Tensors {
		fmt.Fprintln(h, t.Name, t.Shape)
		binary.Write(h, binary.LittleEndian, t.Data)
	}
	text := hex.EncodeToString(h.Sum(nil))
	for _, key := range slices.Sorted(maps.Keys(f.Metadata)) {
		value := f.Metadata[key]
		if timed(key) {
			continue
		}
		if v, err := canonicalJSON([]byte(value)); err == nil {
			value = v
		}
		text += "\n" + key + " = " + value
	}
	return text, nil
}

// timed says whether the value of a JSON key depends on time, machine or threads.
func timed(key string) bool {
	return strings.Contains(key, "second") || strings.Contains(key, "rss") || key == "threads" || key == "machine" ||
		key == "metrics" // in a state: size and hash of lines with times
}

// canonicalJSON returns one or more JSON values without times.
func canonicalJSON(b []byte) (string, error) {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	var text strings.Builder
	for {
		var v any
		if err := d.Decode(&v); err == io.EOF && text.Len() > 0 {
			return text.String(), nil
		} else if err != nil {
			return "", err
		}
		out, err := json.Marshal(untimed(v))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "%s\n", out)
	}
}

func untimed(v any) any {
	switch v := v.(type) {
	case map[string]any:
		maps.DeleteFunc(v, func(key string, _ any) bool { return timed(key) })
		for key := range v {
			v[key] = untimed(v[key])
		}
	case []any:
		for i := range v {
			v[i] = untimed(v[i])
		}
	}
	return v
}
