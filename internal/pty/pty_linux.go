// Package pty opens pseudo-terminals.
package pty

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Open returns both ends of a pseudo-terminal of so many rows and columns: what a program prints to, and what a
// terminal would show. Reading the latter ends with an error once nobody has the former open.
func Open(rows, columns int) (program, screen *os.File, err error) {
	screen, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(screen.Fd())
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)})
	}
	if err == nil {
		program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		screen.Close()
	}
	return program, screen, err
}
