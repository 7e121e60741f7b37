//go:build !js && !nobrowser

package webtest

import (
	"slices"
	"strings"
	"testing"
)

// TestProblems opens a page with every fault that problems detects, and then one without any.
func TestProblems(t *testing.T) {
	b := Start(t)
	const bad = `<!DOCTYPE html><meta name="viewport" content="width=device-width">
		<div style="width: 2000px">wide</div>
		<div class="scroll" style="width: 9px"><table><td>table</td></table></div>
		<div class="sheet" style="width: 9px">figure</div>
		<img alt="lost" src="lost.png"><script>nowhere()</script>
		<a href="#" tabindex="2">later</a> <a href="#" tabindex="1" style="outline: none">sooner</a>
		<details><summary>folded</summary><div style="width: 3000px">inside</div></details>
		<figure class="first">
		<svg viewBox="0 0 200 100" width="90" height="45" style="margin-top: 900px">
		<text x="150" y="40">cut off here</text>
		<text x="10" y="40">one</text><text x="12" y="42">two</text></svg></figure>`
	b.Open([]byte(bad), 390, 900)
	got := strings.Join(slices.Concat(b.problems(390, 1), b.textProblems("serif"), b.problems(1280, 1),
		b.printProblems(), b.focusProblems(), b.noise()), "\n")
	for _, want := range []string{"the content is 30", "wide", "inside", "0 figures are visible, want 1",
		`do not load: ["lost"]`,
		"/lost.png", "404", "outside: cut off here", "overlap: one / two", "7.2 pixels: one",
		"the first figure ends at", "Tab number 1 reaches element 1", "does not show after 1 ",
		"nowhere is not defined", "too wide: \"table", "too wide: \"figure"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}

	b = Start(t)
	const good = `<!DOCTYPE html><meta name="viewport" content="width=device-width">
		<figure><svg width="200" height="9"></svg></figure><p id="p" onclick="this.innerText = 'clicked'">text</p>`
	b.CheckWidths([]byte(good), 1)
	var text string
	b.Evaluate(`document.querySelector('#p').click()`, nil)
	b.Evaluate(`document.querySelector('#p').innerText`, &text)
	if text != "clicked" {
		t.Errorf("the text is %q after a click", text)
	}
	if data := b.Screenshot(); !strings.HasPrefix(string(data), "\x89PNG") {
		t.Errorf("the screenshot begins with %.8q", data)
	}
	if data := b.Print(); !strings.HasPrefix(string(data), "%PDF") {
		t.Errorf("the print begins with %.8q", data)
	}
	b.Scripts(false)
	b.Open([]byte(good), 1280, 900)
	b.Scripts(true)
	b.Evaluate(`document.querySelector('#p').innerText`, &text)
	if text != "text" {
		t.Errorf("the text is %q on a new page", text)
	}
	b.CheckQuiet()
}
