package engine

import (
	"slices"
	"sync"
	"sync/atomic"
)

// P_i = A_i^T A_i takes as long as the products of some hundred rows with it. Where an ascent by
// the sparse route uses few of many components, SetFactors therefore leaves the P_i due, and the
// ascent makes those in use: certificates come from A_i, and the bounds of the first step from
// A_i and A_i^T applied in turn (sparseJob.try), which takes twice as long as a product with
// P_i. Whatever counts is computed with P_i, so this changes no bit; for the same reason no
// l_i comes from A_i and A_i^T, however few its rows are: the routes, and a row alone and within a
// batch, would differ.
type due struct {
	list []atomic.Bool // P_i has still to be made
	left atomic.Int32  // how many have
	lock sync.Mutex    // of those that a worker makes on its way
	now  []int32       // those that are made

	used  []atomic.Bool // l_i has been computed by the sparse route, since SetFactors
	tried int           // rows to which A_i and A_i^T have been applied, since SetFactors

	// Of the first ascent after SetFactors, if nothing since then has needed all P_i.
	known bool
	rows  int     // that took the sparse route
	share float64 // of the components that they used
}

// What takes as long as so many rows of a product with P_i.
var makeRows = 0.6 // times d: making P_i

const packRows = 0.1 // times d: packing A_i and A_i^T

// tryShare returns the share of components in use up to which ascents of n rows are faster where
// P_i are left due: each component costs n rows more then, and packing, and P_i where it is in use.
func tryShare(d, n int) float64 {
	return 1 - (float64(n)+packRows*float64(d))/(makeRows*float64(d))
}

// leavesDue says whether to leave P_i due, from what the ascent after the last SetFactors has
// shown. Where all A_i are diagonal nobody reads P_i but for its diagonal.
func (m *Mixture) leavesDue() bool {
	u := &m.due
	if m.certificates != nil && !slices.ContainsFunc(m.certificates, func(c certificate) bool { return c.diagonal == nil }) {
		return false
	}
	return u.rows > 0 && len(m.p) == m.K && u.share < tryShare(m.D, u.rows)
}

// reset marks the n precisions as due.
func (u *due) reset(n int) {
	growSlice(&u.list, n)
	growSlice(&u.used, n)
	for i := range n {
		u.list[i].Store(true)
		u.used[i].Store(false)
	}
	u.left.Store(int32(n))
	u.tried, u.known = 0, false
}

// is says whether P_i is due.
func (u *due) is(i int) bool { return u.left.Load() > 0 && u.list[i].Load() }

// use notes that l_i has been computed.
func (u *due) use(i int) {
	if i < len(u.used) && !u.used[i].Load() {
		u.used[i].Store(true)
	}
}

// ended notes what the first ascent after SetFactors has used, by the sparse route.
func (u *due) ended(rows int) {
	if u.known || len(u.used) == 0 {
		return
	}
	n := 0
	for i := range u.used {
		if u.used[i].Load() {
			n++
		}
	}
	u.known, u.rows, u.share = true, rows, float64(n)/float64(len(u.used))
}

// needAll makes the P_i that are due for a caller that needs all, and leaves none due the next time.
func (e *Engine) needAll(m *Mixture) {
	m.due.known, m.due.rows = true, 0
	e.makeDue(m, true, false)
}

// makeDue makes the P_i that are due, of all components or of those in use, and, if it is asked to
// and none of them is split, their certificates.
func (e *Engine) makeDue(m *Mixture, all, certify bool) {
	u, d := &m.due, float64(m.D)
	if u.left.Load() == 0 {
		return
	}
	if all { // certificates of P_i are closer than those of A_i
		m.certificates, m.certified = nil, false
	}
	j := &e.precisionJob
	*j = precisionJob{e: e, m: m, list: u.now[:0]}
	for i := range u.list {
		if u.list[i].Load() && (all || u.used[i].Load()) {
			j.list = append(j.list, int32(i))
		}
	}
	if n := len(j.list); n > 0 {
		// Split the panels of each component only as far as the threads need it.
		j.parts = min(max(2*e.Threads()/n, 1), e.k.panels(m.D))
		j.certify = certify && j.parts == 1
		m.certified = m.certified || j.certify
		e.run(j, n*j.parts, float64(n)*(d*d*(d+1)+e.goFlops(d*d)))
		for _, i := range j.list {
			u.made(int(i))
		}
	}
	u.now = j.list
	*j = precisionJob{}
}

// makeNow makes P_i on the thread of a worker that needs it.
func (e *Engine) makeNow(worker int, m *Mixture, i int) {
	u := &m.due
	u.lock.Lock()
	defer u.lock.Unlock()
	if u.list[i].Load() {
		j := precisionJob{e: e, m: m, parts: 1}
		j.make(worker, i, 0)
		u.made(i)
	}
}

func (u *due) made(i int) {
	u.list[i].Store(false)
	u.left.Add(-1)
}
