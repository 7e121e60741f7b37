package sysinfo_test

import (
	"fmt"

	"dpnbench/internal/sysinfo"
)

func ExampleReadMachine() {
	m := sysinfo.ReadMachine()
	fmt.Println(m.CPUs > 0, m.ThreadsAllowed > 0, len(m.Tiers) > 0)
	// Output: true true true
}
