package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"slices"
	"strings"

	"dpnbench/internal/quote"
	"dpnbench/internal/sysinfo"
)

// version names the build and the Go version.
func version() string { return sysinfo.Version() + " " + runtime.Version() }

// printer writes results to a file and remembers the first error.
type printer struct {
	*os.File
	progress *progress // on the same terminal, perhaps
	columns  int       // of the terminal; 0: the file is none
	colour   bool
	err      error // later results are not printed
}

func (o *printer) Write(b []byte) (int, error) {
	if o.err != nil {
		return len(b), nil
	}
	n, err := o.progress.above(o.File, b)
	o.err = err
	return n, err
}

// printf escapes in the values what a terminal would obey: names and texts come from files. On a terminal, lines are
// broken between words, and a tone has a colour.
func (o *printer) printf(c tone, format string, args ...any) {
	if !o.colour {
		c = plain
	}
	o.Write([]byte(c.paint(folded(safe(format, args...), o.columns)))) // not WriteString, which is that of the file
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
		a.out.printf(plain, format, args...)
	}
}

// warn prints a result that is a warning.
func (a *app) warn(format string, args ...any) { a.toned(doubtful, "! "+format, args...) }

// toned is printf in a colour, on a terminal that has colours.
func (a *app) toned(c tone, format string, args ...any) {
	if a.json != "-" {
		a.out.printf(c, format, args...)
	}
}

// note prints what is not a result, unless --quiet is set.
func (a *app) note(format string, args ...any) {
	if !a.quiet {
		a.printf(format, args...)
	}
}

// table prints rows of cells in aligned columns; the first row is the header, the first cell the name of a row.
func (a *app) table(rows [][]string) { a.keyed(1, rows) }

// keyed is table for rows that are named by their first keys cells.
func (a *app) keyed(keys int, rows [][]string) {
	if a.json != "-" {
		a.out.Write([]byte(table{rows, keys, a.out.colour}.text(a.out.columns)))
	}
}

// log returns a logger to standard error: of warnings, with --verbose of everything.
func (a *app) log() *slog.Logger {
	if a.logger != nil {
		return a.logger
	}
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelInfo
	}
	return slog.New(byLevel{
		slog.NewTextHandler(a.errs(), &slog.HandlerOptions{Level: level}),
		warningLines{w: linesAbove{a.progress, a.stderr, doubtful}},
	})
}

// warningLines writes each record as a line to read, like an error: the text, and the attributes in brackets.
type warningLines struct {
	w     io.Writer
	attrs []slog.Attr
}

// Enabled implements slog.Handler.
func (warningLines) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements slog.Handler.
func (h warningLines) Handle(_ context.Context, r slog.Record) error {
	var more []string
	add := func(a slog.Attr) bool {
		more = append(more, fmt.Sprint(a.Key, " ", a.Value))
		return true
	}
	for _, a := range h.attrs {
		add(a)
	}
	r.Attrs(add)
	text := r.Message
	if len(more) > 0 {
		text += " (" + strings.Join(more, ", ") + ")"
	}
	_, err := io.WriteString(h.w, safe("dpnbench: warning: %s\n", oneLine(errors.New(text))))
	return err
}

// WithAttrs implements slog.Handler.
func (h warningLines) WithAttrs(list []slog.Attr) slog.Handler {
	return warningLines{h.w, slices.Concat(h.attrs, list)}
}

// WithGroup implements slog.Handler: no message of the program has groups.
func (h warningLines) WithGroup(string) slog.Handler { return h }

// byLevel hands warnings to a handler of their own.
type byLevel struct {
	slog.Handler
	warnings slog.Handler
}

// Handle implements slog.Handler.
func (h byLevel) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelWarn {
		return h.warnings.Handle(ctx, r)
	}
	return h.Handler.Handle(ctx, r)
}

// WithAttrs implements slog.Handler.
func (h byLevel) WithAttrs(list []slog.Attr) slog.Handler {
	return byLevel{h.Handler.WithAttrs(list), h.warnings.WithAttrs(list)}
}

// errs returns standard error, above the line of progress.
func (a *app) errs() io.Writer { return linesAbove{a.progress, a.stderr, plain} }

// linesAbove is a file of messages of a tone above the line of progress. On a terminal, lines are broken between words.
type linesAbove struct {
	*progress
	file *os.File
	tone tone
}

func (o linesAbove) Write(b []byte) (int, error) {
	text := folded(string(b), width(o.file))
	if coloured(o.file) {
		text = o.tone.paint(text)
	}
	_, err := o.above(o.file, []byte(text))
	return len(b), err
}

// phase shows on a terminal that the command does something, and returns what its progress is reported to.
func (a *app) phase(what string) func(done, all int) {
	return a.progress.begin(phase{what: quote.Text(what)})
}

// laterPhase is phase for work that begins with its first report.
func (a *app) laterPhase(what string) func(done, all int) {
	var report func(done, all int)
	return func(done, all int) {
		if report == nil {
			report = a.phase(what)
		}
		report(done, all)
	}
}
