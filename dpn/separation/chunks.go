package separation

// rowsPerChunk is the unit of work shared out between threads. Sums over rows
// are taken chunk by chunk and the chunks are then added in order, so the bits
// of a result depend on the number of rows and not on the number of threads.
const rowsPerChunk = 512

// chunkCount returns how many chunks of the given size cover n items.
func chunkCount(n, size int) int { return (n + size - 1) / size }

// chunkBounds returns the half-open range of items of chunk c.
func chunkBounds(n, size, c int) (from, to int) {
	return c * size, min((c+1)*size, n)
}
