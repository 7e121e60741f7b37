package report

// Walk stub
type Walk struct {
	Rows, Cols, Steps int
	Items             []WalkItem
}
type WalkItem struct {
	Name             string
	Label, Predicted int
	X                [][]float32
	Phi              []float64
	R                [][]float32
}
