package fetch

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"dpnbench/dataset/source"
)

// mirrorServer serves one file and records the requests.
type mirrorServer struct {
	*httptest.Server
	mu     sync.Mutex
	ranges []string // the Range header of each request
	sent   int      // bytes of all bodies
}

// newMirror starts a mirror; serve answers request number n, from 0 on.
func newMirror(t *testing.T, serve func(w http.ResponseWriter, r *http.Request, n int)) *mirrorServer {
	m := &mirrorServer{}
	m.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.mu.Lock()
		n := len(m.ranges)
		m.ranges = append(m.ranges, r.Header.Get("Range"))
		m.mu.Unlock()
		serve(counter{w, m}, r, n)
	}))
	t.Cleanup(m.Close)
	return m
}

// asked returns the Range headers of the requests so far.
func (m *mirrorServer) asked() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return append([]string{}, m.ranges...)
}

// counter counts the bytes of a body.
type counter struct {
	http.ResponseWriter
	m *mirrorServer
}

func (c counter) Write(b []byte) (int, error) {
	n, err := c.ResponseWriter.Write(b)
	c.m.mu.Lock()
	c.m.sent += n
	c.m.mu.Unlock()
	return n, err
}

func (c counter) Unwrap() http.ResponseWriter { return c.ResponseWriter }

// whole answers correctly, including ranges.
func whole(body []byte) func(http.ResponseWriter, *http.Request, int) {
	return func(w http.ResponseWriter, r *http.Request, _ int) {
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
	}
}

// cut announces the whole file and breaks off after n bytes.
func cut(w http.ResponseWriter, body []byte, n int) {
	w.Header().Set("Content-Length", fmt.Sprint(len(body)))
	w.Write(body[:n])
	http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// wanted is the file that the tests fetch, and its description.
func wanted() (body []byte, files []File) {
	body = make([]byte, 300_000)
	rand.NewChaCha8([32]byte{}).Read(body)
	sum := sha256.Sum256(body)
	return body, []File{{Name: "file.gz", Size: int64(len(body)), SHA256: hex.EncodeToString(sum[:])}}
}

// checkFetched fails the test unless dir holds the file under its final name,
// and nothing else.
func checkFetched(t *testing.T, dir string, body []byte) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(dir, "file.gz"))
	if err != nil {
		t.Error(err)
	} else if !bytes.Equal(got, body) {
		t.Error("the file's content is wrong")
	}
	if _, err := os.Stat(filepath.Join(dir, "file.gz.part")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a .part is left: %v", err)
	}
}

// checkAbsent fails the test when dir holds the file under its final name.
func checkAbsent(t *testing.T, dir string) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(dir, "file.gz")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a file is there under its final name: %v", err)
	}
}

func writePart(t *testing.T, dir string, b []byte) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "file.gz.part"), b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestFiles(t *testing.T) {
	body, files := wanted()
	m := newMirror(t, whole(body))
	dir := filepath.Join(t.TempDir(), "new", "folder")
	var last, calls int64
	opt := Options{Files: files, Mirrors: []string{m.URL + "/some/path/"},
		Progress: func(name string, done, total int64) {
			if name != "file.gz" || total != int64(len(body)) || done < last {
				t.Errorf("progress of %q: %d of %d after %d", name, done, total, last)
			}
			last = done
			calls++
		}}
	if err := Files(context.Background(), dir, opt); err != nil {
		t.Fatal(err)
	}
	checkFetched(t, dir, body)
	if last != int64(len(body)) || calls < 3 {
		t.Errorf("progress ended at %d after %d calls", last, calls)
	}

	// An existing file is reported, not fetched again.
	calls = 0
	if err := Files(context.Background(), dir, opt); err != nil {
		t.Fatal(err)
	}
	if n := len(m.asked()); n != 1 || calls != 1 {
		t.Errorf("%d requests and %d reports for a file that is there, want 1 from before and 1", n, calls)
	}

	// A damaged file is replaced.
	if err := os.WriteFile(filepath.Join(dir, "file.gz"), body[1:], 0o644); err != nil {
		t.Fatal(err)
	}
	last = 0
	if err := Files(context.Background(), dir, opt); err != nil {
		t.Fatal(err)
	}
	checkFetched(t, dir, body)
}

func TestResumesWithinACall(t *testing.T) {
	body, files := wanted()
	m := newMirror(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n == 0 {
			cut(w, body, 200_000)
		}
		whole(body)(w, r, n)
	})
	dir := t.TempDir()
	if err := Files(context.Background(), dir, Options{Files: files, Mirrors: []string{m.URL}}); err != nil {
		t.Fatal(err)
	}
	checkFetched(t, dir, body)
	asked := m.asked()
	if len(asked) != 2 || asked[0] != "" || asked[1] != "bytes=200000-" {
		t.Errorf("requests with ranges %q, want none and then bytes=200000-", asked)
	}
	if m.sent != len(body) {
		t.Errorf("the server sent %d bytes, want each of the %d once", m.sent, len(body))
	}
}

func TestResumesALaterCall(t *testing.T) {
	body, files := wanted()
	broken := newMirror(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if r.Header.Get("Range") != "" {
			http.Error(w, "gone", http.StatusGone)
			return
		}
		cut(w, body, 123_456)
	})
	dir := t.TempDir()
	err := Files(context.Background(), dir, Options{Files: files, Mirrors: []string{broken.URL}})
	if err == nil || !strings.Contains(err.Error(), "broke off after 123456 of 300000 bytes") ||
		!strings.Contains(err.Error(), "410 Gone") {
		t.Fatalf("a mirror that breaks off gives %v", err)
	}
	checkAbsent(t, dir)
	good := newMirror(t, whole(body))
	if err := Files(context.Background(), dir, Options{Files: files, Mirrors: []string{good.URL}}); err != nil {
		t.Fatal(err)
	}
	checkFetched(t, dir, body)
	if asked := good.asked(); len(asked) != 1 || asked[0] != "bytes=123456-" {
		t.Errorf("requests with ranges %q, want bytes=123456-", asked)
	}
	if good.sent != len(body)-123_456 {
		t.Errorf("the server sent %d bytes, want the %d that were missing", good.sent, len(body)-123_456)
	}
}

// Unusable .part files: each leads to one complete download, whose last request has no range.
func TestStartsAgain(t *testing.T) {
	body, files := wanted()
	other := bytes.Clone(body)
	other[5]++
	for name, c := range map[string]struct {
		part     []byte
		serve    func(http.ResponseWriter, *http.Request, int)
		requests []string
	}{
		"longer than the file": {append(bytes.Clone(body), 1), whole(body), []string{""}},
		"other content":        {other[:1000], whole(body), []string{"bytes=1000-", ""}},
		"whole but wrong":      {other, whole(body), []string{""}},
		"range ignored": {body[:1000], func(w http.ResponseWriter, r *http.Request, _ int) {
			w.Write(body)
		}, []string{"bytes=1000-"}},
		"range refused": {body[:1000], func(w http.ResponseWriter, r *http.Request, n int) {
			if r.Header.Get("Range") != "" {
				w.WriteHeader(http.StatusRequestedRangeNotSatisfiable)
				return
			}
			w.Write(body)
		}, []string{"bytes=1000-", ""}},
		"another range sent": {body[:1000], func(w http.ResponseWriter, r *http.Request, n int) {
			if r.Header.Get("Range") != "" {
				w.Header().Set("Content-Range", fmt.Sprintf("bytes 0-%d/%d", len(body)-1, len(body)))
				w.WriteHeader(http.StatusPartialContent)
			}
			w.Write(body)
		}, []string{"bytes=1000-", ""}},
		"range of another file": {body[:1000], func(w http.ResponseWriter, r *http.Request, n int) {
			if r.Header.Get("Range") != "" {
				w.Header().Set("Content-Range", "bytes 1000-1999/2000")
				w.WriteHeader(http.StatusPartialContent)
				w.Write(body[:1000])
				return
			}
			w.Write(body)
		}, []string{"bytes=1000-", ""}},
	} {
		m := newMirror(t, c.serve)
		dir := t.TempDir()
		writePart(t, dir, c.part)
		if err := Files(context.Background(), dir, Options{Files: files, Mirrors: []string{m.URL}}); err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		checkFetched(t, dir, body)
		if asked := m.asked(); strings.Join(asked, ",") != strings.Join(c.requests, ",") {
			t.Errorf("%s: requests with ranges %q, want %q", name, asked, c.requests)
		}
	}
}

func TestUsesAWholePart(t *testing.T) {
	body, files := wanted()
	dir := t.TempDir()
	writePart(t, dir, body)
	if err := Files(context.Background(), dir, Options{Files: files,
		Mirrors: []string{"http://127.0.0.1:1"}}); err != nil {
		t.Fatal(err)
	}
	checkFetched(t, dir, body)
}

func TestWrongContent(t *testing.T) {
	body, files := wanted()
	wrong := bytes.Clone(body)
	wrong[100]++
	for name, c := range map[string]struct {
		serve func(http.ResponseWriter, *http.Request, int)
		want  string
	}{
		"wrong hash": {whole(wrong), "SHA-256"},
		"short":      {whole(body[:1000]), "offers 1000 bytes, expected 300000"},
		// Noticed at once, or by the hash when a read ends exactly at the size.
		"endless": {func(w http.ResponseWriter, r *http.Request, _ int) {
			for {
				if _, err := w.Write(wrong); err != nil {
					return
				}
			}
		}, ""},
		"not there": {func(w http.ResponseWriter, r *http.Request, _ int) {
			http.NotFound(w, r)
		}, "404 Not Found"},
	} {
		m := newMirror(t, c.serve)
		dir := t.TempDir()
		err := Files(context.Background(), dir, Options{Files: files, Mirrors: []string{m.URL}})
		if failed, ok := errors.AsType[*Error](err); !ok || failed.File != "file.gz" || len(failed.Failures) != 1 {
			t.Errorf("%s: %v, want a *Error with one failure", name, err)
			continue
		}
		if !strings.Contains(err.Error(), m.URL+"/file.gz: ") || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: message %q lacks the address or %q", name, err, c.want)
		}
		checkAbsent(t, dir)
		if _, err := os.Stat(filepath.Join(dir, "file.gz.part")); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a wrong .part is left: %v", name, err)
		}
	}
}

func TestTriesMirrorsInOrder(t *testing.T) {
	body, files := wanted()
	missing := newMirror(t, func(w http.ResponseWriter, r *http.Request, _ int) { http.NotFound(w, r) })
	good := newMirror(t, whole(body))
	spare := newMirror(t, whole(body))
	dir := t.TempDir()
	mirrors := []string{"http://127.0.0.1:1", missing.URL, good.URL, spare.URL}
	if err := Files(context.Background(), dir, Options{Files: files, Mirrors: mirrors}); err != nil {
		t.Fatal(err)
	}
	checkFetched(t, dir, body)
	if a, b, c := len(missing.asked()), len(good.asked()), len(spare.asked()); a != 1 || b != 1 || c != 0 {
		t.Errorf("mirrors were asked %d, %d and %d times, want 1, 1 and 0", a, b, c)
	}

	err := Files(context.Background(), t.TempDir(), Options{Files: files, Mirrors: mirrors[:2]})
	if err == nil {
		t.Fatal("no mirror has the file, yet there is no error")
	}
	for _, w := range []string{"file.gz", "http://127.0.0.1:1/file.gz: ", "refused",
		missing.URL + "/file.gz: 404 Not Found"} {
		if !strings.Contains(err.Error(), w) {
			t.Errorf("message %q lacks %q", err, w)
		}
	}
	if strings.Contains(err.Error(), "\n") {
		t.Errorf("message %q has more than one line", err)
	}
}

func TestCancelled(t *testing.T) {
	body, files := wanted()
	release := make(chan struct{})
	m := newMirror(t, func(w http.ResponseWriter, r *http.Request, n int) {
		if n > 0 {
			whole(body)(w, r, n)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(body)))
		w.Write(body[:100_000])
		http.NewResponseController(w).Flush()
		<-release
	})
	defer close(release)
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(context.Background())
	opt := Options{Files: files, Mirrors: []string{m.URL, m.URL}, Progress: func(_ string, done, _ int64) {
		if done == 100_000 {
			cancel()
		}
	}}
	err := Files(ctx, dir, opt)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after cancelling the error is %v", err)
	}
	checkAbsent(t, dir)
	if n := len(m.asked()); n != 1 {
		t.Errorf("%d requests, want none after cancelling", n)
	}
	opt.Progress = nil
	if err := Files(context.Background(), dir, opt); err != nil {
		t.Fatal(err)
	}
	checkFetched(t, dir, body)
	if asked := m.asked(); len(asked) != 2 || asked[1] != "bytes=100000-" {
		t.Errorf("requests with ranges %q, want the second to go on at 100000", asked)
	}
}

func TestGivesUpOnASilentMirror(t *testing.T) {
	body, files := wanted()
	release := make(chan struct{})
	silent := newMirror(t, func(http.ResponseWriter, *http.Request, int) { <-release })
	defer close(release)
	good := newMirror(t, whole(body))
	dir := t.TempDir()
	opt := Options{Files: files, Mirrors: []string{silent.URL}, Stall: 50 * time.Millisecond}
	if err := Files(context.Background(), dir, opt); err == nil || !strings.Contains(err.Error(), "nothing received") {
		t.Errorf("a silent mirror gives %v", err)
	}
	opt.Mirrors = append(opt.Mirrors, good.URL)
	opt.Stall = time.Second
	if err := Files(context.Background(), dir, opt); err != nil {
		t.Fatal(err)
	}
	checkFetched(t, dir, body)
}

func TestSaysWhenTheDiskIsToBlame(t *testing.T) {
	body, files := wanted()
	m := newMirror(t, whole(body))
	for name, blocked := range map[string]string{"final": "file.gz", "part": "file.gz.part"} {
		dir := t.TempDir()
		// A folder with something in it can be neither written nor removed.
		if err := os.MkdirAll(filepath.Join(dir, blocked, "x"), 0o755); err != nil {
			t.Fatal(err)
		}
		err := Files(context.Background(), dir, Options{Files: files, Mirrors: []string{m.URL}})
		if err == nil || errors.As(err, new(*Error)) || !strings.Contains(err.Error(), filepath.Join(dir, blocked)) {
			t.Errorf("%s: %v, want an error that names what is in the way", name, err)
		}
	}
}

// TestMNISTIsPinned checks that sizes and hashes of MNIST's files are fixed, and that Open looks
// for them by these names.
func TestMNISTIsPinned(t *testing.T) {
	for _, name := range source.Named() {
		files, mirrors := Named(name)
		if len(files) != 4 || len(mirrors) < 2 {
			t.Errorf("%s: %d files, %d mirrors", name, len(files), len(mirrors))
		}
		for _, f := range files {
			if sum, err := hex.DecodeString(f.Content); err != nil || len(sum) != sha256.Size || f.Size <= 0 ||
				f.Size > 1<<25 {
				t.Errorf("%s: %+v is not pinned", name, f)
			}
		}
	}
	dir := t.TempDir()
	for i, f := range mnistFiles {
		if sum, err := hex.DecodeString(f.SHA256); err != nil || len(sum) != sha256.Size || f.Size <= 0 ||
			f.Size > 1<<24 {
			t.Errorf("%+v is not pinned", f)
		}
		if err := os.WriteFile(filepath.Join(dir, f.Name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		// Labels of no bytes are complained about once a split's two files are found.
		_, err := source.Open(dir, source.Options{TestOnly: i >= 2})
		if missing, half := errors.Is(err, fs.ErrNotExist), i%2 == 0; missing != half {
			t.Errorf("%d of MNIST's files, all empty: error %v", i+1, err)
		}
	}
}

// A file that is compressed in another way, or not at all, counts by what it holds.
func TestContentCounts(t *testing.T) {
	content := bytes.Repeat([]byte("some content "), 1000)
	sum := sha256.Sum256(content)
	pack := func(level int, b []byte) []byte {
		var out bytes.Buffer
		z, err := gzip.NewWriterLevel(&out, level)
		if err != nil {
			t.Fatal(err)
		}
		z.Write(b)
		z.Close()
		return out.Bytes()
	}
	usual := pack(gzip.BestCompression, content)
	packed := sha256.Sum256(usual)
	file := File{Name: "file.gz", Size: int64(len(usual)), SHA256: hex.EncodeToString(packed[:]),
		Content: hex.EncodeToString(sum[:])}
	for name, c := range map[string]struct {
		body []byte
		ok   bool
	}{
		"the usual":      {usual, true},
		"compressed":     {pack(gzip.NoCompression, content), true},
		"not compressed": {content, true},
		"other content":  {pack(gzip.BestSpeed, content[1:]), false},
		"damaged":        {usual[:len(usual)-5], false},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(c.body))
		}))
		for _, there := range []bool{true, false} {
			dir := t.TempDir()
			path := filepath.Join(dir, file.Name)
			mirrors := []string{server.URL}
			if there && c.ok {
				mirrors = []string{"http://127.0.0.1:1/"} // not asked
				if err := os.WriteFile(path, c.body, 0o600); err != nil {
					t.Fatal(err)
				}
			}
			err := Files(context.Background(), dir, Options{Files: []File{file}, Mirrors: mirrors})
			got, _ := os.ReadFile(path)
			if (err == nil) != c.ok || c.ok && !bytes.Equal(got, c.body) {
				t.Errorf("%s, there %t: %v, %d bytes", name, there, err, len(got))
			}
		}
		server.Close()
	}
}
