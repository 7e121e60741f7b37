package potential

import (
	"context"
	"fmt"

	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/internal/mpi"
)

// SmallCluster is a cluster that varies in fewer directions than its component is to be flat along:
// n rows vary in n-1 at most.
type SmallCluster struct {
	Component int
	Rows      int // may be 0
}

// negligible is the share of a cluster's variance up to which a direction counts as rounding.
const negligible = 1e-12

// fitClusters sets U_i to the principal components of the rows of x that are assigned to component i
// (local PCA). Clusters that vary in fewer than r directions get those of the pooled covariance, and
// are returned. Ranks, and then threads, share the components.
func (f *flatForm) fitClusters(ctx context.Context, e *engine.Engine, by Division, x engine.Matrix,
	assignment []int32) ([]SmallCluster, error) {
	first, end := by.Own(f.k)
	own := end - first
	failed, threads := make([]error, f.k), max(e.Threads()/max(own, 1), 1)
	rows, enough := make([]int, f.k), make([]byte, f.k) // 1: it has them
	for _, i := range assignment {
		rows[i]++
	}
	passes := float64(10 * f.r) // over the rows
	e.Parallel(own, 0, passes*float64(len(x.Data)), func(w *engine.Worker, lo, hi int) {
		for i := first + lo; i < first+hi && ctx.Err() == nil; i++ {
			if rows[i] > f.r {
				enough[i], failed[i] = f.fitOne(ctx, w, members(x, assignment, i), i, threads)
			}
		}
	})
	err := ctx.Err()
	for i, why := range failed {
		if why != nil {
			err = fmt.Errorf("principal components of cluster %d: %w", i, why)
			break
		}
	}
	if err := by.Gather(ctx, err, f.k, enough, mpi.Bytes(f.u.Data)); err != nil {
		return nil, err
	}
	var small []SmallCluster
	for i, v := range enough {
		if v == 0 {
			small = append(small, SmallCluster{i, rows[i]})
		}
	}
	if len(small) == 0 {
		return nil, nil
	}
	return small, by.Gather(ctx, f.pool(ctx, e, x, assignment, small), 0) // all have failed, or none
}

// members returns the rows of x that are assigned to component i.
func members(x engine.Matrix, assignment []int32, i int) []float32 {
	var list []float32
	for row, c := range assignment {
		if int(c) == i {
			list = append(list, x.Row(row)...)
		}
	}
	return list
}

// fitOne sets U_i to the principal components of the rows of a cluster; not if they vary in fewer than
// r directions.
func (f *flatForm) fitOne(ctx context.Context, w *engine.Worker, rows []float32, i, threads int) (enough byte,
	err error) {
	pca, err := separation.FitPCA(ctx, rows, f.d, f.r, threads)
	if err != nil || !(pca.Eigenvalues[f.r-1] > negligible*pca.TotalVariance) {
		return 0, err
	}
	f.setRows(w, i, pca.Components)
	return 1, nil
}

func (f *flatForm) setRows(w *engine.Worker, i int, components []float64) {
	u := f.rows(i)
	for j, v := range components {
		u.Data[j] = float32(v)
	}
	orthonormalise(w, u)
}

// pool sets U_i of small clusters to the principal components of the pooled covariance: that of all
// rows about the means of their clusters. This takes a copy of x. Where all rows together vary in
// fewer than r directions, the others are any that are orthogonal.
func (f *flatForm) pool(ctx context.Context, e *engine.Engine, x engine.Matrix, assignment []int32,
	small []SmallCluster) error {
	if x.Rows == 0 {
		return nil
	}
	means, rows := make([]float64, f.k*f.d), make([]float64, f.k)
	for row, i := range assignment {
		rows[i]++
		mean := means[int(i)*f.d : int(i+1)*f.d]
		for j, v := range x.Row(row) {
			mean[j] += (float64(v) - mean[j]) / rows[i]
		}
	}
	centred := make([]float32, 0, x.Rows*f.d)
	for row, i := range assignment {
		mean := means[int(i)*f.d : int(i+1)*f.d]
		for j, v := range x.Row(row) {
			centred = append(centred, float32(float64(v)-mean[j]))
		}
	}
	pca, err := separation.FitPCA(ctx, centred, f.d, f.r, e.Threads())
	if err != nil {
		return fmt.Errorf("principal components of the pooled covariance: %w", err)
	}
	for _, c := range small {
		e.Parallel(1, 0, 0, func(w *engine.Worker, _, _ int) { f.setRows(w, c.Component, pca.Components) })
	}
	return nil
}
