package main

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"text/tabwriter"
	"time"

	"dpnbench/internal/quote"
	"dpnbench/internal/sysinfo"

	"github.com/schollz/progressbar/v3"
	"golang.org/x/term"
)

// version names the build and the Go version.
func version() string { return sysinfo.Version() + " " + runtime.Version() }

// printer writes results to a file and remembers the first error.
type printer struct {
	*os.File
	err error // later results are not printed
}

func (o *printer) Write(b []byte) (int, error) {
	if o.err != nil {
		return len(b), nil
	}
	n, err := o.File.Write(b)
	o.err = err
	return n, err
}

// printf escapes in the values what a terminal would obey: names and texts come from files.
func (o *printer) printf(format string, args ...any) {
	o.Write([]byte(safe(format, args...))) // not WriteString, which is that of the file
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
