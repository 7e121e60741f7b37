package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"debug/buildinfo"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"strings"
	"time"
)

// file is a file of an archive.
type file struct {
	to, from   string
	executable bool
}

// filesIn returns the files below a folder, in the order of their names.
func filesIn(dir, to string) (files []file, err error) {
	err = filepath.WalkDir(dir, func(name string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		files = append(files, file{to: path.Join(to, filepath.ToSlash(rel)), from: name})
		return err
	})
	if err == nil && len(files) == 0 {
		err = fmt.Errorf("%s: no files", dir)
	}
	return files, err
}

// licenceFile matches the names of files that a copy of a module must come with.
var licenceFile = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice|patents|authors)`)

// licences returns the licences of Go, of the code that is copied from other projects, and of every
// module in a program.
func licences(source string, info *buildinfo.BuildInfo) ([]file, error) {
	goroot, err := output(source, "go", "env", "GOROOT")
	if err != nil {
		return nil, err
	}
	files := []file{
		{to: "licences/go/LICENSE", from: filepath.Join(goroot, "LICENSE")},
		{to: "licences/gonum.org/v1/plot/axes/LICENSE", from: filepath.Join(source, "internal", "axes", "LICENSE")},
	}
	for _, m := range info.Deps {
		dir, err := moduleFolder(source, m)
		if err != nil {
			return nil, err
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, err
		}
		found := len(files)
		for _, e := range entries {
			if !licenceFile.MatchString(e.Name()) {
				continue
			}
			to, from := path.Join("licences", m.Path, e.Name()), filepath.Join(dir, e.Name())
			if !e.IsDir() {
				files = append(files, file{to: to, from: from})
				continue
			}
			more, err := filesIn(from, to)
			if err != nil {
				return nil, err
			}
			files = append(files, more...)
		}
		if len(files) == found {
			return nil, fmt.Errorf("module %s has no licence in %s", m.Path, dir)
		}
	}
	return files, nil
}

func moduleFolder(source string, m *debug.Module) (string, error) {
	dir, err := output(source, "go", "list", "-m", "-f", "{{.Dir}}", m.Path)
	if err == nil && dir == "" {
		err = fmt.Errorf("module %s is not downloaded", m.Path)
	}
	return dir, err
}

func output(dir, name string, args ...string) (string, error) {
	c := exec.Command(name, args...)
	c.Dir = dir
	out, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w", name, strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out)), nil
}

// mode is that of a file in an archive, whatever it is here.
func (f file) mode() os.FileMode {
	if f.executable {
		return 0o755
	}
	return 0o644
}

// tarred returns a compressed tar archive of the files in a folder top.
func tarred(top string, files []file, made time.Time) ([]byte, error) {
	var b bytes.Buffer
	z, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	w := tar.NewWriter(z)
	for _, f := range files {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return nil, err
		}
		head := &tar.Header{Name: path.Join(top, f.to), Mode: int64(f.mode()), Size: int64(len(data)), ModTime: made,
			Format: tar.FormatUSTAR}
		if err := w.WriteHeader(head); err != nil {
			return nil, err
		}
		if _, err := w.Write(data); err != nil {
			return nil, err
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	err = z.Close()
	return b.Bytes(), err
}

// zipped is tarred for Windows.
func zipped(top string, files []file, made time.Time) ([]byte, error) {
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	for _, f := range files {
		data, err := os.ReadFile(f.from)
		if err != nil {
			return nil, err
		}
		head := &zip.FileHeader{Name: path.Join(top, f.to), Method: zip.Deflate, Modified: made.UTC()}
		head.SetMode(f.mode())
		out, err := w.CreateHeader(head)
		if err != nil {
			return nil, err
		}
		if _, err := out.Write(data); err != nil {
			return nil, err
		}
	}
	err := w.Close()
	return b.Bytes(), err
}
