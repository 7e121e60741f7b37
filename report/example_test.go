package report_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"dpnbench/dpn/separation"
	"dpnbench/report"
)

func Example() {
	dir, err := os.MkdirTemp("", "figures")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	// The law is fitted without the logits, as He and Su do.
	names := []string{"input", "hidden 1", "hidden 2", "hidden 3", "logits"}
	d := []float64{14.6, 9.8, 6.1, 4.2, 0.9}
	law, err := separation.FitLaw(names[:4], d[:4])
	if err != nil {
		log.Fatal(err)
	}
	path := filepath.Join(dir, "layers")
	if err := report.LayersFigure(path, "Separation fuzziness over layers", names, d, &law); err != nil {
		log.Fatal(err)
	}
	for _, name := range report.Files(path) {
		fmt.Println(filepath.Base(name))
	}
	// Output:
	// layers.png
	// layers.svg
}
