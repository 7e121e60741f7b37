package webtest

import (
	"bufio"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// patience is how long a browser that hangs is waited for.
const patience = 2 * time.Minute

const icon = "/favicon.ico"

// Browser is a headless Chromium with one page in it, driven over a pipe by the DevTools
// protocol (https://chromedevtools.github.io/devtools-protocol/).
type Browser struct {
	t       *testing.T
	to      *os.File
	from    *bufio.Reader
	id      int
	session string

	server *httptest.Server
	page   []byte
	// Requests are the addresses other than the page that were asked for, Errors what
	// went wrong in it.
	Requests, Errors []string
	loaded           bool
}

// Start starts Chromium, or skips the test where there is none. The test ends it.
func Start(t *testing.T) *Browser {
	t.Helper()
	name := ""
	for _, n := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(n); err == nil {
			name = path
			break
		}
	}
	if name == "" {
		t.Skip("no Chromium (Debian: apt-get install chromium)")
	}
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(profile) })
	theirs, ours, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, theirAnswers, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.Command(name, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--remote-debugging-pipe",
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--user-data-dir="+profile)
	c.ExtraFiles = []*os.File{theirs, theirAnswers} // 3 and 4
	if err := c.Start(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	theirs.Close()
	theirAnswers.Close()
	b := &Browser{t: t, to: ours, from: bufio.NewReader(answers)}
	hung := time.AfterFunc(patience, func() { c.Process.Kill() })
	t.Cleanup(func() {
		hung.Stop()
		ours.Close() // which ends it
		gone := time.AfterFunc(10*time.Second, func() { c.Process.Kill() })
		c.Wait()
		gone.Stop()
		answers.Close()
	})
	b.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/":
		case icon: // a browser asks for it on its own
			w.WriteHeader(http.StatusNoContent)
			return
		default:
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		w.Write(b.page)
	}))
	t.Cleanup(b.server.Close)

	var target struct{ TargetID string }
	b.call("Target.createTarget", map[string]any{"url": "about:blank"}, &target)
	var attached struct{ SessionID string }
	b.call("Target.attachToTarget", map[string]any{"targetId": target.TargetID, "flatten": true}, &attached)
	b.session = attached.SessionID
	for _, domain := range []string{"Page", "Runtime", "Network", "Log"} {
		b.call(domain+".enable", nil, nil)
	}
	return b
}

// Open shows a page in a window of a width, and waits for it to load.
func (b *Browser) Open(page []byte, width, height int) {
	b.t.Helper()
	b.page = page
	b.call("Emulation.setDeviceMetricsOverride", map[string]any{"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}, nil)
	b.loaded = false
	b.call("Page.navigate", map[string]any{"url": b.server.URL + "/"}, nil)
	for !b.loaded {
		b.read()
	}
}

// Scripts turns JavaScript on or off, from the next page on.
func (b *Browser) Scripts(on bool) {
	b.t.Helper()
	b.call("Emulation.setScriptExecutionDisabled", map[string]any{"value": !on}, nil)
}

// Media chooses the style of a medium, such as print; an empty one stands for the screen.
func (b *Browser) Media(medium string) {
	b.t.Helper()
	b.call("Emulation.setEmulatedMedia", map[string]any{"media": medium}, nil)
}

// Evaluate stores the value of a JavaScript expression, or what it promises, in value.
func (b *Browser) Evaluate(expression string, value any) {
	b.t.Helper()
	var r struct {
		Result           struct{ Value json.RawMessage }
		ExceptionDetails json.RawMessage
	}
	b.call("Runtime.evaluate", map[string]any{"expression": expression, "returnByValue": true, "awaitPromise": true}, &r)
	if r.ExceptionDetails != nil {
		b.t.Fatalf("%s: %s", expression, r.ExceptionDetails)
	}
	if value != nil {
		if err := json.Unmarshal(r.Result.Value, value); err != nil {
			b.t.Fatalf("%s: %v", expression, err)
		}
	}
}

// Press presses and releases a key: its name and its number, such as ArrowRight and 39.
func (b *Browser) Press(key string, code int) {
	b.t.Helper()
	for _, kind := range []string{"rawKeyDown", "keyUp"} {
		b.call("Input.dispatchKeyEvent", map[string]any{"type": kind, "key": key, "code": key, "windowsVirtualKeyCode": code}, nil)
	}
}

// Screenshot returns the whole page as PNG.
func (b *Browser) Screenshot() []byte {
	b.t.Helper()
	return b.file("Page.captureScreenshot", map[string]any{"captureBeyondViewport": true})
}

// Print returns the page as PDF, on A4.
func (b *Browser) Print() []byte {
	b.t.Helper()
	return b.file("Page.printToPDF", map[string]any{"printBackground": true, "preferCSSPageSize": true, "paperWidth": 8.27, "paperHeight": 11.69})
}

func (b *Browser) file(method string, params map[string]any) []byte {
	b.t.Helper()
	var r struct{ Data string }
	b.call(method, params, &r)
	data, err := base64.StdEncoding.DecodeString(r.Data)
	if err != nil {
		b.t.Fatal(err)
	}
	return data
}

// call sends a command and waits for its answer.
func (b *Browser) call(method string, params, result any) {
	b.t.Helper()
	b.id++
	if params == nil {
		params = struct{}{}
	}
	m := map[string]any{"id": b.id, "method": method, "params": params}
	if b.session != "" {
		m["sessionId"] = b.session
	}
	text, err := json.Marshal(m)
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := b.to.Write(append(text, 0)); err != nil {
		b.t.Fatalf("the browser is gone: %v", err)
	}
	for {
		answer := b.read()
		if answer.ID != b.id {
			continue
		}
		if answer.Error != nil {
			b.t.Fatalf("%s: %s", method, answer.Error)
		}
		if result != nil {
			if err := json.Unmarshal(answer.Result, result); err != nil {
				b.t.Fatalf("%s: %v", method, err)
			}
		}
		return
	}
}

type message struct {
	ID            int
	Method        string
	Result, Error json.RawMessage
	Params        struct {
		Request          struct{ URL string }
		ExceptionDetails json.RawMessage
		Entry            struct{ Level, Text string }
	}
}

// read reads an answer or an event, and remembers what matters of events.
func (b *Browser) read() message {
	b.t.Helper()
	text, err := b.from.ReadBytes(0)
	if err != nil {
		b.t.Fatalf("the browser is gone: %v", err)
	}
	var m message
	if err := json.Unmarshal(text[:len(text)-1], &m); err != nil {
		b.t.Fatalf("the browser says %.200q: %v", text, err)
	}
	switch m.Method {
	case "Page.loadEventFired":
		b.loaded = true
	case "Network.requestWillBeSent":
		if url := m.Params.Request.URL; url != b.server.URL+"/" && url != b.server.URL+icon && !strings.HasPrefix(url, "data:") {
			b.Requests = append(b.Requests, url)
		}
	case "Runtime.exceptionThrown":
		b.Errors = append(b.Errors, string(m.Params.ExceptionDetails))
	case "Log.entryAdded":
		if m.Params.Entry.Level == "error" {
			b.Errors = append(b.Errors, m.Params.Entry.Text)
		}
	}
	return m
}

// CheckWidths opens the page at the width of a desktop and of a phone: nothing overflows,
// every picture loads, nothing else is asked for and no error shows.
func (b *Browser) CheckWidths(page []byte, figures int) {
	b.t.Helper()
	for _, width := range []int{1280, 390} {
		b.Open(page, width, 900)
		var got struct {
			Content float64
			Wide    []string
			Figures int
			Broken  []string
		}
		b.Evaluate(`(async () => {
			const images = [...document.images];
			await Promise.allSettled(images.map(i => i.decode()));
			return {
				content: document.documentElement.scrollWidth,
				wide: [...document.querySelectorAll('body *')].filter(e => e.getBoundingClientRect().right > document.documentElement.clientWidth + 1 && !e.parentElement.closest('.scroll, .sheet')).map(e => e.outerHTML.slice(0, 80)),
				figures: [...document.querySelectorAll('figure svg')].filter(s => s.getBoundingClientRect().width > 100).length,
				broken: images.filter(i => !i.complete || !i.naturalWidth).map(i => i.alt),
			};
		})()`, &got)
		if got.Content > float64(width) { // innerWidth grows with the content on a phone
			b.t.Errorf("at %d pixels the content is %v wide; it contains %q", width, got.Content, got.Wide)
		}
		if got.Figures != figures {
			b.t.Errorf("at %d pixels %d figures are seen, want %d", width, got.Figures, figures)
		}
		if len(got.Broken) > 0 {
			b.t.Errorf("at %d pixels these pictures do not load: %q", width, got.Broken)
		}
		if file := os.Getenv("DPN_TEST_SCREENSHOT"); file != "" { // to look at
			if err := os.WriteFile(fmt.Sprintf("%s-%s-%d.png", file, b.t.Name(), width), b.Screenshot(), 0o644); err != nil {
				b.t.Fatal(err)
			}
		}
	}
	if len(b.Requests) > 0 {
		b.t.Errorf("the page asked for %q", b.Requests)
	}
	if len(b.Errors) > 0 {
		b.t.Errorf("errors: %q", b.Errors)
	}
}
