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
	"dpnbench/internal/mpi"
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
	return KMeansBy(ctx, e, Alone, x, k, seed)
}

// KMeansBy is KMeans by ranks that divide the rows. Sums over rows, and with them the result, depend on the number of
// pieces, those of one piece being the sums of KMeans.
func KMeansBy(ctx context.Context, e *engine.Engine, by Division, x engine.Matrix, k int,
	seed uint64) (*Clusters, error) {
	return kMeans(ctx, e, by, x, k, num.NewRand(seed, stream.KMeans))
}

// ClassKMeans clusters the rows of x of each class apart, around as many centres as divide
// k evenly among the classes that are present; the lower ones get those left over. The
// centres come in the order of the classes. Inertia is the sum over classes and
// Iterations the most that one took.
func ClassKMeans(ctx context.Context, e *engine.Engine, x engine.Matrix, labels []uint16, k int,
	seed uint64) (*Clusters, error) {
	return ClassKMeansBy(ctx, e, Alone, x, labels, k, seed)
}

// ClassKMeansBy is ClassKMeans by ranks that divide the rows of each class, as KMeansBy.
func ClassKMeansBy(ctx context.Context, e *engine.Engine, by Division, x engine.Matrix, labels []uint16, k int,
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
		c, err := kMeans(ctx, e, by, own, n, num.NewRand(seed, stream.Classes+uint64(y)))
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

func kMeans(ctx context.Context, e *engine.Engine, by Division, x engine.Matrix, k int,
	random *num.Rand) (*Clusters, error) {
	n, d := x.Rows, x.Cols
	if k < 1 || n < k {
		return nil, fmt.Errorf("k-means: %d centres for %d rows, expected at least one row for each", k, n)
	}
	r := &Clusters{Centres: engine.NewMatrix(k, d), Assignment: make([]int32, n)}
	own, first := ownRows(by, x)
	l := &lloyd{Clusters: r, ctx: ctx, e: e, by: by, x: x, own: own, first: first,
		dist: engine.NewMatrix(own.Rows, k), to: r.Assignment[first : first+own.Rows]}
	if err := l.plusPlus(random); err != nil {
		return nil, err
	}
	before := make([]int32, own.Rows)
	for i := range before {
		before[i] = -1
	}
	last := math.Inf(1)
	for r.Iterations < kMeansIterations && !r.Converged {
		if err := l.assign(before); err != nil {
			return nil, err
		}
		r.Iterations++
		if math.IsNaN(r.Inertia) || math.IsInf(r.Inertia, 0) {
			return nil, fmt.Errorf("k-means: distances are not finite")
		}
		r.Converged = l.moved == 0 || last-r.Inertia <= kMeansTolerance*r.Inertia
		last = r.Inertia
		copy(before, l.to)
		for c, count := range l.counts {
			if count > 0 {
				for j, v := range l.sums[c*d : (c+1)*d] {
					r.Centres.Row(c)[j] = float32(v / count)
				}
				continue
			}
			if err := l.refill(c); err != nil {
				return nil, err
			}
		}
	}
	return r, by.Gather(ctx, nil, n, mpi.Bytes(r.Assignment))
}

// lloyd is k-means on its way.
type lloyd struct {
	*Clusters
	ctx context.Context
	e   *engine.Engine
	by  Division

	x     engine.Matrix // n x d
	own   engine.Matrix // the rows of it that this rank assigns,
	first int           // from this one on
	dist  engine.Matrix // own rows x k
	to    []int32       // centres of own rows: part of Assignment

	// over all rows
	sums   []float64 // k x d, of rows by centre
	counts []float64 // k
	moved  float64   // rows whose centre is not that before
}

// assign assigns the rows to the nearest centres, and measures that. before has the centres of own rows so far.
func (l *lloyd) assign(before []int32) error {
	l.e.SquaredDistances(l.dist, l.own, l.Centres)
	l.e.ArgMin(l.to, l.dist)
	k, size := l.Centres.Rows, l.Centres.Rows*l.x.Cols
	all, err := l.by.Sum(l.ctx, nil, l.x.Rows, size+k+2, func(_, lo, hi int, sum []float64) {
		lo, hi = lo-l.first, hi-l.first
		counts, moved, inertia := make([]int, k), 0, 0.0
		for i := lo; i < hi; i++ {
			c := l.to[i]
			if c != before[i] {
				moved++
			}
			inertia += float64(l.dist.At(i, int(c)))
			counts[c]++
		}
		sumByCentre(l.e, sum[:size], l.own.SliceRows(lo, hi), l.to[lo:hi], counts)
		for c, n := range counts {
			sum[size+c] = float64(n)
		}
		sum[size+k], sum[size+k+1] = float64(moved), inertia
	})
	if err != nil {
		return err
	}
	l.sums, l.counts, l.moved, l.Inertia = all[:size], all[size:size+k], all[size+k], all[size+k+1]
	return nil
}

// refill moves centre c, which has no rows, to the one that is farthest from its own.
func (l *lloyd) refill(c int) error {
	far, distance, err := l.farthest()
	if err != nil || onCentre(l.x.Row(far), distance) { // fewer different rows than centres: it would win no row
		return err
	}
	copy(l.Centres.Row(c), l.x.Row(far))
	if i := far - l.first; 0 <= i && i < l.own.Rows {
		l.dist.Set(i, int(l.to[i]), 0) // so that another empty centre goes elsewhere
	}
	l.Converged = false
	return nil
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

// farthest returns the row with the largest distance to its own centre, and that.
func (l *lloyd) farthest() (row int, distance float32, err error) {
	all, err := l.by.Sum(l.ctx, nil, l.x.Rows, 2*l.by.Pieces(), func(piece, lo, hi int, sum []float64) {
		at, most := 0, float32(-1)
		for i := lo; i < hi; i++ {
			if v := l.dist.At(i-l.first, int(l.to[i-l.first])); v > most {
				at, most = i, v
			}
		}
		sum[2*piece], sum[2*piece+1] = float64(at), float64(most)
	})
	distance = -1
	for ; len(all) > 0; all = all[2:] {
		if v := float32(all[1]); v > distance {
			row, distance = int(all[0]), v
		}
	}
	return row, distance, err
}

// plusPlus chooses rows of x as centres: the first at random, each further one with a
// probability in proportion to the squared distance to the nearest centre so far.
func (l *lloyd) plusPlus(r *num.Rand) error {
	nearest := make([]float32, l.own.Rows)
	pick := r.Intn(l.x.Rows)
	for c := 0; ; c++ {
		copy(l.Centres.Row(c), l.x.Row(pick))
		if c == l.Centres.Rows-1 {
			return nil
		}
		column := l.dist.Slice(0, l.own.Rows, c, c+1)
		l.e.SquaredDistances(column, l.own, l.Centres.Slice(c, c+1, 0, l.x.Cols))
		for i := range nearest {
			if v := column.At(i, 0); c == 0 || v < nearest[i] {
				nearest[i] = v
			}
		}
		var err error
		if pick, err = l.draw(nearest, r); err != nil {
			return err
		}
	}
}

// draw draws a row with a probability in proportion to its weight; of those this rank has the ones of its own rows.
func (l *lloyd) draw(weights []float32, r *num.Rand) (row int, err error) {
	n := l.x.Rows
	sums, err := l.by.Sum(l.ctx, nil, n, l.by.Pieces(), func(piece, lo, hi int, sum []float64) {
		for _, v := range weights[lo-l.first : hi-l.first] {
			sum[piece] += float64(v)
		}
	})
	if err != nil {
		return 0, err
	}
	var total, before float64
	for _, v := range sums {
		total += v
	}
	u, at := r.Float64()*total, 0
	for at < len(sums)-1 && !(before+sums[at] > u) {
		before += sums[at]
		at++
	}
	drawn, err := l.by.Sum(l.ctx, nil, n, 1, func(piece, lo, hi int, sum []float64) {
		if piece != at {
			return
		}
		sum[0] = float64(hi - 1)
		upTo := before
		for i, v := range weights[lo-l.first : hi-l.first] {
			if upTo += float64(v); upTo > u {
				sum[0] = float64(lo + i)
				return
			}
		}
	})
	if err != nil {
		return 0, err
	}
	return int(drawn[0]), nil
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
