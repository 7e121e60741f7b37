package ascent

import (
	"testing"

	"dpnbench/engine"
)

func newTestEngine(t testing.TB, o ...engine.Option) *engine.Engine {
	t.Helper()
	e, err := engine.New(o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}
