package source

import "fmt"

// tooLarge says why samples of the given size do not fit Options.Memory, or returns "". Running out of
// memory cannot be handled once it happens.
func (o Options) tooLarge(bytes float64) string {
	const headroom = 1.1 // for the rest of the program
	if o.Memory > 0 && bytes > o.Memory/headroom {
		return fmt.Sprintf("the samples take %.1f GB, %.1f GB of memory are available", bytes/1e9, o.Memory/1e9)
	}
	return ""
}
