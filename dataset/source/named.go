package source

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/dataset"
)

// A named data set has IDX files with MNIST's names, which are searched for.
type namedSet struct {
	name, title string
	debian      string   // where Debian's package puts it; empty: there is none
	classes     []string // names of the classes 0, 1, ..., which the files do not have; nil: they are numbers
}

var namedSets = []namedSet{
	{"mnist", "MNIST", "", nil},
	{"fashion-mnist", "Fashion-MNIST", "/usr/share/datasets/fashion-mnist",
		[]string{"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag",
			"Ankle boot"}},
}

// Named returns the names of the data sets that Open searches for.
func Named() []string {
	var names []string
	for _, n := range namedSets {
		names = append(names, n.name)
	}
	return names
}

// Title returns how a named data set is written: MNIST for mnist.
func Title(name string) string {
	for _, n := range namedSets {
		if n.name == name {
			return n.title
		}
	}
	return name
}

func isNamed(spec string) bool { return slices.Contains(Named(), spec) }

// quotedNames lists all names of data sets.
func quotedNames() string { return `"digits", "` + strings.Join(Named(), `", "`) + `"` }

// CacheDir returns the folder in the user's cache directory where Open searches for a named data set and
// where package fetch should put it.
func CacheDir(name string) (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory for %s (set DPN_DATA to a folder instead): %w", Title(name), err)
	}
	return filepath.Join(cache, "dpnbench", name), nil
}

// place is a folder in which a named data set may be.
type place struct{ dir, shown string }

// placesOf returns the folders in which a named data set is searched for.
func placesOf(name string) []place {
	var places []place
	if dir := os.Getenv("DPN_DATA"); dir != "" {
		if name == "mnist" {
			places = append(places, place{dir, dir + " (DPN_DATA)"})
		}
		inner := filepath.Join(dir, name)
		places = append(places, place{inner, inner + " (DPN_DATA)"})
	}
	if dir, err := CacheDir(name); err != nil {
		places = append(places, place{shown: err.Error()})
	} else {
		places = append(places, place{dir, dir})
	}
	for _, n := range namedSets {
		if n.name == name && n.debian != "" {
			places = append(places, place{n.debian, n.debian})
		}
	}
	return places
}

// Found reports whether there are files of a named data set where Open searches for them.
func Found(name string) bool {
	return slices.ContainsFunc(placesOf(name), func(p place) bool { return p.dir != "" && holdsIDX(p.dir) })
}

// readNamed reads a named data set from the first folder that has files of it.
func readNamed(name string, opt Options) (*content, error) {
	opt.AnySplit = false // half of it is a download that was interrupted
	var looked []string
	for _, p := range placesOf(name) {
		if p.dir != "" && holdsIDX(p.dir) {
			c, err := readIDXPath(p.dir, opt)
			if err == nil {
				c.name, c.classes = name, namedClasses(name, opt.Classes)
				if !opt.unlabelled && opt.Label != noLabel {
					c.notes = append(c.notes, byNumber(name, opt.Classes)...)
				}
			}
			return c, err
		}
		looked = append(looked, p.shown)
	}
	return nil, fmt.Errorf("no %s in %s (run \"dpnbench data fetch %s\", or set DPN_DATA to the folder that contains "+
		"its folder %s): %w", Title(name), strings.Join(looked, " or "), name, name, fs.ErrNotExist)
}

// namedClasses returns the names of the classes of a data set; nil for a model that knows them by others, such as
// their numbers.
func namedClasses(name string, known []string) []string {
	for _, n := range namedSets {
		if n.name == name && (known == nil || slices.Equal(known, n.classes)) {
			return n.classes
		}
	}
	return nil
}

// byNumber says that the classes of a data set are taken for others that a model knows.
func byNumber(name string, known []string) []string {
	for _, n := range namedSets {
		own := n.classes
		if own == nil {
			own = dataset.Numbered(len(known))
		}
		for i := 0; n.name == name && i < min(len(own), len(known)); i++ {
			if own[i] != known[i] {
				return []string{fmt.Sprintf("its classes are taken for those of the model by their numbers, %q for %q",
					own[i], known[i])}
			}
		}
	}
	return nil
}

// areNamed says whether classes have the names of a data set's, whose files number them.
func areNamed(classes []string) bool {
	return classes != nil &&
		slices.ContainsFunc(namedSets, func(n namedSet) bool { return slices.Equal(n.classes, classes) })
}

// mostInputs bounds how many files InputFiles returns of a folder.
const mostInputs = 100_000

// InputFiles returns the files that Open would read of a data set, as far as they exist. The
// built-in digits have none.
func InputFiles(spec string) []string {
	if spec == "" || spec == "digits" {
		return nil
	}
	if folder, ok := MNISTCFolder(spec); ok {
		spec = folder
	}
	folders := []string{spec}
	if isNamed(spec) {
		folders = nil
		for _, p := range placesOf(spec) {
			folders = append(folders, p.dir)
		}
	}
	var files []string
	for _, dir := range folders {
		named := false
		for _, f := range idxFiles {
			if path, err := findIDX(dir, f.name); err == nil {
				files, named = append(files, path), true
			}
		}
		if !named && !isNamed(spec) {
			files = append(files, otherFiles(dir)...)
		}
	}
	return files
}

// ImageFolder returns spec if it is a folder in which Open reads images, wherever they lie, and otherwise "".
func ImageFolder(spec string) string {
	if info, err := os.Stat(spec); err != nil || !info.IsDir() || isNamed(spec) ||
		!slices.ContainsFunc(InputFiles(spec), isImage) {
		return ""
	}
	return spec
}

// otherFiles returns the files that path names: one, a pair, those of a folder, or those with the beginning of names.
func otherFiles(path string) []string {
	var files []string
	first, second := pair(path)
	for _, file := range []string{first, second} {
		if info, err := os.Stat(file); err == nil && !info.IsDir() {
			files = append(files, file)
		}
	}
	if len(files) > 0 {
		return files
	}
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		dir, names, _ := filesIn(path, isIDX)
		for _, name := range names {
			files = append(files, filepath.Join(dir, name))
		}
		return files
	}
	walk(path, func(file string, e fs.DirEntry, err error) error {
		if len(files) >= mostInputs {
			return fs.SkipAll
		}
		if err == nil && !e.IsDir() {
			files = append(files, file)
		}
		return nil
	})
	return files
}
