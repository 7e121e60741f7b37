package separation

// rowsPerChunk is the number of rows in one unit of parallel work. Each chunk has its own sum over
// rows, and the sums are added in order, so the bits of a result do not depend on the number of
// threads.
const rowsPerChunk = 512

// chunkCount returns the number of chunks of the given size that cover n items.
func chunkCount(n, size int) int { return (n + size - 1) / size }

// chunkBounds returns the half-open range of items of chunk c.
func chunkBounds(n, size, c int) (from, to int) {
	return c * size, min((c+1)*size, n)
}
