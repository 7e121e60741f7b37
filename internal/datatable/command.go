package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// command runs the program, and keeps its results in a folder.
type command struct {
	ctx     context.Context
	program string
	work    string
}

func newCommand(ctx context.Context, program, work string) (*command, error) {
	program, err := filepath.Abs(program)
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(program); err != nil {
		return nil, fmt.Errorf("-program: %w (make build)", err)
	}
	return &command{ctx, program, work}, os.MkdirAll(work, 0o777)
}

func (c *command) path(name string) string { return filepath.Join(c.work, name) }

// run runs a subcommand and decodes the JSON that it prints into v. It returns the processor time in
// seconds.
func (c *command) run(v any, args ...string) (seconds float64, err error) {
	cmd := exec.CommandContext(c.ctx, c.program, append(args, "--quiet", "--json", "-")...)
	cmd.Dir = c.work
	var out, problem bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &problem
	if err := cmd.Run(); err != nil {
		return 0, fmt.Errorf("dpnbench %s: %w: %s", strings.Join(args, " "), err, strings.TrimSpace(problem.String()))
	}
	if err := json.Unmarshal(out.Bytes(), v); err != nil {
		return 0, fmt.Errorf("dpnbench %s: %w", strings.Join(args, " "), err)
	}
	return (cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()).Seconds(), nil
}

// once decodes NAME.json of the work folder into v if it is there. Otherwise it calls work, which sets v, and
// writes that file.
func (c *command) once(name string, v any, work func() error) error {
	file := c.path(name + ".json")
	b, err := os.ReadFile(file)
	if err == nil {
		if err := json.Unmarshal(b, v); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		return nil
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := work(); err != nil {
		return err
	}
	if b, err = json.Marshal(v); err != nil {
		return err
	}
	return os.WriteFile(file, b, 0o666)
}

// result is what data info and train say about a data set.
type result struct {
	Rows, Cols, Channels, Features int
	Train, Test                    int // samples
	Classes                        int
	Preset                         string
	Threads                        int
	Accuracy                       float64 // of the test samples
	Weights                        string  // their SHA-256
	Seconds                        float64 // of all processors, for the whole of train
}

// right is how many test samples are right.
func (r result) right() int { return int(math.Round(r.Accuracy * float64(r.Test))) }

// shape describes a sample.
func (r result) shape() string {
	switch {
	case r.Features > 0:
		return fmt.Sprintf("%d features", r.Features)
	case r.Channels == 3:
		return fmt.Sprintf("%d x %d RGB", r.Rows, r.Cols)
	}
	return fmt.Sprintf("%d x %d grey", r.Rows, r.Cols)
}

// info sets what data info says of data.
func (c *command) info(r *result, data string) error {
	var read struct {
		Rows     int `json:"rows"`
		Cols     int `json:"cols"`
		Channels int `json:"channels"`
		Features int `json:"features"`
		Train    int `json:"train"`
		Test     int `json:"test"`
		Classes  []struct{}
	}
	if _, err := c.run(&read, "data", "info", data); err != nil {
		return err
	}
	r.Rows, r.Cols, r.Channels, r.Features = read.Rows, read.Cols, read.Channels, read.Features
	r.Train, r.Test, r.Classes = read.Train, read.Test, len(read.Classes)
	return nil
}

// train trains on data and sets what that gave.
func (c *command) train(r *result, data string, args ...string) error {
	var got struct {
		Preset   string  `json:"preset"`
		Threads  int     `json:"threads"`
		Train    int     `json:"train_samples"`
		Test     int     `json:"test_samples"`
		Accuracy float64 `json:"test_accuracy"`
		Weights  string  `json:"weights_sha256"`
	}
	out := c.path("run")
	args = append([]string{"train", "--data", data, "--out", out}, args...)
	seconds, err := c.run(&got, args...)
	if err != nil {
		return err
	}
	r.Preset, r.Threads, r.Train, r.Test = got.Preset, got.Threads, got.Train, got.Test
	r.Accuracy, r.Weights, r.Seconds = got.Accuracy, got.Weights, seconds
	return os.RemoveAll(out)
}
