//go:build linux

package soak

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dpnbench/dataset/fetch"
	"dpnbench/engine/num"
)

// mirror is the variable that makes this program fetch the files from the address in it.
const mirror = "SOAK_MIRROR"

func TestMain(m *testing.M) {
	if address := os.Getenv(mirror); address != "" {
		err := fetch.Files(context.Background(), ".", fetch.Options{Mirrors: []string{address}, Files: fetched})
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
		os.Exit(0)
	}
	status := m.Run()
	if path := built(); path != "" {
		os.RemoveAll(filepath.Dir(path))
	}
	os.Exit(status)
}

// fetched are files of the sizes of real ones, a tenth as large: a real download cannot be part of
// a test.
var fetched = []fetch.File{served("images", 990_000), served("labels", 2_900), served("more-images", 160_000)}

func served(name string, size int) fetch.File {
	sum := sha256.Sum256(content(name, size))
	return fetch.File{Name: name, Size: int64(size), SHA256: hex.EncodeToString(sum[:])}
}

func content(name string, size int) []byte {
	b, r := make([]byte, size), num.NewRand(uint64(len(name)), 0)
	for i := range b {
		b[i] = byte(r.Intn(256))
	}
	return b
}

// serve starts a server that sends slowly, and from time to time breaks off or ignores the range.
var serve = sync.OnceValue(func() *httptest.Server {
	var requests atomic.Int64
	mux := http.NewServeMux()
	for _, f := range fetched {
		b := content(f.Name, int(f.Size))
		mux.HandleFunc("/"+f.Name, func(w http.ResponseWriter, q *http.Request) {
			n := requests.Add(1)
			if n%11 == 0 {
				q.Header.Del("Range")
			}
			slow := &slowly{ResponseWriter: w, until: 1 << 30}
			if n%7 == 0 && f.Size > 1<<16 { // a mirror that breaks off before it sends anything is given up
				slow.until = 1<<16 - 1
			}
			http.ServeContent(slow, q, "", time.Time{}, bytes.NewReader(b))
		})
	}
	return httptest.NewServer(mux)
})

// slowly sends about 4 MB a second, and fails after some bytes.
type slowly struct {
	http.ResponseWriter
	until int
}

func (s *slowly) Write(b []byte) (int, error) {
	sent := 0
	for len(b) > 0 {
		n := min(len(b), 16<<10)
		if s.until -= n; s.until < 0 {
			return sent, errors.New("broken off")
		}
		m, err := s.ResponseWriter.Write(b[:n])
		if sent += m; err != nil {
			return sent, err
		}
		b = b[n:]
		time.Sleep(4 * time.Millisecond)
	}
	return sent, nil
}

// fetching is the program that fetches into a folder.
func fetching(dir string) *program {
	return &program{path: os.Args[0], dir: dir, env: []string{mirror + "=" + serve().URL + "/"}}
}

// fetchTwice fetches into one folder by two processes at once. Those that are killed start again, until
// all have ended.
func (r *round) fetchTwice() error {
	running := 2
	for running > 0 {
		plans := make([]plan, running)
		for i := range plans {
			if plans[i] = r.plan(); plans[i].lines > 0 {
				plans[i] = plan{}
			}
		}
		outcomes := make([]*outcome, running)
		var wait sync.WaitGroup
		for i, p := range plans {
			wait.Go(func() { outcomes[i] = fetching(r.dir).start(r.t, p) })
		}
		wait.Wait()
		files, err := contents(r.dir)
		if err != nil {
			return err
		}
		for _, o := range outcomes {
			r.note(o)
			switch {
			case o.hung:
				return fmt.Errorf("no end after %v", hang)
			case o.status == 0:
				running--
			case !o.killed():
				return fmt.Errorf("status %d: %s", o.status, o.stderr)
			case len(temporaries(files)) > 0:
				r.writing++
			case len(files) == 0:
				r.untouched++
			}
		}
	}
	files, err := contents(r.dir)
	if err != nil {
		return err
	}
	if d := difference(files, r.s.want); d != "" {
		return errors.New(d)
	}
	return nil
}
