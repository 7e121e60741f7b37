//go:build js || nobrowser

package webtest

import "testing"

// Browser is a placeholder: WebAssembly cannot start the process of a browser, and short tests do not start one, so
// that with the tag nobrowser its driver, which is large, need not be compiled for them.
type Browser struct{}

// Start skips the test.
func Start(t *testing.T) *Browser {
	t.Helper()
	t.Skip("built without a browser: WebAssembly, or tag nobrowser")
	return nil
}

// The methods of the other Browser, which no test reaches.

func (*Browser) Open(page []byte, width, height int)   {}
func (*Browser) Scripts(on bool)                       {}
func (*Browser) Media(medium string)                   {}
func (*Browser) Scheme(colours string)                 {}
func (*Browser) Evaluate(expression string, value any) {}
func (*Browser) Press(key string, code int)            {}
func (*Browser) Screenshot() []byte                    { return nil }
func (*Browser) Shot(selector string) []byte           { return nil }
func (*Browser) Print() []byte                         { return nil }
func (*Browser) CheckQuiet()                           {}
func (*Browser) CheckWidths(page []byte, figures int)  {}
