//go:build !unix

package walls

import (
	"errors"
	"fmt"
)

// Floats fails: there are pages without access on Unix only.
func Floats(int) (x []float32, free func() error, err error) {
	return nil, nil, fmt.Errorf("walls: pages without access: %w", errors.ErrUnsupported)
}
