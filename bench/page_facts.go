package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpnbench/report"
)

// facts are the machine and the settings, as far as they are known.
func (p *page) facts() (out []report.Fact) {
	m, s := &p.Machine, &p.Settings
	when := p.Start.UTC().Format("2006-01-02 15:04 UTC")
	fact := func(name string, parts ...string) {
		parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" })
		if len(parts) > 0 {
			out = append(out, report.Fact{Name: name, Text: strings.Join(parts, ", ")})
		}
	}
	some := func(n int, what string) string {
		if n <= 0 {
			return ""
		}
		return fmt.Sprintf("%d %s", n, what)
	}
	set := func(what, value string) string {
		if value == "" {
			return ""
		}
		return what + " " + value
	}
	virtual, quota, pinned := "", "", ""
	if m.Virtual {
		virtual = "virtual machine"
	}
	if m.CgroupCPUs > 0 {
		quota = fmt.Sprintf("cgroup limit %.4g", m.CgroupCPUs)
	}
	if s.Pinned {
		pinned = "pinned"
	}
	fact("Microarchitecture", m.Micro)
	fact("Cores", some(m.Cores, "physical"), some(m.LogicalCores, "logical"), some(m.CPUs, "allowed"), quota)
	fact("Caches", FormatCaches(m)...)
	var tiers, missing []string
	for _, t := range m.Tiers {
		if t.Available {
			tiers = append(tiers, t.Name)
		} else {
			missing = append(missing, t.Name)
		}
	}
	if len(missing) > 0 {
		tiers = append(tiers, "not "+strings.Join(missing, ", "))
	}
	fact("Tiers", tiers...)
	fact("System", m.OS+" "+m.Arch, set("kernel", m.Kernel), virtual)
	fact("Version", p.Version)
	fact("Go", m.GoVersion)
	fact("Settings of the system", set("governor", m.Governor), set("huge pages", m.HugePages))
	if m.Load >= 0 {
		fact("Load before the run", strconv.FormatFloat(m.Load, 'f', 2, 64))
	}
	fact("Measured", when, "took "+(time.Duration(p.Seconds*float64(time.Second))).Round(time.Second).String())
	var threads []string
	for _, n := range s.Threads {
		threads = append(threads, strconv.Itoa(n))
	}
	fact("Threads", append(threads, pinned)...)
	fact("Extent", s.Extent, some(s.Passes, "passes"), some(s.Repetitions, "repetitions a pass"),
		"of "+FormatSeconds(s.MinTime)+" at least")
	if !slices.Equal(s.Suites, Suites()) {
		fact("Suites", s.Suites...)
	}
	fact("Only rows that match", s.Filter)
	if s.Slow > 1 {
		fact("Slowed down on purpose", fmt.Sprintf("%d times the work in every call", s.Slow))
	}
	return out
}

// command is the command line that repeats a run with the settings.
func (s Settings) command() string {
	c := "dpnbench bench"
	if s.Extent == "quick" || s.Extent == "full" {
		c += " --" + s.Extent
	}
	if len(s.Suites) > 0 && !slices.Equal(s.Suites, Suites()) {
		c += " --suite " + quoted(strings.Join(s.Suites, ","))
	}
	if s.Filter != "" {
		c += " --filter " + quoted(s.Filter)
	}
	for _, shape := range s.Shapes {
		c += " --shape " + quoted(shape)
	}
	if len(s.Tiers) == 1 {
		c += " --tier " + quoted(s.Tiers[0])
	}
	for i, n := range s.Threads {
		c += []string{" --threads ", ","}[min(i, 1)] + strconv.Itoa(n)
	}
	for x := Quick; x <= Full; x++ {
		if x.String() == s.Extent && s.Repetitions > 0 && s.Repetitions != defaults[x].repetitions {
			c += fmt.Sprintf(" --repetitions %d", s.Repetitions)
		}
	}
	if s.Pinned {
		c += " --pin"
	}
	if s.Phases {
		c += " --phases"
	}
	if s.Slow > 1 {
		c += fmt.Sprintf(" --slow %d", s.Slow)
	}
	if s.Memory > 0 {
		c += fmt.Sprintf(" --memory %d", s.Memory)
	}
	return c + " --json again.json --html again.html"
}

// quoted quotes s as one word for a shell.
func quoted(s string) string {
	if s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyz0123456789,") == "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
