package output

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

const (
	// longName is the length in bytes from which a temporary file does not bear the whole name of its
	// file. File systems allow 255 bytes, or 143 with encrypted names.
	longName = 100

	// abandoned is the age after which a temporary file that cannot be locked is removed.
	abandoned = time.Hour

	probeName = "writable" // takes the place of the file's name in a probe
)

// temporaryPattern matches the names of all temporary files.
var temporaryPattern = regexp.MustCompile(`^\..+\.unfinished-[A-Z2-7]{26}$`)

// temporaryPrefix returns the folder of the temporary files of target, and how their names begin.
func temporaryPrefix(target string) (dir, prefix string) {
	dir, name := filepath.Split(target)
	if dir == "" {
		dir = "."
	}
	if len(name) > longName {
		sum := sha256.Sum256([]byte(name))
		cut := longName - 17
		for !utf8.RuneStart(name[cut]) && cut > longName-21 {
			cut--
		}
		name = name[:cut] + "-" + hex.EncodeToString(sum[:8])
	}
	return dir, "." + name + ".unfinished-"
}

// createTemporary creates a temporary file for target and locks it, so that no other process
// takes it for one that was left behind.
func createTemporary(target string, mode os.FileMode) (*os.File, error) {
	dir, prefix := temporaryPrefix(target)
	for {
		f, err := create(filepath.Join(dir, prefix+rand.Text()), os.O_RDWR|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return nil, err
		}
		lock(f, true)
		here, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, err
		}
		// Another process may have removed it before it was locked.
		if there, err := os.Lstat(f.Name()); !errors.Is(err, fs.ErrNotExist) &&
			(err != nil || os.SameFile(here, there)) {
			return f, nil
		}
		f.Close()
	}
}

// probe fails if no file can be created in dir.
func probe(dir string) error {
	if known, err := unnamed(dir); known {
		return err
	}
	f, err := createTemporary(filepath.Join(dir, probeName), 0o600)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// cleaned holds the targets whose temporary files this process has removed.
var cleaned sync.Map

// clean removes the temporary files that killed processes have left for target, and probes of its
// folder. It looks once for each target.
func clean(target string) {
	if _, again := cleaned.LoadOrStore(target, true); again {
		return
	}
	dir, prefix := temporaryPrefix(target)
	_, probes := temporaryPrefix(probeName)
	removeAbandoned(dir, func(name string) bool {
		return strings.HasPrefix(name, prefix) || strings.HasPrefix(name, probes)
	})
}

// CleanFolder is Finish, and removes the temporary files that killed processes have left in dir.
func CleanFolder(dir string) { removeAbandoned(dir, func(string) bool { return true }) }

func removeAbandoned(dir string, of func(name string) bool) {
	finish(dir, false)
	list, _ := os.ReadDir(dir)
	for _, e := range list {
		if !temporaryPattern.MatchString(e.Name()) || !of(e.Name()) || !e.Type().IsRegular() {
			continue
		}
		path := filepath.Join(dir, e.Name())
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		free, known := lock(f, false)
		if !known {
			st, err := f.Stat()
			free = err == nil && time.Since(st.ModTime()) > abandoned
		}
		if !known { // systems without such locks do not remove an open file
			f.Close()
		}
		if free {
			remove(path)
		}
		f.Close()
	}
}

// TempDir makes a folder for temporary files in the system's folder for them, and removes those
// with the same prefix that killed processes have left. remove removes it with its content.
func TempDir(prefix string) (dir string, remove func(), err error) {
	prefix += "unfinished-"
	list, _ := os.ReadDir(os.TempDir())
	for _, e := range list {
		number, ours := strings.CutPrefix(e.Name(), prefix)
		if !ours || !e.IsDir() || strings.Trim(number, "0123456789") != "" {
			continue
		}
		path := filepath.Join(os.TempDir(), e.Name())
		f, err := os.Open(path)
		if err != nil {
			continue
		}
		if st, err := f.Stat(); err == nil && time.Since(st.ModTime()) > time.Minute { // it may not be locked yet
			if free, known := lock(f, false); free && known {
				os.RemoveAll(path)
			}
		}
		f.Close()
	}
	if dir, err = os.MkdirTemp("", prefix); err != nil {
		return "", nil, err
	}
	held, err := os.Open(dir)
	if err == nil {
		lock(held, true)
	}
	return dir, func() {
		os.RemoveAll(dir)
		held.Close()
	}, nil
}
