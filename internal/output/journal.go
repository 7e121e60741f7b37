package output

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode/utf8"

	"dpnbench/internal/regular"
)

// A batch that changes several files of a folder, or of folders in it, writes a journal before it changes the
// first one. If the process is killed on the way, the journal stays, and the next command that writes to the
// folder makes the remaining changes. Making a change again does nothing, so it does not matter how far the
// process had come.

// journalName is the file with the changes of a batch. It appears with its whole content.
const journalName = ".unfinished-commit"

const mostJournal = 1 << 20 // bytes

// change is an entry of a journal.
type change struct {
	File      string `json:"file"`                // as seen from the folder of the journal
	Temporary string `json:"temporary,omitempty"` // name of its new content, in its folder; empty: it is removed
}

// valid refuses what JSON cannot hold, and changes that no batch makes: outside the folder, or from other files
// than temporary ones.
func (c change) valid() bool {
	if !utf8.ValidString(c.File) || !filepath.IsLocal(c.File) || filepath.Clean(c.File) != c.File || c.File == "." {
		return false
	}
	_, prefix := temporaryPrefix(c.File)
	return c.Temporary == "" || strings.HasPrefix(c.Temporary, prefix) &&
		temporaryPattern.MatchString(c.Temporary) && filepath.Base(c.Temporary) == c.Temporary
}

// parseJournal returns the changes of a journal. It refuses all if one is not valid.
func parseJournal(text []byte) ([]change, error) {
	var list []change
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(list, func(c change) bool { return !c.valid() }) {
		return nil, errors.New("a change of something else than a file of the folder")
	}
	return list, nil
}

// changes returns the folder in which most files change, those in folders within it included, and the changes.
func (b *Batch) changes() (dir string, most []change) {
	all := map[string][]change{}
	real := func(t *item) string { return realFolder(filepath.Dir(t.target)) }
	for _, t := range b.items {
		all[real(t)] = nil
	}
	for i, t := range b.items {
		c := change{}
		if t.remove {
			later := func(o *item) bool { return !o.remove && o.target == t.target }
			if _, err := os.Lstat(t.target); err != nil || slices.ContainsFunc(b.items[i:], later) {
				continue // made again, it would remove the new file
			}
		} else if c.Temporary = filepath.Base(t.temporary); t.held == nil {
			continue // written in place
		}
		for d := range all {
			rel, err := filepath.Rel(d, filepath.Join(real(t), filepath.Base(t.target)))
			if c.File = rel; err == nil && c.valid() {
				all[d] = append(all[d], c)
			}
		}
	}
	for d, list := range all {
		if len(list) > len(most) || len(list) == len(most) && d < dir {
			dir, most = d, list
		}
	}
	return dir, most
}

// journal is that of a batch that is being committed; nil: it needs none.
type journal struct {
	path string
	held *os.File // locked, so that no other process takes it for abandoned
}

// journal writes the changes down, if there are several, and the file system lets us.
func (b *Batch) journal() (*journal, error) {
	dir, list := b.changes()
	text, err := json.Marshal(list)
	if err != nil || len(list) < 2 || len(text) > mostJournal {
		return nil, err
	}
	path := filepath.Join(dir, journalName)
	f, err := createTemporary(path, 0o600)
	if err == nil {
		_, err = f.Write(text)
		if syncErr := f.Sync(); err == nil && syncErr != nil && !refused(syncErr) {
			err = syncErr
		}
		if err == nil {
			err = place(f, path)
		}
		if err != nil {
			f.Close()
			remove(f.Name())
		}
	}
	switch {
	case err == nil:
		syncFolder(dir)
		return &journal{path, f}, nil
	case refused(err): // as is, without a journal
		return nil, nil
	}
	return nil, about("replace", b.items[0].path, err)
}

// place gives a journal its name, after that of another batch is done.
func place(f *os.File, path string) error {
	if _, known := lock(f, false); !known {
		f.Close() // Windows renames no open file
	}
	err := link(f.Name(), path)
	if errors.Is(err, fs.ErrExist) {
		finish(filepath.Dir(path), true)
		err = link(f.Name(), path)
	}
	switch {
	case err == nil:
		remove(f.Name())
	case refused(err) && !errors.Is(err, fs.ErrExist): // no links here
		err = rename(f.Name(), path)
	}
	return err
}

// end removes the journal.
func (j *journal) end() {
	if j != nil && j.held != nil {
		remove(j.path)
		j.held.Close()
		j.held = nil
	}
}

// Finish makes the changes of a command that was killed while it replaced files of dir. That of a command that
// still runs is left alone.
func Finish(dir string) { finish(dir, false) }

// finish is Finish. With wait it waits for a command that still runs.
func finish(dir string, wait bool) {
	dir = realFolder(dir)
	path := filepath.Join(dir, journalName)
	f, _, err := regular.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	free, known := lock(f, false)
	if known && !free {
		if !wait {
			return
		}
		lock(f, true)
	}
	here, err := f.Stat()
	if there, statErr := os.Lstat(path); err != nil || statErr != nil || !os.SameFile(here, there) {
		return // done meanwhile
	}
	if owned(here) { // another user could have us change any file
		if text, err := regular.ReadFile(path, mostJournal); err == nil {
			list, _ := parseJournal(text)
			for _, c := range list {
				c.make(dir)
			}
		}
	}
	if !known { // systems without such locks do not remove an open file
		f.Close()
	}
	remove(path)
}

// make makes a change if it has not been made. What is refused is left out: it was refused before, too, or the
// folder has changed since.
func (c change) make(dir string) {
	target := filepath.Join(dir, c.File)
	defer syncFolder(filepath.Dir(target))
	if c.Temporary == "" {
		remove(target)
		return
	}
	temporary := filepath.Join(filepath.Dir(target), c.Temporary)
	held, _, err := regular.Open(temporary)
	if err != nil {
		return
	}
	t := &item{path: target, target: target, temporary: temporary, held: held}
	t.install()
	t.discard()
}

// syncFolder makes the names in a folder durable; some systems cannot.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		d.Sync()
		d.Close()
	}
}
