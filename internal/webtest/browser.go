//go:build !js && !nobrowser

package webtest

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/input"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// patience is the time limit for all actions of a test in the browser.
const patience = 2 * time.Minute

const icon = "/favicon.ico" // browsers request it by themselves

// Browser is a headless Chromium with one page in it.
type Browser struct {
	t      *testing.T
	ctx    context.Context
	server *httptest.Server

	mu               sync.Mutex
	page             []byte
	requests, errors []string
}

// Start starts Chromium, or skips the test if there is none or -short is given. It is stopped at
// the end of the test.
func Start(t *testing.T) *Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("takes seconds, minutes under emulation: without -short")
	}
	path := findChromium()
	if path == "" {
		t.Skip("no Chromium (Debian: apt-get install chromium)")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.DisableGPU, chromedp.Flag("disable-component-update", true))
	ctx, stop := context.WithTimeout(context.Background(), patience)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, stop = chromedp.NewContext(ctx)
	t.Cleanup(stop)
	b := &Browser{t: t, ctx: ctx}
	b.server = httptest.NewServer(http.HandlerFunc(b.serve))
	t.Cleanup(b.server.Close)
	if err := chromedp.Listen(ctx, b.record); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return b
}

func findChromium() string {
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path
		}
	}
	return ""
}

// serve serves the page, and nothing else.
func (b *Browser) serve(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		b.mu.Lock()
		defer b.mu.Unlock()
		w.Write(b.page)
	case icon:
		w.WriteHeader(http.StatusNoContent)
	default:
		http.NotFound(w, r)
	}
}

// record collects errors, and requests for anything but the page.
func (b *Browser) record(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		url := e.Request.URL
		if url != b.server.URL+"/" && url != b.server.URL+icon && !strings.HasPrefix(url, "data:") {
			b.requests = append(b.requests, url)
		}
	case *runtime.EventExceptionThrown:
		text := e.ExceptionDetails.Text
		if x := e.ExceptionDetails.Exception; x != nil {
			text += " " + x.Description
		}
		b.errors = append(b.errors, text)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError {
			b.errors = append(b.errors, e.Entry.Text)
		}
	}
}

// Open shows a page in a window of the given width and height in pixels, and waits for it to load.
func (b *Browser) Open(page []byte, width, height int) {
	b.t.Helper()
	b.mu.Lock()
	b.page = page
	b.mu.Unlock()
	call(b, emulation.SetDeviceMetricsOverride, emulation.SetDeviceMetricsOverrideParams{
		Width: int64(width), Height: int64(height), DeviceScaleFactor: 1, Mobile: width < 600})
	if err := chromedp.Do(b.ctx, chromedp.Navigate(b.server.URL+"/")); err != nil {
		b.t.Fatalf("the page does not load: %v", err)
	}
}

// Scripts turns JavaScript on or off, from the next page on.
func (b *Browser) Scripts(on bool) {
	b.t.Helper()
	call(b, emulation.SetScriptExecutionDisabled, emulation.SetScriptExecutionDisabledParams{Value: !on})
}

// Media emulates a CSS medium such as print; "" stands for the screen.
func (b *Browser) Media(medium string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Media: medium})
}

// Scheme emulates the colours that the reader prefers: dark or light.
func (b *Browser) Scheme(colours string) {
	b.t.Helper()
	call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
		Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: colours}}})
}

// Evaluate stores the value of a JavaScript expression, or of its promise, in value.
func (b *Browser) Evaluate(expression string, value any) {
	b.t.Helper()
	text, err := chromedp.Run(b.ctx, chromedp.Evaluate[[]byte](expression, chromedp.EvalAwaitPromise))
	if err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
	if value == nil {
		return
	}
	if err := json.Unmarshal(text, value); err != nil {
		b.t.Fatalf("%s: %v", expression, err)
	}
}

// Press presses and releases a key: its name and its number, such as ArrowRight and 39.
func (b *Browser) Press(key string, code int) {
	b.t.Helper()
	kinds := []input.DispatchKeyEventType{input.DispatchKeyEventTypeRawKeyDown, input.DispatchKeyEventTypeKeyUp}
	for _, kind := range kinds {
		call(b, input.DispatchKeyEvent, input.DispatchKeyEventParams{
			Type: kind, Key: key, Code: key, WindowsVirtualKeyCode: int64(code)})
	}
}

// Screenshot returns the whole page as PNG.
func (b *Browser) Screenshot() []byte {
	b.t.Helper()
	data, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

// Shot returns an element of the page as PNG.
func (b *Browser) Shot(selector string) []byte {
	b.t.Helper()
	var clip page.Viewport
	yes := true
	b.Evaluate("(() => { const r = document.querySelector("+strconv.Quote(selector)+").getBoundingClientRect();"+
		"return {x: r.x + scrollX, y: r.y + scrollY, width: r.width, height: r.height} })()", &clip)
	clip.Scale = 1
	return call(b, page.CaptureScreenshot, page.CaptureScreenshotParams{Clip: &clip, CaptureBeyondViewport: &yes}).Data
}

// Print returns the page as PDF, on A4.
func (b *Browser) Print() []byte {
	b.t.Helper()
	yes := true
	return call(b, page.PrintToPDF, page.PrintToPDFParams{
		PrintBackground: &yes, PreferCSSPageSize: &yes, PaperWidth: 8.27, PaperHeight: 11.69}).Data
}

// call sends a command to the page and returns its result.
func call[P, R any](b *Browser, command cdp.Command[P, R], params P) R {
	b.t.Helper()
	r, err := chromedp.Call(b.ctx, command, params)
	if err != nil {
		b.t.Fatalf("%s: %v", command.Method, err)
	}
	return r
}

// CheckQuiet checks that no page has requested anything else or reported an error so far.
func (b *Browser) CheckQuiet() {
	b.t.Helper()
	for _, p := range b.noise() {
		b.t.Error(p)
	}
}

func (b *Browser) noise() (problems []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.requests) > 0 {
		problems = append(problems, fmt.Sprintf("the page requested %q", b.requests))
	}
	if len(b.errors) > 0 {
		problems = append(problems, fmt.Sprintf("errors: %q", b.errors))
	}
	return problems
}

// fonts are families that differ in width: Liberation Sans is as wide as Arial and Helvetica, DejaVu Sans wider.
var fonts = []string{"Liberation Sans", "DejaVu Sans", "serif"}

// CheckWidths opens the page at the width of a desktop, of a phone and of printed paper. At each of them it checks that
// nothing overflows, every image loads, and the given number of figures is visible; on the screens that no text of a
// figure leaves it or covers another, in any of three fonts, or is too small to read; and on the desktop that the first
// figure is on the first screen, if the page has one there, and that the Tab key goes through the page from top to
// bottom and shows where it is. Nothing else is requested and no error occurs. If DPN_TEST_SCREENSHOT is set, it writes
// the views of the screens to files whose names begin with its value.
func (b *Browser) CheckWidths(page []byte, figures int) {
	b.t.Helper()
	for _, width := range []int{1280, 390} {
		b.Open(page, width, 800)
		for _, p := range b.problems(width, figures) {
			b.t.Error(p)
		}
		for _, font := range fonts {
			for _, p := range b.textProblems(font) {
				b.t.Errorf("at %d pixels in %s: %s", width, font, p)
			}
		}
		if file := os.Getenv("DPN_TEST_SCREENSHOT"); file != "" {
			name := fmt.Sprintf("%s-%s-%d.png", file, b.t.Name(), width)
			if err := os.WriteFile(name, b.Screenshot(), 0o644); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	b.Open(page, 1280, 800)
	for _, p := range b.focusProblems() {
		b.t.Error(p)
	}
	b.Open(page, paperWidth, 800)
	b.Media("print")
	for _, p := range slices.Concat(b.problems(paperWidth, figures), b.printProblems()) {
		b.t.Errorf("in print: %s", p)
	}
	b.Media("")
	b.CheckQuiet()
}

// printProblems names the tables and figures that are wider than their place, as nobody can scroll paper.
func (b *Browser) printProblems() (problems []string) {
	b.t.Helper()
	var wide []string
	b.Evaluate(`[...document.querySelectorAll('.scroll, .sheet')].filter(e => e.checkVisibility() &&
		e.scrollWidth > e.clientWidth + 1).map(e => (e.closest('figure') ?? e).innerText.slice(0, 60))`, &wide)
	for _, w := range wide {
		problems = append(problems, fmt.Sprintf("the table or figure is too wide: %q", w))
	}
	return problems
}

// paperWidth is that of A4 without the margins of 14 mm, in CSS pixels.
const paperWidth = 688

// mostTabs bounds the number of times that the Tab key is pressed, 40 ms each.
const mostTabs = 25

// focusScript puts the elements that the Tab key should reach into window.stops, and returns their names.
const focusScript = `(() => {
	window.stops = [...document.querySelectorAll('a[href], button, input, select, summary, [tabindex]')]
		.filter(e => e.tabIndex >= 0 && !e.disabled && e.checkVisibility());
	document.activeElement.blur();
	window.scrollTo(0, 0);
	return window.stops.map(e => e.outerHTML.slice(0, 80));
})()`

// focusedScript returns the place of the focused element in window.stops, and whether it has an outline on the screen.
const focusedScript = `(() => {
	const e = document.activeElement, s = getComputedStyle(e), box = e.getBoundingClientRect();
	return {
		At: window.stops.indexOf(e),
		Shown: s.outlineStyle != 'none' && parseFloat(s.outlineWidth) > 0 && box.bottom > 0 && box.top < innerHeight,
	};
})()`

// focusProblems presses the Tab key and says where the focus does not go to the next element of the page, or does not
// show.
func (b *Browser) focusProblems() (problems []string) {
	b.t.Helper()
	var stops []string
	b.Evaluate(focusScript, &stops)
	for i := range min(len(stops), mostTabs) {
		b.Press("Tab", 9)
		var got struct {
			At    int
			Shown bool
		}
		b.Evaluate(focusedScript, &got)
		if !got.Shown {
			problems = append(problems, fmt.Sprintf("the focus does not show after %d presses of Tab", i+1))
		}
		if got.At != i {
			return append(problems, fmt.Sprintf("Tab number %d reaches element %d of %q", i+1, got.At, stops))
		}
	}
	return problems
}

// layoutScript returns the layout data for problems, once all images are decoded, with all that is folded opened:
// Chromium lays out the content of a closed <details> anew for each element that is measured.
const layoutScript = `(async () => {
	const images = [...document.images];
	await Promise.allSettled(images.map(i => i.decode()));
	const box = e => e.getBoundingClientRect();
	const visible = document.documentElement.clientWidth;
	const first = [...document.querySelectorAll('.first svg')].map(s => box(s).bottom);
	const scrolls = e => e && (/auto|scroll/.test(getComputedStyle(e).overflowX) || scrolls(e.parentElement));
	const folded = [...document.querySelectorAll('details:not([open])')];
	folded.forEach(d => d.open = true);
	const layout = {
		content: document.documentElement.scrollWidth,
		wide: [...document.querySelectorAll('body *')]
			.filter(e => box(e).right > visible + 1 && !scrolls(e.parentElement))
			.map(e => e.outerHTML.slice(0, 80)),
		figures: [...document.querySelectorAll('figure')]
			.filter(f => [...f.querySelectorAll('svg')].some(s => box(s).width > 100)).length,
		broken: images.filter(i => !i.complete || !i.naturalWidth).map(i => i.alt),
		first,
	};
	folded.forEach(d => d.open = false);
	return layout;
})()`

// textScript shows the texts of figures in a font and returns those that leave their figure, that cover another one by
// more than a hair, or that are smaller than 8 pixels where the figure does not scroll.
const textScript = `(font => {
	document.querySelectorAll('.test-font').forEach(e => e.remove());
	const style = document.createElement('style');
	style.className = 'test-font';
	style.textContent = 'body, svg text { font-family: ' + font + ' !important }';
	document.head.append(style);
	const bad = [];
	for (const svg of document.querySelectorAll('figure svg')) {
		const f = svg.getBoundingClientRect(), scale = f.width / svg.viewBox.baseVal.width;
		const texts = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect(),
			scale * parseFloat(getComputedStyle(t).fontSize)]);
		for (const [i, [s, b, size]] of texts.entries()) {
			if (b.left < f.left - 1 || b.right > f.right + 1 || b.top < f.top - 2 || b.bottom > f.bottom + 2)
				bad.push('outside: ' + s);
			if (size < 8) bad.push(size.toFixed(1) + ' pixels: ' + s);
			for (const [other, c] of texts.slice(0, i)) {
				const w = Math.min(b.right, c.right) - Math.max(b.left, c.left);
				const h = Math.min(b.bottom, c.bottom) - Math.max(b.top, c.top);
				if (w > 1 && h > 0.3 * Math.min(b.height, c.height)) bad.push('overlap: ' + other + ' / ' + s);
			}
		}
	}
	return bad.slice(0, 20);
})`

// textProblems describes the faults of the texts of figures in a font.
func (b *Browser) textProblems(font string) (problems []string) {
	b.t.Helper()
	b.Evaluate(fmt.Sprintf("%s(%q)", textScript, font), &problems)
	return problems
}

// problems describes the faults of the page's layout at a width in pixels.
func (b *Browser) problems(width, figures int) (problems []string) {
	b.t.Helper()
	var got struct {
		Content float64
		Wide    []string
		Figures int
		Broken  []string
		First   []float64
	}
	b.Evaluate(layoutScript, &got)
	if got.Content > float64(width) { // innerWidth grows with the content on a phone
		problems = append(problems,
			fmt.Sprintf("at %d pixels the content is %v wide; it contains %q", width, got.Content, got.Wide))
	}
	if got.Figures != figures {
		problems = append(problems, fmt.Sprintf("at %d pixels %d figures are visible, want %d", width, got.Figures,
			figures))
	}
	for _, bottom := range got.First {
		if width > 1000 && bottom > 800 {
			problems = append(problems,
				fmt.Sprintf("at %d pixels the first figure ends at %.0f, want 800", width, bottom))
		}
	}
	if len(got.Broken) > 0 {
		problems = append(problems, fmt.Sprintf("at %d pixels these images do not load: %q", width, got.Broken))
	}
	return problems
}
