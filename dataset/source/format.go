package source

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/internal/regular"
)

// A format is a way in which files hold samples.
type format struct {
	name string
	// file says whether a file has the format, by its name; folder whether the files of a folder (or with the beginning
	// of names in it) have; head whether a file that begins so has.
	file   func(name string) bool
	folder func(path string) bool
	head   func(b []byte) bool
	read   func(path string, opt Options) (*content, error)
}

// formats are all, in the order in which a folder is looked at.
var formats = []format{
	{"idx", isIDX, func(path string) bool { return holdsIDX(path) || holds(path, isIDX) },
		func(b []byte) bool { return len(b) > 3 && b[0] == 0 && b[1] == 0 && idxTypes[b[2]] != "" }, readIDXPath},
	{"npy", hasExtension(".npy"), func(path string) bool { return holds(path, isArrayFile) },
		prefixed("\x93NUMPY"), readNPYPath},
	{"npz", hasExtension(".npz"), nil, prefixed("PK\x03\x04"), readArrays},
	{"safetensors", hasExtension(".safetensors"), nil, nil, readArrays},
	{"cifar", nil, func(path string) bool { _, ok := findCIFAR(path); return ok }, nil, readCIFAR},
	{"parquet", hasExtension(".parquet"), func(path string) bool { return holds(path, hasExtension(".parquet")) },
		prefixed("PAR1"), readParquet},
	{"images", isImage, holdsImages, nil, readImages},
	{"csv", isTable, func(path string) bool { return holds(path, isTable) }, isText, readTables},
}

// Formats returns the names of the formats for Options.Format.
func Formats() []string {
	names := make([]string, len(formats))
	for i, f := range formats {
		names[i] = f.name
	}
	return names
}

// detect returns the format of what path names: by opt, or else by names and content.
func detect(path string, opt Options) (format, error) {
	if path == "" {
		return format{}, fmt.Errorf("no data set named: expected %s, or a file or folder", quotedNames())
	}
	if opt.Format != "" {
		if i := slices.IndexFunc(formats, func(f format) bool { return f.name == opt.Format }); i >= 0 {
			return formats[i], nil
		}
		return format{}, fmt.Errorf("format %q: expected one of %s", opt.Format, strings.Join(Formats(), ", "))
	}
	name := path
	info, err := os.Stat(path)
	if err != nil {
		name, _ = pair(path)
		info, err = os.Stat(name)
	}
	if err != nil || info.IsDir() {
		for _, f := range formats {
			if f.folder != nil && f.folder(path) {
				return f, nil
			}
		}
		if err != nil {
			return format{}, fmt.Errorf("%s: %w", path, regular.Cause(err))
		}
		return format{}, fmt.Errorf("folder %s: found %s, expected IDX, NPY, CSV or Parquet files, CIFAR batches, or "+
			"images: %w", path, list(entries(path)), fs.ErrNotExist)
	}
	for _, f := range formats {
		if f.file != nil && f.file(name) {
			return f, nil
		}
	}
	file, _, err := regular.Open(name)
	if err != nil {
		return format{}, err
	}
	defer file.Close()
	b := make([]byte, 1024)
	n, _ := file.Read(b)
	for _, f := range formats {
		if f.head != nil && f.head(b[:n]) {
			return f, nil
		}
	}
	return format{}, fmt.Errorf("%s: an unknown format, expected one of %s", name, strings.Join(Formats(), ", "))
}

// hasExtension returns a test of the end of a file's name, perhaps before that of gzip.
func hasExtension(ext ...string) func(name string) bool {
	return func(name string) bool {
		return slices.Contains(ext, strings.ToLower(filepath.Ext(name)))
	}
}

// isTable says whether a file is a CSV or TSV file, by its name.
func isTable(name string) bool {
	name = strings.TrimSuffix(strings.ToLower(name), ".gz")
	return strings.HasSuffix(name, ".csv") || strings.HasSuffix(name, ".tsv")
}

func prefixed(prefix string) func(b []byte) bool {
	return func(b []byte) bool { return bytes.HasPrefix(b, []byte(prefix)) }
}

// isText says whether a file that begins with b is likely to be a table.
func isText(b []byte) bool {
	return len(b) > 0 && bytes.IndexByte(b, 0) < 0 && bytes.ContainsAny(b, ",;\t")
}

// holds says whether a folder, or one with the beginning of names in it, has files of a kind.
func holds(path string, kind func(name string) bool) bool {
	_, names, err := filesIn(path, kind)
	return err == nil && len(names) > 0
}

// holdsImages says whether a folder has images, or folders of them.
func holdsImages(path string) bool {
	found := errors.New("found")
	return walk(path, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case ignored(e.Name()) && e.IsDir():
			return fs.SkipDir
		case !e.IsDir() && isImage(file) && !ignored(e.Name()):
			return found
		}
		return nil
	}) == found
}

// walk visits what is in a folder, which may be a link, as filepath.WalkDir does. It follows links to the folders of
// splits and classes, and no more links on one path, which may lead back.
func walk(dir string, visit fs.WalkDirFunc) error { return walkLinks(dir, 2, visit) }

func walkLinks(dir string, links int, visit fs.WalkDirFunc) error {
	root := dir + string(filepath.Separator)
	return filepath.WalkDir(root, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err == nil && file == root:
			return nil
		case err == nil && links > 0 && e.Type()&fs.ModeSymlink != 0 && !ignored(e.Name()):
			if info, err := os.Stat(file); err == nil && info.IsDir() {
				return walkLinks(file, links-1, visit)
			}
		}
		return visit(file, e, err)
	})
}

// entries returns the names in a folder.
func entries(dir string) []string {
	list, _ := os.ReadDir(dir)
	var names []string
	for _, e := range list {
		if !ignored(e.Name()) {
			names = append(names, e.Name())
		}
	}
	return names
}

func readIDXPath(path string, opt Options) (*content, error) {
	if info, err := os.Stat(path); err == nil && !info.IsDir() { // without labels
		return readIDXFiles(path, map[role]string{{trainSplit, samplesOf}: path}, opt)
	}
	of, err := idxRoles(path, opt)
	if err != nil {
		return nil, err
	}
	c, err := readIDXFiles(filepath.Clean(path), of, opt)
	if err != nil {
		return nil, err
	}
	c.noteFiles(path, isIDX)
	return c, nil
}

func readNPYPath(path string, opt Options) (*content, error) {
	if !holds(path, isArrayFile) {
		return readArrayPair(path, opt)
	}
	of, err := filesOf(path, isArrayFile)
	if err != nil {
		return nil, err
	}
	c, err := readArrayFiles(filepath.Clean(path), of, opt)
	if err != nil {
		return nil, err
	}
	c.noteFiles(path, isArrayFile)
	return c, nil
}

// noteFiles says which files of a kind in a folder have no role.
func (c *content) noteFiles(path string, kind func(name string) bool) {
	if _, names, err := filesIn(path, kind); err == nil {
		c.notes = append(c.notes, leftOut("file", withoutRole(names), noRole)...)
	}
}

// fits refuses images, before they are read, for a model of vectors.
func (f format) fits(path string, opt Options) error {
	if opt.Shape.Features > 0 && (f.name == "images" || f.name == "cifar") {
		return fmt.Errorf("%s: images, the model expects vectors of %v", path, opt.Shape)
	}
	return nil
}

// splitFiles returns the files of a kind in a folder by the splits that their names say; those that say none are
// training samples if there are no others. Others are left out, which the notes say.
func splitFiles(path string, kind func(name string) bool) (files map[string][]string, notes []string, err error) {
	dir, names, err := filesIn(path, kind)
	if err != nil {
		return nil, nil, err
	}
	files = map[string][]string{}
	var out []string
	for _, name := range names {
		r, _ := roleOf(name + ".x")
		files[r.split] = append(files[r.split], filepath.Join(dir, name))
	}
	if len(files[trainSplit]) == 0 {
		files[trainSplit] = files[""]
		delete(files, "")
	}
	for split, paths := range files {
		if split == trainSplit || split == testSplit {
			continue
		}
		for _, p := range paths {
			out = append(out, filepath.Base(p))
		}
		delete(files, split)
	}
	slices.Sort(out)
	return files, leftOut("file", out, noRole), nil
}
