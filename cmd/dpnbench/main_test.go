package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/safetensors"
	"dpnbench/engine"
	"dpnbench/engine/check"
	"dpnbench/engine/num"

	"github.com/spf13/cobra"
)

// dpnbench runs a command line and returns what it printed and its status.
func dpnbench(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	dir := t.TempDir()
	open := func(name string) *os.File {
		f, err := os.Create(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	out, errs := open("out"), open("err")
	defer out.Close()
	defer errs.Close()
	status = run(context.Background(), args, out, errs)
	read := func(f *os.File) string {
		b, err := os.ReadFile(f.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	return read(out), read(errs), status
}

// succeed runs a command line that must end well, and returns its output.
func succeed(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, status := dpnbench(t, args...)
	if status != exitDone || errs != "" {
		t.Fatalf("dpnbench %s: status %d, standard error %q", strings.Join(args, " "), status, errs)
	}
	return out
}

// fails runs a command line that must end with status 2 and one line that holds all of want.
func fails(t *testing.T, args []string, want ...string) {
	t.Helper()
	out, errs, status := dpnbench(t, args...)
	if status != exitUsage {
		t.Errorf("dpnbench %s: status %d, want %d", strings.Join(args, " "), status, exitUsage)
	}
	if !strings.HasPrefix(errs, "dpnbench: ") || strings.Count(errs, "\n") != 1 || !strings.HasSuffix(errs, "\n") {
		t.Errorf("dpnbench %s: standard error %q, want one line", strings.Join(args, " "), errs)
	}
	for _, w := range want {
		if !strings.Contains(errs, w) {
			t.Errorf("dpnbench %s: standard error %q, want it to hold %q", strings.Join(args, " "), errs, w)
		}
	}
	if strings.Contains(out, "accuracy") {
		t.Errorf("dpnbench %s: printed results: %q", strings.Join(args, " "), out)
	}
}

// idx writes n pictures of 4 x 4 and their labels as MNIST's four files.
func idx(t *testing.T, dir string, n int) {
	t.Helper()
	r := num.NewRand(1, 0)
	for _, split := range []string{"train", "t10k"} {
		images := []byte{0, 0, 8, 3}
		for _, d := range []int{n, 4, 4} {
			images = binary.BigEndian.AppendUint32(images, uint32(d))
		}
		labels := binary.BigEndian.AppendUint32([]byte{0, 0, 8, 1}, uint32(n))
		for i := range n {
			labels = append(labels, byte(i%10))
			for p := range 16 {
				images = append(images, byte(r.Intn(100)+15*((i+p)%10)))
			}
		}
		write(t, filepath.Join(dir, split+"-images-idx3-ubyte.gz"), zip(t, images))
		write(t, filepath.Join(dir, split+"-labels-idx1-ubyte"), labels)
	}
}

func zip(t *testing.T, b []byte) []byte {
	t.Helper()
	var z bytes.Buffer
	w := gzip.NewWriter(&z)
	w.Write(b)
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return z.Bytes()
}

func write(t *testing.T, path string, b []byte) {
	t.Helper()
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, path string, v any) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, v); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// small are the flags of a network that trains in a moment.
var small = []string{"--preset", "compact", "--dim", "8", "--components", "4", "--steps", "3", "--epochs", "2", "--batch", "16"}

func with(base []string, more ...string) []string {
	return append(append([]string(nil), base...), more...)
}

// TestPath walks the whole path on a folder of pictures: train and evaluate.
func TestPath(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 200)
	out := filepath.Join(dir, "run")
	js := filepath.Join(dir, "train.json")
	text := succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--json", js, "--seed", "3")...)
	if !strings.Contains(text, "epoch 2") || !strings.Contains(text, "test   loss") {
		t.Errorf("train printed %q", text)
	}
	var r trainResult
	load(t, js, &r)
	if r.Preset != "compact" || r.Seed != 3 || len(r.Epochs) != 2 || r.Steps != 2*12 || r.TestAccuracy <= 0 || r.Parameters == 0 ||
		r.MACsPerSample != 16*8+4*8*8*3+8*10 || r.PeakRSSBytes == 0 || len(r.WeightsSHA256) != 64 || r.Threads < 1 || r.Tier == "" {
		t.Errorf("train's JSON: %+v", r)
	}
	for _, f := range []string{dpn.ModelFile, dpn.LastFile, dpn.StateFile, dpn.MetricsFile, dpn.ConfigFile, "training.png", "training.svg"} {
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
	if score.Samples != 200 || score.Loss != float64(r.TestLoss) || score.Accuracy != r.TestAccuracy {
		t.Errorf("eval found %+v, train loss %v accuracy %v", score, r.TestLoss, r.TestAccuracy)
	}

	// The pictures kept for validation give what training found in its best epoch.
	var kept struct {
		Samples        int
		Loss, Accuracy float64
		Split          string
	}
	text = succeed(t, "eval", "--model", model, "--split", "validation", "--json", js)
	load(t, js, &kept)
	best := r.Epochs[0]
	for _, h := range r.Epochs {
		if *h.ValLoss < *best.ValLoss {
			best = h
		}
	}
	if kept.Samples != 20 || kept.Split != "validation" || kept.Loss != *best.ValLoss || kept.Accuracy != *best.ValAccuracy || !strings.HasPrefix(text, "validation   loss") {
		t.Errorf("eval --split validation found %+v and printed %q, training %v and %v", kept, text, *best.ValLoss, *best.ValAccuracy)
	}

	var spoiled struct {
		Loss        float64
		CorruptSeed uint64 `json:"corrupt_seed"`
		Corruptions []corruptionScore
	}
	text = succeed(t, "eval", "--model", model, "--corrupt", "gaussian:0, inverted:1", "--corrupt-seed", "5", "--json", js)
	load(t, js, &spoiled)
	if list := spoiled.Corruptions; spoiled.CorruptSeed != 5 || len(list) != 2 || list[0].Name != "gaussian" || list[0].Accuracy != score.Accuracy ||
		float64(list[0].Loss) != spoiled.Loss || list[1].Severity != 1 || float64(list[1].Loss) == spoiled.Loss || !strings.Contains(text, "inverted") {
		t.Errorf("eval --corrupt found %+v and printed %q", spoiled, text)
	}
	text = succeed(t, "eval", "--model", model, "--suite", "robustness", "--json", js)
	load(t, js, &spoiled)
	if len(spoiled.Corruptions) != len(dataset.RobustnessSuite()) || !strings.Contains(text, "dotted-line") || !strings.Contains(text, "(60)") {
		t.Errorf("eval --suite found %+v and printed %q", spoiled, text)
	}

	// What is there is not overwritten, unless that is asked for.
	fails(t, with(append([]string{"train"}, small...), "--data", data, "--out", out), "--out", "holds the model.safetensors")
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--overwrite", "--seed", "3", "--quiet")...)
	// The settings that were saved repeat the run.
	again := filepath.Join(dir, "again")
	succeed(t, "train", "--config", filepath.Join(out, dpn.ConfigFile), "--out", again, "--json", js, "--quiet")
	want := r.WeightsSHA256
	load(t, js, &r)
	if r.WeightsSHA256 != want {
		t.Errorf("the saved settings gave weights %s, first %s", r.WeightsSHA256, want)
	}
}

// TestTrainingOptions trains with every loss and early stopping, and with settings that
// fail: the terminal says both.
func TestTrainingOptions(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 200)
	js := filepath.Join(dir, "train.json")
	options := []string{"--nll", "0.2", "--score-matching", "0.3", "--score-sigma", "0.4", "--alpha-lr", "1e-4", "--extractor-lr", "2e-3",
		"--patience", "1", "--epochs", "50", "--lr", "0.05", "--schedule", "constant"}
	text := succeed(t, with(append([]string{"train"}, small...), append(options, "--data", data, "--out", filepath.Join(dir, "run"), "--json", js)...)...)
	var r trainResult
	load(t, js, &r)
	n := len(r.Epochs)
	if !r.StoppedEarly || n == 50 || n != r.BestEpoch+1 || !strings.Contains(text, "stopped early: 1 epoch without") || !strings.Contains(text, "alpha*lambda") {
		t.Errorf("%d epochs, the best %d, stopped early: %v; printed %q", n, r.BestEpoch, r.StoppedEarly, text)
	}
	if c := r.Config; c.NLL != 0.2 || c.Score != 0.3 || c.ScoreSigma != 0.4 || c.AlphaLR != 1e-4 || c.ExtractorLR != 2e-3 || c.Patience != 1 {
		t.Errorf("settings %+v", c)
	}
	for _, h := range r.Epochs {
		if d := h.Diagnostics; h.NLL == nil || h.ScoreMatching == nil || d.AlphaLambda <= 0 || d.Rising <= 0 || d.ActiveFirst < 1 || len(d.GradientNorms) != 4 {
			t.Errorf("epoch %+v", h)
		}
	}

	out, errs, status := dpnbench(t, with(append([]string{"train"}, small...), "--scale", "5", "--data", data, "--out", filepath.Join(dir, "failing"), "--json", js)...)
	load(t, js, &r)
	if status != exitDone || strings.Count(errs, "kind=overshoot") != 1 || !strings.Contains(errs, "smaller alpha or scale") || len(r.Epochs[0].Warnings) == 0 {
		t.Errorf("status %d, printed %q, on standard error %q; epoch 1: %+v", status, out, errs, r.Epochs[0])
	}
}

// TestNoTrainingPictures checks that commands which need test pictures only take a folder of those,
// and that the others say what is missing.
func TestNoTrainingPictures(t *testing.T) {
	long(t)
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	idx(t, data, 100)
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--quiet")...)
	model := filepath.Join(out, dpn.ModelFile)
	const images, labels = "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
	for _, name := range []string{images + ".gz", labels} {
		if err := os.Remove(filepath.Join(data, name)); err != nil {
			t.Fatal(err)
		}
	}
	succeed(t, "eval", "--model", model)
	succeed(t, "analyze", "--model", model, "--draws", "20", "--subsets", "2")
	fails(t, []string{"eval", "--model", model, "--split", "validation"}, "--data", labels)
	fails(t, []string{"uncertainty", "--model", model}, "--data", labels)
	fails(t, []string{"eval", "--model", model, "--data", out + "-none"}, "--data", "t10k-images-idx3-ubyte")
}

// TestBadInput gives every command what it cannot use: one line, status 2, and what was
// there before is still there.
func TestBadInput(t *testing.T) {
	dir := t.TempDir()
	good := filepath.Join(dir, "good")
	if err := os.Mkdir(good, 0o755); err != nil {
		t.Fatal(err)
	}
	idx(t, good, 60)
	out := filepath.Join(dir, "out")
	succeed(t, with(append([]string{"train"}, small...), "--data", good, "--out", out, "--quiet")...)
	model := filepath.Join(out, dpn.ModelFile)
	before, err := os.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}

	// broken copies the folder of pictures and spoils one of its files.
	broken := func(name string, spoil func(b []byte) []byte) string {
		folder := filepath.Join(t.TempDir(), "data")
		if err := os.Mkdir(folder, 0o755); err != nil {
			t.Fatal(err)
		}
		idx(t, folder, 60)
		path := filepath.Join(folder, name)
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		write(t, path, spoil(b))
		return folder
	}
	train := func(args ...string) []string {
		return with(append([]string{"train", "--out", out, "--overwrite"}, small...), args...)
	}
	const images, labels = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte"
	fails(t, train("--data", filepath.Join(dir, "none")), "--data", "none")
	fails(t, train("--data", broken(images, func(b []byte) []byte { return b[:len(b)/2] })), "--data", images)
	fails(t, train("--data", broken(labels, func(b []byte) []byte { b[0] = 7; return b })), "--data", labels, "offset 0")
	fails(t, train("--data", broken(labels, func(b []byte) []byte { b[7]--; return b[:len(b)-1] })), "--data", "60", "59")
	fails(t, train("--data", broken(labels, func(b []byte) []byte { b[20] = 10; return b })), "--data", labels, "10")
	fails(t, train("--data", good, "--train-size", "61"), "--train-size 61", good, "60 images")
	fails(t, train("--data", "digits", "--train-size", "100000000"), "--train-size 100000000: expected at most 10000000 images")
	fails(t, train("--data", good, "--train-size", "-1"), "--train-size -1")
	fails(t, train("--preset", "none"), "--preset", `"none"`, "published, paper, compact")
	fails(t, train("--components", "0"), "--components 0")
	fails(t, train("--steps", "-2"), "--steps -2")
	fails(t, train("--lr", "NaN"), "--lr NaN")
	fails(t, train("--clip", "Inf"), "--clip +Inf")
	fails(t, train("--seed", "9223372036854775808"), "--seed 9223372036854775808")
	fails(t, train("--data", good, "--val-size", "60"), "--val-size 60")
	fails(t, []string{"train", "--config", filepath.Join(dir, "none.toml")}, "--config", "none.toml", "no such file")
	fails(t, train("--threads", "0"), "--threads 0")
	fails(t, train("--threads", "many"), "--threads many", "whole number")
	fails(t, train("--steps", "x"), `--steps "x": expected a whole number`)
	fails(t, train("--steps", "1.5"), `--steps "1.5": expected a whole number`)
	fails(t, train("--steps", "99999999999999999999"), `--steps "99999999999999999999": out of range`)
	fails(t, train("--lr", "1,5"), `--lr "1,5": expected a number`)
	fails(t, train("--seed", "-1"), `--seed "-1": expected a whole number from 0 to 9223372036854775807`)
	fails(t, train("--resume=foo"), `--resume "foo": expected true or false`)
	fails(t, train("--resume"), "--resume and --overwrite")
	fails(t, train("--tier", ""), "--tier: expected a value")
	fails(t, train("--data", ""), "--data: expected a value")
	fails(t, []string{"bench", "--suite", ""}, "--suite: expected a value")
	fails(t, []string{"bench", "comprae", "a", "b"}, `no subcommand "comprae", expected compare or none`)
	fails(t, []string{"bench", "--pin=foo"}, `--pin "foo": expected true or false`)
	fails(t, train("--components", "30000", "--extractor", "identity", "--dim", "9"), "--dim 9", "identity")
	fails(t, train("--data", good, "--components", "70"), "--components 70", "54 pictures")
	fails(t, train("--em-ridge", "0.1"), "--em-ridge", "expected --init em")
	fails(t, train("--init", "em", "--em-ridge", "0"), "--em-ridge 0", "expected 0.000001 to 1")
	fails(t, train("--init", "lloyd"), `--init "lloyd"`, "samples, em, em-classwise")
	fails(t, train("--data", good, "--dim", "60000", "--components", "50"), "GB", "--dim 60000")
	fails(t, train("--preset", "paper", "--config", filepath.Join(out, dpn.ConfigFile)), "--preset paper", "--config")
	config := filepath.Join(dir, "c.toml")
	write(t, config, []byte("epochs = 0\n"))
	fails(t, []string{"train", "--config", config, "--epochs", "0"}, "--epochs 0")
	fails(t, []string{"train", "--config", config}, "--config "+config+": epochs 0")
	write(t, config, []byte("seed = 3\nepochs = \"3\"\n"))
	fails(t, []string{"train", "--config", config}, "--config "+config+`: epochs "3": expected a whole number`)
	fails(t, []string{"train", "--resume", "--out", filepath.Join(dir, "none")}, "--resume", "nothing to resume")
	fails(t, train("--tier", "sse"), "--tier", `"sse"`)
	fails(t, train("--json", filepath.Join(dir, "none", "x.json"), "--data", good), "--json", "x.json")
	empty := filepath.Join(dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	fails(t, with(append([]string{"train"}, small...), "--data", good, "--out", empty, "--json", filepath.Join(dir, "none", "x.json")), "--json")
	if _, err := os.Stat(empty); err != nil {
		t.Error("a folder of the user's is gone: ", err)
	}
	fails(t, train("--speed", "9"), "--speed")
	fails(t, train("more"), `"more"`)
	fails(t, []string{"train", "--resume"}, "--resume", "--out")

	blocked := filepath.Join(dir, "file")
	write(t, blocked, nil)
	for _, path := range []string{blocked, filepath.Join(blocked, "below"), "/proc/none"} {
		fails(t, with(append([]string{"train"}, small...), "--data", good, "--out", path), "--out", path)
		fails(t, []string{"analyze", "--model", model, "--data", good, "--out", path}, "--out", path)
	}
	fails(t, []string{"demo", "--out", filepath.Join(blocked, "below")}, "--out")

	f, err := safetensors.ReadFile(model)
	if err != nil {
		t.Fatal(err)
	}
	f.Tensor("denoising_potential.mu").Data[5] = float32(math.NaN())
	spoiled := filepath.Join(dir, "nan.safetensors")
	if err := safetensors.WriteFile(spoiled, f); err != nil {
		t.Fatal(err)
	}
	for _, c := range []string{"eval", "analyze"} {
		fails(t, []string{c, "--data", good}, "--model")
		fails(t, []string{c, "--data", good, "--model", filepath.Join(dir, "none")}, "--model", "no such file")
		fails(t, []string{c, "--data", good, "--model", blocked}, "--model", blocked)
		fails(t, []string{c, "--data", good, "--model", spoiled}, "--model", "nan.safetensors", "denoising_potential.mu", "number 5 is NaN")
		fails(t, []string{c, "--data", "digits", "--test-size", "20", "--model", model}, "--data digits", "28 x 28", "4 x 4")
		for _, steps := range []string{"-5", "-1"} {
			fails(t, []string{c, "--data", good, "--model", model, "--steps", steps}, "--steps "+steps, "expected 0 to")
		}
		fails(t, []string{c, "--data", "digits", "--model", model, "--test-size", "100000000"}, "--test-size 100000000: expected at most 10000000 images")
		fails(t, []string{c, "--data", good, "--model", model, "--test-size", "-1"}, "--test-size -1")
	}
	fails(t, []string{"train", "--data", good, "--denoising", "1"}, "--denoising 1", "noise-max")
	fails(t, train("--nll", "-1"), "--nll -1", "weight")
	fails(t, train("--nll", "1", "--gradient", "detached"), "--nll 1", "gradient exact")
	fails(t, train("--score-matching", "1", "--score-sigma", "0"), "--score-sigma 0", "standard deviation")
	fails(t, train("--alpha-lr", "-1"), "--alpha-lr -1")
	fails(t, train("--extractor-lr", "x"), `--extractor-lr "x": expected a number`)
	fails(t, train("--patience", "2", "--val-size", "0"), "--patience 2", "val-size")
	fails(t, []string{"train", "--data", good, "--noise-max", "0.3", "--noise-min", "0.4"}, "--noise-min 0.4", "0.3")
	fails(t, []string{"eval", "--data", good, "--model", model, "--corrupt", "fog:1"}, "--corrupt", `"fog"`, "gaussian")
	fails(t, []string{"eval", "--data", good, "--model", model, "--corrupt", "shear:9"}, "--corrupt", "shear:9", "-2 to 2")
	fails(t, []string{"eval", "--data", good, "--model", model, "--suite", "x"}, "--suite", `"x"`, "robustness")
	fails(t, []string{"eval", "--data", good, "--model", model, "--split", "train"}, "--split", `"train"`, "test or validation")
	fails(t, []string{"eval", "--data", good, "--model", model, "--suite", "robustness", "--corrupt", "shear:1"}, "--suite", "--corrupt")
	fails(t, []string{"eval", "--data", good, "--model", model, "--split", "validation", "--test-size", "50"}, "--test-size 50: only with --split test")
	fails(t, []string{"eval", "--data", good, "--model", model, "--corrupt-seed", "5"}, "--corrupt-seed 5: only with --corrupt or --suite")
	fails(t, []string{"analyze", "--data", good, "--model", model, "--first", "61"}, "--first 61")
	fails(t, []string{"analyze", "--data", good, "--model", model, "--first", "1"}, "--first 1", "at least 2")
	for _, c := range [][2]string{{"--first", "-1"}, {"--draws", "19"}, {"--draws", "-1"}, {"--draws", "1000001"}, {"--subsets", "-1"}, {"--subsets", "10001"}} {
		fails(t, []string{"analyze", "--data", good, "--model", model, c[0], c[1]}, c[0]+" "+c[1], "expected")
	}
	fails(t, []string{"check", "--kernel", "none"}, "--kernel", `"none"`)
	fails(t, []string{"check", "--case", "matmul:q=1"}, "--case", `"q"`, "m, k, n")
	fails(t, []string{"check", "--case", "matmul:m=1", "--kernel", "dot"}, "--kernel dot", "--case")
	for _, c := range []string{"eval", "analyze"} {
		fails(t, []string{c, "--model", model, "--data", good, "--json", model}, "--json", "is the input")
	}
	fails(t, []string{"demo", "--out", out}, "--out", "not a demo")
	fails(t, []string{"check", "--case", "matmul:m=x"}, "--case", "m=x")
	fails(t, []string{"nothing"}, `"nothing"`, "train")
	fails(t, []string{"data", "fetch", "cifar"}, "mnist")
	for _, mirror := range []string{"foo", "ftp://localhost/mnist", "https://"} {
		fails(t, []string{"data", "fetch", "mnist", "--out", filepath.Join(dir, "mnist"), "--mirror", mirror}, "--mirror "+mirror+": expected", "https://")
	}
	fails(t, []string{"reproduce"}, "dpnbench: reproduce: expected one of table1")

	after, err := os.ReadFile(model)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the model that was there has changed (%v)", err)
	}
}

// TestStateDictionary evaluates tensors without settings: what was assumed is said, and
// what a flag says is not assumed.
func TestStateDictionary(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 60)
	const k, d = 2, 16
	f := &safetensors.File{Tensors: []safetensors.Tensor{
		{Name: "denoising_potential.mu", Shape: []int{k, d}, Data: make([]float32, k*d)},
		{Name: "denoising_potential.A", Shape: []int{k, d, d}, Data: make([]float32, k*d*d)},
		{Name: "denoising_potential.c", Shape: []int{k}, Data: make([]float32, k)},
		{Name: "denoising_potential.alpha", Data: []float32{0.1}},
		{Name: "classifier.weight", Shape: []int{10, d}, Data: make([]float32, 10*d)},
		{Name: "classifier.bias", Shape: []int{10}, Data: make([]float32, 10)},
	}}
	path := filepath.Join(dir, "reference.safetensors")
	if err := safetensors.WriteFile(path, f); err != nil {
		t.Fatal(err)
	}
	out := succeed(t, "eval", "--model", path, "--data", data)
	if want := "no settings in " + path + ", assumed: layer-norm false, mean 0.1307, std 0.3081, steps 30\n"; !strings.Contains(out, want) {
		t.Errorf("eval printed %q, want %q", out, want)
	}
	var r map[string]any
	if err := json.Unmarshal([]byte(succeed(t, "eval", "--model", path, "--data", data, "--steps", "2", "--json", "-")), &r); err != nil {
		t.Fatal(err)
	}
	if want := map[string]any{"layer_norm": false, "mean": 0.1307, "std": 0.3081}; !reflect.DeepEqual(r["assumed"], want) {
		t.Errorf("eval's JSON has assumed %v, want %v", r["assumed"], want)
	}
}

// panicking is a context that panics when it is asked whether it has ended.
type panicking struct{ context.Context }

func (panicking) Err() error { panic("out of order") }

// TestInternalError checks that a panic is one line, and not taken for wrong usage.
func TestInternalError(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "err"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	status := run(panicking{context.Background()}, []string{"check", "--kernel", "dot", "--quiet"}, f, f)
	b, err := os.ReadFile(f.Name())
	if err != nil || status != exitInternal || string(b) != "dpnbench: internal error: out of order\n" {
		t.Errorf("status %d, printed %q (%v)", status, b, err)
	}
}

// TestForeignFiles gives as models what other programs write, and damaged ones.
func TestForeignFiles(t *testing.T) {
	dir := t.TempDir()
	for text, want := range map[string]string{
		"PK\x03\x04\x00\x00\x08\x08, as torch.save writes": "safetensors.torch.save_file",
		`{"loss": 0.25, "accuracy": 0.9}`:                  "not a safetensors file",
		"":                                                 "not a safetensors file",
	} {
		path := filepath.Join(dir, "model.pth")
		write(t, path, []byte(text))
		fails(t, []string{"eval", "--model", path}, "--model "+path, want)
	}
}

// TestEmptyFlags gives flags an empty text: most are refused, and two mean something.
func TestEmptyFlags(t *testing.T) {
	for _, name := range []string{"data", "suite", "out", "preset", "model", "hidden", "filter"} {
		found := false
		for _, c := range (&app{}).command().Commands() {
			if c.Flags().Lookup(name) == nil {
				continue
			}
			found = true
			if err := c.ParseFlags([]string{"--" + name, ""}); err != nil {
				t.Fatal(err)
			}
			err := emptyFlag(c.Flags())
			if meant := name == "hidden" || name == "filter"; meant != (err == nil) {
				t.Errorf("%s --%s '': error %v", c.Name(), name, err)
			}
		}
		if !found {
			t.Errorf("no command has --%s", name)
		}
	}
}

// TestUnavailableTier asks for a tier that no machine has together with this one.
func TestUnavailableTier(t *testing.T) {
	for _, i := range engine.Tiers() {
		if !i.Available {
			fails(t, []string{"info", "--tier", i.Tier.String()}, i.Tier.String(), i.Reason)
		}
	}
	t.Setenv("DPN_TIER", "none")
	fails(t, []string{"info"}, "DPN_TIER", `"none"`)
	t.Setenv("DPN_TIER", "generic")
	t.Setenv("DPN_THREADS", "-3")
	fails(t, []string{"info"}, "DPN_THREADS -3")
	t.Setenv("DPN_THREADS", "3")
	var r struct {
		Tier    string
		Threads int
	}
	if err := json.Unmarshal([]byte(succeed(t, "info", "--json", "-")), &r); err != nil || r.Tier != "generic" || r.Threads != 3 {
		t.Errorf("info: %+v, %v", r, err)
	}
}

// TestCheck runs one kernel, then one case.
func TestCheck(t *testing.T) {
	var r checkResult
	if err := json.Unmarshal([]byte(succeed(t, "check", "--kernel", "dot", "--json", "-")), &r); err != nil {
		t.Fatal(err)
	}
	if r.Cases == 0 || r.Failed != 0 || len(r.Kernels) != len(engine.Available()) || r.Machine.Arch == "" {
		t.Errorf("check: %+v", r)
	}
	out := succeed(t, "check", "--tier", "generic", "--case", "matmul:m=3,n=5")
	if !strings.Contains(out, "1 case passed") || strings.Contains(out, "no unreadable pages") == r.Guards {
		t.Errorf("check printed %q, guards %t", out, r.Guards)
	}
}

// TestVerdict checks what a failing case looks like: a row, the command that repeats it,
// which runs, and an error of status 1.
func TestVerdict(t *testing.T) {
	const failing = "dot:n=5,offset=-1,data=0,seed=1"
	f, err := os.Create(filepath.Join(t.TempDir(), "out"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	a := &app{stdout: f}
	err = a.verdict(&check.Report{Cases: 9, Failed: 1,
		Kernels:  []check.Row{{Kernel: "dot", Tier: "generic", Cases: 9, Failed: 1}},
		Failures: []check.Failure{{Case: failing, Tier: "generic", Threads: 2, Reason: "element 3 is off"}}})
	var failed *failedError
	if !errors.As(err, &failed) || !strings.Contains(err.Error(), "1 of 9") {
		t.Errorf("error %v, want a *failedError", err)
	}
	text, err := os.ReadFile(f.Name())
	if err != nil {
		t.Fatal(err)
	}
	_, repeat, ok := strings.Cut(string(text), "repeat with: dpnbench ")
	if !strings.Contains(string(text), "no unreadable pages") {
		t.Errorf("nothing about guards in %q", text)
	}
	if !ok || !strings.Contains(string(text), "element 3 is off") || !strings.Contains(string(text), "NO") {
		t.Fatalf("printed %q", text)
	}
	if out := succeed(t, strings.Fields(repeat)...); !strings.Contains(out, "1 case passed") { // for the kernel is sound
		t.Errorf("%s: %q", repeat, out)
	}
}

// TestHelp checks that every command has examples in its help.
func TestHelp(t *testing.T) {
	var examples func(c *cobra.Command)
	examples = func(c *cobra.Command) {
		for _, s := range c.Commands() {
			examples(s)
		}
		if !c.HasParent() { // it only leads to others
			return
		}
		out := succeed(t, append(strings.Fields(c.CommandPath())[1:], "--help")...)
		if !strings.Contains(out, "Examples:") || !strings.Contains(out, "  "+c.CommandPath()) {
			t.Errorf("help of %s: %q", c.CommandPath(), out)
		}
	}
	examples((&app{}).command())
	if out := succeed(t, "help", "data", "fetch"); !strings.Contains(out, "dpnbench data fetch mnist") {
		t.Errorf("help data fetch: %q", out)
	}
	fails(t, []string{"help", "foo"}, `no subcommand "foo", expected one of `, "train")
	fails(t, []string{"help", "bench", "foo"}, `bench: no subcommand "foo", expected compare`)
	fails(t, []string{"help", "train", "foo"}, `train takes no argument "foo"`)
	if out := succeed(t); !strings.Contains(out, "Available Commands:") {
		t.Errorf("dpnbench printed %q", out)
	}
}

// TestJSONTargets writes results through a link and into what is not a regular file.
func TestJSONTargets(t *testing.T) {
	dir := t.TempDir()
	target, link := filepath.Join(dir, "target"), filepath.Join(dir, "link")
	write(t, target, []byte("old"))
	if err := os.Symlink(target, link); err != nil {
		if runtime.GOOS == "windows" {
			t.Skip("Windows makes symbolic links for administrators only:", err)
		}
		t.Fatal(err)
	}
	succeed(t, "info", "--json", link)
	var r map[string]any
	load(t, target, &r)
	if st, err := os.Lstat(link); err != nil || st.Mode()&os.ModeSymlink == 0 {
		t.Error("the link became a file")
	}
	if before, err := os.Stat(os.DevNull); err == nil && !before.Mode().IsRegular() {
		succeed(t, "info", "--json", os.DevNull)
		if after, err := os.Stat(os.DevNull); err != nil || after.Mode() != before.Mode() {
			t.Fatalf("%s changed from %v to %v", os.DevNull, before.Mode(), after.Mode())
		}
	}
}

// TestDemo runs the demo as a newcomer does, in a folder that is not there yet.
func TestDemo(t *testing.T) {
	long(t)
	defer func(all dataset.Options) { demoData = all }(demoData)
	demoData.TrainSize, demoData.TestSize = 1500, 300
	out := filepath.Join(t.TempDir(), "demo")
	text := succeed(t, "demo", "--out", out)
	for _, f := range []string{dpn.ModelFile, "training.png", "analysis/analysis.json", "analysis/report.html"} {
		name := filepath.Join(out, f)
		if _, err := os.Stat(name); err != nil || !strings.Contains(text, name) {
			t.Errorf("%s: %v, and the demo printed %q", name, err, text)
		}
	}
	fails(t, []string{"train", "--preset", "compact", "--out", out}, "--out", "an earlier run")
}

// TestOverwrite checks what is left beside the model of a new run in an old folder.
func TestOverwrite(t *testing.T) {
	data, dir := t.TempDir(), t.TempDir()
	idx(t, data, 120)
	out := filepath.Join(dir, "run")
	train := with(append([]string{"train"}, small...), "--data", data, "--out", out, "--quiet")
	succeed(t, train...)
	marker := filepath.Join(out, demoFile)
	write(t, marker, []byte("{}"))
	// What is refused, or goes on with the run that is there, leaves a demo's folder one.
	fails(t, []string{"train", "--out", out, "--resume", "--epochs", "9"}, "epochs is 9, was 2")
	succeed(t, "train", "--out", out, "--resume", "--quiet")
	fails(t, with(train, "--overwrite", "--json", filepath.Join(dir, "none", "x.json")), "--json")
	if _, err := os.Stat(marker); err != nil {
		t.Error(err)
	}
	// A new run whose figures cannot be drawn keeps its results, and not those of the old one.
	os.Remove(filepath.Join(out, "training.png"))
	if err := os.Mkdir(filepath.Join(out, "training.png"), 0o755); err != nil {
		t.Fatal(err)
	}
	js := filepath.Join(dir, "r.json")
	_, errs, status := dpnbench(t, with(train, "--overwrite", "--seed", "9", "--json", js)...)
	if status != exitUsage || !strings.Contains(errs, "training.png") {
		t.Errorf("status %d, %q", status, errs)
	}
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

// TestRunFolder checks the folders of runs that name none.
func TestRunFolder(t *testing.T) {
	data := t.TempDir()
	idx(t, data, 120)
	t.Chdir(t.TempDir())
	train := with(append([]string{"train"}, small...), "--data", data, "--quiet")
	for range 2 {
		succeed(t, train...)
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

// TestResumeCommand resumes by the folder alone.
func TestResumeCommand(t *testing.T) {
	data, out := t.TempDir(), filepath.Join(t.TempDir(), "run")
	idx(t, data, 120)
	succeed(t, with(append([]string{"train"}, small...), "--data", data, "--out", out, "--seed", "5", "--quiet")...)
	result := filepath.Join(out, resultFile)
	before, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	// There is nothing left to do: what was found stays as it is, and is what --json gets.
	js := filepath.Join(t.TempDir(), "r.json")
	text := succeed(t, "train", "--out", out, "--resume", "--json", js)
	if !strings.Contains(text, "already finished, with 2 epochs") || !strings.Contains(text, "test   loss") {
		t.Errorf("printed %q", text)
	}
	for _, name := range []string{result, js} {
		if after, err := os.ReadFile(name); err != nil || !bytes.Equal(before, after) {
			t.Errorf("%s differs from the %s of the training (%v)", name, resultFile, err)
		}
	}
	// What is missing is written.
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
	other := t.TempDir()
	idx(t, other, 130)
	fails(t, []string{"train", "--out", out, "--resume", "--data", other}, "other pictures")
}

// long skips a test of some seconds, which under emulation are minutes, unless all the tests
// are asked for.
func long(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds, minutes under emulation: without -short")
	}
}
