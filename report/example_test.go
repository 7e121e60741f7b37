package report_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"dpnbench/plot"
	"dpnbench/report"
)

// A page with a table of one's own.
func Example() {
	dir, err := os.MkdirTemp("", "page")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "page.html")
	columns := []report.Column{{Name: "layer"}, {Name: "D", Number: true}}
	rows := []report.Row{{Cells: []string{"input", "14.6"}}, {Cells: []string{"hidden", "9.8"}}}

	table := report.Table{Columns: columns, Rows: rows}
	section := report.Section{Title: "Layers", Blocks: []report.Block{report.Text("One's own."), table}}
	page := report.Page{Title: "Separation", Sections: []report.Section{section}}
	err = page.Save(path)
	fmt.Println(err)
	// Output: <nil>
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
				Figure: plot.Layers{Title: "D over layers", Names: []string{"input", "features"},
					D: []float64{14.6, 9.8}},
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
