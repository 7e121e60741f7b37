package potential

import (
	"context"
	"math"
	"slices"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"
)

// blobs makes n points around each of k centres that lie 10 apart.
func blobs(n, k, d int) engine.Matrix {
	r := num.NewRand(3, 0)
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
	var want *Clusters
	for _, o := range [][]engine.Option{{engine.WithThreads(1)}, {engine.WithThreads(3),
		engine.WithEagerThreads()}, {engine.WithTier(engine.Generic)}} {
		r, err := KMeans(context.Background(), newEngine(t, o...), x, k, 1)
		if err != nil {
			t.Fatal(err)
		}
		for i, c := range r.Assignment {
			if c != r.Assignment[i%k] {
				t.Fatalf("row %d is in cluster %d, the first of its blob in %d", i, c, r.Assignment[i%k])
			}
		}
		if !r.Converged || !(math.Abs(r.Inertia/(n*k*d)-1) <= 0.1) {
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

// TestSumByCentre compares the sums with those of a loop over the rows, whatever the threads: few
// and many centres, and some without rows.
func TestSumByCentre(t *testing.T) {
	const n, d = 300, 37
	x, r := engine.NewMatrix(n, d), num.NewRand(8, 0)
	r.Normal(x.Data)
	for _, k := range []int{1, 3, 16, 40} {
		own, counts, want := make([]int32, n), make([]int, k), make([]float64, k*d)
		for i := range own {
			own[i] = int32(r.Intn(k) * r.Intn(k) / k)
			counts[own[i]]++
			for j, v := range x.Row(i) {
				want[int(own[i])*d+j] += float64(v)
			}
		}
		for _, threads := range []int{1, 3} {
			e, sums := newEngine(t, engine.WithThreads(threads), engine.WithEagerThreads()), make([]float64, k*d)
			sumByCentre(e, sums, x, own, counts)
			for i, v := range sums {
				if v != want[i] {
					t.Fatalf("k %d, %d threads: number %d is %v, want %v", k, threads, i, v, want[i])
				}
			}
		}
	}
}

// TestMeansOfManyRows checks centres of many rows, which are means: of equal numbers exactly, and of others
// within a rounding.
func TestMeansOfManyRows(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: takes seconds, minutes under emulation")
	}
	e := newEngine(t)
	for _, c := range []struct {
		rows, d int
		value   float32
		noise   bool
	}{{20_000_000, 1, 1, false}, {1_369_568, 1, -0.42421296, false}, {3_000_000, 3, 1e30, false},
		{300_000, 16, 1000, true}} {
		x, mean := engine.NewMatrix(c.rows, c.d), make([]float64, c.d)
		if c.noise {
			num.NewRand(2, 0).Normal(x.Data)
		}
		for i := range x.Data {
			x.Data[i] += c.value
			mean[i%c.d] += float64(x.Data[i]) / float64(c.rows)
		}
		r, err := KMeans(context.Background(), e, x, 1, 1)
		if err != nil {
			t.Fatal(err)
		}
		for j, got := range r.Centres.Row(0) {
			if !c.noise && got != c.value || !(math.Abs(float64(got)/mean[j]-1) <= 1e-7) {
				t.Errorf("centre of %d times %v is %v, their mean %v", c.rows, c.value, got, mean[j])
			}
		}
	}
}

// TestClusters checks what Assignment and Inertia belong to: Centres are the means of
// the rows that are assigned to them, some of which may be nearer to another one by then, and
// have no more than Inertia.
func TestClusters(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation, and the same bits on every machine")
	}
	const n, k, d = 20000, 20, 2
	e, x := newEngine(t), engine.NewMatrix(n, d)
	num.NewRand(5, 0).Uniform(x.Data, -1, 1)
	between := 0 // runs that stopped before the assignment did
	for seed := range uint64(2) {
		r, err := KMeans(context.Background(), e, x, k, seed)
		if err != nil {
			t.Fatal(err)
		}
		means, counts := make([]float64, k*d), make([]float64, k)
		var inertia float64
		nearer := 0
		for i, own := range r.Assignment {
			counts[own]++
			best, at := math.Inf(1), int32(0)
			for c := range k {
				var q float64
				for j, v := range x.Row(i) {
					far := float64(v) - float64(r.Centres.At(c, j))
					q += far * far
				}
				if q < best {
					best, at = q, int32(c)
				}
			}
			inertia += best
			if at != own {
				nearer++
			}
			for j, v := range x.Row(i) {
				means[int(own)*d+j] += float64(v)
			}
		}
		for i, v := range r.Centres.Data {
			if want := means[i] / counts[i/d]; !(math.Abs(float64(v)-want) <= 1e-5) {
				t.Errorf("seed %d: number %d of the centres is %v, the mean of their rows %v", seed, i, v, want)
			}
		}
		if !(inertia <= r.Inertia*(1+1e-5)) {
			t.Errorf("seed %d: inertia %v, of the centres %v", seed, r.Inertia, inertia)
		}
		if nearer > 0 {
			between++
		}
	}
	if between == 0 {
		t.Error("every run went on until no row changed its centre, and the last move was not seen")
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

// TestClassKMeans checks that every class has clusters of its own, as many as the others or
// one more.
func TestClassKMeans(t *testing.T) {
	e := newEngine(t)
	x := blobs(30, 4, 6)
	labels := make([]uint16, x.Rows)
	for i := range labels {
		labels[i] = uint16(i % 3 * 2) // classes 0, 2 and 4
	}
	r, err := ClassKMeans(context.Background(), e, x, labels, 8, 1)
	if err != nil {
		t.Fatal(err)
	}
	classes := []uint16{0, 0, 0, 2, 2, 2, 4, 4}
	var inertia float64
	for i, c := range r.Assignment {
		if classes[c] != labels[i] {
			t.Fatalf("row %d of class %d is in cluster %d", i, labels[i], c)
		}
		v, _ := reference.SquaredDistance(reference.Vector(x.Row(i)), reference.Vector(r.Centres.Row(int(c))))
		inertia += v
	}
	if !(math.Abs(inertia/r.Inertia-1) <= 0.05) { // the centres have moved once more since
		t.Errorf("inertia %v, by the centres %v", r.Inertia, inertia)
	}
	if _, err := ClassKMeans(context.Background(), e, x, labels, 2, 1); err == nil {
		t.Error("no error for fewer centres than classes")
	}
	if _, err := ClassKMeans(context.Background(), e, x, labels, 200, 1); err == nil {
		t.Error("no error for more centres than rows of a class")
	}
}

// TestSamples checks that centres are different rows in their order, others with another
// seed, and that as many as there are rows are all of them.
func TestSamples(t *testing.T) {
	e := newEngine(t)
	x := gaussianRows(60, 2, 4, 1)
	find := func(centre []float32) int {
		for i := range x.Rows {
			if slices.Equal(centre, x.Row(i)) {
				return i
			}
		}
		return -1
	}
	var drawn [2][]int
	for seed := range drawn {
		r, err := DrawCentres(e, x, 7, uint64(seed))
		if err != nil {
			t.Fatal(err)
		}
		last := -1
		for i := range r.Centres.Rows {
			at := find(r.Centres.Row(i))
			if at <= last {
				t.Errorf("centre %d is row %d, the one before %d", i, at, last)
			}
			if at >= 0 && r.Assignment[at] != int32(i) {
				t.Errorf("row %d is centre %d but belongs to %d", at, i, r.Assignment[at])
			}
			drawn[seed], last = append(drawn[seed], at), at
		}
	}
	if slices.Equal(drawn[0], drawn[1]) {
		t.Errorf("both seeds draw %v", drawn[0])
	}
	all, err := DrawCentres(e, x, x.Rows, 1)
	if err != nil || !slices.Equal(all.Centres.Data, x.Data) || all.Inertia != 0 {
		t.Errorf("all rows: inertia %v, error %v", all.Inertia, err)
	}
	for _, k := range []int{0, 61} {
		if _, err := DrawCentres(e, x, k, 1); err == nil {
			t.Errorf("no error for %d centres", k)
		}
	}
	x.Data[5] = float32(math.NaN())
	if _, err := DrawCentres(e, x, 3, 1); err == nil {
		t.Error("no error for NaN")
	}
}
