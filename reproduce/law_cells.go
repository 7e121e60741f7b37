package reproduce

import (
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn/baseline"
)

// lawCell is a network with one setting of its training.
type lawCell struct {
	LawNetwork
	network  func(seed uint64) (*baseline.Network, error)
	training baseline.Training
	skewed   bool   // trained on the imbalanced set
	preset   string // of a DPN, or ""
	dpnTrain bool   // whether the DPN is trained
}

// lawDepths are the networks of He and Su by the number of their linear layers.
var lawDepths = [3]int{4, 8, 20}

// lawOptimiser is an optimiser with the rates of He and Su: rates[i] is the published one for lawDepths[i].
type lawOptimiser struct {
	name     string
	method   string // of baseline.Training
	momentum float64
	rates    [3]float64
}

var lawAdam = lawOptimiser{"Adam", baseline.Adam, 0, [3]float64{3e-3, 1e-3, 3e-4}}

var lawOptimisers = []lawOptimiser{
	{"SGD", baseline.SGD, 0, [3]float64{0.3, 0.03, 0.01}},
	{"momentum", baseline.SGD, 0.9, [3]float64{0.3, 0.01, 0.001}},
	lawAdam,
}

// with sets the training of a cell by an optimiser at a rate.
func (c lawCell) with(o lawOptimiser, rate float64, epochs int) lawCell {
	c.Optimiser, c.Rate = o.name, rate
	c.training = baseline.HeSuTraining(o.method, rate)
	c.training.Momentum, c.training.Epochs = o.momentum, epochs
	return c
}

// lawMLP is a cell with a multilayer perceptron of a number of linear layers.
func lawMLP(kind, found string, depth, classes int, change func(c *baseline.MLP)) lawCell {
	c := baseline.HeSu(lawSide*lawSide, depth-2, classes)
	if change != nil {
		change(&c)
	}
	return lawCell{
		LawNetwork: LawNetwork{Kind: kind, BatchNorm: c.BatchNorm, Depth: depth, Width: c.Widths[1], Published: found},
		network:    func(seed uint64) (*baseline.Network, error) { return baseline.NewMLP(c, seed) },
	}
}

// lawNetworks lists the networks, in the order of the report.
func lawNetworks(classes int, o LawOptions) []lawCell {
	list := lawSettingCells(classes, o)
	named := func(name string, c lawCell) {
		c.Name = name
		list = append(list, c)
	}
	for i, depth := range lawDepths {
		c := lawMLP(lawPlain, foundNoLaw, depth, classes, func(c *baseline.MLP) { c.BatchNorm = false })
		named(fmt.Sprintf("no BatchNorm, %d layers", depth), c.with(lawAdam, lawAdam.rates[i], o.Epochs))
	}
	for i, depth := range lawDepths {
		c := lawMLP(lawLinear, foundNoLaw, depth, classes, func(c *baseline.MLP) { c.Identity = true })
		named(fmt.Sprintf("linear, %d layers", depth), c.with(lawAdam, lawAdam.rates[i], o.Epochs))
	}
	// Four blocks of two layers, as in their residual networks, which are convolutional.
	residual := lawMLP(lawResidual, foundLaw, 10, classes, func(c *baseline.MLP) { c.Residual = true })
	named("residual, 4 blocks of 2 layers", residual.with(lawAdam, 1e-3, o.Epochs))
	cnn := lawCell{LawNetwork: LawNetwork{Kind: lawCNN, Depth: 4, Published: foundLaw},
		network: func(seed uint64) (*baseline.Network, error) {
			return baseline.NewCNN(dataset.Grey(lawSide, lawSide), classes, seed)
		}}
	named("CNN, 2 convolutions", cnn.with(lawAdam, 1e-3, o.Epochs))
	if o.Matrix {
		list = append(list, lawMatrixCells(classes, o)...)
	}
	list = append(list, lawDPNCells(o)...)
	if o.few {
		return []lawCell{list[1], list[9], list[15], list[17], list[19]}
	}
	return list
}

// lawSettingCells are the settings of the first figure of He and Su, and with the matrix the other rates.
func lawSettingCells(classes int, o LawOptions) (list []lawCell) {
	for _, opt := range lawOptimisers {
		for i, depth := range lawDepths {
			c := lawMLP(lawSettings, foundLaw, depth, classes, nil).with(opt, opt.rates[i], o.Epochs)
			c.Name = fmt.Sprintf("%s %v, %d layers", opt.name, c.Rate, depth)
			list = append(list, c)
		}
	}
	if !o.Matrix {
		return list
	}
	for _, opt := range lawOptimisers {
		for i, depth := range lawDepths {
			for j, rate := range opt.rates {
				if j != i {
					c := lawMLP(lawRates, "", depth, classes, nil).with(opt, rate, o.Epochs)
					c.Name = fmt.Sprintf("%s %v, %d layers", opt.name, rate, depth)
					list = append(list, c)
				}
			}
		}
	}
	return list
}

// lawMatrixCells are the networks that only the matrix has, but for the learning rates.
func lawMatrixCells(classes int, o LawOptions) (list []lawCell) {
	add := func(c lawCell, rate float64, format string, args ...any) {
		c = c.with(lawAdam, rate, o.Epochs)
		c.Name = fmt.Sprintf(format, args...)
		list = append(list, c)
	}
	// The rate of the figures in their repository.
	const slow = 3e-5
	add(lawMLP(lawPlain, foundNoLaw, 20, classes, func(c *baseline.MLP) { c.BatchNorm = false }), slow,
		"no BatchNorm, 20 layers, Adam %v", slow)
	add(lawMLP(lawLinear, foundNoLaw, 20, classes, func(c *baseline.MLP) { c.Identity = true }), slow,
		"linear, 20 layers, Adam %v", slow)
	for i, depth := range lawDepths {
		c := lawMLP(lawSkewed, foundLaw, depth, classes, nil)
		c.skewed = true
		add(c, lawAdam.rates[i], "imbalanced classes, %d layers", depth)
	}
	for _, width := range []int{20, 1000} {
		add(lawMLP(lawWidths, foundLaw, 8, classes, func(c *baseline.MLP) {
			for i := 1; i < len(c.Widths)-1; i++ {
				c.Widths[i] = width
			}
		}), lawAdam.rates[1], "width %d, 8 layers", width)
	}
	return list
}

// lawDPNCells are the DPNs.
func lawDPNCells(o LawOptions) (list []lawCell) {
	for _, d := range []struct {
		name, preset string
		train        bool
	}{
		{"DPN untrained (published)", "published", false},
		{"DPN detached (published)", "published", true},
		{"DPN trained (raw)", "raw", true},
		{"DPN trained (compact)", "compact", true},
	} {
		c := lawCell{LawNetwork: LawNetwork{Name: d.name, Kind: lawDPN}, preset: d.preset, dpnTrain: d.train}
		c.training.Epochs = o.Epochs
		list = append(list, c)
	}
	return list
}
