package source

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dpnbench/dataset"
	"dpnbench/engine"
	"dpnbench/internal/regular"
)

const (
	cifarSide   = 32
	cifarPixels = 3 * cifarSide * cifarSide
)

// cifarFiles are the files of CIFAR-10 or CIFAR-100 as binary batches.
type cifarFiles struct {
	train, test []string
	labels      int    // bytes before the pixels: the last one is the label
	names       string // file of the names of the classes; may not be there
}

// findCIFAR returns the batches in dir, or in the folder of dir that the archive has.
func findCIFAR(dir string) (f cifarFiles, ok bool) {
	inner := []string{filepath.Join(dir, "cifar-10-batches-bin"), filepath.Join(dir, "cifar-100-binary")}
	for _, d := range append([]string{dir}, inner...) {
		batches, _ := filepath.Glob(filepath.Join(escapeGlob(d), "data_batch_*.bin"))
		f = cifarFiles{batches, existing(d, "test_batch.bin"), 1, filepath.Join(d, "batches.meta.txt")}
		if len(f.train)+len(f.test) > 0 {
			return f, true
		}
		f = cifarFiles{existing(d, "train.bin"), existing(d, "test.bin"), 2, filepath.Join(d, "fine_label_names.txt")}
		if len(f.train)+len(f.test) > 0 {
			return f, true
		}
	}
	return f, false
}

// escapeGlob returns a pattern that matches only the path itself.
func escapeGlob(path string) string {
	if filepath.Separator == '\\' { // has no escapes
		return path
	}
	return strings.NewReplacer(`*`, `\*`, `?`, `\?`, `[`, `\[`, `\`, `\\`).Replace(path)
}

// existing returns the file of a name in dir, if it is there.
func existing(dir, name string) []string {
	path := filepath.Join(dir, name)
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return nil
	}
	return []string{path}
}

// readCIFAR reads the batches of a folder.
func readCIFAR(dir string, opt Options) (*content, error) {
	files, ok := findCIFAR(dir)
	if !ok {
		return nil, fmt.Errorf("folder %s: expected data_batch_1.bin and so on and test_batch.bin, or train.bin and "+
			"test.bin: %w", dir, fs.ErrNotExist)
	}
	c := &content{name: filepath.Clean(dir)}
	for _, s := range []struct {
		name  string
		files []string
		to    **part
	}{{trainSplit, files.train, &c.train}, {testSplit, files.test, &c.test}} {
		if len(s.files) == 0 || s.to == &c.train && opt.skipsTraining() && len(files.test) > 0 {
			continue
		}
		p := &part{Shape: dataset.RGB(cifarSide, cifarSide), file: title(c.name, s.name, s.files)}
		for _, path := range s.files {
			p.files = append(p.files, opening{path, p.size()})
			if err := p.addCIFAR(path, files.labels, opt); err != nil {
				return nil, err
			}
		}
		*s.to = p
		opt = opt.less(p.bytes())
	}
	names, err := regular.ReadFile(files.names, 1<<20)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	default:
		c.classes = strings.Fields(string(names))
	}
	return c, nil
}

// title names the files of a split in a folder, for errors: by the only one, or else by the folder.
func title(folder, split string, files []string) string {
	if len(files) == 1 {
		return files[0]
	}
	return fmt.Sprintf("%s (%s)", folder, split)
}

// addCIFAR adds the images of a file.
func (p *part) addCIFAR(path string, labels int, opt Options) error {
	f, size, err := regular.Open(path)
	if err != nil {
		return err
	}
	defer f.Close()
	if problem := opt.tooLarge(float64(len(p.pixels)) + float64(size)); problem != "" {
		return fmt.Errorf("%s: %s", path, problem)
	}
	return p.readCIFAR(path, opt.reader(f), size, labels)
}

// readCIFAR adds the images in size bytes of r: of each the labels, then the pixels of a Set.
func (p *part) readCIFAR(path string, r io.Reader, size int64, labels int) error {
	record := make([]byte, labels+cifarPixels)
	n := size / int64(len(record))
	if n == 0 || size != n*int64(len(record)) {
		return &FormatError{File: path, Offset: size, Problem: fmt.Sprintf("ends within image %d (counted from 0), "+
			"expected %d bytes an image", n, len(record))}
	}
	in := bufio.NewReaderSize(r, 1<<20)
	p.pixels = append(engine.Bytes(len(p.pixels) + int(n)*cifarPixels)[:0], p.pixels...)
	for i := range n {
		if k, err := io.ReadFull(in, record); err != nil {
			return &FormatError{File: path, Offset: i*int64(len(record)) + int64(k), Problem: "unreadable", Err: err}
		}
		p.pixels = append(p.pixels, record[labels:]...)
		p.labels = append(p.labels, int(record[labels-1]))
	}
	return nil
}
