package check

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"hash"
	"math"
	"sync"
	"sync/atomic"

	"dpnbench/engine"
	"dpnbench/engine/reference"
)

// SweepRow sums up one function on one tier over its inputs.
type SweepRow struct {
	Function  string  `json:"function"`
	Tier      string  `json:"tier"`
	Inputs    uint64  `json:"inputs"`
	Failed    uint64  `json:"failed"`     // inputs further than one ULP from the rounded reference, or of other bits than the first tier
	MaxULP    uint32  `json:"max_ulp"`    // largest distance from the rounded reference
	MaxError  float64 `json:"max_error"`  // largest distance from the reference itself, in ULPs, where that is over 1/2
	Worst     string  `json:"worst"`      // the input of the largest error, in hexadecimal
	BitsEqual bool    `json:"bits_equal"` // to those of the first tier
	SHA256    string  `json:"sha256"`     // of the SHA-256 of each 2^24 results in the order of the inputs' bits, NaN as 0x7fc00000
	HashEqual bool    `json:"hash_equal"` // to the one committed
}

// sweepHashes are those of all 2^32 inputs, which every tier and machine must reproduce.
var sweepHashes = map[string]string{
	"exp": "28d6d72b7f6554f11c103ba1a7e758c5af01ec062804e17d24d14870c0893f76",
	"log": "a6eb85b95b856c7666ec12ade79848f66e5e60b7f3889cab781385a42c28d1b6",
}

var sweepFunctions = []struct {
	name   string
	call   func(*engine.Engine, []float32, []float32)
	oracle func(float64) float64
}{
	{"exp", (*engine.Engine).Exp, math.Exp},
	{"log", (*engine.Engine).Log, math.Log},
}

const (
	sweepBlock  = 1 << 24 // inputs of a block, which is hashed on its own
	sweepBlocks = 1 << 32 / sweepBlock
	sweepChunk  = 1 << 13 // inputs of a call
)

// Sweep evaluates exp and log at all 2^32 inputs on every tier of opt, holds the results
// against the float64 functions of the math package, whose error is a billionth of an
// ULP of float32, and hashes them. It takes minutes, most of them for the tier generic.
// Progress counts blocks of inputs.
func Sweep(ctx context.Context, opt Options) ([]SweepRow, error) { return sweep(ctx, opt, sweepBlocks) }

// sweep is Sweep for the first blocks of every function.
func sweep(ctx context.Context, opt Options, blocks int) ([]SweepRow, error) {
	tiers := opt.Tiers
	if len(tiers) == 0 {
		tiers = engine.Available()
	}
	threads := max(opt.Threads, 1)
	var rows []SweepRow
	var done atomic.Int64
	for _, f := range sweepFunctions {
		sums := make([][]SweepRow, blocks) // of each block, by tier
		digests := make([][][]byte, blocks)
		var next atomic.Int64
		var wg sync.WaitGroup
		errs := make([]error, threads)
		for w := range threads {
			wg.Go(func() {
				var engines []*engine.Engine
				for _, t := range tiers {
					e, err := engine.New(engine.WithTier(t), engine.WithThreads(1))
					if err != nil {
						errs[w] = err
						return
					}
					defer e.Close()
					engines = append(engines, e)
				}
				for {
					b := int(next.Add(1) - 1)
					if b >= blocks || ctx.Err() != nil {
						return
					}
					sums[b], digests[b] = sweepOne(ctx, f.call, f.oracle, engines, uint32(b)*sweepBlock)
					n := int(done.Add(1))
					if opt.Progress != nil {
						opt.Progress(n, len(sweepFunctions)*blocks)
					}
				}
			})
		}
		wg.Wait()
		for _, err := range errs {
			if err != nil {
				return nil, err
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i, t := range tiers {
			row := SweepRow{Function: f.name, Tier: t.String(), BitsEqual: true}
			all := sha256.New()
			for b := range blocks {
				s := sums[b][i]
				row.Inputs += s.Inputs
				row.Failed += s.Failed
				row.BitsEqual = row.BitsEqual && s.BitsEqual
				row.MaxULP = max(row.MaxULP, s.MaxULP)
				if s.MaxError > row.MaxError {
					row.MaxError, row.Worst = s.MaxError, s.Worst
				}
				all.Write(digests[b][i])
			}
			row.SHA256 = hex.EncodeToString(all.Sum(nil))
			row.HashEqual = blocks < sweepBlocks || row.SHA256 == sweepHashes[f.name]
			rows = append(rows, row)
		}
	}
	return rows, nil
}

// sweepOne evaluates the block of inputs whose bits begin at first on all engines, or less
// when ctx ends.
func sweepOne(ctx context.Context, call func(*engine.Engine, []float32, []float32), oracle func(float64) float64, engines []*engine.Engine, first uint32) (rows []SweepRow, digests [][]byte) {
	rows = make([]SweepRow, len(engines))
	hashes := make([]hash.Hash, len(engines))
	for i := range rows {
		rows[i].BitsEqual = true
		hashes[i] = sha256.New()
	}
	var (
		x, y  [sweepChunk]float32
		want  [sweepChunk]float64
		base  [sweepChunk]uint32
		bytes [4 * sweepChunk]byte
	)
	for at := 0; at < sweepBlock && ctx.Err() == nil; at += sweepChunk {
		for j := range x {
			x[j] = math.Float32frombits(first + uint32(at+j))
			want[j] = oracle(float64(x[j]))
		}
		for i, e := range engines {
			row := &rows[i]
			call(e, y[:], x[:])
			for j, v := range y {
				bits := math.Float32bits(v)
				if v != v {
					bits = 0x7fc00000
				}
				binary.LittleEndian.PutUint32(bytes[4*j:], bits)
				bad := false
				if i == 0 {
					base[j] = bits
				} else if bits != base[j] {
					row.BitsEqual, bad = false, true
				}
				if w := want[j]; v != float32(w) {
					ulps := reference.ULPs(v, w)
					bad = bad || ulps > 1
					row.MaxULP = max(row.MaxULP, ulps)
					if e := math.Abs(float64(v)-w) / ulp(w); ulps > 0 && e > row.MaxError {
						row.MaxError, row.Worst = e, fmt.Sprintf("%x", x[j])
					}
				}
				if bad {
					row.Failed++
				}
			}
			hashes[i].Write(bytes[:])
		}
	}
	for i := range rows {
		rows[i].Inputs = sweepBlock
		digests = append(digests, hashes[i].Sum(nil))
	}
	return rows, digests
}
