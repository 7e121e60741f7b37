// Command recording runs a command on a pseudo-terminal and writes what it showed as an animated SVG; see the target
// recording of the Makefile. It also says how long the terminal stood still at most.
package main

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"dpnbench/internal/output"
	"dpnbench/internal/pty"
)

func main() {
	columns := flag.Int("columns", 80, "of the terminal")
	seconds := flag.Float64("seconds", 12, "that the recording plays")
	out := flag.String("out", "", "SVG file; empty: none")
	flag.Parse()
	if err := record(flag.Args(), *columns, *seconds, *out); err != nil {
		fmt.Fprintln(os.Stderr, "recording:", err)
		os.Exit(1)
	}
}

// record runs a command in an empty folder.
func record(args []string, columns int, seconds float64, out string) error {
	if len(args) == 0 {
		return fmt.Errorf("expected a command")
	}
	binary, err := filepath.Abs(args[0])
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "recording")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, screen, err := pty.Open(40, columns)
	if err != nil {
		return err
	}
	defer screen.Close()
	c := exec.Command(binary, args[1:]...)
	c.Dir, c.Stdout, c.Stderr = dir, program, program
	c.Env = append(os.Environ(), "TERM=xterm-256color")
	if err := c.Start(); err != nil {
		return err
	}
	program.Close()
	r := recorder{}
	r.write(0, "$ "+strings.Join(args, " ")+"\r\n")
	begun, last, still := time.Now(), time.Now(), time.Duration(0)
	b := make([]byte, 1<<16)
	for {
		n, err := screen.Read(b)
		still, last = max(still, time.Since(last)), time.Now()
		if err != nil {
			break
		}
		r.write(last.Sub(begun).Seconds(), string(b[:n]))
	}
	took := last.Sub(begun).Seconds()
	fmt.Printf("%.1f s, without output for %.2f s at most\n", took, still.Seconds())
	if err := c.Wait(); err != nil || out == "" {
		return err // it may have been interrupted
	}
	svg := r.svg(columns, took, seconds)
	fmt.Printf("%s: %d bytes, %.1f times as fast\n", out, len(svg), took/seconds)
	return output.Write(out, output.Bytes(svg))
}
