package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"math"
	"os/exec"
	"strings"

	"dpnbench/internal/format"
)

//go:embed tables.py
var tablesScript string

// table is a row of the table of small tables.
type table struct {
	Name       string  `json:"name"`  // of scikit-learn
	Regression []int   `json:"right"` // how many logistic regression has right, in each fold
	whole      result  // what was read, and the preset
	right      int     // ours, in all folds
	seconds    float64 // of all folds
}

// theirs is how many logistic regression has right in all folds.
func (t table) theirs() (right int) {
	for _, n := range t.Regression {
		right += n
	}
	return right
}

// percent prints a number of samples as a share of all.
func (t table) percent(n int) string { return format.Percent(float64(n)/float64(t.whole.Train), 2) }

// title is the name in words.
func (t table) title() string { return strings.ReplaceAll(t.Name, "_", " ") }

// folds trains on the folds of all tables.
func (c *command) folds(all *comparison) error {
	for i := range all.Tables {
		t := &all.Tables[i]
		for k := range t.Regression {
			fold := result{}
			err := c.once(fmt.Sprintf("%s-%d", t.Name, k), &fold, func() error {
				return c.train(&fold, c.path(fmt.Sprintf("%s-%d", t.Name, k)))
			})
			if err != nil {
				return err
			}
			t.whole.Preset = fold.Preset
			t.right += int(math.Round(fold.Accuracy * float64(fold.Test)))
			t.seconds += fold.Seconds
		}
		if err := c.info(&t.whole, c.path(t.Name+".csv")); err != nil {
			return err
		}
		fmt.Printf("%-14s %s, preset %s: %s, logistic regression %s, %.0f s\n", t.Name, t.whole.shape(),
			t.whole.Preset, t.percent(t.right), t.percent(t.theirs()), t.seconds)
	}
	return nil
}

// comparison is what tables.py prints.
type comparison struct {
	Version string  `json:"version"` // of scikit-learn
	Tables  []table `json:"tables"`
}

// regression runs tables.py by the first Python that has scikit-learn.
func (c *command) regression(all *comparison, python string) error {
	pythons := []string{python}
	if python == "" {
		pythons = []string{"python3", "/usr/bin/python3"}
	}
	var problem bytes.Buffer
	for _, p := range pythons {
		cmd := exec.CommandContext(c.ctx, p, "-", c.work)
		var out bytes.Buffer
		problem.Reset()
		cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(tablesScript), &out, &problem
		err := cmd.Run()
		if err == nil {
			return json.Unmarshal(out.Bytes(), all)
		}
		fmt.Fprintln(&problem, err)
	}
	return fmt.Errorf("no Python with scikit-learn (Debian: apt-get install python3-sklearn): %s",
		strings.TrimSpace(problem.String()))
}

// checkTables returns where logistic regression is better.
func checkTables(all *comparison) (failed []string) {
	for _, t := range all.Tables {
		if t.right < t.theirs() {
			failed = append(failed, fmt.Sprintf("%s: accuracy %s, logistic regression has %s", t.title(),
				t.percent(t.right), t.percent(t.theirs())))
		}
	}
	return failed
}
