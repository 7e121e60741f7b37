package dpn

import (
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn/potential"
)

// Split divides training images into those that Fit trains on and the last ValSize, which
// it validates on.
func (m *Model) Split(s *dataset.Set) (train, val *dataset.Set, err error) {
	if err := m.CheckSet(s); err != nil {
		return nil, nil, err
	}
	return m.split(s)
}

// split is Split of images that fit.
func (m *Model) split(s *dataset.Set) (train, val *dataset.Set, err error) {
	if val, err = m.Validation(s); err != nil {
		return nil, nil, err
	}
	rest := s.Len() - val.Len()
	if m.Config.Components > rest {
		return nil, nil, badSetting("components", m.Config.Components,
			fmt.Sprintf("expected at most one for each of the %d images that are left for training", rest))
	}
	train = s.Slice(0, rest)
	if n := distinct(train, m.Config.Components); n < m.Config.Components {
		return nil, nil, badSetting("components", m.Config.Components,
			fmt.Sprintf("expected at most %d, the number of different training images", n))
	}
	if val.Len() == 0 && m.Config.Patience > 0 {
		return nil, nil, badSetting("patience", m.Config.Patience, "expected images to validate on with it (val-size)")
	}
	if m.Config.classwise() {
		if _, problem := potential.CentresByClass(train.Labels, m.Config.Components); problem != "" {
			return nil, nil, badSetting("components", m.Config.Components, problem+" (init "+m.Config.Init+")")
		}
	}
	return train, val, nil
}

// distinct counts the different images of s, up to most.
func distinct(s *dataset.Set, most int) int {
	seen := map[string]bool{}
	for i := 0; i < s.Len() && len(seen) < most; i++ {
		seen[string(s.Image(i))] = true
	}
	return len(seen)
}

// Validation returns the last of the training images s, which Fit keeps from training
// (Config.ValSize); there may be none.
func (m *Model) Validation(s *dataset.Set) (*dataset.Set, error) {
	n := m.Config.ValSize
	if n < 0 {
		n = s.Len() / 10
	}
	if n >= s.Len() {
		return nil, badSetting("val-size", m.Config.ValSize,
			fmt.Sprintf("expected fewer than the %d training images", s.Len()))
	}
	return s.Slice(s.Len()-n, s.Len()), nil
}

// Check says whether Fit can train the model on s, as far as that can be known beforehand.
func (m *Model) Check(s *dataset.Set) error {
	if err := m.CheckSet(s); err != nil {
		return err
	}
	_, _, err := m.split(s)
	return err
}
