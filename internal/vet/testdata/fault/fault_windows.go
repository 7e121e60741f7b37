package fault

var _ int = "a text"
