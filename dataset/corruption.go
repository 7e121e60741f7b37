package dataset

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Corruption is a kind of image corruption with a severity: see CorruptionKinds.
type Corruption struct {
	Name     string
	Severity float64 // in the unit of its kind; 0 changes nothing
}

// CorruptionKind describes what the corruptions of one name do.
type CorruptionKind struct {
	Name   string
	Effect string
	Unit   string // of the severity

	// A severity is 0 (which changes nothing) or from Min to Max, and a whole number if Whole
	// is set.
	Min, Max float64
	Whole    bool

	Suite [3]float64 // severities in RobustnessSuite, mild to hard; of a kind of MNIST-C 1, its only one

	corrupt func(p *corruptor, severity float64)
}

// Units that several kinds share.
const (
	unitStd     = "standard deviation in grey levels of [0, 1]"
	unitInk     = "standard deviation at grey level 1"
	unitArea    = "fraction of the area"
	unitBlended = "fraction, 1: completely"
)

// corruptionKinds are in the order in which tables list them: noise, missing parts, blur, grey
// levels, geometry, strokes, then those of MNIST-C in its order. Many of the first follow MNIST-C
// (Mu and Gilmer, 2019), with our own severities. The columns are those of CorruptionKind: name,
// effect, unit; smallest and largest severity, whole numbers only; severities of the suite, method.
var corruptionKinds = []CorruptionKind{
	{"gaussian", "normal noise, clamped to [0, 1]", unitStd,
		0, 10, false, [3]float64{0.1, 0.3, 0.5}, (*corruptor).gaussian},
	{"gaussian-unclamped", "the same noise, not clamped", unitStd,
		0, 10, false, [3]float64{0.1, 0.3, 0.5}, (*corruptor).gaussianUnclamped},
	{"uniform", "uniform noise in [-severity, severity], clamped", "largest noise in grey levels of [0, 1]",
		0, 10, false, [3]float64{0.25, 0.5, 1}, (*corruptor).uniform},
	{"saltpepper", "pixels set to black or white with equal probability", "fraction of the pixels",
		0, 1, false, [3]float64{0.1, 0.3, 0.5}, (*corruptor).saltPepper},
	{"speckle", "normal noise times the grey level, clamped", unitInk,
		0, 10, false, [3]float64{0.3, 0.6, 1}, (*corruptor).speckle},
	{"shot", "Poisson noise (1/severity^2 photons at grey level 1), clamped", unitInk,
		0.02, 1, false, [3]float64{0.2, 0.5, 1}, (*corruptor).shot},
	{"occlusion-black", "a black patch with the image's proportions at a random place", unitArea,
		0, 1, false, [3]float64{0.05, 0.1, 0.2}, (*corruptor).occlusionBlack},
	{"occlusion-white", "a white patch with the image's proportions at a random place", unitArea,
		0, 1, false, [3]float64{0.05, 0.1, 0.2}, (*corruptor).occlusionWhite},
	{"blur", "Gaussian blur; edge pixels are repeated outside", "standard deviation in pixels",
		0, 10, false, [3]float64{0.5, 1, 2}, (*corruptor).blur},
	{"contrast", "grey levels move towards the image's mean", unitBlended,
		0, 1, false, [3]float64{0.3, 0.6, 0.9}, (*corruptor).contrast},
	{"brightness", "severity is added to all grey levels, clamped", "grey levels of [0, 1]",
		-1, 1, false, [3]float64{0.1, 0.3, 0.5}, (*corruptor).brightness},
	{"rotation", "counter-clockwise rotation about the centre", "degrees",
		-360, 360, false, [3]float64{15, 30, 60}, (*corruptor).rotation},
	{"translation", "shift right, left, up or down, chosen at random for each image", "pixels",
		0, 1000, false, [3]float64{1, 2, 4}, (*corruptor).translation},
	{"shear", "slant to the right about the centre", "pixels across per pixel up",
		-2, 2, false, [3]float64{0.2, 0.4, 0.6}, (*corruptor).shear},
	{"inverted", "grey level g moves towards 1 - g", unitBlended,
		0, 1, false, [3]float64{0.25, 0.75, 1}, (*corruptor).inverted},
	{"dotted-line", "dotted white lines across the image (every other pixel)", "lines",
		1, 20, true, [3]float64{1, 2, 4}, (*corruptor).dottedLines},

	published("shot_noise", "Poisson noise, 3 photons at grey level 1", (*corruptor).mnistcShotNoise),
	published("impulse_noise", "17% of the pixels black or white", (*corruptor).mnistcImpulseNoise),
	published("glass_blur", "neighbouring pixels swapped at random, between two blurs", (*corruptor).mnistcGlassBlur),
	published("motion_blur", "smeared along a line, -45 to 45 degrees", (*corruptor).mnistcMotionBlur),
	published("shear", "sheared by 0.4 or -0.4 radians", (*corruptor).mnistcShear),
	published("scale", "shrunk to 0.7 of the size", (*corruptor).mnistcScale),
	published("rotate", "rotated by 0.4 or -0.4 radians", (*corruptor).mnistcRotate),
	published("brightness", "0.5 added, clamped", (*corruptor).mnistcBrightness),
	published("translate", "shifted by 3 pixels in both directions", (*corruptor).mnistcTranslate),
	published("stripe", "the left and the right quarter inverted", (*corruptor).mnistcStripe),
	published("fog", "a fractal fog, three times as bright as ink", (*corruptor).mnistcFog),
	published("spatter", "spots of mud, of grey level 0.25", (*corruptor).mnistcSpatter),
	published("dotted_line", "a dotted line from the left to the right edge", (*corruptor).mnistcDottedLine),
	published("zigzag", "a zigzag line from the left to the right", (*corruptor).mnistcZigzag),
	published("canny_edges", "the edges only (Canny)", (*corruptor).mnistcCannyEdges),
}

// CorruptionKinds lists all kinds, in the order in which tables list them.
func CorruptionKinds() []CorruptionKind { return slices.Clone(corruptionKinds) }

// RobustnessSuite lists every kind at its three severities, except those of MNIST-C.
func RobustnessSuite() []Corruption {
	var list []Corruption
	for _, k := range corruptionKinds {
		for _, s := range k.Suite {
			if k.MNISTC() == "" {
				list = append(list, Corruption{k.Name, s})
			}
		}
	}
	return list
}

// String returns the corruption in the form that ParseCorruption reads.
func (c Corruption) String() string {
	if k := c.kind(); k != nil && k.MNISTC() != "" && c.Severity == 1 {
		return c.Name
	}
	return c.Name + ":" + strconv.FormatFloat(c.Severity, 'g', -1, 64)
}

// kind returns the kind that c names, or nil.
func (c Corruption) kind() *CorruptionKind {
	for i := range corruptionKinds {
		if k := &corruptionKinds[i]; k.Name == c.Name {
			return k
		}
	}
	return nil
}

// Validate checks name and severity. The error states both and what was expected.
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

// Range describes the severities that a kind accepts, such as "0.02 to 1".
func (k CorruptionKind) Range() string {
	if k.Min == k.Max {
		return fmt.Sprintf("0 or %v", k.Min)
	}
	zero, whole := "", ""
	if k.Min > 0 {
		zero = "0 or "
	}
	if k.Whole {
		whole = ", whole"
	}
	return fmt.Sprintf("%s%v to %v%s", zero, k.Min, k.Max, whole)
}

// ParseCorruption reads a corruption written as NAME:SEVERITY, such as gaussian:0.3, or as NAME of
// MNIST-C.
func ParseCorruption(text string) (Corruption, error) {
	name, number, ok := strings.Cut(text, ":")
	c := Corruption{Name: name}
	if !ok {
		if err := c.Validate(); err != nil {
			return c, err
		}
		k := c.kind()
		if k.MNISTC() != "" {
			c.Severity = 1
			return c, nil
		}
		return c, fmt.Errorf("corruption %q has no severity: expected %s (%s), such as %v",
			text, k.Range(), k.Unit, Corruption{name, k.Suite[1]})
	}
	s, err := strconv.ParseFloat(number, 64)
	if err != nil || strings.ContainsAny(number, "xX_") { // decimal, as all numbers
		return c, fmt.Errorf("corruption %q: severity %q, expected a number, as in gaussian:0.3", text, number)
	}
	c.Severity = s
	return c, c.Validate()
}

// ParseCorruptions reads a comma-separated list of corruptions.
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
