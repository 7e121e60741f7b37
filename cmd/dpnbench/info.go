package main

import (
	"fmt"
	"strings"

	"dpnbench/bench"
	"dpnbench/engine"
	"dpnbench/internal/sysinfo"

	"github.com/spf13/cobra"
)

func infoCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "info",
		Short: "Show CPU, caches, kernels and threads",
		Long: `Show the CPU and its caches, the available tiers of kernels (and why others are not available),
and the number of threads that the process may use.`,
		Example: `  dpnbench info
  dpnbench info --json -          # for scripts
  DPN_TIER=generic dpnbench info  # what would run without assembly`,
		Args: noArgs,
		RunE: func(*cobra.Command, []string) error { return a.info() },
	}
}

func (a *app) info() error {
	if err := a.files().Check(); err != nil {
		return err
	}
	e, err := a.engine()
	if err != nil {
		return err
	}
	defer e.Close()
	m := sysinfo.ReadMachine()
	a.printf("CPU      %s (%s %s, family %d, model %d)\n", m.Brand, m.OS, m.Arch, m.Family, m.Model)
	if m.Micro != "" {
		a.printf("design   %s\n", m.Micro)
	}
	a.printf("cores    %s physical, %s logical; the process may use %d\n", known(m.Cores), known(m.LogicalCores),
		m.ThreadsAllowed)
	a.printf("caches   %s\n", strings.Join(bench.FormatCaches(&m), ", "))
	a.printf("system   %s\n", m.System())
	a.printf("Go       %s\n\n", m.GoVersion)
	for _, t := range engine.Tiers() {
		state := "available"
		if !t.Available {
			state = "not available: " + t.Reason
		}
		if t.Tier == e.Tier() {
			state = "active"
		}
		a.printf("tier     %-8s %s\n", t.Tier, state)
	}
	a.printf("threads  %d\n", e.Threads())
	return a.writeJSON(struct {
		Machine sysinfo.Machine `json:"machine"`
		Tier    string          `json:"tier"`
		Threads int             `json:"threads"`
	}{m, e.Tier().String(), e.Threads()})
}

func known(n int) string {
	if n <= 0 {
		return "unknown"
	}
	return fmt.Sprint(n)
}
