package bench

import (
	"bytes"
	"testing"

	"dpnbench/engine"
	"dpnbench/internal/webtest"
)

// TestPageInBrowser loads the page in headless Chromium at the width of a desktop and of a
// phone.
func TestPageInBrowser(t *testing.T) {
	b := webtest.Start(t)
	var page bytes.Buffer
	if err := WritePage(&page, modelled(Full, []string{engine.AVX512.String(), engine.AVX2.String()},
		[]int{1, 2})); err != nil {
		t.Fatal(err)
	}
	b.CheckWidths(page.Bytes(), len(webtest.SVG.FindAll(page.Bytes(), -1)))
}
