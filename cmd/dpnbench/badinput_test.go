package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dpnbench/dpn"
	"dpnbench/dpn/safetensors"
	"dpnbench/internal/longtest"
)

// badInput is what TestBadInput works on.
type badInput struct {
	t       *testing.T
	dir     string
	good    string // a folder of 120 images of 4 x 4 pixels
	out     string // the folder of a training on them
	model   string // its model file
	blocked string // a file, which cannot be a folder
}

// TestBadInput gives every command unusable input: it must print one line and exit with status 2,
// and existing files must not change.
func TestBadInput(t *testing.T) {
	longtest.Native(t)
	dir := t.TempDir()
	b := &badInput{t, dir, filepath.Join(dir, "good"), filepath.Join(dir, "out"), "", filepath.Join(dir, "file")}
	if err := os.Mkdir(b.good, 0o755); err != nil {
		t.Fatal(err)
	}
	idx(t, b.good, 120)
	succeed(t, with(append([]string{"train"}, small...), "--data", b.good, "--out", b.out, "--quiet")...)
	b.model = filepath.Join(b.out, dpn.ModelFile)
	before, err := os.ReadFile(b.model)
	if err != nil {
		t.Fatal(err)
	}
	write(t, b.blocked, nil)

	t.Run("data", b.data)
	t.Run("settings", b.settings)
	t.Run("losses", b.losses)
	t.Run("config", b.config)
	t.Run("folders", b.folders)
	t.Run("models", b.models)
	t.Run("evaluation", b.evaluation)
	t.Run("commands", b.commands)

	after, err := os.ReadFile(b.model)
	if err != nil || !bytes.Equal(before, after) {
		t.Errorf("the existing model has changed (%v)", err)
	}
}

// train returns a command line that would replace the existing run.
func (b *badInput) train(args ...string) []string {
	return with(append([]string{"train", "--out", b.out, "--overwrite"}, small...), args...)
}

// use returns a command line on the images and the model.
func (b *badInput) use(command string, args ...string) []string {
	return with([]string{command, "--data", b.good, "--model", b.model}, args...)
}

// broken returns a copy of the folder of images with one damaged file.
func (b *badInput) broken(name string, damage func(b []byte) []byte) string {
	b.t.Helper()
	folder := filepath.Join(b.t.TempDir(), "data")
	if err := os.Mkdir(folder, 0o755); err != nil {
		b.t.Fatal(err)
	}
	idx(b.t, folder, 120)
	path := filepath.Join(folder, name)
	content, err := os.ReadFile(path)
	if err != nil {
		b.t.Fatal(err)
	}
	write(b.t, path, damage(content))
	return folder
}

// data covers the data set.
func (b *badInput) data(t *testing.T) {
	const images, labels = "train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte"
	fails(t, b.train("--data", filepath.Join(b.dir, "none")), "--data", "none")
	fails(t, b.train("--data", b.broken(images, func(b []byte) []byte { return b[:len(b)/2] })), "--data", images)
	fails(t, b.train("--data", b.broken(labels, func(b []byte) []byte { b[0] = 7; return b })), "--data", labels,
		"offset 0")
	fails(t, b.train("--data", b.broken(labels, func(b []byte) []byte { b[7]--; return b[:len(b)-1] })), "--data",
		"120", "119")
	plain, settings := filepath.Join(b.dir, "plain.csv"), filepath.Join(b.dir, "settings.toml")
	write(t, plain, []byte("1,2\n3,4\n5,6\n"))
	write(t, settings, []byte("preset = \"tabular\"\n"))
	unlabelled := []string{"train", "--out", b.out, "--overwrite", "--data", plain, "--label", "none"}
	fails(t, unlabelled, "--data "+plain, "vectors without labels")
	fails(t, with(unlabelled, "--config", settings), "--data "+plain, "vectors without labels")
	fails(t, b.train("--data", b.good, "--train-size", "121"), "--train-size 121", b.good, "120 images")
	fails(t, b.train("--data", "digits", "--train-size", "100000000"),
		"--train-size 100000000: expected at most 10000000 images")
	fails(t, b.train("--data", b.good, "--train-size", "-1"), "--train-size -1")
}

// settings covers flags of training.
func (b *badInput) settings(t *testing.T) {
	fails(t, b.train("--preset", "none"), "--preset", `"none"`, "published, paper, compact")
	fails(t, b.train("--components", "0"), "--components 0")
	fails(t, b.train("--steps", "-2"), "--steps -2")
	fails(t, b.train("--lr", "NaN"), "--lr NaN")
	fails(t, b.train("--clip", "Inf"), "--clip +Inf")
	fails(t, b.train("--seed", "9223372036854775808"), "--seed 9223372036854775808")
	fails(t, b.train("--data", b.good, "--val-size", "120"), "--val-size 120")
	fails(t, []string{"train", "--config", filepath.Join(b.dir, "none.toml")}, "--config", "none.toml", "no such file")
	fails(t, b.train("--threads", "0"), "--threads 0")
	fails(t, b.train("--threads", "many"), "--threads many", "whole number")
	fails(t, b.train("--steps", "x"), `--steps "x": expected a whole number`)
	fails(t, b.train("--steps", "1.5"), `--steps "1.5": expected a whole number`)
	fails(t, b.train("--steps", "99999999999999999999"), `--steps "99999999999999999999": out of range`)
	fails(t, b.train("--lr", "1,5"), `--lr "1,5": expected a number`)
	fails(t, b.train("--seed", "-1"), `--seed "-1": expected a whole number from 0 to 9223372036854775807`)
	fails(t, b.train("--resume=foo"), `--resume "foo": expected true or false`)
	fails(t, b.train("--resume"), "--resume and --overwrite")
	fails(t, b.train("--tier", ""), "--tier: expected a value")
	fails(t, b.train("--data", ""), "--data: expected a value")
	fails(t, b.train("--components", "30000", "--extractor", "identity", "--dim", "9"), "--dim 9", "identity")
	fails(t, b.train("--data", b.good, "--components", "110"), "--components 110", "108 samples")
	fails(t, b.train("--em-ridge", "0.1"), "--em-ridge", "expected --init em")
	fails(t, b.train("--init", "em", "--em-ridge", "0"), "--em-ridge 0", "expected 0.000001 to 1")
	fails(t, b.train("--init", "lloyd"), `--init "lloyd"`, "samples, em, em-classwise")
	fails(t, b.train("--data", b.good, "--dim", "60000", "--components", "50"), "GB", "--dim 60000")
	fails(t, b.train("--preset", "paper", "--config", filepath.Join(b.out, dpn.ConfigFile)), "--preset paper",
		"--config")
	fails(t, b.train("--tier", "sse"), "--tier", `"sse"`)
	fails(t, b.train("--speed", "9"), "--speed")
	fails(t, b.train("more"), `"more"`)
	fails(t, []string{"train", "--resume"}, "--resume", "--out")
}

// losses covers losses, rates and noise.
func (b *badInput) losses(t *testing.T) {
	fails(t, []string{"train", "--data", b.good, "--denoising", "1"}, "--denoising 1", "noise-max")
	fails(t, b.train("--nll", "-1"), "--nll -1", "weight")
	fails(t, b.train("--nll", "1", "--gradient", "detached"), "--nll 1", "gradient exact")
	fails(t, b.train("--score-matching", "1", "--score-sigma", "0"), "--score-sigma 0", "standard deviation")
	fails(t, b.train("--alpha-lr", "-1"), "--alpha-lr -1")
	fails(t, b.train("--extractor-lr", "x"), `--extractor-lr "x": expected a number`)
	fails(t, b.train("--patience", "2", "--val-size", "0"), "--patience 2", "val-size")
	fails(t, []string{"train", "--data", b.good, "--noise-max", "0.3", "--noise-min", "0.4"}, "--noise-min 0.4", "0.3")
}

// config covers files with settings.
func (b *badInput) config(t *testing.T) {
	config := filepath.Join(b.dir, "c.toml")
	write(t, config, []byte("epochs = 0\n"))
	fails(t, []string{"train", "--config", config, "--epochs", "0"}, "--epochs 0")
	fails(t, []string{"train", "--config", config}, "--config "+config+": epochs 0")
	write(t, config, []byte("seed = 3\nepochs = \"3\"\n"))
	fails(t, []string{"train", "--config", config}, "--config "+config+`: epochs "3": expected a whole number`)
	fails(t, []string{"train", "--resume", "--out", filepath.Join(b.dir, "none")}, "--resume", "nothing to resume")
	damaged := t.TempDir()
	write(t, filepath.Join(damaged, dpn.StateFile), []byte("half a state"))
	fails(t, []string{"train", "--resume", "--out", damaged}, "--resume: cannot resume the run in --out "+damaged,
		dpn.StateFile, "--overwrite to start again")
}

// folders covers folders for results.
func (b *badInput) folders(t *testing.T) {
	fails(t, b.train("--json", filepath.Join(b.dir, "none", "x.json"), "--data", b.good), "--json", "x.json")
	empty := filepath.Join(b.dir, "empty")
	if err := os.Mkdir(empty, 0o755); err != nil {
		t.Fatal(err)
	}
	fails(t, with(append([]string{"train"}, small...), "--data", b.good, "--out", empty, "--json",
		filepath.Join(b.dir, "none", "x.json")), "--json")
	if _, err := os.Stat(empty); err != nil {
		t.Error("a folder of the user's is gone: ", err)
	}
	for _, path := range []string{b.blocked, filepath.Join(b.blocked, "below"), "/proc/none"} {
		fails(t, with(append([]string{"train"}, small...), "--data", b.good, "--out", path), "--out", path)
		fails(t, []string{"analyze", "--model", b.model, "--data", b.good, "--out", path}, "--out", path)
	}
	fails(t, with(append([]string{"train"}, small...), "--data", b.good, "--out", b.blocked),
		"is a file; expected a folder")
	fails(t, []string{"demo", "--out", filepath.Join(b.blocked, "below")}, "--out")
}

// models covers model files and their data.
func (b *badInput) models(t *testing.T) {
	f, err := safetensors.ReadFile(b.model)
	if err != nil {
		t.Fatal(err)
	}
	f.Tensor("denoising_potential.mu").Data[5] = float32(math.NaN())
	damaged := filepath.Join(b.dir, "nan.safetensors")
	if err := safetensors.WriteFile(damaged, f); err != nil {
		t.Fatal(err)
	}
	unchecked := filepath.Join(b.dir, "unchecked.safetensors")
	whole, err := os.ReadFile(b.model)
	if err != nil {
		t.Fatal(err)
	}
	write(t, unchecked, bytes.Replace(whole, []byte(safetensors.ChecksumKey), []byte("dpnbench.sha257"), 1))
	for path, want := range map[string]bool{b.model: false, unchecked: true} {
		_, errs, status := dpnbench(t, "eval", "--data", b.good, "--model", path)
		got := strings.Contains(errs, "no checksum") && strings.Contains(errs, "(model "+path+")")
		if got != want || status != 0 {
			t.Errorf("%s: status %d, warning %t, want %t: %s", path, status, got, want, errs)
		}
	}
	for _, c := range []string{"eval", "analyze"} {
		fails(t, []string{c, "--data", b.good}, "--model")
		fails(t, []string{c, "--data", b.good, "--model", filepath.Join(b.dir, "none")}, "--model", "no such file")
		fails(t, []string{c, "--data", b.good, "--model", b.blocked}, "--model", b.blocked)
		fails(t, []string{c, "--data", b.good, "--model", b.dir}, "--model "+b.dir, "a folder; expected a")
		fails(t, []string{c, "--data", b.good, "--model", damaged}, "--model", "nan.safetensors",
			"denoising_potential.mu", "number 5 is NaN")
		fails(t, []string{c, "--data", "digits", "--test-size", "20", "--model", b.model}, "--data digits", "28 x 28",
			"4 x 4")
		for _, steps := range []string{"-5", "-1"} {
			fails(t, b.use(c, "--steps", steps), "--steps "+steps, "expected 0 to")
		}
		fails(t, []string{c, "--data", "digits", "--model", b.model, "--test-size", "100000000"},
			"--test-size 100000000: expected at most 10000000 images")
		fails(t, b.use(c, "--test-size", "-1"), "--test-size -1")
	}
}

// evaluation covers flags of eval and analyze.
func (b *badInput) evaluation(t *testing.T) {
	fails(t, b.use("eval", "--corrupt", "fog:1"), "--corrupt", `"fog"`, "gaussian")
	fails(t, b.use("eval", "--corrupt", "shear:9"), "--corrupt", "shear:9", "-2 to 2")
	fails(t, b.use("eval", "--suite", "x"), "--suite", `"x"`, "robustness")
	fails(t, b.use("eval", "--suite", "mnist-c", "--corrupt", "shear:1"), "--suite mnist-c", "--corrupt")
	fails(t, b.use("eval", "--suite", "mnist-c", "--baseline", b.dir), "--baseline")
	fails(t, b.use("eval", "--baseline", b.model), "--baseline "+b.model, "only with --suite mnist-c")
	fails(t, b.use("eval", "--split", "train"), "--split", `"train"`, "test or validation")
	fails(t, b.use("eval", "--suite", "robustness", "--corrupt", "shear:1"), "--suite", "--corrupt")
	fails(t, b.use("eval", "--split", "validation", "--test-size", "50"), "--test-size 50: only with --split test")
	fails(t, b.use("eval", "--corrupt-seed", "5"), "--corrupt-seed 5: only with --corrupt or --suite")
	fails(t, b.use("analyze", "--first", "121"), "--first 121")
	fails(t, b.use("analyze", "--first", "1"), "--first 1", "at least 2")
	for _, c := range [][2]string{{"--first", "-1"}, {"--draws", "19"}, {"--draws", "-1"}, {"--draws", "1000001"},
		{"--subsets", "-1"}, {"--subsets", "10001"}} {
		fails(t, b.use("analyze", c[0], c[1]), c[0]+" "+c[1], "expected")
	}
}

// commands covers the other commands.
func (b *badInput) commands(t *testing.T) {
	fails(t, []string{"bench", "--suite", ""}, "--suite: expected a value")
	fails(t, []string{"bench", "comprae", "a", "b"}, `no subcommand "comprae"; did you mean "compare"?`)
	fails(t, []string{"bench", "--pin=foo"}, `--pin "foo": expected true or false`)
	fails(t, []string{"check", "--kernel", "none"}, "--kernel", `"none"`)
	fails(t, []string{"check", "--case", "matmul:q=1"}, "--case", `"q"`, "m, k, n")
	fails(t, []string{"check", "--case", "matmul:m=1", "--kernel", "dot"}, "--kernel dot", "--case")
	for _, c := range []string{"eval", "analyze"} {
		fails(t, []string{c, "--model", b.model, "--data", b.good, "--json", b.model}, "--json", "is the input")
	}
	fails(t, []string{"demo", "--out", b.out}, "--out", "not a demo")
	fails(t, []string{"check", "--case", "matmul:m=x"}, "--case", "m=x")
	fails(t, []string{"nothing"}, `"nothing"`, "train")
	fails(t, []string{"data", "fetch", "cifar"}, "mnist")
	for _, mirror := range []string{"foo", "ftp://localhost/mnist", "https://"} {
		fails(t, []string{"data", "fetch", "mnist", "--out", filepath.Join(b.dir, "mnist"), "--mirror", mirror},
			"--mirror "+mirror+": expected", "https://")
	}
	for _, mirror := range []string{"ftp://name:secret@host", "name:secret@host", "http://name:secret/x@host:y"} {
		_, errs, status := dpnbench(t, "data", "fetch", "mnist", "--out", filepath.Join(b.dir, "mnist"), "--mirror",
			mirror)
		if status != 2 || strings.Contains(errs, "secret") || !strings.Contains(errs, "xxxxx@host") {
			t.Errorf("--mirror %s: status %d, message %q", mirror, status, errs)
		}
	}
	fails(t, []string{"reproduce"}, "dpnbench: reproduce: expected one of table1")
}
