package bench

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"time"

	"dpnbench/engine"
)

// measuring loads the page in a frame of each width and writes how wide its content is,
// how many figures it shows and what else the page asked for, found or not. So it does of a
// page that asks for two things.
const measuring = `<!doctype html><body><script>
const widths = [1280, 390];
let left = widths.length + 1, says = "";
const asked = frame => frame.contentWindow.performance.getEntriesByType("resource").map(e => e.name).join(" ");
const done = text => {
	says += text;
	if (--left == 0) document.body.textContent = says;
};
for (const width of widths) {
	const frame = document.createElement("iframe");
	frame.style.width = width + "px";
	frame.style.border = "0";
	frame.src = "/page";
	frame.onload = () => {
		const page = frame.contentDocument, root = page.documentElement;
		const figures = [...page.querySelectorAll("svg")].filter(s => s.getBoundingClientRect().width > 100).length;
		done("[" + width + ": content " + root.scrollWidth + " of " + root.clientWidth + ", figures " + figures + ", asked for (" + asked(frame) + ")]");
	};
	document.body.append(frame);
}
const control = document.createElement("iframe");
control.src = "/control";
control.onload = () => done("[control asked for (" + asked(control) + ")]");
document.body.append(control);
</script></body>`

// TestPageInBrowser loads the page in headless Chromium at the width of a desktop and of a
// phone: nothing overflows, and the figures are there. Nothing but the page is asked for.
func TestPageInBrowser(t *testing.T) {
	browser := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			browser = path
			break
		}
	}
	if browser == "" {
		t.Skip("no Chromium (Debian: apt-get install chromium)")
	}
	var page bytes.Buffer
	if err := WritePage(&page, modelled(Full, []string{engine.AVX512.String(), engine.AVX2.String()}, []int{1, 2})); err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, measuring)
		case "/page":
			w.Write(page.Bytes())
		case "/control":
			fmt.Fprint(w, `<!doctype html><img src="/own.png"><img src="https://elsewhere.example/image.png">`)
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	profile, err := os.MkdirTemp("", "chromium")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(profile)
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute) // a browser that hangs is not waited for
	defer cancel()
	out, err := exec.CommandContext(ctx, browser, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
		"--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--user-data-dir="+profile, "--virtual-time-budget=20000", "--dump-dom", s.URL).Output()
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	found := regexp.MustCompile(`\[(\d+): content (\d+) of (\d+), figures (\d+), asked for \((.*?)\)\]`).FindAllStringSubmatch(string(out), -1)
	control := regexp.MustCompile(`\[control asked for \((.*?)\)\]`).FindSubmatch(out)
	if len(found) != 2 || control == nil {
		t.Fatalf("the page was not measured: %.300s", out)
	}
	for _, want := range []string{"/own.png", "https://elsewhere.example/image.png"} {
		if !strings.Contains(string(control[1]), want) {
			t.Errorf("it was not seen that a page asks for %s: %q", want, control[1])
		}
	}
	for _, f := range found {
		if f[2] != f[3] { // clientWidth leaves out the scroll bar
			t.Errorf("at %s pixels the content is %s wide, of which %s can be seen", f[1], f[2], f[3])
		}
		if f[4] == "0" {
			t.Errorf("at %s pixels no figure is seen", f[1])
		}
		if f[5] != "" {
			t.Errorf("at %s pixels the page asked for %s", f[1], f[5])
		}
	}
}
