package report

import (
	"bytes"
	"context"
	"encoding/base64"
	"html"
	"image/png"
	"regexp"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/study"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/webtest"
)

// random is a data set of a shape whose classes have names.
func random(shape dataset.Shape) *dataset.Data {
	set := func(n int) *dataset.Set {
		s := &dataset.Set{Shape: shape, Labels: make([]uint16, n)}
		r := num.NewRand(2, uint64(n))
		for i := range n {
			s.Labels[i] = uint16(i % 3)
			for j := range shape.Len() {
				v := r.Float64()/2 + float64((i+j)%3)/6
				if shape.IsImage() {
					s.Pixels = append(s.Pixels, byte(255*v))
				} else {
					s.Values = append(s.Values, float32(10*v))
				}
			}
		}
		return s
	}
	d := &dataset.Data{Name: "random", Train: set(200), Test: set(120), Classes: []string{"cat", "<dog>", "a\x1bb"}}
	d.Norm = dataset.NormalizationOf(d.Train)
	return d
}

// rightWords checks that a page calls vectors no images, and images no vectors, but where it says what needs images.
func rightWords(t *testing.T, page string, shape dataset.Shape) {
	t.Helper()
	for _, reason := range []string{"Only ascents of images are shown", "they need images"} {
		page = strings.ReplaceAll(page, reason, "")
	}
	wrong := regexp.MustCompile(`(?i)[^<>]*\b(images?|an vectors?)\b[^<>]*`)
	if shape.IsImage() {
		wrong = regexp.MustCompile(`(?i)[^<>]*\bvectors?\b[^<>]*`)
	}
	page = regexp.MustCompile(`(?s)<(style|script)\b.*?</(style|script)>|<[^>]*>`).ReplaceAllString(page, "<>")
	for _, text := range wrong.FindAllString(page, -1) {
		t.Errorf("%v: the page says %q", shape, text)
	}
}

// colours says whether a page has images, and each is in colour.
func colours(t *testing.T, page string) bool {
	t.Helper()
	uris := regexp.MustCompile(`data:image/png;base64,([^"]+)`).FindAllStringSubmatch(page, -1)
	for _, uri := range uris {
		b, err := base64.StdEncoding.DecodeString(strings.ReplaceAll(html.UnescapeString(uri[1]), "\n", ""))
		if err != nil {
			t.Fatal(err)
		}
		x, err := png.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if r, g, b, _ := x.At(0, 0).RGBA(); r == g && g == b {
			return false
		}
	}
	return len(uris) > 0
}

// TestPagesOfShapes makes the pages of vectors and of colour images. Figures of images are left out for
// vectors, and the page says why; classes have their names.
func TestPagesOfShapes(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: draws whole pages, seconds under emulation")
	}
	ctx := context.Background()
	e, err := engine.New(engine.WithThreads(2))
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, shape := range []dataset.Shape{dataset.Vector(7), dataset.RGB(5, 6)} {
		c, err := dpn.Preset("raw")
		if err != nil {
			t.Fatal(err)
		}
		c.Components, c.Steps, c.Rank = 6, 3, 2
		data := random(shape)
		m, err := dpn.New(c, data)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := m.Init(ctx, e, data.Train); err != nil {
			t.Fatal(err)
		}
		s, err := study.Run(ctx, e, m, data.Test, study.StudyOptions{AnalyzeOptions: study.AnalyzeOptions{Draws: 20},
			Train: data.Train})
		if err != nil {
			t.Fatal(err)
		}
		a := Analysis{Model: m, Study: s, Images: data.Test, Data: "random", Tier: "generic", Threads: 2, Draws: 20}
		var b bytes.Buffer
		if err := AnalysisPage(a, a.Figures()).Write(&b); err != nil {
			t.Fatal(err)
		}
		webtest.Check(t, b.String())
		rightWords(t, b.String(), shape)
		contains(t, b.String(), "cat", "&lt;dog&gt;", "a b")
		if missing := strings.Contains(b.String(), "they need features that are pixels"); missing == shape.IsImage() {
			t.Errorf("%v: figures of images are missing: %v", shape, missing)
		}
		if coloured := colours(t, b.String()); coloured != shape.IsImage() {
			t.Errorf("%v: images of the page are in colour: %v", shape, coloured)
		}
		for what, said := range map[string]bool{"Only ascents of images are shown one by one": !shape.IsImage(),
			"step of its ascent": shape.IsImage(), "data:image/png": shape.IsImage()} {
			if strings.Contains(b.String(), what) != said {
				t.Errorf("%v: the page says %q: %v", shape, what, !said)
			}
		}

		u := Uncertainty{Model: m, Images: data.Test, Data: "random", Tier: "generic", Threads: 2, Seed: 1}
		if u.Study, err = study.MeasureUncertainty(ctx, e, m, data.Test,
			study.UncertaintyOptions{Seed: 1}); err != nil {
			t.Fatal(err)
		}
		page := uncertaintyHTML(t, u)
		rightWords(t, page, shape)
		if shuffled := strings.Contains(page, "shuffled"); shuffled == shape.IsImage() {
			t.Errorf("%v: shuffled features: %v", shape, shuffled)
		}
	}
}
