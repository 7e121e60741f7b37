package fetch

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestAttempts counts the requests to a mirror that breaks off and does not resume: four, then the next one is asked,
// which sends nothing the second time. Files are asked for as they are, not compressed on the way.
func TestAttempts(t *testing.T) {
	body, files := wanted()
	breaks := newMirror(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if e := r.Header.Get("Accept-Encoding"); e != "identity" {
			t.Errorf("asks for the encoding %q", e)
		}
		if n == 0 {
			cut(w, body, 1000)
		}
		w.Header().Set("Content-Range", "bytes "+strings.TrimPrefix(r.Header.Get("Range"), "bytes=")+"299999/300000")
		w.Header().Set("Content-Length", "0")
		w.WriteHeader(http.StatusPartialContent)
	})
	cuts := newMirror(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if r.Header.Get("Range") != "" {
			w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
			return
		}
		cut(w, body, 1000)
	})
	good := newMirror(t, whole(body))
	dir := t.TempDir()
	mirrors := []string{cuts.URL, breaks.URL, good.URL}
	if err := Files(context.Background(), dir, Options{Files: files, Mirrors: mirrors}); err != nil {
		t.Fatal(err)
	}
	checkFetched(t, dir, body)
	if s := strings.Join(cuts.asked(), ","); s != ",bytes=1000-,,bytes=1000-" {
		t.Errorf("requests with ranges %q, want four", s)
	}
	if n := len(breaks.asked()); n != 2 || len(good.asked()) != 1 {
		t.Errorf("%d requests to a mirror that sends nothing the second time, and %d to the next one", n,
			len(good.asked()))
	}
}

// TestHashesInCapitals takes hashes in letters of either size.
func TestHashesInCapitals(t *testing.T) {
	body, files := wanted()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "file.gz"), body, 0o600); err != nil {
		t.Fatal(err)
	}
	sum := strings.ToUpper(files[0].SHA256)
	for _, f := range []File{{Name: "file.gz", Size: files[0].Size, SHA256: sum}, {Name: "file.gz", Content: sum}} {
		o := Options{Files: []File{f}, Mirrors: []string{"http://127.0.0.1:1"}}
		if err := Files(context.Background(), dir, o); err != nil {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

// TestAddresses joins mirrors and names, and hides the query in what a server says about it.
func TestAddresses(t *testing.T) {
	for mirror, want := range map[string]string{
		"http://host/a": "http://host/a/file", "http://host/a/": "http://host/a/file",
		"http://host/?key=1": "http://host/file?key=1", "http://[host/": "http://[host/file",
		"http://[host": "http://[host/file",
	} {
		if got := join(mirror, "file"); got != want {
			t.Errorf("%s: %s, want %s", mirror, got, want)
		}
	}
	err := failure("http://host/file?key=hush", localError{os.ErrInvalid})
	if got := err.Error(); got != "http://host/file?xxxxx: invalid argument" {
		t.Error(got)
	}
	if got := failure("http://host/?key=hush", &attemptError{text: "no such key=hush"}).Error(); strings.Contains(got,
		"hush") {
		t.Error(got)
	}
}
