package main

import "testing"

// TestReflowed fits a text of help into a narrow terminal.
func TestReflowed(t *testing.T) {
	text := `Measure the speed
of everything.

Columns:
  time     median of a call, with
           its interval
  a b      two words
    code that is long enough
The last one.`
	want := `Measure the speed of
everything.

Columns:
  time     median of a
           call, with
           its
           interval
  a b      two words
    code that is long
      enough
The last one.`
	if got := reflowed(text, 22); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
