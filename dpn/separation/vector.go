package separation

// centreRow writes x - centre to t.
func centreRow(t []float64, x []float32, centre []float64) {
	x, centre = x[:len(t)], centre[:len(t)]
	for j := range t {
		t[j] = float64(x[j]) - centre[j]
	}
}

// distanceSquare returns |a - b|^2, summed in the order of linalg.Dot.
func distanceSquare(a, b []float64) float64 {
	b = b[:len(a)]
	var s0, s1, s2, s3 float64
	j := 0
	for ; j+4 <= len(a); j += 4 {
		d0, d1, d2, d3 := a[j]-b[j], a[j+1]-b[j+1], a[j+2]-b[j+2], a[j+3]-b[j+3]
		s0 += float64(d0 * d0)
		s1 += float64(d1 * d1)
		s2 += float64(d2 * d2)
		s3 += float64(d3 * d3)
	}
	for ; j < len(a); j++ {
		d := a[j] - b[j]
		s0 += float64(d * d)
	}
	return (s0 + s2) + (s1 + s3)
}
