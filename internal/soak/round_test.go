//go:build linux

package soak

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tally counts what was done in a scenario.
type tally struct {
	rounds, kills, untouched, writing, signals, closed, starts, failures int
}

func (a *tally) add(b tally) {
	a.rounds += b.rounds
	a.kills += b.kills
	a.untouched += b.untouched
	a.writing += b.writing
	a.signals += b.signals
	a.closed += b.closed
	a.starts += b.starts
	a.failures += b.failures
}

// round disturbs a command, once or several times, and continues until it ends.
type round struct {
	t       *testing.T
	s       *scenario
	rand    *rand.Rand
	dir     string
	left    int // disturbances
	log     []*outcome
	remains []string // temporary files, after the run before
	epoch   int      // the last one that was reported
	saved   bool     // by an interruption, with all that was done
	tally
}

// run returns what went wrong.
func (r *round) run() error {
	r.s.copyTo(r.t, r.dir)
	base := strings.Fields(r.s.args)
	r.left = 1 + r.rand.IntN(6)
	if r.s.fetch {
		return r.fetchTwice()
	}
	args, refused := base, 0
	for {
		o := r.s.program(r.dir, args).start(r.t, r.plan())
		r.note(o)
		files, err := contents(r.dir)
		if err == nil {
			err = r.check(o, files)
		}
		if err != nil {
			return err
		}
		switch {
		case o.status == 0 || o.status == 141:
			r.s.lasts = (3*r.s.lasts + o.lasted) / 4 // others may have become busy, or idle
			d := difference(files, r.s.want)
			if d == "" {
				return nil
			}
			if !r.s.replaces || difference(files, r.s.old) != "" || slices.Contains(args, "--overwrite") {
				return fmt.Errorf("the result differs from that of an undisturbed run: %s", d)
			}
			args, refused = base, 0 // the old run was whole: it had not been replaced yet
		case o.killed():
			refused = 0
			if args = base; r.s.short != "" && r.rand.IntN(2) == 0 {
				args = strings.Fields(r.s.short)
			}
		default:
			if refused++; o.status == 130 { // a signal that it heeded is no refusal
				refused = 0
			}
			if refused > 3 {
				return errors.New("a dead end: refused again and again")
			}
			if args, err = r.next(base, o); err != nil {
				return err
			}
		}
	}
}

// plan draws how the next run is disturbed.
func (r *round) plan() plan {
	if r.left == 0 {
		return plan{}
	}
	r.left--
	share := 1.05
	if r.s.early {
		share = 0.5
	}
	if len(r.log) > 0 { // a part is done already
		share /= 2
	}
	after := time.Duration(r.rand.Float64() * share * float64(r.s.lasts))
	switch n := r.rand.IntN(20); {
	case n < 1 && !r.s.early:
		return plan{lines: 1 + r.rand.IntN(4)}
	case n < 4:
		signals := []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP}
		return plan{signal: signals[r.rand.IntN(len(signals))], after: after}
	case n < 8 && r.s.changes > 0 && strace != "":
		return plan{call: calls[r.rand.IntN(len(calls))], nth: 1 + r.rand.IntN(2+r.s.changes/12)}
	case n < 13 && r.s.changes > 0:
		p := plan{signal: syscall.SIGKILL, changes: 1 + r.rand.IntN(max(1, int(share*float64(r.s.changes))))}
		if r.rand.IntN(2) == 0 {
			p.after = time.Duration(r.rand.IntN(2000)) * time.Microsecond
		}
		return p
	}
	return plan{signal: syscall.SIGKILL, after: after}
}

// note keeps and counts an outcome.
func (r *round) note(o *outcome) {
	r.log = append(r.log, o)
	r.starts++
	switch {
	case o.killed():
		r.kills++
	case o.status == 130:
		r.signals++
	case o.status == 141:
		r.closed++
	}
}

var (
	epochLine = regexp.MustCompile(`(?m)^epoch +(\d+) `)
	// keptEpochs is the number of epochs that an interrupted training has saved.
	keptEpochs = regexp.MustCompile(`interrupted: (\d+) epochs? and \d+ updates? are saved`)
	// continuing is what a message says after an interruption.
	continuing = regexp.MustCompile(`continue with: dpnbench (.*)`)
)

// check checks what must hold after every run, however it ended.
func (r *round) check(o *outcome, files map[string]string) error {
	if o.hung {
		return fmt.Errorf("no end after %v: %s", hang, o.stderr)
	}
	left := temporaries(files)
	if o.killed() {
		if len(left) > 0 {
			r.writing++
		}
		if difference(files, r.s.old) == "" {
			r.untouched++
		}
	}
	for _, name := range left { // the next run that writes removes what a killed one has left
		if !o.killed() && !slices.Contains(r.remains, name) {
			return fmt.Errorf("left behind: %s", name)
		}
	}
	r.remains = left
	if lines := messages(o); !o.killed() && (o.status == 2 && len(lines) != 1 || len(lines) > 2) {
		return fmt.Errorf("status %d with messages of %d lines", o.status, len(lines))
	}
	return r.checkEpochs(o)
}

// messages are the lines of standard error without warnings.
func messages(o *outcome) []string {
	lines := strings.Split(strings.TrimSpace(o.stderr), "\n")
	return slices.DeleteFunc(lines, func(l string) bool { return strings.HasPrefix(l, "dpnbench: warning: ") })
}

// checkEpochs checks the epochs that a run has reported. After an interruption no epoch comes again; a kill may
// cost some, and may come after an epoch was saved and before it was reported.
func (r *round) checkEpochs(o *outcome) error {
	for i, line := range epochLine.FindAllStringSubmatch(o.stdout, -1) {
		n, err := strconv.Atoi(line[1])
		least, most := r.epoch+1, r.epoch+1
		if i == 0 {
			most++
			if !r.saved {
				least = 1
			}
		}
		if err != nil || n < least || n > most {
			return fmt.Errorf("trained epoch %s after epoch %d had been reported", line[1], r.epoch)
		}
		r.epoch = n
	}
	r.saved = false
	if kept := keptEpochs.FindStringSubmatch(o.stderr); o.status == 130 && kept != nil {
		r.saved = true
		r.epoch, _ = strconv.Atoi(kept[1])
	}
	return nil
}

// next returns the command that the messages of a run that ended early say.
func (r *round) next(base []string, o *outcome) ([]string, error) {
	if hint := continuing.FindStringSubmatch(o.stderr); hint != nil {
		// The shell splits the line, as it would for a user.
		out, err := exec.Command("sh", "-c", `printf '%s\n' `+hint[1]).Output()
		if err != nil {
			return nil, fmt.Errorf("the shell does not read %q: %w", hint[0], err)
		}
		return strings.Split(strings.TrimSuffix(string(out), "\n"), "\n"), nil
	}
	_, expected, _ := strings.Cut(o.stderr, "expected ")
	begin := strings.Contains(expected, "without --resume")
	with := func(flag string) []string {
		if slices.Contains(base, flag) {
			return base
		}
		return append(slices.Clone(base), flag)
	}
	switch {
	case o.status == 130 || begin:
		return base, nil
	case strings.Contains(expected, "--resume"):
		return slices.DeleteFunc(with("--resume"), func(a string) bool { return a == "--overwrite" }), nil
	case strings.Contains(expected, "--overwrite"):
		return with("--overwrite"), nil
	case strings.Contains(o.stderr, "nothing to resume"):
		return base, nil
	}
	return nil, fmt.Errorf("a dead end: status %d, and no message says how to go on", o.status)
}
