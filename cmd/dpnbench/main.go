// Command dpnbench trains, benchmarks and analyses Denoising Potential Networks on the CPU.
//
//	dpnbench demo                                      # check, train and analyse in under two minutes
//	dpnbench train --preset compact --out runs/first
//	dpnbench analyze --model runs/first/model.safetensors
//
// Run "dpnbench help" for all subcommands. Each is one file, named after it, with a function
// that builds the cobra command (help text, flags) and a type that is one run of it. What they
// share is in root.go (the command tree), dataflags.go (images and models), engine.go (tier,
// threads, route), output.go (results, messages), files.go, table.go, terminal.go (width, colours)
// and progress.go (the line of progress).
//
// To add a subcommand: its file, its name in app.command, and a test.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"dpnbench/engine"
	"dpnbench/internal/parallel"
	"dpnbench/internal/regular"
)

// Exit statuses.
const (
	exitDone        = 0
	exitFailed      = 1   // the requested check, test or comparison failed
	exitUsage       = 2   // wrong usage or unusable input
	exitInternal    = 3   // a bug
	exitInterrupted = 130 // by Ctrl-C (as shells report it) or another signal to end
	exitUnread      = 141 // the reader of standard output ended (as shells report it)
)

// failedError is a negative result: exit status 1.
type failedError struct{ message string }

func (e *failedError) Error() string { return e.message }

func main() {
	outliveReader()
	a := joinRanks(os.Stdout, os.Stderr)
	os.Exit(a.leaveRanks(a.run(interruptible(a.stderr), os.Args[1:])))
}

// nowhere is a file for what is not to be seen.
func nowhere() *os.File {
	f, _ := os.OpenFile(os.DevNull, os.O_WRONLY, 0) // if that fails, nil, which refuses what is written
	return f
}

// run executes the command line and returns the exit status. An error is one line on
// standard error, never a stack trace.
func run(ctx context.Context, args []string, stdout, stderr *os.File) int {
	return newApp(stdout, stderr).run(ctx, args)
}

func (a *app) run(ctx context.Context, args []string) (status int) {
	defer func() {
		if v := recover(); v != nil {
			a.failure = fmt.Errorf("internal error: %v", panicked(v))
			a.fail(a.failure.Error())
			status = exitInternal
		}
	}()
	a.args = args
	root := a.command()
	root.SetArgs(args)
	root.SetOut(a.out.File)
	root.SetErr(a.errs())
	completionCommand(root, args) // after SetOut: it remembers where to print
	err := root.ExecuteContext(ctx)
	a.progress.end()
	switch {
	case unread(a.out.err) && (err == nil || unread(err)): // as in "| head": the files are written
		return exitUnread
	case err == nil && a.out.err != nil:
		err = fmt.Errorf("standard output: %w", regular.Cause(a.out.err))
	case err == nil:
		return exitDone
	}
	a.failure = err
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(a.errs(), "dpnbench: interrupted%s\n", a.afterInterrupt)
		return exitInterrupted
	}
	a.fail(oneLine(err))
	if errors.As(err, new(*failedError)) {
		return exitFailed
	}
	return exitUsage
}

// panicked returns the value of the first panic, without stacks.
func panicked(v any) any {
	switch p := v.(type) {
	case *engine.TaskPanic:
		return panicked(p.Value)
	case *parallel.Panic: // of a rank, or of a run of sweep
		return panicked(p.Value)
	}
	return v
}

// newApp makes a command that prints to files, which may be terminals.
func newApp(stdout, stderr *os.File) *app {
	a := &app{stderr: stderr}
	if isTerminal(stderr) {
		a.progress = &progress{w: stderr, columns: func() int { return width(stderr) }, every: drawEvery}
	}
	a.out = printer{File: stdout, progress: a.progress, columns: width(stdout), colour: coloured(stdout)}
	return a
}

// fail prints why the command failed.
func (a *app) fail(message string) {
	a.progress.end()
	name := "dpnbench:"
	text := folded(safe(name+" %s\n", message), width(a.stderr))
	if coloured(a.stderr) {
		text = bad.paint(name) + text[len(name):]
	}
	fmt.Fprint(a.stderr, text)
}
