package prose

import (
	"math"
	"testing"
	"testing/fstest"
)

func TestSay(t *testing.T) {
	text := Parse(fstest.MapFS{"a.tmpl": {Data: []byte(`{{define "all"}}
{{num .x}} {{number .x 1}}
{{percent .x}} {{percent .x 0}} {{thousands .n}} {{count .n "image"}} {{count .one "image"}}
	{{interval .ci}} {{percents .ci}} {{interval .none}} a` + "\u00a0" + `b{{if .more}} more{{end}} {{list .words}}.
{{end}}`)}}, "a.tmpl")
	type share float64
	got := text.Say("all", "x", share(0.25), "n", 1200, "one", 1, "ci", []share{0.5, share(math.Inf(1))},
		"none", []float64{}, "more", true, "words", []string{"c", "d"})
	want := "0.250 0.2 25.0% 25% 1,200 1,200 images 1 image 0.500 to ∞ 50.0% to +Inf% – a\u00a0b more c, d."
	if got != want {
		t.Errorf("said %q, want %q", got, want)
	}
	for _, c := range [][]any{{"none"}, {"all", "x", 1}} {
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("%v: no panic", c)
				}
			}()
			text.Say(c[0].(string), c[1:]...)
		}()
	}
}
