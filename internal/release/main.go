// Command release builds the archives of a release, the same bytes for the same source and version
// of Go wherever and whenever it runs:
//
//	go run ./internal/release -manual FOLDER -out FOLDER
//
// Each archive holds the program for one system, static and stripped, with manual pages and
// completions from the folder of -manual (make man), README, CHANGELOG and LICENSE, and the
// licences of all modules that are linked into it. SHA256SUMS has their hashes.
package main

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"strings"
	"time"
)

// targets are the systems with an archive.
var targets = []string{"linux/amd64", "linux/arm64", "darwin/arm64", "windows/amd64"}

func main() {
	manual := flag.String("manual", "", "`FOLDER` with manual pages and completions")
	out := flag.String("out", "", "`FOLDER` for the archives")
	flag.Parse()
	if *manual == "" || *out == "" || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := release(".", *manual, *out); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release builds the archives of the source in a folder.
func release(source, manual, out string) error {
	if err := os.MkdirAll(out, 0o777); err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "release")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var sums bytes.Buffer
	for _, target := range targets {
		binary, err := build(source, dir, target)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		name, archive, err := pack(source, manual, target, binary)
		if err != nil {
			return fmt.Errorf("%s: %w", target, err)
		}
		if err := os.WriteFile(filepath.Join(out, name), archive, 0o666); err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(archive), name)
		fmt.Printf("%6.2f MB  %s\n", float64(len(archive))/1e6, name)
	}
	return os.WriteFile(filepath.Join(out, "SHA256SUMS"), sums.Bytes(), 0o666)
}

// pack returns the archive of the program for a target and the name of that.
func pack(source, manual, target, binary string) (name string, archive []byte, err error) {
	info, err := buildinfo.ReadFile(binary)
	if err != nil {
		return "", nil, err
	}
	version := strings.NewReplacer("(", "", ")", "", "+", "-").Replace(info.Main.Version)
	top := fmt.Sprintf("dpnbench-%s-%s", cmp.Or(version, "devel"), strings.ReplaceAll(target, "/", "-"))
	files := []file{{to: filepath.Base(binary), from: binary, executable: true}}
	for _, name := range []string{"README.md", "CHANGELOG.md", "LICENSE"} {
		files = append(files, file{to: name, from: filepath.Join(source, name)})
	}
	more, err := filesIn(manual, "")
	if err != nil {
		return "", nil, err
	}
	files = append(files, more...)
	if more, err = licences(source, info); err != nil {
		return "", nil, err
	}
	files = append(files, more...)
	made := time.Unix(0, 0)
	if t, err := time.Parse(time.RFC3339, setting(info, "vcs.time")); err == nil {
		made = t
	}
	if strings.HasPrefix(target, "windows/") {
		archive, err = zipped(top, files, made)
		return top + ".zip", archive, err
	}
	archive, err = tarred(top, files, made)
	return top + ".tar.gz", archive, err
}

func setting(info *debug.BuildInfo, key string) string {
	for _, s := range info.Settings {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// build builds the program for a target in dir and returns its path. Nothing of the folders, the
// time or the environment gets into it.
func build(source, dir, target string) (string, error) {
	system, arch, _ := strings.Cut(target, "/")
	binary := filepath.Join(dir, "dpnbench")
	if system == "windows" {
		binary += ".exe"
	}
	// data fetch needs no HTTP/2, which is 370 kB.
	c := exec.Command("go", "build", "-trimpath", "-buildvcs=auto", "-tags=nethttpomithttp2", "-ldflags=-s -w",
		"-o", binary, "./cmd/dpnbench")
	c.Dir = source
	c.Env = append(os.Environ(), "GOOS="+system, "GOARCH="+arch, "CGO_ENABLED=0", "GOFLAGS=", "GOEXPERIMENT=",
		"GOAMD64=v1", "GOARM64=v8.0")
	if out, err := c.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%w: %s", err, out)
	}
	return binary, nil
}
