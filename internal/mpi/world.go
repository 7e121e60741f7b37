package mpi

import (
	"os"
	"strconv"
	"time"
)

// World is this process as one of the ranks that mpirun or srun has started.
type World struct {
	Comm
	Threads int // this rank's share of the CPUs that it may use

	process
}

// process is what the binding of MPI does beside a Comm.
type process interface {
	name(rank int) string
	finish() error
	exit(status int)
}

// Share is the number of threads of rank i of so many ranks that divide n.
func Share(n, i, ranks int) int {
	share := n / ranks
	if i < n%ranks {
		share++
	}
	return max(share, 1)
}

// Name says which process a rank is.
func (w *World) Name(rank int) string { return w.name(rank) }

// Finish waits until all ranks call it, and ends MPI: the last that a rank does.
func (w *World) Finish() error {
	if err := Barrier(w.Comm); err != nil {
		return err
	}
	return w.finish()
}

// Linger waits, while messages of Abort go out, to be ended by another rank.
func (w *World) Linger(d time.Duration) {
	for begun := time.Now(); time.Since(begun) < d; time.Sleep(10 * time.Millisecond) {
		w.Progress()
	}
}

// Exit ends all ranks now, with an exit status.
func (w *World) Exit(status int) { w.exit(status) }

// The rank and the number of ranks by launchers of Open MPI, of MPICH and its relatives (also srun --mpi=pmi2), and of
// PMIx (srun --mpi=pmix).
var (
	rankVariables = []string{"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}
	sizeVariables = []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}
)

// number returns the first of the variables that is set, or -1.
func number(variables []string) int {
	for _, name := range variables {
		if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
			return n
		}
	}
	return -1
}

// EnvironmentRank returns the rank that a launcher has given to this process, also without MPI; -1: there is none.
func EnvironmentRank() int { return number(rankVariables) }

// StepTasks returns the number of tasks that srun has started together with this one, ranks or not; -1: it has not.
func StepTasks() int { return number([]string{"SLURM_STEP_NUM_TASKS"}) }
