package layer

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/alloctest"
)

// patches returns the patches under a kernel x kernel window of n zero-padded images (channels x
// rows x cols), one row per position, channel by channel (im2col).
func patches(x engine.Matrix, channels, rows, cols, kernel, padding int) engine.Matrix {
	r, c := rows+2*padding-kernel+1, cols+2*padding-kernel+1
	p := engine.NewMatrix(x.Rows*r*c, channels*kernel*kernel)
	for at := range p.Rows {
		image, i, j := x.Row(at/(r*c)), at/c%r, at%c
		for tap := range p.Cols {
			channel, u, v := tap/(kernel*kernel), i+tap/kernel%kernel-padding, j+tap%kernel-padding
			if u >= 0 && u < rows && v >= 0 && v < cols {
				p.Set(at, tap, image[(channel*rows+u)*cols+v])
			}
		}
	}
	return p
}

// byChannel transposes n images with channels in each row to rows of one channel each, image after
// image. Applied to the result, with n channels, it is the inverse.
func byChannel(x engine.Matrix, channels int) engine.Matrix {
	n := x.Cols / channels
	y := engine.NewMatrix(channels, x.Rows*n)
	for i := range x.Rows {
		for c := range channels {
			copy(y.Row(c)[i*n:(i+1)*n], x.Row(i)[c*n:])
		}
	}
	return y
}

// threeLayers computes both passes of a ConvPool of size s by its definition: products with
// matrices of patches, ReLU, and the maximum of four pixels.
func threeLayers(e *engine.Engine, s [6]int, weight, bias []float32,
	x, dy engine.Matrix) (y, dx engine.Matrix, dw, db []float32) {
	channels, out, kernel, padding := s[0], s[3], s[4], s[5]
	r, c := convolved(s)
	n, area := x.Rows, kernel*kernel
	w, under := engine.View(weight, out, channels*area), patches(x, channels, s[1], s[2], kernel, padding)
	z := engine.NewMatrix(out, n*r*c)
	for o := range out {
		for i := range z.Row(o) {
			z.Set(o, i, bias[o])
		}
	}
	e.MatMul(z, w, under.T(), true)
	relu := byChannel(z, n)
	e.ReLU(relu.Data, relu.Data)

	// Every sum of the way back is one chain over images, output channels and pooled pixels.
	y, dx, dw = engine.NewMatrix(n, dy.Cols), engine.NewMatrix(n, x.Cols), make([]float32, len(weight))
	pooled := (r / 2) * (c / 2)
	sums := engine.NewMatrix((n+sumImages-1)/sumImages, dy.Cols) // of the gradients of the bias
	for k := range n * dy.Cols {
		i, o, q := k/dy.Cols, k%dy.Cols/pooled, k%pooled
		row, col := q/(c/2)*2, q%(c/2)*2
		pixel := row*c + col
		for _, other := range []int{pixel + 1, pixel + c, pixel + c + 1} {
			if relu.At(i, o*r*c+other) > relu.At(i, o*r*c+pixel) {
				pixel = other
			}
		}
		y.Set(i, o*pooled+q, relu.At(i, o*r*c+pixel))
		if !(relu.At(i, o*r*c+pixel) > 0) {
			continue
		}
		g := dy.At(i, o*pooled+q)
		sums.Set(i/sumImages, o*pooled+q, sums.At(i/sumImages, o*pooled+q)+g)
		for t := range channels * area {
			u, v := pixel/c+t%area/kernel-padding, pixel%c+t%kernel-padding
			if u >= 0 && u < s[1] && v >= 0 && v < s[2] {
				at := (t/area*s[1]+u)*s[2] + v
				dw[o*w.Cols+t] = num.FMA32(g, x.At(i, at), dw[o*w.Cols+t])
				dx.Set(i, at, num.FMA32(g, w.At(o, t), dx.At(i, at)))
			}
		}
	}
	for o := range out {
		var sum float64
		for group := range sums.Rows {
			e.Lock()
			sum += e.Caller().Sum64(sums.Row(group)[o*pooled : (o+1)*pooled])
			e.Unlock()
		}
		db = append(db, float32(sum))
	}
	return y, dx, dw, db
}

// TestConvPool checks that a ConvPool has the bits of its three parts for images of normal numbers, for more of them
// than are taken back at once, for few different numbers (so that maxima are tied), and with infinities and NaN of both
// signs.
func TestConvPool(t *testing.T) {
	for _, tier := range engine.Available() {
		testConvPool(t, newEngine(t, engine.WithTier(tier), engine.WithThreads(1)), "normal", "few", "special")
	}
	e := newEngine(t, engine.WithThreads(2), engine.WithEagerThreads())
	testConvPool(t, e, "normal", "many", "few", "special")
}

func testConvPool(t *testing.T, e *engine.Engine, kinds ...string) {
	inf := float32(math.Inf(1))
	special := []float32{inf, -inf, math.Float32frombits(0x7fc00000), math.Float32frombits(0xffc00000)}
	for _, s := range pooledSizes {
		for _, kind := range kinds {
			t.Run(fmt.Sprint(e.Tier(), " ", s, " ", kind), func(t *testing.T) {
				l := NewConvPool("c", ImageShape{s[0], s[1], s[2]}, s[3], s[4], s[5])
				rand := num.NewRand(5, 6)
				for _, p := range l.Params() {
					p.Prepare()
					rand.Normal(p.Data)
					if kind == "few" {
						for j, v := range p.Data {
							p.Data[j] = float32(math.Round(float64(v)))
						}
					}
				}
				in, out := l.Sizes()
				n := 19 // groups of images and others
				if kind == "many" {
					n = 2*imagesAtOnce + sumImages + 3
				}
				x, dy := normal(rand, n, in), normal(rand, n, out)
				for i := range x.Data {
					switch {
					case kind == "few":
						x.Data[i] = float32(rand.Intn(3) - 1)
					case kind == "special" && rand.Intn(20) == 0:
						x.Data[i] = special[rand.Intn(len(special))]
					}
				}
				y, dx := engine.NewMatrix(n, out), engine.NewMatrix(n, in)
				wantY, wantX, wantW, wantB := threeLayers(e, s, l.Weight.Data, l.Bias.Data, x, dy)
				l.Forward(e, y, x, Training)
				same(t, "y", y.Data, wantY.Data)
				l.Backward(e, dx, x, y, dy)
				for _, values := range [][]float32{dx.Data, wantX.Data, l.Weight.Grad, wantW, l.Bias.Grad, wantB} {
					for i, v := range values {
						if v != v { // the sign of a NaN is unspecified
							values[i] = float32(math.NaN())
						}
					}
				}
				same(t, "dx", dx.Data, wantX.Data)
				same(t, "gradient of the weights", l.Weight.Grad, wantW)
				same(t, "gradient of the bias", l.Bias.Grad, wantB)
			})
		}
	}
}

// TestConvPoolThreads checks that threads, more than there are channels among them, change no bit of a backward pass of
// the same layer, with and without dx, of few images and of more than are taken back at once.
func TestConvPoolThreads(t *testing.T) {
	l := NewConvPool("c", ImageShape{2, 9, 9}, 3, 5, 2)
	rand := num.NewRand(5, 6)
	for _, p := range l.Params() {
		p.Prepare()
		rand.Normal(p.Data)
	}
	in, out := l.Sizes()
	for _, n := range []int{3, 2*imagesAtOnce + sumImages + 3} {
		x, dy := normal(rand, n, in), normal(rand, n, out)
		y, dx := engine.NewMatrix(n, out), engine.NewMatrix(n, in)
		var wantX, wantW, wantB []float32
		for _, threads := range []int{1, 2, 5, 2} {
			e := newEngine(t, engine.WithThreads(threads), engine.WithEagerThreads())
			l.Forward(e, y, x, Training)
			for _, to := range []engine.Matrix{dx, {}} {
				clear(dx.Data)
				l.Backward(e, to, x, y, dy)
				if wantX == nil {
					wantX, wantW, wantB = slices.Clone(dx.Data), slices.Clone(l.Weight.Grad), slices.Clone(l.Bias.Grad)
				}
				w, most := &l.w, min(n, imagesPerThread*threads, imagesAtOnce)
				if got, want := len(l.images), most*w.interleaved()+panelCols; got != want {
					t.Errorf("%d threads, %d images: memory for %d numbers, expected %d", threads, n, got, want)
				}
				what := fmt.Sprintf("%d threads, %d images, dx %v: ", threads, n, to.Data != nil)
				same(t, what+"weights", l.Weight.Grad, wantW)
				same(t, what+"bias", l.Bias.Grad, wantB)
				if to.Data != nil {
					same(t, what+"dx", dx.Data, wantX)
				}
			}
		}
	}
}

// TestConvPoolMisuse checks that Backward refuses matrices of another shape than those of Forward.
func TestConvPoolMisuse(t *testing.T) {
	e := newEngine(t)
	l := NewConvPool("c", ImageShape{1, 6, 6}, 2, 3, 1)
	for _, p := range l.Params() {
		p.Prepare()
	}
	in, out := l.Sizes()
	x, y, dx := engine.NewMatrix(4, in), engine.NewMatrix(4, out), engine.NewMatrix(4, in)
	l.Forward(e, y, x, Training)
	l.Backward(e, dx, x, y, y)
	for what, call := range map[string]func(){
		"x of fewer rows":  func() { l.Backward(e, dx, x.SliceRows(0, 3), y, y) },
		"y of fewer rows":  func() { l.Backward(e, dx, x, y.SliceRows(0, 3), y) },
		"dy of fewer rows": func() { l.Backward(e, dx, x, y, y.SliceRows(0, 3)) },
		"narrower y":       func() { l.Backward(e, dx, x, engine.NewMatrix(4, out-1), y) },
		"dx of fewer rows": func() { l.Backward(e, dx.SliceRows(0, 3), x, y, y) },
	} {
		if got := panicOf(call); !strings.HasPrefix(got, "layer: ") {
			t.Errorf("%s: panic %q", what, got)
		}
	}
}

// TestConvPoolBatches checks that the number of images that are convolved together changes no output and no selected
// pixel, also where pixels or weights are infinite or NaN.
func TestConvPoolBatches(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, tier := range engine.Available() {
		e := newEngine(t, engine.WithTier(tier), engine.WithThreads(1))
		for at, s := range pooledSizes {
			for _, bad := range []string{"nothing", "pixels", "first weight", "weight", "last weight", "NaN weight"} {
				l := NewConvPool("c", ImageShape{s[0], s[1], s[2]}, s[3], s[4], s[5])
				rand := num.NewRand(uint64(at), 7)
				for _, p := range l.Params() {
					p.Prepare()
					rand.Normal(p.Data)
				}
				in, out := l.Sizes()
				const n = 35
				x := normal(rand, n, in)
				if bad == "pixels" {
					for i := 0; i < len(x.Data); i += 1 + rand.Intn(2*in) {
						x.Data[i] = []float32{inf, -inf, inf - inf}[rand.Intn(3)]
					}
				}
				switch n := len(l.Weight.Data); bad {
				case "first weight":
					l.Weight.Data[0] = inf
				case "weight":
					l.Weight.Data[n/2] = -inf
				case "last weight":
					l.Weight.Data[n-1] = inf
				case "NaN weight":
					l.Weight.Data[n/3] = inf - inf
				}
				for _, mode := range []Mode{Evaluation, Training} {
					y, single := engine.NewMatrix(n, out), engine.NewMatrix(n, out)
					l.Forward(e, y, x, mode)
					numbers := slices.Clone(engine.BytesOf(l.which))
					of := func(image int) []byte { return numbers[image*4*words(out):][:out] }
					what := fmt.Sprintf("%v %v, bad %s, mode %v: ", tier, s, bad, mode)
					for lo := 0; lo < n; lo += 2 {
						hi := min(lo+2, n)
						l.Forward(e, single.SliceRows(lo, hi), x.SliceRows(lo, hi), mode)
						for i := lo; i < hi && mode == Training; i++ {
							got := engine.BytesOf(l.which)[(i-lo)*4*words(out):][:out]
							if !slices.Equal(got, of(i)) {
								t.Fatalf("%simage %d selects %v, together with others %v", what, i, got, of(i))
							}
						}
					}
					same(t, what+"y", y.Data, single.Data)
				}
			}
		}
	}
}

// TestConvPoolEvaluation checks the outputs of all tiers outside training against a convolution of every image: a
// channel with an infinite or NaN pixel that is pooled is NaN, others are not, whatever is left out or lies beside.
func TestConvPoolEvaluation(t *testing.T) {
	nan := float32(math.NaN())
	plain := newEngine(t, engine.WithTier(engine.Generic), engine.WithThreads(1))
	for at, s := range pooledSizes {
		l := NewConvPool("c", ImageShape{s[0], s[1], s[2]}, s[3], s[4], s[5])
		conv := NewConv("c", ImageShape{s[0], s[1], s[2]}, s[3], s[4], s[5])
		rand := num.NewRand(uint64(at), 8)
		for i, p := range l.Params() {
			p.Prepare()
			rand.Normal(p.Data)
			if i == 0 {
				p.Data[len(p.Data)-1] = 3e38 // the last channel overflows where pixels are large
			}
			copy(conv.Params()[i].Data, p.Data)
		}
		rows, cols := convolved(s)
		in, out := l.Sizes()
		const n = 35
		x, z, want := normal(rand, n, in), engine.NewMatrix(n, s[3]*rows*cols), engine.NewMatrix(n, out)
		for i := range n {
			if pixels := x.Row(i); i%3 == 0 {
				pixels[rand.Intn(in)] = nan
			} else if i%3 == 1 {
				pixels[in-1] = float32(math.Inf(-1)) // in what may be left out
			}
		}
		conv.Forward(plain, z, x, Evaluation)
		for k := range n * s[3] {
			whole := engine.View(z.Row(k / s[3])[k%s[3]*rows*cols:][:rows*cols], rows, cols)
			channel := whole.Slice(0, rows/2*2, 0, cols/2*2)
			for j := range rows / 2 * (cols / 2) {
				r, c := j/(cols/2)*2, j%(cols/2)*2
				v := max(0, channel.At(r, c), channel.At(r, c+1), channel.At(r+1, c), channel.At(r+1, c+1))
				if !finite(channel) {
					v = nan
				}
				want.Set(k/s[3], k%s[3]*(rows/2)*(cols/2)+j, v)
			}
		}
		for _, tier := range engine.Available() {
			e := newEngine(t, engine.WithTier(tier), engine.WithThreads(1))
			y := engine.NewMatrix(n, out)
			l.Forward(e, y, x, Evaluation)
			same(t, fmt.Sprintf("%v, %v: y", tier, s), y.Data, want.Data)
		}
	}
}

// TestConvPoolCalls checks that kernels are called for as many rows and columns of pixels as are the same, but not for
// long; and that passes of any number of images allocate nothing but the first.
func TestConvPoolCalls(t *testing.T) {
	e := newEngine(t, engine.WithThreads(1))
	images, channels, fast := e.ConvPoolSizes()
	if !fast {
		t.Skip("this tier has no kernel for groups of images")
	}
	small, large := NewConvPool("s", ImageShape{1, 28, 28}, 8, 5, 2), NewConvPool("l", ImageShape{64, 8, 64}, 8, 7, 0)
	high := NewConvPool("h", ImageShape{64, 28, 28}, 8, 3, 1) // whose rows are divided
	for _, l := range []*ConvPool{small, large, high} {
		in, out := l.Sizes()
		for _, n := range []int{3, 11, 19} {
			x, y := engine.NewMatrix(n, in), engine.NewMatrix(n, out)
			if allocs := alloctest.PerCall(3, func() { l.Forward(e, y, x, Training) }); allocs > 0 {
				t.Errorf("%d images: %v allocations", n, allocs)
			}
		}
		most, pixels := e.CallBudget(8*images*channels*l.w.taps()), 0
		for _, b := range l.groups.whole.blocks {
			if pixels += b.rows * b.cols; b.rows*b.cols > max(most, 1) {
				t.Errorf("a call handles %d x %d pixels, expected at most %d", b.rows, b.cols, most)
			}
		}
		if rows, cols := l.w.pooled(); pixels != rows*cols {
			t.Errorf("calls handle %d pixels, expected %d", pixels, rows*cols)
		}
	}
	starts := []int{0}
	for c := 0; c < 8; starts = append(starts, c) {
		c += e.ConvPoolChannels(8 - c)
	}
	if !slices.Equal(small.groups.starts, starts) {
		t.Errorf("calls begin at channels %d, expected %d", small.groups.starts, starts)
	}
	var sizes [][2]int
	for _, b := range small.groups.whole.blocks {
		sizes = append(sizes, [2]int{b.rows, b.cols})
	}
	want := [][2]int{{1, 1}, {1, 12}, {1, 1}, {12, 1}, {12, 12}, {12, 1}, {1, 1}, {1, 12}, {1, 1}}
	if !slices.Equal(sizes, want) {
		t.Errorf("blocks of %d pixels, expected %d", sizes, want)
	}
}
