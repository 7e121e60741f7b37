// Command dpnbench trains, benchmarks and dissects Denoising Potential Networks on the
// CPU. Run "dpnbench help" for its subcommands.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"dpnbench/engine"
)

// Exit statuses.
const (
	exitDone        = 0
	exitFailed      = 1   // the check, test or comparison that was asked for failed
	exitUsage       = 2   // wrong usage or unusable input
	exitInternal    = 3   // a mistake of this program's
	exitInterrupted = 130 // by Ctrl-C or another signal to end, as shells report the first
)

// failedError is a result, not a mistake of the user's: exit status 1.
type failedError struct{ message string }

func (e *failedError) Error() string { return e.message }

func main() { os.Exit(run(interruptible(os.Stderr), os.Args[1:], os.Stdout, os.Stderr)) }

// run executes the command line and returns the exit status. An error is one line on
// standard error, never a stack trace.
func run(ctx context.Context, args []string, stdout, stderr *os.File) (status int) {
	defer func() {
		if v := recover(); v != nil {
			if p, ok := v.(*engine.TaskPanic); ok {
				v = p.Value
			}
			fmt.Fprintf(stderr, "dpnbench: internal error: %v\n", v)
			status = exitInternal
		}
	}()
	a := &app{stdout: stdout, stderr: stderr}
	root := a.command()
	root.SetArgs(args)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil && a.printError != nil {
		err = fmt.Errorf("standard output: %w", reason(a.printError))
	}
	if err == nil {
		return exitDone
	}
	message := strings.Join(strings.Fields(strings.ReplaceAll(err.Error(), "\n", " ")), " ")
	if errors.Is(err, context.Canceled) {
		fmt.Fprintf(stderr, "dpnbench: interrupted%s\n", a.afterInterrupt)
		return exitInterrupted
	}
	fmt.Fprintf(stderr, "dpnbench: %s\n", message)
	var failed *failedError
	if errors.As(err, &failed) {
		return exitFailed
	}
	return exitUsage
}
