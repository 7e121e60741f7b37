//go:build unix

package output

import (
	"errors"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestLinks writes through links: the link stays, and its target gets the content.
func TestLinks(t *testing.T) {
	for _, c := range []struct{ name, link, at string }{
		{"link", "-> target", "target"},
		{"dangling link", "-> new", "new"},
		{"dangling link to another folder", "-> sub/../sub/new", "sub/new"},
		{"link to a link", "-> second", "target"},
	} {
		dir := t.TempDir()
		if err := os.Mkdir(filepath.Join(dir, "sub"), 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, dir, map[string]string{"link": c.link, "second": "-> target", "target": "old", "hard": ""})
		os.Remove(filepath.Join(dir, "hard"))
		if err := os.Link(filepath.Join(dir, "target"), filepath.Join(dir, "hard")); err != nil {
			t.Fatal(err)
		}
		want := holds(t, dir) // the hard link keeps the old content
		if err := Write(filepath.Join(dir, "link"), content("new")); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		if b, err := os.ReadFile(filepath.Join(dir, c.at)); err != nil || string(b) != "new" {
			t.Errorf("%s: the target holds %q, %v", c.name, b, err)
		}
		got := holds(t, dir)
		for _, m := range []map[string]string{want, got} {
			delete(m, c.at)
		}
		if !maps.Equal(got, want) {
			t.Errorf("%s: the folder holds %v, want %v", c.name, got, want)
		}
	}
	loop := filepath.Join(t.TempDir(), "loop")
	if err := os.Symlink("loop", loop); err != nil {
		t.Fatal(err)
	}
	if err := Write(loop, content("")); err == nil {
		t.Error("a link to itself was written")
	}
}

// TestOwner checks that mode and owner of a replaced file are kept.
func TestOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	put(t, filepath.Dir(path), map[string]string{"f": "old"})
	uid, gid := os.Getuid(), os.Getgid()
	if uid == 0 {
		uid, gid = 12345, 12346
	}
	if err := os.Chown(path, uid, gid); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o640); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, content("new")); err != nil {
		t.Fatal(err)
	}
	st, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	sys := st.Sys().(*syscall.Stat_t)
	if st.Mode().Perm() != 0o640 || int(sys.Uid) != uid || int(sys.Gid) != gid {
		t.Errorf("mode %v, owner %d:%d, want 0640, %d:%d", st.Mode(), sys.Uid, sys.Gid, uid, gid)
	}
}

// TestCheck declares an output under every name that a file can have.
func TestCheck(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for _, d := range []string{"run", "sub", "run/state"} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	os.Remove("run/state")
	put(t, dir, map[string]string{"in": "input", "run/model": "model", "to-in": "-> in", "to-absent": "-> absent",
		"to-run": "-> run", "to-state": "-> run/state", "nowhere": "-> none/x", "out": "output"})
	for from, to := range map[string]string{"in": "hard-in", "run/model": "hard-model"} {
		if err := os.Link(from, to); err != nil {
			t.Fatal(err)
		}
	}
	if err := syscall.Mkfifo("pipe", 0o600); err != nil {
		t.Fatal(err)
	}
	before := holds(t, dir)
	own := Names("model", "state", "same")
	for path, want := range map[string]string{
		"in": "is the input", "./sub/../in": "is the input", "to-in": "is the input", "hard-in": "is the input",
		filepath.Join(dir, "in"): "is the input",
		"run/model":              "that this command writes", "hard-model": "that this command writes",
		"to-run/model": "that this command writes", "to-run/state": "that this command writes",
		"run/state": "that this command writes", "to-state": "that this command writes",
		"absent": "is also the file of --other", "to-absent": "is also the file of --other",
		"sub": "is a folder", "new/": "is a folder", "none/x": "folder none does not exist",
		"nowhere": "does not exist", "in/x": "not a directory", strings.Repeat("x", 300): "file name too long",
		"out": "is also standard output",
		"new": "", "run/same": "", "run/new": "", "/dev/null": "", "sub/model": "",
	} {
		var f Files
		out, err := os.Open("out")
		if err != nil {
			t.Fatal(err)
		}
		f.Standard("standard output", out)
		out.Close()
		f.Input("--in", "in", "")
		f.Output("--other", "absent")
		f.Output("--json", path)
		f.Output("--none", "")
		f.Folder("--out", "run", own, "same")
		err = f.Check()
		switch {
		case want == "" && err != nil:
			t.Errorf("--json %s: %v", path, err)
		case want != "" && (err == nil || !strings.HasPrefix(err.Error(), "--json "+path) ||
			!strings.Contains(err.Error(), want)):
			t.Errorf("--json %s: error %v, want %q", path, err, want)
		}
	}
	for path, want := range map[string]string{"in": "is a file", "in/x": "not a directory", "nowhere": "no such file",
		"new/folder": "", "run": ""} {
		var f Files
		f.Folder("--out", path, own, "")
		if err := f.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("--out %s: error %v, want %q", path, err, want)
		}
	}
	if after := holds(t, dir); !maps.Equal(after, before) {
		t.Errorf("the check left %v, want %v", after, before)
	}
}

// TestProbe probes a folder, which must not change, and what is none.
func TestProbe(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, map[string]string{"file": ""})
	before, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := probe(dir); err != nil {
		t.Error(err)
	}
	after, err := os.Stat(dir)
	if err != nil {
		t.Fatal(err)
	}
	if known, _ := unnamed(dir); known && !after.ModTime().Equal(before.ModTime()) {
		t.Error("the probe had a name, under which a killed process would leave it")
	}
	for name, want := range map[string]error{"file": syscall.ENOTDIR, "none": syscall.ENOENT} {
		if err := probe(filepath.Join(dir, name)); !errors.Is(err, want) {
			t.Errorf("%s: error %v, want %v", name, err, want)
		}
	}
}

// TestOwnFiles checks files in the folder of a command: an input, a folder and a pipe are not replaced.
func TestOwnFiles(t *testing.T) {
	for kind, want := range map[string]string{"input": "would replace the input", "folder": "is a folder",
		"pipe": "not a regular file", "link": "would replace the input", "": ""} {
		dir := t.TempDir()
		model, input := filepath.Join(dir, "model"), filepath.Join(t.TempDir(), "input")
		put(t, filepath.Dir(input), map[string]string{"input": ""})
		var err error
		switch kind {
		case "input":
			err = os.Link(input, model)
		case "link":
			err = os.Symlink(input, model)
		case "folder":
			err = os.Mkdir(model, 0o755)
		case "pipe":
			err = syscall.Mkfifo(model, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
		var f Files
		f.Input("--config", input)
		f.Folder("--out", dir, Names("model"), "")
		if err := f.Check(); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", kind, err, want)
		}
	}
}

// TestTree checks that no file or folder of outputs lies within one that is read with all folders in it, by any name.
func TestTree(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"photos/cat", "photos2"} {
		if err := os.MkdirAll(filepath.Join(dir, name), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(filepath.Join(dir, "photos", "cat"), filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	for out, within := range map[string]bool{"photos": true, "photos/cat": true, "photos/new/run": true, "link": true,
		"link/new": true, "photos2/../photos": true, "photos2": false, "photos-run": false, ".": false, "run": false} {
		var f Files
		f.Tree("of --data photos", filepath.Join(dir, "photos"))
		f.Folder("--out", filepath.Join(dir, filepath.FromSlash(out)), Names("model"), "")
		err := f.Check()
		if (err != nil) != within || within && !strings.Contains(err.Error(), "lies within the input of --data") {
			t.Errorf("%s: error %v", out, err)
		}
		if info, err := os.Stat(filepath.Join(dir, out)); err != nil || !info.IsDir() {
			continue
		}
		var file Files
		file.Tree("of --data photos", filepath.Join(dir, "photos"))
		file.Output("--out", filepath.Join(dir, filepath.FromSlash(out), "p.csv"))
		err = file.Check()
		if (err != nil) != within || within && !strings.Contains(err.Error(), "lies within the input of --data") {
			t.Errorf("a file in %s: error %v", out, err)
		}
	}
}
