package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/dpn/baseline"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/internal/format"
	"dpnbench/internal/sysinfo"
)

// mnistcScores is what the JSON of eval says of MNIST-C.
type mnistcScores struct {
	Baseline string      `json:"baseline"` // the row whose errors are those of the ratios
	Rows     []mnistcRow `json:"rows"`     // of the model, of --baseline if there is one, published ones
}

// mnistcRow is a network on MNIST-C. Scores against the baseline are null where its error is not above 0.
type mnistcRow struct {
	Name              string             `json:"name"`
	Source            string             `json:"source,omitempty"`
	Clean             float64            `json:"clean_accuracy"`
	Accuracy          map[string]float64 `json:"accuracy"`
	Mean              float64            `json:"mean_accuracy"`
	MCE               separation.Float   `json:"mce"` // mean of ratios, 1 for the baseline
	SummedMCE         separation.Float   `json:"mce_of_sums"`
	RelativeMCE       separation.Float   `json:"relative_mce"`
	SummedRelativeMCE separation.Float   `json:"relative_mce_of_sums"`
}

// arrays returns the folder of MNIST-C's arrays if these are the data.
func (v *evaluation) arrays() (folder string, ok bool) { return source.MNISTCFolder(v.data.data) }

// mnistc says whether the model is evaluated on MNIST-C.
func (v *evaluation) mnistc() bool {
	_, ok := v.arrays()
	return ok || v.suite == "mnist-c"
}

// scoreOn evaluates n on the images of s as c corrupts them, or on those of MNIST-C's arrays.
func (v *evaluation) scoreOn(ctx context.Context, e *engine.Engine, n dpn.Ensemble, s *dataset.Set,
	c dataset.Corruption) (dpn.Score, error) {
	folder, ok := v.arrays()
	if !ok {
		return n.ScoreCorrupted(ctx, e, s, c, v.corruptSeed)
	}
	opt := source.Options{Memory: sysinfo.AvailableMemory(), Classes: n[0].Classes}
	if err := addReading(&opt, v.data.reading); err != nil {
		return dpn.Score{}, err
	}
	images, err := source.OpenMNISTC(ctx, folder, kindOf(c).MNISTC(), s, opt)
	if err != nil {
		return dpn.Score{}, err
	}
	return n.Score(ctx, e, images)
}

// kindOf returns the kind of a corruption, which is one.
func kindOf(c dataset.Corruption) dataset.CorruptionKind {
	for _, k := range dataset.CorruptionKinds() {
		if k.Name == c.Name {
			return k
		}
	}
	panic("no corruption " + c.Name)
}

// onMNISTC returns accuracies on MNIST-C by the names that it has there.
func onMNISTC(name string, clean float64, scores []corruptionScore) baseline.MNISTC {
	m := baseline.MNISTC{Name: name, Clean: clean, Corrupted: map[string]float64{}}
	for _, s := range scores {
		m.Corrupted[kindOf(dataset.Corruption{Name: s.Name}).MNISTC()] = s.Accuracy
	}
	return m
}

// loadBaseline returns the model of --baseline, nil without it. It has the classes of the model that is
// evaluated, by which labels are numbered.
func (v *evaluation) loadBaseline(model *dpn.Model) (*dpn.Model, error) {
	if v.baseline == "" {
		return nil, nil
	}
	if !v.mnistc() {
		return nil, fmt.Errorf("--baseline %s: only with --suite mnist-c or --data mnist-c:FOLDER", v.baseline)
	}
	m, err := v.loadModel("baseline", v.baseline)
	if err != nil {
		return nil, err
	}
	if !slices.Equal(m.Classes, model.Classes) {
		return nil, fmt.Errorf("--baseline %s: expected a model of the same classes as %s, in their order", v.baseline,
			v.model.path)
	}
	return m, nil
}

// compare returns the rows of the model, of the baseline base unless that is nil, and the published ones.
func (v *evaluation) compare(ctx context.Context, e *engine.Engine, model baseline.MNISTC, base *dpn.Model,
	images *dataset.Set) (*mnistcScores, error) {
	rows, against := []baseline.MNISTC{model}, baseline.PublishedMNISTC()[0]
	if base != nil {
		clean, err := base.Score(ctx, e, images)
		if err != nil {
			return nil, fmt.Errorf("--baseline %s: %w", v.baseline, err)
		}
		scores, err := v.score(ctx, e, dpn.Ensemble{base}, images, dataset.MNISTCSuite())
		if err != nil {
			return nil, fmt.Errorf("--baseline %s: %w", v.baseline, err)
		}
		against = onMNISTC("baseline", clean.Accuracy, scores)
		against.Source = v.baseline
		rows = append(rows, against)
	}
	all := &mnistcScores{Baseline: against.Name}
	for _, m := range append(rows, baseline.PublishedMNISTC()...) {
		s := m.Scores(against)
		all.Rows = append(all.Rows, mnistcRow{m.Name, m.Source, m.Clean, m.Corrupted, s.Mean, separation.Float(s.MCE),
			separation.Float(s.SummedMCE), separation.Float(s.RelativeMCE), separation.Float(s.SummedRelativeMCE)})
	}
	return all, nil
}

// printMNISTC prints a column for each network, tested on n images of that name.
func (v *evaluation) printMNISTC(s *mnistcScores, images string, n int) {
	head := []string{"MNIST-C, accuracy"}
	for _, r := range s.Rows {
		head = append(head, r.Name)
	}
	table, undefined := [][]string{head}, false
	add := func(name string, of func(r mnistcRow) separation.Float) {
		line := []string{name}
		for _, r := range s.Rows {
			cell := "-"
			if x := of(r); x.IsFinite() {
				cell = fmt.Sprintf("%.2f%%", 100*float64(x))
			} else {
				undefined = true
			}
			line = append(line, cell)
		}
		table = append(table, line)
	}
	add("clean", func(r mnistcRow) separation.Float { return separation.Float(r.Clean) })
	for _, name := range baseline.MNISTCNames() {
		add(strings.ReplaceAll(name, "_", " "), func(r mnistcRow) separation.Float {
			return separation.Float(r.Accuracy[name])
		})
	}
	add("mean of the corruptions", func(r mnistcRow) separation.Float { return separation.Float(r.Mean) })
	add("mCE, mean of ratios", func(r mnistcRow) separation.Float { return r.MCE })
	add("mCE, ratio of sums", func(r mnistcRow) separation.Float { return r.SummedMCE })
	add("relative mCE, mean of ratios", func(r mnistcRow) separation.Float { return r.RelativeMCE })
	add("relative mCE, ratio of sums", func(r mnistcRow) separation.Float { return r.SummedRelativeMCE })
	v.table(table)
	if undefined {
		v.printf("-: not defined, because under a corruption %s makes no more errors than on clean images, or none\n",
			s.Baseline)
	}
	made := fmt.Sprintf("corrupted by seed %d", v.corruptSeed)
	if folder, ok := v.arrays(); ok {
		made = "the arrays of " + format.Printable(folder)
	}
	v.printf("%s; errors of mCE against: %s; published: %s\n", made, s.Baseline,
		baseline.PublishedMNISTC()[0].Source)
	if _, arrays := v.arrays(); !arrays && (images != "mnist" || v.split != "test" || n < 10000) {
		v.printf("the published networks were tested on MNIST's 10,000 test images: compare them only if these, %s of "+
			"%s, are the same\n", format.CountThousands(n, "image"), format.Printable(images))
	}
}
