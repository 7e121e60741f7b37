package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dpnbench/internal/mpi"
)

// trained returns the hash of the weights in the results of a training.
func trained(t *testing.T, folder string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(folder, resultFile))
	if err != nil {
		t.Fatal(err)
	}
	var r trainResult
	if err := json.Unmarshal(b, &r); err != nil {
		t.Fatal(err)
	}
	return r.WeightsSHA256
}

// ranksArgs are those of a training of a moment.
func ranksArgs(t *testing.T, updates string) []string {
	data := t.TempDir()
	idx(t, data, 120)
	return []string{"train", "--preset", "compact", "--data", data, "--batch", "20", "--components", "12",
		"--epochs", "9", "--max-updates", updates, "--quiet"}
}

// TestRanks trains by ranks of this process: the weights are those of one.
func TestRanks(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: package dpn tests ranks under emulation and the race detector")
	}
	args := ranksArgs(t, "7")
	folder := func(name string) string { return filepath.Join(t.TempDir(), name) }
	one := folder("one")
	succeed(t, append(args, "--shards", "8", "--out", one)...)
	want := trained(t, one)
	for _, ranks := range []string{"2", "3", "8"} {
		out := folder(ranks)
		text := succeed(t, append(args[:len(args)-1:len(args)-1], "--ranks", ranks, "--out", out)...)
		if line := ranks + " ranks share the 8 pieces of each minibatch (--shards)\n"; !strings.Contains(text, line) {
			t.Errorf("no %q in %q", line, text)
		}
		if got := trained(t, out); got != want {
			t.Errorf("%s ranks: weights %s, want %s", ranks, got, want)
		}
	}
	fails(t, append(args, "--ranks", "0"), "--ranks 0", "at least 1")
	fails(t, append(args, "--ranks", "9"), "9 ranks", "--shards, which is 8")
	fails(t, append(args, "--ranks", "3", "--shards", "2"), "3 ranks", "--shards, which is 2")
	fails(t, append(args[:1:1], "--resume", "--out", one, "--ranks", "9"), "9 ranks", "began with --shards 8")
}

// TestCountRanks counts the ranks of mpirun and of --ranks, of which all need memory here.
func TestCountRanks(t *testing.T) {
	for _, c := range []struct{ launched, ranks, want int }{{0, 0, 1}, {0, 4, 4}, {1, 1, 1}, {1, 4, 4}, {3, 1, 3}} {
		r := training{app: &app{}, ranks: c.ranks}
		if c.launched > 0 {
			r.world = &mpi.World{Comm: mpi.Local(c.launched)[0]}
		}
		if r.count() != c.want || r.here() != c.want {
			t.Errorf("%+v: %d ranks, %d here", c, r.count(), r.here())
		}
	}
}

// TestLaunchedWithoutMPI starts a program without MPI as mpirun does: the first process says why it does not train,
// and all print what does not need the others.
func TestLaunchedWithoutMPI(t *testing.T) {
	if mpi.Library() != "" {
		t.Skip("this program has MPI")
	}
	t.Setenv("OMPI_COMM_WORLD_SIZE", "2")
	for _, c := range []struct {
		rank, command string
		status        int
		want          string
	}{
		{"0", "train", exitUsage, "go build -tags mpi"},
		{"1", "train", exitUsage, ""},
		{"1", "version", exitDone, "dpnbench"},
		{"1", "eval", exitUsage, "--model"},
	} {
		t.Setenv("OMPI_COMM_WORLD_RANK", c.rank)
		f, err := os.Create(filepath.Join(t.TempDir(), "output"))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		a := joinRanks(f, f)
		begun := time.Now()
		if status := a.leaveRanks(a.run(t.Context(), []string{c.command})); status != c.status {
			t.Errorf("rank %s, %s: status %d, want %d", c.rank, c.command, status, c.status)
		}
		if d := time.Since(begun); c.command == "train" && c.rank == "1" && d < toSpeak {
			t.Errorf("ended after %v, before the first process has said why", d)
		}
		b, err := os.ReadFile(f.Name())
		if text := string(b); err != nil || !strings.Contains(text, c.want) || (c.want == "") != (text == "") ||
			c.status == exitUsage && strings.Count(text, "\n") > 1 {
			t.Errorf("rank %s, %s: printed %q (%v), want %q", c.rank, c.command, b, err, c.want)
		}
	}
}
