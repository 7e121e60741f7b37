package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"dpnbench/internal/quote"
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
	words := []string{"bench"}
	add := func(more ...string) { words = append(words, more...) }
	if s.Extent == "quick" || s.Extent == "full" {
		add("--" + s.Extent)
	}
	if len(s.Suites) > 0 && !slices.Equal(s.Suites, Suites()) {
		add("--suite", strings.Join(s.Suites, ","))
	}
	if s.Filter != "" {
		add("--filter", s.Filter)
	}
	for _, shape := range s.Shapes {
		add("--shape", shape)
	}
	add(s.Library...)
	if len(s.Tiers) == 1 {
		add("--tier", s.Tiers[0])
	}
	var threads []string
	for _, n := range s.Threads {
		threads = append(threads, strconv.Itoa(n))
	}
	if len(threads) > 0 {
		add("--threads", strings.Join(threads, ","))
	}
	for x := Quick; x <= Full; x++ {
		if x.String() == s.Extent && s.Repetitions > 0 && s.Repetitions != defaults[x].repetitions {
			add("--repetitions", strconv.Itoa(s.Repetitions))
		}
	}
	if s.Pinned {
		add("--pin")
	}
	if s.Phases {
		add("--phases")
	}
	if s.Slow > 1 {
		add("--slow", strconv.Itoa(s.Slow))
	}
	if s.Memory > 0 {
		add("--memory", strconv.Itoa(s.Memory))
	}
	add("--json", "again.json", "--html", "again.html")
	return quote.Command(words...)
}
