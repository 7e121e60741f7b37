package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestTogether runs several fetches into one folder at once: all succeed, and with locks each byte is
// sent once.
func TestTogether(t *testing.T) {
	defer func(f func(string) (func(), error)) { acquire = f }(acquire)
	locking := acquire
	for name, lock := range map[string]func(string) (func(), error){
		"locks":    locking,
		"no locks": func(string) (func(), error) { return nil, errors.New("not supported") },
	} {
		acquire = lock
		for range 5 {
			body, files := wanted()
			m := newMirror(t, func(w http.ResponseWriter, r *http.Request, n int) {
				time.Sleep(time.Duration(n%3) * time.Millisecond)
				whole(body)(w, r, n)
			})
			dir := filepath.Join(t.TempDir(), "new")
			var group sync.WaitGroup
			for range 4 {
				group.Go(func() {
					if err := Files(context.Background(), dir,
						Options{Files: files, Mirrors: []string{m.URL}}); err != nil {
						t.Errorf("%s: %v", name, err)
					}
				})
			}
			group.Wait()
			if got, err := os.ReadFile(filepath.Join(dir, "file.gz")); err != nil || string(got) != string(body) {
				t.Errorf("%s: %d bytes, error %v", name, len(got), err)
			}
			m.Close() // so that all is counted
			if lock := runtime.GOOS != "windows" && name == "locks"; lock && m.sent != len(body) {
				t.Errorf("the server sent %d bytes, want each of the %d once", m.sent, len(body))
			}
		}
	}
}

// TestWaitsForAnother cancels a fetch that waits for another one; a fetch that has nothing to write
// does not wait.
func TestWaitsForAnother(t *testing.T) {
	body, files := wanted()
	dir := t.TempDir()
	release, err := acquire(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if _, err := acquire(dir); err == nil {
		t.Log("this system has no locks")
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), 3*lockPoll)
	defer cancel()
	err = Files(ctx, dir, Options{Files: files, Mirrors: []string{"http://127.0.0.1:1"}})
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beside another fetch: error %v, want that of the context", err)
	}
	if err := os.WriteFile(filepath.Join(dir, "file.gz"), body, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := Files(context.Background(), dir, Options{Files: files}); err != nil {
		t.Error(err)
	}
}

// TestNothingIsWrittenThrough replaces the file and its .part by links to another file of the user,
// which must stay unchanged.
func TestNothingIsWrittenThrough(t *testing.T) {
	body, files := wanted()
	m := newMirror(t, whole(body))
	for _, c := range []struct {
		name, at string
		put      func(old, new string) error
		fetched  bool // otherwise the error names what is in the way
	}{
		{"symbolic link, .part", "file.gz.part", os.Symlink, false},
		{"hard link, .part", "file.gz.part", os.Link, runtime.GOOS != "windows"},
		{"dangling link, .part", "file.gz.part", func(_, new string) error { return os.Symlink(new+"x", new) }, false},
		{"symbolic link", "file.gz", os.Symlink, false},
		{"hard link", "file.gz", os.Link, true},
		{"dangling link", "file.gz", func(_, new string) error { return os.Symlink(new+"x", new) }, false},
		{"pipe, .part", "file.gz.part", func(_, new string) error { return pipe(new) }, false},
		{"pipe", "file.gz", func(_, new string) error { return pipe(new) }, false},
	} {
		dir := t.TempDir()
		own, at := filepath.Join(t.TempDir(), "own"), filepath.Join(dir, c.at)
		if err := os.WriteFile(own, []byte("mine"), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := c.put(own, at); err != nil {
			t.Logf("%s: %v", c.name, err)
			continue
		}
		err := Files(context.Background(), dir, Options{Files: files, Mirrors: []string{m.URL}})
		if got, readErr := os.ReadFile(own); string(got) != "mine" {
			t.Errorf("%s: the user's file is %d bytes now (%v)", c.name, len(got), readErr)
		}
		if _, err := os.Stat(at + "x"); err == nil {
			t.Errorf("%s: a file was made at the end of the link", c.name)
		}
		if c.fetched {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
			}
			checkFetched(t, dir, body)
		} else if err == nil || !strings.Contains(err.Error(), at+" is in the way") {
			t.Errorf("%s: error %v, want that %s is in the way", c.name, err, at)
		}
	}
	// A link to the right file is as good as the file.
	dir, own := t.TempDir(), filepath.Join(t.TempDir(), "own")
	if err := os.WriteFile(own, body, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(own, filepath.Join(dir, "file.gz")); err != nil {
		t.Logf("no symbolic links: %v", err)
	} else if err := Files(context.Background(), dir, Options{Files: files}); err != nil {
		t.Errorf("a link to the right file: %v", err)
	}
}

// TestFolderThatCannotBeRead fetches into a folder that can be written but not listed.
func TestFolderThatCannotBeRead(t *testing.T) {
	body, files := wanted()
	m := newMirror(t, whole(body))
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o300); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(dir, 0o700)
	if err := Files(context.Background(), dir, Options{Files: files, Mirrors: []string{m.URL}}); err != nil {
		t.Errorf("a download that is right: %v", err)
	}
	checkFetched(t, dir, body)
}

// TestUnknownTotal resumes from a server that does not know the size.
func TestUnknownTotal(t *testing.T) {
	body, files := wanted()
	m := newMirror(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		w.Header().Set("Content-Range", fmt.Sprintf("bytes 1000-%d/*", len(body)-1))
		w.WriteHeader(http.StatusPartialContent)
		w.Write(body[1000:])
	})
	dir := t.TempDir()
	writePart(t, dir, body[:1000])
	if err := Files(context.Background(), dir, Options{Files: files, Mirrors: []string{m.URL}}); err != nil {
		t.Fatal(err)
	}
	checkFetched(t, dir, body)
	if asked := m.asked(); len(asked) != 1 {
		t.Errorf("requests with ranges %q, want one", asked)
	}
}

// TestNames refuses files that would lie outside of the folder.
func TestNames(t *testing.T) {
	for _, name := range []string{"", ".", "..", "../a", "a/b", "/a"} {
		if err := Files(context.Background(), t.TempDir(), Options{Files: []File{{Name: name}}}); err == nil ||
			!strings.Contains(err.Error(), "without a folder") {
			t.Errorf("name %q: error %v", name, err)
		}
	}
}

// TestMessages checks that errors have neither passwords nor control characters.
func TestMessages(t *testing.T) {
	_, files := wanted()
	hostile, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer hostile.Close()
	go func() {
		for {
			c, err := hostile.Accept()
			if err != nil {
				return
			}
			c.Read(make([]byte, 4096))
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nbad\x1b[2Jheader%s\r\n\r\n", strings.Repeat("x", 2000))
			c.Close()
		}
	}()
	away := newMirror(t, func(w http.ResponseWriter, r *http.Request, _ int) {
		w.Header().Set("Location", "http://name:secret@[bad/")
		w.WriteHeader(http.StatusFound)
	})
	gone := newMirror(t, func(w http.ResponseWriter, r *http.Request, _ int) { http.NotFound(w, r) })
	host := strings.TrimPrefix(gone.URL, "http://")
	for _, c := range []struct{ mirror, want string }{
		{"http://name:secret@" + host, "http://xxxxx@" + host + "/file.gz: 404 Not Found"},
		{"http://name:sec%2Fret@" + host + "/?key=secret", "?xxxxx: 404 Not Found"},
		{"http://name:secret@127.0.0.1:1", "refused"},
		{"http://name:sec/ret@host", "http://xxxxx@host/file.gz: not an address"},
		{"ftp://name:secret@" + host, "unsupported protocol"},
		{away.URL, "Location"},
		{"http://" + hostile.Addr().String(), `\x1b`},
	} {
		err := Files(context.Background(), t.TempDir(), Options{Files: files, Mirrors: []string{c.mirror}})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: error %v, want one with %q", c.mirror, err, c.want)
			continue
		}
		for _, secret := range []string{"secret", "sec/ret", "sec%2Fret", "name", "\x1b", "\n"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("%s: message %q has %q", c.mirror, err, secret)
			}
		}
		if len(err.Error()) > 600 {
			t.Errorf("%s: a message of %d bytes", c.mirror, len(err.Error()))
		}
	}
	for address, want := range map[string]string{
		"https://host/a/":              "https://host/a/",
		"https://u:p@host/a/?b=c":      "https://xxxxx@host/a/?xxxxx",
		"u:p@host":                     "xxxxx@host",
		"http://u:p/q@host":            "http://xxxxx@host",
		"ftp://u@host":                 "ftp://xxxxx@host",
		"https://user:p@ss@host/?s=a@": "https://xxxxx@host/?xxxxx",
		"a\x1bb":                       `a\x1bb`,
	} {
		if got := Redact(address); got != want {
			t.Errorf("Redact(%q) = %q, want %q", address, got, want)
		}
	}
}
