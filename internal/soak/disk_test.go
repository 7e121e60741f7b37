//go:build linux

package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// diskSize is that of the file systems in MB: several times that of the files of a scenario.
const diskSize = 64

// disk is a small file system.
type disk struct {
	dir  string
	fill string // a file that takes up the room
}

// newDisk mounts a file system of a kind, or skips the test.
func newDisk(t *testing.T, kind string) *disk {
	t.Helper()
	dir := t.TempDir()
	mount := []string{"-t", "tmpfs", "-o", fmt.Sprintf("size=%dm", diskSize), "soak", dir}
	if kind == "ext4" {
		image := filepath.Join(t.TempDir(), "image")
		if err := os.WriteFile(image, nil, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Truncate(image, diskSize<<20); err != nil {
			t.Fatal(err)
		}
		if out, err := exec.Command("mkfs.ext4", "-q", "-m", "0", image).CombinedOutput(); err != nil {
			t.Skipf("mkfs.ext4: %v: %s", err, out)
		}
		mount = []string{"-o", "loop", image, dir}
	}
	if out, err := exec.Command("mount", mount...).CombinedOutput(); err != nil {
		t.Skipf("mounting needs root: mount: %v: %s", err, out)
	}
	t.Cleanup(func() { syscall.Unmount(dir, syscall.MNT_DETACH) })
	return &disk{dir: dir, fill: filepath.Join(dir, "fill")}
}

// full leaves at most room bytes, and calling it again that or less.
func (d *disk) full(room int64) error {
	f, err := os.OpenFile(d.fill, os.O_WRONLY|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer f.Close()
	zeros := make([]byte, 4096)
	for {
		var st syscall.Statfs_t
		if err := syscall.Fstatfs(int(f.Fd()), &st); err != nil {
			return err
		}
		free := int64(st.Bavail)*int64(st.Bsize) - room
		if free <= 0 {
			return nil
		}
		if free > 64<<10 {
			zeros = make([]byte, free/2)
		} else {
			zeros = zeros[:min(int64(len(zeros)), 4096)]
		}
		if _, err := f.Write(zeros); errors.Is(err, syscall.ENOSPC) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// freeze makes the disk read-only as soon as no file is open for writing, or writable again.
func (d *disk) freeze(readOnly bool) error {
	how := uintptr(syscall.MS_REMOUNT)
	if readOnly {
		how |= syscall.MS_RDONLY
	}
	for range 100_000 {
		err := syscall.Mount("", d.dir, "", how, "")
		if !errors.Is(err, syscall.EBUSY) {
			return err
		}
		time.Sleep(50 * time.Microsecond)
	}
	return syscall.EBUSY
}

// fault is what happens to a disk during a run.
type fault struct {
	name    string
	text    string // in the message
	happens func(d *disk, room int64) error
	ends    func(d *disk) error
}

var faults = []fault{
	{"full", "no space left on device", (*disk).full, func(d *disk) error { return os.Remove(d.fill) }},
	{"read-only", "read-only file system", func(d *disk, _ int64) error { return d.freeze(true) },
		func(d *disk) error { return d.freeze(false) }},
}

// onDisks are the scenarios that run on disks with faults.
var onDisks = []string{"train-clean", "overwrite", "analyze", "eval", "reproduce-robust"}

// TestDisk fills the disk, or makes it read-only, before or while commands write to it. They end with one
// line, and leave every file whole, and that of an earlier run. Once there is room again, they
// continue as the messages say, to the files of an undisturbed run. All this takes about a quarter of the
// time of TestSoak.
func TestDisk(t *testing.T) {
	if *soak == 0 {
		t.Skip("takes minutes: with -soak 5m, or make soak")
	}
	if _, err := build(); err != nil {
		t.Fatal(err)
	}
	seed := firstSeed()
	kinds := []string{"tmpfs", "ext4"}
	share := *soak * time.Duration(parallel()) / time.Duration(4*len(onDisks)*len(kinds)*len(faults))
	for _, name := range onDisks {
		s := scenarios[slices.IndexFunc(scenarios, func(s *scenario) bool { return s.name == name })]
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s.prepare(t)
			for _, kind := range kinds {
				for _, f := range faults {
					t.Run(kind+"/"+f.name, func(t *testing.T) {
						refused, n := 0, uint64(0)
						for begun := time.Now(); n == 0 || time.Since(begun) < share; n++ {
							refused += s.diskRound(t, newDisk(t, kind), f, seed+n)
						}
						t.Logf("%d rounds, writes refused in %d runs, from seed %d on", n, refused, seed)
					})
				}
			}
		})
	}
}

// diskRound returns in how many runs a write was refused.
func (s *scenario) diskRound(t *testing.T, d *disk, f fault, seed uint64) (refused int) {
	t.Helper()
	r := &round{t: t, s: s, rand: rand.New(rand.NewPCG(seed, 1)), dir: filepath.Join(d.dir, "work")}
	s.copyTo(t, r.dir)
	failed := func(err error) {
		if err != nil {
			t.Fatalf("%v\n\tseed %d, folder %s\n%s", err, seed, kept(t, r.dir), r.commands())
		}
	}
	base := strings.Fields(s.args)
	room := int64(r.rand.IntN(2 << 20))
	begins := make(chan error, 1)
	delay := time.Duration(r.rand.Float64() * float64(s.lasts))
	if r.rand.IntN(4) == 0 {
		delay = 0
	}
	go func() {
		time.Sleep(delay)
		begins <- f.happens(d, room)
	}()
	args := base
	for {
		o := s.program(r.dir, args).start(t, plan{})
		r.note(o)
		files, err := contents(r.dir)
		failed(err)
		if strings.Contains(o.stderr, f.text) {
			refused++
			failed(r.checkRefused(o, files))
			failed(r.checkEpochs(o))
			failed(<-begins)
			failed(f.ends(d))
			args = base
			continue
		}
		if o.status == 0 && f.name == "read-only" && len(temporaries(files)) > 0 { // the next run removes them
			failed(<-begins)
			failed(f.ends(d))
			continue
		}
		failed(r.check(o, files))
		if o.status != 0 {
			args, err = r.next(base, o)
			failed(err)
			continue
		}
		if diff := difference(files, s.want); diff != "" {
			failed(errors.New(diff))
		}
		return refused
	}
}

// checkRefused checks a run whose writes were refused: one line, and nothing left behind.
func (r *round) checkRefused(o *outcome, files map[string]string) error {
	lines := messages(o)
	switch left := temporaries(files); {
	case len(lines) != 1 || o.status != 2:
		return fmt.Errorf("status %d and %d lines, expected one and status 2", o.status, len(lines))
	case len(left) > 0 && !strings.Contains(o.stderr, "read-only"): // where nothing can be removed
		return fmt.Errorf("left behind: %q", left)
	case r.s.name == "analyze" && difference(files, r.s.old) != "":
		return fmt.Errorf("the earlier analysis is not whole: %s", difference(files, r.s.old))
	}
	return nil
}
