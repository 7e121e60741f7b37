package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"dpnbench/internal/atomicfile"
	"dpnbench/internal/folderlock"
	"dpnbench/internal/quote"
	"dpnbench/internal/sysinfo"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// version names the build and the Go version.
func version() string { return sysinfo.Version() + " " + runtime.Version() }

// output writes results to a file and remembers the first error.
type output struct {
	*os.File
	err error
}

// printf escapes in the values what a terminal would obey: names and texts come from files.
func (o *output) printf(format string, args ...any) {
	if _, err := io.WriteString(o.File, safe(format, args...)); err != nil && o.err == nil {
		o.err = err
	}
}

// lines is a text of several lines that printf leaves as they are.
type lines string

// safe is fmt.Sprintf with values in which nothing can control a terminal: texts and errors stay on
// one line.
func safe(format string, args ...any) string {
	quoted := make([]any, len(args))
	for i, a := range args {
		switch v := a.(type) {
		case string:
			quoted[i] = quote.Text(v)
		case error:
			quoted[i] = quote.Text(oneLine(v))
		default:
			quoted[i] = a
		}
	}
	return quote.Lines(fmt.Sprintf(format, quoted...))
}

// longest is the length in bytes up to which a message is printed whole.
const longest = 4000

// oneLine returns the message of an error on one line. The middle of a very long one, which names
// something very long, is left out.
func oneLine(err error) string {
	var parts []string
	for line := range strings.Lines(err.Error()) {
		if line = strings.TrimSpace(line); line != "" {
			parts = append(parts, line)
		}
	}
	s := strings.Join(parts, " ")
	if len(s) > longest {
		s = s[:longest/2] + " [...] " + s[len(s)-longest/2:]
	}
	return s
}

// printf prints results, unless standard output is reserved for JSON (--json -).
func (a *app) printf(format string, args ...any) {
	if a.json != "-" {
		a.out.printf(format, args...)
	}
}

// note prints what is not a result, unless --quiet is set.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.printf(format, args...)
	}
}

// table prints rows of cells in aligned columns; the first row is the header.
func (a *app) table(rows [][]string) {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, r := range rows {
		for _, cell := range r {
			fmt.Fprint(w, quote.Text(cell), "\t")
		}
		fmt.Fprintln(w)
	}
	w.Flush()
	a.printf("%s", lines(b.String()))
}

// writeJSON writes the results to the file of --json, if any.
func (a *app) writeJSON(v any) error {
	if a.json == "" {
		return nil
	}
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	b = append(quote.JSON(b), '\n')
	if a.json == "-" {
		_, err = a.out.Write(b)
		return err
	}
	if err := writeFile(a.json, b); err != nil {
		return fmt.Errorf("--json %w", err)
	}
	return nil
}

// saveJSON writes v to a file in the folder of results.
func saveJSON(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return writeFile(path, append(b, '\n'))
}

// checkJSON fails early if the file of --json cannot be written or is one of the inputs.
func (a *app) checkJSON(inputs ...string) error {
	if a.json == "-" {
		return nil
	}
	return writable("--json", a.json, inputs...)
}

// writable fails if the file that a flag names cannot be written or is one of the inputs.
func writable(flag, path string, inputs ...string) error {
	if path == "" {
		return nil
	}
	st, err := os.Stat(path)
	for _, in := range inputs {
		if i, ierr := os.Stat(in); err == nil && ierr == nil && os.SameFile(st, i) {
			return fmt.Errorf("%s %s: is the input %s", flag, path, in)
		}
	}
	if err == nil && !st.Mode().IsRegular() {
		return nil // opening and closing a pipe would end its reader
	}
	if err == nil {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return fmt.Errorf("%s %s: %w", flag, path, reason(err))
		}
		return f.Close()
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".writable")
	if err != nil {
		return fmt.Errorf("%s %s: %w", flag, path, reason(err))
	}
	f.Close()
	return os.Remove(f.Name())
}

// sameFile says whether two flags name the same regular file, even if it does not exist yet.
func sameFile(a, b string) bool {
	if a == "" || b == "" || a == "-" || b == "-" {
		return false
	}
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(sa, sb) && sa.Mode().IsRegular()
	}
	a, errA = filepath.Abs(a)
	b, errB = filepath.Abs(b)
	return errA == nil && errB == nil && a == b
}

// writeFile replaces a file, or the target of a link, atomically. A pipe or a device is written
// to instead.
func writeFile(path string, b []byte) error {
	write := func(w io.Writer) error { _, err := w.Write(b); return err }
	if st, err := os.Stat(path); err == nil && !st.Mode().IsRegular() {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err == nil {
			err = errors.Join(write(f), f.Close())
		}
		if err != nil {
			return fmt.Errorf("%s: %w", path, reason(err))
		}
		return nil
	}
	target := path
	if t, err := filepath.EvalSymlinks(path); err == nil {
		target = t
	}
	if err := atomicfile.Write(target, write); err != nil {
		return fmt.Errorf("%s: %w", path, reason(err))
	}
	return nil
}

// reason strips the path from an error of the file system, for messages that name it already.
func reason(err error) error {
	if pe, ok := err.(*os.PathError); ok {
		return pe.Err
	}
	return err
}

// outputFolder makes a folder for results, and fails if nothing can be written to it.
func outputFolder(flag, path string) error {
	if err := os.MkdirAll(path, 0o755); err != nil {
		return fmt.Errorf("%s %s: %w", flag, path, reason(err))
	}
	f, err := os.CreateTemp(path, ".writable")
	if err != nil {
		return fmt.Errorf("%s %s: %w", flag, path, reason(err))
	}
	f.Close()
	return os.Remove(f.Name())
}

// lockFolder prevents other processes from writing results to a folder until release is called.
func lockFolder(flag, path string) (release func(), err error) {
	release, err = folderlock.Acquire(path)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w; expected a folder that no other run writes to", flag, path, reason(err))
	}
	return release, nil
}

// log returns a logger to standard error: of warnings, with --verbose of everything. clear
// erases the current line, which may hold a progress bar.
func (a *app) log(clear func()) *slog.Logger {
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelInfo
	}
	withoutTime := func(_ []string, attr slog.Attr) slog.Attr {
		if attr.Key == slog.TimeKey && !a.verbose {
			return slog.Attr{}
		}
		return attr
	}
	return slog.New(slog.NewTextHandler(cleared{a.stderr, clear},
		&slog.HandlerOptions{Level: level, ReplaceAttr: withoutTime}))
}

// cleared is a writer that clears the current line first.
type cleared struct {
	w     io.Writer
	clear func()
}

func (c cleared) Write(b []byte) (int, error) {
	c.clear()
	return c.w.Write(b)
}

// bar returns a progress bar on standard error, or nil if that is not a terminal.
func (a *app) bar(all int, what string) *progressbar.ProgressBar {
	if a.quiet || !term.IsTerminal(int(a.stderr.Fd())) {
		return nil
	}
	return progressbar.NewOptions(all,
		progressbar.OptionSetWriter(a.stderr),
		progressbar.OptionSetDescription(what),
		progressbar.OptionShowCount(),
		progressbar.OptionSetPredictTime(true),
		progressbar.OptionThrottle(100*time.Millisecond),
		progressbar.OptionClearOnFinish())
}

// set moves a bar, which may be nil.
func set(b *progressbar.ProgressBar, n int) {
	if b != nil {
		b.Set(n)
	}
}

// finish removes a bar, which may be nil.
func finish(b *progressbar.ProgressBar) {
	if b != nil {
		b.Finish()
	}
}

// wrapped breaks text into lines of at most helpWidth columns.
func wrapped(text string) string {
	var b strings.Builder
	column := 0
	for i, word := range strings.Fields(text) {
		switch {
		case i == 0:
		case column+1+len(word) > helpWidth:
			b.WriteByte('\n')
			column = 0
		default:
			b.WriteByte(' ')
			column++
		}
		b.WriteString(word)
		column += len(word)
	}
	return b.String()
}
