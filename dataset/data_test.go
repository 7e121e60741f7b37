package dataset

import (
	"slices"
	"strings"
	"testing"
)

// TestNew makes data sets of samples of one's own, and malformed ones.
func TestNew(t *testing.T) {
	vectors := func(labels ...uint16) *Set {
		return &Set{Shape: Vector(2), Values: make([]float32, 2*len(labels)), Labels: labels}
	}
	d, err := New("mine", vectors(0, 2), vectors(3), nil)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"0", "1", "2", "3"}; !slices.Equal(d.Classes, want) {
		t.Errorf("classes %q, want %q", d.Classes, want)
	}
	if !d.Norm.Equal(NormalizationOf(d.Train)) {
		t.Errorf("normalisation %v", d.Norm)
	}
	broken := vectors(0)
	broken.Values = broken.Values[:1]
	for want, c := range map[string]struct {
		train, test *Set
		classes     []string
	}{
		"no training samples":                         {nil, vectors(0), nil},
		"training samples: 1 values":                  {broken, nil, nil},
		"test samples: 1 values":                      {vectors(0), broken, nil},
		"label 1, expected 0 to 0":                    {vectors(1), nil, []string{"a"}},
		"test samples: 28 x 28 grey, expected":        {vectors(0), Digits(1, 0, 1), nil},
		"name \"\\xff\", expected at most 1000 bytes": {vectors(0), nil, []string{"\xff"}},
	} {
		if _, err := New("mine", c.train, c.test, c.classes); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if err := (*Data)(nil).Check(); err == nil || !strings.Contains(err.Error(), "the data set is nil") {
		t.Errorf("nil: %v", err)
	}
}

// TestNames refuses names that are too long or no UTF-8, and classes of the same name.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		names []string
		want  string // part of the error; "" if there is none
	}{
		{[]string{"a", "b", "A", "a "}, ""},
		{[]string{"a", "b", "a"}, `class 2: name "a", which is that of class 0, too`},
		{[]string{"a", strings.Repeat("x", MostName+1)}, "class 1: name "},
		{[]string{"\xff"}, "class 0: name "},
	} {
		err := CheckNames("class", c.names)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%.20q: error %v, want %q", c.names, err, c.want)
		}
	}
	if err := CheckNames("feature", []string{"a", "", "a", ""}); err != nil {
		t.Errorf("features of the same name: %v", err)
	}
}
