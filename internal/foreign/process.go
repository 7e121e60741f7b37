//go:build foreign && cgo && unix

package foreign

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"dpnbench/engine/check"
)

// request asks a child process for a case.
type request struct {
	Case    string `json:"case"`
	Repeats bool   `json:"repeats"`
}

// answer is a line of a child process: first Ready or Error, then for each case Operands and Outcome.
type answer struct {
	Ready    bool            `json:"ready,omitempty"`
	Error    string          `json:"error,omitempty"`
	Operands []check.Operand `json:"operands,omitempty"`
	Outcome  *check.Outcome  `json:"outcome,omitempty"`
}

// The files of a child process, besides the standard ones, which belong to the library.
const (
	requestsFile = 3
	answersFile  = 4
)

// Serve runs the cases that a parent asks for until it closes its end. It is all that a child process does.
func Serve(s *Symbol) error {
	runtime.LockOSThread() // OpenMP has threads for each thread that calls it
	in := json.NewDecoder(os.NewFile(requestsFile, "requests"))
	out := json.NewEncoder(os.NewFile(answersFile, "answers"))
	if err := s.Open(); err != nil {
		return out.Encode(answer{Error: err.Error()})
	}
	f := s.Function()
	defer f.Close()
	f.Started = func(operands []check.Operand) { out.Encode(answer{Operands: operands}) } // Outcome fails, too, then
	if err := out.Encode(answer{Ready: true}); err != nil {
		return err
	}
	for {
		var r request
		if err := in.Decode(&r); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		c, err := f.ParseCase(r.Case)
		if err != nil {
			return out.Encode(answer{Error: err.Error()})
		}
		o := f.Try(c, r.Repeats)
		if err := out.Encode(answer{Outcome: &o}); err != nil {
			return err
		}
	}
}

// Processes are the child processes of a check: one for each number of threads.
type Processes struct {
	// Command returns a command that calls Serve. Its environment and files are set by Processes.
	Command func() *exec.Cmd

	running map[int]*process
}

// process is a child.
type process struct {
	cmd      *exec.Cmd
	requests *os.File
	in       *json.Encoder
	out      *json.Decoder
	answers  *os.File
	printed  *tail
}

// threadSettings are the variables by which libraries are told their number of threads.
var threadSettings = []string{"OPENBLAS_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"}

// Try runs a case in the child with that number of threads, which is started if it does not run.
func (p *Processes) Try(ctx context.Context, c check.Case, threads int) (check.Outcome, error) {
	child := p.running[threads]
	if child == nil {
		var err error
		if child, err = start(ctx, p.Command(), threads); err != nil {
			return check.Outcome{}, cmp.Or(ctx.Err(), err)
		}
		if p.running == nil {
			p.running = map[int]*process{}
		}
		p.running[threads] = child
	}
	defer context.AfterFunc(ctx, func() { child.cmd.Process.Kill() })()
	child.in.Encode(request{c.String(), threads == 1}) // if it fails, there is no answer
	var operands []check.Operand
	var limit time.Duration
	for {
		var a answer
		if err := child.out.Decode(&a); err != nil {
			delete(p.running, threads)
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return child.hangs(limit), ctx.Err()
			}
			return child.ended(operands), ctx.Err()
		}
		switch {
		case a.Error != "":
			return check.Outcome{}, errors.New(a.Error)
		case a.Outcome != nil:
			return *a.Outcome, child.answers.SetReadDeadline(time.Time{})
		}
		operands = a.Operands
		limit = caseLimit(operands)
		if err := child.answers.SetReadDeadline(time.Now().Add(limit)); err != nil {
			return check.Outcome{}, err
		}
	}
}

// loadLimit is how long a library may take to load.
const loadLimit = time.Minute

// caseLimit is how long the calls of a case may take: a minute, and 40 s for a million floats of operands, for the
// large cases that a user may choose. Tests replace it.
var caseLimit = func(operands []check.Operand) time.Duration {
	limit := time.Minute
	for _, x := range operands {
		limit += time.Duration(x.Bytes) * 10 * time.Microsecond
	}
	return limit
}

// Close ends the children.
func (p *Processes) Close() {
	for _, child := range p.running {
		child.close()
	}
	p.running = nil
}

// start starts a child and waits until it has opened the library.
func start(ctx context.Context, cmd *exec.Cmd, threads int) (*process, error) {
	theirRequests, requests, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer theirRequests.Close()
	answers, theirAnswers, err := os.Pipe()
	if err != nil {
		requests.Close()
		return nil, err
	}
	defer theirAnswers.Close()
	p := &process{cmd: cmd, requests: requests, answers: answers, in: json.NewEncoder(requests),
		out: json.NewDecoder(answers), printed: &tail{}}
	cmd.ExtraFiles = []*os.File{theirRequests, theirAnswers}
	cmd.Stdout, cmd.Stderr = p.printed, p.printed
	if cmd.Env == nil {
		cmd.Env = os.Environ()
	}
	for _, name := range threadSettings {
		cmd.Env = append(cmd.Env, fmt.Sprintf("%s=%d", name, threads))
	}
	cmd.Env = append(cmd.Env, "GOTRACEBACK=none")
	cmd.WaitDelay = time.Second // the library may have started a process that keeps the output open
	if err := cmd.Start(); err != nil {
		p.requests.Close()
		p.answers.Close()
		return nil, err
	}
	defer context.AfterFunc(ctx, func() { cmd.Process.Kill() })()
	var first answer
	err = answers.SetReadDeadline(time.Now().Add(loadLimit))
	if err == nil {
		err = p.out.Decode(&first)
	}
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		cmd.Process.Kill()
		p.close()
		return nil, fmt.Errorf("--library: loading it did not end within %.0f s", loadLimit.Seconds())
	case err != nil:
		p.close()
		return nil, fmt.Errorf("--library: loading it ended the process (%s)", p.printed.cause(p.cmd.ProcessState))
	case first.Error != "":
		p.close()
		return nil, errors.New(first.Error)
	}
	return p, answers.SetReadDeadline(time.Time{})
}

func (p *process) close() {
	p.requests.Close()
	p.cmd.Wait() // the child ends at the end of its requests
	p.answers.Close()
}

// hangs kills the child, and makes that the outcome of the case.
func (p *process) hangs(limit time.Duration) check.Outcome {
	p.cmd.Process.Kill()
	p.close()
	return check.Outcome{Kind: check.KindHang, Reason: fmt.Sprintf("no result within %.0f s", limit.Seconds())}
}

// ended makes the end of the child the outcome of the case.
func (p *process) ended(operands []check.Operand) check.Outcome {
	p.close()
	cause := p.printed.cause(p.cmd.ProcessState)
	if at := p.printed.address(); at != 0 {
		const page = 1 << 12
		for _, x := range operands {
			end := x.Address + uintptr(x.Bytes)
			switch {
			case at >= end && at < end+page:
				return check.Outcome{Kind: check.KindAccess,
					Reason: fmt.Sprintf("%s, %d bytes behind the end of %s", cause, at-end, x.Name)}
			case at < x.Address && at >= x.Address-page:
				return check.Outcome{Kind: check.KindAccess,
					Reason: fmt.Sprintf("%s, %d bytes before the start of %s", cause, x.Address-at, x.Name)}
			}
		}
	}
	return check.Outcome{Kind: check.KindCrash, Reason: cause}
}

// tail keeps the last bytes that a child prints.
type tail struct{ bytes.Buffer }

func (t *tail) Write(b []byte) (int, error) {
	const most = 1 << 12
	last := b[max(len(b)-most, 0):]
	t.Next(max(t.Len()+len(last)-most, 0))
	t.Buffer.Write(last)
	return len(b), nil
}

var (
	signal = regexp.MustCompile(`SIG[A-Z]+(: .*)?\nPC=`)
	fault  = regexp.MustCompile(`\baddr=0x([0-9a-f]+)`)
)

// ofSignal returns what the Go runtime has printed about the signal that ended the child; "" if there was none.
func (t *tail) ofSignal() string {
	all := signal.FindAllStringIndex(t.String(), -1) // the library may print such lines, too, but not behind it
	if all == nil {
		return ""
	}
	return t.String()[all[len(all)-1][0]:]
}

// cause says how a child ended: the signal that the Go runtime reports, or the status and the last line printed.
func (t *tail) cause(state *os.ProcessState) string {
	if name, _, ok := strings.Cut(t.ofSignal(), "\n"); ok {
		return name
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return "signal: " + status.Signal().String()
	}
	last := strings.TrimSpace(t.String())
	last = last[strings.LastIndexByte(last, '\n')+1:]
	if last != "" {
		last = ": " + last
	}
	return fmt.Sprintf("exit status %d%s", state.ExitCode(), last)
}

// address returns the address of a fault, or 0.
func (t *tail) address() uintptr {
	m := fault.FindStringSubmatch(t.ofSignal())
	if m == nil {
		return 0
	}
	at, _ := strconv.ParseUint(m[1], 16, 64) // it matches
	return uintptr(at)
}
