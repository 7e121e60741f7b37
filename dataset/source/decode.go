package source

import (
	"bytes"
	"errors"
	"fmt"
	"image"
	"image/draw"
	_ "image/gif" // formats of image.Decode
	_ "image/jpeg"
	_ "image/png"
	"strings"

	_ "golang.org/x/image/bmp"
	_ "golang.org/x/image/webp"
)

// mostPixels bounds the pixels of an image file: decoding takes up to pixelBytes for each.
const (
	mostPixels = 1 << 26
	pixelBytes = 12
)

// decodingBytes returns how many bytes decoding a file takes at most, twice because they are not freed at once.
func decodingBytes(file []byte) float64 {
	defer func() { _ = recover() }() // decode fails, too
	config, _, _ := image.DecodeConfig(bytes.NewReader(file))
	return 2 * pixelBytes * min(float64(config.Width)*float64(config.Height), mostPixels)
}

// decoded is an image, its channels one after the other: one if no pixel has a colour, else three.
type decoded struct {
	rows, cols, channels int
	pixels               []byte
	before               string // as in part
}

// decode decodes a PNG, JPEG, GIF (its first frame), BMP or WebP file of at most most pixels, turned as its EXIF
// orientation says. What is transparent lies on white.
func decode(file []byte, most int) (p *decoded, err error) {
	defer func() { // a decoder that does not check enough is no reason to lose all
		if r := recover(); r != nil {
			p, err = nil, fmt.Errorf("the decoder failed: %.100q", fmt.Sprint(r))
		}
	}()
	config, format, err := image.DecodeConfig(bytes.NewReader(file))
	if err != nil {
		return nil, problemOf(err)
	}
	if config.Width < 1 || config.Height < 1 || config.Width > most/config.Height {
		return nil, fmt.Errorf("%d x %d pixels, expected 1 to %d", config.Height, config.Width, most)
	}
	x, _, err := image.Decode(bytes.NewReader(file))
	if err != nil {
		return nil, problemOf(err)
	}
	if screen := image.Rect(0, 0, config.Width, config.Height); format == "gif" && x.Bounds() != screen {
		whole := image.NewRGBA(screen) // x is a part of it
		draw.Draw(whole, screen, image.White, image.Point{}, draw.Src)
		draw.Draw(whole, x.Bounds(), x, x.Bounds().Min, draw.Over)
		x = whole
	}
	if p = flatten(x); p.rows < 1 || p.cols < 1 {
		return nil, errors.New("an image without pixels")
	}
	p.orient(orientation(format, file))
	return p, nil
}

// problemOf shortens an error of a decoder to one line.
func problemOf(err error) error {
	if errors.Is(err, image.ErrFormat) {
		return errors.New("expected an image in PNG, JPEG, GIF, BMP or WebP")
	}
	return errors.New(strings.Join(strings.Fields(err.Error()), " "))
}

// flatten returns the pixels of an image.
func flatten(x image.Image) *decoded {
	b := x.Bounds()
	p := &decoded{rows: b.Dy(), cols: b.Dx(), channels: 1}
	if g, ok := x.(*image.Gray); ok {
		p.pixels = make([]byte, 0, p.rows*p.cols)
		for r := range p.rows {
			p.pixels = append(p.pixels, g.Pix[r*g.Stride:][:p.cols]...)
		}
		return p
	}
	flat := image.NewRGBA(b)
	if o, ok := x.(interface{ Opaque() bool }); ok && o.Opaque() {
		draw.Draw(flat, b, x, b.Min, draw.Src)
	} else {
		draw.Draw(flat, b, image.White, image.Point{}, draw.Src)
		draw.Draw(flat, b, x, b.Min, draw.Over)
	}
	n := p.rows * p.cols
	for i := 0; i < len(flat.Pix); i += 4 {
		if v := flat.Pix[i : i+3]; v[0] != v[1] || v[0] != v[2] {
			p.channels = 3
			break
		}
	}
	p.pixels = make([]byte, n*p.channels)
	for c := range p.channels {
		plane := p.pixels[c*n : (c+1)*n]
		for i := range plane {
			plane[i] = flat.Pix[4*i+c]
		}
	}
	return p
}

// orient turns and mirrors the image as the EXIF orientation says: 1 (as it is) to 8.
func (p *decoded) orient(orientation int) {
	if orientation < 2 || orientation > 8 {
		return
	}
	rows, cols := p.rows, p.cols
	if orientation > 4 { // rows become columns
		p.rows, p.cols = cols, rows
	}
	n := rows * cols
	out := make([]byte, len(p.pixels))
	for c := range p.channels {
		from, to := p.pixels[c*n:(c+1)*n], out[c*n:(c+1)*n]
		for r := range p.rows {
			for k := range p.cols {
				i, j := r, k // in the stored image
				switch orientation {
				case 2:
					j = cols - 1 - k
				case 3:
					i, j = rows-1-r, cols-1-k
				case 4:
					i = rows - 1 - r
				case 5:
					i, j = k, r
				case 6:
					i, j = rows-1-k, r
				case 7:
					i, j = rows-1-k, cols-1-r
				case 8:
					i, j = k, cols-1-r
				}
				to[r*p.cols+k] = from[i*cols+j]
			}
		}
	}
	p.pixels = out
}
