package plot

import (
	"bytes"
	"fmt"
	"image/color"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn/separation"
	"dpnbench/internal/sampleascent"
)

// fitted returns the law fitted to d, without a band.
func fitted(t *testing.T, names []string, d []float64) *Law {
	t.Helper()
	law, err := separation.FitLaw(names, d)
	if err != nil {
		t.Fatal(err)
	}
	out := &Law{Names: names, D0: law.D0, Rho: law.Rho, Confidence: law.Confidence, Pearson: float64(law.Pearson)}
	if ci := law.RhoCI; len(ci) == 2 {
		out.RhoCI = Interval{float64(ci[0]), float64(ci[1])}
	}
	return out
}

// banded adds the confidence band of the line.
func banded(t *testing.T, law *Law, d []float64) *Law {
	t.Helper()
	fit, err := separation.FitLaw(law.Names, d)
	if err != nil {
		t.Fatal(err)
	}
	out := *law
	out.Band = make([]Interval, len(d))
	for i := range out.Band {
		out.Band[i].Low, out.Band[i].High = fit.Band(float64(i))
	}
	return &out
}

func stripsOf(a sampleascent.Ascent) (strips []Strip) {
	for _, it := range a.Items[:8] {
		strips = append(strips, Strip{it.Name, fmt.Sprint(it.Label), fmt.Sprint(it.Predicted), it.X})
	}
	return strips
}

func pathsOf(a sampleascent.Ascent) (paths []PlanePath) {
	for _, it := range a.Items {
		paths = append(paths, PlanePath{Class: it.Label, At: it.At})
	}
	return paths
}

// clouds returns a panel of n samples around classes on a circle.
func clouds(n, classes, components int) Panel {
	random := rand.New(rand.NewPCG(1, 1))
	p := Panel{Title: "denoised", Components: components, Explained: []float64{0.225, 0.172, 0.1}[:components]}
	for i := range n {
		angle := 2 * math.Pi * float64(i%classes) / float64(classes)
		for _, centre := range []float64{math.Cos(angle), math.Sin(angle), 0}[:components] {
			p.Points = append(p.Points, 5*centre+random.NormFloat64())
		}
		p.Labels = append(p.Labels, uint16(i%classes))
	}
	return p
}

var (
	layerNames = []string{"input", "features", "denoised", "logits"}
	layerD     = []float64{14.6, 12.2, 5.96, 7.92}
	nan        = math.NaN()
	digits     = []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9"}
)

func TestFigures(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes seconds, minutes under emulation")
	}
	steps := make([]float64, 31)
	for i := range steps {
		steps[i] = 14.6 * math.Pow(0.95, float64(i))
	}
	stepNames := make([]string, len(steps))
	var epochs []Epoch
	for i := range 20 {
		f := math.Exp(-float64(i) / 5)
		epochs = append(epochs, Epoch{i + 1, 0.4 + f, 0.86 - 0.3*f, 0.39 + f, 0.87 - 0.3*f})
	}
	withoutValidation := []Epoch{{1, 0.9, 0.7, nan, nan}, {2, 0.5, 0.8, nan, nan}}
	some := sampleascent.New(16, 30)
	const mm = 1.0
	for _, c := range []struct {
		name          string
		draw          func(path string) error
		width, height float64 // mm; 0: not checked
		want          []string
		reject        []string
		colours       []color.NRGBA
		missing       []color.NRGBA
	}{
		{
			name: "layers",
			draw: func(path string) error {
				return Save(path, Layers{Title: "Over layers", Names: layerNames, D: layerD,
					Law: fitted(t, layerNames[:3], layerD[:3])})
			},
			width: 160 * mm, height: 100 * mm,
			want: []string{"Over layers", "input", "features", "denoised", "logits", "layer",
				"fuzziness D (log scale)", "measured, in the fit", "measured, left out of it", "ρ = 0.639",
				"95% CI", "r = −0.9", "14.6", "7.92"},
			colours: []color.NRGBA{blue, vermillion},
		},
		{
			name:    "layers without a law",
			draw:    func(path string) error { return Save(path, Layers{Names: layerNames, D: layerD}) },
			width:   160 * mm,
			want:    []string{"logits", "measured"},
			reject:  []string{"ρ", "left out"},
			colours: []color.NRGBA{blue},
			missing: []color.NRGBA{vermillion},
		},
		{
			name: "two layers, hence no interval",
			draw: func(path string) error {
				return Save(path, Layers{Names: layerNames[:2], D: layerD[:2],
					Law: fitted(t, layerNames[:2], layerD[:2])})
			},
			want:   []string{"ρ = 0.836", "r = −1.000"},
			reject: []string{"CI"},
		},
		{
			name: "a law without the first layer",
			draw: func(path string) error {
				return Save(path, Layers{Names: layerNames, D: []float64{10, 9, 3, 1}, Law: fitted(t, layerNames[1:],
					[]float64{9, 3, 1})})
			},
			want: []string{"measured, left out of it"},
		},
		{
			name: "a law over layers after one that collapsed",
			draw: func(path string) error {
				return Save(path, Layers{Names: layerNames, D: []float64{math.Inf(1), 9, 3, 1},
					Law: fitted(t, layerNames[1:], []float64{9, 3, 1})})
			},
			want: []string{"Not drawn, since D has no logarithm there: input (+Inf).", "ρ = 0.333"},
		},
		{
			name: "constant fuzziness",
			draw: func(path string) error {
				return Save(path, Layers{Names: layerNames[:3], D: []float64{2, 2, 2}, Law: fitted(t, layerNames[:3],
					[]float64{2, 2, 2})})
			},
			want:   []string{"ρ = 1.00"},
			reject: []string{"r = "},
		},
		{
			name: "many layers with long and odd names",
			draw: func(path string) error {
				names := make([]string, 20)
				d := make([]float64, 20)
				for i := range names {
					names[i] = "normalised & <hidden>\n\x00 layer " + digits[i%10]
					d[i] = math.Pow(10, float64(i-6))
				}
				return Save(path, Layers{Title: strings.Repeat("A title too long for one line ", 8) + "\x1b\xff",
					Names: names, D: d})
			},
			width: 160 * mm,
			want:  []string{"normalised & <hidden>", "layer 9", "1e+12"},
		},
		{
			name: "steps",
			draw: func(path string) error {
				return Save(path, Steps{Title: "Along the ascent", D: steps, Law: fitted(t, stepNames, steps)})
			},
			width: 160 * mm, height: 100 * mm,
			want:    []string{"Along the ascent", "ascent step", "30", "ρ = 0.950", "r = −1.000"},
			colours: []color.NRGBA{blue, vermillion},
		},
		{
			name: "one step",
			draw: func(path string) error { return Save(path, Steps{D: steps[:1]}) },
			want: []string{"ascent step", "measured"},
		},
		{
			name: "four panels",
			draw: func(path string) error {
				p := clouds(2500, 10, 2)
				q := clouds(300, 10, 3)
				q.Title = "logits"
				return Save(path, PCA{Title: "Components", Panels: []Panel{p, p, p, q}, Classes: digits})
			},
			want: []string{"Components", "denoised", "logits", "PC 1 (22.5% of variance)", "PC 2 (17.2% of variance)",
				"1,000 of 2,500 samples drawn", "0", "9"},
			colours: palette,
		},
		{
			name: "one panel of one component, some classes without a name",
			draw: func(path string) error {
				return Save(path, PCA{Panels: []Panel{clouds(40, 3, 1)}, Classes: []string{"cat", "dog"}})
			},
			want:    []string{"cat", "dog", "2", "PC 1 (22.5% of variance)"},
			reject:  []string{"PC 2", "samples drawn"},
			colours: palette[:3],
			missing: palette[3:9],
		},
		{
			name: "panel without variance",
			draw: func(path string) error {
				return Save(path, PCA{Panels: []Panel{{"collapsed", make([]float64, 6), 2, []float64{0, 0},
					[]uint16{0, 1, 2}, false}}})
			},
			want: []string{"PC 1 (0.0% of variance)"},
		},
		{
			name:  "training",
			draw:  func(path string) error { return Save(path, Training{Title: "Training", Epochs: epochs}) },
			width: 180 * mm, height: 80 * mm,
			want: []string{"Training", "training", "validation", "epoch", "cross-entropy loss (nats)",
				"accuracy (%)", "20"},
			colours: []color.NRGBA{blue, vermillion},
		},
		{
			name:    "training without validation",
			draw:    func(path string) error { return Save(path, Training{Epochs: withoutValidation}) },
			want:    []string{"training"},
			reject:  []string{"validation"},
			missing: []color.NRGBA{vermillion},
		},
		{
			name: "one epoch",
			draw: func(path string) error { return Save(path, Training{Epochs: epochs[:1]}) },
			want: []string{"training", "validation", "1"},
		},
		{
			name: "losses alone, with a gap",
			draw: func(path string) error {
				return Save(path, Training{Epochs: []Epoch{{1, 1, nan, 1, nan}, {2, nan, nan, 0.9, nan},
					{5, 0.5, nan, math.Inf(1), nan}}})
			},
			width:  90 * mm,
			want:   []string{"cross-entropy loss (nats)"},
			reject: []string{"accuracy"},
		},
		{
			name: "layers with intervals and a band",
			draw: func(path string) error {
				law := fitted(t, layerNames[:3], layerD[:3])
				return Save(path, Layers{Names: layerNames, D: layerD, Law: banded(t, law, layerD[:3]),
					Intervals: []Interval{{13, 16}, {}, {nan, 7}, {7, 9}}})
			},
			width: 160 * mm,
			want:  []string{"14.6", "its confidence band"},
		},
		{
			name: "steps with intervals and a band",
			draw: func(path string) error {
				law := fitted(t, stepNames, steps)
				intervals := make([]Interval, len(steps))
				for i, v := range steps {
					intervals[i] = Interval{0.9 * v, 1.1 * v}
				}
				return Save(path, Steps{D: steps, Law: banded(t, law, steps), Intervals: intervals})
			},
			width: 160 * mm,
			want:  []string{"ascent step", "its confidence band"},
		},
		{
			name: "D over n, with what it tends to",
			draw: func(path string) error {
				return Save(path, Lines{Title: "Over n", X: "samples n (log scale)", Y: "fuzziness D", Series: []Series{
					{Name: "input", Band: true, Points: []Point{{X: 32, Y: 2, Low: 1.8, High: 2.2},
						{X: 320, Y: 10, Low: 9, High: 11}, {X: 10000, Y: 14.6, Low: 14.5, High: 14.7}},
						Limit: &Level{"estimate for n to infinity", 15, 14.6, 15.4}},
					{Name: "denoised", Colour: 1, Points: []Point{{X: 32, Y: 1}, {X: 10000, Y: 6}},
						Limit: &Level{Name: "of the denoised", Y: 6.1}},
					{Name: "without a limit", Colour: 2, Points: []Point{{X: 32, Y: 3}},
						Limit: &Level{Name: "nowhere", Y: nan}},
				}})
			},
			width: 160 * mm,
			want: []string{"samples n (log scale)", "fuzziness D", "10000", "estimate for n to infinity",
				"of the denoised"},
			reject:  []string{"nowhere"},
			colours: []color.NRGBA{blue, vermillion},
		},
		{
			name: "gallery of pairs",
			draw: func(path string) error {
				var g = Gallery{Title: "Centres", Rows: 28, Cols: 28, Scale: Scale{0, 1, "grey level"},
					Series: []string{"initial", "final"}}
				for i := range some.Centres {
					g.Images = append(g.Images, Image{"w = 0.1", [][]float32{some.Centres[i], some.Final[i]}})
				}
				return Save(path, g)
			},
			width: 160 * mm,
			want:  []string{"Centres", "initial", "final", "w = 0.1", "grey level", "0.5"},
		},
		{
			name: "gallery of one flat image with a long caption",
			draw: func(path string) error {
				return Save(path, Gallery{Rows: 1, Cols: 2, Note: "A note.",
					Images: []Image{{strings.Repeat("caption ", 99) + "\x00", [][]float32{{3, 3}}}}})
			},
			want: []string{"caption", "…", "A note. Each image has a scale of its own."},
		},
		{
			name: "strips",
			draw: func(path string) error {
				return Save(path, Strips{Title: "Ascent", Rows: 28, Cols: 28, Strips: stripsOf(some)})
			},
			want:    []string{"step 0", "30", "label", "prediction", "wrong", "test image 3"},
			colours: []color.NRGBA{vermillion},
		},
		{
			name: "a strip without steps",
			draw: func(path string) error {
				return Save(path, Strips{Rows: 1, Cols: 1, Scale: Scale{0, 1, "ink"},
					Strips: []Strip{{Label: "4", Predicted: "4", X: [][]float32{{1}}}}})
			},
			want:   []string{"step 0", "4", "ink"},
			reject: []string{"wrong"},
		},
		{
			name: "maps",
			draw: func(path string) error {
				return Save(path, Maps{Title: "Variance", Rows: 28, Cols: 28, Scale: Scale{Unit: "variance of a pixel"},
					Images: []Image{
						{"component 0", [][]float32{some.Final[0]}}, {"mean", [][]float32{some.Final[1]}}}})
			},
			want:    []string{"Variance", "component 0", "mean", "variance of a pixel"},
			colours: []color.NRGBA{{R: 0x44, G: 0x01, B: 0x54, A: 0xff}}, // the dark end of viridis
		},
		{
			name: "maps of one value, and logarithmic ones with a zero",
			draw: func(path string) error {
				if err := Save(path, Maps{Rows: 1, Cols: 1, Images: []Image{{"", [][]float32{{0}}}}}); err != nil {
					return err
				}
				return Save(path, Maps{Rows: 1, Cols: 3, Log: true, PerRow: 1,
					Images: []Image{{"", [][]float32{{0, 0.01, 10}}}, {"", [][]float32{{1, 1, 1}}}}})
			},
			want: []string{"0.1", "10"},
		},
		{
			name: "confusion",
			draw: func(path string) error {
				return Save(path, Confusion{Title: "Confusion", Counts: [][]int{{95, 5, 0}, {1, 2, 42}, {0, 0, 0}}})
			},
			want: []string{"Confusion", "right", "wrong", "prediction", "class", "95", "42"},
		},
		{
			name: "confusion of many",
			draw: func(path string) error {
				many := make([][]int, 200)
				for y := range many {
					many[y] = make([]int, 200)
					many[y][y] = 777
				}
				return Save(path, Confusion{Title: "many", Counts: many})
			},
			want: []string{"many", "prediction"},
		},
		{
			name:    "weights",
			draw:    func(path string) error { return Save(path, Weights{"Weights", []float64{0, 1000, 1000}}) },
			want:    []string{"Weights", "1\n2\n0", "weight w", "equal weights, 1/3", "2.00 of 3"},
			colours: []color.NRGBA{blue},
		},
		{
			name: "weights of many",
			draw: func(path string) error { return Save(path, Weights{C: make([]float64, 200)}) },
			want: []string{"rank of the component", "200 of 200"},
		},
		{
			name: "spectra",
			draw: func(path string) error {
				return Save(path, Spectra{Title: "Spectra", Note: "A note.",
					Values: [][]float64{{1, 100, 0.01}, {nan, 10, 0}, {5, 2, -1}}})
			},
			want: []string{"eigenvalue of P (log scale)", "each of 3 components", "median",
				"A note. 3 of 9 values are not drawn"},
			colours: []color.NRGBA{vermillion},
		},
		{
			name:   "one spectrum of one value",
			draw:   func(path string) error { return Save(path, Spectra{Y: "variance", Values: [][]float64{{2}}}) },
			want:   []string{"variance (log scale)", "the one component"},
			reject: []string{"median"},
		},
		{
			name: "paths",
			draw: func(path string) error {
				return Save(path, PlanePaths{Title: "Paths", Paths: pathsOf(some), Centres: [][2]float64{{1, 1}},
					Classes: []string{"zero"}})
			},
			want:    []string{"zero", "9", "step 0", "centre", "PC 1", "PC 2"},
			colours: palette[:4],
		},
		{
			name: "a path that stays where it is",
			draw: func(path string) error {
				return Save(path, PlanePaths{X: "first", Paths: []PlanePath{{Class: 12, At: [][2]float64{{0, 0}}}}})
			},
			want:   []string{"12", "first"},
			reject: []string{"centre"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "new", "folder", "figure")
			if err := c.draw(path); err != nil {
				t.Fatal(err)
			}
			names := Files(path)
			seen := coloursOf(checkPNG(t, names[0], c.width, c.height))
			for _, col := range c.colours {
				if !seen[col] {
					t.Errorf("nothing has the colour %v", col)
				}
			}
			for _, col := range c.missing {
				if seen[col] {
					t.Errorf("something has the colour %v", col)
				}
			}
			text := checkSVG(t, names[1])
			for _, s := range c.want {
				if !strings.Contains(text, s) {
					t.Errorf("the SVG does not contain %q; its text is\n%s", s, text)
				}
			}
			for _, s := range c.reject {
				if strings.Contains(text, s) {
					t.Errorf("the SVG contains %q", s)
				}
			}

			// Nothing else is left in the folder, and the same data give the same bytes.
			entries, err := os.ReadDir(filepath.Dir(path))
			if err != nil {
				t.Fatal(err)
			}
			if len(entries) != 2 {
				t.Errorf("the folder holds %v: want the two files alone", entries)
			}
			if testing.Short() {
				return
			}
			again := filepath.Join(t.TempDir(), "figure")
			if err := c.draw(again); err != nil {
				t.Fatal(err)
			}
			for i, name := range Files(again) {
				if !bytes.Equal(read(t, name), read(t, names[i])) {
					t.Errorf("%s differs when drawn again", names[i])
				}
			}
		})
	}
}

// TestConfusionNames checks that every class is named on both axes, however long the names are.
func TestConfusionNames(t *testing.T) {
	for _, names := range [][]string{{"cat", "dog"}, {"T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal",
		"Shirt top", "Sneaker", "Bag", "Ankle boot"}} {
		counts := make([][]int, len(names))
		for y := range counts {
			counts[y] = make([]int, len(names))
			counts[y][y] = 1
		}
		path := filepath.Join(t.TempDir(), "confusion")
		if err := Save(path, Confusion{Title: "Confusion", Counts: counts, Classes: names}); err != nil {
			t.Fatal(err)
		}
		b, err := os.ReadFile(path + ".svg")
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if n := strings.Count(string(b), ">"+name+"<"); n != 2 {
				t.Errorf("%d classes: %q is there %d times, expected on both axes", len(names), name, n)
			}
		}
	}
}
