package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"dpnbench/dataset"
	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/engine"
)

// trainedPresets are the presets whose training steps are timed: of each kind of precisions
// beside the paper's, and of both kinds of extractors.
var trainedPresets = []string{"compact", "clean", "raw", "robust"}

// updatesBefore are made before anything is timed: how many responsibilities count, which
// our times depend on, is that of a trained potential.
const updatesBefore = 100

// training times whole training steps of presets, as dpn.Trainer makes them from images
// of bytes, against PyTorch in the form of an expert (training_peer.py), which starts from
// normalised floats; and the forward pass.
func training(ctx context.Context, s *settings) error {
	if !s.wants("training") {
		return nil
	}
	dir, remove, err := workspace()
	if err != nil {
		return err
	}
	defer remove()
	peers, err := startAll(s, dir, "training_peer.py")
	if errors.Is(err, errMissing) {
		fmt.Println("\ntraining: skipped: no Python with PyTorch (Debian: apt-get install python3-torch " +
			"libopenblas0-openmp)")
		return nil
	}
	if err != nil {
		return err
	}
	defer stopAll(peers)
	fmt.Printf("\nTraining steps of presets against PyTorch\n")
	fmt.Println(peers[0].about)
	data, err := source.Open("digits", source.Options{TrainSize: 4000, TestSize: 10, Seed: 1})
	if err != nil {
		return err
	}
	for _, preset := range s.presets {
		if err := trainingOf(ctx, s, dir, peers, data, preset); err != nil {
			return fmt.Errorf("preset %s: %w", preset, err)
		}
	}
	return nil
}

func trainingOf(ctx context.Context, s *settings, dir string, peers []*child, data *dataset.Data,
	preset string) error {
	path := filepath.Join(dir, "model.safetensors")
	trained, err := prepareModel(ctx, s, data, preset, path)
	if err != nil {
		return err
	}
	c := trained.Config
	fmt.Printf("\npreset %s after %d updates on digits: d %d, k %d, n %d, precisions %s, batch %d\n", preset,
		updatesBefore, c.Dim, c.Components, c.Steps, c.Form, c.Batch)
	if err := writeImages(filepath.Join(dir, "inputs"), s, trained, data); err != nil {
		return err
	}
	var contend []contender // training ours and theirs, forward ours and theirs, by threads
	for i, threads := range s.threads {
		e, err := engine.New(engine.WithTier(s.tier), engine.WithThreads(threads))
		if err != nil {
			return err
		}
		defer e.Close()
		m, err := dpn.Load(path)
		if err != nil {
			return err
		}
		r := peers[i]
		loaded, err := r.ask("load", c.Steps, c.Batch, len(data.Classes))
		if err != nil {
			return err
		}
		fmt.Printf("expert's fastest way, threads %d: forward %s; training step %s\n", threads,
			loaded.Fastest["forward"], loaded.Fastest["train"])
		o := &ownTraining{ctx: ctx, e: e, m: m, trainer: dpn.NewTrainer(m, e), batch: data.Train.Slice(0, c.Batch),
			at: make([]int32, c.Batch)}
		for j := range o.at {
			o.at[j] = int32(j)
		}
		if err := o.compare(r); err != nil {
			return err
		}
		contend = append(contend, o.time(s, o.update), r.time("train", s.least),
			o.time(s, func() error { _, err := o.logits(); return err }), r.time("forward", s.least))
	}
	times, err := inTurn(ctx, s, contend)
	if err != nil {
		return err
	}
	fmt.Println()
	header()
	for i, title := range []string{"training step of " + preset, "forward of " + preset} {
		var ours, theirs [][]float64
		for t := range s.threads {
			ours, theirs = append(ours, times[4*t+2*i]), append(theirs, times[4*t+2*i+1])
		}
		rows(s, title, ours, theirs)
	}
	return nil
}

// prepareModel trains a network of the preset a little, and saves it.
func prepareModel(ctx context.Context, s *settings, data *dataset.Data, preset, path string) (*dpn.Model, error) {
	c, err := dpn.Preset(preset)
	if err != nil {
		return nil, err
	}
	c.MaxUpdates, c.Epochs, c.ValSize = updatesBefore, updatesBefore, 0
	m, err := dpn.New(c, data)
	if err != nil {
		return nil, err
	}
	e, err := engine.New(engine.WithTier(s.tier))
	if err != nil {
		return nil, err
	}
	defer e.Close()
	if _, err := m.Fit(ctx, e, data.Train, dpn.FitOptions{}); err != nil {
		return nil, err
	}
	return m, m.Save(path)
}

// writeImages writes the first minibatch: s0, eps, images as the network takes them in, labels.
func writeImages(path string, s *settings, m *dpn.Model, data *dataset.Data) error {
	e, err := engine.New(engine.WithTier(s.tier))
	if err != nil {
		return err
	}
	defer e.Close()
	c, set := m.Config, data.Train.Slice(0, m.Config.Batch)
	at := make([]int32, set.Len())
	for i := range at {
		at[i] = int32(i)
	}
	x := engine.NewMatrix(set.Len(), set.Shape.Len())
	m.Input(set)(e, x, at)
	all := append([]float32{float32(c.Scale), float32(c.Eps)}, x.Data...)
	for _, l := range set.Labels {
		all = append(all, float32(l))
	}
	return os.WriteFile(path, bytesOf(all), 0o600)
}

// ownTraining is our side.
type ownTraining struct {
	ctx     context.Context
	e       *engine.Engine
	m       *dpn.Model
	trainer *dpn.Trainer
	batch   *dataset.Set
	at      []int32
	loss    float64
}

// update is a training step at a learning rate of 0, as the peer does: the same work, and
// every round starts from the same parameters.
func (o *ownTraining) update() (err error) {
	o.loss, err = o.trainer.Update(o.batch, o.at, 0)
	return err
}

func (o *ownTraining) logits() (engine.Matrix, error) {
	x, err := o.m.Denoised(o.ctx, o.e, o.batch)
	if err != nil {
		return x, err
	}
	return o.m.Logits(o.e, x), nil
}

func (o *ownTraining) time(s *settings, work func() error) contender {
	return func() (float64, error) {
		var first error
		took := seconds(func() {
			if err := work(); err != nil {
				first = err
			}
		}, s.least)
		return took, first
	}
}

// compare compares logits, loss, all gradients and the retracted U of the peer with ours.
func (o *ownTraining) compare(r *child) error {
	y, err := o.logits()
	if err != nil {
		return err
	}
	if err := o.update(); err != nil {
		return err
	}
	got, err := r.results("gradients")
	if err != nil {
		return err
	}
	if err := near(r.name+": logits", got.next(len(y.Data)), y.Data, tolerance); err != nil {
		return err
	}
	if err := near(r.name+": loss", got.next(1), []float32{float32(o.loss)}, tolerance); err != nil {
		return err
	}
	var u []float32
	var most float64
	for _, p := range o.m.Params() {
		most = max(most, largest(p.Grad))
	}
	for _, p := range o.m.Params() {
		// Where nearly always a single component counts, the gradient of c is the rounding of
		// sums that cancel.
		if err := nearAbove(r.name+": gradient of "+p.Name, got.next(len(p.Grad)), p.Grad, tolerance,
			1e-5*most); err != nil {
			return err
		}
		if p.Name == "denoising_potential.U" {
			u = p.Data
		}
	}
	return near(r.name+": U, orthonormal again", got.next(len(u)), u, tolerance)
}
