package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Corruption is a way to spoil pictures, and how much: see CorruptionKinds.
type Corruption struct {
	Name     string
	Severity float64 // in the unit of its kind; 0: none
}

// CorruptionKind describes what the corruptions of one name do.
type CorruptionKind struct {
	Name   string
	Effect string
	Unit   string // of the severity

	// Severities are 0, which leaves pictures as they are, and Min to Max, whole numbers
	// only where Whole is set.
	Min, Max float64
	Whole    bool

	Suite [3]float64 // severities of a table over all kinds, mild to hard

	spoil func(p *spoiler, severity float64)
}

// corruptionKinds are in the order of tables: noise, loss of parts, loss of detail, grey
// levels, place, strokes. Many follow MNIST-C (Mu and Gilmer, 2019), with severities of our own.
var corruptionKinds = []CorruptionKind{
	{"gaussian", "normal noise, clamped to [0, 1]", "standard deviation in grey levels of [0, 1]", 0, 10, false, [3]float64{0.1, 0.3, 0.5}, (*spoiler).gaussian},
	{"gaussian-unclamped", "the same noise, not clamped", "standard deviation in grey levels of [0, 1]", 0, 10, false, [3]float64{0.1, 0.3, 0.5}, (*spoiler).gaussianUnclamped},
	{"uniform", "noise between -severity and severity, clamped", "largest noise in grey levels of [0, 1]", 0, 10, false, [3]float64{0.25, 0.5, 1}, (*spoiler).uniform},
	{"saltpepper", "pixels become black or white, each as likely", "share of the pixels", 0, 1, false, [3]float64{0.1, 0.3, 0.5}, (*spoiler).saltPepper},
	{"speckle", "normal noise times the grey level, clamped", "standard deviation at grey level 1", 0, 10, false, [3]float64{0.3, 0.6, 1}, (*spoiler).speckle},
	{"shot", "Poisson noise of few photons, clamped", "standard deviation at grey level 1, of 1/severity^2 photons", 0.02, 1, false, [3]float64{0.2, 0.5, 1}, (*spoiler).shot},
	{"occlusion-black", "a patch of the picture's shape somewhere becomes black", "share of the area", 0, 1, false, [3]float64{0.05, 0.1, 0.2}, (*spoiler).occlusionBlack},
	{"occlusion-white", "a patch of the picture's shape somewhere becomes white", "share of the area", 0, 1, false, [3]float64{0.05, 0.1, 0.2}, (*spoiler).occlusionWhite},
	{"blur", "Gaussian blur; the pixels of the edge go on outside", "standard deviation in pixels", 0, 10, false, [3]float64{0.5, 1, 2}, (*spoiler).blur},
	{"contrast", "grey levels move towards the picture's mean", "share of the way", 0, 1, false, [3]float64{0.3, 0.6, 0.9}, (*spoiler).contrast},
	{"brightness", "a number is added to all grey levels; clamped", "the number, grey levels of [0, 1]", -1, 1, false, [3]float64{0.1, 0.3, 0.5}, (*spoiler).brightness},
	{"rotation", "counter-clockwise about the middle", "degrees", -360, 360, false, [3]float64{15, 30, 60}, (*spoiler).rotation},
	{"translation", "to the right, left, bottom or top, drawn for each picture", "pixels", 0, 1000, false, [3]float64{1, 2, 4}, (*spoiler).translation},
	{"shear", "slants to the right about the middle", "pixels across for each pixel up", -2, 2, false, [3]float64{0.2, 0.4, 0.6}, (*spoiler).shear},
	{"inverted", "grey level g moves towards 1 - g", "share of the way", 0, 1, false, [3]float64{0.25, 0.75, 1}, (*spoiler).inverted},
	{"dotted-line", "white lines across the picture, every other pixel of them", "lines", 1, 20, true, [3]float64{1, 2, 4}, (*spoiler).dottedLines},
}

// CorruptionKinds lists all kinds, in the order of tables.
func CorruptionKinds() []CorruptionKind { return slices.Clone(corruptionKinds) }

// RobustnessSuite lists every kind at its three severities.
func RobustnessSuite() []Corruption {
	var list []Corruption
	for _, k := range corruptionKinds {
		for _, s := range k.Suite {
			list = append(list, Corruption{k.Name, s})
		}
	}
	return list
}

// String writes the corruption as ParseCorruption reads it.
func (c Corruption) String() string {
	return c.Name + ":" + strconv.FormatFloat(c.Severity, 'g', -1, 64)
}

// kind returns what c is, or nil.
func (c Corruption) kind() *CorruptionKind {
	for i := range corruptionKinds {
		if k := &corruptionKinds[i]; k.Name == c.Name {
			return k
		}
	}
	return nil
}

// Validate checks name and severity. The error names both and says what was expected.
func (c Corruption) Validate() error {
	k := c.kind()
	if k == nil {
		var names []string
		for _, k := range corruptionKinds {
			names = append(names, k.Name)
		}
		return fmt.Errorf("corruption %q: expected one of %s", c.Name, strings.Join(names, ", "))
	}
	s := c.Severity
	if s != 0 && !(s >= k.Min && s <= k.Max) || k.Whole && s != math.Floor(s) {
		return fmt.Errorf("corruption %v: expected a severity of %s (%s)", c, k.Range(), k.Unit)
	}
	return nil
}

// Range writes the severities that a kind takes.
func (k CorruptionKind) Range() string {
	zero, whole := "", ""
	if k.Min > 0 {
		zero = "0 or "
	}
	if k.Whole {
		whole = ", whole"
	}
	return fmt.Sprintf("%s%v to %v%s", zero, k.Min, k.Max, whole)
}

// ParseCorruption reads a corruption written as NAME:SEVERITY, such as gaussian:0.3.
func ParseCorruption(text string) (Corruption, error) {
	name, number, ok := strings.Cut(text, ":")
	c := Corruption{Name: name}
	if !ok {
		if err := c.Validate(); err != nil {
			return c, err
		}
		k := c.kind()
		return c, fmt.Errorf("corruption %q has no severity: expected %v or another number of %s (%s)", text, Corruption{name, k.Suite[1]}, k.Range(), k.Unit)
	}
	s, err := strconv.ParseFloat(number, 64)
	if err != nil {
		return c, fmt.Errorf("corruption %q: severity %q, expected a number, as in gaussian:0.3", text, number)
	}
	c.Severity = s
	return c, c.Validate()
}

// ParseCorruptions reads a list of corruptions with commas between them.
func ParseCorruptions(text string) ([]Corruption, error) {
	var list []Corruption
	for part := range strings.SplitSeq(text, ",") {
		c, err := ParseCorruption(strings.TrimSpace(part))
		if err != nil {
			return nil, err
		}
		list = append(list, c)
	}
	return list, nil
}
