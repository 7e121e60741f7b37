package study

import (
	"context"
	"fmt"
	"math"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/uncertainty"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// UncertaintyStudy is what the scores of a model are worth: for telling images of kinds
// that it was not trained on and images that it misclassifies, and whether its
// probabilities are to be believed.
type UncertaintyStudy struct {
	Samples  int     `json:"samples"` // test images
	Accuracy float64 `json:"accuracy"`
	Wrong    int     `json:"wrong"`

	Scores []ConfidenceScore `json:"scores"`

	// Tasks are the sets of unknown images against all test images and, last, the
	// misclassified test images against the others; there is none of those where all or none
	// are classified correctly.
	Tasks []UncertaintyTask `json:"tasks"`

	// Advice names the scores to use. It was chosen on images other than those measured
	// here, if ChosenOn is "validation", or else on "test".
	Advice   UncertaintyAdvice `json:"advice"`
	ChosenOn string            `json:"chosen_on"`
	// MisclassifiedChosenOn says the same of Advice.Misclassified: "test" also where no validation image is
	// misclassified; empty without such an advice.
	MisclassifiedChosenOn string `json:"misclassified_chosen_on"`

	Calibration *CalibrationStudy `json:"calibration"`

	// Known are the scores of the test images, and Unknown the sets that they were compared
	// with, in the order of Tasks.
	Known   *Confidence `json:"-"`
	Unknown []Unknown   `json:"-"`
}

// UncertaintyTask measures how well each score separates known images from unknown ones.
type UncertaintyTask struct {
	Name    string           `json:"name"`
	Meaning string           `json:"meaning"` // what the unknown images are
	Known   int              `json:"known"`
	Unknown int              `json:"unknown"`
	Scores  []ScoreDetection `json:"scores"` // in the order of ConfidenceScores

	// Accepted and Refused are the scores behind each of Scores, oriented as Confidence.Known
	// does, of the known and of the unknown images.
	Accepted [][]float64 `json:"-"`
	Refused  [][]float64 `json:"-"`
}

// Best returns the place of the score with the largest AUROC, the first among equals.
func (t *UncertaintyTask) Best() int {
	best := 0
	for i, s := range t.Scores {
		if s.AUROC > t.Scores[best].AUROC {
			best = i
		}
	}
	return best
}

// ScoreDetection is how well one score does.
type ScoreDetection struct {
	Score string `json:"score"`
	*uncertainty.Detection
	// Limit is Detection.Threshold in the units of the score: 95% of the known images have
	// it or more (or less, where the score falls). It is null where it is not finite.
	Limit separation.Float `json:"threshold"`
}

// UncertaintyAdvice names a score for each purpose.
type UncertaintyAdvice struct {
	Unknown string `json:"unknown"` // the largest mean AUROC over the unknown sets
	// Misclassified has the largest AUROC for misclassified images; empty where there were none.
	Misclassified string `json:"misclassified"`
}

// CalibrationStudy is the calibration on the test images, before and after the logits are
// divided by a temperature that was fitted to other images.
type CalibrationStudy struct {
	Before *uncertainty.Calibration `json:"before"`
	// After and Temperature are nil without validation images, and if all of these are classified correctly or
	// they are together no better than by chance: no temperature is best then.
	After       *uncertainty.Calibration `json:"after"`
	Temperature *uncertainty.Temperature `json:"temperature"`
}

// Unknown are images of a kind that a model was not trained on.
type Unknown struct {
	Name    string
	Meaning string
	Images  *dataset.Set
	// Corruption, unless it has no name, is done to the images.
	Corruption dataset.Corruption
}

// Unknowns returns the unknown sets that can be made for samples like those of s. For images: as many
// of uniform noise (number first and those that follow under a seed, as dataset.Noise counts
// them), inverted, and rotated by 90 degrees. For vectors: as many with every feature uniform within
// its range in s, and with every feature taken from another sample.
func Unknowns(s *dataset.Set, seed uint64, first int) []Unknown {
	if !s.IsImage() {
		return unknownVectors(s, seed, first)
	}
	return []Unknown{
		{
			"uniform",
			"noise, every level as likely as any other",
			dataset.Noise(seed, first, s.Len(), s.Shape),
			dataset.Corruption{},
		},
		{"inverted", "the same images, every level inverted", s,
			dataset.Corruption{Name: "inverted", Severity: 1}},
		{"rotated", "the same images, rotated by 90 degrees", s, dataset.Corruption{Name: "rotation", Severity: 90}},
	}
}

// unknownVectors is Unknowns for vectors.
func unknownVectors(s *dataset.Set, seed uint64, first int) []Unknown {
	n, d := s.Len(), s.Features
	uniform, shuffled := make([]float32, n*d), make([]float32, n*d)
	order := make([]int32, n)
	for j := range d {
		lo, hi := float32(math.Inf(1)), float32(math.Inf(-1))
		for i := range n {
			lo, hi = min(lo, s.Vector(i)[j]), max(hi, s.Vector(i)[j])
		}
		r := num.NewRand(seed, uint64(first)<<32+uint64(j))
		r.Permutation(order)
		for i := range n {
			uniform[i*d+j] = float32(float64(lo) + float64((float64(hi)-float64(lo))*r.Float64()))
			shuffled[i*d+j] = s.Vector(int(order[i]))[j]
		}
	}
	return []Unknown{
		{"uniform", "noise, every feature uniform within its range", &dataset.Set{Shape: s.Shape, Values: uniform},
			dataset.Corruption{}},
		{"shuffled", "every feature taken from another vector", &dataset.Set{Shape: s.Shape, Values: shuffled},
			dataset.Corruption{}},
	}
}

// mostChoosing is how many images of each unknown set there are for the choice of scores.
const mostChoosing = 2000

// UncertaintyOptions are the settings of MeasureUncertainty. The zero value is ready to use.
type UncertaintyOptions struct {
	Seed uint64 // of the noise
	// Validation, unless nil, are images that the model was not trained on (those of
	// Model.Validation): the temperature is fitted to them, and the scores to advise are
	// chosen with them.
	Validation *dataset.Set
	// Others are images of other sources, and OthersValidation different ones of them for the
	// choice, of each at most one set.
	Others, OthersValidation []Unknown
	// Progress, unless nil, is told how many of the passes over images are done.
	Progress func(done, all int)
}

// MeasureUncertainty measures the scores on the test images s. Scores, AUROC and FPR have the
// same bits on every machine and for every number of threads; see package uncertainty for the
// rest.
func MeasureUncertainty(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set,
	opt UncertaintyOptions) (*UncertaintyStudy, error) {
	if err := m.CheckLabelled(s); err != nil {
		return nil, err
	}
	u := &uncertaintyStudy{ctx: ctx, m: m, e: e, progress: opt.Progress}
	unknowns := append(Unknowns(s, opt.Seed, 0), opt.Others...)
	var choosing []Unknown
	if v := opt.Validation; v != nil && v.Len() > 0 {
		choosing = Unknowns(v.Slice(0, min(v.Len(), mostChoosing)), opt.Seed, s.Len())
		choosing = append(choosing, opt.OthersValidation...)
		u.all = len(choosing) + 1
	}
	u.all += len(unknowns) + 1

	known, tasks, err := u.measure(s, unknowns)
	if err != nil {
		return nil, err
	}
	out := &UncertaintyStudy{
		Samples:     s.Len(),
		Scores:      ConfidenceScores(),
		Tasks:       tasks,
		Known:       known,
		Unknown:     unknowns,
		Advice:      advise(tasks),
		ChosenOn:    "test",
		Calibration: &CalibrationStudy{},
	}
	logits := labelled(m, known, s)
	if out.Calibration.Before, err = uncertainty.Calibrate(logits, 1); err != nil {
		return nil, fmt.Errorf("test images: %w", err)
	}
	out.Accuracy = out.Calibration.Before.Accuracy
	out.Wrong = len(misclassified(e, known, s))
	if out.Advice.Misclassified != "" {
		out.MisclassifiedChosenOn = "test"
	}
	if choosing == nil {
		return out, nil
	}
	held, tasks, err := u.measure(opt.Validation, choosing)
	if err != nil {
		return nil, fmt.Errorf("validation images: %w", err)
	}
	advice := advise(tasks)
	if out.ChosenOn = "validation"; advice.Misclassified != "" {
		out.MisclassifiedChosenOn = "validation"
	} else {
		advice.Misclassified = out.Advice.Misclassified
	}
	out.Advice = advice
	t, err := uncertainty.FitTemperature(labelled(m, held, opt.Validation))
	if err != nil {
		return nil, fmt.Errorf("validation images: %w", err)
	}
	if !t.AtBound {
		out.Calibration.Temperature = t
		out.Calibration.After, err = uncertainty.Calibrate(logits, t.T)
	}
	return out, err
}

// uncertaintyStudy is one run of MeasureUncertainty.
type uncertaintyStudy struct {
	ctx       context.Context
	m         *dpn.Model
	e         *engine.Engine
	progress  func(done, all int)
	done, all int
}

// measure compares the images of s with unknown ones, and those of them that are read
// wrongly with the others.
func (u *uncertaintyStudy) measure(s *dataset.Set, unknowns []Unknown) (*Confidence, []UncertaintyTask, error) {
	known, err := u.scores(Unknown{Images: s})
	if err != nil {
		return nil, nil, err
	}
	all := len(confidenceScores)
	accepted := make([][]float64, all)
	for i := range accepted {
		accepted[i] = known.Known(i)
	}
	var tasks []UncertaintyTask
	for _, x := range unknowns {
		c, err := u.scores(x)
		if err != nil {
			return nil, nil, fmt.Errorf("%s images: %w", x.Name, err)
		}
		t := UncertaintyTask{Name: x.Name, Meaning: x.Meaning, Accepted: accepted}
		for i := range all {
			t.Refused = append(t.Refused, c.Known(i))
		}
		tasks = append(tasks, t)
	}
	if wrong := misclassified(u.e, known, s); len(wrong) > 0 && len(wrong) < s.Len() {
		t := UncertaintyTask{
			Name:    MisclassifiedTask,
			Meaning: "those of the same " + s.Samples() + " that are misclassified, against those classified correctly",
		}
		for i := range all {
			right, others := apart(accepted[i], wrong)
			t.Accepted, t.Refused = append(t.Accepted, right), append(t.Refused, others)
		}
		tasks = append(tasks, t)
	}
	for i := range tasks {
		if err := tasks[i].detect(); err != nil {
			return nil, nil, err
		}
	}
	return known, tasks, nil
}

// scores computes those of one set.
func (u *uncertaintyStudy) scores(x Unknown) (c *Confidence, err error) {
	if x.Corruption.Name == "" {
		c, err = MeasureConfidence(u.ctx, u.e, u.m, x.Images)
	} else {
		c, err = MeasureConfidenceCorrupted(u.ctx, u.e, u.m, x.Images, x.Corruption, 0) // nothing about them is random
	}
	if u.done++; err == nil && u.progress != nil {
		u.progress(u.done, u.all)
	}
	return c, err
}

// detect measures every score of the task.
func (t *UncertaintyTask) detect() error {
	t.Known, t.Unknown = len(t.Accepted[0]), len(t.Refused[0])
	for i, s := range confidenceScores {
		d, err := uncertainty.Detect(t.Accepted[i], t.Refused[i])
		if err != nil {
			return fmt.Errorf("%s, %s: %w", t.Name, s.Name, err)
		}
		limit := d.Threshold
		if s.Falls {
			limit = -limit
		}
		t.Scores = append(t.Scores, ScoreDetection{Score: s.Name, Detection: d, Limit: separation.Float(limit)})
	}
	return nil
}

// MisclassifiedTask is the name of the task that has no images of its own.
const MisclassifiedTask = "misclassified"

// misclassified returns the images of s that are misclassified, in order.
func misclassified(e *engine.Engine, c *Confidence, s *dataset.Set) (at []int) {
	predicted := make([]int32, s.Len())
	e.ArgMax(predicted, c.Logits)
	for i, y := range s.Labels {
		if predicted[i] != int32(y) {
			at = append(at, i)
		}
	}
	return at
}

// apart returns the values at other places than those of at, which are in order, and those
// there.
func apart(values []float64, at []int) (others, there []float64) {
	for i, v := range values {
		if len(at) > 0 && at[0] == i {
			there, at = append(there, v), at[1:]
		} else {
			others = append(others, v)
		}
	}
	return others, there
}

// advise chooses a score for each purpose, the first one among equals.
func advise(tasks []UncertaintyTask) (a UncertaintyAdvice) {
	best := 0.0
	for i, s := range confidenceScores {
		sum := 0.0
		for _, t := range tasks {
			if t.Name != MisclassifiedTask {
				sum += t.Scores[i].AUROC
			}
		}
		if i == 0 || sum > best {
			a.Unknown, best = s.Name, sum
		}
	}
	if t := tasks[len(tasks)-1]; t.Name == MisclassifiedTask {
		a.Misclassified = confidenceScores[t.Best()].Name
	}
	return a
}

func labelled(m *dpn.Model, c *Confidence, s *dataset.Set) uncertainty.Logits {
	return uncertainty.Logits{X: c.Logits.Data, Classes: len(m.Classes), Labels: s.Labels}
}
