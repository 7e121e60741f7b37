package dpn

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/internal/mpi"
)

// What the ranks of a training agree on, beside updates. A rank must not leave the others alone with a message that
// they wait for: where its context may have ended, or where it may have failed alone, all tell each other, and come to
// the same conclusion.

// rankOptions returns the options of a rank: those after the first write nothing and tell nobody.
func (m *Model) rankOptions(opt FitOptions) (FitOptions, error) {
	c := opt.Comm
	switch {
	case c == nil || c.Size() == 1:
		opt.Comm = nil
	case c.Size() > m.Config.Shards:
		return opt, badSetting("shards", m.Config.Shards, fmt.Sprintf("expected at least the number of ranks, %d",
			c.Size()))
	case c.Rank() > 0:
		opt = FitOptions{Comm: c, Resume: opt.Resume, Validation: opt.Validation, Final: opt.Final, Test: opt.Test}
	}
	return opt, nil
}

// tell gives every rank the words of all, as many each, and returns them by rank. err is what this rank has failed
// with, or nil. All ranks return an error if one has failed or its context has ended: that of the context if both.
func (f *fitting) tell(ctx context.Context, err error, words ...uint64) ([][]uint64, error) {
	t := f.step.team
	if t == nil || t.err != nil {
		return nil, err
	}
	var signals uint64
	if ctx.Err() != nil {
		signals |= signalStop
	}
	switch {
	case errors.As(err, new(*OutputError)):
		signals |= signalBad
	case err != nil:
		signals |= signalFail
	}
	all := make([][]uint64, len(t.records))
	for r := range all {
		all[r] = make([]uint64, 1+len(words))
	}
	copy(all[t.rank], append([]uint64{signals | t.want}, words...))
	t.share(all)
	if failed := t.wait(); failed != nil {
		return nil, cmp.Or(err, failed)
	}
	t.signals = 0
	var other error
	for r, words := range all {
		t.signals |= words[0]
		if words[0]&signalFail != 0 && other == nil {
			other = &mpi.RankError{Rank: r, Reason: "failed"}
		}
		if words[0]&signalBad != 0 && other == nil {
			other = &OutputError{What: "number", Of: "the part of rank", Row: r, Value: float32(math.NaN())}
		}
		all[r] = words[1:]
	}
	if stop := f.stopped(ctx); stop != nil {
		return nil, stop
	}
	if err == nil {
		err = other
	}
	return all, err
}

// stopped returns an error if training is to stop: with other ranks, if the last signals say so.
func (f *fitting) stopped(ctx context.Context) error {
	t := f.step.team
	switch {
	case t == nil:
		return ctx.Err()
	case t.signals&signalStop == 0:
		return nil
	}
	f.cancel()
	return ctx.Err()
}

// agree returns the error of all ranks, of which this one has failed with err, unless that is nil, and whether to save
// an epoch, which the first one decides.
func (f *fitting) agree(ctx context.Context, err error) (due bool, _ error) {
	t := f.step.team
	if t == nil {
		return f.epochDue(), err
	}
	if t.want = 0; t.rank == 0 && f.epochDue() {
		t.want = signalSave
	}
	_, err = f.tell(ctx, err)
	t.want = 0
	return t.signals&signalSave != 0, err
}

// signal prepares the signals of the next update.
func (f *fitting) signal() {
	t := f.step.team
	if t == nil {
		return
	}
	if t.want = 0; t.rank == 0 && f.checkpointDue(f.Updates+1) {
		t.want = signalSave
	}
}

// gatherAsked gathers the moments after an update, if the first rank has asked for them.
func (f *fitting) gatherAsked() error {
	f.gathered = false
	if t := f.step.team; t == nil || t.signals&signalSave == 0 {
		return nil
	}
	return f.gatherMoments()
}

// gatherMoments gives the first rank the moments of all, unless it has them.
func (f *fitting) gatherMoments() error {
	t := f.step.team
	if t == nil || f.gathered {
		return nil
	}
	f.gathered = true
	for r, parts := range t.parts {
		for _, q := range parts {
			n := len(q.Data)
			switch {
			case t.rank == 0 && r > 0:
				t.receive(r, mpi.Bytes(q.of.M[q.lo:][:n]))
				t.receive(r, mpi.Bytes(q.of.V[q.lo:][:n]))
			case t.rank == r && r > 0:
				t.send(0, mpi.Bytes(q.M))
				t.send(0, mpi.Bytes(q.V))
			}
		}
	}
	return t.wait()
}

// await returns when the first rank calls it: until it has saved the folder no other one may end, which would end all.
func (f *fitting) await() {
	if t := f.step.team; t != nil && t.err == nil {
		_ = mpi.Broadcast(t.comm, 0, make([]byte, 1)) // if that fails, training ends all the same
	}
}

// span returns the pieces of n that a rank computes.
func (t *team) span(rank, n int) span {
	lo, hi := engine.Part(n, t.comm.Size(), rank)
	return span{lo, hi}
}

// compare stops training if the weights of the ranks differ, which only an error of a machine explains, or messages
// that are lost on the way.
func (f *fitting) compare(ctx context.Context, epoch int) error {
	if f.step.team == nil {
		return nil
	}
	var words []uint64
	params := f.m.Params()
	for _, p := range params {
		words = appendHash(words, mpi.Bytes(p.Data))
	}
	all, err := f.tell(ctx, nil, words...)
	if err != nil {
		return err
	}
	for r, theirs := range all {
		for i, p := range params {
			if at := i * hashWords; !slices.Equal(theirs[at:at+hashWords], all[0][at:at+hashWords]) {
				return fmt.Errorf("epoch %d, update %d: tensor %s of rank %d differs from that of rank 0", epoch,
					f.Updates, p.Name, r)
			}
		}
	}
	return nil
}

// hashWords is the number of words of a SHA-256.
const hashWords = sha256.Size / 8

// appendHash appends the SHA-256 of b.
func appendHash(words []uint64, b []byte) []uint64 {
	sum := sha256.Sum256(b)
	for at := 0; at < len(sum); at += 8 {
		words = append(words, binary.LittleEndian.Uint64(sum[at:]))
	}
	return words
}

// resume restores the state in the folder, if FitOptions.Resume is set. The first of several ranks reads it.
func (f *fitting) resume(ctx context.Context, perEpoch, all int) (resumed bool, err error) {
	t := f.step.team
	if t == nil {
		return f.resumeFolder(perEpoch, all)
	}
	if t.rank == 0 {
		_, err = f.resumeFolder(perEpoch, all)
	}
	settings := fmt.Sprint(f.m.Config.TOML(), f.opt.Resume)
	hashes := appendHash(appendHash(nil, []byte(settings)), []byte(f.m.fingerprint(f.train, f.val)))
	words, err := f.tell(ctx, err, hashes...)
	if err != nil {
		return false, err
	}
	for r, theirs := range words {
		switch {
		case !slices.Equal(theirs[:hashWords], words[0][:hashWords]):
			return false, fmt.Errorf("rank %d has other settings than rank 0", r)
		case !slices.Equal(theirs, words[0]):
			return false, fmt.Errorf("rank %d has other samples than rank 0", r)
		}
	}
	if !f.opt.Resume {
		return false, nil
	}
	return true, f.receiveState()
}

// rankState is what the first rank tells the others of a state, beside tensors.
type rankState struct {
	Progress       progress
	Beta1T, Beta2T float64
}

// receiveState gives all ranks the state that the first one has read.
func (f *fitting) receiveState() error {
	t, s := f.step.team, f.step
	st := rankState{f.progress, s.adam.Beta1T, s.adam.Beta2T}
	text, err := json.Marshal(st)
	if err != nil {
		return err
	}
	if text, err = t.broadcastText(text); err != nil {
		return err
	}
	if t.rank > 0 {
		if err := json.Unmarshal(text, &st); err != nil {
			return err
		}
		f.progress, s.adam.Beta1T, s.adam.Beta2T = st.Progress, st.Beta1T, st.Beta2T
		if r := f.Running; r != nil { // of the figures that Fit returns the first rank has all
			r.norms, r.used = map[string][]float32{}, make([]bool, len(s.used))
		}
		if f.Epochs > 0 {
			f.bestModel = copyParams(nil, f.m.Params())
		}
		s.updates = f.Updates
	}
	tensors := append([][]float32{f.m.potential.AlphaRaw()}, f.bestModel...)
	for _, p := range f.m.Params() {
		tensors = append(tensors, p.Data)
	}
	for _, v := range tensors {
		if err := mpi.Broadcast(t.comm, 0, mpi.Bytes(v)); err != nil {
			return err
		}
	}
	f.m.potential.Changed()
	f.m.fresh = false
	return s.receiveMoments()
}

// receiveMoments gives all ranks the moments of what they own.
func (s *Trainer) receiveMoments() error {
	t := s.team
	for _, p := range s.params {
		for i, v := range [][]float32{p.M, p.V} {
			if t.rank > 0 {
				v = make([]float32, len(p.Data))
			}
			if err := mpi.Broadcast(t.comm, 0, mpi.Bytes(v)); err != nil {
				return err
			}
			for _, q := range s.owned {
				if q.of == p && t.rank > 0 {
					copy([][]float32{q.M, q.V}[i], v[q.lo:])
				}
			}
		}
	}
	return nil
}

// broadcastText returns the text of the first rank.
func (t *team) broadcastText(text []byte) ([]byte, error) {
	size := []uint64{uint64(len(text))}
	if err := mpi.Broadcast(t.comm, 0, mpi.Bytes(size)); err != nil {
		return nil, err
	}
	if t.rank > 0 {
		text = make([]byte, size[0])
	}
	return text, mpi.Broadcast(t.comm, 0, text)
}
