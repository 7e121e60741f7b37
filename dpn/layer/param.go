package layer

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"

	"dpnbench/engine"
)

// Param is a named tensor of a network. Optimisers change all but those of BatchNorm.Buffers.
type Param struct {
	Name  string // key in a model file
	Shape []int
	Data  []float32
	Group string // selects the learning rate, if there are several

	// Allocated by Prepare, when training begins.
	Grad []float32
	M, V []float32 // the optimiser's moments: SGD's momentum is M, the others use both
}

// NewParam makes a tensor of zeros. Without a shape it is one number.
func NewParam(name string, shape ...int) *Param {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return &Param{Name: name, Shape: shape, Data: zeros(n)}
}

// zeros allocates as matrices do: large tensors on huge pages.
func zeros(n int) []float32 { return engine.NewMatrix(1, n).Data }

// PrepareGradient allocates the gradient, if that has not been done.
func (p *Param) PrepareGradient() {
	if p.Grad == nil {
		p.Grad = zeros(len(p.Data))
	}
}

// Prepare is PrepareGradient, and sets the moments to zero.
func (p *Param) Prepare() {
	p.PrepareGradient()
	p.M, p.V = zeros(len(p.Data)), zeros(len(p.Data))
}

// SHA256 hashes all numbers of params, little-endian, in order. The hash of equal weights is the
// same on every machine.
func SHA256(params []*Param) string {
	h := sha256.New()
	var b [4]byte
	for _, p := range params {
		for _, v := range p.Data {
			binary.LittleEndian.PutUint32(b[:], math.Float32bits(v))
			h.Write(b[:])
		}
	}
	return hex.EncodeToString(h.Sum(nil))
}
