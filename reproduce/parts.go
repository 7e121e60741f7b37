package reproduce

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/internal/regular"
)

// PartsFolder is the folder of the parts of a run that is not finished, in the folder of its results.
const PartsFolder = "parts"

const settingsFile = "settings.json"

// Parts keeps the results of finished units of work (a training, a seed, a measurement), each in a file of
// its own, so that a run that was interrupted or killed goes on where it stopped. A nil *Parts keeps
// nothing.
//
// A part is written whole or not at all, and synced. Beside the parts are the settings of the run, and while
// a preset is trained for a part, a folder with its state. When the results are written, everything goes.
type Parts struct {
	dir      string
	settings Settings
	run      string // hash of the settings

	mu      sync.Mutex      // of what follows: units of an experiment may run side by side
	saved   map[string]part // by unit
	seconds float64

	begun bool // the settings are saved

	// Files of an earlier run, which are removed with the first part and not before; until then there is
	// nothing of this run in the folder.
	replaced []string

	// OnSave, if set, is called after each part is saved, by one unit at a time.
	OnSave func()
}

func newParts(out string, s Settings) *Parts {
	return &Parts{dir: filepath.Join(out, PartsFolder), settings: s, run: s.hash(), saved: map[string]part{}}
}

// HasParts reports whether a folder of results has the parts of a run that is not finished.
func HasParts(out string) bool {
	_, err := os.Lstat(filepath.Join(out, PartsFolder, settingsFile))
	return err == nil
}

// IsPart reports whether Parts may write a file of that name to PartsFolder.
func IsPart(name string) bool { return name == settingsFile || partFile.MatchString(name) }

var partFile = regexp.MustCompile(`^(table1|law|trained|forward|poster|field|robust)-[a-z0-9-]+\.json$`)

// BeginParts begins a run in a folder of results. If there are replaced files, of an earlier run, or parts of
// one, they are removed when the first part is saved.
func BeginParts(out string, s Settings, replaced []string) (*Parts, error) {
	p := newParts(out, s)
	CleanParts(out)
	list, _ := os.ReadDir(p.dir)
	for _, f := range list {
		if IsPart(f.Name()) {
			replaced = append(replaced, filepath.Join(p.dir, f.Name()))
		}
	}
	if p.replaced = replaced; len(replaced) > 0 {
		return p, nil
	}
	return p, p.write("", nil)
}

// ResumeParts opens the parts of a run with the same settings. It reads and checks all of them.
func ResumeParts(out string, s Settings) (*Parts, error) {
	p := newParts(out, s)
	output.CleanFolder(p.dir)
	path := filepath.Join(p.dir, settingsFile)
	b, err := readFile(path)
	if err != nil {
		return nil, err
	}
	old, err := parseSettings(b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if err := s.Matches(old); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	p.begun = true
	list, err := os.ReadDir(p.dir)
	if err != nil {
		return nil, err
	}
	for _, f := range list {
		if f.Name() == settingsFile || !IsPart(f.Name()) {
			continue
		}
		path := filepath.Join(p.dir, f.Name())
		b, err := readFile(path)
		if err != nil {
			return nil, err
		}
		u, err := parsePart(b)
		if err == nil && (u.Run != p.run || fileOf(u.Unit) != f.Name()) {
			err = errors.New("a part of another run; expected it elsewhere")
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		p.saved[u.Unit] = u
		p.seconds += u.Seconds
		os.RemoveAll(p.folder(u.Unit)) // the run may have been killed before it came to that
	}
	return p, nil
}

const mostBytes = 1 << 28 // beyond which a file cannot be a part

func readFile(path string) ([]byte, error) {
	b, err := regular.ReadFile(path, mostBytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, regular.Cause(err))
	}
	return b, nil
}

// Len is the number of parts that are saved.
func (p *Parts) Len() int { return len(p.saved) }

// Seconds is the time that all parts took, each in the run that finished it.
func (p *Parts) Seconds() float64 { return p.seconds }

// Begun reports whether anything of this run is in the folder.
func (p *Parts) Begun() bool { return p.begun }

// Finish adds the removal of everything to the files that hold the results.
func (p *Parts) Finish(files *output.Batch) {
	// Without the settings, the parts belong to no run.
	files.Remove(filepath.Join(p.dir, settingsFile))
	for name := range p.saved {
		files.Remove(filepath.Join(p.dir, fileOf(name)))
	}
}

// CleanParts removes the parts of a run that is finished, which a kill may have left, and the folder if it is
// empty then.
func CleanParts(out string) {
	dir := filepath.Join(out, PartsFolder)
	if HasParts(out) {
		return
	}
	output.CleanFolder(dir)
	cleanTrainings(dir)
	list, _ := os.ReadDir(dir)
	for _, f := range list {
		path := filepath.Join(dir, f.Name())
		if !IsPart(f.Name()) {
			continue
		}
		if b, err := readFile(path); err == nil {
			if _, err := parsePart(b); err == nil {
				os.Remove(path)
			}
		}
	}
	os.Remove(dir)
}

// cleanTrainings removes the folders of trainings.
func cleanTrainings(dir string) {
	list, _ := os.ReadDir(dir)
	for _, f := range list {
		if f.IsDir() && IsPart(f.Name()+".json") {
			os.RemoveAll(filepath.Join(dir, f.Name()))
		}
	}
}

// fileOf returns the name of the file of a unit.
func fileOf(unit string) string { return slug(unit) + ".json" }

var notPlain = regexp.MustCompile(`[^a-z0-9]+`)

func slug(unit string) string {
	return strings.Trim(notPlain.ReplaceAllString(strings.ToLower(unit), "-"), "-")
}

// folder is the folder of the training of a unit.
func (p *Parts) folder(unit string) string { return filepath.Join(p.dir, slug(unit)) }

// write saves a part, or only the settings.
func (p *Parts) write(name string, b []byte) error {
	if err := makeFolder(p.dir); err != nil {
		return err
	}
	var files output.Batch
	defer files.Discard()
	for _, path := range p.replaced {
		files.Remove(path)
	}
	add := func(name string, b []byte) error {
		return files.Write(filepath.Join(p.dir, name), output.Bytes(b))
	}
	if !p.begun {
		if err := add(settingsFile, p.settings.file()); err != nil {
			return err
		}
	}
	if name != "" {
		if err := add(name, b); err != nil {
			return err
		}
	}
	if len(p.replaced) > 0 {
		cleanTrainings(p.dir) // of the earlier run; if this one began beside them, it would go on from them
	}
	if err := files.Commit(); err != nil {
		return err
	}
	p.replaced, p.begun = nil, true
	return nil
}

// makeFolder makes a folder that survives a crash.
func makeFolder(dir string) error {
	if err := os.Mkdir(dir, 0o755); errors.Is(err, fs.ErrExist) {
		return nil
	} else if err != nil {
		return err
	}
	if d, err := os.Open(filepath.Dir(dir)); err == nil { // some systems cannot sync a folder
		d.Sync()
		d.Close()
	}
	return nil
}

// part is the file of a finished unit of work.
type part struct {
	Format  int             `json:"format"`
	Run     string          `json:"run"` // hash of the settings
	Unit    string          `json:"unit"`
	Seconds float64         `json:"seconds"`
	Result  json.RawMessage `json:"result"`
	SHA256  string          `json:"sha256"` // of this file with "" here
}

const partFormat = 2 // of parts and their settings

// encode returns the file of a part.
func (u part) encode() []byte {
	u.SHA256 = ""
	b, _ := json.Marshal(u) // Result is valid JSON
	u.SHA256 = hashOf(b)
	b, _ = json.Marshal(u)
	return append(b, '\n')
}

func hashOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// parsePart reads the file of a part and checks it, also that its result is one of its unit.
func parsePart(b []byte) (part, error) {
	var u part
	if err := parse(b, &u, &u.Format); err != nil {
		return u, err
	}
	if len(u.Result) == 0 || !slices.Equal(u.encode(), b) {
		return u, errors.New("damaged: its checksum is not that of its content")
	}
	experiment, _, _ := strings.Cut(u.Unit, ":")
	check, ok := unitChecks[experiment]
	if !ok {
		return u, fmt.Errorf("the result of %q, which is no part of an experiment", u.Unit)
	}
	return u, check(u.Unit, u.Result)
}

// parse reads a JSON of which format is the version.
func parse(b []byte, v any, format *int) error {
	err := json.Unmarshal(b, v)
	switch {
	case err == nil && *format > 0 && *format != partFormat:
		return fmt.Errorf("format %d, expected %d: written by another version of dpnbench", *format, partFormat)
	case err != nil || *format != partFormat:
		return errors.New("damaged, or no file of dpnbench reproduce")
	}
	return nil
}

// checked is the result of a unit of work. check refuses what cannot be that of the unit, so that no page or
// claim fails on it.
type checked interface{ check(unit string) error }

// unitChecks are, by experiment, how results of units are checked.
var unitChecks = map[string]func(unit string, b []byte) error{
	"table1": check[table1Unit], "law": check[lawUnit], "trained": check[trainedUnit], "forward": check[ForwardRun],
	"poster": check[posterUnit], "field": check[Field], "robust": check[robustUnit],
}

func check[T checked](unit string, b []byte) error { _, err := decode[T](unit, b); return err }

// decode reads the result of a unit.
func decode[T checked](unit string, b []byte) (result T, err error) {
	if err = json.Unmarshal(b, &result); err == nil {
		err = result.check(unit)
	}
	if err != nil {
		err = fmt.Errorf("not the result of %q: %w", unit, format.JSONError(err))
	}
	return result, err
}

// unit returns the result of a unit of work: the saved one, or that of work, which is saved. begin is called
// before work. dir is a folder in which work may keep the state of a training, or "".
func unit[T checked](p *Parts, name string, begin func(), work func(dir string) (T, error)) (T, error) {
	if p == nil {
		begin()
		return work("")
	}
	p.mu.Lock()
	u, ok := p.saved[name]
	dir := ""
	if p.begun {
		dir = p.folder(name)
	}
	p.mu.Unlock()
	if ok {
		return decode[T](name, u.Result)
	}
	begin()
	start := time.Now()
	result, err := work(dir)
	if err != nil {
		return result, err
	}
	b, err := json.Marshal(result)
	if err != nil {
		return result, err
	}
	if err := p.save(name, b, time.Since(start).Seconds()); err != nil {
		return result, fmt.Errorf("saving %s: %w", name, err)
	}
	return decode[T](name, b) // as a run that goes on later will read it
}

// save saves the result of a unit.
func (p *Parts) save(name string, result []byte, seconds float64) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	u := part{Format: partFormat, Run: p.run, Unit: name, Seconds: seconds, Result: result}
	if err := p.write(fileOf(name), u.encode()); err != nil {
		return err
	}
	os.RemoveAll(p.folder(name))
	p.saved[name] = u
	p.seconds += seconds
	if p.OnSave != nil {
		p.OnSave()
	}
	return nil
}
