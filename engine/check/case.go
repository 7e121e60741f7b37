package check

import (
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
)

// Case is one call of a kernel: its name and arguments. The inputs follow from them.
type Case struct {
	Kernel string
	names  []string
	values []int
}

// String writes the case as ParseCase reads it, such as "matmul:m=7,k=3,n=17".
func (c Case) String() string {
	var b strings.Builder
	b.WriteString(c.Kernel)
	for i, n := range c.names {
		sep := ","
		if i == 0 {
			sep = ":"
		}
		fmt.Fprintf(&b, "%s%s=%d", sep, n, c.values[i])
	}
	return b.String()
}

// ParseCase is the inverse of String. The error says which part is wrong.
func ParseCase(s string) (Case, error) {
	name, rest, _ := strings.Cut(s, ":")
	k := find(name)
	if k == nil {
		return Case{}, fmt.Errorf("case %q: no kernel %q, expected one of %s", s, name, strings.Join(Kernels(), ", "))
	}
	return k.parse(s, rest)
}

// parse reads the arguments of the case s, which are rest.
func (k *kernel) parse(s, rest string) (Case, error) {
	given := map[string]int{}
	for _, f := range strings.FieldsFunc(rest, func(r rune) bool { return r == ',' }) {
		n, v, ok := strings.Cut(f, "=")
		x, err := strconv.Atoi(v)
		if !ok || err != nil && !errors.Is(err, strconv.ErrRange) { // the limits are checked below
			return Case{}, fmt.Errorf("case %q: %q is not NAME=NUMBER with a whole number", s, f)
		}
		given[n] = x
	}
	c := Case{Kernel: k.name}
	for _, p := range k.args {
		v, ok := given[p.name]
		if !ok {
			v = p.usual
		}
		delete(given, p.name)
		if v < p.min || v > p.max {
			return Case{}, fmt.Errorf("case %q: expected %s from %d to %d", s, p.name, p.min, p.max)
		}
		c.names = append(c.names, p.name)
		c.values = append(c.values, v)
	}
	for n := range given {
		return Case{}, fmt.Errorf("case %q: kernel %s has no argument %q, expected some of %s",
			s, k.name, n, strings.Join(c.names, ", "))
	}
	return c, nil
}

// arg describes an argument of a kernel: its name, usual value and range.
type arg struct {
	name       string
	usual      int
	min, max   int
	isSize     bool  // of a vector or a matrix
	sweep      []int // values of the sweep over this argument alone
	quickSweep []int
}

// draw returns a pseudo-random number from 0 to n-1 that depends only on the case. (Its index in
// the list is no substitute, because the lists are periodic.)
func (c Case) draw(n int) int {
	h := fnv.New32a()
	h.Write([]byte(c.String()))
	return int(h.Sum32() % uint32(n))
}

func (c Case) has(name string) bool { return slices.Contains(c.names, name) }

// get returns the number called name. It is called in hundreds of places: inlined, it would take 50 kB.
//
//go:noinline
func (c Case) get(name string) int {
	for i, n := range c.names {
		if n == name {
			return c.values[i]
		}
	}
	panic("check: kernel " + c.Kernel + " has no argument " + name)
}

// sizes are the sizes that are checked: small, prime, and one below and above each boundary of a
// tile, panel or vector.
var sizes = []int{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12, 13, 15, 16, 17, 18, 19,
	23, 24, 25, 31, 32, 33, 37, 47, 48, 49, 63, 64, 65, 67}
var quickSizes = []int{0, 1, 2, 5, 6, 7, 13, 16, 17, 33, 64}

// offsets are all alignments of a float within a cache line, and -1: at the guard page after the buffer.
var offsets = []int{-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}
var quickOffsets = []int{-1, 0, 1, 7, 15}

// maxSize is the largest size of a case, maxLong that of a vector, or of the rows of a thin matrix.
const maxSize, maxLong = 4096, 1 << 17

func size(name string, usual int) arg {
	return arg{name: name, usual: usual, max: maxSize, isSize: true, sweep: sizes, quickSweep: quickSizes}
}

func long(a arg) arg { a.max = maxLong; return a }

func one(a arg) arg { a.min = 1; return a }

var allLayouts = []int{0, 1, 2, 3, 4}

func layoutArg(name string) arg {
	return arg{name: name, max: int(layouts) - 1, sweep: allLayouts, quickSweep: allLayouts}
}

var (
	offsetArg = arg{name: "offset", usual: -1, min: -1, max: 15, sweep: offsets, quickSweep: quickOffsets}
	dataArg   = arg{name: "data", max: specialData, sweep: []int{0, 1, 2, 3, 4}, quickSweep: []int{0, 1, 2, 3, 4}}
	finiteArg = arg{name: "data", max: powerData, sweep: []int{0, 1, 2, 3}, quickSweep: []int{0, 1, 2, 3}}
	seedArg   = arg{name: "seed", usual: 1, max: 1 << 20}
)

func flagArg(name string) arg {
	return arg{name: name, max: 1, sweep: []int{0, 1}, quickSweep: []int{0, 1}}
}
