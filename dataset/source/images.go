package source

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"sync"

	"dpnbench/dataset"
	"dpnbench/engine"
	"dpnbench/internal/parallel"
	"dpnbench/internal/regular"
)

// mostImageFile bounds the size of an image file, in bytes.
const mostImageFile = 1 << 28

// imageFile is an image of a folder, or of another file.
type imageFile struct {
	path, name, class string // path is for errors if there is content
	content           []byte
	misnamed          bool // its name is not that of an image
}

// isImage says whether a file is an image by its name.
func isImage(name string) bool {
	return slices.Contains([]string{".png", ".jpg", ".jpeg", ".gif", ".bmp", ".webp"},
		strings.ToLower(filepath.Ext(name)))
}

// ignored says whether a file is one that file managers leave.
func ignored(name string) bool {
	return strings.HasPrefix(name, ".") || strings.EqualFold(name, "Thumbs.db") ||
		strings.EqualFold(name, "desktop.ini")
}

// subfolder returns the folder of the first of the names that dir has; empty if none.
func subfolder(dir string, names ...string) string {
	for _, name := range names {
		if info, err := os.Stat(filepath.Join(dir, name)); err == nil && info.IsDir() {
			return filepath.Join(dir, name)
		}
	}
	return ""
}

// The names of the folders of the splits.
var (
	trainFolders = []string{"train", "training"}
	testFolders  = []string{"test", "testing", "val", "valid", "validation"}
)

// readImages reads a folder of images, or one image. In a folder are the folders train and test (or val) with one
// folder for each class, or only the folders of the classes, or images without labels.
func readImages(path string, opt Options) (*content, error) {
	c := &content{name: filepath.Clean(path)}
	train, test := subfolder(path, trainFolders...), subfolder(path, testFolders...)
	if train == "" && test == "" {
		train = path
	} else {
		c.notes = leftOut("folder", otherFolders(path, train, test), "only training and test images are read")
	}
	left := opt // without the memory of the split before
	for _, s := range []struct {
		dir   string
		split string
		to    **part
	}{{train, trainSplit, &c.train}, {test, testSplit, &c.test}} {
		if s.dir == "" || s.dir == train && opt.skipsTraining() && test != "" {
			continue
		}
		files, err := imagesIn(s.dir)
		if err != nil {
			return nil, err
		}
		p, err := decodeAll(s.dir, files[:opt.first(s.split, len(files))], left)
		if err != nil {
			return nil, err
		}
		p.texts, p.folders = classesOfFiles(files), true // of all
		*s.to = p
		left = left.less(p.bytes())
	}
	return c, c.sameChannels(opt)
}

// otherFolders returns the names of the folders in dir but for those of the splits.
func otherFolders(dir, train, test string) []string {
	list, _ := os.ReadDir(dir)
	var names []string
	for _, e := range list {
		if path := filepath.Join(dir, e.Name()); e.IsDir() && !ignored(e.Name()) && path != train && path != test {
			names = append(names, e.Name())
		}
	}
	return names
}

// sameChannels makes all images RGB if those of only one split are.
func (c *content) sameChannels(opt Options) error {
	a, b := c.train, c.test
	if a == nil || b == nil || !a.IsImage() || !b.IsImage() || a.Channels == b.Channels {
		return nil
	}
	if err := c.fits(Options{Channels: 3, Memory: opt.Memory}); err != nil {
		return err
	}
	for _, p := range []*part{a, b} {
		if p.Channels == 1 {
			p.recolour(3)
		}
	}
	return nil
}

// imagesIn returns the files of a folder, in the order of their names, whatever the folders of their classes: so the
// first of them are of all classes, if files are numbered. path may be a file. Reading refuses those that are no
// images, also by their names, so that all bad files of a folder are counted together.
func imagesIn(path string) ([]imageFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, regular.Cause(err))
	}
	if !info.IsDir() {
		return []imageFile{{path: path}}, nil
	}
	var files []imageFile
	images := 0
	in := map[string]int{}
	err = walk(path, func(file string, e fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("%s: %w", file, regular.Cause(err))
		case ignored(e.Name()) && e.IsDir():
			return fs.SkipDir
		case ignored(e.Name()):
			return nil
		}
		relative, err := filepath.Rel(path, file)
		if err != nil {
			return err
		}
		class, _, nested := strings.Cut(filepath.ToSlash(relative), "/")
		if e.IsDir() {
			if !nested {
				in[class] += 0
			}
			return nil
		}
		if !nested {
			class = ""
		}
		image := isImage(file)
		if image {
			in[class]++
			images++
		}
		files = append(files, imageFile{path: file, name: e.Name(), class: class, misnamed: !image})
		return nil
	})
	if err != nil {
		return nil, err
	}
	if images == 0 {
		return nil, fmt.Errorf("folder %s: expected images (.png, .jpg, .gif, .bmp, .webp), or a folder of them "+
			"for each class: %w", path, fs.ErrNotExist)
	}
	for class, n := range in {
		if n == 0 {
			return nil, fmt.Errorf("folder %s: expected images of the class %q", filepath.Join(path, class), class)
		}
		if class != "" && in[""] > 0 {
			first := slices.IndexFunc(files, func(f imageFile) bool { return f.class == "" && !f.misnamed })
			return nil, fmt.Errorf("folder %s: %s lies beside folders of classes, expected in one of the folders", path,
				files[first].path)
		}
	}
	sort.Slice(files, func(i, j int) bool {
		a, b := &files[i], &files[j]
		return cmp.Or(naturally(a.name, b.name), naturally(a.class, b.class), cmp.Compare(a.path, b.path)) < 0
	})
	return files, nil
}

// naturally compares texts with the numbers in them by their values.
func naturally(a, b string) int {
	for len(a) > 0 && len(b) > 0 {
		m, n := digits(a), digits(b)
		if m > 0 && n > 0 {
			x, y := strings.TrimLeft(a[:m], "0"), strings.TrimLeft(b[:n], "0")
			if c := cmp.Or(len(x)-len(y), cmp.Compare(x, y)); c != 0 {
				return c
			}
			a, b = a[m:], b[n:]
			continue
		}
		if a[0] != b[0] {
			return cmp.Compare(a[0], b[0])
		}
		a, b = a[1:], b[1:]
	}
	return len(a) - len(b)
}

// digits returns how many digits s begins with.
func digits(s string) int {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return i
		}
	}
	return len(s)
}

// folderOr names a folder as one, and what is none by itself.
func folderOr(path string) string {
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return "folder " + path
	}
	return path
}

// brokenFiles returns the error that lists the files, of a folder or others, that are no images, at most 20 of them.
func brokenFiles(path string, all int, errs []error) error {
	if problem, alone := strings.CutPrefix(errs[0].Error(), path+": "); alone && all == 1 {
		return fmt.Errorf("%s: cannot be read as an image: %s", path, problem)
	}
	const most = 20
	texts := make([]string, 0, most)
	for _, err := range errs[:min(most, len(errs))] {
		texts = append(texts, err.Error())
	}
	more := ""
	if len(errs) > most {
		more = fmt.Sprintf("; and %d more", len(errs)-most)
	}
	return fmt.Errorf("%s: %d of %d files cannot be read as images: %s%s", folderOr(path), len(errs), all,
		strings.Join(texts, "; "), more)
}

// decodeAll decodes images on all cores.
func decodeAll(dir string, files []imageFile, opt Options) (*part, error) {
	if len(files) == 0 {
		return nil, fmt.Errorf("%s: expected images, found none", folderOr(dir))
	}
	images, errs := make([]*decoded, len(files)), make([]error, len(files))
	var mutex sync.Mutex
	freed := sync.NewCond(&mutex)
	var kept, inUse float64 // inUse is of the images that are being decoded
	var done, decoding int
	var problem error
	for _, f := range files { // of Parquet
		kept += float64(len(f.content))
	}
	check := func() error {
		mutex.Lock()
		defer mutex.Unlock()
		if problem == nil {
			problem = opt.stopped()
		}
		if text := opt.tooLarge(kept); problem == nil && text != "" {
			problem = fmt.Errorf("%s: %d of %d files: %s", folderOr(dir), done, len(files), text)
		}
		return problem
	}
	// begin waits until there is memory to decode a file, unless no other one is being decoded, and returns its end.
	begin := func(file []byte) func() {
		stored, need := float64(len(file)), decodingBytes(file)
		mutex.Lock()
		defer mutex.Unlock()
		inUse += stored
		for decoding > 0 && opt.tooLarge(kept+inUse+need) != "" {
			freed.Wait()
		}
		inUse += need
		decoding++
		return func() {
			mutex.Lock()
			defer mutex.Unlock()
			inUse -= stored + need
			decoding--
			freed.Broadcast()
		}
	}
	parallel.Each(len(files), 0, func(i int) {
		if check() != nil {
			return
		}
		held := float64(len(files[i].content))
		if errs[i] = files[i].load(); errs[i] != nil {
			return
		}
		defer begin(files[i].content)()
		images[i], errs[i] = files[i].read(opt)
		mutex.Lock()
		defer mutex.Unlock()
		kept -= held
		if errs[i] == nil {
			kept += 2 * float64(len(images[i].pixels)) // once more when they are put together
			done++
		}
	})
	if err := check(); err != nil {
		return nil, err
	}
	var broken []error
	for i, err := range errs {
		if err != nil {
			broken = append(broken, fmt.Errorf("%s: %w", files[i].path, err))
		}
	}
	if len(broken) > 0 {
		return nil, brokenFiles(dir, len(files), broken)
	}
	return together(dir, files, images, opt)
}

// together makes a part of images: grey if all are.
func together(dir string, files []imageFile, images []*decoded, opt Options) (*part, error) {
	first, channels, before := images[0], 1, images[0].before
	apart := 0.0
	for i, x := range images {
		apart += float64(len(x.pixels))
		channels = max(channels, x.channels)
		if x.before != before {
			before = "various shapes"
		}
		if x.rows != first.rows || x.cols != first.cols {
			return nil, fmt.Errorf("%s: %d x %d pixels, expected %d x %d as in %s, or a --size for all", files[i].path,
				x.rows, x.cols, first.rows, first.cols, files[0].path)
		}
	}
	p := &part{file: dir, Shape: dataset.Shape{Rows: first.rows, Cols: first.cols, Channels: channels}, before: before}
	if text := opt.tooLarge(apart + float64(len(images))*float64(p.Shape.Len())); text != "" { // grey ones grow
		return nil, fmt.Errorf("%s: %s", folderOr(dir), text)
	}
	p.pixels = engine.Bytes(len(images) * p.Shape.Len())[:0]
	for i, x := range images {
		for range channels / x.channels {
			p.pixels = append(p.pixels, x.pixels...)
		}
		images[i] = nil
	}
	return p, nil
}

// classesOfFiles returns the class of each file; nil without classes.
func classesOfFiles(files []imageFile) (classes []string) {
	for _, f := range files {
		if f.class != "" {
			classes = append(classes, f.class)
		}
	}
	return classes
}

// load reads the content of the file, if it is not there.
func (f *imageFile) load() (err error) {
	if f.misnamed {
		return errors.New("expected an image (.png, .jpg, .gif, .bmp, .webp)")
	}
	if f.content == nil {
		f.content, err = regular.ReadFile(f.path, mostImageFile)
	}
	return regular.Cause(err)
}

// read reads one image in the size and channels of opt.
func (f *imageFile) read(opt Options) (*decoded, error) {
	if err := f.load(); err != nil {
		return nil, err
	}
	x, err := decode(f.content, mostPixels)
	f.content = nil
	if err != nil {
		return nil, err
	}
	p := &part{Shape: dataset.Shape{Rows: x.rows, Cols: x.cols, Channels: x.channels}, pixels: x.pixels}
	if err := p.convert(opt); err != nil {
		return nil, err
	}
	return &decoded{p.Rows, p.Cols, p.Channels, p.pixels, p.before}, nil
}
