package potential

import (
	"context"
	"math"
	"slices"
	"testing"

	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// TestSmallClusters fits clusters of few rows, none, and equal rows: their components are flat along the
// principal components of the pooled covariance, and every precision is finite and positive definite.
func TestSmallClusters(t *testing.T) {
	e := newEngine(t)
	const d, r = 7, 3
	sizes := []int{40, 0, 1, r, r + 1, 30, 25} // the last one: equal rows
	want := []SmallCluster{{1, 0}, {2, 1}, {3, r}, {6, 25}}
	var assignment []int32
	for i, n := range sizes {
		for range n {
			assignment = append(assignment, int32(i))
		}
	}
	x := engine.NewMatrix(len(assignment), d)
	num.NewRand(1, 0).Normal(x.Data)
	centred := make([]float32, 0, len(x.Data)) // about the means of the clusters
	for i, first := 0, 0; i < len(sizes); i++ {
		rows := x.Data[first*d : (first+sizes[i])*d]
		for at := range rows { // clusters apart, longer along some axes than others
			rows[at] = float32(10*i) + rows[at]*float32(d-at%d)
			if i == len(sizes)-1 {
				rows[at] = float32(at % d)
			}
		}
		for at, v := range rows {
			mean := 0.0
			for k := at % d; k < len(rows); k += d {
				mean += float64(rows[k]) / float64(sizes[i])
			}
			centred = append(centred, float32(float64(v)-mean))
		}
		first += sizes[i]
	}
	pooled, err := separation.FitPCA(context.Background(), centred, d, r, 1)
	if err != nil {
		t.Fatal(err)
	}
	p := New(Settings{Components: len(sizes), Form: FormFlat, Rank: r, Eps: 0.1, Scale: 1}, d)
	p.Start(0.1, num.NewRand(1, 0))
	small, err := p.FitClusters(context.Background(), e, Alone, x, assignment)
	if err != nil || !slices.Equal(small, want) {
		t.Fatalf("small clusters %v, want %v (%v)", small, want, err)
	}
	if tensor, problem := p.CheckDefinite(e); problem != "" {
		t.Errorf("%s: %s", tensor, problem)
	}
	for i := range sizes {
		values, _, err := p.form.spectrum(context.Background(), i)
		if err != nil || !(slices.Min(values) > 0.0999 && slices.Max(values) < 1.0001) {
			t.Errorf("component %d: eigenvalues %v, want 0.1 to 1 (%v)", i, values, err)
		}
		u, off := p.form.(*flatForm).rows(i), 0.0
		for j, v := range u.Data {
			off = max(off, math.Abs(float64(v)-pooled.Components[j]))
		}
		isSmall := slices.ContainsFunc(small, func(c SmallCluster) bool { return c.Component == i })
		if isSmall != (off < 1e-5) {
			t.Errorf("component %d, small %v: differs by %.2g from the pooled components", i, isSmall, off)
		}
	}
}
