package main

import (
	"os/exec"
	"syscall"
)

// alone runs the program of a folder with that folder as the root, and no environment.
func alone(dir string, args []string) ([]byte, error) {
	c := exec.Command("/dpnbench", args...)
	c.Dir, c.Env = "/", []string{}
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: dir}
	return c.CombinedOutput()
}
