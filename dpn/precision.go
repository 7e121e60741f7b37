package dpn

// Precision returns P_i = A_i^T A_i of component i, d x d, row-major, in float64. Products
// of float32 numbers are exact there and the sums run in increasing row of A_i, so it has
// the same bits on every machine. Both halves have the same bits.
func (p *Potential) Precision(i int) []float64 {
	d := p.D
	a := p.a.Data[i*d*d : (i+1)*d*d]
	dense := make([]float64, d*d)
	rows := make([]float64, 4*d) // four rows of A_i at a time: one pass over P_i for all
	for r := 0; r < d; r += 4 {
		clear(rows)
		for j, v := range a[r*d : min(r+4, d)*d] {
			rows[j] = float64(v)
		}
		r0, r1, r2, r3 := rows[:d], rows[d:2*d], rows[2*d:3*d], rows[3*d:]
		for j := range d {
			a0, a1, a2, a3 := r0[j], r1[j], r2[j], r3[j]
			if a0 == 0 && a1 == 0 && a2 == 0 && a3 == 0 { // most of A_i, as long as it is s0 I
				continue
			}
			to := dense[j*d+j : (j+1)*d]
			b0, b1, b2, b3 := r0[j:], r1[j:], r2[j:], r3[j:]
			b0, b1, b2, b3 = b0[:len(to)], b1[:len(to)], b2[:len(to)], b3[:len(to)]
			for c := range to {
				to[c] = to[c] + a0*b0[c] + a1*b1[c] + a2*b2[c] + a3*b3[c]
			}
		}
	}
	for j := range d {
		for c := range j {
			dense[j*d+c] = dense[c*d+j]
		}
	}
	return dense
}
