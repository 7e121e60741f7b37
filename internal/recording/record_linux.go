package main

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// recorder is a terminal that remembers what each row showed, and when. It knows what dpnbench prints: text, the ends
// of lines, returns to their beginning, and colours.
type recorder struct {
	rows   []row
	at     int    // row of the cursor
	column int    // of the cursor
	tone   string // class of what is printed
	rest   string // the beginning of a character or an escape
}

// row is a line of the screen.
type row struct {
	cells []cell
	shown []spell
}

type cell struct {
	r    rune
	tone string
}

// spell is what a row showed from a time on.
type spell struct {
	from float64 // seconds
	text string  // SVG
	size int     // columns
}

var (
	escape = regexp.MustCompile("^\x1b\\[([0-9]*)m")
	tones  = map[string]string{"31": "bad", "32": "good", "33": "doubtful"}
)

// write prints text at a time.
func (r *recorder) write(at float64, text string) {
	text, r.rest = r.rest+text, ""
	for text != "" {
		if text[0] == '\x1b' {
			code := escape.FindStringSubmatch(text)
			if code == nil {
				r.rest = text
				break
			}
			r.tone, text = tones[code[1]], text[len(code[0]):]
			continue
		}
		if !utf8.FullRuneInString(text) {
			r.rest = text
			break
		}
		c, n := utf8.DecodeRuneInString(text)
		text = text[n:]
		switch c {
		case '\r':
			r.column = 0
		case '\n':
			r.snapshot(at)
			r.at++
		default:
			r.put(c)
		}
	}
	r.snapshot(at)
}

// put prints a character.
func (r *recorder) put(c rune) {
	r.grow()
	line := &r.rows[r.at]
	for len(line.cells) <= r.column {
		line.cells = append(line.cells, cell{' ', ""})
	}
	line.cells[r.column] = cell{c, r.tone}
	r.column++
}

func (r *recorder) grow() {
	for len(r.rows) <= r.at {
		r.rows = append(r.rows, row{})
	}
}

// snapshot remembers the row of the cursor if it has changed.
func (r *recorder) snapshot(at float64) {
	r.grow()
	line := &r.rows[r.at]
	text, size := line.text()
	if n := len(line.shown); n == 0 && text != "" || n > 0 && line.shown[n-1].text != text {
		line.shown = append(line.shown, spell{at, text, size})
	}
}

// text returns the row as SVG and its number of columns.
func (l *row) text() (string, int) {
	cells := l.cells
	for len(cells) > 0 && cells[len(cells)-1].r == ' ' {
		cells = cells[:len(cells)-1]
	}
	var b strings.Builder
	for i := 0; i < len(cells); {
		j := i
		var part strings.Builder
		for j < len(cells) && cells[j].tone == cells[i].tone {
			part.WriteRune(cells[j].r)
			j++
		}
		var text bytes.Buffer
		xml.EscapeText(&text, []byte(part.String()))
		if cells[i].tone != "" {
			fmt.Fprintf(&b, `<tspan class="%s">%s</tspan>`, cells[i].tone, &text)
		} else {
			b.Write(text.Bytes())
		}
		i = j
	}
	return b.String(), len(cells)
}

// Lengths in the units of the SVG, and times in seconds of the recording.
const (
	cellWidth, rowHeight, margin = 7.8, 18.0, 14.0

	shortest = 0.3 // a spell that is shorter is left out
	hold     = 4.0 // at the end
)

const style = `<style>
svg{--back:#fff;--text:#1f2328;--edge:#d1d9e0;--good:#1a7f37;--doubtful:#9a6700;--bad:#d1242f}
@media(prefers-color-scheme:dark){
svg{--back:#0d1117;--text:#e6edf3;--edge:#3d444d;--good:#3fb950;--doubtful:#d29922;--bad:#f85149}}
rect{fill:var(--back);stroke:var(--edge)}
text{font:13px ui-monospace,Menlo,Consolas,'DejaVu Sans Mono','Liberation Mono',monospace;fill:var(--text);
white-space:pre;animation-duration:%.1fs;animation-timing-function:step-end;animation-iteration-count:infinite}
.good{fill:var(--good)}.doubtful{fill:var(--doubtful)}.bad{fill:var(--bad)}.gone{opacity:0}
@media(prefers-reduced-motion){text{animation:none}}
%s</style>
`

// svg returns the recording of a run that took so many seconds, played in others. Where nothing moves, it shows the
// end.
func (r *recorder) svg(columns int, took, play float64) []byte {
	speed, all := play/max(took, 1e-9), play+hold
	for len(r.rows) > 0 && len(r.rows[len(r.rows)-1].shown) == 0 {
		r.rows = r.rows[:len(r.rows)-1]
	}
	var moves, texts strings.Builder
	number := 0
	for y, line := range r.rows {
		shown := line.play(speed)
		for i, s := range shown {
			if s.text == "" {
				continue
			}
			until, class := "", ""
			if i+1 < len(shown) {
				until, class = fmt.Sprintf("%.1f%%{opacity:0}", 100*shown[i+1].from/all), ` class="gone"`
			}
			number++
			begin := ""
			if s.from > 0 {
				begin = "0%{opacity:0}"
			}
			fmt.Fprintf(&moves, "@keyframes k%d{%s%.1f%%{opacity:1}%s}", number, begin, 100*s.from/all, until)
			fmt.Fprintf(&texts, `<text%s style="animation-name:k%d" x="%g" y="%g" textLength="%.1f">%s</text>`, class,
				number, margin, margin+float64(y)*rowHeight+13, float64(s.size)*cellWidth, s.text)
			texts.WriteByte('\n')
		}
	}
	w, h := 2*margin+float64(columns)*cellWidth, 2*margin+float64(len(r.rows))*rowHeight
	var b bytes.Buffer
	fmt.Fprintf(&b, `<svg xmlns="http://www.w3.org/2000/svg" xml:space="preserve" viewBox="0 0 %g %g" width="%g" `+
		"height=\"%g\">\n", w, h, w, h)
	fmt.Fprintf(&b, style, all, moves.String()+"\n")
	fmt.Fprintf(&b, `<rect x=".5" y=".5" width="%g" height="%g" rx="6"/>`+"\n%s</svg>\n", w-1, h-1, texts.String())
	return b.Bytes()
}

// play returns the spells by the time of the recording, without those that would flicker.
func (l *row) play(speed float64) []spell {
	var out []spell
	for i, s := range l.shown {
		s.from *= speed
		last := i == len(l.shown)-1
		if n := len(out); n > 0 && s.from-out[n-1].from < shortest {
			if !last {
				continue
			}
			out = out[:n-1] // what came last stays
		}
		out = append(out, s)
	}
	return out
}
