package dataset

import "testing"

func TestSkeletonsAreWellFormed(t *testing.T) {
	for digit, styles := range skeletons {
		total := 0
		for n, st := range styles {
			total += st.weight
			if st.weight <= 0 || len(st.from) == 0 || len(st.from) != len(st.to) {
				t.Errorf("digit %d, style %d: weight %d, %d and %d paths", digit, n, st.weight, len(st.from),
					len(st.to))
				continue
			}
			for i := range st.from {
				if len(st.from[i]) < 2 || len(st.from[i]) != len(st.to[i]) {
					t.Errorf("digit %d, style %d, path %d: %d and %d knots", digit, n, i, len(st.from[i]),
						len(st.to[i]))
					continue
				}
				for j, a := range st.from[i] {
					b := st.to[i][j]
					if a[2] != b[2] || a[2] != 0 && a[2] != corner {
						t.Errorf("digit %d, style %d, path %d, knot %d: corner %d and %d", digit, n, i, j, a[2], b[2])
					}
					for _, c := range []int8{a[0], a[1], b[0], b[1]} {
						if c < 0 || c > 100 {
							t.Errorf("digit %d, style %d, path %d, knot %d: coordinate %d, want 0 to 100", digit, n, i,
								j, c)
						}
					}
				}
			}
		}
		if total != 100 {
			t.Errorf("digit %d: weights add up to %d, want 100", digit, total)
		}
	}
}

func TestEveryStyleIsDrawn(t *testing.T) {
	for digit, styles := range skeletons {
		count := map[*style]int{}
		r := newStream(1, uint64(digit))
		const n = 2000
		for range n {
			count[chooseStyle(styles, r)]++
		}
		for i := range styles {
			got, want := count[&styles[i]], n*styles[i].weight/100
			if got < want-150 || got > want+150 { // over six standard deviations
				t.Errorf("digit %d, style %d drawn %d times of %d, want about %d", digit, i, got, n, want)
			}
		}
	}
}
