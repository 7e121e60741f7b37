package main

import (
	"bytes"
	"fmt"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"strconv"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
)

// Image folders and CIFAR batches hold the first images of Fashion-MNIST, to keep the run short.
const (
	fewTrain = 10_000
	fewTest  = 2_000
)

// jpegQuality is that of the JPEG files, of 100.
const jpegQuality = 90

// imageSet is a row of the table of images.
type imageSet struct {
	name   string // of its files
	data   string
	format string
	same   string // sets with equal data and settings, whose weights must be the same
	spec   func(c *command) (string, error)
	args   []string // of train
	least  float64  // test accuracy that is promised
	result
}

// named is a data set that --data finds by its name.
func named(name string) func(*command) (string, error) {
	return func(*command) (string, error) { return name, nil }
}

// converted is the NPZ file that data convert makes of a named data set.
func converted(name string) func(*command) (string, error) {
	return func(c *command) (string, error) {
		file := c.path(name + ".npz")
		_, err := c.run(new(any), "data", "convert", name, "--out", file)
		return file, err
	}
}

// imageSets trains on all image sets.
func imageSets(c *command) ([]imageSet, error) {
	few := []string{"--train-size", strconv.Itoa(fewTrain), "--test-size", strconv.Itoa(fewTest)}
	const mnist, fashion = "MNIST", "Fashion-MNIST"
	const grey, rgb = fashion + ", part", fashion + ", part, coloured"
	list := []imageSet{
		{name: "mnist-idx", data: mnist, format: "IDX", same: "mnist", spec: named("mnist")},
		{name: "mnist-npz", data: mnist, format: "NPZ", same: "mnist", spec: converted("mnist")},
		{name: "fashion-idx", data: fashion, format: "IDX", same: "fashion", spec: named("fashion-mnist")},
		{name: "fashion-npz", data: fashion, format: "NPZ", same: "fashion", spec: converted("fashion-mnist")},
		{name: "few-idx", data: grey, format: "IDX", same: "few", spec: named("fashion-mnist"), args: few},
		{name: "few-png", data: grey, format: "folder of PNG", same: "few", spec: folder(false, asPNG)},
		{name: "few-jpeg", data: grey, format: "folder of JPEG", spec: folder(false, asJPEG)},
		{name: "rgb-png", data: rgb, format: "folder of PNG", same: "rgb", spec: folder(true, asPNG)},
		{name: "rgb-jpeg", data: rgb, format: "folder of JPEG", spec: folder(true, asJPEG)},
		{name: "rgb-cifar", data: rgb, format: "CIFAR-10", same: "rgb", spec: cifar},
		{name: "fashion-clean", data: fashion, format: "IDX", spec: named("fashion-mnist"),
			args: []string{"--preset", "clean"}, least: 0.905},
	}
	for i := range list {
		s := &list[i]
		err := c.once(s.name, &s.result, func() error {
			spec, err := s.spec(c)
			if err != nil {
				return err
			}
			if err := c.info(&s.result, spec); err != nil {
				return err
			}
			return c.train(&s.result, spec, s.args...)
		})
		if err != nil {
			return nil, err
		}
		fmt.Printf("%-14s %s, preset %s: %.2f%%, %.0f s\n", s.name, s.shape(), s.Preset, 100*s.Accuracy, s.Seconds)
	}
	return list, nil
}

// checkImages returns what the table of images should not show.
func checkImages(list []imageSet) (failed []string) {
	first := map[string]imageSet{}
	for _, s := range list {
		if f, ok := first[s.same]; s.same != "" && ok && f.Weights != s.Weights {
			failed = append(failed, fmt.Sprintf("the weights of %s and %s differ, but not their data", f.name, s.name))
		} else if !ok {
			first[s.same] = s
		}
		if !(s.Accuracy >= s.least) {
			failed = append(failed, fmt.Sprintf("%s: accuracy %.2f%%, expected at least %.2f%%", s.name,
				100*s.Accuracy, 100*s.least))
		}
	}
	return failed
}

// part returns the first images of both splits of Fashion-MNIST, coloured or not.
func part(colour bool) (map[string]*dataset.Set, error) {
	d, err := source.Open("fashion-mnist", source.Options{TrainSize: fewTrain, TestSize: fewTest})
	if err != nil {
		return nil, err
	}
	splits := map[string]*dataset.Set{"train": d.Train, "test": d.Test}
	for name, s := range splits {
		if colour {
			if splits[name], err = coloured(s); err != nil {
				return nil, err
			}
		}
	}
	return splits, nil
}

// coloured returns grey images as 32 x 32 RGB: level v is red v, green v*v/255, blue 255 - v.
func coloured(s *dataset.Set) (*dataset.Set, error) {
	large, err := s.Resize(32, 32)
	if err != nil {
		return nil, err
	}
	out := &dataset.Set{Shape: dataset.RGB(32, 32), Labels: s.Labels}
	for i := range large.Len() {
		grey := large.Image(i)
		out.Pixels = append(out.Pixels, grey...)
		for _, v := range grey {
			out.Pixels = append(out.Pixels, byte(int(v)*int(v)/255))
		}
		for _, v := range grey {
			out.Pixels = append(out.Pixels, 255-v)
		}
	}
	return out, nil
}

// encoding is a format of image files.
type encoding struct {
	ending string
	encode func(b *bytes.Buffer, m image.Image) error
}

var asPNG = encoding{"png", func(b *bytes.Buffer, m image.Image) error { return png.Encode(b, m) }}

var asJPEG = encoding{"jpg", func(b *bytes.Buffer, m image.Image) error {
	return jpeg.Encode(b, m, &jpeg.Options{Quality: jpegQuality})
}}

// folder is a folder of image files: train/CLASS/NUMBER.png and so on.
func folder(colour bool, e encoding) func(*command) (string, error) {
	return func(c *command) (string, error) {
		splits, err := part(colour)
		if err != nil {
			return "", err
		}
		dir := c.path(fmt.Sprintf("folder-%s-%t", e.ending, colour))
		for split, s := range splits {
			if err := e.writeFolder(dir, split, s); err != nil {
				return "", err
			}
		}
		return dir, nil
	}
}

// writeFolder writes every image of a set as dir/SPLIT/CLASS/NUMBER.ENDING.
func (e encoding) writeFolder(dir, split string, s *dataset.Set) error {
	var b bytes.Buffer
	for i, y := range s.Labels {
		class := filepath.Join(dir, split, strconv.Itoa(int(y)))
		if err := os.MkdirAll(class, 0o777); err != nil {
			return err
		}
		b.Reset()
		if err := e.encode(&b, imageOf(s, i)); err != nil {
			return err
		}
		path := filepath.Join(class, fmt.Sprintf("%05d.%s", i, e.ending))
		if err := os.WriteFile(path, b.Bytes(), 0o666); err != nil {
			return err
		}
	}
	return nil
}

// imageOf returns image i of a set.
func imageOf(s *dataset.Set, i int) image.Image {
	x, n, area := s.Image(i), s.Rows*s.Cols, image.Rect(0, 0, s.Cols, s.Rows)
	if s.Channels == 1 {
		return &image.Gray{Pix: x, Stride: s.Cols, Rect: area}
	}
	m := image.NewRGBA(area)
	for j := range n {
		m.SetRGBA(j%s.Cols, j/s.Cols, color.RGBA{x[j], x[n+j], x[2*n+j], 255})
	}
	return m
}

// cifar is a folder with the coloured images in the binary format of CIFAR-10.
func cifar(c *command) (string, error) {
	splits, err := part(true)
	if err != nil {
		return "", err
	}
	dir := c.path("cifar")
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", err
	}
	for split, s := range splits {
		if err := writeBatch(dir, split, s); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// writeBatch writes images as a batch of CIFAR-10: a byte for the label, then the red, green and blue levels.
func writeBatch(dir, split string, s *dataset.Set) error {
	var b []byte
	for i, y := range s.Labels {
		b = append(append(b, byte(y)), s.Image(i)...)
	}
	name := map[string]string{"train": "data_batch_1.bin", "test": "test_batch.bin"}[split]
	return os.WriteFile(filepath.Join(dir, name), b, 0o666)
}
