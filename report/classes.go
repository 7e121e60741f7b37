package report

import (
	"fmt"

	"dpnbench/internal/format"
	"dpnbench/plot"
)

// confusion is the figure of predictions by class.
func (a Analysis) confusion() (Shown, error) {
	by := a.Study.ByClass
	return Shown{Figure: plot.Confusion{Title: a.title(text.Say("confusion title")), Counts: by.Confusion},
		Caption: text.Say("confusion caption"), Alt: a.confusedSentence()}, nil
}

// confusedSentence says which class is most often taken for which other one.
func (a Analysis) confusedSentence() string {
	class, taken, most := 0, 0, 0
	for y, row := range a.Study.ByClass.Confusion {
		for p, n := range row {
			if p != y && n > most {
				class, taken, most = y, p, n
			}
		}
	}
	return text.Say("classes confused", "class", class, "taken", taken, "images", most, "wrong", a.Study.Wrong)
}

// classesText says which class is recognised worst, if they differ, which two are confused most, and how the numbers of
// images differ.
func (a Analysis) classesText() Text {
	by := a.Study.ByClass
	lowest, highest := by.Lowest(), by.Highest()
	t := text.Say("classes range", "class", lowest.Class, "accuracy", *lowest.Accuracy, "ci", *lowest.CI,
		"samples", lowest.Samples, "highest", *highest.Accuracy, "best", highest.Class)
	t += " " + a.confusedSentence()
	if by.Uneven() {
		least, most := by.Sizes()
		t += " " + text.Say("classes uneven", "least", least, "most", most, "accuracy", a.Study.Accuracy,
			"balanced", by.Balanced)
	}
	return Text(t)
}

// classTable lists the accuracy of every class.
func (a Analysis) classTable() Table {
	t := Table{Caption: text.Say("class table"), Columns: []Column{{Name: "class"}, {"images", true}, {"right", true},
		{"accuracy", true}, {"95% interval", true}, {"most often taken for", true}}}
	for y, s := range a.Study.ByClass.Classes {
		row := []string{fmt.Sprint(y), format.Thousands(s.Samples), format.Thousands(s.Right), "–", "–", "–"}
		if s.Accuracy != nil {
			row[3], row[4] = percent(*s.Accuracy), percent(s.CI[0])+" to "+percent(s.CI[1])
		}
		most := 0
		for p, n := range a.Study.ByClass.Confusion[y] {
			if p != y && n > most {
				most, row[5] = n, fmt.Sprintf("%d (%s)", p, format.CountThousands(n, "image"))
			}
		}
		t.Rows = append(t.Rows, Row{Cells: row})
	}
	return t
}
