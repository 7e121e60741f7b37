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

// SweepRow summarises one function on one tier over all inputs.
type SweepRow struct {
	Function string `json:"function"`
	Tier     string `json:"tier"`
	Inputs   uint64 `json:"inputs"`
	// Failed counts inputs whose result differs by more than one ULP from the rounded reference, or
	// in any bit from the first tier.
	Failed    uint64  `json:"failed"`
	MaxULP    uint32  `json:"max_ulp"`    // largest distance from the rounded reference
	MaxError  float64 `json:"max_error"`  // largest distance from the unrounded reference, in ULPs, if above 1/2
	Worst     string  `json:"worst"`      // the input of the largest error, in hexadecimal
	BitsEqual bool    `json:"bits_equal"` // as on the first tier
	// SHA256 is the hash of the SHA-256 of each 2^24 results in the order of the inputs' bits, with
	// NaN as 0x7fc00000.
	SHA256    string `json:"sha256"`
	HashEqual bool   `json:"hash_equal"` // equal to the committed one
}

// sweepHashes are the hashes over all 2^32 inputs, which every tier must reproduce on every machine.
var sweepHashes = map[string]string{
	"exp": "28d6d72b7f6554f11c103ba1a7e758c5af01ec062804e17d24d14870c0893f76",
	"log": "a6eb85b95b856c7666ec12ade79848f66e5e60b7f3889cab781385a42c28d1b6",
}

type sweepFunction struct {
	name   string
	call   func(e *engine.Engine, y, x []float32)
	oracle func(float64) float64
}

var sweepFunctions = []sweepFunction{
	{"exp", (*engine.Engine).Exp, math.Exp},
	{"log", (*engine.Engine).Log, math.Log},
}

const (
	sweepBlock  = 1 << 24 // inputs per block; each block is hashed separately
	sweepBlocks = 1 << 32 / sweepBlock
	sweepChunk  = 1 << 13 // inputs per call
)

// Sweep evaluates exp and log at all 2^32 inputs on every tier of opt, compares the results with
// the float64 functions of package math, whose error is 2^-29 ULPs of float32, and hashes them. It
// takes minutes, most of them for the tier generic. Progress counts blocks of 2^24 inputs.
func Sweep(ctx context.Context, opt Options) ([]SweepRow, error) { return sweep(ctx, opt, sweepBlocks) }

// sweep is Sweep for the given number of blocks of every function.
func sweep(ctx context.Context, opt Options, blocks int) ([]SweepRow, error) {
	tiers, threads := opt.tiers(), max(opt.Threads, 1)
	engines := make([][]*engine.Engine, threads) // by thread, by tier
	for w := range engines {
		for _, t := range tiers {
			e, err := engine.New(engine.WithTier(t), engine.WithThreads(1))
			if err != nil {
				return nil, err
			}
			defer e.Close()
			engines[w] = append(engines[w], e)
		}
	}
	var rows []SweepRow
	var done atomic.Int64
	for _, f := range sweepFunctions {
		results := make([][]sweepResult, blocks) // by block, by tier
		var next atomic.Int64
		var wg sync.WaitGroup
		for w := range threads {
			wg.Go(func() {
				for {
					b := int(next.Add(1) - 1)
					if b >= blocks || ctx.Err() != nil {
						return
					}
					results[b] = sweepOne(ctx, f, engines[w], uint32(b)*sweepBlock)
					n := int(done.Add(1))
					if opt.Progress != nil {
						opt.Progress(n, len(sweepFunctions)*blocks)
					}
				}
			})
		}
		wg.Wait()
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for i, t := range tiers {
			rows = append(rows, sumSweep(f.name, t, results, i))
		}
	}
	return rows, nil
}

// sumSweep returns the row of tier number i from the results of all blocks.
func sumSweep(function string, t engine.Tier, results [][]sweepResult, i int) SweepRow {
	row := SweepRow{Function: function, Tier: t.String(), BitsEqual: true}
	all := sha256.New()
	for _, block := range results {
		s := block[i]
		row.Inputs += s.Inputs
		row.Failed += s.Failed
		row.BitsEqual = row.BitsEqual && s.BitsEqual
		row.MaxULP = max(row.MaxULP, s.MaxULP)
		if s.MaxError > row.MaxError {
			row.MaxError, row.Worst = s.MaxError, s.Worst
		}
		all.Write(s.hash.Sum(nil))
	}
	row.SHA256 = hex.EncodeToString(all.Sum(nil))
	row.HashEqual = len(results) < sweepBlocks || row.SHA256 == sweepHashes[function]
	return row
}

// sweepResult is the result of a block on one tier.
type sweepResult struct {
	SweepRow
	hash hash.Hash
}

// sweepOne evaluates f on all engines at the block of inputs whose bits start at first. It stops
// early if ctx ends.
func sweepOne(ctx context.Context, f sweepFunction, engines []*engine.Engine, first uint32) []sweepResult {
	results := make([]sweepResult, len(engines))
	for i := range results {
		results[i] = sweepResult{SweepRow{BitsEqual: true, Inputs: sweepBlock}, sha256.New()}
	}
	var (
		x, y [sweepChunk]float32
		want [sweepChunk]float64
		base [sweepChunk]uint32 // bits on the first tier
	)
	for at := 0; at < sweepBlock && ctx.Err() == nil; at += sweepChunk {
		for j := range x {
			x[j] = math.Float32frombits(first + uint32(at+j))
			want[j] = f.oracle(float64(x[j]))
		}
		for i, e := range engines {
			f.call(e, y[:], x[:])
			if i == 0 {
				for j, v := range y {
					base[j] = canonicalBits(v)
				}
			}
			results[i].judge(&x, &y, &want, &base)
		}
	}
	return results
}

// judge compares the results y at x with the reference and with the bits of the first tier.
func (r *sweepResult) judge(x, y *[sweepChunk]float32, want *[sweepChunk]float64, base *[sweepChunk]uint32) {
	var bytes [4 * sweepChunk]byte
	for j, v := range y {
		bits := canonicalBits(v)
		binary.LittleEndian.PutUint32(bytes[4*j:], bits)
		bad := bits != base[j]
		if bad {
			r.BitsEqual = false
		}
		if w := want[j]; v != float32(w) {
			ulps := reference.ULPs(v, w)
			bad = bad || ulps > 1
			r.MaxULP = max(r.MaxULP, ulps)
			if e := math.Abs(float64(v)-w) / ulp(w); ulps > 0 && e > r.MaxError {
				r.MaxError, r.Worst = e, fmt.Sprintf("%x", x[j])
			}
		}
		if bad {
			r.Failed++
		}
	}
	r.hash.Write(bytes[:])
}

// canonicalBits returns the bits of v, or the same bits for every NaN.
func canonicalBits(v float32) uint32 {
	if v != v {
		return 0x7fc00000
	}
	return math.Float32bits(v)
}
