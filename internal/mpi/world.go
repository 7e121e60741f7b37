package mpi

import "os"

// World is this process as one of the ranks that mpirun or srun has started.
type World struct {
	Comm
	Threads int // this rank's share of the CPUs that it may use

	finish func() error
	exit   func(status int)
	await  func()
}

// Finish waits until all ranks call it, and ends MPI: the last that a rank does.
func (w *World) Finish() error {
	if err := Barrier(w.Comm); err != nil {
		return err
	}
	return w.finish()
}

// Exit ends all ranks now, with an exit status.
func (w *World) Exit(status int) { w.exit(status) }

// launched says whether a launcher of MPI started this process, perhaps alone. The variables are those of Open MPI, of
// MPICH and its relatives (also of srun --mpi=pmi2), and of PMIx (srun --mpi=pmix).
func launched() bool {
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK"} {
		if os.Getenv(name) != "" {
			return true
		}
	}
	return false
}
