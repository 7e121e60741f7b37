package plot_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"dpnbench/plot"
)

// A line through points of one's own.
func Example() {
	dir, err := os.MkdirTemp("", "figures")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "loss")
	series := []plot.Series{{Name: "training", Points: []plot.Point{{X: 1, Y: 2.3}, {X: 2, Y: 0.9}, {X: 3, Y: 0.4}}}}

	f := plot.Lines{Title: "Loss", X: "epoch", Y: "loss", LinearX: true, Series: series}
	err = plot.Save(path, f)
	fmt.Println(len(plot.Files(path)), "files,", err)
	// Output: 2 files, <nil>
}

func ExampleLayers() {
	dir, err := os.MkdirTemp("", "figures")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	names := []string{"input", "hidden 1", "hidden 2", "hidden 3", "logits"}
	d := []float64{14.6, 9.8, 6.1, 4.2, 0.9}
	law := plot.Law{Names: names[:4], D0: 14.5, Rho: 0.66, Pearson: -0.998} // without the logits
	path := filepath.Join(dir, "layers")
	if err := plot.Save(path, plot.Layers{Title: "Separation fuzziness over layers", Names: names, D: d,
		Law: &law}); err != nil {
		log.Fatal(err)
	}
	for _, name := range plot.Files(path) {
		fmt.Println(filepath.Base(name))
	}
	// Output:
	// layers.png
	// layers.svg
}
