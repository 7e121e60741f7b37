package report

import (
	"errors"
	"fmt"

	"dpnbench/dpn/layer"
	"dpnbench/internal/format"
	"dpnbench/plot"
)

// confusion is the figure of predictions by class.
func (a Analysis) confusion() (Shown, error) {
	by := a.Study.ByClass
	if by.Confusion == nil {
		return Shown{}, fmt.Errorf("there are %d classes", len(by.Classes))
	}
	if a.Study.Wrong == 0 {
		return Shown{}, errors.New(a.text().Say("confusion missing"))
	}
	return Shown{Figure: plot.Confusion{Title: a.title(a.text().Say("confusion title")), Counts: by.Confusion,
		Classes: a.classes()},
		Caption: a.text().Say("confusion caption"), Alt: a.confusedSentence()}, nil
}

// confusedSentence says which class is most often taken for which other one.
func (a Analysis) confusedSentence() string {
	class, taken, most := 0, 0, 0
	by := a.Study.ByClass
	if by.Confusion == nil && a.Study.Wrong > 0 {
		return ""
	}
	for y, row := range by.Confusion {
		for p, n := range row {
			if p != y && n > most {
				class, taken, most = y, p, n
			}
		}
	}
	return a.text().Say("classes confused", "class", layer.Named(label(by, class)), "taken", label(by, taken),
		"images", most, "wrong", a.Study.Wrong)
}

// label is what a class is called.
func label(by layer.ByClass, class int) string { return format.Printable(by.Classes[class].Label()) }

// classesText says which class is recognised worst, if they differ, which two are confused most, and how the numbers of
// images differ.
func (a Analysis) classesText() Text {
	by := a.Study.ByClass
	lowest, highest := by.Lowest(), by.Highest()
	t := a.text().Say("classes range", "class", layer.Named(label(by, lowest.Class)), "accuracy", *lowest.Accuracy,
		"ci", *lowest.CI, "samples", lowest.Samples, "highest", *highest.Accuracy,
		"best", layer.Named(label(by, highest.Class)))
	t += " " + a.confusedSentence()
	if by.Uneven() {
		least, most := by.Sizes()
		t += " " + a.text().Say("classes uneven", "least", least, "most", most, "accuracy", a.Study.Accuracy,
			"balanced", by.Balanced)
	}
	return Text(t)
}

// mostListed is the largest number of classes in the table.
const mostListed = 256

// classTable lists the accuracy of every class.
func (a Analysis) classTable() Table {
	t := Table{Caption: a.text().Say("class table"), Columns: []Column{{Name: "class"}, {a.samples(), true},
		{"right", true}, {"accuracy", true}, {"95% interval", true}, {"most often taken for", true}}}
	by := a.Study.ByClass
	for y, s := range by.Classes {
		if y == mostListed {
			t.Caption += fmt.Sprintf("; the first %d of %s classes", mostListed, format.Thousands(len(by.Classes)))
			break
		}
		row := []string{label(by, y), format.Thousands(s.Samples), format.Thousands(s.Right), "–", "–", "–"}
		if s.Accuracy != nil {
			row[3], row[4] = percent(*s.Accuracy), percentInterval(*s.CI)
		}
		most := 0
		for p := range by.Confusion {
			if n := by.Confusion[y][p]; p != y && n > most {
				most, row[5] = n, fmt.Sprintf("%s (%s)", label(by, p), format.CountThousands(n, a.sample()))
			}
		}
		t.Rows = append(t.Rows, Row{Cells: row})
	}
	return t
}
