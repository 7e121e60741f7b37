package reproduce

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"dpnbench/dataset"
)

// Settings are what the results of a run depend on.
type Settings struct {
	Experiment  string   `json:"experiment"` // or all
	Seeds       int      `json:"seeds"`      // 0: as in the protocols
	Epochs      int      `json:"epochs"`     // 0: as in the protocols
	Presets     []string `json:"presets"`    // of trained
	Matrix      bool     `json:"matrix"`     // of law
	TrainImages int      `json:"train_images"`
	TestImages  int      `json:"test_images"`
	SHA256      string   `json:"images_sha256"` // of all images and labels
	Version     string   `json:"version"`       // of the program
}

// On returns the settings for a run on data.
func (s Settings) On(data *dataset.Data) Settings {
	s.TrainImages, s.TestImages, s.SHA256 = data.Train.Len(), data.Test.Len(), digest(data)
	return s
}

// Matches returns an error that names the first setting in which s differs from those of an earlier run.
func (s Settings) Matches(old Settings) error {
	differs := func(what string, was, is any) error {
		return fmt.Errorf("the run has %s %v, this command %v; expected the settings of the run", what, was, is)
	}
	list := func(names []string) string { return strings.Join(names, ",") }
	switch {
	case old.Experiment != s.Experiment:
		return differs("experiment", old.Experiment, s.Experiment)
	case old.Seeds != s.Seeds:
		return differs("--seeds", old.Seeds, s.Seeds)
	case old.Epochs != s.Epochs:
		return differs("--epochs", old.Epochs, s.Epochs)
	case !slices.Equal(old.Presets, s.Presets):
		return differs("--presets", list(old.Presets), list(s.Presets))
	case old.Matrix != s.Matrix:
		return differs("--matrix", old.Matrix, s.Matrix)
	case old.TrainImages != s.TrainImages || old.TestImages != s.TestImages || old.SHA256 != s.SHA256:
		return fmt.Errorf("the run has %d training and %d test images, and these are others (%d and %d); "+
			"expected the --data, --train-size, --test-size and --data-seed of the run", old.TrainImages,
			old.TestImages, s.TrainImages, s.TestImages)
	case old.Version != s.Version:
		return fmt.Errorf("the run was begun by dpnbench %s, and this is %s, whose results may differ; "+
			"expected the same build", old.Version, s.Version)
	}
	return nil
}

// settingsOf is the file of the settings.
type settingsOf struct {
	Format   int      `json:"format"`
	Settings Settings `json:"settings"`
	SHA256   string   `json:"sha256"` // of the settings
}

// hash identifies the settings.
func (s Settings) hash() string {
	b, _ := json.Marshal(s) // numbers and texts
	return hashOf(b)
}

func (s Settings) file() []byte {
	b, _ := json.Marshal(settingsOf{partFormat, s, s.hash()})
	return append(b, '\n')
}

// parseSettings reads what file returned.
func parseSettings(b []byte) (Settings, error) {
	var f settingsOf
	if err := parse(b, &f, &f.Format); err != nil {
		return Settings{}, err
	}
	if f.SHA256 != f.Settings.hash() {
		return Settings{}, errors.New("damaged: its checksum is not that of its content")
	}
	return f.Settings, nil
}
