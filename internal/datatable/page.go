package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"

	"dpnbench/internal/format"
	"dpnbench/internal/sysinfo"
)

// The tables are between these lines.
const (
	begin = "<!-- tables of make data-table -->\n"
	end   = "<!-- end of the tables -->\n"
)

// pageParts returns what is before and after the tables of a page.
func pageParts(page string) (parts [2][]byte, err error) {
	text, err := os.ReadFile(page)
	if err != nil {
		return parts, err
	}
	before, rest, ok := bytes.Cut(text, []byte(begin))
	_, after, also := bytes.Cut(rest, []byte(end))
	if !ok || !also {
		return parts, fmt.Errorf("%s: expected the lines %q and %q", page, begin, end)
	}
	return [2][]byte{before, after}, nil
}

// writePage replaces the tables of a page.
func writePage(page string, images []imageSet, all *comparison) error {
	parts, err := pageParts(page)
	if err != nil {
		return err
	}
	m := sysinfo.ReadMachine()
	var b bytes.Buffer
	b.Write(parts[0])
	fmt.Fprintf(&b, `%s
On %s of %s. Seconds are processor time of the whole command, summed over threads.

`, begin, format.Count(images[0].Threads, "thread"), m.Brand)
	imageTable(&b, images)
	fmt.Fprintf(&b, `
Part: the first %s training and %s test images. Coloured: scaled to 32 x 32, each level v as red v, green
v*v/255, blue 255 - v. JPEG files (quality %d) have other levels. The last column is the beginning of the SHA-256 of
the weights: equal data give equal weights, whatever the format.

`, format.Thousands(fewTrain), format.Thousands(fewTest), jpegQuality)
	smallTable(&b, all)
	fmt.Fprintf(&b, `
Accuracy is the share of all samples that is right in 5-fold cross-validation (stratified): each sample is a test
sample once. Logistic regression is that of scikit-learn %s, on standardised features with C 1, in the same folds.
Seconds are those of all 5 runs. %s
The preset of a table is %s (a linear classifier), whichever has more samples right in %d-fold
cross-validation within the training samples of each fold, summed over the folds. So this one choice also sees the
test samples of a fold, as training samples of the other four.

%s`, all.Version, comparedInWords(all), candidatesInWords(), innerFolds, end)
	b.Write(parts[1])
	return os.WriteFile(page, b.Bytes(), 0o666)
}

// row writes cells as a line of a table.
func row(b *bytes.Buffer, cells ...string) { fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | ")) }

func imageTable(b *bytes.Buffer, images []imageSet) {
	row(b, "data", "format", "images", "training + test", "classes", "preset", "accuracy", "seconds", "weights")
	fmt.Fprintln(b, strings.Repeat("|---", 9)+"|")
	for _, s := range images {
		row(b, s.data, s.format, s.shape(), format.Thousands(s.Train)+" + "+format.Thousands(s.Test),
			fmt.Sprint(s.Classes), code(s.Preset), format.Percent(s.Accuracy, 2), fmt.Sprintf("%.0f", s.Seconds),
			code(s.Weights[:8]))
	}
}

func smallTable(b *bytes.Buffer, all *comparison) {
	row(b, "CSV file", "samples", "read as", "classes", "preset", "accuracy", "logistic regression", "seconds")
	fmt.Fprintln(b, strings.Repeat("|---", 8)+"|")
	for _, t := range all.Tables {
		row(b, t.title(), format.Thousands(t.whole.Train), t.whole.shape(), fmt.Sprint(t.whole.Classes),
			code(t.whole.Preset), t.percent(t.right), t.percent(t.theirs()),
			fmt.Sprintf("%.0f", t.seconds))
	}
}

func candidatesInWords() string {
	var list []string
	for _, p := range candidates {
		list = append(list, code(p))
	}
	return strings.Join(list, " or ")
}

// comparedInWords says on which tables logistic regression is better, and by how much.
func comparedInWords(all *comparison) string {
	var fewer []string
	for _, t := range all.Tables {
		if n := t.theirs() - t.right; n > 0 {
			fewer = append(fewer, fmt.Sprintf("%s (%s more right)", t.title(), format.Count(n, "sample")))
		}
	}
	if len(fewer) == 0 {
		return "Logistic regression is nowhere better."
	}
	return "Logistic regression is better on " + strings.Join(fewer, " and ") + "."
}

func code(text string) string { return "`" + text + "`" }
