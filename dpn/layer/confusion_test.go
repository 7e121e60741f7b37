package layer

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"
)

// of returns the counts of rows of classes and predictions in pairs.
func of(classes int, pairs ...[3]int) *Outcomes {
	c := NewOutcomes(classes)
	for _, p := range pairs {
		c.Add(slices.Repeat([]uint16{uint16(p[0])}, p[2]), slices.Repeat([]int32{int32(p[1])}, p[2]))
	}
	return c
}

// TestByClass checks accuracies, their interval, the balanced accuracy and what classes lack.
func TestByClass(t *testing.T) {
	r := of(4, [3]int{0, 0, 90}, [3]int{0, 1, 10}, [3]int{1, 1, 30}, [3]int{1, 0, 30}, [3]int{3, 3, 5}).
		ByClass([]string{"0", "1", "2", "3"})
	if r.Classes[2].Accuracy != nil || r.Classes[2].CI != nil || r.Classes[2].Samples != 0 {
		t.Errorf("a class without rows: %+v", r.Classes[2])
	}
	if *r.Classes[0].Accuracy != 0.9 || *r.Classes[1].Accuracy != 0.5 || *r.Classes[3].Accuracy != 1 ||
		r.Classes[1].Right != 30 || !(math.Abs(r.Balanced-0.8) <= 1e-15) {
		t.Errorf("%+v", r)
	}
	// Wilson's interval of 90 in 100, and of 5 in 5: 5/(5+1.96^2) to 1.
	if ci := r.Classes[0].CI; !(math.Abs(ci[0]-0.8256) <= 1e-4) || !(math.Abs(ci[1]-0.9448) <= 1e-4) {
		t.Errorf("interval %v", ci)
	}
	if ci := r.Classes[3].CI; !(math.Abs(ci[0]-5/(5+3.8414588)) <= 1e-6) || ci[1] != 1 {
		t.Errorf("interval %v", ci)
	}
	if r.Lowest().Class != 1 || r.Highest().Class != 3 || r.Confusion[1][0] != 30 {
		t.Errorf("lowest %+v, highest %+v", r.Lowest(), r.Highest())
	}
	const want = "no test image of class 2; fewer than 10 test images of class 3 (5)"
	if got := r.Gaps("test image"); got != want {
		t.Errorf("%q, want %q", got, want)
	}
	text, err := json.Marshal(r)
	if err != nil || !strings.Contains(string(text), `"samples":0,"right":0,"accuracy":null,"accuracy_ci":null`) {
		t.Errorf("%s, %v", text, err)
	}
	none := of(2).ByClass([]string{"0", "1"})
	if none.Lowest() != nil || none.Balanced != 0 || none.Uneven() || none.Gaps("row") != "no row of classes 0, 1" {
		t.Errorf("no rows: %+v", none)
	}
}

// TestClassNames checks that classes with names go by them, and that many classes have no matrix.
func TestClassNames(t *testing.T) {
	r := of(2, [3]int{0, 1, 3}, [3]int{1, 1, 2}).ByClass([]string{"cat", "1"})
	if r.Classes[0].Label() != "cat" || r.Classes[1].Name != "" || r.Classes[1].Label() != "1" {
		t.Errorf("%+v", r.Classes)
	}
	if got := r.Gaps("image"); got != "fewer than 10 images of classes cat (3), 1 (2)" {
		t.Error(got)
	}
	r = of(2, [3]int{0, 1, 3}, [3]int{1, 1, 2}).ByClass([]string{"class 0", "Class one"})
	if got := r.Gaps("image"); got != "fewer than 10 images of class 0 (3), Class one (2)" {
		t.Error(got)
	}
	for name, want := range map[string]string{"7": "class 7", "class 7": "class 7", "Class_a": "Class_a",
		"cat": "class cat"} {
		if got := Named(name); got != want {
			t.Errorf("%q is called %q, want %q", name, got, want)
		}
	}
	many := of(1<<16, [3]int{65535, 2, 4}).ByClass(make([]string, 1<<16))
	if many.Confusion != nil || many.Classes[65535].Samples != 4 || *many.Lowest().Accuracy != 0 {
		t.Errorf("%+v", many.Classes[65535])
	}
}

// TestUneven checks from which ratio of class sizes on the balanced accuracy is reported.
func TestUneven(t *testing.T) {
	for _, c := range []struct {
		sizes []int
		want  bool
	}{
		{[]int{10, 10}, false}, {[]int{10, 15}, false}, {[]int{10, 16}, true}, {[]int{16, 10}, true},
		{[]int{10, 0, 12}, false}, {[]int{7}, false},
	} {
		counts := NewOutcomes(len(c.sizes))
		for y, n := range c.sizes {
			counts.Add(slices.Repeat([]uint16{uint16(y)}, n), make([]int32, n))
		}
		if counts.ByClass(make([]string, len(c.sizes))).Uneven() != c.want {
			t.Errorf("%v: uneven %v", c.sizes, !c.want)
		}
	}
	if got := OfClasses("none", []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11"}); got[0] !=
		"none of classes 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, and 2 more" {
		t.Error(got)
	}
}
