package potential

import (
	"context"
	"fmt"
	"math"
	"strings"
	"testing"

	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
)

// TestMisuse makes calls that would silently compute something else: each must panic, or return an error,
// with a line that says what is wrong.
func TestMisuse(t *testing.T) {
	e := newEngine(t)
	const k, d = 3, 4
	ctx := context.Background()
	x := engine.NewMatrix(6, d)
	for _, c := range []struct {
		name string
		call func(p *Potential) error
		want string
	}{
		{"K lower", func(p *Potential) error { p.K--; p.Ascend(e, x, 1); return nil }, "made for 3 in 4"},
		{"K lower, in float64", func(p *Potential) error {
			p.K--
			_, err := p.Evaluate64(ctx, make([]float64, d), 1)
			return err
		}, "made for 3 in 4"},
		{"D lower", func(p *Potential) error {
			p.D--
			p.Evaluate(e, x, make([]float32, 6),
				engine.Matrix{})
			return nil
		},
			"made for 3 in 4"},
		{"other centres", func(p *Potential) error {
			p.mu.Data = append([]float32(nil), p.mu.Data...)
			p.Ascend(e, x, 1)
			return nil
		}, "Data of denoising_potential.mu was replaced"},
		{"fewer weights", func(p *Potential) error { p.c.Data = p.c.Data[:k-1]; p.Ascend(e, x, 1); return nil },
			"Data of denoising_potential.c was replaced"},
		{"fewer centres", func(p *Potential) error { p.SetCentres(engine.NewMatrix(k-1, d)); return nil },
			"x is 2 x 4"},
		{"wider centres", func(p *Potential) error { p.SetCentres(engine.NewMatrix(k, d+1)); return nil },
			"x is 3 x 5"},
		{"an origin of another length", func(p *Potential) error { p.SetOrigin(make([]float32, d+1)); return nil },
			"SetOrigin: o has 5 elements"},
		{"alpha below 0", func(p *Potential) error { p.SetAlpha(-1); return nil }, "SetAlpha: -1"},
		{"alpha NaN", func(p *Potential) error { p.SetAlpha(float32(math.NaN())); return nil }, "SetAlpha: NaN"},
		{"alpha infinite", func(p *Potential) error { p.SetAlpha(float32(math.Inf(1))); return nil }, "SetAlpha: +Inf"},
		{"rows of another width", func(p *Potential) error { p.Ascend(e, engine.NewMatrix(2, d+1), 1); return nil },
			"x is 2 x 5"},
		{"steps below 0", func(p *Potential) error {
			return p.Walk(ctx, e, 1, -1, x, func(int, engine.Matrix, []float32, engine.Matrix) {})
		}, "-1 steps"},
		{"clusters of other rows", func(p *Potential) error {
			_, err := p.FitClusters(ctx, e, Alone, x, make([]int32, 5))
			return err
		}, "assignment has 5 elements"},
		{"labels of other rows", func(*Potential) error {
			_, err := ClassKMeans(ctx, e, x, make([]uint16, 5), 2, 1)
			return err
		}, "5 labels for 6 rows"},
		{"no room for a gradient", func(p *Potential) error {
			var tr ascent.Trajectory
			p.Forward(e, x, 1, &tr)
			p.Backward(e, &tr, engine.NewMatrix(6, d))
			return nil
		}, "PrepareGradient"},
		{"a likelihood of more rows", func(p *Potential) error {
			NewLikelihood(p, 5, 1).Loss(e, x, layer.Piece{Of: 6})
			return nil
		}, "expected 1 to 5 rows"},
		{"a likelihood of rows with gaps", func(p *Potential) error {
			NewLikelihood(p, 6, 1).Loss(e, engine.NewMatrix(6, 2*d).Slice(0, 6, 0, d), layer.Piece{Of: 6})
			return nil
		}, "without gaps"},
		{"score matching of more rows", func(p *Potential) error {
			NewScoreMatching(p, 5, 1, 1, 1).Loss(e, x, 1, layer.Piece{Of: 6})
			return nil
		},
			"expected 1 to 5 rows"},
		{"score matching without a gradient", func(p *Potential) error {
			NewScoreMatching(p, 6, 1, 1, 1).Loss(e, x, 1, layer.Piece{Of: 6})
			return nil
		}, "PrepareGradient"},
	} {
		p := New(Settings{Components: k, Form: "full", Scale: 1}, d)
		p.Start(0.5, num.NewRand(1, 1))
		got := ""
		func() {
			defer func() {
				if v := recover(); v != nil {
					got = fmt.Sprint(v)
				}
			}()
			if err := c.call(p); err != nil {
				got = err.Error()
			}
		}()
		if !strings.Contains(got, c.want) || strings.Contains(got, "\n") {
			t.Errorf("%s: %q, want one line with %q", c.name, got, c.want)
		}
	}
}
