package separation

// centreRow writes x - centre to t.
func centreRow(t []float64, x []float32, centre []float64) {
	x, centre = x[:len(t)], centre[:len(t)]
	for j := range t {
		t[j] = float64(x[j]) - centre[j]
	}
}
