package main

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/internal/regular"
	"dpnbench/internal/sysinfo"

	"github.com/spf13/cobra"
)

// dataView is one run of data info or data convert.
type dataView struct {
	*app
	data        dataFlags
	mosaic, out string
}

// addTo adds the flags that say how to read.
func (v *dataView) addTo(c *cobra.Command) {
	v.data.addReading(c.Flags())
	c.Flags().Uint64Var(&v.data.seed, "data-seed", 1, "`SEED` of the built-in digits, and of --test-share")
}

// oneSpec expects the name of one data set.
func oneSpec(what string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != 1 {
			return fmt.Errorf("%s: expected one data set, as in --data", what)
		}
		return nil
	}
}

func infoDataCommand(a *app) *cobra.Command {
	v := &dataView{app: a}
	c := &cobra.Command{
		Use:   "info WHAT",
		Short: "Print shapes, classes, counts and ranges of a data set",
		Long: `Read a data set and print the shape of its samples, how many samples each class has in each split,
and the range, mean and standard deviation of the training samples: of the levels (from 0 to 1) of
each channel of images, or of each feature. --mosaic draws the first images of each class.`,
		Example: `  dpnbench data info mnist --mosaic mnist.png
  dpnbench data info iris.csv --label species --test-share 0.2
  dpnbench data info photos --size 32x32`,
		Args: oneSpec("data info"), ValidArgsFunction: dataArgument,
		RunE: func(c *cobra.Command, args []string) error { return v.info(c.Context(), args[0]) },
	}
	v.addTo(c)
	c.Flags().StringVar(&v.mosaic, "mosaic", "", "PNG `FILE` for the first images: a row for each class, "+
		"of 64 at most, and of large images fewer")
	return c
}

func convertCommand(a *app) *cobra.Command {
	v := &dataView{app: a}
	c := &cobra.Command{
		Use:   "convert WHAT",
		Short: "Write a data set as an NPZ file",
		Long: `Read a data set and write what was read as an NPZ file, which --data and numpy.load read: x_train,
y_train, x_test and y_test (images as uint8, channels last; vectors as float32; labels as uint16,
the numbers of the classes), class_names and feature_names. With --test-share 1 all samples are test
samples.`,
		Example: `  dpnbench data convert photos --size 32x32 --test-share 0.2 --out photos.npz
  dpnbench train --data photos.npz`,
		Args: oneSpec("data convert"), ValidArgsFunction: dataArgument,
		RunE: func(c *cobra.Command, args []string) error { return v.convert(c.Context(), args[0]) },
	}
	v.addTo(c)
	c.Flags().StringVar(&v.out, "out", "", "NPZ `FILE` to write")
	return c
}

// open opens the data set.
func (v *dataView) open(ctx context.Context, spec string) (*dataset.Data, error) {
	opt, err := v.data.options()
	if err != nil {
		return nil, err
	}
	opt.Memory, opt.AnySplit = sysinfo.AvailableMemory(), true
	d, err := source.OpenContext(ctx, spec, opt)
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, sourceError("", err)
	}
	return d, nil
}

func (v *dataView) convert(ctx context.Context, spec string) error {
	if !strings.EqualFold(filepath.Ext(v.out), ".npz") {
		return fmt.Errorf("%s: expected the name of an NPZ file, such as data.npz", strings.TrimSpace("--out "+v.out))
	}
	files := v.files()
	inputData(files, "of "+spec, spec)
	files.Output("--out", v.out)
	if err := files.Check(); err != nil {
		return err
	}
	d, err := v.open(ctx, spec)
	if err != nil {
		return err
	}
	if err := output.Write(v.out, func(w io.Writer) error { return source.WriteNPZ(w, d) }); err != nil {
		return fmt.Errorf("--out %s: %w", v.out, regular.Cause(err))
	}
	v.printf("%s: %s, %s\n", v.out, d.Shape(), sizes(d))
	v.printNotes(d)
	return v.writeJSON(infoOf(spec, d))
}

// sizes says how many samples the splits have.
func sizes(d *dataset.Data) string {
	var parts []string
	for _, s := range []struct {
		set  *dataset.Set
		name string
	}{{d.Train, "training"}, {d.Test, "test"}} {
		if s.set != nil {
			text := format.Count(s.set.Len(), s.name+" sample")
			if !s.set.Labelled() {
				text += " without labels"
			}
			parts = append(parts, text)
		}
	}
	return strings.Join(parts, ", ")
}

// dataInfo is the JSON of data info.
type dataInfo struct {
	Data       string       `json:"data"`
	Rows       int          `json:"rows,omitempty"`
	Cols       int          `json:"cols,omitempty"`
	Channels   int          `json:"channels,omitempty"`
	Features   int          `json:"features,omitempty"`
	Train      int          `json:"train"`
	Test       int          `json:"test"`
	Classes    []classInfo  `json:"classes"`
	Statistics []columnInfo `json:"statistics"` // of the training samples
	Notes      []string     `json:"notes,omitempty"`
}

type classInfo struct {
	Name  string `json:"name"`
	Train int    `json:"train"`
	Test  int    `json:"test"`
}

// columnInfo describes the numbers of a channel or of a feature.
type columnInfo struct {
	Name string  `json:"name"`
	Min  float64 `json:"min"`
	Max  float64 `json:"max"`
	Mean float64 `json:"mean"`
	Std  float64 `json:"std"`
}

func infoOf(spec string, d *dataset.Data) dataInfo {
	s := d.Shape()
	r := dataInfo{Data: spec, Rows: s.Rows, Cols: s.Cols, Channels: s.Channels, Features: s.Features,
		Classes: make([]classInfo, len(d.Classes)), Statistics: []columnInfo{}, Notes: d.Notes}
	for i, name := range d.Classes {
		r.Classes[i].Name = name
	}
	if d.Train != nil {
		r.Train, r.Statistics = d.Train.Len(), statistics(d)
		for _, y := range d.Train.Labels {
			r.Classes[y].Train++
		}
	}
	if d.Test != nil {
		r.Test = d.Test.Len()
		for _, y := range d.Test.Labels {
			r.Classes[y].Test++
		}
	}
	return r
}

// statistics describes each channel or feature of the training samples.
func statistics(d *dataset.Data) []columnInfo {
	s := d.Train
	names := d.Features
	count, run := s.Features, 1 // numbers of a column in a sample
	if s.IsImage() {
		count, run = s.Channels, s.Rows*s.Cols
		names = []string{"grey"}
		if count == 3 {
			names = []string{"red", "green", "blue"}
		}
	}
	columns := make([]columnInfo, count)
	for i := range columns {
		columns[i] = columnInfo{Name: fmt.Sprint(i + 1), Min: math.Inf(1), Max: math.Inf(-1)}
		if names != nil {
			columns[i].Name = names[i]
		}
	}
	each := func(f func(c *columnInfo, v float64)) {
		for i := range s.Len() {
			if s.IsImage() {
				for at, v := range s.Image(i) {
					f(&columns[at/run], float64(v)/255)
				}
				continue
			}
			for at, v := range s.Vector(i) {
				f(&columns[at], float64(v))
			}
		}
	}
	n := float64(s.Len() * run)
	each(func(c *columnInfo, v float64) { c.Min, c.Max, c.Mean = min(c.Min, v), max(c.Max, v), c.Mean+v })
	for i := range columns {
		columns[i].Mean /= n
	}
	each(func(c *columnInfo, v float64) { c.Std += (v - c.Mean) * (v - c.Mean) })
	for i := range columns {
		columns[i].Std = math.Sqrt(columns[i].Std / n)
	}
	return columns
}

// mostLines bounds the lines of a table of classes or features on the terminal.
const mostLines = 100

func (v *dataView) info(ctx context.Context, spec string) error {
	files := v.files()
	inputData(files, "of "+spec, spec)
	if v.mosaic != "" {
		if !strings.EqualFold(filepath.Ext(v.mosaic), ".png") {
			return fmt.Errorf("--mosaic %s: expected the name of a PNG file", v.mosaic)
		}
		files.Output("--mosaic", v.mosaic)
	}
	if err := files.Check(); err != nil {
		return err
	}
	d, err := v.open(ctx, spec)
	if err != nil {
		return err
	}
	if v.mosaic != "" {
		if err := d.Shape().NeedImages("--mosaic"); err != nil {
			return err
		}
	}
	r := infoOf(spec, d)
	v.printf("%s: %s, %s, %s\n", spec, d.Shape(), sizes(d), format.Count(len(d.Classes), "class"))
	v.printNotes(d)
	v.printf("\n")
	v.tables(r)
	if v.mosaic != "" {
		b, err := mosaicPNG(d)
		if err != nil {
			return err
		}
		if err := output.Write(v.mosaic, output.Bytes(b)); err != nil {
			return fmt.Errorf("--mosaic %s: %w", v.mosaic, regular.Cause(err))
		}
	}
	return v.writeJSON(r)
}

// printNotes prints what was left out, or read otherwise than one may think.
func (v *dataView) printNotes(d *dataset.Data) {
	for _, note := range d.Notes {
		v.printf("%s\n", note)
	}
}

// tables prints the classes and the columns.
func (v *dataView) tables(r dataInfo) {
	if len(r.Classes) > 0 {
		rows := [][]string{{"class", "training", "test"}}
		for _, c := range r.Classes[:min(mostLines, len(r.Classes))] {
			rows = append(rows, []string{c.Name, fmt.Sprint(c.Train), fmt.Sprint(c.Test)})
		}
		v.table(rows)
		v.omitted(len(r.Classes), "class")
		v.printf("\n")
	}
	what := "feature"
	if r.Features == 0 {
		what = "channel"
	}
	rows := [][]string{{what, "min", "max", "mean", "deviation"}}
	for _, c := range r.Statistics[:min(mostLines, len(r.Statistics))] {
		row := []string{c.Name}
		for _, x := range []float64{c.Min, c.Max, c.Mean, c.Std} {
			row = append(row, fmt.Sprintf("%.4g", x))
		}
		rows = append(rows, row)
	}
	if len(rows) > 1 {
		v.table(rows)
		v.omitted(len(r.Statistics), what)
	}
}

// omitted says how many lines a table of n has not.
func (v *dataView) omitted(n int, what string) {
	if n > mostLines {
		v.printf("and %s more (--json has all)\n", format.Count(n-mostLines, what))
	}
}

const (
	mosaicGap  = 2       // pixels between images
	mostPixels = 1 << 26 // of a mosaic of more than one image
)

// mosaicOf says how often images of a size are magnified in a mosaic, and how many fit beside and below each other.
func mosaicOf(rows, cols int) (scale, across, down int) {
	const least = 56 // pixels of an image
	scale = max(1, least/max(rows, cols))
	each := (rows*scale + mosaicGap) * (cols*scale + mosaicGap)
	across = max(1, min(16, mostPixels/each))
	return scale, across, max(1, min(64, mostPixels/(across*each)))
}

// mosaicPNG draws the first images of each class in a row, or of all in rows if there are no labels.
func mosaicPNG(d *dataset.Data) ([]byte, error) {
	s := d.Train
	if s == nil {
		s = d.Test
	}
	scale, across, down := mosaicOf(s.Rows, s.Cols)
	rows := make([][]int, 0, down)
	if s.Labelled() {
		rows = rows[:min(down, len(d.Classes))]
		for i, y := range s.Labels {
			if int(y) < len(rows) && len(rows[y]) < across {
				rows[y] = append(rows[y], i)
			}
		}
	} else {
		for i := range min(s.Len(), across*min(down, 10)) {
			if i%across == 0 {
				rows = append(rows, nil)
			}
			rows[len(rows)-1] = append(rows[len(rows)-1], i)
		}
	}
	high, wide := s.Rows*scale+mosaicGap, s.Cols*scale+mosaicGap
	out := image.NewRGBA(image.Rect(0, 0, across*wide+mosaicGap, len(rows)*high+mosaicGap))
	for i := range out.Pix {
		out.Pix[i] = 255
	}
	plane := s.Rows * s.Cols
	for r, row := range rows {
		for c, i := range row {
			x := s.Image(i)
			for y := range s.Rows * scale {
				for k := range s.Cols * scale {
					at := y/scale*s.Cols + k/scale
					pixel := color.RGBA{x[at], x[at], x[at], 255}
					if s.Channels == 3 {
						pixel.G, pixel.B = x[plane+at], x[2*plane+at]
					}
					out.SetRGBA(mosaicGap+c*wide+k, mosaicGap+r*high+y, pixel)
				}
			}
		}
	}
	var b bytes.Buffer
	err := png.Encode(&b, out)
	return b.Bytes(), err
}
