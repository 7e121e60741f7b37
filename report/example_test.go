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
	if err := report.Save(path, report.Layers{Title: "Separation fuzziness over layers", Names: names, D: d, Law: &law}); err != nil {
		log.Fatal(err)
	}
	for _, name := range report.Files(path) {
		fmt.Println(filepath.Base(name))
	}
	// Output:
	// layers.png
	// layers.svg
}

func ExamplePage() {
	page := report.Page{
		Title:   "Separation of the built-in digits",
		Summary: []string{"D falls by a third from layer to layer."},
		Sections: []report.Section{{Title: "Layers", Blocks: []report.Block{
			report.Text("D is the separation fuzziness of He and Su."),
			report.Table{
				Columns: []report.Column{{Name: "layer"}, {Name: "D", Number: true}},
				Rows:    []report.Row{{Cells: []string{"input", "14.6"}}, {Cells: []string{"features", "9.8"}}},
			},
			report.Figures{{
				Figure:  report.Layers{Title: "D over layers", Names: []string{"input", "features"}, D: []float64{14.6, 9.8}},
				Caption: "Less is better.",
			}},
		}}},
	}
	dir, err := os.MkdirTemp("", "page")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	fmt.Println(page.Save(filepath.Join(dir, "report.html")))
	// Output:
	// <nil>
}
