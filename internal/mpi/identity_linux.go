//go:build mpi && cgo

package mpi

import (
	"bytes"
	"crypto/sha256"
	"os"
	"runtime"
	"strconv"

	"golang.org/x/sys/unix"
)

// identity is what a rank tells the others about its process.
type identity struct {
	pid     int64
	machine [32]byte // hash of what makes process numbers comparable
	host    [64]byte
	cpus    unix.CPUSet // that it may use
}

// self returns the identity of this process.
func self() identity {
	id := identity{pid: int64(os.Getpid())}
	host, _ := os.Hostname()
	copy(id.host[:len(id.host)-1], host)
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid") // in containers, the same number may be another process
	id.machine = sha256.Sum256([]byte(host + "\n" + string(boot) + "\n" + space))
	if unix.SchedGetaffinity(0, &id.cpus) != nil {
		id.cpus.Zero()
	}
	return id
}

func (id *identity) name() string {
	n := bytes.IndexByte(id.host[:], 0)
	return "process " + strconv.FormatInt(id.pid, 10) + " on " + string(id.host[:n])
}

// lost returns an error if another process of this machine has ended.
func lost(all []identity, rank int) error {
	for i := range all {
		if o := &all[i]; i != rank && o.machine == all[rank].machine && ended(int(o.pid)) {
			return &RankError{i, o.name() + " has ended", true}
		}
	}
	return nil
}

// ended says whether a process has ended, also if its parent has not asked for its status yet.
func ended(pid int) bool {
	switch state(pid) {
	case 0:
		return unix.Kill(pid, 0) == unix.ESRCH
	case 'Z', 'X':
		return true
	}
	return false
}

// state returns the state of a process as Linux names it, or 0 if it is not known.
func state(pid int) byte {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	after := bytes.LastIndexByte(stat, ')') + len(") ")
	if err != nil || after >= len(stat) {
		return 0
	}
	return stat[after]
}

// stopped returns a rank of this machine whose process is stopped (SIGSTOP), or that rank which is waited for: it may
// itself wait for the other one.
func stopped(all []identity, rank, waitedFor int) int {
	for i := range all {
		if o := &all[i]; o.machine == all[rank].machine && state(int(o.pid)) == 'T' {
			return i
		}
	}
	return waitedFor
}

// share is the number of threads for a rank: the CPUs that it may use, divided among the ranks that may use the same.
func share(all []identity, rank int) int {
	me := &all[rank]
	ranks, at := 0, 0
	for i := range all {
		if o := &all[i]; o.machine == me.machine && o.cpus == me.cpus {
			if i < rank {
				at++
			}
			ranks++
		}
	}
	return Share(min(me.cpus.Count(), runtime.GOMAXPROCS(0)), at, ranks) // the latter respects the limit of a cgroup
}
