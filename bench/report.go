package bench

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"dpnbench/internal/format"
	"dpnbench/internal/regular"
	"dpnbench/internal/sysinfo"
)

// Format is the version of the JSON of a Report.
const Format = 1

// Report is what a run of the suites measured.
type Report struct {
	Format   int             `json:"format"`
	Version  string          `json:"version"` // of the program
	Machine  sysinfo.Machine `json:"machine"`
	Settings Settings        `json:"settings"`
	Start    time.Time       `json:"start"`
	Seconds  float64         `json:"seconds"`         // of the whole run
	Partial  bool            `json:"partial"`         // the run was interrupted or failed
	Error    string          `json:"error,omitempty"` // why it failed

	// Warnings say why figures of this run may be unreliable.
	Warnings []string `json:"warnings"`

	Clock     Clocks      `json:"clock"`
	Peak      []Peaks     `json:"peak"`
	Bandwidth []Bandwidth `json:"bandwidth"`
	Results   []Result    `json:"results"`
}

// Clocks are the frequency of a core, from timed chains of dependent additions before every
// benchmark. Lowest and Most leave out a tenth at each end: single chains are interrupted.
type Clocks struct {
	Hz     float64 `json:"hz"` // median
	Lowest float64 `json:"lowest"`
	Most   float64 `json:"most"`
}

// Peaks is the measured rate of the FMA units of a tier on a number of threads: no product can be
// faster.
type Peaks struct {
	Tier    string  `json:"tier"`
	Threads int     `json:"threads"`
	GFlops  float64 `json:"gflops"` // median over the run
	// PercentClock compares it with the rate of two FMA units of the tier's width at the clock
	// measured right after it; 0 if the number of units is unknown.
	PercentClock float64 `json:"percent_clock"`
	StreamGB     float64 `json:"stream_gb_per_s"` // triad from memory, in GB/s
}

// Bandwidth is the rate of streams from and to a memory level, over all threads.
type Bandwidth struct {
	Level   string  `json:"level"` // L1, L2, L3 or memory
	Bytes   int     `json:"bytes"` // of the arrays: per thread in L1 and L2, of all threads in L3 and memory
	Tier    string  `json:"tier"`
	Threads int     `json:"threads"`
	Read    float64 `json:"read_gb_per_s"`
	Write   float64 `json:"write_gb_per_s"`
	Triad   float64 `json:"triad_gb_per_s"`
}

// Result is one row: a piece of work on a tier and a number of threads.
type Result struct {
	Suite   string         `json:"suite"`
	Name    string         `json:"name"`
	Shape   string         `json:"shape"` // as in m=128,k=784,n=784
	Params  map[string]int `json:"params"`
	Tier    string         `json:"tier"`
	Threads int            `json:"threads"`

	Calls         int        `json:"calls"`       // of the work in a repetition
	Repetitions   int        `json:"repetitions"` // spread over the whole run
	SecondsMedian float64    `json:"seconds_median"`
	SecondsCI     [2]float64 `json:"seconds_ci"` // 95% interval of the median
	Samples       []float64  `json:"samples"`    // seconds per call, of every repetition
	Peaks         []float64  `json:"peaks"`      // flop/s of the FMA units: the median of each pass
	Outliers      int        `json:"outliers"`   // repetitions beyond 1.5 interquartile ranges; they are kept

	// Work of a call; 0 if not applicable.
	Flop  float64 `json:"flop"`
	Bytes float64 `json:"bytes"` // operands and results, counted once each
	Items float64 `json:"items"` // images, rows

	GFlops      float64 `json:"gflops"`
	PercentPeak float64 `json:"percent_peak"` // of the peak measured beside it
	// Repetitions during which no sibling hyperthread was busy (0 if unknown), and their share
	// of the peak right before them (0 if they are fewer than 6).
	Alone            int     `json:"alone"`
	PercentPeakAlone float64 `json:"percent_peak_alone"`
	GBPerS           float64 `json:"gb_per_s"`
	SamplesPerSecond float64 `json:"samples_per_second"`
	// PercentBound is the share of the roofline: the lower of the peak and the bandwidth of the
	// level that holds operands and results, times flop per byte.
	PercentBound float64 `json:"percent_bound"`
	Bound        string  `json:"bound"` // peak, or the memory level that limits

	// The route of the ascent (suites ascent-sparse and train). In ascent-sparse also, per row:
	// components whose q_i was computed, those with a responsibility above 0, and on the sparse
	// route the bounds that were refreshed.
	Route     string      `json:"route,omitempty"`
	Evaluated *Components `json:"evaluated_components,omitempty"`
	Active    *Components `json:"active_components,omitempty"`
	Bounds    *Components `json:"refreshed_bounds,omitempty"`

	Phases []Phase `json:"phases,omitempty"` // of suite train, if Settings.Phases

	Check string   `json:"check"` // what was compared with the reference before timing
	Marks []string `json:"marks"` // why the row is unreliable
}

// Share is a share of a limit to print: 0, for none, if it is above 100% in a marked row, whose limit was disturbed.
func (r *Result) Share(percent float64) float64 {
	if percent > 100 && len(r.Marks) > 0 {
		return 0
	}
	return percent
}

// Width is the larger half-width of an interval around its median, relative to the median.
func Width(median float64, ci [2]float64) float64 {
	return max(ci[1]-median, median-ci[0]) / median
}

// PerThread returns the bytes of the arrays of a thread.
func (b *Bandwidth) PerThread() int {
	if shared(b.Level) {
		return b.Bytes / max(b.Threads, 1)
	}
	return b.Bytes
}

// ID names a row.
func (r *Result) ID() string {
	return fmt.Sprintf("%s/%s/%s/%s/threads=%d", r.Suite, r.Name, r.Tier, r.Shape, r.Threads)
}

// maxReport is the size of a file beyond which it cannot be a Report.
const maxReport = 256 << 20

// ReadReport reads the JSON of a Report.
func ReadReport(path string) (*Report, error) {
	b, err := regular.ReadFile(path, maxReport)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, regular.Cause(err))
	}
	return parseReport(path, b)
}

// parseReport is ReadReport on the content of a file.
func parseReport(path string, b []byte) (*Report, error) {
	var head struct {
		Format  *int             `json:"format"`
		Results *json.RawMessage `json:"results"`
	}
	err := json.Unmarshal(b, &head)
	if other, ok := errors.AsType[*json.UnmarshalTypeError](err); ok && other.Field == "" ||
		err == nil && (head.Format == nil || head.Results == nil) {
		return nil, fmt.Errorf("%s: no JSON of dpnbench bench: expected an object with the keys format and results",
			path)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: no JSON of dpnbench bench: %w", path, format.JSONError(err))
	}
	if *head.Format != Format {
		return nil, fmt.Errorf("%s: format %d, expected %d: written by another version of dpnbench", path, *head.Format,
			Format)
	}
	r := &Report{}
	if err := json.Unmarshal(b, r); err != nil {
		return nil, fmt.Errorf("%s: no JSON of dpnbench bench: %w", path, format.JSONError(err))
	}
	seen := map[string]bool{}
	for i := range r.Results {
		row := &r.Results[i]
		if !slices.Contains(Suites(), row.Suite) {
			return nil, fmt.Errorf("%s: results[%d]: suite %q, expected one of %s", path, i, row.Suite,
				strings.Join(Suites(), ", "))
		}
		if seen[row.ID()] {
			return nil, fmt.Errorf("%s: results[%d]: %s twice", path, i, row.ID())
		}
		seen[row.ID()] = true
		if len(row.Samples) == 0 {
			return nil, fmt.Errorf("%s: results[%d] (%s): no samples", path, i, row.ID())
		}
		if len(row.Peaks) != len(row.Samples) {
			return nil, fmt.Errorf("%s: results[%d] (%s): %d peaks for %d samples", path, i, row.ID(), len(row.Peaks),
				len(row.Samples))
		}
		for _, s := range slices.Concat(row.Samples, row.Peaks) {
			if !(s > 0) {
				return nil, fmt.Errorf("%s: results[%d] (%s): a sample of %v, expected more than 0", path, i, row.ID(),
					s)
			}
		}
	}
	return r, nil
}
