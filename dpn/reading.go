package dpn

import (
	"fmt"
	"strings"

	"dpnbench/dataset"
)

// Sides returns the rows and columns of the setting size; 0 without it.
func (c Config) Sides() (rows, cols int) {
	if _, err := fmt.Sscanf(c.Size, "%dx%d", &rows, &cols); err != nil || fmt.Sprintf("%dx%d", rows, cols) != c.Size {
		return 0, 0
	}
	return rows, cols
}

// CheckReading returns an error that names the first wrong setting of how files are read.
func (c Config) CheckReading() error {
	rows, cols := c.Sides()
	const most = 1024
	switch {
	case c.Size != "" && (rows < 1 || cols < 1 || rows > most || cols > most):
		return badSetting("size", c.Size, fmt.Sprintf("expected ROWSxCOLUMNS of 1 to %d pixels, such as 28x28", most))
	case !(c.TestShare >= 0 && c.TestShare <= 1):
		return badSetting("test-share", c.TestShare, "expected a fraction from 0 to 1")
	case c.Channels != "" && dataset.ParseChannelKind(c.Channels) == 0:
		return badSetting("channels", c.Channels, "expected "+strings.Join(dataset.ChannelKinds(), " or "))
	}
	return nil
}
