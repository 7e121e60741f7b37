package output

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"dpnbench/internal/fuzzlimit"
	"dpnbench/internal/testprocess"
)

// dieAt has the process kill itself before its n-th change of names in a file system.
func dieAt(n int) {
	step := func() {
		if n--; n == 0 {
			p, _ := os.FindProcess(os.Getpid())
			p.Kill()
			select {}
		}
	}
	rename = func(from, to string) error { step(); return os.Rename(from, to) }
	link = func(from, to string) error { step(); return os.Link(from, to) }
	remove = func(path string) error { step(); return os.Remove(path) }
	create = func(name string, flag int, mode os.FileMode) (*os.File, error) {
		step()
		return os.OpenFile(name, flag, mode)
	}
}

// swap is the batch of TestKilled: it removes, replaces and creates files, some in a folder within dir.
func swap(dir string) error {
	var b Batch
	defer b.Discard()
	path := func(name string) string { return filepath.Join(dir, name) }
	b.Remove(path("gone"))
	b.Remove(path("b")) // and written below
	b.Remove(path("never there"))
	for _, name := range []string{"a", "b", "b", "c", "parts/p", "link"} {
		if err := b.Write(path(name), content("new "+name)); err != nil {
			return err
		}
	}
	b.Remove(path("parts/q"))
	return b.Commit()
}

// TestKilled kills a process before each change of names while it replaces a set of files, and then has another one
// finish, write to the folder, or repeat the set. The files are all old or all new, and no other file stays.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("OUTPUT_TEST_DIR"); dir != "" {
		var n int
		fmt.Sscan(os.Getenv("OUTPUT_TEST_DIES"), &n)
		dieAt(n)
		if err := swap(dir); err != nil {
			t.Fatal(err)
		}
		return
	}
	old := map[string]string{"a": "old", "b": "old", "gone": "old", "link": "-> target", "target": "old link"}
	fresh := map[string]string{"a": "new a", "b": "new b", "c": "new c", "link": "-> target", "target": "new link"}
	oldParts, freshParts := map[string]string{"q": "old"}, map[string]string{"p": "new parts/p"}
	kills, finished := 0, 0
	for n := 1; ; n++ {
		dir := filepath.Join(t.TempDir(), "out")
		parts := filepath.Join(dir, "parts")
		if err := os.MkdirAll(parts, 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, dir, old)
		put(t, parts, oldParts)
		c := testprocess.New(t, "TestKilled", "OUTPUT_TEST_DIR="+dir, fmt.Sprint("OUTPUT_TEST_DIES=", n))
		text, err := c.CombinedOutput()
		if err != nil && (c.ProcessState == nil || c.ProcessState.ExitCode() == 1) { // not started, or not killed
			t.Fatalf("%v: %s", err, text)
		}
		switch n % 3 {
		case 0:
			CleanFolder(dir)
		case 1:
			if err := Write(filepath.Join(dir, "other"), content("other")); err != nil {
				t.Fatal(err)
			}
			os.Remove(filepath.Join(dir, "other"))
			CleanFolder(dir)
		case 2:
			if err := swap(dir); err != nil {
				t.Fatal(err)
			}
			CleanFolder(dir)
		}
		CleanFolder(parts)
		got, gotParts := holds(t, dir), holds(t, parts)
		delete(got, "parts")
		isNew := maps.Equal(got, fresh) && maps.Equal(gotParts, freshParts)
		if !isNew && (n%3 == 2 || !maps.Equal(got, old) || !maps.Equal(gotParts, oldParts)) {
			t.Errorf("killed before change %d: the folder holds %v and %v", n, got, gotParts)
		}
		if err == nil {
			break
		}
		if kills++; isNew && n%3 != 2 {
			finished++
		}
	}
	t.Logf("%d kills, %d of them finished by others", kills, finished)
	if kills < 20 || finished < 5 {
		t.Errorf("%d kills, %d of them finished by others", kills, finished)
	}
}

// TestJournalRefused commits where there are no links, and where the journal cannot be written.
func TestJournalRefused(t *testing.T) {
	defer func() { rename, create, link = os.Rename, os.OpenFile, os.Link }()
	for _, c := range []struct {
		name        string
		link, write error
		fails       bool
	}{
		{"no links", syscall.EPERM, nil, false},
		{"no journal", nil, syscall.EACCES, false},
		{"disk full", nil, syscall.ENOSPC, true},
	} {
		dir := t.TempDir()
		put(t, dir, map[string]string{"a": "old", "b": "old"})
		link = func(from, to string) error {
			if c.link != nil {
				return &os.LinkError{Op: "link", Old: from, New: to, Err: c.link}
			}
			return os.Link(from, to)
		}
		create = func(name string, flag int, mode os.FileMode) (*os.File, error) {
			if c.write != nil && strings.Contains(name, journalName) {
				return nil, &os.PathError{Op: "open", Path: name, Err: c.write}
			}
			return os.OpenFile(name, flag, mode)
		}
		var b Batch
		for _, name := range []string{"a", "b"} {
			if err := b.Write(filepath.Join(dir, name), content("new")); err != nil {
				t.Fatal(err)
			}
		}
		err := b.Commit()
		want := map[string]string{"a": "new", "b": "new"}
		if c.fails {
			want = map[string]string{"a": "old", "b": "old"}
		}
		if got := holds(t, dir); (err != nil) != c.fails || !maps.Equal(got, want) {
			t.Errorf("%s: error %v, the folder holds %v", c.name, err, got)
		}
		if err != nil && strings.Contains(err.Error(), "unfinished") {
			t.Errorf("%s: error %v names a temporary file", c.name, err)
		}
	}
}

// TestForeignJournal finds journals that no batch has written: nothing changes but the journal.
func TestForeignJournal(t *testing.T) {
	temporary := ".f.unfinished-ABCDEFGHIJKLMNOPQRSTUVWXYZ"
	for _, text := range []string{"", "[", "null", "{}", `[{"file":"../out"}]`, `[{"file":"/etc/passwd"}]`,
		`[{"file":"f"},{"file":"sub/../g"}]`, `[{"file":"f"},{"file":"."}]`, `[{"file":""}]`,
		`[{"file":"f","temporary":"g"}]`, `[{"file":"g","temporary":"` + temporary + `"}]`,
		`[{"file":"f","temporary":"../` + temporary + `"}]`, strings.Repeat(" ", mostJournal+1)} {
		top := t.TempDir()
		dir := filepath.Join(top, "in")
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		put(t, top, map[string]string{"out": "out", temporary: "temporary"})
		put(t, dir, map[string]string{"f": "f", "g": "g", temporary: "temporary"})
		want, wantTop := holds(t, dir), holds(t, top)
		put(t, dir, map[string]string{journalName: text})
		Finish(dir)
		if got := holds(t, dir); !maps.Equal(got, want) || !maps.Equal(holds(t, top), wantTop) {
			t.Errorf("%.60q: the folder holds %v", text, got)
		}
	}
}

// TestLiveJournal checks that the journal of a batch that is being committed is left alone, by others than a commit.
func TestLiveJournal(t *testing.T) {
	dir := t.TempDir()
	var b Batch
	for _, name := range []string{"a", "b"} {
		if err := b.Write(filepath.Join(dir, name), content("new")); err != nil {
			t.Fatal(err)
		}
	}
	j, err := b.journal()
	if err != nil {
		t.Fatal(err)
	}
	if _, known := lock(j.held, false); !known {
		t.Skip("no locks here")
	}
	before := holds(t, dir)
	Finish(dir)
	CleanFolder(dir)
	if got := holds(t, dir); !maps.Equal(got, before) {
		t.Errorf("the folder holds %v, want %v", got, before)
	}
	done := make(chan error)
	go func() { // waits for the journal
		var other Batch
		for _, name := range []string{"b", "c"} {
			if err := other.Write(filepath.Join(dir, name), content("newer")); err != nil {
				done <- err
				return
			}
		}
		done <- other.Commit()
	}()
	for _, i := range b.items {
		if err := i.install(); err != nil {
			t.Fatal(err)
		}
	}
	j.end()
	b.Discard()
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if got, want := holds(t, dir), map[string]string{"a": "new", "b": "newer", "c": "newer"}; !maps.Equal(got, want) {
		t.Errorf("the folder holds %v, want %v", got, want)
	}
}

// FuzzJournal reads the journal of a folder that someone else has made: changes stay in it, come from temporary files
// only, and are those of the text.
func FuzzJournal(f *testing.F) {
	f.Add([]byte(`[{"file":"a","temporary":".a.unfinished-ABCDEFGHIJKLMNOPQRSTUVWXYZ"},{"file":"parts/b"}]`))
	f.Add([]byte(`[{"file":"../a"}]`))
	f.Add(bytes.Repeat([]byte(`[{"file":`), 100))
	f.Fuzz(func(t *testing.T, text []byte) {
		var list []change
		var err error
		fuzzlimit.Check(t, 64*len(text)+1<<20, func() { list, err = parseJournal(text) })
		if err != nil {
			return
		}
		for _, c := range list {
			if !filepath.IsLocal(c.File) || !filepath.IsLocal(filepath.Join("x", filepath.Dir(c.File), c.Temporary)) ||
				c.Temporary != "" && !temporaryPattern.MatchString(c.Temporary) {
				t.Errorf("%q: change %+v", text, c)
			}
		}
	})
}
