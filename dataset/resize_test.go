package dataset

import (
	"bytes"
	"math"
	"slices"
	"testing"
)

// TestResize compares resized images with the area average in float64, and checks that halving,
// the same size and plain images are exact.
func TestResize(t *testing.T) {
	s := Digits(1, 0, 5)
	for _, size := range [][2]int{{10, 10}, {14, 14}, {28, 28}, {1, 1}, {7, 31}, {56, 3}} {
		rows, cols := size[0], size[1]
		got, err := s.Resize(rows, cols)
		if err != nil {
			t.Fatal(err)
		}
		if got.Len() != 5 || got.Rows != rows || got.Cols != cols || len(got.Pixels) != 5*rows*cols {
			t.Fatalf("%v: %d images of %d x %d", size, got.Len(), got.Rows, got.Cols)
		}
		high, wide := 28/float64(rows), 28/float64(cols)
		overlap := func(i, p int, step float64) float64 {
			return max(0, min(float64(i+1)*step, float64(p+1))-max(float64(i)*step, float64(p)))
		}
		for i := range 5 {
			for r := range rows {
				for c := range cols {
					sum := 0.0
					for p := range 28 {
						share := overlap(r, p, high)
						for q := 0; share > 0 && q < 28; q++ {
							sum += share * overlap(c, q, wide) * float64(s.Image(i)[p*28+q])
						}
					}
					if v := float64(got.Image(i)[r*cols+c]); !(math.Abs(v-sum/(high*wide)) <= 0.5+1e-9) {
						t.Fatalf("%v: pixel %d, %d of image %d is %v, the mean is %v", size, r, c, i, v,
							sum/(high*wide))
					}
				}
			}
		}
	}
	for i := range s.Pixels {
		s.Pixels[i] = 255
	}
	white, err := s.Resize(10, 10)
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range white.Pixels {
		if v != 255 {
			t.Fatalf("a pixel of a white image is %d", v)
		}
	}
	large := &Set{Shape: Grey(3100, 3100), Labels: []uint16{0}, // whose sums are beyond 32 bits
		Pixels: bytes.Repeat([]byte{255}, 3100*3100)}
	if white, err = large.Resize(2, 2); err != nil || slices.Min(white.Pixels) != 255 {
		t.Errorf("a large white image becomes %v, %v", white, err)
	}
	for _, size := range [][2]int{{0, 10}, {10, -1}, {1025, 1}} {
		if _, err := s.Resize(size[0], size[1]); err == nil {
			t.Errorf("%v was accepted", size)
		}
	}
	if _, err := (*Set)(nil).Resize(10, 10); err == nil {
		t.Error("no error for a set that is nil")
	}
}

func TestPerClass(t *testing.T) {
	s := Digits(1, 0, 200)
	got, err := s.PerClass(10, 5)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[uint16]int{}
	at := 0
	for i, y := range got.Labels {
		seen[y]++
		for s.Labels[at] != y || string(s.Image(at)) != string(got.Image(i)) { // in order
			if at++; at == s.Len() {
				t.Fatalf("image %d is not one of the set, in its order", i)
			}
		}
	}
	for y := range uint16(10) {
		if seen[y] != 5 {
			t.Errorf("%d images of class %d", seen[y], y)
		}
	}
	if _, err := s.PerClass(10, 200); err == nil {
		t.Error("200 of each class of 200 images in all")
	}
	if _, err := (*Set)(nil).PerClass(10, 5); err == nil {
		t.Error("no error for a set that is nil")
	}
	if got, err := s.PerClass(3, 2); err != nil || got.Len() != 6 {
		t.Errorf("three classes: %v, %v", got, err)
	}
}
