package separation

import (
	"fmt"
	"math"

	"dpnbench/internal/linalg"
)

// Collapse measures how far the class means are from a simplex, and the classes from their means:
// neural collapse (Papyan, Han and Donoho, PNAS 2020, section 3). All but NC1 are 0 in the limit.
// Every class has the same weight.
type Collapse struct {
	// NC1Balanced is Tr(SSw SSb^+)/K, as they define it, and NC1Trace Tr(SSw)/Tr(SSb), which needs no
	// pseudo-inverse (Tirer and Bruna, ICML 2022). Layer.NC1 weights classes by n_k/n.
	NC1Balanced Float `json:"nc1_balanced"`
	NC1Trace    Float `json:"nc1_trace"`
	// Simplex is that of the means minus their mean, m_k - m.
	Simplex
}

// Simplex measures how far K vectors are from the corners of a simplex (an equiangular tight frame) around 0.
type Simplex struct {
	// NC2Norms is the standard deviation of the lengths of the vectors over their mean, NC2Angles that of
	// the cosines between two, and NC2MaxAngle the mean distance of these cosines from -1/(K-1), that of a
	// simplex (Papyan, Han and Donoho, figures 2 to 4, of class means and of classifiers).
	NC2Norms    Float `json:"nc2_norms"`
	NC2Angles   Float `json:"nc2_angles"`
	NC2MaxAngle Float `json:"nc2_max_angle"`
	// NC2Frame is the Frobenius distance of the Gram matrix of the vectors, over its norm, from that of
	// a simplex (Zhu et al., NeurIPS 2021, equation 10, of classifiers).
	NC2Frame Float `json:"nc2_frame"`
}

// Classifier is a linear classifier of the features of a layer: the class of the largest entry of
// W x + b.
type Classifier struct {
	// Weights holds a row of Dim numbers for each class, in increasing order of the labels.
	Weights []float64
	Dim     int
	// Bias has a number for each class, or is nil.
	Bias []float64
}

// Duality compares a classifier with a simplex, and with the class means. All but Accuracy are 0 in the limit of
// neural collapse.
type Duality struct {
	// Simplex is that of the rows of W.
	Simplex
	// NC3 is |W/|W| - M/|M|| in Frobenius norms, where M has the rows m_k - m (Papyan, Han and Donoho,
	// whose figure 5 shows its square), and NC3Frame the distance of W M^T/|W M^T| from the Gram matrix of
	// a simplex (Zhu et al., equation 11).
	NC3      Float `json:"nc3"`
	NC3Frame Float `json:"nc3_frame"`
	// NC4 is the share of samples that the classifier assigns to another class than the nearest mean
	// of the training samples (figure 7). The samples are those of the test, if given.
	NC4 float64 `json:"nc4"`
	// Accuracy is that of the classifier on these samples.
	Accuracy float64 `json:"accuracy"`
}

// centred returns the K x d class means minus their mean (each class of weight 1/K).
func (sc *scatter) centred() []float64 {
	m := append([]float64(nil), sc.means...)
	mean := make([]float64, sc.dim)
	classes := len(sc.labels)
	for k := range classes {
		linalg.Axpy(1/float64(classes), sc.classMean(k), mean)
	}
	for k := range classes {
		linalg.Axpy(-1, mean, m[k*sc.dim:(k+1)*sc.dim])
	}
	return m
}

// collapse returns the statistics of the class means; balanced is the fuzziness of balanced classes.
func (sc *scatter) collapse(balanced Fuzziness) Collapse {
	classes, dim := len(sc.labels), sc.dim
	m := sc.centred()
	return Collapse{
		NC1Balanced: balanced.D / Float(classes),
		NC1Trace:    Float(balanced.WithinTrace / balanced.BetweenTrace),
		Simplex:     simplex(products(m, m, dim), classes),
	}
}

// simplex compares vectors, given their Gram matrix, with a simplex.
func simplex(gram []float64, classes int) Simplex {
	lengths := make([]float64, classes)
	for k := range lengths {
		lengths[k] = math.Sqrt(gram[k*classes+k])
	}
	var cosines []float64
	for j := range classes {
		for k := range j {
			cosines = append(cosines, gram[j*classes+k]/(lengths[j]*lengths[k]))
		}
	}
	mean, std := moments(lengths)
	s := Simplex{NC2Norms: Float(std / mean), NC2Frame: Float(frameDistance(gram, classes))}
	_, std = moments(cosines)
	s.NC2Angles = Float(std)
	for _, v := range cosines {
		s.NC2MaxAngle += Float(math.Abs(v+1/float64(classes-1)) / float64(len(cosines)))
	}
	return s
}

// discrimination is Layer.Discrimination.
func (sc *scatter) discrimination() float64 {
	m := append([]float64(nil), sc.means...)
	for k := range sc.labels {
		linalg.Axpy(1, sc.ref, m[k*sc.dim:(k+1)*sc.dim])
	}
	classes := len(sc.labels)
	gram := products(m, m, sc.dim)
	largest := math.Inf(-1)
	for j := range classes {
		for k := range j {
			largest = max(largest, gram[j*classes+k]/math.Sqrt(gram[j*classes+j]*gram[k*classes+k]))
		}
	}
	return 1 - largest
}

// products returns a b^T for rows of width dim.
func products(a, b []float64, dim int) []float64 {
	rows, cols := len(a)/dim, len(b)/dim
	out := make([]float64, rows*cols)
	for i := range rows {
		for j := range cols {
			out[i*cols+j] = linalg.Dot(a[i*dim:(i+1)*dim], b[j*dim:(j+1)*dim])
		}
	}
	return out
}

// moments returns the mean and the standard deviation (divisor n).
func moments(x []float64) (mean, std float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		std += float64((v-mean)*(v-mean)) / float64(len(x))
	}
	return mean, math.Sqrt(std)
}

// frameDistance is the Frobenius distance of a/|a| from (I - 1 1^T/K)/sqrt(K-1).
func frameDistance(a []float64, classes int) float64 {
	norm := linalg.Norm(a)
	var sum float64
	for j := range classes {
		for k := range classes {
			want := -1 / float64(classes)
			if j == k {
				want++
			}
			d := a[j*classes+k]/norm - want/math.Sqrt(float64(classes-1))
			sum += float64(d * d)
		}
	}
	return math.Sqrt(sum)
}

func (c *Classifier) check(classes, dim int) error {
	switch {
	case c.Dim != dim || len(c.Weights) != classes*dim:
		return fmt.Errorf("separation: classifier of %d x %d weights: expected %d x %d, classes by features",
			len(c.Weights)/max(1, c.Dim), c.Dim, classes, dim)
	case c.Bias != nil && len(c.Bias) != classes:
		return fmt.Errorf("separation: classifier with %d biases: expected %d", len(c.Bias), classes)
	}
	for _, x := range c.Bias {
		if !(math.Abs(x) <= largestFeature) {
			return fmt.Errorf("separation: a bias of the classifier is %v: every one must be finite", x)
		}
	}
	return finite(c.Weights, dim, 0)
}

// class returns the class of the largest entry; the lowest of equal ones.
func (c *Classifier) class(x []float64) int {
	best, largest := 0, math.Inf(-1)
	for k := range len(c.Weights) / c.Dim {
		v := linalg.Dot(c.Weights[k*c.Dim:(k+1)*c.Dim], x)
		if c.Bias != nil {
			v += c.Bias[k]
		}
		if v > largest {
			best, largest = k, v
		}
	}
	return best
}

// duality compares the classifier with the means of the samples.
func (sc *scatter) duality(c *Classifier) (*Duality, error) {
	classes := len(sc.labels)
	if err := c.check(classes, sc.dim); err != nil {
		return nil, err
	}
	m := sc.centred()
	fw, fm := 1/linalg.Norm(c.Weights), 1/linalg.Norm(m)
	var sum float64
	for i, w := range c.Weights {
		d := float64(w*fw) - float64(m[i]*fm)
		sum += float64(d * d)
	}
	frame := frameDistance(products(c.Weights, m, sc.dim), classes)
	return &Duality{Simplex: simplex(products(c.Weights, c.Weights, sc.dim), classes), NC3: Float(math.Sqrt(sum)),
		NC3Frame: Float(frame)}, nil
}

// classes returns the index of the class of each label of other samples.
func (sc *scatter) classes(labels []int) ([]int32, error) {
	index := make(map[int]int32, len(sc.labels))
	for k, l := range sc.labels {
		index[l] = int32(k)
	}
	out := make([]int32, len(labels))
	for i, l := range labels {
		k, ok := index[l]
		if !ok {
			return nil, fmt.Errorf("separation: test sample %d of class %d, which no training sample has", i, l)
		}
		out[i] = k
	}
	return out, nil
}

// scores are the shares of samples that are classified correctly, and of those on which the
// classifier and the nearest mean differ.
type scores struct{ nearest, classifier, differ float64 }

// score classifies other samples by the means of sc, and by a classifier unless it is nil.
func (sc *scatter) score(s Samples, c *Classifier) (scores, error) {
	class, err := sc.classes(s.Labels)
	if err != nil {
		return scores{}, err
	}
	other := *sc
	other.set, other.class = s, class
	sums := make([]float64, 3)
	err = other.sum(sums, func(sum, t []float64, i int) {
		own := int(class[i])
		best, _ := sc.nearestMean(t, own)
		if best == own {
			sum[0]++
		}
		if c == nil {
			return
		}
		linalg.Axpy(1, sc.ref, t)
		read := c.class(t)
		if read == own {
			sum[1]++
		}
		if read != best {
			sum[2]++
		}
	})
	linalg.Scale(1/float64(s.Len()), sums)
	return scores{sums[0], sums[1], sums[2]}, err
}
