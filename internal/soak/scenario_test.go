//go:build linux

package soak

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
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
	resume = "train --out run --resume"
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
	{name: "analyze", before: []string{model, "analyze --model run/model.safetensors --draws 20 --subsets 2 --seed 2"},
		args: "analyze --model run/model.safetensors --draws 20 --subsets 2"},
	{name: "eval", before: []string{model, "eval --model run/model.safetensors --json result.json --test-size 50"},
		args: "eval --model run/model.safetensors --json result.json --corrupt gaussian:0.3 --test-size 300"},
	{name: "sample", before: []string{model},
		args: "sample --model run/model.safetensors --out samples --json result.json"},
	{name: "uncertainty", before: []string{model},
		args: "uncertainty --model run/model.safetensors --out uncertainty --test-size 40"},
	{name: "reproduce-robust",
		args: "reproduce robust --train-size 1500 --test-size 60 --seeds 1 --epochs 1 --out run"},
	{name: "reproduce-poster", args: "reproduce poster " + brief},
	{name: "reproduce-trained", args: "reproduce trained --presets compact,clean " + brief},
	{name: "fetch", fetch: true},
}

// prepare makes the folder in which the scenario begins, and runs it to the end, twice, on different
// numbers of threads: what differs then is not a result.
func (s *scenario) prepare(t *testing.T) {
	t.Helper()
	s.template = t.TempDir()
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
