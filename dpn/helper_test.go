package dpn

import (
	"bufio"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/engine"
)

func digits(t testing.TB, train, test int) *dataset.Data {
	t.Helper()
	d, err := source.Open("digits", source.Options{TrainSize: train, TestSize: test, Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func newEngine(t testing.TB, o ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.New(o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}

func newModel(t testing.TB, c Config, d *dataset.Data) *Model {
	t.Helper()
	m, err := New(c, d)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// tiny is a network that trains in a fraction of a second.
func tiny() Config {
	c, _ := Preset("compact")
	c.Dim, c.Components, c.Steps, c.Epochs, c.Batch = 16, 5, 3, 4, 32
	return c
}

// counting is a context that counts how often it is asked whether it has ended.
type counting struct {
	context.Context
	asked atomic.Int64
}

func (c *counting) Err() error { c.asked.Add(1); return c.Context.Err() }

func readMetrics(t *testing.T, dir string) []Epoch {
	t.Helper()
	f, err := os.Open(filepath.Join(dir, MetricsFile))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var list []Epoch
	s := bufio.NewScanner(f)
	for s.Scan() {
		var h Epoch
		if err := json.Unmarshal(s.Bytes(), &h); err != nil {
			t.Fatal(err)
		}
		list = append(list, h)
	}
	if err := s.Err(); err != nil {
		t.Fatal(err)
	}
	return list
}
