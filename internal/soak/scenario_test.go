//go:build linux

package soak

import (
	"encoding/binary"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpnbench/engine/num"
)

// scenario is a command that is disturbed.
type scenario struct {
	name string
	args string // of the program, in a folder that is empty, or as before has left it
	// before are command lines that make the folder in which the command runs.
	before []string
	// replaces says that the command replaces the run in its folder: until it has, the old run is whole.
	replaces bool
	early    bool   // disturbed in the first half of a run only
	short    string // a command that continues the same run, with fewer words
	fetch    bool   // runs fetch.Files, twice at the same time, instead of the program

	template  string            // the folder before the command
	old, want map[string]string // its content, and that after the command
	lasts     time.Duration
	changes   int
}

const (
	small  = "--train-size 200 --test-size 50 --batch 20 --out run"
	brief  = "--train-size 400 --test-size 100 --seeds 1 --epochs 1 --out run"
	few    = "--data images --train-size 220 --test-size 220 --out run"
	once   = " --seeds 1 --epochs 1 "
	resume = "train --out run --resume"
	pixels = "train --preset robust-small --train-size 300 --test-size 50 --epochs 1 --out run --quiet"
	model  = "train --preset clean --train-size 150 --test-size 50 --epochs 2 --out run --quiet"
)

// scenarios are the commands that write files. Training takes about a second, of 3 to 6 epochs.
var scenarios = []*scenario{
	{name: "train-clean", short: resume, args: "train --preset clean --epochs 4 " + small},
	{name: "train-robust-small", short: resume, args: "train --preset robust-small --epochs 4 " + small},
	{name: "train-compact", short: resume + " --json result.json",
		args: "train --preset compact --epochs 6 --json result.json " + small},
	{name: "train-mlp", short: resume,
		args: "train --extractor mlp --hidden 48-32 --dim 16 --components 20 --epochs 6 " + small},
	{name: "train-detached", short: resume, args: "train --gradient detached --epochs 5 --patience 3 " + small},
	{name: "train-em", short: resume,
		args: "train --init em --components 10 --extractor linear --dim 12 --epochs 5 " + small},
	{name: "checkpoint-clean", short: resume + " --checkpoint-every 1",
		args: "train --preset clean --epochs 2 --checkpoint-every 1 " + small},
	{name: "checkpoint-robust-small", short: resume + " --checkpoint-every 3",
		args: "train --preset robust-small --epochs 2 --checkpoint-every 3 " + small},
	{name: "checkpoint-mlp", short: resume + " --checkpoint-every 4",
		args: "train --extractor mlp --hidden 32 --dim 12 " +
			"--nll 0.1 --score-matching 0.1 --epochs 5 --checkpoint-every 4 " + small},
	{name: "first-epoch", short: resume, early: true, args: "train --preset clean --epochs 2 --threads 2 " + small},
	{name: "overwrite", short: resume, replaces: true, before: []string{model},
		args: "train --preset clean --seed 2 --epochs 3 --overwrite " + small},
	{name: "overwrite-other", short: resume, replaces: true, before: []string{model},
		args: "train --preset compact --epochs 4 --checkpoint-every 5 --overwrite " + small},
	{name: "denoise", before: []string{pixels, "denoise --model run/model.safetensors --corrupt blur:1 --count 20"},
		args: "denoise --model run/model.safetensors --corrupt gaussian:0.3,shot:0.5 --count 50"},
	{name: "export", before: []string{model}, args: "export --model run/model.safetensors --format pytorch"},
	{name: "analyze", before: []string{model, "analyze --model run/model.safetensors --draws 20 --subsets 2 --seed 2"},
		args: "analyze --model run/model.safetensors --draws 20 --subsets 2"},
	{name: "eval", before: []string{model, "eval --model run/model.safetensors --json result.json --test-size 50"},
		args: "eval --model run/model.safetensors --json result.json --corrupt gaussian:0.3 --test-size 300"},
	{name: "sample", before: []string{model},
		args: "sample --model run/model.safetensors --out samples --json result.json"},
	{name: "uncertainty", before: []string{model},
		args: "uncertainty --model run/model.safetensors --out uncertainty --test-size 40"},
	{name: "reproduce-robust", args: "reproduce robust" + once + few},
	{name: "reproduce-table1", args: "reproduce table1" + once + few},
	{name: "reproduce-law", args: "reproduce law --data images --out run" + once},
	{name: "reproduce-field", args: "reproduce field " + few},
	{name: "reproduce-overwrite", replaces: true, before: []string{"reproduce poster" + once + few},
		short: "reproduce law --data images --out run --resume" + once,
		args:  "reproduce law --data images --out run --overwrite" + once},
	{name: "reproduce-poster", args: "reproduce poster " + brief},
	{name: "reproduce-trained", args: "reproduce trained --presets compact,clean " + brief},
	{name: "fetch", fetch: true},
}

// prepare makes the folder in which the scenario begins, and runs it to the end, twice, on different
// numbers of threads: what differs then is not a result.
func (s *scenario) prepare(t *testing.T) {
	t.Helper()
	s.template = t.TempDir()
	if line := strings.Join(append(s.before, s.args), " "); strings.Contains(line, "--data images") {
		writeImages(t, filepath.Join(s.template, "images"))
	}
	for _, line := range s.before {
		s.complete(t, s.template, strings.Fields(line))
	}
	var err error
	if s.old, err = contents(s.template); err != nil {
		t.Fatal(err)
	}
	for _, threads := range []string{"1", "2"} {
		dir := t.TempDir()
		s.copyTo(t, dir)
		args := strings.Fields(s.args)
		if !s.fetch {
			args = append(args, "--threads", threads)
		}
		o := s.complete(t, dir, args)
		files, err := contents(dir)
		if err != nil {
			t.Fatal(err)
		}
		if d := difference(files, s.want); s.want != nil && d != "" {
			t.Fatalf("two undisturbed runs differ: %s", d)
		}
		if left := temporaries(files); len(left) > 0 {
			t.Fatalf("an undisturbed run leaves %q", left)
		}
		s.want, s.lasts, s.changes = files, max(s.lasts, o.lasted), o.seen
	}
}

// writeImages writes a training and a test set of 1,000 images of 4 x 4 pixels each, with which the experiments
// take seconds.
func writeImages(t *testing.T, dir string) {
	t.Helper()
	const n, side = 1000, 4
	r := num.NewRand(1, 0)
	for _, split := range []string{"train", "t10k"} {
		images, labels := []byte{0, 0, 8, 3}, []byte{0, 0, 8, 1}
		for _, d := range []uint32{n, side, side} {
			images = binary.BigEndian.AppendUint32(images, d)
		}
		labels = binary.BigEndian.AppendUint32(labels, n)
		for i := range n {
			labels = append(labels, byte(i%10))
			for p := range side * side {
				images = append(images, byte(r.Intn(100)+15*((i+p)%10)))
			}
		}
		for name, b := range map[string][]byte{"-images-idx3-ubyte": images, "-labels-idx1-ubyte": labels} {
			err := os.MkdirAll(dir, 0o755)
			if err = errors.Join(err, os.WriteFile(filepath.Join(dir, split+name), b, 0o644)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// copyTo copies the folder in which the scenario begins.
func (s *scenario) copyTo(t *testing.T, dir string) {
	t.Helper()
	if err := os.CopyFS(dir, os.DirFS(s.template)); err != nil {
		t.Fatal(err)
	}
}

func (s *scenario) program(dir string, args []string) *program {
	if s.fetch {
		return fetching(dir)
	}
	return &program{path: built(), dir: dir, args: args}
}

// complete runs a command line that must succeed.
func (s *scenario) complete(t *testing.T, dir string, args []string) *outcome {
	t.Helper()
	o := s.program(dir, args).start(t, plan{})
	if o.status != 0 {
		t.Fatalf("%v", o)
	}
	return o
}

// kept copies a folder to one that is not removed, and returns its name.
func kept(t *testing.T, dir string) string {
	t.Helper()
	to, err := os.MkdirTemp("", "soak-failed-")
	if err == nil {
		err = os.CopyFS(filepath.Join(to, "folder"), os.DirFS(dir))
	}
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(to, "folder")
}
