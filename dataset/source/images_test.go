package source

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dpnbench/dataset"
	"dpnbench/internal/fuzzlimit"

	"golang.org/x/image/bmp"
)

// tiff returns a TIFF structure with an orientation.
func tiff(order binary.AppendByteOrder, orientation uint16) []byte {
	b := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	for _, e := range [][2]uint16{{0x010f, 7}, {0x0112, orientation}} {
		b = order.AppendUint16(order.AppendUint16(b, e[0]), 3)
		b = order.AppendUint16(order.AppendUint32(b, 1), e[1])
		b = append(b, 0, 0)
	}
	return b
}

// withEXIF puts an orientation into a JPEG file.
func withEXIF(file, tiff []byte) []byte {
	segment := append([]byte("Exif\x00\x00"), tiff...)
	app := append([]byte{0xff, 0xe0, 0, 4, 1, 2, 0xff, 0xe1}, byte((len(segment)+2)>>8), byte(len(segment)+2))
	return slices.Concat(file[:2], app, segment, file[2:])
}

// withChunk puts an orientation into a PNG file.
func withChunk(file, tiff []byte) []byte {
	const header = 8 + 25 // signature and IHDR
	b := binary.BigEndian.AppendUint32(nil, uint32(len(tiff)))
	b = append(append(append(b, "eXIf"...), tiff...), 0, 0, 0, 0)
	return slices.Concat(file[:header], b, file[header:])
}

// All orientations are turned to the image that a viewer shows: rows 1 2 3 and 4 5 6.
func TestOrientation(t *testing.T) {
	stored := map[uint16][]string{1: {"123", "456"}, 2: {"321", "654"}, 3: {"654", "321"}, 4: {"456", "123"},
		5: {"14", "25", "36"}, 6: {"36", "25", "14"}, 7: {"63", "52", "41"}, 8: {"41", "52", "63"}, 9: {"123", "456"}}
	for o, rows := range stored {
		p := &decoded{rows: len(rows), cols: len(rows[0]), channels: 1, pixels: []byte(strings.Join(rows, ""))}
		p.orient(int(o))
		if p.rows != 2 || p.cols != 3 || string(p.pixels) != "123456" {
			t.Errorf("orientation %d: %d x %d, %s", o, p.rows, p.cols, p.pixels)
		}
	}
	x := image.NewGray(image.Rect(0, 0, 16, 8))
	var jpg, lossless bytes.Buffer
	if err := jpeg.Encode(&jpg, x, nil); err != nil {
		t.Fatal(err)
	}
	if err := png.Encode(&lossless, x); err != nil {
		t.Fatal(err)
	}
	webp := []byte("RIFF\x00\x00\x00\x00WEBPVP8X\x03\x00\x00\x00abc\x00EXIF")
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		exif := tiff(order, 6)
		length := binary.LittleEndian.AppendUint32(nil, uint32(len(exif)))
		for name, file := range map[string][]byte{"jpeg": withEXIF(jpg.Bytes(), exif),
			"png": withChunk(lossless.Bytes(), exif), "webp": slices.Concat(webp, length, exif)} {
			if o := orientation(name, file); o != 6 {
				t.Errorf("%s, %v: orientation %d", name, order, o)
			}
			if name == "jpeg" {
				if p, err := decode(file, mostPixels); err != nil || p.rows != 16 || p.cols != 8 {
					t.Errorf("%s: %v, %v", name, p, err)
				}
			}
		}
	}
}

// Formats, colours, transparency and depths become levels.
func TestDecode(t *testing.T) {
	encode := func(x image.Image, how func(*bytes.Buffer, image.Image) error) []byte {
		var out bytes.Buffer
		if err := how(&out, x); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	asPNG := func(b *bytes.Buffer, x image.Image) error { return png.Encode(b, x) }
	at := func(x interface {
		image.Image
		Set(x, y int, c color.Color)
	}, colours ...color.Color) image.Image {
		for i, c := range colours {
			x.Set(i, 0, c)
		}
		return x
	}
	r := image.Rect(0, 0, 2, 1)
	palette := image.NewPaletted(r, color.Palette{color.White, color.RGBA{10, 20, 30, 255}})
	for name, c := range map[string]struct {
		file   []byte
		pixels []byte
	}{
		"grey": {encode(at(image.NewGray(r), color.Gray{7}, color.Gray{200}), asPNG), []byte{7, 200}},
		"deep": {encode(at(image.NewGray16(r), color.Gray16{0x1234}, color.Gray16{0xffff}), asPNG),
			[]byte{0x12, 255}},
		"equal": {encode(at(image.NewRGBA(r), color.Gray{7}, color.Gray{9}), asPNG), []byte{7, 9}},
		"colour": {encode(at(image.NewRGBA(r), color.RGBA{1, 2, 3, 255}, color.Gray{9}), asPNG),
			[]byte{1, 9, 2, 9, 3, 9}},
		"clear": {encode(at(image.NewNRGBA(r), color.NRGBA{}, color.NRGBA{0, 0, 0, 255}), asPNG), []byte{255, 0}},
		"bmp": {encode(at(image.NewRGBA(r), color.RGBA{1, 2, 3, 255}, color.Gray{9}),
			func(b *bytes.Buffer, x image.Image) error { return bmp.Encode(b, x) }), []byte{1, 9, 2, 9, 3, 9}},
		"gif": {encode(at(palette, color.White, color.RGBA{10, 20, 30, 255}),
			func(b *bytes.Buffer, x image.Image) error { return gif.Encode(b, x, nil) }),
			[]byte{255, 10, 255, 20, 255, 30}},
		"part of a gif": {encode(palette, func(b *bytes.Buffer, _ image.Image) error {
			x := image.NewPaletted(image.Rect(1, 0, 2, 1), color.Palette{color.Black})
			return gif.EncodeAll(b, &gif.GIF{Image: []*image.Paletted{x}, Delay: []int{0},
				Config: image.Config{ColorModel: x.Palette, Width: 3, Height: 2}})
		}), []byte{255, 0, 255, 255, 255, 255}},
	} {
		if p, err := decode(c.file, mostPixels); err != nil || !bytes.Equal(p.pixels, c.pixels) {
			t.Errorf("%s: %v, %v, want %v", name, p, err, c.pixels)
		}
	}
	big := encode(image.NewGray(image.Rect(0, 0, 300, 200)), asPNG)
	if _, err := decode(big, 59999); err == nil || !strings.Contains(err.Error(), "200 x 300 pixels") {
		t.Errorf("too many pixels: %v", err)
	}
}

// TestImageLimits has files that claim the most pixels and one more, and one of a byte too many.
func TestImageLimits(t *testing.T) {
	for _, c := range []struct {
		rows, cols uint32
		refused    bool
	}{{8192, 8192, false}, {1, 67_108_864, false}, {5, 13_421_773, true}, {67_108_865, 1, true}} {
		head := binary.BigEndian.AppendUint32([]byte("IHDR"), c.cols)
		head = append(binary.BigEndian.AppendUint32(head, c.rows), 8, 0, 0, 0, 0)
		file := append([]byte("\x89PNG\r\n\x1a\n\x00\x00\x00\x0d"), head...) // no pixels follow
		file = binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(head))
		_, err := (&imageFile{path: "x.png", content: file}).read(Options{})
		want := fmt.Sprintf("%d x %d pixels, expected 1 to 67108864", c.rows, c.cols)
		if err == nil || (err.Error() == want) != c.refused {
			t.Errorf("%d x %d pixels: %v, want %q: %v", c.rows, c.cols, err, want, c.refused)
		}
	}
	path := filepath.Join(t.TempDir(), "x.png")
	if err := os.WriteFile(path, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 256<<20+1); err != nil {
		t.Fatal(err)
	}
	if _, err := (&imageFile{path: path}).read(Options{}); err == nil || err.Error() != "more than 268435456 bytes" {
		t.Errorf("a byte more than 256 MiB: %v", err)
	}
}

// TestDecodingTogether counts how many images are decoded at once: as many as the memory allows, at least one.
func TestDecodingTogether(t *testing.T) {
	const magic, side = "images at once", 100
	var now, most atomic.Int32
	decode := func(io.Reader) (image.Image, error) {
		n := now.Add(1)
		defer now.Add(-1)
		for m := most.Load(); n > m && !most.CompareAndSwap(m, n); m = most.Load() {
		}
		time.Sleep(2 * time.Millisecond)
		return image.NewGray(image.Rect(0, 0, side, side)), nil
	}
	image.RegisterFormat(magic, magic, decode, func(io.Reader) (image.Config, error) {
		return image.Config{Width: side, Height: side}, nil
	})
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(8))
	for memory, want := range map[float64]int32{1e4: 1, 300e3: 1, 550e3: 2, 1e7: 8} {
		files := make([]imageFile, 24)
		for i := range files {
			files[i].content = []byte(magic)
		}
		most.Store(0)
		p, err := decodeAll("x", files, Options{Memory: memory, Rows: 10, Cols: 10})
		if err != nil || p.size() != len(files) || most.Load() > want || memory == 1e7 && most.Load() < 2 {
			t.Errorf("%v bytes: %v, %d at once, want at most %d, of much memory 2", memory, err, most.Load(), want)
		}
	}
}

// Folders: what they may hold, and what they may not.
func TestImageFolders(t *testing.T) {
	small := pngOf(t, []byte{1, 2, 3, 4, 5, 6}, 2, 3)
	wide := pngOf(t, []byte{1, 2, 3, 4, 5, 6}, 1, 6)
	for name, c := range map[string]struct {
		files map[string][]byte
		opt   Options
		want  string // part of the error, or empty
		train int
	}{
		"classes": {map[string][]byte{"a/1.png": small, "b/x/2.png": small, "b/3.PNG": small, ".git/x.txt": {1}},
			Options{}, "", 3},
		"no labels":   {map[string][]byte{"1.png": small, "2.png": small}, Options{}, "", 2},
		"scaled":      {map[string][]byte{"a/1.png": small, "b/2.png": wide}, Options{Rows: 4, Cols: 4}, "", 2},
		"other sizes": {map[string][]byte{"a/1.png": small, "b/2.png": wide}, Options{}, "1 x 6 pixels", 0},
		"a text":      {map[string][]byte{"a/1.png": small, "a/2.txt": wide}, Options{}, "1 of 2 files", 0},
		"broken": {map[string][]byte{"a/1.png": small, "a/2.png": small[:40], "b/3.jpg": {1}, "b/x.txt": {1}},
			Options{}, "3 of 4 files", 0},
		"mixed":       {map[string][]byte{"1.png": small, "b/2.png": small}, Options{}, "1.png lies beside folders", 0},
		"other class": {map[string][]byte{"train/a/1.png": small, "test/b/2.png": small}, Options{}, "", 1},
		"val":         {map[string][]byte{"train/a/1.png": small, "val/a/2.png": small}, Options{}, "", 1},
		"too large":   {map[string][]byte{"a/1.png": small, "a/2.png": small}, Options{Memory: 10}, "are available", 0},
		"test share": {map[string][]byte{"train/a/1.png": small, "test/a/2.png": small}, Options{TestShare: 0.5},
			"has test samples", 0},
		"first": {map[string][]byte{"a/1.png": small, "a/2.png": small, "b/3.png": {1}}, Options{TrainSize: 2}, "", 2},
		"first, share": {map[string][]byte{"a/1.png": small, "a/2.png": small, "b/3.png": {1}},
			Options{TrainSize: 1, TestShare: 0.5}, "1 of 3 files", 0},
		"first test": {map[string][]byte{"train/a/1.png": small, "test/a/1.png": small, "test/a/2.png": {1}},
			Options{TestSize: 1}, "", 1},
		"unlabelled, share": {map[string][]byte{"1.png": small, "2.png": small, "3.png": small, "4.png": small},
			Options{TestShare: 0.25}, "", 3},
	} {
		dir := t.TempDir()
		for file, b := range c.files {
			write(t, dir, file, b)
		}
		d, err := Open(dir, c.opt)
		if c.want != "" {
			if err == nil || !strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%s: %v, want %q", name, err, c.want)
			}
			continue
		}
		if err != nil || d.Train.Len() != c.train || d.Check() != nil {
			t.Errorf("%s: %v, %v", name, d, err)
		}
	}
	dir := t.TempDir()
	write(t, dir, "a/1.png", small)
	write(t, dir, "b/2.png", small)
	if d, err := Open(dir, Options{TrainSize: 1}); err != nil || !slices.Equal(d.Classes, []string{"a", "b"}) ||
		!slices.Equal(d.Train.Labels, []uint16{0}) {
		t.Errorf("the first image: %v, %v, expected the classes of all", d, err)
	}
	dir = t.TempDir()
	for i := range 30 {
		write(t, dir, fmt.Sprintf("a/%d.png", i), []byte("no image"))
	}
	if _, err := Open(dir, Options{}); err == nil || strings.Count(err.Error(), ".png: ") != 20 ||
		!strings.Contains(err.Error(), "30 of 30 files") || !strings.Contains(err.Error(), "and 10 more") {
		t.Errorf("thirty broken files: %v", err)
	}
}

// A share of each class becomes test samples, the same for the same seed.
func TestTestShare(t *testing.T) {
	text := "a,b,kind\n"
	for i := range 100 {
		text += fmt.Sprintf("%d,%d,%s\n", i, -i, []string{"cat", "dog", "dog", "dog"}[i%4])
	}
	path := write(t, t.TempDir(), "x.csv", []byte(text))
	var first *dataset.Data
	for _, seed := range []uint64{1, 1, 2} {
		d, err := Open(path, Options{TestShare: 0.2, Seed: seed})
		if err != nil {
			t.Fatal(err)
		}
		cats := 0
		for i, y := range d.Test.Labels {
			cats += 1 - int(y)
			if v := d.Test.Vector(i); v[0] != -v[1] || (int(v[0])%4 == 0) != (y == 0) {
				t.Fatalf("features %v with label %d", v, y)
			}
		}
		if d.Train.Len() != 80 || d.Test.Len() != 20 || cats != 5 {
			t.Errorf("%d and %d samples, %d cats", d.Train.Len(), d.Test.Len(), cats)
		}
		if first == nil {
			first = d
		}
		if same := slices.Equal(d.Test.Values, first.Test.Values); same != (seed == 1) {
			t.Errorf("seed %d: the same test samples as with seed 1: %t", seed, same)
		}
	}
	if _, err := Open(path, Options{TestShare: 0.001}); err == nil || !strings.Contains(err.Error(), "0 of 100") {
		t.Errorf("a share of nothing: %v", err)
	}
}

func FuzzImage(f *testing.F) {
	x := image.NewRGBA(image.Rect(0, 0, 5, 3))
	var jpg, anim, raw bytes.Buffer
	jpeg.Encode(&jpg, x, nil)
	gif.Encode(&anim, x, nil)
	bmp.Encode(&raw, x)
	for _, b := range [][]byte{jpg.Bytes(), anim.Bytes(), raw.Bytes(), pngOf(f, []byte{1, 2, 3, 4}, 2, 2),
		withEXIF(jpg.Bytes(), tiff(binary.BigEndian, 7)), []byte("RIFF\x1a\x00\x00\x00WEBPVP8L\x0d\x00\x00\x00/")} {
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		const most = 1 << 16
		fuzzlimit.Check(t, 4160*len(b)+32*most+4<<20, func() {
			p, err := decode(b, most)
			if err != nil {
				if strings.Contains(err.Error(), "\n") {
					t.Fatalf("%q: expected one line", err)
				}
				return
			}
			if p.rows*p.cols > most || len(p.pixels) != p.rows*p.cols*p.channels {
				t.Fatalf("%d x %d x %d: %d levels", p.rows, p.cols, p.channels, len(p.pixels))
			}
		})
	})
}

func FuzzOrientation(f *testing.F) {
	f.Add([]byte("\xff\xd8\xff\xe1\x00\x0aExif\x00\x00II"), tiff(binary.LittleEndian, 3), 0)
	f.Add([]byte("RIFF1234WEBPEXIF\x04\x00\x00\x001234"), tiff(binary.BigEndian, 8), 1)
	f.Fuzz(func(t *testing.T, file, exif []byte, format int) {
		fuzzlimit.Check(t, 64*(len(file)+len(exif))+1<<20, func() {
			if o := orientation([]string{"jpeg", "png", "webp"}[uint(format)%3], file); o < 1 || o > 8 {
				t.Fatalf("orientation %d", o)
			}
			orientationTag(exif)
		})
	})
}

func FuzzCIFAR(f *testing.F) {
	f.Add(make([]byte, 3073), 1)
	f.Add(make([]byte, 2*3074), 2)
	f.Fuzz(func(t *testing.T, b []byte, labels int) {
		labels = 1 + labels&1
		fuzzlimit.Check(t, 64*len(b)+4<<20, func() {
			p := &part{Shape: dataset.RGB(32, 32)}
			if err := p.readCIFAR("x", bytes.NewReader(b), int64(len(b)), labels); err == nil &&
				(p.size() != len(p.labels) || len(b) != p.size()*(3072+labels)) {
				t.Fatalf("%d images, %d labels of %d bytes", p.size(), len(p.labels), len(b))
			}
		})
	})
}

// TestLuma checks the grey of colours by ITU-R BT.601: 0.299, 0.587 and 0.114.
func TestLuma(t *testing.T) {
	for rgb, want := range map[[3]byte]byte{{255, 0, 0}: 76, {0, 255, 0}: 150, {0, 0, 255}: 29, {200, 200, 200}: 200} {
		if got := luma(rgb[0], rgb[1], rgb[2]); got != want {
			t.Errorf("%v: %d, want %d", rgb, got, want)
		}
	}
}

// TestEdges checks what a data set takes from only some of its samples or features: the normalisation of the first
// samples, the name of the last feature, and a share that is rounded.
func TestEdges(t *testing.T) {
	path := write(t, t.TempDir(), "x.csv", []byte("a,b,k\n1,2,u\n3,4,u\n9,9,u\n9,9,u\n9,9,u\n9,9,u\n9,9,u\n"))
	d, err := Open(path, Options{TrainSize: 2})
	if err != nil || !d.Norm.Equal(dataset.NormalizationOf(d.Train)) || d.Norm.Mean[0] != 2 {
		t.Errorf("the first two samples: %+v, %v", d.Norm, err)
	}
	if err := (&content{features: []string{"a", "c"}}).sameFeatures([]string{"a", "b"}); err == nil {
		t.Error("another name of the last feature: no error")
	}
	if d, err = Open(path, Options{TestShare: 0.25}); err != nil || d.Test.Len() != 2 {
		t.Errorf("a quarter of seven samples: %v, %v", d, err)
	}
}
