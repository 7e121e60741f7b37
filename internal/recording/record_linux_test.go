package main

import (
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
)

// TestRecorder records a bar, results and colours, cut anywhere.
func TestRecorder(t *testing.T) {
	stream := "\rread |  0 s\r           \rone\r\n\rwork  50% |██  |  1 s\rwork 100% |████|  2 s\r" +
		strings.Repeat(" ", 21) + "\r\x1b[32myes\x1b[0m & <no>\r\n"
	for cut := range len(stream) {
		var r recorder
		r.write(1, stream[:cut])
		r.write(2, stream[cut:])
		var last []string
		for _, line := range r.rows {
			if n := len(line.shown); n > 0 {
				last = append(last, line.shown[n-1].text)
			}
		}
		want := "one; <tspan class=\"good\">yes</tspan> &amp; &lt;no&gt;"
		if got := strings.Join(last, "; "); got != want {
			t.Fatalf("cut at %d: the rows end as %q, want %q", cut, got, want)
		}
	}
}

// TestSVG checks that a recording shows each row from its time on, a bar only for its own, and is XML.
func TestSVG(t *testing.T) {
	var r recorder
	r.write(0, "$ run\r\n")
	r.write(2, "\rwork  50%")
	r.write(2.1, "\rwork  55%") // flickers: left out
	r.write(6, "\rwork 100%")
	r.write(8, "\r         \rdone\r\n")
	svg := string(r.svg(20, 10, 10))
	for _, want := range []string{"@keyframes k1{0.0%{opacity:1}}", ">$ run</text>",
		"@keyframes k2{0%{opacity:0}14.3%{opacity:1}42.9%{opacity:0}}", `class="gone" style="animation-name:k2"`,
		">work  50%</text>", "@keyframes k4{0%{opacity:0}57.1%{opacity:1}}", ">done</text>", `viewBox="0 0 184 64"`} {
		if !strings.Contains(svg, want) {
			t.Errorf("lacks %q:\n%s", want, svg)
		}
	}
	if strings.Contains(svg, "55%<") {
		t.Error("shows what would flicker")
	}
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
}
