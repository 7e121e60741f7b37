package reproduce

import (
	"fmt"
	"slices"

	"dpnbench/dpn/separation"
	"dpnbench/internal/format"
)

// Verdicts on a claim.
const (
	Reproduced    = "reproduced"
	InPart        = "reproduced in part"
	OnlyByTheirs  = "reproduced only under their protocol"
	BeyondTheirs  = "reproduced only beyond their protocol"
	NotReproduced = "not reproduced"
	NotTestable   = "not testable" // a forecast, or an assertion without anything to measure
	Untested      = "untested"
)

// Claim is a statement of the documents with its verdict.
type Claim struct {
	ID        string             `json:"id"`
	Source    string             `json:"source"`    // document and section
	Statement string             `json:"statement"` // summarised
	Protocol  string             `json:"protocol"`  // of the measurement
	Published string             `json:"published"`
	Measured  string             `json:"measured"`
	CI        []separation.Float `json:"ci"` // interval, or range over seeds, of the measurement; null: none
	Verdict   string             `json:"verdict"`
	Why       string             `json:"why"` // one sentence

	// PublishedValues are the numbers in Published, and MeasuredValues those of the measurement: of a range over
	// seeds the median, of several tasks how many.
	PublishedValues []Quantity `json:"published_values"`
	MeasuredValues  []Quantity `json:"measured_values"`
}

// Results holds the experiments that have run; the others are nil.
type Results struct {
	// MNIST says that the data were the complete MNIST ([IsMNIST]). The documents report on
	// nothing else, so on other images no claim is judged, but those about the law on Fashion-MNIST.
	MNIST bool `json:"mnist"`

	// Epochs is the length of every training if it is not that of the protocols: then no claim is judged.
	Epochs int `json:"-"`

	Table1  *Table1    `json:"table1,omitempty"`
	Law     *LawResult `json:"law,omitempty"`
	Trained *Trained   `json:"trained,omitempty"`
	Poster  *Poster    `json:"poster,omitempty"`
	Field   *Field     `json:"field,omitempty"`
	Robust  *Robust    `json:"robust,omitempty"`
}

// judged is the judgement of a claim by an experiment. An empty verdict means none.
type judged struct {
	measured string
	numbers  []float64 // of measured, with the labels in quantities
	ci       []separation.Float
	verdict  string
	why      string
	own      bool // the data are those of the claim's own source: it is judged whatever Results.MNIST says
}

// statement is a claim before it is judged. judge is called with all results.
type statement struct {
	id, source, text, protocol, published string
	judge                                 func(r Results) judged
}

// statements lists all claims, in the order of the report.
var statements = slices.Concat(table1Statements, separationStatements, lawStatements, ascentStatements,
	fieldStatements, learningStatements, posterStatements, costStatements, otherStatements)

// Claims returns every claim of the documents with its verdict. The verdict is "untested", with
// the reason, if the experiment has not run, ran on data other than MNIST, or trained for other numbers of
// epochs than its protocol says. Results of robust add its comparisons.
func Claims(r Results) []Claim {
	var out []Claim
	list := statements
	if r.Robust != nil {
		list = slices.Concat(statements, robustStatements)
	}
	for _, s := range list {
		j := s.judge(r)
		argued := s.judge(Results{}).verdict != "" // without an experiment
		measured := (j.verdict != "" || j.measured != "") && !argued
		switch {
		case measured && !j.own && !r.MNIST:
			j.verdict, j.why = Untested, "The data were not MNIST (70,000 images), which the documents used."
		case measured && r.Epochs > 0:
			j.verdict = Untested
			j.why = fmt.Sprintf("Trainings had %s (--epochs), unlike the protocol's.", format.Count(r.Epochs, "epoch"))
		}
		if j.verdict == "" {
			j.verdict = Untested
		}
		if j.why == "" {
			j.why = "The experiment that measures it was not part of this run."
		}
		published, found := values(s.id, j.numbers)
		out = append(out, Claim{s.id, s.source, s.text, s.protocol, s.published, j.measured, j.ci, j.verdict, j.why,
			published, found})
	}
	return out
}

// inAll is the verdict on a claim that holds in n of all cases.
func inAll(n, all int) string {
	switch n {
	case all:
		return Reproduced
	case 0:
		return NotReproduced
	}
	return InPart
}

// Documents and protocols.
const (
	paper    = "paper"
	overview = "overview"
	poster   = "poster"

	section21 = paper + ", section 2.1"
	section33 = paper + ", section 3.3"
	section41 = paper + ", section 4.1"
	section42 = paper + ", section 4.2"
	section43 = paper + ", section 4.3"

	first32  = "first 32 test images, 10 steps, untrained potential"
	allTests = "all test images, 30 steps, untrained potential, several seeds of k-means"
	asAbove  = "as above"
)

// on judges by one experiment; without it there is no verdict.
func on[T any](experiment func(Results) *T, judge func(*T) judged) func(Results) judged {
	return func(r Results) judged {
		if x := experiment(r); x != nil {
			return judge(x)
		}
		return judged{}
	}
}

func onTable1(judge func(*Table1) judged) func(Results) judged {
	return on(func(r Results) *Table1 { return r.Table1 }, judge)
}

func onTrained(judge func(*Trained) judged) func(Results) judged {
	return on(func(r Results) *Trained { return r.Trained }, judge)
}

func onLaw(judge func(*LawResult) judged) func(Results) judged {
	return on(func(r Results) *LawResult { return r.Law }, judge)
}

func onPoster(judge func(*Poster) judged) func(Results) judged {
	return on(func(r Results) *Poster { return r.Poster }, judge)
}

func onField(judge func(*Field) judged) func(Results) judged {
	return on(func(r Results) *Field { return r.Field }, judge)
}
