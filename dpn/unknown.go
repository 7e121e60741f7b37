package dpn

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strconv"

	"dpnbench/dataset"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/safetensors"
	"dpnbench/dpn/uncertainty"
	"dpnbench/engine"
	"dpnbench/internal/linalg"
	"dpnbench/internal/mpi"
)

// metaUnknown is the key of Model.UnknownBelow in the metadata of a model file.
const metaUnknown = "unknown_below"

// MeasureUnknown sets UnknownBelow by samples that the model was not trained on, those of Validation or of
// Config.ValData. They need no labels.
func (m *Model) MeasureUnknown(ctx context.Context, e *engine.Engine, s *dataset.Set) error {
	return m.measureUnknown(ctx, e, potential.Alone, s)
}

// measureUnknown is MeasureUnknown by ranks that divide the samples.
func (m *Model) measureUnknown(ctx context.Context, e *engine.Engine, by potential.Division, s *dataset.Set) error {
	if s.Len() == 0 {
		return errors.New("no validation samples")
	}
	if err := m.CheckSet(s); err != nil {
		return err
	}
	phi, in := make([]float32, s.Len()), m.Input(s)
	first, last := by.Own(s.Len())
	var err error
	for lo := first; lo < last && err == nil; lo += evalRows {
		hi := min(lo+evalRows, last)
		var x engine.Matrix
		if x, err = m.blocks(ctx, e, in, imageRange{lo, hi}, 0, nil); err == nil {
			var some []float32
			some, err = m.potentials(e, x, lo, s.Sample())
			copy(phi[lo:hi], some)
		}
	}
	if err := by.Gather(ctx, err, s.Len(), mpi.Bytes(phi)); err != nil {
		return err
	}
	slices.Sort(phi)
	limit := phi[len(phi)-uncertainty.AcceptedOf(len(phi))]
	m.UnknownBelow = &limit
	return nil
}

// UnknownShare returns the 95% interval of the share of samples like those of the training that a threshold of n
// validation samples takes for unknown.
func UnknownShare(n int) (lo, hi float64) { return uncertainty.BelowThreshold(n) }

// writeUnknown adds the threshold to the metadata of a file.
func (m *Model) writeUnknown(meta map[string]string) {
	if m.UnknownBelow != nil {
		meta[metaUnknown] = formatNumbers([]float32{*m.UnknownBelow})
	}
}

// readUnknown is the inverse of writeUnknown. The threshold of a file without a checksum does not count: the weights
// may be others than those that it was measured with.
func (m *Model) readUnknown(f *safetensors.File) error {
	text, ok := f.Metadata[metaUnknown]
	if !ok {
		return nil
	}
	v, err := strconv.ParseFloat(text, 32)
	limit := float32(v)
	if err != nil || !linalg.IsFinite(limit) {
		return errors.New("metadata " + metaUnknown + " is " + strconv.Quote(text) + ", expected a number")
	}
	if f.Checked {
		m.UnknownBelow = &limit
	}
	return nil
}

// measureUnknown measures the threshold of the model that training leaves, the best one, and saves it with that.
func (f *fitting) measureUnknown(ctx context.Context) error {
	if f.val.Len() == 0 {
		return nil
	}
	if err := f.m.measureUnknown(ctx, f.e, f.ranks(), f.val); err != nil {
		if errors.As(err, new(*OutputError)) {
			f.opt.Log.Warn(err.Error() + ": no threshold for unknown samples")
			return nil
		}
		return err
	}
	if f.opt.Dir == "" {
		return nil
	}
	path := filepath.Join(f.opt.Dir, ModelFile)
	if saved, err := Load(path); err == nil && saved.UnknownBelow != nil && *saved.UnknownBelow == *f.m.UnknownBelow {
		return nil
	}
	if err := f.m.Save(path); err != nil { // the model is there: a threshold can be measured again
		f.opt.Log.Warn("model " + fileError(path, err).Error() + ": saved without a threshold for unknown samples")
	}
	return nil
}
