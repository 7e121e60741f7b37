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

// measuring loads the page in a frame of each width and writes how wide its content is
// and how many figures it shows.
const measuring = `<!doctype html><body><script>
const widths = [1280, 390];
let left = widths.length, says = "";
for (const width of widths) {
	const frame = document.createElement("iframe");
	frame.style.width = width + "px";
	frame.style.border = "0";
	frame.src = "/page";
	frame.onload = () => {
		const page = frame.contentDocument, root = page.documentElement;
		const figures = [...page.querySelectorAll("svg")].filter(s => s.getBoundingClientRect().width > 100).length;
		says += "[" + width + ": content " + root.scrollWidth + " of " + root.clientWidth + ", figures " + figures + "]";
		if (--left == 0) document.body.textContent = says;
	};
	document.body.append(frame);
}
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
	var others []string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, measuring)
		case "/page":
			w.Write(page.Bytes())
		case "/favicon.ico":
			http.NotFound(w, r)
		default:
			others = append(others, r.URL.Path)
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
		"--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
		"--user-data-dir="+profile, "--virtual-time-budget=20000", "--dump-dom", s.URL).Output()
	if err != nil {
		t.Fatalf("%s: %v", browser, err)
	}
	found := regexp.MustCompile(`\[(\d+): content (\d+) of (\d+), figures (\d+)\]`).FindAllStringSubmatch(string(out), -1)
	if len(found) != 2 {
		t.Fatalf("the page was not measured: %.300s", out)
	}
	for _, f := range found {
		if f[2] != f[3] { // clientWidth leaves out the scroll bar
			t.Errorf("at %s pixels the content is %s wide, of which %s can be seen", f[1], f[2], f[3])
		}
		if f[4] == "0" {
			t.Errorf("at %s pixels no figure is seen", f[1])
		}
	}
	if len(others) > 0 {
		t.Errorf("the page asked for %s", strings.Join(others, ", "))
	}
}
