package main

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"dpnbench/bench"
	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/layer"
	"dpnbench/internal/longtest"
)

// settle returns the settings that result from flags of train. They need not be valid together:
// that is checked last.
func settle(t *testing.T, args ...string) dpn.Config {
	t.Helper()
	tr := &training{app: &app{}}
	c := tr.command()
	if err := c.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	settings, err := tr.resolve(c.Flags())
	if err != nil {
		t.Logf("%q: %v", args, err)
	}
	return settings
}

// TestFewKnown says how uncertain the threshold of unknown samples is where fewer than 200 gave it.
func TestFewKnown(t *testing.T) {
	for validated, want := range map[int]bool{199: true, 200: false} {
		out, err := os.Create(filepath.Join(t.TempDir(), "out"))
		if err != nil {
			t.Fatal(err)
		}
		tr := &training{app: &app{out: printer{File: out}}}
		m := &dpn.Model{Shape: dataset.Vector(2), UnknownBelow: new(float32)}
		tr.summarise(m, &trainResult{WeightsSHA256: strings.Repeat("0", 64)}, &dataset.Data{}, validated)
		out.Close()
		text, err := os.ReadFile(out.Name())
		said := strings.Contains(string(text), fmt.Sprintf("the threshold is that of %d validation", validated))
		if err != nil || len(text) == 0 || said != want {
			t.Errorf("%d validation samples: %v, %q", validated, err, text)
		}
	}
}

// TestTrainFlags sets the flag of every setting to a value that no preset has, and checks that it
// replaces the preset's value of that setting and no other.
func TestTrainFlags(t *testing.T) {
	preset, err := dpn.Preset("clean")
	if err != nil {
		t.Fatal(err)
	}
	base := reflect.ValueOf(preset)
	for i := range base.NumField() {
		name := base.Type().Field(i).Tag.Get("toml")
		if name == "preset" { // chooses the rest
			continue
		}
		want := reflect.New(base.Type()).Elem()
		want.Set(base)
		switch f := want.Field(i); f.Interface().(type) {
		case string:
			f.SetString("another")
		case bool:
			f.SetBool(!f.Bool())
		case int:
			f.SetInt(f.Int() + 17)
		case uint64:
			f.SetUint(f.Uint() + 1<<62)
		case float64:
			f.SetFloat(f.Float() + 0.1) // whose shortest text must give the same bits
		}
		value := fmt.Sprint(want.Field(i))
		if want.Field(i).CanFloat() {
			value = strconv.FormatFloat(want.Field(i).Float(), 'g', -1, 64)
		}
		if got := settle(t, "--preset", "clean", "--"+name+"="+value); got != want.Interface() {
			t.Errorf("--%s %s: %+v", name, value, got)
		}
	}
}

// TestFlagsOverFile checks that flags, also with value 0, override a file and leave its other
// settings.
func TestFlagsOverFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "settings.toml")
	write(t, path, []byte("preset = \"clean\"\nsteps = 7\nlr = 0.25\nclip = 3.0\nlayer-norm = true\n"))
	want, err := dpn.Preset("clean")
	if err != nil {
		t.Fatal(err)
	}
	want.Steps, want.LR, want.Clip, want.LayerNorm = 9, 0.25, 0, false
	if got := settle(t, "--config", path, "--clip", "0", "--steps", "9", "--layer-norm=false"); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}

// TestPath trains and evaluates on a folder of images.
func TestPath(t *testing.T) {
	longtest.Native(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 200)
	out := filepath.Join(dir, "run")
	js := filepath.Join(dir, "train.json")
	text := succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--json", js,
		"--seed", "3")...)
	if !strings.Contains(text, "\nepoch  train loss  accuracy  val loss") || !strings.Contains(text, "\n    2  ") ||
		!strings.Contains(text, "test   loss") {
		t.Errorf("train printed %q", text)
	}
	var r trainResult
	load(t, js, &r)
	if r.Preset != "compact" || r.Seed != 3 || len(r.Epochs) != 2 || r.Updates != 2*12 || r.TestAccuracy <= 0 ||
		r.Parameters == 0 || r.MACsPerSample != 16*8+4*8*8*3+8*10 || r.PeakRSSBytes == 0 ||
		len(r.WeightsSHA256) != 64 || r.Threads < 1 ||
		r.Tier == "" {
		t.Errorf("train's JSON: %+v", r)
	}
	for _, f := range []string{dpn.ModelFile, dpn.LastFile, dpn.StateFile, dpn.MetricsFile, dpn.ConfigFile,
		"training.png", "training.svg"} {
		if _, err := os.Stat(filepath.Join(out, f)); err != nil {
			t.Error(err)
		}
	}
	model := filepath.Join(out, dpn.ModelFile)

	var score struct {
		Samples        int
		Loss, Accuracy float64
	}
	succeed(t, "eval", "--model", model, "--json", js) // on the data that it was trained on
	load(t, js, &score)
	if score.Samples != 200 || score.Loss != float64(r.TestLoss) || score.Accuracy != float64(r.TestAccuracy) {
		t.Errorf("eval found %+v, train loss %v accuracy %v", score, r.TestLoss, r.TestAccuracy)
	}

	// The validation images give the scores of the best epoch.
	var kept struct {
		Samples        int
		Loss, Accuracy float64
		Split          string
		ByClass        layer.ByClass `json:"by_class"`
	}
	text = succeed(t, "eval", "--model", model, "--split", "validation", "--json", js)
	load(t, js, &kept)
	best := r.Epochs[0]
	for _, h := range r.Epochs {
		if *h.ValLoss < *best.ValLoss {
			best = h
		}
	}
	if kept.Samples != 20 || kept.Split != "validation" || kept.Loss != *best.ValLoss ||
		kept.Accuracy != *best.ValAccuracy || !strings.HasPrefix(text, "validation   loss") {
		t.Errorf("eval --split validation found %+v and printed %q, training %v and %v", kept, text, *best.ValLoss,
			*best.ValAccuracy)
	}
	if r.Validation == nil || !reflect.DeepEqual(kept.ByClass, r.Validation.ByClass) ||
		len(kept.ByClass.Classes) != 10 || !strings.Contains(text, "predicted 0") ||
		!strings.Contains(text, "! fewer than 10 validation images of classes 0 (2), 1 (2)") {
		t.Errorf("accuracy by class: eval %+v and %q, training %+v", kept.ByClass, text, r.Validation)
	}

	var corrupted struct {
		Loss        float64
		CorruptSeed uint64 `json:"corrupt_seed"`
		Corruptions []corruptionScore
	}
	text = succeed(t, "eval", "--model", model, "--corrupt", "gaussian:0, inverted:1", "--corrupt-seed", "5", "--json",
		js)
	load(t, js, &corrupted)
	if list := corrupted.Corruptions; corrupted.CorruptSeed != 5 || len(list) != 2 || list[0].Name != "gaussian" ||
		list[0].Accuracy != score.Accuracy ||
		float64(list[0].Loss) != corrupted.Loss || list[1].Severity != 1 || float64(list[1].Loss) == corrupted.Loss ||
		!strings.Contains(text, "inverted") {
		t.Errorf("eval --corrupt found %+v and printed %q", corrupted, text)
	}
	text = succeed(t, "eval", "--model", model, "--suite", "robustness", "--json", js)
	load(t, js, &corrupted)
	if len(corrupted.Corruptions) != len(dataset.RobustnessSuite()) || !strings.Contains(text, "dotted-line") ||
		!strings.Contains(text, "(60)") {
		t.Errorf("eval --suite found %+v and printed %q", corrupted, text)
	}

	// An existing run is overwritten only on request.
	fails(t, with(append([]string{"train"}, small...), "--data", data, "--out", out), "--out",
		"holds the model.safetensors")
	over := with(append([]string{"train"}, small...), "--data", data, "--out", out, "--overwrite", "--quiet", "--seed")
	succeed(t, with(over, "3")...)
	// The saved settings repeat the run.
	again := filepath.Join(dir, "again")
	succeed(t, "train", "--config", filepath.Join(out, dpn.ConfigFile), "--out", again, "--json", js, "--quiet")
	want := r.WeightsSHA256
	load(t, js, &r)
	if r.WeightsSHA256 != want {
		t.Errorf("the saved settings gave weights %s, first %s", r.WeightsSHA256, want)
	}
	resultsStay(t, out, over)
}

// resultsStay trains by a command that overwrites the run in out and ends with --seed: results that other commands have
// made of its model stay, and are named if the new model is another. The run has seed 3.
func resultsStay(t *testing.T, out string, over []string) {
	var exports []string
	for _, name := range []string{dpn.ModelFile, dpn.LastFile} {
		for _, format := range exportFormats {
			succeed(t, "export", "--model", filepath.Join(out, name), "--format", format, "--quiet")
		}
	}
	list, err := os.ReadDir(out)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range list {
		if !slices.Contains(runFiles, f.Name()) && f.Name() != analysisFolder {
			exports = append(exports, f.Name())
		}
	}
	if err := os.MkdirAll(filepath.Join(out, analysisFolder), 0o755); err != nil {
		t.Fatal(err)
	}
	succeed(t, with(over, "3")...) // the same model again
	_, errs, status := dpnbench(t, with(over, "4")...)
	for _, name := range append(exports, analysisFolder) {
		if status != exitDone || len(exports) != 6 || !strings.HasPrefix(errs, "dpnbench: warning: --out "+out+": ") ||
			!strings.Contains(errs, " "+name) {
			t.Errorf("status %d, %q for a folder with %s", status, errs, name)
		}
	}
	if stays := (&training{app: newApp(os.Stdout, os.Stderr), out: out, demo: true}).madeEarlier(); len(
		stays.names) != 6 {
		t.Errorf("in the folder of demo, which replaces the analysis, %q stay", stays.names)
	}
}

// TestTrainingOptions trains with all losses and early stopping, and with settings that overshoot,
// and checks the output.
func TestTrainingOptions(t *testing.T) {
	longtest.Native(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 200)
	js := filepath.Join(dir, "train.json")
	options := []string{"--nll", "0.2", "--score-matching", "0.3", "--score-sigma", "0.4", "--alpha-lr", "1e-4",
		"--extractor-lr", "2e-3",
		"--patience", "1", "--epochs", "50", "--lr", "0.05", "--schedule", "constant"}
	text := succeed(t, with(append([]string{"train"}, small...), append(options, "--data", data, "--out",
		filepath.Join(dir, "run"), "--json", js)...)...)
	var r trainResult
	load(t, js, &r)
	n := len(r.Epochs)
	if !r.StoppedEarly || n == 50 || n != r.BestEpoch+1 || !strings.Contains(text,
		"stopped early: 1 epoch without") || !strings.Contains(text, "alpha*lambda") {
		t.Errorf("%d epochs, the best %d, stopped early: %v; printed %q", n, r.BestEpoch, r.StoppedEarly, text)
	}
	if c := r.Config; c.NLL != 0.2 || c.Score != 0.3 || c.ScoreSigma != 0.4 || c.AlphaLR != 1e-4 ||
		c.ExtractorLR != 2e-3 || c.Patience != 1 {
		t.Errorf("settings %+v", c)
	}
	for _, h := range r.Epochs {
		if d := h.Diagnostics; h.NLL == nil || h.ScoreMatching == nil || d.AlphaLambda <= 0 || d.Rising <= 0 ||
			d.ActiveFirst < 1 || len(d.GradientNorms) != 4 {
			t.Errorf("epoch %+v", h)
		}
	}

	out, errs, status := dpnbench(t, with(append([]string{"train"}, small...), "--scale", "5", "--data", data,
		"--out", filepath.Join(dir, "failing"), "--json", js)...)
	load(t, js, &r)
	if status != exitDone || strings.Count(errs, "(kind overshoot)") != 1 ||
		!strings.Contains(errs, "smaller alpha or scale") || len(r.Epochs[0].Warnings) == 0 {
		t.Errorf("status %d, printed %q, on standard error %q; epoch 1: %+v", status, out, errs, r.Epochs[0])
	}
}

// TestOtherExtractor replaces the extractor of a preset that sets hidden widths, by flags and in a file. They go with
// it, and what is refused is what was given.
func TestOtherExtractor(t *testing.T) {
	longtest.Native(t)
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	write(t, in("table.csv"), []byte("a,b,class\n"+strings.Repeat("1,2,x\n2,1,y\n", 20)))
	write(t, in("mlp.toml"), []byte("preset = \"mlp\"\nextractor = \"linear\"\nepochs = 1\nmax-updates = 2\n"))
	var r trainResult
	for i, source := range [][]string{{"--preset", "mlp", "--extractor", "linear"}, {"--config", in("mlp.toml")}} {
		succeed(t, with(append([]string{"train"}, source...), "--data", in("table.csv"), "--max-updates", "2",
			"--quiet", "--json", in("x.json"), "--out", in(strconv.Itoa(i)))...)
		if load(t, in("x.json"), &r); r.Config.Hidden != "" {
			t.Errorf("%q: hidden %q with extractor %s", source, r.Config.Hidden, r.Config.Extractor)
		}
	}
	fails(t, []string{"train", "--data", in("table.csv"), "--extractor", "conv", "--out", in("none")},
		`--extractor "conv": expected images of at least 4 x 4 pixels with it, not vectors of 2 features`)
	fails(t, []string{"train", "--data", in("table.csv"), "--preset", "noise", "--out", in("none")},
		`--preset noise: extractor "conv": expected images of at least 4 x 4 pixels with it, not vectors of 2 features`)
	write(t, in("conv.toml"), []byte("preset = \"compact\"\nextractor = \"conv\"\n"))
	fails(t, []string{"train", "--data", in("table.csv"), "--config", in("conv.toml"), "--out", in("none")},
		"--config "+in("conv.toml")+`: extractor "conv": expected images of at least 4 x 4 pixels with it, not vectors`)
	fails(t, []string{"train", "--preset", "mlp", "--extractor", "linear", "--hidden", "9", "--out", in("none")},
		`--hidden "9": expected the extractor mlp or conv with it`)
}

// TestOverwrite checks the files beside the model after a new run in an old folder.
func TestOverwrite(t *testing.T) {
	longtest.Native(t)
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 120)
	out := filepath.Join(dir, "run")
	train := with(append([]string{"train"}, small...), "--data", data, "--out", out, "--quiet")
	succeed(t, train...)
	marker := filepath.Join(out, demoFile)
	write(t, marker, []byte("{}"))
	// A refused or resumed run leaves the demo's marker.
	fails(t, []string{"train", "--out", out, "--resume", "--epochs", "9"}, "epochs is 9, was 2")
	succeed(t, "train", "--out", out, "--resume", "--quiet")
	fails(t, with(train, "--overwrite", "--json", filepath.Join(dir, "none", "x.json")), "--json")
	if _, err := os.Stat(marker); err != nil {
		t.Error(err)
	}
	// A run that could not write one of its files is refused, and the old run stays whole.
	figure := filepath.Join(out, "training.png")
	os.Remove(figure)
	if err := os.Mkdir(figure, 0o755); err != nil {
		t.Fatal(err)
	}
	js := filepath.Join(dir, "r.json")
	again := with(train, "--overwrite", "--seed", "9", "--json", js)
	old := tree(t, out)
	fails(t, again, "--out "+out, "training.png")
	if now := tree(t, out); !maps.Equal(now, old) {
		t.Errorf("files of the old run have changed")
	}
	os.Remove(figure)
	succeed(t, again...)
	for _, name := range []string{js, filepath.Join(out, resultFile)} {
		var r trainResult
		if load(t, name, &r); r.Seed != 9 {
			t.Errorf("%s is of seed %d, want 9", name, r.Seed)
		}
	}
	if _, err := os.Stat(marker); err == nil {
		t.Error("a folder that was overwritten still counts as one of the demo")
	}
}

// TestRunFolder checks the default folders of runs. The second run is profiled.
func TestRunFolder(t *testing.T) {
	longtest.Native(t)
	data := t.TempDir()
	idx(t, data, 120)
	t.Chdir(t.TempDir())
	train := with(append([]string{"train"}, small...), "--data", data, "--quiet")
	succeed(t, train...)
	if testing.Short() { // a profile measures the peak and bandwidths of this machine
		succeed(t, train...)
	} else {
		checkProfile(t, succeed(t, with(train, "--profile")...), filepath.Join("runs", "compact-2", resultFile))
	}
	for _, name := range []string{"runs/compact-1", "runs/compact-2"} {
		if _, err := os.Stat(filepath.Join(name, dpn.ModelFile)); err != nil {
			t.Error(err)
		}
	}
	t.Chdir(t.TempDir())
	write(t, "runs", nil)
	fails(t, train, "runs", "--out")
}

// TestResumeCommand resumes with --out and --resume only.
func TestResumeCommand(t *testing.T) {
	longtest.Native(t)
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	idx(t, data, 120)
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--seed", "5", "--quiet")...)
	result := filepath.Join(out, resultFile)
	before, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	// Nothing is left to train: the results stay unchanged, and --json writes them again.
	js := filepath.Join(t.TempDir(), "r.json")
	text := succeed(t, "train", "--out", out, "--resume", "--json", js)
	if !strings.Contains(text, "already finished after ") || !strings.Contains(text, "test   loss") {
		t.Errorf("printed %q", text)
	}
	for _, name := range []string{result, js} {
		if after, err := os.ReadFile(name); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s differs from the %s of the training (%v)", name, resultFile, err)
		}
	}
	// Missing files are written.
	var first, again trainResult
	load(t, js, &first)
	for _, missing := range []string{resultFile, "training.svg"} {
		if err := os.Remove(filepath.Join(out, missing)); err != nil {
			t.Fatal(err)
		}
		succeed(t, "train", "--out", out, "--resume", "--quiet")
		if _, err := os.Stat(filepath.Join(out, missing)); err != nil {
			t.Error(err)
		}
		again = trainResult{}
		load(t, result, &again)
		again.PeakRSSBytes = first.PeakRSSBytes
		if !reflect.DeepEqual(again, first) || again.Seed != 5 {
			t.Errorf("without %s resumed to %+v, first %+v", missing, again, first)
		}
	}
	fails(t, []string{"train", "--out", out, "--resume", "--seed", "6"}, "seed is 6, was 5")
	fails(t, []string{"train", "--out", out, "--resume", "--preset", "robust"}, "--preset robust", "began with compact")
	if err := os.Rename(data, data+"-moved"); err != nil {
		t.Fatal(err)
	}
	fails(t, []string{"train", "--out", out, "--resume"}, data, "the name comes from the run",
		"expected its samples by --data")
	succeed(t, "train", "--out", out, "--resume", "--data", data+"-moved", "--quiet")
	fails(t, []string{"train", "--out", out, "--resume", "--config", js, "--json", js}, "--resume and --config "+js)
	other := t.TempDir()
	idx(t, other, 130)
	fails(t, []string{"train", "--out", out, "--resume", "--data", other},
		"images differ from the original run: data is "+other+", was "+data)
	fails(t, []string{"train", "--out", out, "--resume", "--data", data + "-moved", "--train-size", "90"},
		"data is "+data+"-moved, was "+data+", train-size is 90, was 0")
	if err := os.Mkdir(data, 0o777); err != nil {
		t.Fatal(err)
	}
	idx(t, data, 130)
	fails(t, []string{"train", "--out", out, "--resume", "--test-size", "20"},
		`the content of data "`+data+`" has changed`)
}

// checkProfile checks the table of train --profile, and the same phases in the JSON.
func checkProfile(t *testing.T, printed, result string) {
	t.Helper()
	var r trainResult
	load(t, result, &r)
	if len(r.Phases) < 8 {
		t.Errorf("phases %+v", r.Phases)
	}
	_, table, found := strings.Cut(printed, "and its bounds on this machine:\n")
	for _, p := range append(r.Phases, bench.Phase{Phase: "update"}) {
		if !found || !strings.Contains(table, p.Phase+"  ") {
			t.Errorf("no %q in %q", p.Phase, printed)
		}
		if p.Phase == "ascent" && !(p.Flop > 0 && p.BoundSeconds > 0 && p.Bound != "") {
			t.Errorf("the ascent has no bound: %+v", p)
		}
	}
}

// TestLostFigures resumes a finished run without metrics.jsonl and results: the results are written again.
func TestLostFigures(t *testing.T) {
	long(t)
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	idx(t, data, 120)
	text := succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--quiet")...)
	for _, name := range append([]string{dpn.MetricsFile, resultFile}, figureFiles(curvesFile)...) {
		if err := os.Remove(filepath.Join(out, name)); err != nil {
			t.Fatal(err)
		}
	}
	again, errs, status := dpnbench(t, "train", "--out", out, "--resume", "--quiet")
	if status != exitDone || again != text || strings.Count(errs, "\n") != 1 ||
		!strings.Contains(errs, "finished, without the figures") {
		t.Errorf("status %d, printed %q and %q, want %q", status, again, errs, text)
	}
	var r trainResult
	if load(t, filepath.Join(out, resultFile), &r); r.Epochs == nil || len(r.Epochs) != 0 || r.BestEpoch == 0 {
		t.Errorf("%+v", r)
	}
}

// TestPresetFitsData trains on few images without a preset: the data choose it, and it is trained with
// as many updates as on many images, unless a flag says otherwise.
func TestPresetFitsData(t *testing.T) {
	long(t)
	dir := t.TempDir()
	idx(t, dir, 120)
	args := []string{"train", "--data", dir, "--dim", "4", "--steps", "1", "--components", "2", "--batch", "64"}
	text := succeed(t, with(args, "--out", filepath.Join(t.TempDir(), "run"))...)
	for _, want := range []string{"preset compact, the default for images\n", "1000 epochs instead of the preset's 5",
		"2000 updates at", "\n 1000  "} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in the results:\n%s", want, text)
		}
	}
	if n := strings.Count(text, " s\n"); n < 10 || n > 60 {
		t.Errorf("%d lines of epochs", n)
	}
	text = succeed(t, with(args, "--preset", "compact", "--epochs", "2", "--balance", "--out",
		filepath.Join(t.TempDir(), "run"))...)
	if strings.Contains(text, "instead of") || strings.Contains(text, "default") || !strings.Contains(text,
		"4 updates") {
		t.Errorf("with --epochs 2:\n%s", text)
	}
	fails(t, []string{"train", "--data", dir, "--preset", "clean", "--noise-min", "1"}, "--noise-min 1")

	// Settings of the preset for vectors, which the data choose.
	table := filepath.Join(dir, "table.csv")
	var rows strings.Builder
	for i := range 40 {
		fmt.Fprintf(&rows, "%d,%d,%c\n", i, 3*i%7, "xz"[i%2])
	}
	write(t, table, []byte(rows.String()))
	vectors := []string{"train", "--data", table, "--epochs", "1", "--out", filepath.Join(t.TempDir(), "run")}
	succeed(t, with(vectors, "--hidden", "8", "--dim", "4", "--overwrite")...)
	fails(t, with(vectors, "--hidden", "0", "--overwrite"), "--hidden")
	text = succeed(t, with(vectors, "--preset", "robust", "--rank", "1", "--overwrite")...)
	if !strings.Contains(text, "without the preset's --rms, which is for images\n") {
		t.Errorf("robust on vectors:\n%s", text)
	}
	fails(t, with(vectors, "--preset", "robust", "--rms", "--overwrite"), "--rms true: expected images with it")
	fails(t, []string{"train", "--data", dir, "--hidden", "8"}, "--hidden", "extractor mlp")
	fails(t, []string{"train", "--data", dir, "--extractor", "mlp"}, "--extractor mlp: without hidden layers",
		"--hidden")
	images := []string{"train", "--data", table, "--preset", "clean", "--out", filepath.Join(t.TempDir(), "none")}
	if out, errs, _ := dpnbench(t, images...); out != "" || !strings.Contains(errs, "--preset clean: extractor") {
		t.Errorf("clean on vectors: printed %q, standard error %q", out, errs)
	}
}

// TestFewDifferent trains on a table of two different rows: the preset places no more components than that.
func TestFewDifferent(t *testing.T) {
	longtest.Native(t)
	t.Chdir(t.TempDir())
	write(t, "t.csv", []byte("a,b,label\n"+strings.Repeat("0,1,x\n1,0,y\n", 100)))
	out := succeed(t, "train", "--data", "t.csv", "--epochs", "1", "--out", "o")
	if !strings.Contains(out, "2 components of rank 8 instead of 10 of rank 8, for so few different samples") {
		t.Errorf("printed %q", out)
	}
	fails(t, []string{"train", "--data", "t.csv", "--components", "3", "--out", "p"},
		"--components 3: expected at most 2, the number of different training samples")
}

// TestIdleSettings gives train settings that have no effect with the others, on data that choose the preset, too.
func TestIdleSettings(t *testing.T) {
	longtest.Native(t)
	dir := t.TempDir()
	idx(t, dir, 120)
	table := filepath.Join(dir, "table.csv")
	write(t, table, []byte("a,b,label\n"+strings.Repeat("1,2,x\n3,4,y\n5,3,x\n", 40)))
	for _, c := range []struct{ args, want string }{ // a warning, or after ! an error
		{"", ""},
		{"--form lowrank --rank 3 --alpha-lr 0.01 --extractor-lr 0.01", ""},
		{"--rank 0 --score-sigma 0 --alpha-lr 0", ""},
		{"--rank 3", "!--rank 3 has no effect with form full; it needs --form lowrank or flat"},
		{"--form flat --rank 2 --eps 0.2", ""},
		{"--form lowrank --rank 2 --eps 0.2", "!--eps 0.2 has no effect with form lowrank; it needs --form flat"},
		{"--score-sigma 1", "!--score-sigma 1 has no effect with score-matching 0; it needs --score-matching above 0"},
		{"--gradient detached --alpha-lr 1", "--alpha-lr 1 has no effect with gradient detached; it needs --gradient " +
			"exact"},
		{"--steps 0 --potential-lr 1", "--potential-lr 1 has no effect with steps 0; it needs --steps above 0"},
		{"--data " + table + " --rank 2", ""},
		{"--rank -1", "!--rank -1 has no effect with form full; it needs --form lowrank or flat"},
		{"--score-sigma -3", "!--score-sigma -3 has no effect with score-matching 0; it needs --score-matching " +
			"above 0"},
		{"--data " + table + " --eps 0.2", "!--eps 0.2 has no effect with form lowrank; it needs --form flat"},
	} {
		args := strings.Fields("train --data " + dir + " --components 3 --max-updates 1 --val-size 0 --out " +
			filepath.Join(dir, "out") + " --overwrite " + c.args)
		_, errs, status := dpnbench(t, args...)
		want, done := "", exitDone
		if failure, ok := strings.CutPrefix(c.want, "!"); ok {
			want, done = "dpnbench: "+failure+"\n", exitUsage
		} else if c.want != "" {
			want = "dpnbench: warning: " + c.want + "\n"
		}
		if status != done || errs != want {
			t.Errorf("%s: status %d, %q, want %q", c.args, status, errs, want)
		}
	}
}
