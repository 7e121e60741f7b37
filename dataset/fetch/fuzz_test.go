package fetch

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/internal/fuzzlimit"
	"dpnbench/internal/quote"
)

// answer is a server that sends the same answer to every request.
type answer struct {
	status int
	length int64
	ranges string
	body   []byte
}

// RoundTrip implements http.RoundTripper.
func (a *answer) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: a.status, ContentLength: a.length,
		Header: http.Header{"Content-Range": {a.ranges}}, Body: io.NopCloser(bytes.NewReader(a.body)), Request: r}, nil
}

// FuzzAnswer fetches a file, of which a part is there already, from a server that answers anything. The
// file appears if it is right, and errors are one line.
func FuzzAnswer(f *testing.F) {
	content := []byte("twelve bytes")
	sum := sha256.Sum256(content)
	file := File{Name: "file", Size: int64(len(content)), SHA256: hex.EncodeToString(sum[:])}
	f.Add(200, int64(12), "", content, []byte{})
	f.Add(206, int64(6), "bytes 6-11/12", content[6:], content[:6])
	f.Add(206, int64(-1), "bytes 6-11/*", content[6:], content[:6])
	f.Add(206, int64(6), "bytes 9223372036854775808-/%", content, content[:6])
	f.Add(416, int64(0), "\x1b[31m", content, []byte("wrong"))
	f.Add(302, int64(-9), "", bytes.Repeat(content, 100), bytes.Repeat(content, 2))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, status int, length int64, ranges string, body, part []byte) {
		a := &answer{status, length, ranges, body}
		opt := Options{Files: []File{file}, Mirrors: []string{"http://mirror/"}, Client: &http.Client{Transport: a}}
		path := filepath.Join(dir, file.Name)
		var err error
		// The buffer of 64 KiB is made for each attempt.
		fuzzlimit.Check(t, 64*(len(ranges)+len(body)+len(part))+2<<20, func() {
			os.Remove(path)
			if err := os.WriteFile(path+".part", part, 0o644); err != nil {
				t.Fatal(err)
			}
			err = Files(context.Background(), dir, opt)
		})
		there, readErr := os.ReadFile(path)
		switch {
		case err == nil && !bytes.Equal(there, content):
			t.Errorf("fetched %q, %v", there, readErr)
		case err != nil && readErr == nil:
			t.Errorf("the file is there with the error %v", err)
		case err != nil && (strings.ContainsAny(err.Error(), "\n\x1b") || len(err.Error()) > 3000):
			t.Errorf("error %q, expected one short line", err)
		}
	})
}

// FuzzRedact hides the secrets of any address.
func FuzzRedact(f *testing.F) {
	for _, s := range []string{"http://user:secret@host/path?key=1", "http://[::1", "://a@b", "a\x1b@?\n", "//@@//?",
		"http://%zz@h/"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		var got string
		fuzzlimit.Check(t, 64*len(address)+1<<20, func() {
			got = Redact(address)
			_ = join(address, "file")
		})
		if quote.Text(got) != got {
			t.Errorf("%q: %q", address, got)
		}
		with := "http://user:" + "secretsecret" + "@host/"
		if got := failure(with, &attemptError{with + address, nil}).Error(); strings.Contains(got, "secretsecret") {
			t.Errorf("%q: %q", address, got)
		}
	})
}
