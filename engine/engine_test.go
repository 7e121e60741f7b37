package engine

import "testing"

func newTestEngine(t testing.TB, o ...Option) *Engine {
	t.Helper()
	e, err := New(o...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	return e
}
