package reproduce

import (
	"fmt"
	"slices"

	"dpnbench/dpn/separation"
)

// Verdicts on a claim.
const (
	Reproduced    = "reproduced"
	OnlyByTheirs  = "reproduced only under their protocol"
	NotReproduced = "not reproduced"
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

	// PublishedValues and MeasuredValues are the numbers in Published and Measured.
	PublishedValues []Quantity `json:"published_values"`
	MeasuredValues  []Quantity `json:"measured_values"`
}

// Results holds the experiments that have run; the others are nil.
type Results struct {
	// MNIST says that the data were the complete MNIST ([IsMNIST]). The documents report on
	// nothing else, so on other images no claim is judged, but those about the law on Fashion-MNIST.
	MNIST bool `json:"mnist"`

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
var statements = slices.Concat(table1Statements, lawStatements, ascentStatements, posterStatements,
	costStatements, otherStatements)

// Claims returns every claim of the documents with its verdict. The verdict is "untested", with
// the reason, if the experiment has not run, ran on data other than MNIST, or does not exist.
func Claims(r Results) []Claim {
	var out []Claim
	for _, s := range statements {
		j := s.judge(r)
		argued := s.judge(Results{}).verdict != "" // without an experiment
		if j.verdict != "" && !argued && !j.own && !r.MNIST {
			j.verdict, j.why = Untested, "The data were not MNIST (70,000 images), which the documents used."
		}
		if j.verdict == "" {
			j.verdict = Untested
		}
		if j.why == "" {
			j.why = "The experiment that measures it was not part of this run."
		}
		published, measured := values(s.id, j.numbers)
		out = append(out, Claim{s.id, s.source, s.text, s.protocol, s.published, j.measured, j.ci, j.verdict, j.why,
			published, measured})
	}
	return out
}

// Documents and protocols.
const (
	paper    = "paper"
	overview = "overview"
	poster   = "poster"

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

// untested is the judgement of a claim that no experiment measures.
func untested(why string) func(Results) judged {
	return func(Results) judged { return judged{why: why} }
}

// rangeOf returns the range of a spread as an interval.
func rangeOf(s Spread) []separation.Float { return []separation.Float{s.Least, s.Greatest} }

// leastSeeds is the smallest number of seeds whose range is compared with a published figure.
const leastSeeds = 3

// tooFew reports a figure from fewer seeds than leastSeeds.
func tooFew(s Spread, format string) judged {
	return judged{measured: fmt.Sprintf("%s from %d of at least %d seeds", s.text(format), s.Seeds, leastSeeds),
		numbers: numbers(s.Median),
		why:     "The range over so few seeds is not meaningful."}
}

// enclosed judges whether the range over seeds contains the published figure, to the printed
// digits.
func enclosed(s Spread, published, digit float64, why string) judged {
	if s.Seeds < leastSeeds {
		return tooFew(s, "%.4g")
	}
	j := judged{measured: fmt.Sprintf("%.4g (%s over %d seeds)", float64(s.Median), s.text("%.4g"), s.Seeds),
		numbers: numbers(s.Median), ci: rangeOf(s), verdict: NotReproduced, why: why}
	s.Least -= separation.Float(digit / 2)
	s.Greatest += separation.Float(digit / 2)
	if s.Encloses(published) {
		j.verdict = OnlyByTheirs
	}
	return j
}

// printed judges whether a figure agrees with the published one, to the printed digits.
func printed(v, published, digit float64, why string) judged {
	j := judged{measured: fmt.Sprintf("%.4g", v), numbers: numbers(v), verdict: NotReproduced, why: why}
	if v-published <= digit/2 && published-v <= digit/2 {
		j.verdict = OnlyByTheirs
	}
	return j
}
