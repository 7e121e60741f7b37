//go:build !(foreign && cgo && unix)

package main

import (
	"context"
	"fmt"

	"dpnbench/engine/order"
)

var libraryKernels []string // what a symbol may compute

func (a *app) checkLibrary(_ context.Context, o checkFlags) error {
	return fmt.Errorf("--library %s: %s", o.library, needsForeign)
}

func (b *benchmark) openLibrary() error {
	return fmt.Errorf("--library %s: %s", b.library, needsForeign)
}

// libraryOrders returns the sums of --library, to probe.
func (a *app) libraryOrders(o checkFlags) ([]order.Implementation, error) {
	if o.library == "" {
		return nil, nil
	}
	return nil, fmt.Errorf("--library %s: %s", o.library, needsForeign)
}

// needsForeign says how to build a program that can call shared libraries.
const needsForeign = "this program cannot call shared libraries; build one that can, with a C compiler on Unix: " +
	"CGO_ENABLED=1 go build -tags foreign ./cmd/dpnbench"
