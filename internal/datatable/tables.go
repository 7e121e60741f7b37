package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
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

// candidates are the presets for vectors. If two are as good, the first one is chosen.
var candidates = []string{"tabular", "linear"}

// folds chooses the preset of each table and trains on its folds.
func (c *command) folds(all *comparison) error {
	for i := range all.Tables {
		t := &all.Tables[i]
		preset, err := c.choose(t)
		if err != nil {
			return err
		}
		for k := range t.Regression {
			fold, err := c.fold(fmt.Sprintf("%s-%d", t.Name, k), preset)
			if err != nil {
				return err
			}
			t.right += fold.right()
			t.seconds += fold.Seconds
		}
		if err := c.info(&t.whole, c.path(t.Name+".csv")); err != nil {
			return err
		}
		t.whole.Preset = preset
		fmt.Printf("%-14s %s, preset %s: %s, logistic regression %s, %.0f s\n", t.Name, t.whole.shape(),
			t.whole.Preset, t.percent(t.right), t.percent(t.theirs()), t.seconds)
	}
	return nil
}

// choose returns the candidate that has most samples right by cross-validation within the training
// samples of each fold, summed over the folds.
func (c *command) choose(t *table) (preset string, err error) {
	most := -1
	for _, p := range candidates {
		right := 0
		for k := range t.Regression {
			for j := range innerFolds {
				fold, err := c.fold(fmt.Sprintf("%s-%d-%d", t.Name, k, j), p)
				if err != nil {
					return "", err
				}
				right += fold.right()
			}
		}
		if right > most {
			preset, most = p, right
		}
	}
	return preset, nil
}

// innerFolds is the number of folds of the training samples of a fold.
const innerFolds = 5

// fold trains on a fold, unless that was done before.
func (c *command) fold(name, preset string) (r result, err error) {
	err = c.once(name+"-"+preset, &r, func() error { return c.train(&r, c.path(name), "--preset", preset) })
	return r, err
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
