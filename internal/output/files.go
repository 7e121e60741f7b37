package output

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/internal/regular"
)

// Files are the inputs and outputs of a command.
type Files struct {
	inputs, outputs []named
	trees           []named // folders of inputs
	folders         []folder
	standard        []standard

	// Kept, unless nil, says what a file is that no Output may replace, as another command has made it, or "".
	Kept func(path string) string
}

// named is a file and the flag, or another name, by which the user knows it.
type named struct {
	flag, path string
	id         identity
}

func (n named) String() string {
	if n.path == "" || strings.HasSuffix(n.flag, " "+n.path) {
		return n.flag // "of --data FILE" names it already
	}
	return strings.TrimSpace(n.flag + " " + n.path)
}

// folder is that of an output, as the user knows it: a link may lead elsewhere.
func (n named) folder() string {
	if dir := filepath.Dir(n.path); !exists(dir) {
		return dir
	}
	return filepath.Dir(n.id.target)
}

func exists(path string) bool { _, err := os.Stat(path); return err == nil }

type standard struct {
	name string
	info os.FileInfo
}

type folder struct {
	flag, path string
	owns       func(name string) bool
	same       string
}

// Standard declares an open file such as standard output.
func (f *Files) Standard(name string, file *os.File) {
	if st, err := file.Stat(); err == nil && st.Mode().IsRegular() {
		f.standard = append(f.standard, standard{name, st})
	}
}

// Input declares files that the command reads. A path that is empty is none.
func (f *Files) Input(flag string, paths ...string) {
	for _, p := range paths {
		if p != "" {
			f.inputs = append(f.inputs, named{flag: flag, path: p})
		}
	}
}

// Tree declares a folder that the command reads with all folders in it, such as one of images: no Output and no Folder
// may be there. A path that is empty is none.
func (f *Files) Tree(flag, path string) {
	if path != "" {
		f.trees = append(f.trees, named{flag: flag, path: path})
	}
}

// Output declares a file that the command writes. A path that is empty is none; Check refuses "-", which stands for
// standard output elsewhere.
func (f *Files) Output(flag, path string) {
	if path != "" {
		f.outputs = append(f.outputs, named{flag: flag, path: path})
	}
}

// Folder declares a folder in which the command writes the files whose names owns reports (names
// are lower case). An Output may be the one called same: it gets the same content. The folder need not
// exist.
func (f *Files) Folder(flag, path string, owns func(name string) bool, same string) {
	f.folders = append(f.folders, folder{flag, path, owns, same})
}

// Names returns a function for Folder that reports the names in a list.
func Names(list ...string) func(name string) bool {
	return func(name string) bool { return slices.Contains(list, name) }
}

// Check returns an error of one line, which names flag and file, if an output is an input, another
// output, a file that the command writes to one of its folders, or a standard file, if one lies within a Tree, or if
// one of them cannot be written. It changes nothing.
func (f *Files) Check() error {
	for i := range f.inputs {
		f.inputs[i].id, _ = identify(f.inputs[i].path) // who reads it reports what is wrong with it
	}
	for _, d := range f.folders {
		if tree, ok := f.treeAround(realFolder(d.path)); ok {
			return fmt.Errorf("%s %s: lies within the input %v; expected another folder", d.flag, d.path, tree)
		}
	}
	owned, err := f.owned()
	if err != nil {
		return err
	}
	for i := range f.outputs {
		o := &f.outputs[i]
		if o.path == "-" {
			return fmt.Errorf("%v: expected a file, not standard output", o)
		}
		if o.id, err = identify(o.path); err != nil {
			return fmt.Errorf("%v: %w", o, regular.Cause(err))
		}
		if err := f.writable(o); err != nil {
			return fmt.Errorf("%v: %w", o, err)
		}
		if !o.id.regular() {
			continue
		}
		if tree, ok := f.treeAround(o.id.target); ok {
			return fmt.Errorf("%v: lies within the input %v; expected another folder", o, tree)
		}
		if err := f.conflict(o, f.outputs[:i], owned); err != nil {
			return err
		}
	}
	for _, o := range owned {
		for _, in := range f.inputs {
			if in.id.target != "" && o.id.same(in.id) {
				return fmt.Errorf("%s: would replace the input %v; expected another folder", o.flag, in)
			}
		}
		if s := f.isStandard(o.id); s != "" {
			return fmt.Errorf("%s: would replace %s, which is %s", o.flag, o.path, s)
		}
	}
	return nil
}

// treeAround returns the Tree in which a file or folder lies, if it does.
func (f *Files) treeAround(path string) (tree named, ok bool) {
	for _, tree := range f.trees {
		if p, err := filepath.Rel(realFolder(tree.path), path); err == nil && filepath.IsLocal(p) {
			return tree, true
		}
	}
	return named{}, false
}

// conflict compares an output with everything else.
func (f *Files) conflict(o *named, before, owned []named) error {
	if s := f.isStandard(o.id); s != "" {
		return fmt.Errorf("%v: is also %s; expected another file", o, s)
	}
	for _, in := range f.inputs {
		if in.id.target != "" && o.id.same(in.id) {
			return fmt.Errorf("%v: is the input %v; expected another file", o, in)
		}
	}
	for _, other := range before {
		if other.id.regular() && o.id.same(other.id) {
			return fmt.Errorf("%v: is also the file of %s; expected different files", o, other.flag)
		}
	}
	for _, other := range owned {
		if o.id.same(other.id) && !f.shared(other) {
			return fmt.Errorf("%v: is also the file %s that this command writes; expected another file", o, other.path)
		}
	}
	dir, name := filepath.Split(o.id.target)
	for _, d := range f.folders { // the file may not exist yet
		if !sameFolder(filepath.Clean(dir), realFolder(d.path)) {
			continue
		}
		if d.same != "" && sameName(dir, d.same, name) {
			return nil
		}
		if lower := strings.ToLower(name); d.owns(name) || lower != name && d.owns(lower) && foldsCase(dir) {
			return fmt.Errorf("%v: is also a file that this command writes to %s %s; expected another file", o, d.flag,
				d.path)
		}
	}
	if f.Kept != nil {
		if what := f.Kept(o.id.target); what != "" {
			return fmt.Errorf("%v: is %s; expected another file", o, what)
		}
	}
	return nil
}

// shared says whether a file of a folder gets the content of an output, which may be the same file.
func (f *Files) shared(file named) bool {
	return slices.ContainsFunc(f.folders, func(d folder) bool {
		return d.same != "" && file.path == filepath.Join(d.path, d.same)
	})
}

func (f *Files) isStandard(id identity) string {
	for _, s := range f.standard {
		if id.info != nil && os.SameFile(id.info, s.info) {
			return s.name
		}
	}
	return ""
}

// owned returns the files in the folders that would be replaced, and checks that they can be.
func (f *Files) owned() ([]named, error) {
	var owned []named
	for _, d := range f.folders {
		if err := d.writable(); err != nil {
			return nil, fmt.Errorf("%s %s: %w", d.flag, d.path, regular.Cause(err))
		}
		list, _ := os.ReadDir(d.path)
		for _, e := range list {
			if !d.owns(e.Name()) {
				continue
			}
			o := named{flag: d.flag + " " + d.path, path: filepath.Join(d.path, e.Name())}
			var err error
			if o.id, err = identify(o.path); err == nil && !o.id.regular() {
				if err = errors.New("is not a regular file"); o.id.info.IsDir() {
					err = errFolder
				}
			}
			if err == nil {
				err = f.writable(&o)
			}
			if err != nil {
				return nil, fmt.Errorf("%s: %s cannot be replaced: %w", o.flag, e.Name(), regular.Cause(err))
			}
			owned = append(owned, o)
		}
	}
	return owned, nil
}

var errFolder = errors.New("is a folder; expected a file")

// writable checks that a file can be written, without changing it.
func (f *Files) writable(o *named) error {
	switch info := o.id.info; {
	case info != nil && info.IsDir():
		return errFolder
	case info != nil && !info.Mode().IsRegular():
		return nil // opening and closing a pipe would end its reader
	case info != nil:
		w, err := os.OpenFile(o.id.target, os.O_WRONLY, 0)
		if err != nil {
			return regular.Cause(err)
		}
		return w.Close()
	case strings.HasSuffix(filepath.ToSlash(o.path), "/"):
		return errFolder
	}
	dir := filepath.Dir(o.id.target)
	for _, d := range f.folders {
		if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) && dir == realFolder(d.path) {
			return nil // it will be made
		}
	}
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) { // "no such file" would be taken for one of the file
		return fmt.Errorf("folder %s does not exist", o.folder())
	}
	return regular.Cause(probe(dir))
}

// writable checks that files can be created in the folder, or the folder in its parent.
func (d folder) writable() error {
	at := d.path
	for {
		st, err := os.Stat(at)
		if err == nil && !st.IsDir() {
			return errors.New("is a file; expected a folder")
		}
		if err == nil {
			return probe(at)
		}
		if _, linkErr := os.Lstat(at); linkErr == nil || !errors.Is(err, fs.ErrNotExist) {
			return err // a dangling link is no folder, and no folder can be made there
		}
		parent := filepath.Dir(filepath.Clean(at))
		if parent == at {
			return err
		}
		at = parent
	}
}
