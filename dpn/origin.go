package dpn

import (
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn/safetensors"
)

// A model file says which images the network was made for: hashes of both splits, and where a
// folder of a relative name lies from the model file. Files of before that say neither.
const (
	metaTrainImages = "train_images_sha256"
	metaTestImages  = "test_images_sha256"
	metaValImages   = "validation_images_sha256" // with the setting val-data
	metaDataFolder  = "data_from_model"          // slashes, whatever the system
)

// mostHashed bounds the images that count for a hash: more would delay every start.
const mostHashed = 1 << 17

// origin is where the images of a model came from.
type origin struct {
	train, test string // hashes of prefixes, see prefixHashes
	val         string // of the setting val-data
	folder      string // of absolute paths; "" unless the setting data has a relative name
}

// originOf describes data that were opened by the name in the settings.
func originOf(name string, data *dataset.Data) origin {
	var o origin
	if data.Train != nil {
		o.train = prefixHashes(data.Train)
	}
	if data.Test != nil {
		o.test = prefixHashes(data.Test)
	}
	if relativeData(name) {
		beside := ""
		o.folder = eachPath(data.Name, there(data.Name), func(path string) string { // found elsewhere, perhaps
			if beside != "" && !there(path) {
				path = filepath.Join(beside, path)
			}
			beside = filepath.Dir(path)
			path, err := filepath.Abs(path)
			if err != nil {
				return ""
			}
			return path
		})
	}
	return o
}

// relativeData says whether the files or the folder of a data set have a relative name.
func relativeData(name string) bool {
	return name != "" && name != "digits" && name != "mnist" && name != "fashion-mnist" &&
		!filepath.IsAbs(strings.TrimPrefix(name, mnistC))
}

// mnistC is before the folder in the names of data in MNIST-C's arrays.
const mnistC = "mnist-c:"

// eachPath changes the paths in the name of a data set: one, or two with a comma between them, unless it is a single
// one. The name becomes empty if one of them does.
func eachPath(name string, single bool, change func(path string) string) string {
	prefix, paths := "", []string{name}
	if rest, ok := strings.CutPrefix(name, mnistC); ok {
		prefix, paths = mnistC, []string{rest}
	} else if first, second, ok := strings.Cut(name, ","); ok && second != "" && !single {
		paths = []string{first, second}
	}
	for i, path := range paths {
		if paths[i] = change(path); paths[i] == "" {
			return ""
		}
	}
	return prefix + strings.Join(paths, ",")
}

func there(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// prefixHashes hashes images and labels of the first 1, 2, 4, ... and of all images, as a list of
// COUNT:HASH, so that the same images can be recognised in sets of different sizes.
func prefixHashes(s *dataset.Set) string {
	h := sha256.New()
	var list []string
	var sample []byte
	n := min(s.Len(), mostHashed)
	for i := range n {
		sample = s.AppendLabel(s.AppendSample(sample[:0], i), i)
		h.Write(sample)
		if count := i + 1; count&(count-1) == 0 || count == n {
			list = append(list, strconv.Itoa(count)+":"+hex.EncodeToString(h.Sum(nil)[:8]))
		}
	}
	return strings.Join(list, ",")
}

// sameImages compares two results of prefixHashes by the largest count that both have.
func sameImages(a, b string) bool {
	known := map[string]string{}
	for part := range strings.SplitSeq(a, ",") {
		count, hash, _ := strings.Cut(part, ":")
		known[count] = hash
	}
	same := true
	for part := range strings.SplitSeq(b, ",") { // counts increase
		count, hash, _ := strings.Cut(part, ":")
		if want, ok := known[count]; ok {
			same = hash == want
		}
	}
	return same
}

// OtherImages says whether data hold other images than those that the model was made for, as far as
// the model file tells: the first images of each split are compared. It is false for a file
// that says nothing.
func (m *Model) OtherImages(data *dataset.Data) bool {
	other := func(want string, s *dataset.Set) bool {
		return want != "" && s != nil && !sameImages(want, prefixHashes(s))
	}
	return other(m.origin.train, data.Train) || other(m.origin.test, data.Test)
}

// TrainedOn says whether the first samples of s are the first that the model was trained on, as far as the model file
// tells.
func (m *Model) TrainedOn(s *dataset.Set) bool {
	return m.origin.train != "" && s.Len() > 0 && sameImages(m.origin.train, prefixHashes(s))
}

// TestedOn says whether the first samples of s are the first of the model's test samples, as far as the model file
// tells.
func (m *Model) TestedOn(s *dataset.Set) bool {
	return m.origin.test != "" && s.Len() > 0 && sameImages(m.origin.test, prefixHashes(s))
}

// SamplesHash tells the training, test and validation samples that the model was made for from others, by the first of
// each; "" for a file that says nothing.
func (m *Model) SamplesHash() string {
	o := m.origin
	if o.train == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(o.train + ";" + o.test + ";" + o.val))
	return hex.EncodeToString(sum[:8])
}

// DataFolder returns where the model's data lay when it was trained, by their place relative to the
// model file; "" unless Config.Data is a relative name of files or folders and the file says so.
func (m *Model) DataFolder() string { return m.origin.folder }

// metadata adds what is known to the metadata of a file at path.
func (o origin) metadata(f *safetensors.File, path string) {
	if o.train != "" {
		f.Metadata[metaTrainImages] = o.train
	}
	if o.test != "" {
		f.Metadata[metaTestImages] = o.test
	}
	if o.val != "" {
		f.Metadata[metaValImages] = o.val
	}
	if o.folder == "" {
		return
	}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return
	}
	near := eachPath(o.folder, there(o.folder), func(path string) string {
		rel, err := filepath.Rel(dir, path)
		if err != nil {
			return ""
		}
		return filepath.ToSlash(rel)
	})
	if near != "" {
		f.Metadata[metaDataFolder] = near
	}
}

// readOrigin is the inverse of metadata.
func readOrigin(f *safetensors.File, path string) origin {
	o := origin{train: f.Metadata[metaTrainImages], test: f.Metadata[metaTestImages], val: f.Metadata[metaValImages]}
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return o
	}
	near := filepath.FromSlash(f.Metadata[metaDataFolder])
	single := there(dir + string(filepath.Separator) + near) // as written: Join would take out what is not there
	o.folder = eachPath(near, single, func(rel string) string {
		if rel == "" || filepath.IsAbs(rel) {
			return ""
		}
		return filepath.Join(dir, rel)
	})
	return o
}
