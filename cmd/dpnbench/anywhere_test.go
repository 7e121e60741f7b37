//go:build unix

package main

import (
	"bytes"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dpnbench/dpn"
	"dpnbench/internal/longtest"
)

// TestInterruptAnywhere interrupts commands that would take minutes or hours, at random moments of their
// first seconds. A phase that does not notice the signal shows as a test that does not end. No temporary
// file and no finished page may be left.
func TestInterruptAnywhere(t *testing.T) {
	long(t)
	heed()
	dir := t.TempDir()
	pixels, features := filepath.Join(dir, "pixels"), filepath.Join(dir, "features")
	base := []string{"train", "--data", "digits", "--train-size", "300", "--test-size", "2000", "--epochs",
		"1", "--quiet"}
	succeed(t, with(base, "--preset", "paper", "--components", "10", "--out", pixels)...)
	succeed(t, with(base, "--preset", "compact", "--out", features)...)
	pixels, features = filepath.Join(pixels, dpn.ModelFile), filepath.Join(features, dpn.ModelFile)
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	const ages = "100000" // steps
	latest, few := 3*time.Second, []string{"training", "evaluation", "robust"}
	if !longtest.Asked() {
		latest = time.Second
	}
	for name, args := range map[string][]string{
		"drawing digits": {"train", "--data", "digits", "--train-size", "300000", "--preset", "published"},
		"k-means": {"train", "--data", "digits", "--train-size", "20000", "--preset", "raw", "--init", "kmeans",
			"--components", "1500"},
		"EM": {"train", "--data", "digits", "--train-size", "20000", "--preset", "raw", "--init", "em",
			"--em-iterations", "1000", "--components", "200"},
		"training":               {"train", "--data", "digits", "--preset", "paper", "--epochs", "1000"},
		"training, convolutions": {"train", "--data", "digits", "--preset", "clean", "--epochs", "1000"},
		"evaluation":             {"eval", "--model", pixels, "--steps", ages},
		"prediction":             {"predict", "--model", pixels, "--steps", ages},
		"the suite":              {"eval", "--model", pixels, "--steps", "1000", "--suite", "robustness"},
		"denoising":              {"denoise", "--model", pixels, "--corrupt", "gaussian:0.5", "--steps", ages},
		"analysis of pixels":     {"analyze", "--model", pixels, "--steps", "1000"},
		"analysis of features":   {"analyze", "--model", features, "--steps", ages},
		"uncertainty":            {"uncertainty", "--model", pixels, "--steps", ages},
		"mala":                   {"sample", "--model", pixels, "--method", "mala", "--steps", "1000000", "--n", "500"},
		"ascent of samples":      {"sample", "--model", pixels, "--ascent-steps", ages, "--n", "500"},
		"table 1":                {"reproduce", "table1", "--data", "digits"},
		"field":                  {"reproduce", "field", "--data", "digits"},
		"law":                    {"reproduce", "law", "--data", "digits"},
		"robust":                 {"reproduce", "robust", "--data", "digits"},
		"poster":                 {"reproduce", "poster", "--data", "digits"},
		"check":                  {"check"},
		"bench":                  {"bench"},
		"demo":                   {"demo"},
	} {
		if !longtest.Asked() && !slices.Contains(few, name) {
			continue
		}
		out := filepath.Join(dir, "out")
		if args = with(args, "--quiet"); args[0] != "eval" && args[0] != "check" && args[0] != "bench" {
			args = append(args, "--out", out)
		}
		c := process(t, args)
		var errs bytes.Buffer
		c.Stderr = &errs
		begin(t, c)
		time.Sleep(100*time.Millisecond + time.Duration(random.Int64N(int64(latest))))
		begun := time.Now()
		if err := c.Process.Signal(os.Interrupt); err != nil {
			t.Errorf("%s: had ended before the signal: %v", name, err)
		}
		c.Wait()
		used := c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		t.Logf("%s: ended after %v (%v of CPU time in all)", name, time.Since(begun).Round(time.Millisecond), used)
		if got := c.ProcessState.ExitCode(); got != exitInterrupted || !strings.Contains(errs.String(), "interrupted") {
			t.Errorf("%s: status %d, want %d: %s", name, got, exitInterrupted, errs.String())
		}
		filepath.WalkDir(out, func(path string, e fs.DirEntry, _ error) error {
			if e != nil && !e.IsDir() && (strings.HasPrefix(e.Name(), ".") || e.Name() == pageFile) {
				t.Errorf("%s: left %s", name, path)
			}
			return nil
		})
		if err := os.RemoveAll(out); err != nil {
			t.Fatal(err)
		}
	}
}
