package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"dpnbench/internal/longtest"
)

const root = "../.."

// mostBytes is the size that the stripped program may have on linux/amd64.
const mostBytes = 18_000_000

// TestSize checks how large the program is. What makes it grow most: a call of reflect's Method or
// MethodByName, as in text/template (the linker then keeps every exported method: 4 MB); fonts; a
// package that registers formats; slices.SortFunc, which has a copy for each type of struct (5 to 15 kB; sort.Slice
// has one). go build -ldflags=-dumpdep names the first (ReflectMethod).
func TestSize(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: builds the program")
	}
	binary, err := build(root, t.TempDir(), "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(binary)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%.2f MB of %.0f", float64(info.Size())/1e6, mostBytes/1e6)
	if info.Size() > mostBytes {
		t.Errorf("the stripped program has %d bytes, want at most %d", info.Size(), mostBytes)
	}
}

// manualOf returns a folder with a manual of one page.
func manualOf(t *testing.T) string {
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "man", "man1"), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "man", "man1", "dpnbench.1"), []byte(".TH\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// TestArchives checks what the archives hold: that for Windows holds the program for Linux here, which is built
// already. If long tests are asked for, a build from another folder makes the same bytes.
func TestArchives(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: builds the program")
	}
	manual := manualOf(t)
	linux, err := build(root, t.TempDir(), "linux/amd64")
	if err != nil {
		t.Fatal(err)
	}
	windows := filepath.Join(t.TempDir(), "dpnbench.exe")
	if err := os.Link(linux, windows); err != nil {
		t.Fatal(err)
	}
	for target, binary := range map[string]string{"linux/amd64": linux, "windows/amd64": windows} {
		name, archive, err := pack(root, manual, target, binary)
		if err != nil {
			t.Fatal(err)
		}
		names := namesIn(t, name, archive)
		for _, want := range []string{filepath.Base(binary), "README.md", "CHANGELOG.md", "LICENSE",
			"man/man1/dpnbench.1", "licences/go/LICENSE", "licences/gonum.org/v1/plot/LICENSE",
			"licences/gonum.org/v1/plot/axes/LICENSE", "licences/codeberg.org/go-fonts/liberation/LICENSE-SIL"} {
			if !slices.Contains(names, want) {
				t.Errorf("%s lacks %s: %q", name, want, names)
			}
		}
		if target != "linux/amd64" || !longtest.Asked() {
			continue
		}
		again, same := fromElsewhere(t, manual, target)
		if again != name || !bytes.Equal(same, archive) {
			t.Errorf("%s: another build from another folder makes %s, with other bytes", name, again)
		}
	}
}

// fromElsewhere returns the archive that is built in a copy of the source. Compiled packages come from the
// cache: that the compiler gives the same bytes again is Go's promise, and costs minutes to see.
func fromElsewhere(t *testing.T, manual, target string) (name string, archive []byte) {
	other := filepath.Join(t.TempDir(), "elsewhere")
	if out, err := exec.Command("cp", "-r", root, other).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	binary, err := build(other, t.TempDir(), target)
	if err != nil {
		t.Fatal(err)
	}
	name, archive, err = pack(other, manual, target, binary)
	if err != nil {
		t.Fatal(err)
	}
	return name, archive
}

// namesIn returns the names in an archive, within its folder.
func namesIn(t *testing.T, name string, archive []byte) (names []string) {
	top, isZip := strings.CutSuffix(name, ".zip")
	top = strings.TrimSuffix(top, ".tar.gz")
	add := func(name string) {
		within, ok := strings.CutPrefix(name, top+"/")
		if !ok {
			t.Errorf("%s is not in the folder %s", name, top)
		}
		names = append(names, within)
	}
	if isZip {
		z, err := zip.NewReader(bytes.NewReader(archive), int64(len(archive)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range z.File {
			add(f.Name)
		}
		return names
	}
	z, err := gzip.NewReader(bytes.NewReader(archive))
	if err != nil {
		t.Fatal(err)
	}
	for r := tar.NewReader(z); ; {
		head, err := r.Next()
		if err == io.EOF {
			return names
		}
		if err != nil {
			t.Fatal(err)
		}
		if path.Base(head.Name) == "dpnbench" && head.Mode != 0o755 {
			t.Errorf("mode %o of the program", head.Mode)
		}
		add(head.Name)
	}
}

// TestSameArchive checks that neither the time, the owner nor the mode of a file gets into an
// archive.
func TestSameArchive(t *testing.T) {
	made := time.Unix(1_700_000_000, 0)
	archives := map[string]func(string, []file, time.Time) ([]byte, error){"tar": tarred, "zip": zipped}
	for name, archive := range archives {
		var first []byte
		for i, mode := range []os.FileMode{0o600, 0o755} {
			from := filepath.Join(t.TempDir(), "a")
			if err := os.WriteFile(from, []byte("text"), mode); err != nil {
				t.Fatal(err)
			}
			if err := os.Chtimes(from, made, made.Add(time.Duration(i)*time.Hour)); err != nil {
				t.Fatal(err)
			}
			b, err := archive("top", []file{{to: "a", from: from}}, made)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = b
			}
			if !bytes.Equal(b, first) {
				t.Errorf("%s: the archives differ", name)
			}
		}
		if _, err := archive("top", []file{{to: "a", from: "missing"}}, made); err == nil {
			t.Errorf("%s: no error for a missing file", name)
		}
	}
}

// TestAlone runs the program in an empty folder that it takes for the whole file system, as a
// container without a base image does.
func TestAlone(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: builds the program")
	}
	if runtime.GOOS != "linux" || os.Getuid() != 0 {
		t.Skip("only root on Linux may change the root folder of a process")
	}
	dir := t.TempDir()
	if _, err := build(root, dir, "linux/"+runtime.GOARCH); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"version"}, {"info"}, {"data", "fetch", "--help"},
		{"train", "--train-size", "200", "--epochs", "1", "--out", "/run"},
		{"predict-nothing"}} {
		out, err := alone(dir, args)
		if fails := args[0] == "predict-nothing"; (err != nil) != fails || len(out) == 0 {
			t.Errorf("%q: %v: %s", args, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, "run", "model.safetensors")); err != nil {
		t.Error(err)
	}
}
