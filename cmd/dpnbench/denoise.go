package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/study"
	"dpnbench/engine"
	"dpnbench/internal/format"
	"dpnbench/internal/output"
	"dpnbench/internal/regular"
	"dpnbench/plot"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const denoiseHelp = `Corrupt test images by each corruption of --corrupt, denoise them by the ascent of a model in
pixel space, and report the gain in signal-to-noise ratio: 10 log10 of the sum of squares of the
clean image over that of the error, in dB, averaged over the images that the corruption changes,
with a 95% interval of the gain. The model must work on pixels, as with the presets robust and
robust-small. All images are as it preprocesses them: with --rms, as in robust, levels may be above
1, and the noise of an image is scaled with it.

Without --corrupt the images are denoised as they are: use --data with your own noisy images, which
need no labels (--test-share 1 takes all of a folder). The gain is then unknown.

For each corruption the folder of --out (default: "denoised" beside model.safetensors,
"MODEL-denoised" beside MODEL.safetensors) gets the denoised images NAME.npy (float32 levels from
0, black, to 1: images x rows x columns, of RGB images x channels x rows x columns) and a figure of
some images after several steps, NAME.png and NAME.svg; and denoise.json. The files that an earlier
denoise.json in the folder names are removed.

The corruptions, with the range and unit of the severity and the severities in eval's suite:

`

func denoiseCommand(a *app) *cobra.Command {
	d := &denoising{app: a}
	c := &cobra.Command{
		Use:   "denoise",
		Short: "Denoise images by the ascent",
		Long:  denoiseHelp + corruptionTable(),
		Example: `  dpnbench denoise --model runs/robust-1/model.safetensors --corrupt gaussian:0.5
  dpnbench denoise --model runs/robust-1/model.safetensors --corrupt gaussian:0.3,shot:0.5 --out out
  dpnbench denoise --model runs/robust-1/model.safetensors --data path/to/noisy/idx --json -`,
		Args: noArgs,
		RunE: func(c *cobra.Command, _ []string) error { return d.run(c.Context(), c.Flags()) },
	}
	d.data.add(c, false)
	d.model.add(c, "steps")
	f := c.Flags()
	f.StringSliceVar(&d.corrupt, "corrupt", nil, "`LIST` of corruptions, such as gaussian:0.5 (default: none)")
	f.Uint64Var(&d.corruptSeed, "corrupt-seed", 1, "random `SEED` of the corruptions")
	f.IntVar(&d.count, "count", 1000, "denoise the first `N` test images; 0: all")
	f.StringVar(&d.out, "out", "", "`FOLDER` for images and results")
	return c
}

// denoising is one run of denoise.
type denoising struct {
	*app
	data        dataFlags
	model       modelFlags
	corrupt     []string
	corruptSeed uint64
	count       int
	out         string
}

// denoised is a row of corruptions in the JSON of denoise.
type denoised struct {
	Name     string  `json:"name"` // none: images as they are
	Severity float64 `json:"severity"`
	*study.Gain
	Accuracy *float64 `json:"accuracy"` // of the predictions after the ascent; null: no labels
	File     string   `json:"file"`     // of the denoised images

	images []float32
}

// denoiseResult is the JSON of denoise.
type denoiseResult struct {
	Model       string     `json:"model"`
	Data        string     `json:"data"`
	Samples     int        `json:"samples"`
	Steps       int        `json:"steps"`
	CorruptSeed uint64     `json:"corrupt_seed"`
	Corruptions []denoised `json:"corruptions"`
}

// denoiseFile holds a denoiseResult.
const denoiseFile = "denoise.json"

// none stands for images as they are.
const none = "none"

func (d *denoising) run(ctx context.Context, flags *pflag.FlagSet) error {
	if d.count < 0 {
		return fmt.Errorf("--count %d: expected 1 or more images, or 0 for all", d.count)
	}
	list := []dataset.Corruption{{Name: none}}
	if d.corrupt == nil {
		if err := onlyWith(flags, "--corrupt", "corrupt-seed"); err != nil {
			return err
		}
	} else {
		var err error
		if list, err = dataset.ParseCorruptions(strings.Join(d.corrupt, ",")); err != nil {
			return fmt.Errorf("--corrupt: %w", err)
		}
	}
	m, err := d.model.load(d.app, flags)
	if err != nil {
		return err
	}
	if err := d.model.needImages(m, "denoise"); err != nil {
		return err
	}
	if err := study.CheckPixels(m); err != nil {
		return fmt.Errorf("--model %s: %w", d.model.path, err)
	}
	if d.out == "" {
		d.out = resultsOf(d.model.path, denoisedFolder)
	}
	files := d.model.files(d.app, m, &d.data, flags)
	own := []string{denoiseFile}
	for _, c := range list {
		own = append(append(own, denoisedName(c)+".npy"), plot.Files(denoisedName(c))...)
	}
	files.Folder("--out", d.out, output.Names(own...), denoiseFile)
	if err := files.Check(); err != nil {
		return err
	}
	e, err := d.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	data, err := d.openModelData(ctx, m, d.model.path, &d.data, flags, false)
	if err != nil {
		return err
	}
	if err := needTest(data); err != nil {
		return err
	}
	release, err := openResults(d.out, own, denoiseFile)
	if err != nil {
		return err
	}
	defer release()
	s := data.Test
	if d.count > 0 {
		s = s.Slice(0, min(d.count, s.Len()))
	}
	out := denoiseResult{Model: d.model.path, Data: data.Name, Samples: s.Len(), Steps: m.Config.Steps,
		CorruptSeed: d.corruptSeed}
	for i, c := range list {
		r, gallery, err := d.denoise(ctx, e, m, s, c)
		if err != nil {
			return err
		}
		out.Corruptions = append(out.Corruptions, *r)
		// Now, because an interrupted run keeps what is finished, and the next run must know these files.
		if err := d.write(&out, i == 0, s, gallery); err != nil {
			d.show(out.Corruptions, s.Len())
			return joined(err, d.writeJSON(out))
		}
	}
	d.show(out.Corruptions, s.Len())
	return d.writeJSON(out)
}

// denoisedName is the name of the files of a corruption, without extension.
func denoisedName(c dataset.Corruption) string {
	if c.Name == none {
		return "cleaned"
	}
	return strings.ReplaceAll(c.String(), ":", "-")
}

// denoise corrupts the images of s by c and denoises them; the gallery shows some of them.
func (d *denoising) denoise(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set,
	c dataset.Corruption) (*denoised, plot.Gallery, error) {
	corruption := c
	if c.Name == none {
		corruption = dataset.Corruption{Name: "gaussian"} // severity 0: no change
	}
	x, err := study.Denoise(ctx, e, m, s, corruption, d.corruptSeed)
	if ctx.Err() != nil {
		return nil, plot.Gallery{}, ctx.Err()
	}
	if err != nil {
		return nil, plot.Gallery{}, d.model.blame(m, err)
	}
	r := &denoised{Name: c.Name, Severity: c.Severity, File: filepath.Join(d.out, denoisedName(c)+".npy"),
		images: x.Restored.Data}
	if c.Name != none {
		g := x.Gain()
		r.Gain = &g
	}
	if s.Labelled() {
		right := 0
		for i, y := range s.Labels {
			if x.Classes[i] == int(y) {
				right++
			}
		}
		accuracy := float64(right) / float64(s.Len())
		r.Accuracy = &accuracy
	}
	gallery, err := d.gallery(ctx, e, m, s, x, c)
	return r, gallery, err
}

// write writes the last of the results, the gallery and the list of all. With first, it also removes the
// files of an earlier run. All are written before the first one is replaced.
func (d *denoising) write(out *denoiseResult, first bool, s *dataset.Set, gallery plot.Gallery) error {
	var files output.Batch
	defer files.Discard()
	if first {
		if err := d.removeOld(&files); err != nil {
			return err
		}
	}
	r := &out.Corruptions[len(out.Corruptions)-1]
	err := files.Write(r.File, func(w io.Writer) error {
		if s.Channels > 1 {
			return dataset.WriteNPY(w, r.images, s.Len(), s.Channels, s.Rows, s.Cols)
		}
		return dataset.WriteNPY(w, r.images, s.Len(), s.Rows, s.Cols)
	})
	r.images = nil
	if err != nil {
		return fmt.Errorf("%s: %w", r.File, regular.Cause(err))
	}
	name := strings.TrimSuffix(r.File, ".npy")
	err = plot.Add(&files, name, gallery)
	if failed, ok := errors.AsType[*os.PathError](err); ok {
		return fmt.Errorf("--out %s: %w", d.out, failed.Err)
	}
	if err != nil {
		d.note("no figure of %s: %v\n", filepath.Base(name), err)
	}
	path := filepath.Join(d.out, denoiseFile)
	if err := addJSON(&files, path, out); err != nil {
		return fmt.Errorf("%s: %w", path, regular.Cause(err))
	}
	if err := files.Commit(); err != nil {
		return fmt.Errorf("--out %s: %w", d.out, err)
	}
	return nil
}

// removeOld removes the files that an earlier run wrote to the folder, as listed in its
// denoise.json, and no others.
func (d *denoising) removeOld(files *output.Batch) error {
	b, err := regular.ReadFile(filepath.Join(d.out, denoiseFile), maxResults)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	var list []string
	if err == nil {
		list, err = oldDenoised(d.out, b)
	}
	if err != nil {
		return fmt.Errorf("--out %s: %s: %w; expected the file of an earlier run, or none",
			d.out, denoiseFile, regular.Cause(err))
	}
	for _, path := range list {
		files.Remove(path)
	}
	return nil
}

// oldDenoised returns the files in the folder dir that the text of a denoise.json names.
func oldDenoised(dir string, text []byte) ([]string, error) {
	var old denoiseResult
	if err := json.Unmarshal(text, &old); err != nil {
		return nil, format.JSONError(err)
	}
	var list []string
	for _, r := range old.Corruptions {
		if name, ok := strings.CutSuffix(filepath.Base(r.File), ".npy"); ok { // the folder may have moved
			for _, f := range append(plot.Files(name), name+".npy") {
				list = append(list, filepath.Join(dir, f))
			}
		}
	}
	return list, nil
}

const (
	galleryImages = 10
	galleryRows   = 4 // at most, between the noisy image and the end
)

// gallery shows the first image of each class (the first ones, if there are no labels): clean if known,
// noisy, after some steps, and at the end.
func (d *denoising) gallery(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set,
	x *study.Denoised, c dataset.Corruption) (plot.Gallery, error) {
	title := fmt.Sprintf("Images denoised by the ascent of %s", m.Config.Preset)
	g := plot.Gallery{Title: fmt.Sprintf("%s: %s of severity %v", title, c.Name, c.Severity),
		Rows: s.Rows, Cols: s.Cols, PerRow: galleryImages, Scale: plot.Scale{Low: 0, High: 1, Unit: "grey level"},
		Series: []string{"clean", "noisy"}, Note: "Below each: the class predicted at the end."}
	if c.Name == none {
		g.Title, g.Series = title, []string{"image"}
	}
	chosen := study.FirstOfEach(s.Labels, 1)
	for i := range s.Len() {
		if s.Labelled() || i == galleryImages {
			break
		}
		chosen = append(chosen, i)
	}
	chosen = chosen[:min(galleryImages, len(chosen))]
	x0 := engine.NewMatrix(len(chosen), s.Shape.Len())
	for b, i := range chosen {
		copy(x0.Row(b), x.Corrupted.Row(i))
		p := plot.Image{Caption: m.Classes[x.Classes[i]]}
		if c.Name != none {
			p.X = append(p.X, s.Visible(x.Clean.Row(i)))
		}
		p.X = append(p.X, s.Visible(x.Corrupted.Row(i)))
		g.Images = append(g.Images, p)
	}
	for b := range chosen {
		m.Norm.Apply(x0.Row(b))
	}
	n := m.Config.Steps
	stride := max(1, (n+galleryRows)/(galleryRows+1))
	for done := 0; done < n; {
		if err := ctx.Err(); err != nil {
			return g, err
		}
		more := min(stride, n-done)
		m.Potential().Ascend(e, x0, more)
		done += more
		name := fmt.Sprintf("step %d", done)
		if done == n {
			name = "end"
		}
		g.Series = append(g.Series, name)
		for b := range chosen {
			g.Images[b].X = append(g.Images[b].X, s.Visible(m.Norm.Undo(x0.Row(b))))
		}
	}
	return g, nil
}

// show prints a row for each corruption.
func (d *denoising) show(list []denoised, images int) {
	rows := [][]string{{"corruption", "SNR before", "after", "gain", "95% interval", "accuracy"}}
	for _, r := range list {
		c := dataset.Corruption{Name: r.Name, Severity: r.Severity}
		cells := []string{c.String(), "–", "–", "–", "–"}
		if r.Name == none {
			cells[0] = none
		}
		if g := r.Gain; g != nil && g.Gain.IsFinite() {
			cells = []string{c.String(), fmt.Sprintf("%.2f dB", float64(g.Before)),
				fmt.Sprintf("%.2f dB", float64(g.After)), fmt.Sprintf("%+.2f dB", float64(g.Gain)), "–"}
			if g.CI[0].IsFinite() {
				cells[4] = fmt.Sprintf("%+.2f to %+.2f dB", float64(g.CI[0]), float64(g.CI[1]))
			}
		}
		accuracy := "–"
		if r.Accuracy != nil {
			accuracy = fmt.Sprintf("%.2f%%", 100**r.Accuracy)
		}
		rows = append(rows, append(cells, accuracy))
	}
	d.table(rows)
	seed := ""
	if d.corrupt != nil {
		seed = fmt.Sprintf(" (seed %d)", d.corruptSeed)
	}
	d.printf("%s%s\n", format.Count(images, "image"), seed)
	for _, r := range list {
		if g := r.Gain; g != nil && 0 < g.Images && g.Images < images {
			d.printf("%s: ratios over %d of them; the others are black, or as they were\n",
				dataset.Corruption{Name: r.Name, Severity: r.Severity}, g.Images)
		}
	}
	d.note("written  %s: images and denoise.json\n", d.out)
}
