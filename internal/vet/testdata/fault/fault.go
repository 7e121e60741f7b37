package fault

const size = 1 << 40

var _ int = size // too large where an int has 32 bits
