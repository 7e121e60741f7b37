package source

import "fmt"

// tooLarge says why samples of the given size do not fit Options.Memory, or returns "". Running out of
// memory cannot be handled once it happens.
func (o Options) tooLarge(bytes float64) string {
	const headroom = 1.1 // for the rest of the program
	if o.Memory > 0 && bytes > o.Memory/headroom {
		text := fmt.Sprintf("the samples take %.1f GB, %.1f GB of memory are available", bytes/1e9, o.Memory/1e9)
		if o.held > 0 {
			text += fmt.Sprintf(" beside %.1f GB that are read or unpacked", o.held/1e9)
		}
		return text
	}
	return ""
}

// less returns the options for what is read while so many bytes are in memory.
func (o Options) less(bytes float64) Options {
	o.held += bytes
	if o.Memory > 0 {
		o.Memory = max(o.Memory-bytes, 1) // 0 would be no limit
	}
	return o
}

// bytes returns how many bytes the samples and labels take.
func (p *part) bytes() float64 {
	return float64(len(p.pixels)) + 4*float64(len(p.values)) + 8*float64(len(p.labels)) + 16*float64(len(p.texts))
}
