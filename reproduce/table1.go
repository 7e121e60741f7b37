package reproduce

import (
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/study"
	"dpnbench/engine"
	"dpnbench/report"
)

// The protocol of the paper's Table 1, inferred from its figures. It differs from section 2.2,
// which names a trained network and 30 steps.
const (
	table1Images = 32 // the first test images
	table1Steps  = 10 // ascent steps

	paperSteps = 30 // ascent steps of section 2.2
)

// Table1Options are the settings of RunTable1. The zero value is ready to use.
type Table1Options struct {
	Seeds   int // number of seeds 1, 2, ... of k-means (0: 20)
	Trained int // how many of them also train the classifier, for the row of the logits (0: all)
	Whole   int // how many of them are also measured on all test images (0: 5)
	Draws   int // bootstrap draws for intervals (0: 400)
	Subsets int // subsets of each size, for D against the number of images (0: 20)
	Epochs  int // of the classifiers (0: as in the preset)

	Progress Progress
	Parts    *Parts // where finished seeds are kept; nil: nowhere
}

// Table1 holds the paper's Table 1 (and the figures around it) measured with its own protocol,
// and on all test images over the 30 steps of section 2.2.
type Table1 struct {
	Data   string `json:"data"`
	Images int    `json:"images"` // all test images

	// Few is measured on the first 32 test images after 10 steps; Whole on all test images after
	// each of 30 steps, with sampling errors. The first of Whole also has D against the number
	// of images. Long is Few after the 30 steps of section 2.2.
	Few   []Placement `json:"few"`
	Long  []Placement `json:"long"`
	Whole []Placement `json:"whole"`

	// Walk shows the first placement, if its classifier was trained.
	Walk *report.Walk `json:"-"`
}

// Placement is the published network with the centres that k-means finds from one seed.
type Placement struct {
	Seed uint64 `json:"seed"`
	// Trained says whether the classifier was trained; otherwise its logits carry no meaning.
	// TestAccuracy and TestLoss are those of the trained classifier.
	Trained      bool    `json:"trained"`
	TestAccuracy float64 `json:"test_accuracy"`
	TestLoss     float64 `json:"test_loss"`

	Analysis *study.Analysis `json:"analysis"`

	// Classified says how well classes can be told after some of the steps; nil but for Whole.
	Classified []Classified `json:"classified,omitempty"`
}

// RunTable1 repeats Table 1 on data, which must be MNIST to compare with the paper.
func RunTable1(ctx context.Context, e *engine.Engine, data *dataset.Data, o Table1Options) (*Table1, error) {
	for v, d := range map[*int]int{&o.Seeds: rangeSeeds, &o.Whole: 5, &o.Draws: 400, &o.Subsets: 20} {
		if *v == 0 {
			*v = d
		}
	}
	if o.Trained == 0 {
		o.Trained = o.Seeds
	}
	if n := data.Test.Len(); n < table1Images {
		return nil, fmt.Errorf("table1: %d test images: expected at least %d", n, table1Images)
	}
	out := &Table1{Data: data.Name, Images: data.Test.Len()}
	for at := range o.Seeds {
		begin := func() { o.Progress.seed("table1: 32 images", at, o.Seeds, at, o.Seeds) }
		u, err := unit(o.Parts, fmt.Sprintf("table1: seed %d", at+1), begin, func(string) (table1Unit, error) {
			return o.seed(ctx, e, data, at)
		})
		if err != nil {
			return nil, err
		}
		out.Few, out.Long = append(out.Few, u.Few), append(out.Long, u.Long)
		if u.Whole != nil {
			out.Whole = append(out.Whole, *u.Whole)
		}
		if at == 0 {
			out.Walk = u.Walk
		}
	}
	return out, nil
}

// table1Unit is what one seed gives.
type table1Unit struct {
	Few   Placement    `json:"few"`
	Long  Placement    `json:"long"`
	Whole *Placement   `json:"whole,omitempty"`
	Walk  *report.Walk `json:"walk,omitempty"`
}

// seed measures the placement with index at.
func (o *Table1Options) seed(ctx context.Context, e *engine.Engine, data *dataset.Data, at int) (u table1Unit,
	err error) {
	u.Few = Placement{Seed: uint64(at + 1), Trained: at < o.Trained}
	m, err := published(data, u.Few.Seed, table1Steps)
	if err != nil {
		return u, err
	}
	if o.Epochs > 0 {
		m.Config.Epochs = o.Epochs
	}
	if u.Few.Trained {
		if err := trainModel(ctx, e, m, data, ""); err != nil {
			return u, err
		}
		score, err := m.Score(ctx, e, data.Test)
		if err != nil {
			return u, err
		}
		u.Few.TestAccuracy, u.Few.TestLoss = score.Accuracy, score.Loss
		if at == 0 {
			if u.Walk, err = newWalk(ctx, e, m, data.Test); err != nil {
				return u, err
			}
		}
	} else if _, err := m.Init(ctx, e, data.Train); err != nil {
		return u, err
	}
	few := data.Test.Slice(0, table1Images)
	if u.Few.Analysis, err = study.Analyze(ctx, e, m, few, study.AnalyzeOptions{}); err != nil {
		return u, err
	}
	m.Config.Steps = paperSteps
	u.Long = Placement{Seed: u.Few.Seed}
	if u.Long.Analysis, err = study.Analyze(ctx, e, m, few, study.AnalyzeOptions{}); err != nil || at >= o.Whole {
		return u, err
	}
	o.Progress.seed("table1: all test images", at, min(o.Whole, o.Seeds), at, o.Seeds)
	opt := study.AnalyzeOptions{Draws: o.Draws, Seed: 1}
	if at == 0 {
		opt.Subsets = o.Subsets
	}
	u.Whole = &Placement{Seed: u.Few.Seed}
	if u.Whole.Analysis, err = study.Analyze(ctx, e, m, data.Test, opt); err != nil {
		return u, err
	}
	u.Whole.Classified, err = classify(ctx, e, m, data)
	return u, err
}

// published returns the untrained network of the public reference with the given number of
// ascent steps: A_i = I, alpha 0.1, c = 0, centres not yet initialised. Its precisions never
// change and are stored in diagonal form.
func published(data *dataset.Data, seed uint64, steps int) (*dpn.Model, error) {
	c, err := publishedConfig(seed, steps)
	if err != nil {
		return nil, err
	}
	return dpn.New(c, data)
}

func publishedConfig(seed uint64, steps int) (dpn.Config, error) {
	c, err := dpn.Preset("published")
	c.Seed, c.Steps = seed, steps
	c.ValSize = 0 // centres from all training images
	c.Form = potential.FormDiag
	return c, err
}
