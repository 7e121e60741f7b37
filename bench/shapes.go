package bench

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// shaped are the rows that can have shapes of one's own, by the names of their parameters.
var shaped = []struct {
	suite string
	names []string
	rows  func(v []int) []benchmark // of values in the order of the names
}{
	{"gemm", []string{"m", "k", "n"}, func(v []int) []benchmark {
		return []benchmark{gemm(Quick, "packed", v[0], v[1], v[2]), gemm(Quick, "plain nn", v[0], v[1], v[2])}
	}},
	{"quad", []string{"d", "k", "batch"}, func(v []int) []benchmark {
		return []benchmark{quad(Quick, v[0], v[1], v[2])}
	}},
	{"ascent", []string{"d", "k", "n", "batch"}, func(v []int) []benchmark {
		return []benchmark{ascents(Quick, "full", [4]int(v))}
	}},
	{"backward", []string{"d", "k", "n", "batch"}, func(v []int) []benchmark {
		return []benchmark{backward(Quick, [4]int(v))}
	}},
	{"reduce", []string{"n"}, func(v []int) []benchmark {
		return []benchmark{vectorBenchmark(Quick, "exp", v[0], 2), vectorBenchmark(Quick, "log", v[0], 2),
			vectorBenchmark(Quick, "sum", v[0], 1)}
	}},
	{"optim", []string{"n"}, func(v []int) []benchmark { return []benchmark{adamBenchmark(Quick, v[0])} }},
}

// Shapes describes the shapes that Settings.Shapes may have: a suite and the names of its parameters.
func Shapes() []string {
	var list []string
	for _, s := range shaped {
		list = append(list, s.suite+" "+strings.Join(s.names, ","))
	}
	return list
}

// The largest values of parameters of shapes: alone, and beside others. Operands are limited by the memory, too.
const (
	mostAlone  = 1 << 28
	mostBeside = 1 << 20
)

// ofShape returns the rows of a shape such as m=300,k=700,n=50, of all suites that have its parameters, in any order.
func ofShape(shape string) ([]benchmark, error) {
	values, most := map[string]int{}, mostAlone
	if strings.Contains(shape, ",") {
		most = mostBeside
	}
	for _, field := range strings.Split(shape, ",") {
		name, text, _ := strings.Cut(strings.TrimSpace(field), "=")
		v, err := strconv.Atoi(text)
		if _, twice := values[name]; twice || err != nil || v < 1 || v > most {
			return nil, fmt.Errorf("shape %q: %q: expected NAME=N, each name once, N from 1 to %d", shape, field, most)
		}
		values[name] = v
	}
	var rows []benchmark
	for _, s := range shaped {
		v := make([]int, len(s.names))
		for i, name := range s.names {
			v[i] = values[name]
		}
		if len(v) == len(values) && !slices.Contains(v, 0) {
			rows = append(rows, s.rows(v)...)
		}
	}
	if len(rows) == 0 {
		return nil, fmt.Errorf("shape %q: expected the parameters of %s", shape, strings.Join(Shapes(), ", of "))
	}
	return rows, nil
}
