package reproduce

import (
	"bytes"
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dpn/separation"
	"dpnbench/internal/fuzzlimit"
	"dpnbench/internal/longtest"
	"dpnbench/plot"
)

// madeUp is a result of each kind of unit, as in results.
func madeUp() map[string]checked {
	r := results(false)
	few := r.Table1.Few[0]
	a := *few.Analysis
	few.Analysis, a.Steps = &a, a.Steps[:table1Steps+1]
	law := lawUnit{Layers: r.Law.Networks[0].Layers, Run: r.Law.Networks[0].Runs[0]}
	law.Run.TestD = law.Run.D
	run := r.Trained.Runs[0]
	run.Analysis.Layers = a.Layers
	x := r.Field
	list := map[string]checked{
		"table1: seed 1":                 table1Unit{Few: few, Long: r.Table1.Long[1], Whole: &r.Table1.Whole[0]},
		"law: linear, 8 layers, seed 1":  law,
		"trained: raw, seed 1":           trainedUnit{Run: run},
		"forward: CNN, seed 1":           ForwardRun{Network: "CNN", Seed: 1, Layers: law.Layers, D: law.Run.D},
		"poster: DPN, seed 1":            posterResult(0.5),
		"field: symmetry of the Hessian": Field{Hessian: x.Hessian},
		"field: rise of phi":             Field{Rises: x.Rises},
		"field: Langevin dynamics":       Field{Langevin: x.Langevin},
		"field: nearness of centres":     Field{Nearness: x.Nearness},
		"field: noise":                   Field{Noise: x.Noise},
		"field: log-sum-exp":             Field{LogSumExp: x.LogSumExp},
		"field: step size":               Field{StepSize: x.StepSize},
		"field: fixed points":            Field{FixedPoints: x.FixedPoints, Nearest: 0.9, PointsOfClass: []int{2, 5}},
	}
	for _, n := range robustResults(1).Networks {
		list["robust: seed 1, "+n.Name] = robustUnit{[]robustResult{{n.Name, n.Kind, n.Cost, n.Runs[0]}}}
	}
	return list
}

// fileOfPart is the file of a part with the given result.
func fileOfPart(tb testing.TB, unit string, result any) []byte {
	tb.Helper()
	b, err := json.Marshal(result)
	if err != nil {
		tb.Fatal(err)
	}
	return part{Format: partFormat, Run: Settings{}.hash(), Unit: unit, Seconds: 0.5, Result: b}.encode()
}

// TestBadParts resumes runs whose files are damaged, foreign, or of other runs or versions: an error names the
// file, before any work, and nothing changes.
func TestBadParts(t *testing.T) {
	const unit = "poster: DPN, seed 1"
	good := fileOfPart(t, unit, posterResult(0.5))
	replace := func(b []byte, from, to string) []byte { return bytes.Replace(b, []byte(from), []byte(to), 1) }
	settings := Settings{}.file()
	var u part
	if err := json.Unmarshal(good, &u); err != nil {
		t.Fatal(err)
	}
	other, newer, unknown, empty := u, u, u, u
	other.Run, newer.Format, unknown.Unit, empty.Result = Settings{Seeds: 1}.hash(), partFormat+1, "cake: DPN", nil
	name := fileOf(unit)
	for _, c := range []struct {
		name, file string
		content    []byte
		want       string
	}{
		{"empty", name, nil, "damaged, or no file"},
		{"foreign", name, []byte(`{"a": 1}`), "damaged, or no file"},
		{"cut", name, good[:len(good)/2], "damaged, or no file"},
		{"a digit", name, replace(good, `"test_accuracy":0.5`, `"test_accuracy":0.6`), "checksum"},
		{"seconds", name, replace(good, `"seconds":0.5`, `"seconds":0.6`), "checksum"},
		{"no result", name, empty.encode(), "not the result of"},
		{"newer", name, newer.encode(), "format 3, expected 2"},
		{"of other settings", name, other.encode(), "part of another run"},
		{"of no experiment", name, unknown.encode(), `"cake: DPN", which is no part`},
		{"of another unit", fileOf("poster: DPN, seed 2"), good, "part of another run"},
		{"another kind", name, fileOfPart(t, unit, Field{}), "not the result of"},
		{"settings, empty", settingsFile, nil, "damaged, or no file"},
		{"settings, newer", settingsFile, replace(settings, `"format":2`, `"format":3`), "format 3, expected 2"},
		{"settings, a digit", settingsFile, replace(settings, `"epochs":0`, `"epochs":1`), "checksum"},
		{"other seeds", settingsFile, Settings{Seeds: 2}.file(), "--seeds 2, this command 0"},
		{"other epochs", settingsFile, Settings{Epochs: 2}.file(), "--epochs 2, this command 0"},
		{"the matrix", settingsFile, Settings{Matrix: true}.file(), "--matrix true, this command false"},
		{"other presets", settingsFile, Settings{Presets: []string{"a", "b"}}.file(), "--presets a,b, this command"},
		{"other experiment", settingsFile, Settings{Experiment: "law"}.file(), "experiment law"},
		{"other images", settingsFile, Settings{SHA256: "00"}.file(), "these are others"},
		{"other build", settingsFile, Settings{Version: "x"}.file(), "expected the same build"},
	} {
		out := t.TempDir()
		dir := filepath.Join(out, PartsFolder)
		files := map[string][]byte{settingsFile: settings, name: good, "notes.txt": []byte("of the user"),
			c.file: c.content}
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		for name, b := range files {
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		_, err := ResumeParts(out, Settings{})
		if err == nil || !strings.Contains(err.Error(), c.want) || !strings.Contains(err.Error(), c.file) ||
			strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: error %v, want one with %q and %q", c.name, err, c.file, c.want)
		}
		for name, want := range files {
			if b, err := os.ReadFile(filepath.Join(dir, name)); err != nil || !bytes.Equal(b, want) {
				t.Errorf("%s: %s has changed (%v)", c.name, name, err)
			}
		}
	}
}

// TestPartRoundTrip reads every kind of part as it was written, and names of files that differ.
func TestPartRoundTrip(t *testing.T) {
	names := map[string]bool{}
	for name, result := range madeUp() {
		b := fileOfPart(t, name, result)
		if u, err := parsePart(b); err != nil || !bytes.Equal(u.encode(), b) {
			t.Errorf("%s: %v", name, err)
		}
		file := fileOf(name)
		if !IsPart(file) || names[file] {
			t.Errorf("%s: file %s", name, file)
		}
		names[file] = true
	}
	s := Settings{Experiment: "all", Seeds: 3, Presets: []string{"raw"}, TrainImages: 5, Version: "<1> & \u2028"}
	if got, err := parseSettings(s.file()); err != nil || got.hash() != s.hash() || s.Matches(got) != nil {
		t.Errorf("settings %+v: %v", got, err)
	}
}

// FuzzPart reads the files of parts and settings; what is taken is written back as it was.
func FuzzPart(f *testing.F) {
	for name, result := range madeUp() {
		f.Add(fileOfPart(f, name, result))
	}
	f.Add(Settings{Experiment: "law"}.file())
	f.Add([]byte(`{"format":2,"unit":"field:","result":null}`))
	f.Fuzz(func(t *testing.T, b []byte) {
		fuzzlimit.Check(t, 64*len(b)+1<<20, func() {
			if u, err := parsePart(b); err == nil && !bytes.Equal(u.encode(), b) {
				t.Errorf("%q is read as %+v", b, u)
			}
		})
		if s, err := parseSettings(b); err == nil {
			if again, err := parseSettings(s.file()); err != nil || again.hash() != s.hash() {
				t.Errorf("settings %+v: %v", s, err)
			}
		}
	})
}

// FuzzUnit reads results of units and, where check takes them, makes claims, page and figures of them.
func FuzzUnit(f *testing.F) {
	longtest.Native(f)
	for name, result := range madeUp() {
		b, err := json.Marshal(result)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(name, b)
	}
	// Networks without runs or with fewer noises once were out of range after all trainings.
	f.Add("robust: seed 1, CNN", []byte(`{"networks":[{"name":"CNN","kind":"baseline","run":{"seed":1,"noisy":[]}}]}`))
	f.Add("robust: seed 1, CNN", []byte(`{"networks":[]}`))
	f.Add("trained: raw, seed 1", []byte(`{"run":{"analysis":{}}}`))
	f.Add("poster: DPN, seed 1", []byte(`{"run":{"best_epoch":1,"epochs":[{"val_loss":null}]}}`))
	f.Fuzz(func(t *testing.T, name string, b []byte) {
		experiment, _, _ := strings.Cut(name, ":")
		check, ok := unitChecks[experiment]
		if !ok {
			return
		}
		var err error
		fuzzlimit.Check(t, 64*len(b)+4<<20, func() { err = check(name, b) })
		if err != nil {
			return
		}
		use(resultsWith(t, experiment, name, b))
	})
}

// resultsWith returns made-up results in which those of one unit are replaced.
func resultsWith(t *testing.T, experiment, name string, b []byte) Results {
	r := results(true)
	r.Robust = robustResults(1)
	switch experiment {
	case "table1":
		u := decoded[table1Unit](t, name, b)
		r.Table1.Few[0], r.Table1.Long[1], r.Table1.Walk = u.Few, u.Long, u.Walk
		if u.Whole != nil {
			r.Table1.Whole = []Placement{*u.Whole}
		}
	case "law":
		u := decoded[lawUnit](t, name, b)
		r.Law.Networks = []LawNetwork{{Name: "deep", Kind: lawSettings, Depth: 8, BatchNorm: true, Layers: u.Layers,
			Runs: []LawRun{u.Run}}}
	case "trained":
		u := decoded[trainedUnit](t, name, b)
		r.Trained.Runs, r.Trained.Walk = []TrainedRun{u.Run}, u.Walk
	case "forward":
		r.Trained.Forward = []ForwardRun{decoded[ForwardRun](t, name, b)}
	case "poster":
		u := decoded[posterUnit](t, name, b)
		if strings.HasPrefix(name, "poster: "+posterMLP+",") {
			r.Poster.MLP = []PosterRun{u.Run}
		} else {
			r.Poster.DPN, r.Poster.Detected = []PosterRun{u.Run}, u.Detected
		}
	case "field":
		r.Field.add(decoded[Field](t, name, b))
	case "robust":
		r.Robust = &Robust{}
		for _, n := range decoded[robustUnit](t, name, b).Networks {
			r.Robust.add(n, strings.Contains(name, "noisy"))
		}
	}
	return r
}

func decoded[T checked](t *testing.T, name string, b []byte) T {
	v, err := decode[T](name, b)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// use does what a command does with results; errors are reported to users.
func use(r Results) {
	Claims(r)
	for _, f := range Figures(r) {
		plot.Embed(f.Figure, "", false)
	}
	Page(r, nil).Write(&bytes.Buffer{})
	if r.Robust != nil {
		RobustTable(r.Robust)
	}
}

// TestUse checks that madeUp results of every kind can be used, also with figures that are not finite.
func TestUse(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: draws every page twice, a minute under emulation")
	}
	nan := separation.Float(math.NaN())
	for name, result := range madeUp() {
		for _, infinite := range []bool{false, true} {
			if u, ok := result.(table1Unit); ok && infinite {
				a := *u.Few.Analysis
				a.Layers = slices.Clone(a.Layers)
				a.Layers[0].Fuzziness, a.Curves = nan, []separation.LayerCurve{{}}
				u.Few.Analysis = &a
				result = u
			}
			b, err := json.Marshal(result)
			if err != nil {
				t.Fatal(err)
			}
			experiment, _, _ := strings.Cut(name, ":")
			use(resultsWith(t, experiment, name, b))
		}
	}
}
