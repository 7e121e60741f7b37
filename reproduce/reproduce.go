package reproduce

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/engine"
	"dpnbench/internal/output"
	"dpnbench/internal/stat"
	"dpnbench/report"
)

// Progress is called with what an experiment does next, and with done of all steps.
type Progress func(what string, done, all int)

func (p Progress) at(what string, done, all int) {
	if p != nil {
		p(what, done, all)
	}
}

// seed is at for the seed with index i of n.
func (p Progress) seed(what string, i, n, done, all int) {
	p.at(fmt.Sprintf("%s, seed %d of %d", what, i+1, n), done, all)
}

// digest returns the SHA-256 of images and labels.
func digest(data *dataset.Data) string {
	h := sha256.New()
	for _, s := range []*dataset.Set{data.Train, data.Test} {
		var sample []byte
		for i := range s.Len() {
			sample = s.AppendSample(sample[:0], i)
			h.Write(sample)
		}
		sample = sample[:0]
		for i := range s.Len() {
			sample = s.AppendLabel(sample, i)
		}
		h.Write(sample)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// mnist is the digest of the complete MNIST.
const mnist = "06b0d1f124c4e5fa796686ade41a9b778edacc8622f2195a352ef479ad44fc16"

// IsMNIST reports whether data are MNIST's 60,000 training and 10,000 test images, in order.
func IsMNIST(data *dataset.Data) bool { return digest(data) == mnist }

// fashion is the digest of the complete Fashion-MNIST.
const fashion = "ca3ab2a37f845e1b8ae23cab1b51749a3011ba3bf1d9016176d75cbaabac376f"

// newWalk traces one image of each class and some misclassified ones.
func newWalk(ctx context.Context, e *engine.Engine, m *dpn.Model, images *dataset.Set) (*report.Walk, error) {
	t, err := study.TraceExamples(ctx, e, m, images)
	if err != nil {
		return nil, err
	}
	w := report.NewWalk(m, t, images)
	return &w, nil
}

// StateError says that a training cannot go on from the state that an earlier run has kept of it.
type StateError struct {
	Dir string // folder of the training
	Err error
}

func (e *StateError) Error() string {
	return fmt.Sprintf("%v; if the folder %s is removed, this training starts again", e.Err, e.Dir)
}

func (e *StateError) Unwrap() error { return e.Err }

// trainModel trains m. If there is a folder, it keeps the state of the training there, and goes on from one.
func trainModel(ctx context.Context, e *engine.Engine, m *dpn.Model, data *dataset.Data, dir string) error {
	opt := dpn.FitOptions{Dir: dir, CheckpointInterval: 5 * time.Minute}
	if dir != "" {
		if err := makeFolder(dir); err != nil {
			return err
		}
		output.Finish(dir)
		_, err := os.Stat(filepath.Join(dir, dpn.StateFile))
		opt.Resume = err == nil
	}
	trained := false
	opt.OnUpdate = func(int, int, float64) { trained = true }
	_, err := m.Fit(ctx, e, data.Train, opt)
	var unsaved *dpn.UnsavedError
	switch {
	case errors.As(err, &unsaved) && unsaved.Finished: // it is needed no more
		return nil
	case err != nil && opt.Resume && !trained && ctx.Err() == nil:
		return &StateError{dir, err}
	}
	return err
}

// Spread is a figure over seeds: minimum, median, maximum, mean and standard deviation (NaN for one seed).
type Spread struct {
	Least    separation.Float `json:"least"`
	Median   separation.Float `json:"median"`
	Greatest separation.Float `json:"greatest"`
	Mean     separation.Float `json:"mean"`
	Std      separation.Float `json:"std"`
	Seeds    int              `json:"seeds"`
}

// spread summarises values, one for each seed.
func spread(values []float64) Spread {
	s := slices.Clone(values)
	slices.Sort(s)
	n := len(s)
	if n == 0 {
		nan := separation.Float(math.NaN())
		return Spread{nan, nan, nan, nan, nan, 0}
	}
	var sum, squares float64
	for _, v := range s {
		sum += v
	}
	mean := sum / float64(n)
	for _, v := range s {
		squares += float64((v - mean) * (v - mean))
	}
	return Spread{separation.Float(s[0]), separation.Float(stat.Quantile(s, 0.5)), separation.Float(s[n-1]),
		separation.Float(mean), separation.Float(math.Sqrt(squares / float64(n-1))), n}
}

// Encloses reports whether v lies within the range.
func (s Spread) Encloses(v float64) bool {
	return s.Seeds > 0 && float64(s.Least) <= v && v <= float64(s.Greatest)
}

// text formats the range, or a single number if both ends print alike.
func (s Spread) text(format string) string {
	least, greatest := fmt.Sprintf(format, float64(s.Least)), fmt.Sprintf(format, float64(s.Greatest))
	if least == greatest {
		return least
	}
	return least + " to " + greatest
}

// over returns the spread of a figure over items.
func over[T any](items []T, figure func(T) float64) Spread {
	var values []float64
	for _, i := range items {
		values = append(values, figure(i))
	}
	return spread(values)
}
