package dataset

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/engine"
	"dpnbench/internal/fuzzlimit"
)

// indices are 0 to n-1.
func indices(n int) []int32 {
	at := make([]int32, n)
	for i := range at {
		at[i] = int32(i)
	}
	return at
}

// corrupted returns all images of s with the corruption text and seed 1.
func corrupted(t *testing.T, s *Set, text string) []float32 {
	t.Helper()
	c, err := ParseCorruption(text)
	if err != nil {
		t.Fatal(err)
	}
	x := make([]float32, len(s.Pixels))
	if err := c.Floats(x, s, indices(s.Len()), 1); err != nil {
		t.Fatal(err)
	}
	return x
}

func clean(s *Set) []float32 {
	x := make([]float32, len(s.Pixels))
	s.Floats(x, indices(s.Len()))
	return x
}

// flat returns n images of 28 x 28 pixels with one grey level.
func flat(n int, v byte) *Set {
	s := &Set{Shape: Grey(28, 28), Pixels: make([]byte, n*784), Labels: make([]uint16, n)}
	for i := range s.Pixels {
		s.Pixels[i] = v
	}
	return s
}

// corruptedHashes are the SHA-256 of three digits with each kind at its medium severity.
var corruptedHashes = map[string]string{
	"gaussian":             "972f4c02e0f1fc5a",
	"gaussian-unclamped":   "7f49d2a32a72d2d7",
	"uniform":              "e4ea42c2411582d1",
	"saltpepper":           "a00856c62e9af6d1",
	"speckle":              "b7d9ff922c78a7e6",
	"shot":                 "a3d6a4a5815df04a",
	"occlusion-black":      "a24e673020e3ee28",
	"occlusion-white":      "0f712b97bbe697da",
	"blur":                 "47c05fa67a05904f",
	"contrast":             "987d259dbacf56d0",
	"brightness":           "4ee88abcf44bb83b",
	"rotation":             "033c333e17fce0fd",
	"translation":          "8f7e92df960bceff",
	"shear":                "9bc3cb71a302acfb",
	"inverted":             "8019eb800bba31a0",
	"dotted-line":          "2370328655d36fba",
	"mnistc-shot-noise":    "2cddc5fe5455ad72",
	"mnistc-impulse-noise": "c1fc18bbb1f64c56",
	"mnistc-glass-blur":    "14d5b79310efd54c",
	"mnistc-motion-blur":   "7660a97f62fc3e1b",
	"mnistc-shear":         "d686561905dbfe66",
	"mnistc-scale":         "8bf3bc884c7ffd37",
	"mnistc-rotate":        "b467413c921865e2",
	"mnistc-brightness":    "9f258fdc0e9b1c91",
	"mnistc-translate":     "65c7da8adcd71075",
	"mnistc-stripe":        "7d2049ec7f9d1a98",
	"mnistc-fog":           "aa963e59831949d0",
	"mnistc-spatter":       "8c69a95a1c4106b8",
	"mnistc-dotted-line":   "c9b6ddb7dde2d2f3",
	"mnistc-zigzag":        "bb4fd9253c7fdb7a",
	"mnistc-canny-edges":   "52d779101e3a21cd",
}

// Every architecture and every later version must produce these images, because results are
// compared across both.
func TestCorruptedBits(t *testing.T) {
	s := Digits(1, 0, 3)
	for _, k := range CorruptionKinds() {
		x := corrupted(t, s, Corruption{k.Name, k.Suite[1]}.String())
		h := sha256.New()
		for _, v := range x {
			h.Write(binary.LittleEndian.AppendUint32(nil, math.Float32bits(v)))
		}
		if got := hex.EncodeToString(h.Sum(nil)); corruptedHashes[k.Name] == "" ||
			!strings.HasPrefix(got, corruptedHashes[k.Name]) {
			t.Errorf("%s: images hash to %s, want %q...", k.Name, got, corruptedHashes[k.Name])
		}
	}
}

// TestCorruptChosen checks that an image does not depend on the other images of the call, differs
// from the clean one, lies in [0, 1], and that its noise depends on the seed.
func TestCorruptChosen(t *testing.T) {
	random := map[string]bool{"gaussian": true, "gaussian-unclamped": true, "uniform": true, "saltpepper": true,
		"speckle": true, "shot": true,
		"occlusion-black": true, "occlusion-white": true, "dotted-line": true}
	for _, c := range MNISTCSuite() {
		random[c.Name] = !slices.Contains([]string{"scale", "brightness", "stripe", "canny_edges"}, c.kind().MNISTC())
	}
	s := Digits(1, 0, 5)
	e, err := engine.New(engine.WithThreads(3), engine.WithEagerThreads())
	if err != nil {
		t.Fatal(err)
	}
	defer e.Close()
	for _, c := range append(RobustnessSuite(), MNISTCSuite()...) {
		all, one, other := make([]float32, 5*784), make([]float32, 2*784), make([]float32, 2*784)
		for _, r := range []struct {
			x    []float32
			at   []int32
			seed uint64
		}{{all, indices(5), 7}, {one, []int32{3, 1}, 7}, {other, []int32{3, 1}, 8}} {
			if err := c.Floats(r.x, s, r.at, r.seed); err != nil {
				t.Fatal(err)
			}
		}
		shared := make([]float32, 5*784)
		if err := c.FloatsOn(e, shared, s, indices(5), 7); err != nil {
			t.Fatal(err)
		}
		before, changed, differ := clean(s), 0, false
		for j := range 784 {
			if one[j] != all[3*784+j] || one[784+j] != all[784+j] {
				t.Fatalf("%v: pixel %d of an image depends on the other images", c, j)
			}
			differ = differ || one[j] != other[j]
		}
		for j, v := range all {
			if shared[j] != v {
				t.Fatalf("%v: number %d depends on the threads", c, j)
			}
			if v != before[j] {
				changed++
			}
			if !(v >= 0 && v <= 1) && c.Name != "gaussian-unclamped" {
				t.Fatalf("%v: grey level %v", c, v)
			}
		}
		if changed == 0 || random[c.Name] && !differ {
			t.Errorf("%v: %d pixels changed; depends on the seed: %v", c, changed, differ)
		}
	}
}

// TestSeverityZero checks that severity 0 changes nothing, and that the smallest severity changes
// almost nothing.
func TestSeverityZero(t *testing.T) {
	s := Digits(1, 0, 4)
	want := clean(s)
	for _, k := range CorruptionKinds() {
		for j, v := range corrupted(t, s, k.Name+":0") {
			if v != want[j] {
				t.Fatalf("%s:0: pixel %d is %v, want %v", k.Name, j, v, want[j])
			}
		}
		if k.Min > 0 {
			continue
		}
		for _, tiny := range []string{":1e-300", ":1e-9"} {
			for j, v := range corrupted(t, s, k.Name+tiny) {
				if !(math.Abs(float64(v-want[j])) < 1e-6) {
					t.Fatalf("%s%s: pixel %d is %v, was %v", k.Name, tiny, j, v, want[j])
				}
			}
		}
	}
}

// TestClosedForms compares corruptions without randomness with their formulas.
func TestClosedForms(t *testing.T) {
	s := Digits(1, 0, 3)
	x := clean(s)
	pixel := func(i, r, c int) float32 {
		if r < 0 || r > 27 || c < 0 || c > 27 {
			return 0
		}
		return x[(i*28+r)*28+c]
	}
	for _, f := range []struct {
		text string
		want func(i, r, c int) float32
		tol  float64
	}{
		{"rotation:360", pixel, 0},
		{"rotation:-360", pixel, 0},
		{"rotation:90", func(i, r, c int) float32 { return pixel(i, c, 27-r) }, 0},
		{"rotation:-270", func(i, r, c int) float32 { return pixel(i, c, 27-r) }, 0},
		{"rotation:-90", func(i, r, c int) float32 { return pixel(i, 27-c, r) }, 0},
		{"rotation:180", func(i, r, c int) float32 { return pixel(i, 27-r, 27-c) }, 0},
		{"shear:2", func(i, r, c int) float32 { return pixel(i, r, c+2*r-27) }, 0},
		{"shear:-2", func(i, r, c int) float32 { return pixel(i, r, c-2*r+27) }, 0},
		{"inverted:1", func(i, r, c int) float32 { return 1 - pixel(i, r, c) }, 0},
		{"inverted:0.5", func(i, r, c int) float32 { return 0.5 }, 0},
		{"brightness:1", func(i, r, c int) float32 { return 1 }, 0},
		{"brightness:-1", func(i, r, c int) float32 { return 0 }, 0},
		{"brightness:0.25", func(i, r, c int) float32 { return min(pixel(i, r, c)+0.25, 1) }, 0},
		{"occlusion-black:1", func(i, r, c int) float32 { return 0 }, 0},
		{"occlusion-white:1", func(i, r, c int) float32 { return 1 }, 0},
		{"translation:1000", func(i, r, c int) float32 { return 0 }, 0},
		{"contrast:0.5", func(i, r, c int) float32 {
			mean := 0.0
			for _, v := range x[i*784 : (i+1)*784] {
				mean += float64(v) / 784
			}
			return float32((mean + float64(pixel(i, r, c))) / 2)
		}, 1e-7},
	} {
		got := corrupted(t, s, f.text)
		for at, v := range got {
			i, r, c := at/784, at/28%28, at%28
			if want := f.want(i, r, c); !(math.Abs(float64(v-want)) <= f.tol) {
				t.Errorf("%s: image %d, row %d, column %d is %v, want %v", f.text, i, r, c, v, want)
				break
			}
		}
	}
}

// TestInvertedTwice inverts an image twice.
func TestInvertedTwice(t *testing.T) {
	x := clean(Digits(1, 0, 3))
	y := append([]float32(nil), x...)
	p := &corruptor{x: y}
	p.inverted(1)
	p.inverted(1)
	for j, v := range y {
		if !(math.Abs(float64(v-x[j])) <= 0x1p-24) { // 1 - g is rounded
			t.Fatalf("pixel %d is %v after two inversions, was %v", j, v, x[j])
		}
	}
}

// TestTranslation checks that shifts by whole pixels copy the image, in all four directions, and
// that half a pixel averages neighbours.
func TestTranslation(t *testing.T) {
	s := Digits(1, 0, 40)
	x := clean(s)
	for _, c := range []struct {
		text      string
		near, far int
	}{{"translation:3", 3, 3}, {"translation:2.5", 2, 3}} {
		got := corrupted(t, s, c.text)
		seen := map[int]int{}
		for i := range s.Len() {
			found := -1
			for k, dir := range [4][2]int{{0, -1}, {0, 1}, {-1, 0}, {1, 0}} {
				at := func(r, col, by int) float32 {
					r, col = r+by*dir[0], col+by*dir[1]
					if r < 0 || r > 27 || col < 0 || col > 27 {
						return 0
					}
					return x[(i*28+r)*28+col]
				}
				same := true
				for j := range 784 {
					same = same && got[i*784+j] == (at(j/28, j%28, c.near)+at(j/28, j%28, c.far))/2
				}
				if same {
					found = k
				}
			}
			seen[found]++
		}
		if seen[-1] != 0 || len(seen) != 4 {
			t.Errorf("%s: directions %v, want all four and no other", c.text, seen)
		}
	}
}

// TestRotateBack rotates by an angle and back: a smooth image hardly changes.
func TestRotateBack(t *testing.T) {
	n := 28
	p := &corruptor{rows: n, cols: n, x: make([]float32, n*n), old: make([]float32, n*n)}
	smooth := func(j int) float32 {
		x, y := float64(j%n)-16, float64(j/n)-12
		return float32(math.Exp(-(x*x + 2*y*y) / 50))
	}
	for j := range p.x {
		p.x[j] = smooth(j)
	}
	p.rotation(33)
	var moved float64
	for j, v := range p.x {
		moved = max(moved, math.Abs(float64(v-smooth(j))))
	}
	p.rotation(-33)
	for j, v := range p.x {
		if d := math.Abs(float64(v - smooth(j))); !(d <= 0.04) || !(moved >= 0.3) {
			t.Fatalf("pixel %d differs by %v after the way back, up to %v before", j, d, moved)
		}
	}
}

func TestSinCos(t *testing.T) {
	for a := -360.0; a <= 360; a += 0.37 {
		sin, cos := sinCos(a)
		s, c := math.Sincos(a / 180 * math.Pi)
		if !(math.Abs(sin-s) <= 2e-15) || !(math.Abs(cos-c) <= 2e-15) { // the argument of math's is rounded
			t.Errorf("sinCos(%v) = %v, %v, want %v, %v", a, sin, cos, s, c)
		}
	}
}

// TestBlur checks that blurring keeps flat images, conserves the ink of a digit away from the
// edges, and spreads a point with the given standard deviation.
func TestBlur(t *testing.T) {
	for _, v := range corrupted(t, flat(1, 51), "blur:1.7") {
		if !(math.Abs(float64(v)-0.2) <= 1e-6) {
			t.Fatalf("a flat image of 0.2 has %v", v)
		}
	}
	point := flat(1, 0)
	point.Pixels[14*28+12] = 255
	var sum, across, down float64
	for j, v := range corrupted(t, point, "blur:2") {
		r, c := float64(j/28-14), float64(j%28-12)
		sum += float64(v)
		across += float64(v) * c * c
		down += float64(v) * r * r
	}
	// Three standard deviations hold all but 0.27% of the mass and 3% of the variance.
	if !(math.Abs(sum-1) <= 1e-5) || !(math.Abs(across-down) <= 1e-5) || !(across >= 0.96*4) || across > 4 {
		t.Errorf("a point of mass %v has variances %v and %v, want 1 and about 4", sum, across, down)
	}
}

// TestMoments checks that mean and variance of the noises on flat images are within four standard
// errors of theory.
func TestMoments(t *testing.T) {
	statistics(t)
	const n = 100 * 784
	g := 128. / 255
	for _, c := range []struct {
		text           string
		mean, variance float64
		fourth         float64 // central fourth moment
	}{
		{"gaussian-unclamped:0.3", g, 0.09, 3 * 0.09 * 0.09},
		{"gaussian:0.05", g, 0.0025, 3 * 0.0025 * 0.0025},
		{"uniform:0.4", g, 0.16 / 3, 0.4 * 0.4 * 0.4 * 0.4 / 5},
		{"speckle:0.1", g, 0.01 * g * g, 3 * 0.01 * g * g * 0.01 * g * g},
		{"shot:0.1", g, 0.01 * g, 0.01 * 0.01 * 0.01 * 0.01 * (100*g + 3*100*g*100*g)}, // Poisson: m + 3 m^2
		{"shot:0.05", g, 0.0025 * g, 0.0025 * 0.0025 * 0.0025 * 0.0025 * (400*g + 3*400*g*400*g)},
	} {
		var sum, square float64
		for _, v := range corrupted(t, flat(100, 128), c.text) {
			sum += float64(v)
			square += (float64(v) - c.mean) * (float64(v) - c.mean)
		}
		mean, variance := sum/n, square/n
		if d := math.Abs(mean-c.mean) / math.Sqrt(c.variance/n); !(d < 4) {
			t.Errorf("%s: mean %v, %.1f standard errors from %v", c.text, mean, d, c.mean)
		}
		if d := math.Abs(variance-c.variance) / math.Sqrt((c.fourth-c.variance*c.variance)/n); !(d < 4) {
			t.Errorf("%s: variance %v, %.1f standard errors from %v", c.text, variance, d, c.variance)
		}
	}
}

// TestShares counts the pixels that corruptions of parts of an image have changed.
func TestShares(t *testing.T) {
	const n = 100 * 784
	count := func(text string, v float32) (k float64) {
		for _, x := range corrupted(t, flat(100, 128), text) {
			if x == v {
				k++
			}
		}
		return k
	}
	for _, v := range []float32{0, 1} {
		if got, want := count("saltpepper:0.3", v), 0.15*n; !(math.Abs(got-want) <= 4*math.Sqrt(want*0.85)) {
			t.Errorf("saltpepper:0.3 made %v pixels %v, want about %v", got, v, want)
		}
	}
	if got := count("saltpepper:1", 128./255); got != 0 {
		t.Errorf("saltpepper:1 left %v pixels", got)
	}
	for text, v := range map[string]float32{"occlusion-black:0.25": 0, "occlusion-white:0.25": 1} {
		if got := count(text, v); got != n/4 {
			t.Errorf("%s painted %v pixels of %d", text, got, n)
		}
	}
	if got := count("dotted-line:1", 1); got != 100*14 {
		t.Errorf("dotted-line:1 made %v dots, want 14 an image", got)
	}
}

// TestClampedIsUnclamped checks that gaussian is gaussian-unclamped, clamped.
func TestClampedIsUnclamped(t *testing.T) {
	s := Digits(1, 0, 3)
	free := corrupted(t, s, "gaussian-unclamped:0.4")
	outside := 0
	for j, v := range corrupted(t, s, "gaussian:0.4") {
		if w := free[j]; v != min(max(w, 0), 1) {
			t.Fatalf("pixel %d is %v clamped, %v unclamped", j, v, w)
		} else if w < 0 {
			outside++
		}
	}
	if outside < 500 {
		t.Errorf("%d pixels below 0", outside)
	}
}

func TestParseCorruption(t *testing.T) {
	for text, want := range map[string]string{
		"gaussian:0.3":       "",
		"rotation:-90":       "",
		"dotted-line:3":      "",
		"shot:0":             "",
		"mnistc-fog":         "",
		"mnistc-fog:0":       "",
		"mnistc-fog:1":       "",
		"mnistc-fog:2":       `corruption mnistc-fog:2: expected a severity of 0 or 1 (1: as published)`,
		"mnistc-fog:0.5":     `expected a severity of 0 or 1`,
		"saltpepper:1e-2":    "",
		"fog:1":              `corruption "fog": expected one of gaussian, gaussian-unclamped, uniform`,
		"":                   `corruption "": expected one of gaussian`,
		"gaussian":           `corruption "gaussian" has no severity: expected 0 to 10 (standard deviation`,
		"gaussian:":          `severity "", expected a number`,
		"gaussian:x":         `corruption "gaussian:x": severity "x", expected a number, as in gaussian:0.3`,
		"gaussian:1:2":       `severity "1:2"`,
		"gaussian:-0.1":      `corruption gaussian:-0.1: expected a severity of 0 to 10`,
		"gaussian:NaN":       `corruption gaussian:NaN: expected`,
		"gaussian:Inf":       `corruption gaussian:+Inf: expected`,
		"saltpepper:1.5":     `expected a severity of 0 to 1 (fraction of the pixels)`,
		"shot:0.01":          `expected a severity of 0 or 0.02 to 1 (`,
		"dotted-line:1.5":    `expected a severity of 0 or 1 to 20, whole (lines)`,
		"rotation:361":       `-360 to 360 (degrees)`,
		"translation:1e5":    `0 to 1000 (pixels)`,
		"gaussian:0.3,sp:.1": `severity "0.3,sp:.1"`,
	} {
		var c Corruption
		var err error
		fuzzlimit.Check(t, 64*len(text)+1<<20, func() { c, err = ParseCorruption(text) })
		switch {
		case want == "" && (err != nil || !strings.HasPrefix(text+":", c.Name+":")):
			t.Errorf("%q: %+v, %v", text, c, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n")):
			t.Errorf("%q: error %v, want one line with %q", text, err, want)
		}
	}
	list, err := ParseCorruptions("gaussian:0.3, shear:-0.5")
	if err != nil || len(list) != 2 || list[1] != (Corruption{"shear", -0.5}) {
		t.Errorf("a list is %v, %v", list, err)
	}
	if _, err := ParseCorruptions("gaussian:0.3,"); err == nil {
		t.Error("a list with nothing after the comma is taken")
	}
	for _, c := range RobustnessSuite() {
		if err := c.Validate(); err != nil {
			t.Error(err)
		}
	}
	if got, want := len(RobustnessSuite())+3*len(MNISTCSuite()), 3*len(CorruptionKinds()); got != want {
		t.Errorf("suites of %d, want %d", got, want)
	}
}

func FuzzParseCorruption(f *testing.F) {
	for _, s := range []string{"gaussian:0.3", "inverted:1", "shot:0x1p-3", "x", ":", "dotted-line:1e1",
		"rotation:-1_0", "mnistc-glass-blur", "mnistc-fog:1", "mnistc-zigzag:2"} {
		f.Add(s)
	}
	s := flat(1, 100)
	x := make([]float32, 784)
	f.Fuzz(func(t *testing.T, text string) {
		c, err := ParseCorruption(text)
		if err != nil {
			if strings.Contains(err.Error(), "\n") {
				t.Errorf("%q: an error of several lines: %v", text, err)
			}
			return
		}
		if again, err := ParseCorruption(c.String()); err != nil || again != c {
			t.Errorf("%q is %v, read back %v, %v", text, c, again, err)
		}
		if err := c.Floats(x, s, []int32{0}, 1); err != nil {
			t.Errorf("%v: %v", c, err)
		}
		for j, v := range x {
			if v-v != 0 {
				t.Fatalf("%v: pixel %d is %v", c, j, v)
			}
		}
	})
}
