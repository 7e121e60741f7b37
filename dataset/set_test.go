package dataset

import (
	"bytes"
	"slices"
	"testing"
)

func TestSetSliceIsAView(t *testing.T) {
	s := &Set{Pixels: make([]byte, 5*6), Labels: []uint16{0, 1, 2, 3, 4}, Shape: Grey(2, 3)}
	for i := range s.Pixels {
		s.Pixels[i] = byte(i)
	}
	v := s.Slice(1, 4)
	if v.Len() != 3 || v.Shape.Len() != 6 || !slices.Equal(v.Labels, []uint16{1, 2, 3}) {
		t.Fatalf("Slice(1, 4) has %d images of %d pixels, labels %v", v.Len(), v.Shape.Len(), v.Labels)
	}
	for i := range v.Len() {
		if !bytes.Equal(v.Image(i), s.Image(i+1)) {
			t.Errorf("image %d of the slice is %v, want %v", i, v.Image(i), s.Image(i+1))
		}
	}
	v.Image(0)[0] = 200
	if s.Image(1)[0] != 200 {
		t.Error("the slice does not share memory")
	}
	_ = append(v.Pixels, 99) // must not reach into image 4 of s
	_ = append(v.Image(0), 98)
	if s.Image(4)[0] != 24 || v.Image(1)[0] != 12 {
		t.Error("appending to a view wrote into the set behind it")
	}
	if e := s.Slice(5, 5); e.Len() != 0 {
		t.Errorf("Slice(5, 5) has %d images", e.Len())
	}
}

func TestSetSlicePanics(t *testing.T) {
	s := Digits(1, 0, 3)
	for _, b := range [][2]int{{-1, 2}, {2, 1}, {0, 4}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("Slice(%d, %d) of 3 images did not panic", b[0], b[1])
				}
			}()
			s.Slice(b[0], b[1])
		}()
	}
}

// TestPick checks that picked images, also of picked ones and of slices of them, share memory.
func TestPick(t *testing.T) {
	s := Digits(1, 0, 6)
	twice := s.Pick([]int32{5, 3, 3, 0}).Pick([]int32{3, 1, 0}).Slice(1, 3)
	for i, want := range []int{3, 5} {
		if !bytes.Equal(twice.Image(i), s.Image(want)) || twice.Labels[i] != s.Labels[want] {
			t.Errorf("image %d is not image %d", i, want)
		}
	}
	twice.Image(0)[0] = 77
	if s.Image(3)[0] != 77 || twice.Len() != 2 || twice.Pixels != nil {
		t.Error("the images were copied")
	}
	if none := s.Pick(nil); none.Len() != 0 {
		t.Errorf("%d images", none.Len())
	}
	defer func() {
		if recover() == nil {
			t.Error("an image that does not exist: no panic")
		}
	}()
	s.Pick([]int32{6})
}
