package source

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"dpnbench/dataset"
)

// pixels turns arrays of numbers that have the dimensions of images into images, unless opt asks for a size or channels
// (see convert): for a model of images, or without a model if all are levels, so that nothing is lost.
func (c *content) pixels(opt Options) error {
	if opt.Rows > 0 || opt.Channels > 0 || opt.Shape.Features > 0 {
		return nil
	}
	all := slices.DeleteFunc(c.parts(), func(p *part) bool { return p.IsImage() || p.grid.Rows == 0 })
	for _, p := range all {
		if opt.Shape.Len() == 0 && !p.levels() {
			p.notes = append(p.notes, fmt.Sprintf("%s: read as vectors of %d features: the numbers are no levels of "+
				"images, whole numbers from 0 to 255 or 255ths%s", p.file, p.Features, p.rounding()))
			return nil
		}
	}
	for _, p := range all {
		if err := p.image(opt); err != nil {
			return err
		}
	}
	return nil
}

// levels says whether all numbers are levels of images: whole ones from 0 to 255, or 255ths from 0 to 1, as dividing
// such levels by 255 gives them.
func (p *part) levels() bool {
	times, off := 1.0, 0.0
	if p.fractions(true) {
		times, off = 255, 1e-3 // the quotients are rounded
	}
	for _, v := range p.values {
		x := times * float64(v)
		if !(x >= 0 && x <= 255 && math.Abs(x-math.Round(x)) <= off) {
			return false
		}
	}
	return true
}

// rounding says how to get images nevertheless, if that is possible.
func (p *part) rounding() string {
	if !p.fractions(true) {
		return ""
	}
	return fmt.Sprintf(" (--channels %s rounds them)", dataset.ChannelKind(p.grid.Channels))
}

// convert changes the samples to the size and channels of opt, as far as it sets them. Vectors of levels, whole numbers
// from 0 to 255 or fractions from 0 to 1, become images: of the dimensions of their array, or of a size that fits.
func (p *part) convert(opt Options) error {
	if !p.IsImage() {
		if opt.Rows == 0 && opt.Channels == 0 {
			return nil
		}
		if err := p.image(opt); err != nil {
			return err
		}
	}
	before := p.Shape
	if opt.Channels > 0 && opt.Channels != p.Channels {
		p.recolour(opt.Channels)
	}
	if opt.Rows > 0 && (opt.Rows != p.Rows || opt.Cols != p.Cols) {
		planes := &dataset.Set{Shape: dataset.Grey(p.Rows, p.Cols), Pixels: p.pixels}
		small, err := planes.Resize(opt.Rows, opt.Cols)
		if err != nil {
			return fmt.Errorf("%s: %w", p.file, err)
		}
		p.pixels, p.Rows, p.Cols = small.Pixels, opt.Rows, opt.Cols
	}
	if p.Shape != before {
		p.before = before.String()
	}
	return nil
}

// fits refuses samples that, as opt converts them, do not fit into memory.
func (c *content) fits(opt Options) error {
	var need float64
	for _, p := range c.parts() {
		need += p.converted(opt)
		if problem := opt.tooLarge(need); problem != "" {
			return fmt.Errorf("%s: %s", p.file, problem)
		}
	}
	return nil
}

// converted returns how many bytes the samples take, before and after convert, or with a copy of the share of split.
func (p *part) converted(opt Options) float64 {
	to := dataset.Shape{
		Rows:     cmp.Or(opt.Rows, p.Rows, p.grid.Rows),
		Cols:     cmp.Or(opt.Cols, p.Cols, p.grid.Cols),
		Channels: cmp.Or(opt.Channels, p.Channels, p.grid.Channels, 1),
	}
	before, after := float64(len(p.pixels))+4*float64(len(p.values)), 0.0
	if p.Shape != to {
		after = float64(p.size()) * float64(to.Rows) * float64(to.Cols) * float64(to.Channels)
	}
	share := opt.TestShare
	if share == 1 { // all samples, without a copy
		share = 0
	}
	return max(before+after, (1+share)*max(before, after))
}

// image turns vectors into images of the size and channels of opt.
func (p *part) image(opt Options) error {
	shape := dataset.Shape{Rows: opt.Rows, Cols: opt.Cols, Channels: max(opt.Channels, 1)}
	dimensions := p.grid.Rows > 0
	if dimensions {
		shape = p.grid.Shape
	} else if opt.Shape.Len() > 0 && shape.Len() != p.Features {
		return fmt.Errorf("%s: vectors of %v, the model expects images of %v", p.file, p.Shape, opt.Shape)
	} else if opt.Rows == 0 || shape.Len() != p.Features {
		return fmt.Errorf("%s: vectors of %d features are no images: expected a size of that many pixels", p.file,
			p.Features)
	}
	pixels := make([]byte, len(p.values))
	fractions := p.fractions(dimensions)
	if fractions && !p.levels() {
		p.notes = append(p.notes, "fractions are rounded to the 256 levels of images")
	}
	for i, v := range p.values {
		if fractions {
			pixels[i] = byte(math.Round(255 * float64(v)))
			continue
		}
		if !(v >= 0 && v <= 255) || v != float32(math.Trunc(float64(v))) {
			file, where := p.sample(i / p.Features)
			return fmt.Errorf("%s: %s, feature %d (counted from 0): %v: expected a level of an image, 0 to 255 or, of "+
				"all, a fraction from 0 to 1", file, where, i%p.Features, v)
		}
		pixels[i] = byte(v)
	}
	if p.grid.last && shape.Channels > 1 {
		planar(pixels, p.Features, shape.Channels)
	}
	p.Shape, p.pixels, p.values = shape, pixels, nil
	return nil
}

// fractions says whether the values are levels from 0 to 1. Zeros and ones alone are so in an array of fractions.
func (p *part) fractions(array bool) bool {
	some := array
	for _, v := range p.values {
		if !(v >= 0 && v <= 1) {
			return false
		}
		some = some || v != 0 && v != 1
	}
	return some
}

// recolour gives grey images three equal channels, and turns colours into grey levels.
func (p *part) recolour(channels int) {
	n, plane := p.size(), p.Rows*p.Cols
	out := make([]byte, 0, n*plane*channels)
	for i := range n {
		x := p.pixels[i*p.Shape.Len() : (i+1)*p.Shape.Len()]
		switch {
		case channels == 1 && p.Channels == 3:
			for j := range plane {
				out = append(out, luma(x[j], x[plane+j], x[2*plane+j]))
			}
		default:
			for range channels {
				out = append(out, x[:plane]...)
			}
		}
	}
	p.pixels, p.Channels = out, channels
}

// luma returns the grey level of a colour, the weighted mean of ITU-R BT.601 that most programs take, rounded.
func luma(r, g, b byte) byte {
	return byte((19595*uint32(r) + 38470*uint32(g) + 7471*uint32(b) + 1<<15) >> 16)
}
