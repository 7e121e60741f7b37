package layer

// Counted is a part of a network with a known cost: a Layer, a Stack, an ascent.
type Counted interface {
	Params() []*Param
	MACs() int
}

// Cost is the cost of a network, as CostOf counts it. Networks are compared at equal cost.
type Cost struct {
	MACs       int `json:"macs_per_sample"` // multiply-adds of the products for one row
	Parameters int `json:"parameters"`      // trained parameters
}

// CostOf adds up the cost of the parts of a network.
func CostOf(parts ...Counted) Cost {
	var c Cost
	for _, p := range parts {
		c.MACs += p.MACs()
		for _, q := range p.Params() {
			c.Parameters += len(q.Data)
		}
	}
	return c
}
