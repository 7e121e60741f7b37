package dpn

import (
	"context"
	"math"
	"testing"

	"dpnbench/engine"
)

// blobs makes n points around each of k centres that lie 10 apart.
func blobs(n, k, d int) engine.Matrix {
	r := engine.NewRand(3, 0)
	x := engine.NewMatrix(n*k, d)
	r.Normal(x.Data)
	for i := range n * k {
		x.Row(i)[i%k%d] += 10 * float32(1+i%k)
	}
	return x
}

func TestKMeansFindsBlobs(t *testing.T) {
	const n, k, d = 200, 4, 21 // columns that threads share, and a rest of them
	x := blobs(n, k, d)
	var want *KMeansResult
	for _, o := range [][]engine.Option{{engine.WithThreads(1)}, {engine.WithThreads(3), engine.WithEagerThreads()}, {engine.WithTier(engine.Generic)}} {
		r, err := KMeans(context.Background(), newEngine(t, o...), x, k, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range r.Assignment {
			if c != r.Assignment[i%k] {
				t.Fatalf("row %d is in cluster %d, the first of its blob in %d", i, c, r.Assignment[i%k])
			}
		}
		if !r.Converged || math.Abs(r.Inertia/(n*k*d)-1) > 0.1 {
			t.Errorf("converged %v, inertia %v a number, want about 1", r.Converged, r.Inertia/(n*k*d))
		}
		if want == nil {
			want = r
			continue
		}
		for i, v := range r.Centres.Data {
			if math.Float32bits(v) != math.Float32bits(want.Centres.Data[i]) {
				t.Fatalf("centre number %d is %v, was %v", i, v, want.Centres.Data[i])
			}
		}
	}
}

// TestKMeansDegenerate covers as many centres as rows, equal rows and too few rows.
func TestKMeansDegenerate(t *testing.T) {
	e := newEngine(t)
	x := blobs(1, 5, 3)
	r, err := KMeans(context.Background(), e, x, 5, 1)
	if err != nil {
		t.Fatal(err)
	}
	if r.Inertia != 0 {
		t.Errorf("inertia %v with a centre for each row", r.Inertia)
	}
	same := engine.NewMatrix(6, 3)
	for i := range same.Data {
		same.Data[i] = 2
	}
	if r, err = KMeans(context.Background(), e, same, 3, 1); err != nil || r.Inertia != 0 {
		t.Errorf("equal rows: inertia %v, error %v", r.Inertia, err)
	}
	for _, v := range r.Centres.Data {
		if v != 2 {
			t.Errorf("a centre of equal rows has %v", v)
		}
	}
	if _, err := KMeans(context.Background(), e, x, 6, 1); err == nil {
		t.Error("no error for more centres than rows")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := KMeans(ctx, e, x, 2, 1); err == nil {
		t.Error("no error after cancelling")
	}
}
