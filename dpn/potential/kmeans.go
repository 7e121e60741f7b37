package potential

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpnbench/dpn/internal/stream"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
)

// Clusters is the outcome of KMeans, ClassKMeans or DrawCentres.
//
// An iteration of Lloyd's first assigns the rows and then moves the centres, and the last
// one does both. So Assignment and Inertia are those of the centres before that move, and
// Centres are the means of the rows that are assigned to them. Where no row changed its
// centre the move changed nothing, and both belong to Centres, too. Where the inertia fell
// by too little, or the iterations were used up, some rows may be nearer to another of the
// Centres, and the sum of squared distances to the nearest of these is at most Inertia, up
// to rounding. DrawCentres moves no centre.
type Clusters struct {
	Centres engine.Matrix // k x d
	// nearest centre of each row (ClassKMeans: of those of its class), the lower one among equals
	Assignment []int32
	Inertia    float64 // sum of squared distances of the rows to the centres that they are assigned to
	Iterations int
	Converged  bool
}

const (
	kMeansIterations = 100
	kMeansTolerance  = 1e-5 // relative fall of the inertia below which it has converged
)

// KMeans clusters the rows of x (n x d, rows contiguous) around k centres: k-means++
// for the first ones (Arthur and Vassilvitskii, 2007), then Lloyd's iterations until no
// row changes its centre, the inertia falls by less than a 1e-5th, or 100 are done. A
// centre that loses all rows moves to the row that is farthest from its own; if there are fewer
// different rows than centres, it stays. The result
// is a function of x, k and the seed, whatever the number of threads and the machine.
func KMeans(ctx context.Context, e *engine.Engine, x engine.Matrix, k int, seed uint64) (*Clusters, error) {
	return kMeans(ctx, e, x, k, num.NewRand(seed, stream.KMeans))
}

// ClassKMeans clusters the rows of x of each class apart, around as many centres as divide
// k evenly among the classes that are present; the lower ones get those left over. The
// centres come in the order of the classes. Inertia is the sum over classes and
// Iterations the most that one took.
func ClassKMeans(ctx context.Context, e *engine.Engine, x engine.Matrix, labels []uint16, k int,
	seed uint64) (*Clusters, error) {
	if len(labels) != x.Rows {
		return nil, fmt.Errorf("k-means in each class: %d labels for %d rows", len(labels), x.Rows)
	}
	centres, problem := CentresByClass(labels, k)
	if problem != "" {
		return nil, fmt.Errorf("k-means in each class: %d centres: %s", k, problem)
	}
	members := make([][]int32, len(centres))
	for i, y := range labels {
		members[y] = append(members[y], int32(i))
	}
	r := &Clusters{Centres: engine.NewMatrix(k, x.Cols), Assignment: make([]int32, x.Rows), Converged: true}
	first := 0
	for y, n := range centres {
		if n == 0 {
			continue
		}
		own := engine.NewMatrix(len(members[y]), x.Cols)
		for i, row := range members[y] {
			copy(own.Row(i), x.Row(int(row)))
		}
		c, err := kMeans(ctx, e, own, n, num.NewRand(seed, stream.Classes+uint64(y)))
		if err != nil {
			return nil, fmt.Errorf("class %d: %w", y, err)
		}
		copy(r.Centres.Data[first*x.Cols:], c.Centres.Data)
		for i, row := range members[y] {
			r.Assignment[row] = int32(first) + c.Assignment[i]
		}
		r.Inertia += c.Inertia
		r.Iterations = max(r.Iterations, c.Iterations)
		r.Converged = r.Converged && c.Converged
		first += n
	}
	return r, nil
}

// CentresByClass divides k centres among the classes of labels, up to the largest, or says why it
// cannot.
func CentresByClass(labels []uint16, k int) (centres []int, problem string) {
	var members []int
	for _, y := range labels {
		for int(y) >= len(members) {
			members = append(members, 0)
		}
		members[y]++
	}
	centres = make([]int, len(members))
	var present []int
	for y, n := range members {
		if n > 0 {
			present = append(present, y)
		}
	}
	if k < len(present) {
		return centres, fmt.Sprintf("expected at least one for each of %d classes", len(present))
	}
	for at, y := range present {
		centres[y] = k / len(present)
		if at < k%len(present) {
			centres[y]++
		}
		if centres[y] > members[y] {
			return centres, fmt.Sprintf("expected at most one for each row of a class, class %d has %d for %d", y,
				members[y], centres[y])
		}
	}
	return centres, ""
}

func kMeans(ctx context.Context, e *engine.Engine, x engine.Matrix, k int, random *num.Rand) (*Clusters, error) {
	n, d := x.Rows, x.Cols
	if k < 1 || n < k {
		return nil, fmt.Errorf("k-means: %d centres for %d rows, expected at least one row for each", k, n)
	}
	r := &Clusters{Centres: engine.NewMatrix(k, d), Assignment: make([]int32, n)}
	dist := engine.NewMatrix(n, k)
	if err := plusPlus(ctx, e, x, r.Centres, dist, random); err != nil {
		return nil, err
	}
	before := make([]int32, n)
	for i := range before {
		before[i] = -1
	}
	last := math.Inf(1)
	sums := make([]float64, k*d)
	counts := make([]int, k)
	for r.Iterations < kMeansIterations && !r.Converged {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		e.SquaredDistances(dist, x, r.Centres)
		e.ArgMin(r.Assignment, dist)
		r.Iterations++
		moved := 0
		r.Inertia = 0
		clear(counts)
		for i, c := range r.Assignment {
			if c != before[i] {
				moved++
			}
			r.Inertia += float64(dist.At(i, int(c)))
			counts[c]++
		}
		sumByCentre(e, sums, x, r.Assignment, counts)
		if math.IsNaN(r.Inertia) || math.IsInf(r.Inertia, 0) {
			return nil, fmt.Errorf("k-means: distances are not finite")
		}
		r.Converged = moved == 0 || last-r.Inertia <= kMeansTolerance*r.Inertia
		last = r.Inertia
		copy(before, r.Assignment)
		for c := range k {
			if counts[c] > 0 {
				for j, v := range sums[c*d : (c+1)*d] {
					r.Centres.Row(c)[j] = float32(v / float64(counts[c]))
				}
				continue
			}
			far := farthest(dist, r.Assignment)
			if onCentre(x.Row(far), dist.At(far, int(r.Assignment[far]))) {
				continue // fewer different rows than centres: it would win no row
			}
			copy(r.Centres.Row(c), x.Row(far))
			dist.Set(far, int(r.Assignment[far]), 0) // so that another empty centre goes elsewhere
			r.Converged = false
		}
	}
	return r, nil
}

// sumByCentre sets sums (k x d) to the sum of each centre's rows of x, of which there are counts, added in
// float64 in increasing order. The threads share the centres, and of few centres the columns: pieces of
// rows that are short, and far apart, are slow to read.
func sumByCentre(e *engine.Engine, sums []float64, x engine.Matrix, own []int32, counts []int) {
	k, d := len(counts), x.Cols
	ends := make([]int, k) // of the rows of a centre in members
	at := 0
	for c, n := range counts {
		ends[c] = at
		at += n
	}
	members := make([]int32, len(own))
	for i, c := range own {
		members[ends[c]] = int32(i)
		ends[c]++
	}
	clear(sums)
	const line = 16
	lines := (x.Cols + line - 1) / line
	parts := min((k+15)/k, lines)
	begin := func(part int) int { return min(part*lines/parts*line, x.Cols) }
	e.Parallel(k*parts, 0, float64(len(own)*lines), func(w *engine.Worker, lo, hi int) {
		for unit := lo; unit < hi; unit++ {
			c, part := unit/parts, unit%parts
			j0, j1 := begin(part), begin(part+1)
			w.AddRowsOf(sums[c*d+j0:c*d+j1], x.Slice(0, x.Rows, j0, j1), members[ends[c]-counts[c]:ends[c]])
		}
	})
}

// onCentre says whether a row at a squared distance from its centre is away from it by no more than
// the rounding of a mean of equal rows.
func onCentre(x []float32, distance float32) bool {
	var square float64
	for _, v := range x {
		square += float64(float64(v) * float64(v))
	}
	return float64(distance) <= 1e-12*square
}

// farthest returns the row with the largest distance to its own centre.
func farthest(dist engine.Matrix, own []int32) int {
	at, most := 0, float32(-1)
	for i, c := range own {
		if v := dist.At(i, int(c)); v > most {
			at, most = i, v
		}
	}
	return at
}

// plusPlus chooses rows of x as centres: the first at random, each further one with a
// probability in proportion to the squared distance to the nearest centre so far.
func plusPlus(ctx context.Context, e *engine.Engine, x, centres, dist engine.Matrix, r *num.Rand) error {
	nearest := make([]float32, x.Rows)
	pick := r.Intn(x.Rows)
	for c := range centres.Rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		copy(centres.Row(c), x.Row(pick))
		column := dist.Slice(0, x.Rows, c, c+1)
		e.SquaredDistances(column, x, centres.Slice(c, c+1, 0, x.Cols))
		var total float64
		for i := range nearest {
			if v := column.At(i, 0); c == 0 || v < nearest[i] {
				nearest[i] = v
			}
			total += float64(nearest[i])
		}
		u := r.Float64() * total
		pick = x.Rows - 1
		var sum float64
		for i, v := range nearest {
			if sum += float64(v); sum > u {
				pick = i
				break
			}
		}
	}
	return nil
}

// DrawCentres draws k different rows of x (n x d, rows contiguous) under a seed as centres, in
// the order of the rows: the first k of a random permutation, sorted. Assignment and Inertia
// are those of the nearest centres.
func DrawCentres(e *engine.Engine, x engine.Matrix, k int, seed uint64) (*Clusters, error) {
	n := x.Rows
	if k < 1 || n < k {
		return nil, fmt.Errorf("centres from samples: %d centres for %d rows, expected at least one row for each", k, n)
	}
	order := make([]int32, n)
	num.NewRand(seed, stream.Centres).Permutation(order)
	drawn := order[:k]
	slices.Sort(drawn)
	r := &Clusters{Centres: engine.NewMatrix(k, x.Cols), Assignment: make([]int32, n), Converged: true}
	for i, row := range drawn {
		copy(r.Centres.Row(i), x.Row(int(row)))
	}
	dist := engine.NewMatrix(n, k)
	e.SquaredDistances(dist, x, r.Centres)
	e.ArgMin(r.Assignment, dist)
	for i, c := range r.Assignment {
		r.Inertia += float64(dist.At(i, int(c)))
	}
	if !linalg.IsFinite(r.Inertia) {
		return nil, fmt.Errorf("centres from samples: distances are not finite")
	}
	return r, nil
}
