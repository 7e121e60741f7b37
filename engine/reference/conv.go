package reference

// Conv2D returns the convolution (correlation) of n pictures of channels x rows x cols with
// weights of out x channels x kernel x kernel and a bias for each output channel, stride 1
// and a border of padding zeros: n pictures of out channels.
func Conv2D(x []float64, n int, weight, bias []float64, channels, rows, cols, kernel, padding int) []float64 {
	var y []float64
	for b := range n {
		for o, start := range bias {
			for i := range rows + 2*padding - kernel + 1 {
				for j := range cols + 2*padding - kernel + 1 {
					sum := start
					for c := range channels {
						for u := range kernel {
							for v := range kernel {
								if r, q := i+u-padding, j+v-padding; r >= 0 && r < rows && q >= 0 && q < cols {
									sum += weight[((o*channels+c)*kernel+u)*kernel+v] * x[((b*channels+c)*rows+r)*cols+q]
								}
							}
						}
					}
					y = append(y, sum)
				}
			}
		}
	}
	return y
}

// MaxPool returns the largest of every 2 x 2 pixels of n pictures of channels x rows x cols,
// without a last odd row or column.
func MaxPool(x []float64, n, channels, rows, cols int) []float64 {
	var y []float64
	for i := range n * channels {
		for r := range rows / 2 {
			for c := range cols / 2 {
				at := i*rows*cols + 2*r*cols + 2*c
				y = append(y, max(x[at], x[at+1], x[at+cols], x[at+cols+1]))
			}
		}
	}
	return y
}
