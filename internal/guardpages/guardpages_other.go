//go:build !unix

package guardpages

import (
	"errors"
	"fmt"
)

// Floats fails: guard pages need mmap and mprotect of Unix.
func Floats(int) (x []float32, free func() error, err error) {
	return nil, nil, fmt.Errorf("guardpages: guard pages: %w", errors.ErrUnsupported)
}
