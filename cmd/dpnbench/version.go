package main

import (
	"cmp"
	"strings"

	"dpnbench/internal/mpi"
	"dpnbench/internal/sysinfo"

	"github.com/spf13/cobra"
)

func versionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show version, commit, Go version, target and tier",
		Long: `Show the version of the module, the commit that the program was built from and its date, the version
of Go, the target, the tier of kernels that runs here, and the MPI library. "unknown": the build did
not record it, because it was not made in a git repository, or with -buildvcs=false.`,
		Example: `  dpnbench version
  dpnbench version --json -`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.version() },
	}
}

func (a *app) version() error {
	if err := a.files().Check(); err != nil {
		return err
	}
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	b := sysinfo.ReadBuild()
	commit := cmp.Or(b.Commit, "unknown")
	if b.Modified {
		commit += ", modified"
	}
	a.printf("dpnbench %s\n", b.Version)
	a.printf("commit   %s\n", commit)
	a.printf("date     %s\n", cmp.Or(b.Date, "unknown"))
	a.printf("Go       %s\n", b.Go)
	a.printf("target   %s\n", strings.TrimSpace(b.OS+"/"+b.Arch+" "+b.Level))
	a.printf("tier     %s\n", e.Tier())
	a.printf("MPI      %s\n", cmp.Or(mpi.Library(), "not built in"))
	return a.writeJSON(struct {
		sysinfo.Build
		Tier string `json:"tier"`
		MPI  string `json:"mpi"` // library; empty: not built in
	}{b, e.Tier().String(), mpi.Library()})
}
