package dpn

import (
	"errors"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn/internal/stream"
	"dpnbench/dpn/potential"
	"dpnbench/engine/num"
)

// Split divides training images into those that Fit trains on, in their order, and ValSize of them that
// it validates on: the same share of every class, drawn by Seed, in random order; none with ValData.
// The pixels of both share the memory of s.
func (c Config) Split(s *dataset.Set) (train, val *dataset.Set, err error) {
	if err := s.CheckLabelled(); err != nil {
		return nil, nil, err
	}
	n, err := c.valCount(s)
	if err != nil {
		return nil, nil, err
	}
	if n == 0 {
		return s, s.Slice(0, 0), nil
	}
	left := quotas(s.Labels, n)
	order := make([]int32, s.Len())
	num.NewRand(c.Seed, stream.Split).Permutation(order)
	kept, drawn := make([]bool, s.Len()), make([]int32, 0, n)
	for _, i := range order {
		if y := s.Labels[i]; left[y] > 0 {
			left[y]--
			kept[i], drawn = true, append(drawn, i)
		}
	}
	rest := order[:0]
	for i, k := range kept {
		if !k {
			rest = append(rest, int32(i))
		}
	}
	return s.Pick(rest), s.Pick(drawn), nil
}

// valCount returns how many of the training images s are kept for validation.
func (c Config) valCount(s *dataset.Set) (int, error) {
	n := c.ValSize
	if c.ValData != "" {
		return 0, nil
	}
	if n < 0 {
		n = s.Len() / 10
	}
	if n >= s.Len() {
		return 0, badSetting("val-size", c.ValSize, fmt.Sprintf("expected fewer than the %d training samples", s.Len()))
	}
	return n, nil
}

// quotas divides n images among the classes in proportion to their sizes, by the method of the largest
// remainder, the lower class first among equals. One image of each class stays for training as long
// as others are left.
func quotas(labels []uint16, n int) (quota []int) {
	var size []int
	for _, y := range labels {
		for int(y) >= len(size) {
			size = append(size, 0)
		}
		size[y]++
	}
	quota = make([]int, len(size))
	all, left := len(labels), n
	for y, of := range size {
		if of > 0 {
			quota[y] = min(int(int64(n)*int64(of)/int64(all)), of-1)
			left -= quota[y]
		}
	}
	for stays := 1; left > 0; {
		best, most := -1, int64(0)
		for y, of := range size {
			missing := int64(n)*int64(of) - int64(quota[y])*int64(all)
			if quota[y] < of-stays && (best < 0 || missing > most) {
				best, most = y, missing
			}
		}
		if best < 0 {
			stays = 0
			continue
		}
		quota[best]++
		left--
	}
	return quota
}

// Split is Config.Split of images that Fit can train the model on. A model of an earlier version
// keeps its own validation images, the last ones.
func (m *Model) Split(s *dataset.Set) (train, val *dataset.Set, err error) {
	if err := m.CheckLabelled(s); err != nil {
		return nil, nil, err
	}
	return m.split(s)
}

// split is Split of images that fit.
func (m *Model) split(s *dataset.Set) (train, val *dataset.Set, err error) {
	n, err := m.Config.valCount(s)
	if err != nil {
		return nil, nil, err
	}
	rest := s.Len() - n
	if m.Config.Components > rest {
		return nil, nil, badSetting("components", m.Config.Components,
			fmt.Sprintf("expected at most one for each of the %d samples that are left for training", rest))
	}
	if train, val, err = m.divide(s); err != nil {
		return nil, nil, err
	}
	if n := distinct(train, m.Config.Components); n < m.Config.Components {
		return nil, nil, badSetting("components", m.Config.Components,
			fmt.Sprintf("expected at most %d, the number of different training samples", n))
	}
	if val.Len() == 0 && m.Config.Patience > 0 && m.Config.ValData == "" {
		return nil, nil, badSetting("patience", m.Config.Patience, "expected samples to validate on with it (val-size)")
	}
	if m.Config.classwise() {
		if _, problem := potential.CentresByClass(train.Labels, m.Config.Components); problem != "" {
			return nil, nil, badSetting("components", m.Config.Components, problem+" (init "+m.Config.Init+")")
		}
	}
	return train, val, nil
}

// divide is split without checks.
func (m *Model) divide(s *dataset.Set) (train, val *dataset.Set, err error) {
	if !m.lastSplit {
		return m.Config.Split(s)
	}
	n, err := m.Config.valCount(s)
	if err != nil {
		return nil, nil, err
	}
	return s.Slice(0, s.Len()-n), s.Slice(s.Len()-n, s.Len()), nil
}

// distinct counts the different images of s, up to most.
func distinct(s *dataset.Set, most int) int {
	seen, sample := map[string]bool{}, []byte(nil)
	for i := 0; i < s.Len() && len(seen) < most; i++ {
		sample = s.AppendSample(sample[:0], i)
		seen[string(sample)] = true
	}
	return len(seen)
}

// Validation returns those of the training images s that Fit keeps from training; there may be none.
func (m *Model) Validation(s *dataset.Set) (*dataset.Set, error) {
	if err := s.Check(); err != nil {
		return nil, err
	}
	_, val, err := m.divide(s)
	return val, err
}

// CheckValidation returns an error if Fit cannot validate on s, the images of Config.ValData: other sizes or
// labels, training images, or other images than those that the model was validated on.
func (m *Model) CheckValidation(s *dataset.Set) error {
	if err := m.CheckLabelled(s); err != nil {
		return err
	}
	hashes := prefixHashes(s)
	switch {
	case s.Len() == 0:
		return errors.New("no samples")
	case m.origin.train != "" && sameImages(m.origin.train, hashes):
		return errors.New("these are training samples, expected others")
	case m.origin.val != "" && !sameImages(m.origin.val, hashes):
		return errors.New("other samples than those that training validated on")
	}
	return nil
}

// Check says whether Fit can train the model on s, as far as that can be known beforehand.
func (m *Model) Check(s *dataset.Set) error {
	if err := m.CheckLabelled(s); err != nil {
		return err
	}
	_, _, err := m.split(s)
	return err
}
